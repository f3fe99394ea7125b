#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the program with the expected output for every set of recorded memtraces, and prints a table.

usage: agreement.py PROGRAM; the corpus is the folder named by BACKSIGHT_CORPUS. Exit code 77 without it, which ctest
takes for "skipped"."""
import glob
import gzip
import os
import re
import subprocess
import sys

program = sys.argv[1]
corpus = os.environ.get("BACKSIGHT_CORPUS", "")
if not corpus:
    print("BACKSIGHT_CORPUS is not set: the comparison is left out")
    sys.exit(77)
root = os.path.join(corpus, "memtrace")
expected = os.path.join(root, "expected")
rows = []


def run(*words):
    done = subprocess.run([program, *words], capture_output=True, text=True)
    return done.stdout, done.stderr, done.returncode


def read(path):
    if not os.path.exists(path) and os.path.exists(path + ".gz"):
        return gzip.open(path + ".gz", "rt").read()
    return open(path).read()


def exists(path):
    return os.path.exists(path) or os.path.exists(path + ".gz")


def note(kind, name, good, detail=""):
    rows.append((kind, name, good, detail))


def first_difference(a, b):
    for number, (x, y) in enumerate(zip(a.splitlines(), b.splitlines()), 1):
        if x != y:
            return f"line {number}: {x!r} instead of {y!r}"
    return f"{len(a.splitlines())} lines instead of {len(b.splitlines())}" if a != b else ""


def compare(kind, name, words, want):
    out, err, code = run(*words)
    detail = first_difference(out, want) or (err.strip().splitlines() or ["exit code %d" % code])[-1] * (code != 0)
    note(kind, name, out == want and code == 0, detail)


def folder_of(name):
    """The folder of the final trace that an expected file is about."""
    window = re.search(r"\.(window\.\d+)$", name)
    base = name[: window.start()] if window else name
    if base.endswith(".plain"):
        return os.path.join(root, base[:-6], "plain")
    return os.path.join(root, base, "trace", window.group(1)) if window else os.path.join(root, base, "trace")


sets = sorted(re.sub(r"\.gz$", "", os.path.basename(p)) for p in glob.glob(expected + "/*"))
per_window = [s[: -len(".per_thread_window.tsv")] for s in sets if s.endswith(".per_thread_window.tsv")]
for name in per_window:
    folder = folder_of(name)
    if os.path.isdir(folder):
        want = read(os.path.join(expected, name + ".per_thread_window.tsv"))
        compare("per window", name, ["counts", "--per-window", "--format", "tsv", folder], want)

# The same numbers from the other packings of a set; they have no chunks, so "plain" is what they equal.
for packing in ("gz", "lz4"):
    want = read(os.path.join(expected, "single.plain.per_thread_window.tsv"))
    compare("per window", f"single ({packing})", ["counts", "--per-window", "--format", "tsv", os.path.join(root, "single", packing)], want)
for base in ("single_split", "multi_split", "yield_split"):
    tables = [read(os.path.join(expected, s + ".per_thread_window.tsv")) for s in per_window if s.startswith(base + ".window.")]
    want = tables[0].splitlines(True)[0] + "".join("".join(t.splitlines(True)[1:]) for t in tables)
    compare("per window", base + " (whole)", ["counts", "--per-window", "--format", "tsv", os.path.join(root, base, "trace")], want)
    plain = os.path.join(root, base, "plain")
    if os.path.isdir(plain):
        compare("per window", base + " (whole, plain)", ["counts", "--per-window", "--format", "tsv", plain], want)

for name in [s[: -len(".raw_windows.tsv")] for s in sets if s.endswith(".raw_windows.tsv")]:
    want = read(os.path.join(expected, name + ".raw_windows.tsv"))
    compare("raw", name, ["counts", "--per-window", "--format", "tsv", os.path.join(root, name, "raw")], want)


def raw_numbers(folder):
    out, _, code = run("counts", "--per-window", "--format", "tsv", folder)
    return code, [line.split("\t")[2:] for line in out.splitlines()[1:]]


def final_windows(name):
    lines = read(os.path.join(expected, name + ".per_thread_window.tsv")).splitlines()[1:]
    return {f[1]: int(f[2]) for f in (line.split("\t") for line in lines) if f[0] != "*"}


# The compressed raw files are recordings of their own: each must give, window by window, the instructions of the final
# trace made from it; raw2trace removes at most a window-final branch and counts string instructions once per run.
for packing in ("lz4", "gzip", "zlib", "snappy", "snappy_nocrc"):
    code, numbers = raw_numbers(os.path.join(root, "rawz", packing))
    final = final_windows("rawz." + packing)
    good = code == 0 and [n[0] for n in numbers] == list(final) and all(0 <= int(n[3]) - final[n[0]] <= 64 for n in numbers)
    note("raw", "rawz/" + packing, good, "" if good else repr(numbers))
for name in ("raw_v3", "aarch64_raw"):
    code, numbers = raw_numbers(os.path.join(root, "legacy", name))
    good = code == 0 and all(int(n[7]) == 1 and int(n[2]) > 0 for n in numbers)
    note("raw", "legacy/" + name, good, "" if good else repr(numbers))



def by_thread(text):
    """Threads with the same number of instructions come in the order in which the tool opened the files, which is that of
    the recording machine's file system: here they are sorted by number."""
    parts = re.split(r"^(?=Thread \d+ counts:)", text, flags=re.M)

    def key(part):
        lines = part.splitlines()
        return (-int(lines[1].split()[0]), int(lines[0].split()[1]))

    return parts[:1] + sorted(parts[1:], key=key)


for name in [s[: -len(".basic_counts.txt")] for s in sets if s.endswith(".basic_counts.txt")]:
    want = read(os.path.join(expected, name + ".basic_counts.txt"))
    path = folder_of(name)
    if name.startswith("legacy."):
        path = os.path.join(root, "legacy", name[len("legacy."):])
    if not os.path.exists(path):
        continue
    if not want.startswith("Basic counts"):
        note("basic_counts", name, None, "the tool gives no numbers: " + want.strip()[-40:])
        continue
    out, err, code = run("counts", "--as", "drmemtrace", path)
    exact, sorted_ = out == want, by_thread(out) == by_thread(want)
    detail = "" if exact else "but for the order of threads with equal counts" if sorted_ else first_difference(out, want)
    note("basic_counts", name, sorted_ and code == 0, detail)
for name in [s[: -len(".basic_counts_per_file.txt")] for s in sets if s.endswith(".basic_counts_per_file.txt")]:
    wanted = {}
    for line in read(os.path.join(expected, name + ".basic_counts_per_file.txt")).splitlines(True):
        thread, rest = line.split(" ", 1) if " " in line else (line, "")
        wanted.setdefault(thread, []).append(rest)
    for file in sorted(glob.glob(os.path.join(root, name, "trace", "drmemtrace.*"))):
        thread = os.path.basename(file).split(".")[2]
        for key, lines in wanted.items():
            if thread in key and "".join(lines).startswith("Basic"):
                compare("basic_counts", f"{name} {thread}", ["counts", "--as", "drmemtrace", file], "".join(lines))


def without_disassembly(text):
    """Instruction text is another decoder's business: of the fetches only the part before it is compared, and what the
    tool says about the branch behind it."""
    lines = []
    for line in text.splitlines():
        match = re.match(r"(.*(?:ifetch|non-fetched)\s+\d+ byte\(s\) @ 0x[0-9a-f]+ )((?:[0-9a-f]{2} )*)\s*(.*)$", line)
        if match:
            tail = re.search(r"\((?:taken|untaken|target 0x[0-9a-f]+)\)$", line)
            lines.append(match.group(1) + match.group(2).strip() + " " + (tail.group(0) if tail else ""))
        else:
            lines.append(line.rstrip())
    return "\n".join(lines) + "\n"


for name in [s[: -len(".view.txt")] for s in sets if s.endswith(".view.txt")]:
    want = without_disassembly(read(os.path.join(expected, name + ".view.txt")))
    path = folder_of(name)
    if name == "legacy.allasm":
        path = os.path.join(root, "legacy", "drmemtrace.allasm_x86_64.trace.zip")
    out, err, code = run("view", "--as", "drmemtrace", path)
    got = without_disassembly(out)
    note("view", name, got == want and code == 0, first_difference(got, want) or err.strip()[-80:])

for path in ("mock_syscall_sequences.x64", "mock_switch_sequences.x64.zip"):
    out, err, code = run("counts", "--per-window", "--format", "tsv", os.path.join(root, "legacy", path))
    note("reads", path, code == 0 and len(out.splitlines()) > 1, err.strip()[-80:])

width = max(len(r[1]) for r in rows)
bad = 0
for kind, name, good, detail in rows:
    word = "no numbers" if good is None else "agrees" if good else "DIFFERS"
    bad += good is False
    print(f"{kind:13} {name:{width}} {word} {detail}".rstrip())
print(f"{sum(r[2] is True for r in rows)} agree, {bad} differ, {sum(r[2] is None for r in rows)} without numbers of the tool")
sys.exit(1 if bad else 0)
