#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `backsight ... --as uftrace` with the stored output of uftrace, file by file, and prints a table.

Usage: agreement.py PROGRAM [--data FOLDER] [NAME...]

FOLDER holds the directories; without it the folders uftrace/ and uftrace-more/ of the environment variable BACKSIGHT_CORPUS are
used.

Exit code 0 when all agree but for those named in ALLOWED, 1 otherwise, 77 when BACKSIGHT_CORPUS is not set.
"""
import concurrent.futures
import gzip
import os
import pathlib
import re
import subprocess
import sys

COMMANDS = {
    "dump.txt": ["dump", "--as", "uftrace"],
    "dump.deep.txt": ["dump", "--as", "uftrace", "-D", "60000"],
    "dump.chrome.json": ["export", "--to", "chrome", "--as", "uftrace"],
    "dump.flame.txt": ["export", "--to", "folded", "--as", "uftrace"],
    "replay.txt": ["replay", "--as", "uftrace"],
    "replay.fields.txt": ["replay", "--as", "uftrace", "--no-merge", "-f", "time,delta,elapsed,addr,duration,tid"],
    "report.txt": ["report", "--as", "uftrace"],
    "report.deep.txt": ["report", "--as", "uftrace", "-D", "60000"],
    "report.avg.txt": ["report", "--as", "uftrace", "--avg-total", "-s", "total_avg,func"],
    "report.self.txt": ["report", "--as", "uftrace", "-s", "self,call,func"],
    "report.task.txt": ["report", "--as", "uftrace", "--task"],
    "graph.txt": ["graph", "--as", "uftrace"],
    "graph.task.txt": ["graph", "--as", "uftrace", "--task"],
    "info.txt": ["info", "--as", "uftrace"],
    "info.task.txt": ["info", "--as", "uftrace", "--task"],
}
# uftrace reads the line table of the traced program itself here, which the directory does not hold.
ALLOWED = {("callsite", "replay.txt"), ("callsite", "replay.fields.txt")}
# When the copied file was made, and what the uftrace that read it calls itself.
READING = re.compile(rb'"(recorded_time|version)":"[^"]*"')


def expected_text(path):
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def check(program, folder, path):
    name = path.name.removesuffix(".gz")
    run = subprocess.run([program, *COMMANDS[name], str(folder / "uftrace.data")], capture_output=True,
                         env={**os.environ, "LC_ALL": "C", "TZ": "UTC"}, timeout=120)
    wanted, got = expected_text(path), run.stdout
    if name == "dump.chrome.json":
        wanted, got = READING.sub(b"", wanted), READING.sub(b"", got)
    if wanted == got:
        return name, "="
    if (folder.name, name) in ALLOWED:
        return name, "(x)"
    left, right = wanted.splitlines(), got.splitlines()
    for number, (a, b) in enumerate(zip(left, right), 1):
        if a != b:
            return name, f"x line {number}\n    uftrace:   {a[:200]!r}\n    backsight: {b[:200]!r}"
    return name, f"x {len(left)} and {len(right)} lines; exit code {run.returncode} {run.stderr[-200:]!r}"


def main():
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    names = sys.argv[2:]
    if names[:1] == ["--data"]:
        data, names = [pathlib.Path(names[1])], names[2:]
    elif os.environ.get("BACKSIGHT_CORPUS"):
        data = [pathlib.Path(os.environ["BACKSIGHT_CORPUS"]) / name for name in ("uftrace", "uftrace-more")]
    else:
        print("BACKSIGHT_CORPUS is not set; nothing compared")
        return 77
    folders = [p for where in data if where.is_dir() for p in sorted(where.iterdir()) if (p / "expected").is_dir()]
    if names:
        folders = [f for f in folders if f.name in names]
    columns = list(COMMANDS)
    print(f"{'directory':20}" + " ".join(f"{c.removesuffix('.txt').removesuffix('.json'):>13}" for c in columns))
    agree = allowed = total = 0
    details = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for folder in folders:
            files = sorted(folder.joinpath("expected").iterdir())
            unknown = [p.name for p in files if p.name.removesuffix(".gz") not in COMMANDS]
            details += [f"{folder.name}/{name}: no command is known for it" for name in unknown]
            results = dict(pool.map(lambda p: check(sys.argv[1], folder, p),
                                    [p for p in files if p.name.removesuffix(".gz") in COMMANDS]))
            print(f"{folder.name:20}" + " ".join(f"{results.get(c, '-').split()[0]:>13}" for c in columns), flush=True)
            for name, outcome in results.items():
                total += 1
                agree += outcome == "="
                allowed += outcome == "(x)"
                if outcome.startswith("x"):
                    details.append(f"{folder.name}/{name}: {outcome}")
    print(f"\n{agree} of {total} files agree, {allowed} differ as named in the data's README")
    print("\n".join(details))
    return 0 if total != 0 and agree + allowed == total and not details else 1


if __name__ == "__main__":
    sys.exit(main())
