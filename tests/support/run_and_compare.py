# SPDX-License-Identifier: Apache-2.0
"""Runs a program and compares what it prints with a file.

    python3 run_and_compare.py EXPECTED PROGRAM [ARGUMENT]...

With BACKSIGHT_UPDATE_GOLDEN=1 in the environment it rewrites the file instead.
"""
import difflib
import os
import subprocess
import sys


def main():
    expected_path, *command = sys.argv[1:]
    done = subprocess.run(command, stdout=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"{command[0]} ends with exit code {done.returncode}")
    if os.environ.get("BACKSIGHT_UPDATE_GOLDEN") == "1":
        with open(expected_path, "wb") as file:
            file.write(done.stdout)
        return
    with open(expected_path, "rb") as file:
        expected = file.read()
    if expected == done.stdout:
        return
    lines = difflib.unified_diff(expected.decode(errors="replace").splitlines(), done.stdout.decode(errors="replace").splitlines(),
                                 expected_path, "printed now", lineterm="")
    sys.exit("\n".join(lines))


if __name__ == "__main__":
    main()
