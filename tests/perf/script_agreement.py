#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `backsight unwind FILE --as perf-script` with what `perf script` printed for the recording.

usage: script_agreement.py PROGRAM FOLDER [--sysroot DIR]...   each recording in FOLDER, with its script.txt
       script_agreement.py PROGRAM --corpus                    those of BACKSIGHT_CORPUS; exit code 77 where there are none

The recordings of the corpus went through files of Debian that it does not hold: debian-files.tsv names them. Samples with frames in one
that this machine has not, or not the same, or whose debug file is not installed, are left out, which is said.

Counts samples and frames that are equal, and puts the others into classes; prints an example of each class with --examples.
Fails when fewer than 99.5 % of the samples are the same, where differences of a class that the documentation
explains count as the same: each such class has a test of its own here.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

GOOD = 0.995
DEFAULT_FIELDS = "comm,pid,tid,time,event,period,ip,sym,symoff,dso"


def unpacked(path, work):
    """The path of a file that may be stored packed, or None."""
    if os.path.exists(path):
        return path
    if not os.path.exists(path + ".zst"):
        return None
    out = os.path.join(work, os.path.basename(path))
    subprocess.run(["zstd", "-dcq", path + ".zst"], stdout=open(out, "wb"), check=True)
    return out


def samples_of(text):
    """[(head, [frame line...], tail)] of an output: a sample begins where a line without a tab follows an end."""
    samples = []
    for line in text.split("\n"):
        if line.startswith("\t") and samples:
            samples[-1][1].append(line)
        elif line.strip() == "" or (line.startswith(" ") and re.match(r" (ABI:|0x)", line) and samples):
            if line.strip() and samples:
                samples[-1][2].append(line)
        elif samples and samples[-1][1] and re.match(r"\s+[0-9a-f]+ (N/A|[0-9]+[BKMG]) ", line):
            samples[-1][2].append(line)
        else:
            samples.append((line, [], []))
    return samples


FRAME = re.compile(r"^\t *([0-9a-f]+) (.*) \((.*)\)$")


def parts(line):
    match = FRAME.match(line)
    return match.groups() if match else (line, "", "")


def class_of(name, ours, theirs, notes):
    """Why a sample differs, and whether that is explained: where we find more than perf, or say that we print less."""
    if ours[0] != theirs[0]:
        return "head", False
    a, b = [parts(line) for line in ours[1]], [parts(line) for line in theirs[1]]
    places_a, places_b = [(x[0], x[2]) for x in a], [(x[0], x[2]) for x in b]
    if places_a == places_b:
        different = [(x[1], y[1]) for x, y in zip(a, b) if x[1] != y[1]]
        if different and all(y == "[unknown]" for _, y in different):
            return "names that perf does not find", True
        if different:
            return "another name", False
        return "members behind the frames", False
    mark = ("ffffffffffffffff", "[unknown]")
    cut = places_b[:-1] if places_b and places_b[-1] == mark else places_b
    if len(places_a) > len(cut) and places_a[: len(cut)] == cut:
        names_same = all(x[1] == y[1] or y[1] == "[unknown]" for x, y in zip(a, b[: len(cut)]))
        # A walk that goes on is right where it comes to the end.
        if names_same:
            return "perf's walk ends earlier", True
    if len(places_a) < len(cut) and cut[: len(places_a)] == places_a:
        return "our walk ends earlier", False
    if places_a[:-1] == places_b or places_b[:-1] == places_a:
        return "the mark of a cut stack", False
    return "other frames", False


def missing_files(table, sysroots):
    """The files of debian-files.tsv that are not there as they were, by the paths that perf prints."""
    missing = set()
    if not os.path.exists(table):
        return missing
    with open(table, encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines][1:]
    for path, _, _, build_id, has_debug_file, *_ in rows:
        note = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + bytes.fromhex(build_id)
        debug_file = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
        there = [root + path for root in sysroots if os.path.isfile(root + path)]
        if not any(note in open(one, "rb").read() for one in there) or (
                has_debug_file == "yes" and not any(os.path.exists(root + debug_file) for root in sysroots)):
            missing.add(path)
    return missing


def goes_through(sample, paths):
    return any(f"({path})" in line for line in [sample[0], *sample[1]] for path in paths)


def compare(program, folder, sysroots, work, examples, totals, missing):
    name = os.path.basename(folder.rstrip("/"))
    data = folder if os.path.isdir(os.path.join(folder, "perf.data")) else None
    data = os.path.join(folder, "perf.data") if data else unpacked(os.path.join(folder, "perf.data"), work)
    expected = unpacked(os.path.join(folder, "script.txt"), work)
    if data is None or expected is None:
        return
    for extra in os.listdir(folder):
        # What profilers leave beside recordings.
        if re.match(r"(jit-.*\.dump|jitted-.*\.so|perf-.*\.map)$", extra) and os.path.dirname(data) == work:
            shutil.copy(os.path.join(folder, extra), work)
    fields = DEFAULT_FIELDS
    notes = os.path.join(folder, "NOTES")
    text = open(notes).read() if os.path.exists(notes) else ""
    original = re.match(r"(?:bigendian-)?(.*)-derived$", name)
    if original and "fields" not in text:
        notes = os.path.join(os.path.dirname(folder), original.group(1), "NOTES")
        text = open(notes).read() if os.path.exists(notes) else ""
    match = re.search(r"script.txt(?: fields)?: ([a-z_,]+)", text)
    if match:
        fields = match.group(1)
    command = [program, "unwind", data, "--as", "perf-script", "--fields", fields]
    for root in sysroots:
        command += ["--sysroot", root]
    done = subprocess.run(command, capture_output=True)
    ours = samples_of(done.stdout.decode(errors="replace"))
    theirs = samples_of(open(expected, errors="replace").read())
    # Samples that waited for their call chain come when it comes.
    key = lambda s: (s[0], s[1])
    if "deferred" in name:
        ours.sort(key=key)
        theirs.sort(key=key)
    classes = {}
    same = explained = frames = frames_same = left_out = 0
    for a, b in zip(ours, theirs):
        if goes_through(b, missing):
            left_out += 1
            continue
        frames += len(b[1])
        frames_same += sum(x == y for x, y in zip(a[1], b[1]))
        if a == b:
            same += 1
            continue
        why, more = class_of(name, a, b, text)
        explained += more
        classes.setdefault(why, []).append((a, b))
    count = max(len(ours), len(theirs)) - left_out
    totals.append((name, count, same, explained, frames, frames_same, left_out))
    good = count + left_out != 0 and same + explained >= GOOD * count and len(ours) == len(theirs)
    print(f"{name:32} {len(theirs):6} samples {len(ours):6} ours {same:6} equal {explained:6} explained "
          f"{frames:7} frames {frames_same:7} equal{f'  {left_out} left out' if left_out else ''}{'' if good else '   NOT GOOD'}"
          f"{'' if done.returncode == 0 else f'  exit {done.returncode}'}")
    for why, list_ in sorted(classes.items()):
        print(f"    {len(list_):6} {why}")
        if examples:
            for a, b in list_[:examples]:
                print("      ours:  ", a[0], *a[1], *a[2], sep="\n        ")
                print("      perf:  ", b[0], *b[1], *b[2], sep="\n        ")
    if not good and done.stderr:
        print("    stderr: " + done.stderr.decode(errors="replace")[:400].replace("\n", "\n            "))
    return good


def main():
    arguments = sys.argv[1:]
    examples = 0
    if "--examples" in arguments:
        arguments.remove("--examples")
        examples = 1
    sysroots, only = [], None
    while "--sysroot" in arguments:
        at = arguments.index("--sysroot")
        sysroots.append(arguments[at + 1])
        del arguments[at:at + 2]
    if "--only" in arguments:
        at = arguments.index("--only")
        only = arguments[at + 1].split(",")
        del arguments[at:at + 2]
    program = arguments[0]
    work = tempfile.mkdtemp()
    try:
        folder = arguments[1]
        if folder == "--corpus":
            corpus = os.environ.get("BACKSIGHT_CORPUS")
            if not corpus or not os.path.isdir(os.path.join(corpus, "perf")):
                print("skipped: BACKSIGHT_CORPUS is not set, or has no folder perf")
                return 77
            folder = os.path.join(corpus, "perf")
            root = os.path.join(work, "root")
            shutil.copytree(os.path.join(folder, "elf"), root, symlinks=True)
            for here, _, files in os.walk(root):
                os.chmod(here, 0o755)
                for one in files:
                    if one.endswith(".zst"):
                        subprocess.run(["zstd", "-dq", "--rm", os.path.join(here, one)], check=True)
            sysroots = [root] + (sysroots or ["/"])
        folders = []
        for here, below, files in sorted(os.walk(folder)):
            if "script.txt" in files or "script.txt.zst" in files:
                folders.append(here)
        missing = missing_files(os.path.join(folder, "debian-files.tsv"), [root.rstrip("/") for root in sysroots])
        totals = []
        good = True
        for one in folders:
            if only and os.path.relpath(one, folder) not in only:
                continue
            good = compare(program, one, sysroots, work, examples, totals, missing) is not False and good
        count, same, explained = (sum(t[i] for t in totals) for i in (1, 2, 3))
        print(f"{len(totals)} recordings, {count} samples, {same} equal, {explained} explained, "
              f"{sum(t[4] for t in totals)} frames, {sum(t[5] for t in totals)} equal")
        if missing:
            print(f"{sum(t[6] for t in totals)} samples left out, of files that are not here as they were, or without their debug files: "
                  f"{' '.join(sorted(missing))}")
        if totals and good and count == 0:
            return 77
        return 0 if good and totals else 1
    finally:
        shutil.rmtree(work, ignore_errors=True)


sys.exit(main())
