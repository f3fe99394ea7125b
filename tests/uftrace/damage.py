#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damages each file of uftrace directories, in several ways, and checks that every command of the program says so: exit code 1
and the file's name on stderr, without a crash.

Usage: damage.py PROGRAM FOLDER NAME...
"""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

COMMANDS = [["info"], ["info", "--task"], ["info", "--format", "json"], ["dump"], ["dump", "--raw"], ["report"], ["report", "--task", "--as", "uftrace"],
            ["report", "-j", "2"], ["replay"], ["replay", "--no-merge"], ["graph"], ["graph", "--task", "--as", "uftrace"], ["stacks"],
            ["export", "--to", "folded"], ["export", "--to", "chrome"], ["export", "--to", "perfetto"], ["export", "--to", "dot"]]
# Files that the user makes, and options: their text has no form.
FREE = {"default.opts", "note.txt", "extern.dat", "events.txt"}


def cut(name, data):
    return data[:-5]


def garble(name, data):
    """Bytes that cannot stand where they are put: the head of a record or page, or the start of a line."""
    if name.endswith(".dat"):
        at = 8 if name.startswith("kernel-cpu") else 0
        return data[:at] + b"\xff" * 16 + data[at + 16:]
    if name == "info":
        at = data.index(b"taskinfo:nr_tid")
        return data[:at] + b"\xff" * 12 + data[at + 12:]
    at = data.rindex(b"\n", 0, len(data) - 1) + 1 if name != "kernel_header" else 0
    return data[:at] + b"\xff" * 4 + data[at + 4:]


def check(program, directory, name, command):
    run = subprocess.run([program, *command, str(directory)], capture_output=True, timeout=60)
    if run.returncode == 1 and name.encode() in run.stderr:
        return None
    return f"{' '.join(command)}: exit code {run.returncode}, {run.stderr[-200:]!r}"


def main():
    if len(sys.argv) < 4:
        print(__doc__)
        return 2
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    as_uftrace = [[*c, "--as", "uftrace"] for c in COMMANDS if c[-1] not in ("uftrace", "json", "--raw", "stacks", "perfetto", "dot", "2")]
    total, wrong = 0, []
    with tempfile.TemporaryDirectory() as made, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for set_name in sys.argv[3:]:
            source = folder / set_name / "uftrace.data"
            for command in COMMANDS:
                run = subprocess.run([program, *command, str(source)], capture_output=True, timeout=60)
                # Calls without their exit, lost records and functions without a name are told, and no damage.
                lacks = (b" exits without entry, ", b" records were lost when it was recorded", b" functions have no name")
                damage = [line for line in run.stderr.splitlines() if not any(words in line for words in lacks)]
                if run.returncode != 0 or damage:
                    wrong.append(f"{set_name} as it is: {command}: {run.returncode} {run.stderr[-200:]!r}")
            for path in sorted(p for p in source.iterdir() if p.name not in FREE and p.stat().st_size > 5):
                for damage in (cut, garble):
                    directory = pathlib.Path(made) / f"{set_name}-{path.name}-{damage.__name__}"
                    shutil.copytree(source, directory)
                    (directory / path.name).chmod(0o644)
                    (directory / path.name).write_bytes(damage(path.name, path.read_bytes()))
                    outcomes = list(pool.map(lambda c: check(program, directory, path.name, c), COMMANDS + as_uftrace))
                    total += len(outcomes)
                    wrong += [f"{directory.name}: {o}" for o in outcomes if o]
                    shutil.rmtree(directory)
    print(f"{total - len(wrong)} of {total} runs tell what was damaged")
    print("\n".join(wrong))
    return 0 if total and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
