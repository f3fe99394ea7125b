#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records a program with perf where that is possible, and compares `backsight unwind --as perf-script` with `perf script`.

usage: recorded_test.py PROGRAM   exit code 77, with the reason, where there is no perf that can record

All frames in the recorded program itself must be the same: addresses, names and offsets. Frames in other files may have
better names here than there.
"""
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "perf", "root", "opt", "app", "tree")
FIELDS = "comm,pid,tid,time,event,period,ip,sym,symoff,dso"


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


def main():
    program = sys.argv[1]
    perf = shutil.which("perf")
    if perf is None:
        skip("there is no perf")
    if os.uname().machine != "x86_64":
        skip("the program to record is one of x86-64")
    with tempfile.TemporaryDirectory() as work:
        tree = os.path.join(work, "tree")
        shutil.copy(SOURCE, tree)
        os.chmod(tree, 0o755)
        environment = {"PATH": os.environ["PATH"], "HOME": work, "LC_ALL": "C", "PERF_CONFIG": "/dev/null"}
        for form in ([], ["-z"], ["--buildid-mmap"], ["-e", "task-clock:u"]):
            data = os.path.join(work, "recorded.data")
            command = [perf, "record", "-q", "-e", "cpu-clock:u", *form, "-F", "997", "--call-graph", "dwarf,512", "-o", data, tree]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            if done.returncode != 0 or not os.path.exists(data):
                skip("perf cannot record here: " + (done.stderr.strip().split("\n") or [""])[-1])
            theirs = subprocess.run([perf, "script", "-i", data, "-F", FIELDS, "--no-inline", "--ns"], env=environment,
                                    capture_output=True, text=True)
            if theirs.returncode != 0 or not theirs.stdout.strip():
                skip("perf recorded no samples")
            ours = subprocess.run([program, "unwind", data, "--sysroot", "/", "--as", "perf-script"], env=environment,
                                  capture_output=True, text=True)
            a, b = ours.stdout.split("\n"), theirs.stdout.split("\n")
            different = [(x, y) for x, y in zip(a, b) if x != y and ("tree)" in x or "tree)" in y or not y.startswith("\t"))]
            samples = sum(1 for line in b if line and not line.startswith("\t"))
            print(f"{' '.join(form) or 'plain':16} {samples:5} samples, {len(b):5} lines, {len(different)} different")
            if ours.returncode != 0 or len(a) != len(b) or different or samples < 5:
                print(ours.stderr)
                for x, y in different[:3]:
                    print("  ours: " + x + "\n  perf: " + y)
                sys.exit(1)
            os.remove(data)


main()
