#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what `backsight ... --as uftrace` shows under filters with what the uftrace on this machine shows.

Usage: filters.py PROGRAM FOLDER [NAME...]

FOLDER holds the directories. Each is copied first, with symbol files that uftrace 0.13 can read: without sizes.

Exit code 0 when all agree, 1 otherwise, 77 when there is no uftrace 0.13.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SIZED = re.compile(rb"^([0-9a-f]{16}) [0-9a-f]{8} ", re.M)
TID = re.compile(r"\[ *(\d+)\]")


def copy(folder, to):
    shutil.copytree(folder / "uftrace.data", to)
    for path in to.glob("*.sym"):
        path.write_bytes(SIZED.sub(rb"\1 ", path.read_bytes()))
    return to


def uftrace(directory, command, options):
    words = ["uftrace", *command, "--no-pager", "--color=no", "-d", str(directory), *options]
    return subprocess.run(words, capture_output=True, timeout=60, stdin=subprocess.DEVNULL).stdout.decode("latin1")


def names_of(directory):
    """Some functions that are called: those that take most time and the last one."""
    names = [line.split(None, 5)[-1] for line in uftrace(directory, ["report"], []).splitlines()[2:]]
    names = [name for name in names if re.fullmatch(r"[A-Za-z_]\w*", name)]
    return names[:3] + names[-1:] if len(names) > 4 else names


def options_for(directory):
    names = names_of(directory)
    tids = sorted(int(p.stem) for p in directory.glob("[0-9]*.dat") if p.stat().st_size)
    times = re.findall(r"^\s*(\d+\.\d{9})", uftrace(directory, ["replay", "--no-merge"], ["-f", "time"]), re.M)
    options = [["-D", "2"], ["-D", "4"], ["-t", "1us"], ["-t", "20us"], ["--tid", str(tids[0])], ["--tid", str(tids[-1])]]
    if len(times) > 8:
        a, b = times[len(times) // 4], times[len(times) // 2]
        options += [["-r", f"{a}~{b}"], ["-r", f"{b}~"], ["-r", f"~{a}"], ["-r", "10us~200us"], ["-r", "8.873us~"]]
    for name in names:
        options += [["-F", name], ["-N", name], ["-F", name, "-D", "1"], ["-F", name + "@depth=2"], ["-T", name + "@depth=1"]]
    if names:
        options += [["-F", f"{names[0][:3]}*", "--match", "glob"], ["-N", f"^{names[-1][:2]}"], ["-F", names[0], "-N", names[-1]],
                    ["-H", names[0]], ["-F", names[0], "-t", "1us"], ["-F", "no_such_function"]]
    return options


COMMANDS = (["replay"], ["replay", "--no-merge"], ["report"], ["report", "--task"], ["graph"], ["graph", "--task"], ["dump"],
            ["dump", "--flame-graph"])


def normal(text):
    """Without what other versions print in another width."""
    text = TID.sub(r"[\1]", text)
    text = re.sub(r"^(  Total time.*|  =====.*)$", "", text, flags=re.M)
    text = re.sub(r"^(  .{10}  .{10}) +(\d+) +(\d+  )", r"\1 \2 \3", text, flags=re.M)
    text = re.sub(r"^(#|uftrace file header).*$", "", text, flags=re.M)
    return re.sub(r"^(\d+\.\d{9}) +(\d+):", r"\1 \2:", text, flags=re.M)


def check(program, directory, command, option):
    own = ["export", "--to", "folded"] if "--flame-graph" in command else command
    left = normal(uftrace(directory, command, option)).splitlines()
    run = subprocess.run([program, *own, "--as", "uftrace", *option, str(directory)], capture_output=True, timeout=60)
    right = normal(run.stdout.decode("latin1")).splitlines()
    if left == right:
        return None
    shown = " ".join(own + option)
    for number, (a, b) in enumerate(zip(left, right), 1):
        if a != b:
            return f"{shown}: line {number}\n    uftrace:   {a[:150]!r}\n    backsight: {b[:150]!r}"
    return f"{shown}: {len(left)} and {len(right)} lines {run.stderr[:200]!r}"


def main():
    if len(sys.argv) < 3:
        print(__doc__)
        return 2
    peer = shutil.which("uftrace")
    version = subprocess.run([peer, "--version"], capture_output=True, text=True).stdout if peer else ""
    if "v0.13" not in version:
        print("there is no uftrace 0.13; nothing compared")
        return 77
    os.environ.update(LC_ALL="C", TZ="UTC")
    data = pathlib.Path(sys.argv[2])
    folders = sorted(p for p in data.iterdir() if (p / "uftrace.data").is_dir())
    if sys.argv[3:]:
        folders = [f for f in folders if f.name in sys.argv[3:]]
    total, wrong = 0, []
    with tempfile.TemporaryDirectory() as made, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for folder in folders:
            directory = copy(folder, pathlib.Path(made) / folder.name)
            # Where 0.13 differs without a filter already it tells nothing about filters.
            same = [c for c in COMMANDS if check(sys.argv[1], directory, c, []) is None]
            cases = [(c, o) for c in same for o in options_for(directory) if not (c[0] == "graph" and o[0] == "-D")]
            outcomes = list(pool.map(lambda c: check(sys.argv[1], directory, *c), cases))
            bad = [f"{folder.name}: {o}" for o in outcomes if o]
            total += len(outcomes)
            wrong += bad
            left_out = ", ".join(" ".join(c) for c in COMMANDS if c not in same)
            print(f"{folder.name:24} {len(outcomes) - len(bad):4} of {len(outcomes):4}  {left_out and 'without ' + left_out}", flush=True)
    print(f"{total - len(wrong)} of {total} agree")
    print("\n".join(wrong))
    return 0 if total and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
