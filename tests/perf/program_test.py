#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the program does with perf.data recordings beside printing as perf does: reports, exports, code of jitdumps, tracepoints.

usage: program_test.py PROGRAM DATA     DATA: tests/data/perf; with BACKSIGHT_CORPUS also the recordings there
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, DATA = sys.argv[1:3]
ROOT = ["--sysroot", os.path.join(DATA, "root")]
WORK = tempfile.TemporaryDirectory()
TREE = os.path.join(WORK.name, "tree.data")
JIT = os.path.join(WORK.name, "perf.data")


def unpacked(path):
    return subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout


def set_up():
    for name, target in (("tree-dwarf", TREE), ("jit", JIT)):
        with open(target, "wb") as out:
            out.write(unpacked(os.path.join(DATA, name, "perf.data.zst")))
    # It is looked for beside the recording.
    shutil.copy(os.path.join(DATA, "jit/jit-19598.dump"), WORK.name)


def run(*words, code=0):
    done = subprocess.run([PROGRAM, *words], capture_output=True)
    assert done.returncode == code, (words, done.returncode, done.stderr.decode())
    return done.stdout


def script_samples():
    """(pid, tid, period, [name of each frame, innermost first]) of each sample, as perf script printed the recording of tree."""
    samples = []
    for line in unpacked(os.path.join(DATA, "tree-dwarf/script.txt.zst")).decode().splitlines():
        head = re.match(r"(\S+) +(\d+)/(\d+) +\S+ +(\d+) ", line)
        if head:
            samples.append((head[1], int(head[2]), int(head[3]), int(head[4]), []))
        elif line.startswith("\t"):
            name = re.match(r"\t *[0-9a-f]+ (.*?)(\+0x[0-9a-f]+)? \((.*)\)$", line)
            if name[1] != "[unknown]" or name[3] != "[unknown]":
                samples[-1][4].append((name[1], name[3]))
    return samples


class Reports(unittest.TestCase):
    def report(self, by):
        return [json.loads(line) for line in run("report", TREE, *ROOT, "--by", by, "--format", "json").decode().splitlines()]

    def test_functions(self):
        """A function's own time is that of samples in it, its children's that of samples whose stack it is on, each once."""
        own, all_, count = {}, {}, {}
        for _, _, _, period, frames in script_samples():
            names = [name for name, _ in frames]
            own[names[0]] = own.get(names[0], 0) + period
            count[names[0]] = count.get(names[0], 0) + 1
            for name in set(names):
                all_[name] = all_.get(name, 0) + period
        rows = self.report("function")
        self.assertEqual({row["function"]: row["children"] for row in rows}, all_)
        self.assertEqual({row["function"]: row["self"] for row in rows if row["self"]}, own)
        self.assertEqual({row["function"]: row["samples"] for row in rows if row["samples"]}, count)
        self.assertEqual([row["self"] for row in rows], sorted((row["self"] for row in rows), reverse=True))

    def test_threads_and_processes(self):
        by_thread, by_process = {}, {}
        for comm, pid, tid, period, _ in script_samples():
            by_thread[f"{comm} {tid}"] = by_thread.get(f"{comm} {tid}", 0) + period
            by_process[f"{comm} {pid}"] = by_process.get(f"{comm} {pid}", 0) + period
        for by, expected in (("thread", by_thread), ("process", by_process)):
            rows = self.report(by)
            self.assertEqual({row[by]: row["self"] for row in rows}, expected)
            self.assertEqual({row[by]: row["children"] for row in rows}, expected)

    def test_modules_and_events(self):
        whole = sum(sample[3] for sample in script_samples())
        rows = self.report("module")
        self.assertEqual(sum(row["self"] for row in rows), whole)
        self.assertEqual(self.report("event"), [{"self": whole, "children": whole, "samples": len(script_samples()), "event": "cpu-clock:u"}])

    def test_forms(self):
        """The same rows in every form."""
        rows = self.report("function")
        for form, separator in (("csv", ","), ("tsv", "\t")):
            lines = run("report", TREE, *ROOT, "--format", form).decode().splitlines()
            self.assertEqual(lines[0].split(separator), ["self", "children", "samples", "function"])
            self.assertEqual([line.split(separator) for line in lines[1:]],
                             [[str(row["self"]), str(row["children"]), str(row["samples"]), row["function"]] for row in rows])
        lines = run("report", TREE, *ROOT).decode().splitlines()
        self.assertEqual(lines[0].split(), ["self", "children", "samples", "function"])
        self.assertEqual([line.split()[3] for line in lines[1:]], [row["function"] for row in rows])
        self.assertTrue(all(line.split()[0].endswith("%") for line in lines[1:]))
        limited = run("report", TREE, *ROOT, "--limit", "1", "--format", "csv").decode().splitlines()
        self.assertEqual(len(limited), 2)


class Exports(unittest.TestCase):
    def test_folded(self):
        expected = {}
        for _, _, _, period, frames in script_samples():
            path = ";".join(name for name, _ in reversed(frames))
            expected[path] = expected.get(path, 0) + period
        lines = run("export", TREE, *ROOT, "--to", "folded").decode().splitlines()
        self.assertEqual({line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in lines}, expected)

    def test_perfetto(self):
        """Stacks, threads and times are those of the samples; an independent reader."""
        functions, frames, stacks, samples = {}, {}, {}, []
        for field, packet in messages(run("export", TREE, *ROOT, "--to", "perfetto")):
            parts = list(messages(packet))
            for interned in [value for number, value in parts if number == 12]:
                for number, entry in messages(interned):
                    members = list(messages(entry))
                    iid = dict(members)[1]
                    if number == 5:
                        functions[iid] = dict(members)[2].decode()
                    if number == 6:
                        frames[iid] = dict(members)[2]
                    if number == 7:
                        stacks[iid] = [value for inner, value in members if inner == 2]
            for sample in [dict(messages(value)) for number, value in parts if number == 66]:
                names = [functions[frames[one]] for one in stacks[sample[4]]]
                samples.append((sample[2], sample[3], names[::-1]))
        self.assertEqual(samples, [(pid, tid, [name for name, _ in stack]) for _, pid, tid, _, stack in script_samples()])


def messages(data):
    """(field, number or bytes) of a protobuf message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        value = varint()
        if tag & 7 == 2:
            at += value
            yield tag >> 3, data[at - value:at]
        else:
            yield tag >> 3, value


class Jit(unittest.TestCase):
    def test_names_of_a_jitdump(self):
        """Code that the program made has the names of its dump: what perf shows only after `perf inject -j`."""
        names = re.findall(r"^  u *[0-9a-f]+ (jit_\w+)\+0x[0-9a-f]+ in \[jit\]$", run("unwind", JIT, "--sysroot", DATA).decode(), re.M)
        self.assertEqual(set(names), {"jit_inner", "jit_outer", "jit_outer_again"})
        rows = [json.loads(line) for line in run("report", JIT, "--sysroot", DATA, "--format", "json").decode().splitlines()]
        shown = {row["function"]: row for row in rows}
        # The outer ones, one of them moved, call the inner one and nothing else does.
        outer = shown["jit_outer"]["children"] + shown["jit_outer_again"]["children"]
        own = shown["jit_outer"]["self"] + shown["jit_outer_again"]["self"]
        self.assertEqual(outer, own + shown["jit_inner"]["self"])

    def test_imitation_shows_what_perf_shows(self):
        text = run("unwind", JIT, "--sysroot", DATA, "--as", "perf-script").decode()
        self.assertNotIn("jit_inner", text)

    def test_no_dump(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(JIT, folder)
            done = subprocess.run([PROGRAM, "unwind", os.path.join(folder, "perf.data"), "--sysroot", folder], capture_output=True)
            self.assertEqual(done.returncode, 0)
            self.assertIn(b"no file for", done.stderr)
            self.assertIn(b"jit-19598.dump", done.stderr)
            self.assertNotIn(b"jit_inner", done.stdout)

    @unittest.skipUnless(os.path.isdir(os.path.join(os.environ.get("BACKSIGHT_CORPUS", ""), "perf/jit")), "BACKSIGHT_CORPUS is not set")
    def test_as_injected(self):
        """The names of each sample's stack are those that perf shows of the same recording after inject."""
        folder = os.path.join(os.environ["BACKSIGHT_CORPUS"], "perf/jit")
        text = unpacked(os.path.join(folder, "injected/script.txt.zst")).decode()
        expected = [re.findall(r"^\t *[0-9a-f]+ (jit_\w+\+0x[0-9a-f]+) ", sample, re.M) for sample in text.split("\n\n")]
        ours = [re.findall(r"^  u *[0-9a-f]+ (jit_\w+\+0x[0-9a-f]+) in \[jit\]$", sample, re.M)
                for sample in run("unwind", JIT, "--sysroot", DATA).decode().split("\n\n")]
        self.assertEqual([one for one in ours if one], [one for one in expected if one])


class JitUnwinding(unittest.TestCase):
    """Registers and stack of code that the program made, unwound by what its jitdump says of it: as perf shows after `perf inject -j`."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.data, self.dump = os.path.join(folder.name, "perf.data"), os.path.join(folder.name, "jit-979.dump")
        with open(self.data, "wb") as out:
            out.write(unpacked(os.path.join(DATA, "jit-dwarf/perf.data.zst")))
        shutil.copy(os.path.join(DATA, "jit-dwarf/jit-979.dump"), self.dump)

    def stacks(self, *words):
        """[(name+offset or ?, [jit] or another module, how it ended)] of each sample."""
        done = subprocess.run([PROGRAM, "unwind", self.data, *words], capture_output=True, check=True)
        self.said = done.stderr.decode()
        found = []
        for sample in done.stdout.decode().strip().split("\n\n"):
            found.append([(line[1], line[2]) for line in re.finditer(r"^  u *[0-9a-f]+ (\S+) in (.*)$", sample, re.M)])
        return found

    def injected(self):
        """The same of perf; it adds a frame at -1 where the recorded part of the stack ends."""
        with open(os.path.join(DATA, "jit-dwarf/injected.txt")) as text:
            samples = re.split(r"\n\n+", text.read().strip())
        rows = [re.findall(r"^\t? *([0-9a-f]+) (\S+) \((.*)\)$", sample, re.M) for sample in samples]
        return [[(name, "[jit]" if module.startswith("jitted-") else module) for address, name, module in sample
                 if address != "ffffffffffffffff"] for sample in rows]

    def test_made_code(self):
        """Code that was loaded and code that was moved leads on to the program, the file of which is not there."""
        expected = [[one for one in sample if one[1] == "[jit]"] + [("?", "/opt/app/jit")] for sample in self.injected()]
        self.assertEqual(len(expected), 26)
        self.assertTrue(any(len(sample) == 3 for sample in expected))
        self.assertEqual(self.stacks("--sysroot", os.path.dirname(self.data)), expected)
        self.assertEqual(len(self.said.splitlines()), 1)

    @unittest.skipUnless(os.path.isfile(os.path.join(os.environ.get("BACKSIGHT_CORPUS", ""), "perf/elf/opt/app/jit")), "BACKSIGHT_CORPUS is not set")
    def test_whole_stacks(self):
        self.assertEqual(self.stacks("--sysroot", os.path.join(os.environ["BACKSIGHT_CORPUS"], "perf/elf")), self.injected())

    def change_dump(self, change):
        """Rewrites the dump: change(type, record) gives the record or nothing."""
        with open(self.dump, "rb") as file:
            data = file.read()
        out, at = data[:40], 40
        while at + 16 <= len(data):
            kind, size = struct.unpack_from("<II", data, at)
            out += change(kind, data[at:at + size])
            at += size
        with open(self.dump, "wb") as file:
            file.write(out)

    def test_no_unwinding_information(self):
        """Names stay, and a stack ends at its first frame."""
        expected = [sample[:1] for sample in self.stacks()]
        self.change_dump(lambda kind, record: b"" if kind == 4 else record)
        self.assertEqual(self.stacks(), expected)

    def test_damaged_unwinding_information(self):
        """Whatever stands in place of it, samples have their first frame, and others only where the information leads on."""
        first = [sample[0] for sample in self.stacks()]
        for byte in (0, 0x41, 0xff):
            self.change_dump(lambda kind, record: record[:40] + bytes([byte]) * (len(record) - 40) if kind == 4 else record)
            self.assertEqual([sample[0] for sample in self.stacks()], first)
            self.assertTrue(all(len(sample) == 1 for sample in self.stacks()))

    def test_each_cut_of_the_dump(self):
        """What was written of it counts; that the rest is missing is told."""
        whole = self.stacks()
        with open(self.dump, "rb") as file:
            complete = file.read()
        named = 0
        for size in range(41, len(complete) - 16, 97):
            with open(self.dump, "wb") as file:
                file.write(complete[:size])
            for ours, expected in zip(self.stacks(), whole):
                known = [one for one in ours if one[1] == "[jit]"]
                self.assertEqual(known, expected[:len(known)])
                named += bool(known)
            self.assertRegex(self.said, r"jit-979\.dump:\d+: unexpected end of the data")
        self.assertGreater(named, 0)


class Tracepoints(unittest.TestCase):
    @unittest.skipUnless(os.path.isdir(os.path.join(os.environ.get("BACKSIGHT_CORPUS", ""), "perf/pipe-tracepoint")), "BACKSIGHT_CORPUS is not set")
    def test_text(self):
        """The data of a tracepoint is printed by its format, as perf prints it in the column trace."""
        folder = os.path.join(os.environ["BACKSIGHT_CORPUS"], "perf/pipe-tracepoint")
        path = os.path.join(WORK.name, "tracepoint.data")
        with open(path, "wb") as out:
            out.write(unpacked(os.path.join(folder, "perf.data.zst")))
        expected = run("unwind", path, "--as", "perf-script", "--fields", "trace").decode().splitlines()
        ours = re.findall(r"^  data (.*)$", run("unwind", path).decode(), re.M)
        self.assertTrue(any("=" in one for one in ours))
        self.assertEqual([one.strip() for one in ours], [one.strip() for one in expected if one.strip()])


class Lost(unittest.TestCase):
    """Records of what was lost, put behind those of a stream: of any kind, of samples, and samples that a filter left out."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "perf.data")
        with open(os.path.join(DATA, "pipe/perf.data"), "rb") as file:
            self.data = file.read()

    def write(self, *records):
        """(type, misc, numbers) each, with the members behind it of the last record of the recording that has some."""
        kind = at = 0
        at = struct.unpack_from("<Q", self.data, 8)[0]
        trailer = b""
        while at + 8 <= len(self.data):
            kind, _, size = struct.unpack_from("<IHH", self.data, at)
            if kind == 4:  # EXIT: its own members take 32 bytes with the head.
                trailer = self.data[at + 32:at + size]
            at += size
        self.assertNotEqual(trailer, b"")
        with open(self.path, "wb") as file:
            file.write(self.data)
            for kind, misc, numbers in records:
                body = struct.pack(f"<{len(numbers)}Q", *numbers) + trailer
                file.write(struct.pack("<IHH", kind, misc, 8 + len(body)) + body)

    def test_each_is_said_and_counted(self):
        self.write((2, 0, (1, 5)), (13, 0, (7,)), (13, 1 << 15, (9,)), (13, 0, (1,)))
        told = json.loads(run("check", self.path, "--format", "json", code=1))
        self.assertEqual((told["good"], told["lost_records"], told["lost_samples"], told["filtered_samples"], told["damage"]), (False, 5, 8, 9, []))
        text = run("check", self.path, code=1).decode()
        self.assertRegex(text, r"(?m)^lost samples +8$")
        info = json.loads(run("info", self.path, "--format", "json"))
        self.assertEqual((info["lost records"], info["lost samples"], info["filtered samples"]), (5, 8, 9))
        for words in (["report"], ["stacks"], ["export", "--to", "folded"], ["export", "--to", "perfetto"], ["unwind"], ["unwind", "--as", "perf-script"]):
            said = subprocess.run([PROGRAM, *words, self.path], capture_output=True, check=True).stderr.decode()
            for one in ("5 records were lost", "8 samples were lost", "9 samples were left out by the filter"):
                self.assertIn(one, said, words)

    def test_what_a_filter_left_out_is_not_lost(self):
        self.write((13, 1 << 15, (9,)))
        told = json.loads(run("check", self.path, "--format", "json"))
        self.assertEqual((told["good"], told["lost_samples"], told["filtered_samples"]), (True, 0, 9))

    def test_a_whole_recording_lacks_nothing(self):
        for name in ("pipe", "group-read", "dir-threads"):
            self.assertIn(b"nothing is missing", run("check", os.path.join(DATA, name, "perf.data")))


if __name__ == "__main__":
    set_up()
    unittest.main(argv=sys.argv[:1])
