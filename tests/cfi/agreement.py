#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the rows that the program prints for real ELF files with the hashes of an independent decoder.

usage: agreement.py PROGRAM [NAME...]; NAME picks files by a part of their path.
BACKSIGHT_ELVES names a folder with a list files.tsv of unpacked packages (package, version, path, file, sha256), and
BACKSIGHT_ELVES_EXPECTED a file with one JSON object for each section: file_sha256, section, sha256_full, sha256_merged.
Exit code 77 without them, which ctest takes for "skipped". Files of another version than the expected one are named and
left out."""
import hashlib
import json
import os
import subprocess
import sys

program, names = sys.argv[1], sys.argv[2:]
folder = os.environ.get("BACKSIGHT_ELVES", "")
facts = os.environ.get("BACKSIGHT_ELVES_EXPECTED", "")
if not folder or not facts:
    print("BACKSIGHT_ELVES and BACKSIGHT_ELVES_EXPECTED are not set: the comparison is left out")
    sys.exit(77)

files = {}
for line in open(os.path.join(folder, "files.tsv")):
    package, version, path, file, sha = line.rstrip("\n").split("\t")
    files[sha] = os.path.join(folder, file)


def rows_hash(form, section, path):
    """SHA-256 of the dump and the number of its lines; dumps of large files have gigabytes, so they are not kept."""
    run = subprocess.Popen([program, "cfi", "rows", form, "--section", section, path], stdout=subprocess.PIPE)
    digest, lines = hashlib.sha256(), 0
    while block := run.stdout.read(1 << 20):
        digest.update(block)
        lines += block.count(b"\n")
    return digest.hexdigest() if run.wait() == 0 else "exit code %d" % run.returncode, lines


agree = differ = absent = lines = 0
for line in open(facts):
    fact = json.loads(line)
    title = "%s %s" % (fact["path"], fact["section"])
    if names and not any(name in title for name in names):
        continue
    path = files.get(fact["file_sha256"])
    if path is None:
        absent += 1
        print("absent   ", title)
        continue
    for form in ("full", "merged"):
        got, count = rows_hash("--" + form, fact["section"], path)
        same = got == fact["sha256_" + form]
        agree += same
        differ += not same
        lines += count
        print("%-9s %-7s %9d lines  %s" % ("agree" if same else "DIFFER", form, count, title), flush=True)

print("%d agree, %d differ, %d files absent; %d lines" % (agree, differ, absent, lines))
sys.exit(1 if differ or agree == 0 else 0)
