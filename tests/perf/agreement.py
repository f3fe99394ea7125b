# SPDX-License-Identifier: Apache-2.0
"""Compares the records that print_records reads with what `perf report -D` and `perf script` print for the same recordings.

    python3 agreement.py PRINT_RECORDS SETS        a folder with a folder for each recording
    python3 agreement.py PRINT_RECORDS --corpus    the folder perf of BACKSIGHT_CORPUS

A set holds perf.data (a file, or a folder of files), and dump.txt, script.txt or stats.txt, each of them perhaps packed with zstd. A set
that is derived from another one by swapping bytes is compared with the other's dump. Prints what is compared; exit code 1 where
anything differs, 77 when it cannot run.
"""
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile

EVENT = re.compile(r"^(?:0x)?([0-9a-f]+)@\S+ \[0x([0-9a-f]+)\]: event: (\d+)$")
RECORD = re.compile(r"^(?:(-?\d+) )?(\d+) (?:0x)?[0-9a-f]+ \[0x[0-9a-f]+\]: PERF_RECORD_(\w+)(.*)$")
SAMPLE = re.compile(r"^\(\w+, 0x[0-9a-f]+\): (-?\d+)/(-?\d+): (?:0x)?([0-9a-f]+) period: (\d+) addr: (?:0x)?([0-9a-f]+)")
READ = re.compile(r"^: (\d+) (\d+) \S+ (\d+)$")
ENTRY = re.compile(r"^\.{5} +\d+: ([0-9a-f]+)$")
BRANCH = re.compile(r"^\.{5} +\d+: ([0-9a-f]+) -> ([0-9a-f]+) (\d+) cycles")
REGISTER = re.compile(r"^\.{4} \w+ +0x([0-9a-f]+)$")
VALUE = re.compile(r"^\.{5} id ([0-9a-f]+), value ([0-9a-f]+)(?:, lost (\d+))?")
ALONE = {"weight": re.compile(r"^ \. ?\.?\.? weight: (\d+)"), "data_src": re.compile(r"^ \. data_src: 0x([0-9a-f]+)"),
         "phys_addr": re.compile(r"^ \.+ phys_addr: 0x([0-9a-f]+)"), "transaction": re.compile(r"^\.+ transaction: ([0-9a-f]+)")}
STACK = re.compile(r"^\.\.\. ustack: size (\d+), offset")


def text_of(path):
    """The lines of a file that may be packed; None where it is not there."""
    if os.path.exists(path):
        return open(path, encoding="utf-8", errors="replace").read()
    if os.path.exists(path + ".zst"):
        return subprocess.run(["zstd", "-dcq", path + ".zst"], capture_output=True, check=True).stdout.decode("utf-8", "replace")
    return None


def expected_of(dump):
    """The records that perf prints, in order: each a dictionary of what it says."""
    records, now, block = [], None, ""
    for line in dump.splitlines():
        if EVENT.match(line):
            offset, size, number = EVENT.match(line).groups()
            now = {"offset": int(offset, 16), "size": int(size, 16), "type": int(number)}
            records.append(now)
            block = ""
            continue
        if now is None:
            continue
        found = RECORD.match(line)
        if found and "time" not in now:
            cpu, time, _, rest = found.groups()
            now["time"] = int(time)
            if cpu is not None and int(cpu) >= 0:
                now["cpu"] = int(cpu)
            sample = SAMPLE.match(rest) if now["type"] == 9 else None
            if sample:
                now.update(pid=sample[1], tid=sample[2], ip=sample[3], period=sample[4], addr=sample[5])
            elif now["type"] == 8 and READ.match(rest):
                now["read_value"] = int(READ.match(rest)[3])
            continue
        if "chain" in line:
            block = "chain"
            now["chain"] = []
        elif "branch stack" in line:
            block = "branches"
            now["branches"] = []
        elif line.startswith("... user regs"):
            block = "uregs"
            now["uregs"] = []
        elif line.startswith("... intr regs"):
            block = "iregs"
            now["iregs"] = []
        elif line.startswith("... sample_read"):
            block = "read"
            now["values"] = []
        elif STACK.match(line):
            now["stack"] = int(STACK.match(line)[1])
        elif block == "chain" and ENTRY.match(line):
            now["chain"].append(int(ENTRY.match(line)[1], 16))
        elif block == "branches" and BRANCH.match(line):
            a, b, c = BRANCH.match(line).groups()
            now["branches"].append((int(a, 16), int(b, 16), int(c)))
        elif block in ("uregs", "iregs") and REGISTER.match(line):
            now[block].append(int(REGISTER.match(line)[1], 16))
        elif block == "read" and VALUE.match(line):
            a, b, c = VALUE.match(line).groups()
            now["values"].append((int(a, 16), int(b, 16), int(c or 0)))
        else:
            for key, pattern in ALONE.items():
                if pattern.match(line):
                    now[key] = pattern.match(line)[1]
    return records


def read_records(program, files):
    done = subprocess.run([program, *files], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    records, faults = [], []
    for line in lines:
        words = line.split(" ")
        if not words[0].isdigit():
            faults.append(line)
            continue
        one = {"type": int(words[0]), "offset": int(words[1], 16), "size": int(words[2], 16), "time": int(words[3])}
        for word in words[5:]:
            key, _, value = word.partition("=")
            one[key] = value
        records.append(one)
    return records, faults, done


def numbers(text):
    return [int(word, 16) for word in text.split(",")] if text else []


def values_of(text):
    return [tuple(int(n, 16) for n in one.split(",")) for one in text.split(";")[1:]]


class Comparison:
    def __init__(self):
        self.counts = collections.Counter()
        self.wrong = []

    def check(self, name, what, expected, found):
        self.counts[what] += 1
        if expected != found:
            self.counts[what + " that differ"] += 1
            self.wrong.append(f"{name}: {what}: perf has {expected}, here is {found}")

    def record(self, name, expected, found, offsets):
        at = f"{name} at {expected['offset']:#x}"
        self.check(at, "records", (expected["type"], expected["size"]), (found["type"], found["size"]))
        if offsets is not None:
            self.check(at, "offsets", expected["offset"] + offsets, found["offset"])
        if "time" in expected and expected["type"] < 64:
            self.check(at, "times", expected["time"], found["time"])
        if expected["type"] == 8 and "read_value" in expected:
            self.check(at, "values of counters", expected["read_value"], values_of(found["read"])[0][1])
        if expected["type"] != 9 or "pid" not in expected:
            return
        self.check(at, "samples", None, found.get("error") or found.get("trailing"))
        for key, base in (("pid", 10), ("tid", 10), ("ip", 16), ("period", 10), ("addr", 16)):
            self.check(at, "members of samples", (key, int(expected[key], base)), (key, int(found.get(key, "-1"), base)))
        if "cpu" in expected and "cpu" in found:
            self.check(at, "members of samples", ("cpu", expected["cpu"]), ("cpu", int(found["cpu"])))
        if "chain" in expected:
            self.check(at, "call chains", expected["chain"], numbers(found.get("chain", "")))
            self.counts["entries of call chains"] += len(expected["chain"])
        for key in ("uregs", "iregs"):
            if key in expected:
                self.check(at, "sets of registers", expected[key], numbers(found.get(key, "")))
                self.counts["registers"] += len(expected[key])
        if "stack" in expected:
            self.check(at, "stacks", expected["stack"], int(found.get("stack", "-1")))
        if "values" in expected:
            self.check(at, "values of counters", expected["values"], values_of(found.get("read", "")))
        if "branches" in expected:
            branches = [tuple(re.split("[-/]", one)) for one in found.get("branches", "").split(",")]
            self.check(at, "branch stacks", expected["branches"], [(int(a, 16), int(b, 16), int(c)) for a, b, c in branches])
        for key, base in (("weight", 10), ("data_src", 16), ("phys_addr", 16), ("transaction", 16)):
            if key in expected:
                self.check(at, "further numbers", (key, int(expected[key], base)), (key, int(found.get(key, "-1"), base)))

    def set(self, name, program, files, dump, script, stats):
        records, faults, done = read_records(program, files)
        if done.returncode != 0 or "ERROR" in done.stderr:
            self.wrong.append(f"{name}: exit code {done.returncode}: {done.stderr}")
            return
        self.counts["recordings"] += 1
        if dump is not None:
            self.dumped(name, files, dump, records)
        if stats is not None and "TOTAL" in stats:
            # What is compressed here is unfolded; perf counts the compressed records too.
            all_events = re.split(r"^.* stats:\n", stats, flags=re.MULTILINE)[1]
            listed = {what: int(count) for what, count in re.findall(r"^ +(\w+) events: +(\d+)", all_events, re.MULTILINE)}
            self.check(name, "sums of records", listed["TOTAL"] - listed.get("COMPRESSED", 0), len(records))
            self.check(name, "numbers of samples", listed.get("SAMPLE", 0), sum(one["type"] == 9 for one in records))
        if script is not None and dump is None:
            times = re.findall(r"^ *\S.*? +(\d+)/(\d+) +(?:\[\d+\] +)?(\d+)\.(\d{9}): ", script, re.MULTILINE)
            mine = [(one["pid"], one["tid"], one["time"]) for one in records if one["type"] == 9 and "pid" in one]
            self.check(name, "recordings by their script", [(pid, tid, int(s) * 10**9 + int(ns)) for pid, tid, s, ns in times], mine)
        print(f"{name}: {len(records)} records; {'; '.join(faults)}")

    def dumped(self, name, files, dump, records):
        expected = expected_of(dump)
        # perf counts from behind the header of a pipe; records that were compressed have a place in its buffer instead.
        head = open(files[0], "rb").read(16)
        offsets = 16 if 16 in (head[8], head[15]) else 0
        if "COMPRESSED events" in dump:
            offsets = None
        self.check(name, "numbers of records", len(expected), len(records))
        for one, other in zip(expected, records):
            self.record(name, one, other, offsets)


def main():
    program, folder = sys.argv[1:3]
    if folder == "--corpus":
        corpus = os.environ.get("BACKSIGHT_CORPUS")
        if not corpus or not os.path.isdir(os.path.join(corpus, "perf")):
            print("SKIPPED: BACKSIGHT_CORPUS is not set, or has no perf")
            return 77
        folder = os.path.join(corpus, "perf")
    packed = glob.glob(os.path.join(folder, "*", "*.zst"))
    try:
        subprocess.run(["zstd", "--version"], capture_output=True, check=True)
    except OSError:
        if packed:
            print("SKIPPED: needs the program zstd")
            return 77
    comparison = Comparison()
    for path in sorted(glob.glob(os.path.join(folder, "*"))) + sorted(glob.glob(os.path.join(folder, "*", "injected"))):
        data = os.path.join(path, "perf.data")
        if not any(os.path.exists(data + end) for end in ("", ".zst")):
            continue
        name = os.path.relpath(path, folder)
        with tempfile.TemporaryDirectory() as scratch:
            if os.path.isdir(data):
                files = sorted(glob.glob(os.path.join(data, "data*")), key=lambda one: (len(one), one))
            elif os.path.exists(data):
                files = [data]
            else:
                files = [os.path.join(scratch, "perf.data")]
                subprocess.run(["zstd", "-dq", data + ".zst", "-o", files[0]], check=True)
            original = re.sub(r"^bigendian-(.*)-derived$", r"\1", name)
            dump = text_of(os.path.join(folder, original, "dump.txt"))
            comparison.set(name, program, files, dump, text_of(os.path.join(path, "script.txt")), text_of(os.path.join(path, "stats.txt")))
    for line in comparison.wrong[:int(os.environ.get("LINES_SHOWN", "60"))]:
        print(line)
    for what, count in sorted(comparison.counts.items()):
        print(f"{count:8} {what}")
    if not comparison.counts["records"]:
        print("nothing was compared")
        return 1
    return 1 if comparison.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
