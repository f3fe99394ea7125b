# SPDX-License-Identifier: Apache-2.0
"""Compares the declarations that backsight makes of formats with those that are stored, for review: BACKSIGHT_UPDATE_GOLDEN=1 rewrites them.

    python3 declared_test.py PROGRAM FORMAT...
"""
import difflib
import os
import subprocess
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "expected")


def main():
    program, *formats = sys.argv[1:]
    bad = 0
    for name in formats:
        for what, suffix in (("kaitai", ".ksy"), ("imhex", ".hexpat")):
            text = subprocess.run([program, what, name], stdout=subprocess.PIPE, text=True, check=True).stdout
            path = os.path.join(FOLDER, name + suffix)
            if os.environ.get("BACKSIGHT_UPDATE_GOLDEN") == "1":
                with open(path, "w") as out:
                    out.write(text)
            with open(path) as stored:
                difference = list(difflib.unified_diff(stored.read().splitlines(), text.splitlines(), path, program, lineterm=""))
            if difference:
                print("\n".join(difference[:40]))
                bad += 1
    sys.exit(1 if bad else 0)


main()
