# SPDX-License-Identifier: Apache-2.0
"""Checks what `backsight` shows and says of uftrace directories.

    uftrace_test.py PROGRAM DATA
"""
import csv
import datetime
import io
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, DATA = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SID = "555545321375d3ec"  # of single-pg


class Uftrace(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.join(tempfile.mkdtemp(), "made")
        self.addCleanup(shutil.rmtree, os.path.dirname(self.folder))

    def copy(self, name="single-pg"):
        shutil.copytree(os.path.join(DATA, "uftrace", name, "uftrace.data"), self.folder)
        return self.folder

    def append(self, name, text):
        with open(os.path.join(self.folder, name), "a", encoding="ascii") as file:
            file.write(text)

    def run_it(self, *words, code=0):
        done = subprocess.run([PROGRAM, *words], capture_output=True, check=False, timeout=60)
        self.assertEqual(done.returncode, code, (words, done.stderr.decode()))
        return done.stdout.decode(), done.stderr.decode()

    def events(self, *words):
        """(nanoseconds, rest of the line) of each line of a replay that has a time."""
        text, _ = self.run_it("replay", "--no-merge", "-f", "time", *words, self.folder)
        lines = (re.fullmatch(r" *(\d+)\.(\d{9}) (.*)", line) for line in text.splitlines())
        return [(int(line[1]) * 1_000_000_000 + int(line[2]), line[3].strip()) for line in lines if line]

    def test_ranges_count_from_the_first_record_where_a_number_has_a_unit(self):
        self.copy()
        with open(os.path.join(self.folder, "16767.dat"), "rb") as file:
            first = struct.unpack("<Q", file.read(8))[0]
        everything = [time for time, _ in self.events()]
        self.assertGreater(len(everything), 20)
        middle = everything[len(everything) // 2]
        since = middle - first

        def times(text):
            return [time for time, _ in self.events("-r", text)]
        # An open end, in each unit, just before, at and just behind a record.
        whole, part = divmod(since, 1000)
        for text, begin in ((f"{whole}.{part:03}us~", middle), (f"{since}ns~", middle), (f"{since}nsec~", middle),
                            (f"{since // 1_000_000}.{since % 1_000_000:06}ms~", middle), (f"0.{since:09}s~", middle),
                            (f"0.{since:09}sec~", middle), (f"{since + 1}ns~", middle + 1), (f"{since - 1}ns~", middle - 1)):
            self.assertEqual(times(text), [time for time in everything if time >= begin], text)
        # An open begin, and both; a number without unit is a time of the trace's clock.
        for text, begin, end in ((f"~{since}ns", 0, middle), (f"~{since - 1}ns", 0, middle - 1),
                                 (f"{since}ns~{since}ns", middle, middle), ("0ns~", first, everything[-1]),
                                 (f"0.{first:09}~" if first < 10**9 else f"{first // 10**9}.{first % 10**9:09}~", first, everything[-1])):
            self.assertEqual(times(text), [time for time in everything if begin <= time <= end], text)
        self.assertEqual(times("~"), everything)
        for text in ("5us", "5parsecs~", "us~", "1.5~2x"):
            self.assertIn("-r wants START~STOP", self.run_it("replay", "-r", text, self.folder, code=2)[1], text)

    def test_info_tells_what_was_recorded_and_as_the_tool_what_that_tells(self):
        self.copy()
        text, _ = self.run_it("info", self.folder)
        self.assertTrue(text.startswith("format        uftrace, version 4, little-endian, 64 bits\n"))
        # The clock's zero and the time of the first task, as task.txt and info have them.
        with open(os.path.join(self.folder, "info"), "rb") as file:
            offset = int(re.search(rb"utc_offset:(\d+)", file.read())[1])
        with open(os.path.join(self.folder, "task.txt")) as file:
            seconds, nanoseconds = re.search(r"timestamp=(\d+)\.(\d+)", file.read()).groups()
        begin = datetime.datetime.fromtimestamp(offset + int(seconds), datetime.timezone.utc)
        self.assertIn(f"begin         {begin:%Y-%m-%d %H:%M:%S}.{int(nanoseconds) // 1000:06} UTC\n", text)
        rows = list(csv.DictReader(io.StringIO(self.run_it("info", "--task", "--format", "csv", self.folder)[0])))
        self.assertEqual([(row["process"], row["thread"], row["starts_program"], row["name"]) for row in rows], [("16767", "16767", "yes", "single-pg")])
        self.assertEqual(int(rows[0]["bytes"]), os.path.getsize(os.path.join(self.folder, "16767.dat")))
        facts = {row["name"]: row["value"] for row in csv.DictReader(io.StringIO(self.run_it("info", "--format", "csv", self.folder)[0]))}
        self.assertEqual((facts["exit"], facts["program"]), ("exited with code: 40", "/opt/app/single-pg"))
        self.assertTrue(self.run_it("info", "--as", "uftrace", self.folder)[0].startswith("# system information\n"))
        self.assertIn("TIMESTAMP", self.run_it("info", "--as", "uftrace", "--task", self.folder)[0])
        self.assertIn("--format", self.run_it("info", "--as", "uftrace", "--format", "json", self.folder, code=2)[1])

    def test_a_library_of_an_unknown_session_is_said(self):
        self.copy()
        size = os.path.getsize(os.path.join(self.folder, "task.txt"))
        before, _ = self.run_it("report", self.folder)
        self.append("task.txt", 'DLOP timestamp=752.268864071 tid=16767 sid=0123456789abcdef base=7f0000000000 libname="x.so"\n')
        for command in ("report", "replay", "info"):
            out, error = self.run_it(command, self.folder, code=1)
            self.assertRegex(error, rf"task\.txt:{size}: a record does not match the one that it belongs to")
            self.assertTrue(out)
        self.assertEqual(self.run_it("report", self.folder, code=1)[0], before)

    def fork(self, child, parent):
        return f"FORK timestamp=752.{300_000_000 + child:09} pid={child} ppid={parent}\n"

    def test_a_tree_of_tasks_that_is_too_deep_is_said_to_be_cut(self):
        # The task of the recording and 256 below it are shown; one more is too many.
        self.copy()
        self.append("task.txt", "".join(self.fork(20000 + i, 20000 + i - 1 if i else 16767) for i in range(256)))
        out, error = self.run_it("graph", "--task", "--as", "uftrace", self.folder)
        self.assertEqual((out.count("] :"), error), (257, ""))
        self.append("task.txt", self.fork(20256, 20255))
        out, error = self.run_it("graph", "--task", "--as", "uftrace", self.folder, code=1)
        self.assertEqual(out.count("] :"), 257)
        self.assertIn("tasks below more than 256 others are left out", error)

    def test_tasks_that_are_each_others_parents_are_shown_once(self):
        self.copy()
        with open(os.path.join(self.folder, "task.txt"), encoding="ascii") as file:
            session = file.readline()
        self.assertIn(SID, session)
        with open(os.path.join(self.folder, "task.txt"), "w", encoding="ascii") as file:
            file.write(session + self.fork(16767, 20001) + self.fork(20001, 16767) +
                       "".join(self.fork(20002 + i, 20001) for i in range(50)))
        out, _ = self.run_it("graph", "--task", "--as", "uftrace", self.folder)
        self.assertEqual(out.count("] :"), 52)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
