# SPDX-License-Identifier: Apache-2.0
"""How the program behaves on a terminal and for people: colour, pager, thousands, recursion, dates, names of registers.

    manners_test.py PROGRAM DATA
"""
import os
import pty
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # Nothing is written beside the tests.
import made_traces
from terminals import has_terminals

PROGRAM, DATA = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
LOG = "xray/c19/fdr-threads.xray"
UFTRACE = "uftrace/single-pg/uftrace.data"
YIELD = "memtrace/yield/drmemtrace.yield.24340.6622.trace.zip"


def run(*words, **more):
    done = subprocess.run([PROGRAM, *words], capture_output=True, cwd=DATA, text=True, check=True, **more)
    return done.stdout


def refused(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, cwd=DATA, text=True)
    return done.returncode == 2 and done.stdout == ""


def on_terminal(*words, columns=120, **environment):
    """What a terminal of so many columns gets."""
    own, other = pty.openpty()
    os.set_blocking(own, True)
    import fcntl
    import struct
    import termios
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    variables = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "PAGER", "BACKSIGHT_PAGER", "LESS")}
    variables.update({"TERM": "xterm", **environment})
    process = subprocess.Popen([PROGRAM, *words], stdin=other, stdout=other, stderr=other, cwd=DATA, env=variables)
    os.close(other)
    got = b""
    while True:
        try:
            piece = os.read(own, 65536)
        except OSError:
            break
        if not piece:
            break
        got += piece
    os.close(own)
    assert process.wait(timeout=60) == 0, got
    return got.decode().replace("\r\n", "\n")


class Color(unittest.TestCase):
    @unittest.skipUnless(has_terminals(), "no pseudo terminals")
    def test_it_is_for_terminals_that_take_it(self):
        self.assertNotIn("\x1b", run("report", LOG))
        self.assertIn("\x1b[1m", on_terminal("report", LOG, "--no-pager"))
        self.assertNotIn("\x1b", on_terminal("report", LOG, "--no-pager", NO_COLOR="1"))
        self.assertNotIn("\x1b", on_terminal("report", LOG, "--no-pager", TERM="dumb"))
        self.assertNotIn("\x1b", on_terminal("report", LOG, "--no-pager", "--color", "never"))

    def test_always_is_always_and_changes_nothing_else(self):
        colored = run("report", LOG, "--color", "always")
        self.assertEqual(re.sub("\x1b\\[[0-9]*m", "", colored), run("report", LOG))
        # The largest shares, and not the small ones.
        self.assertIn("\x1b[31m", colored.splitlines()[1])
        self.assertNotIn("\x1b[3", colored.splitlines()[-1])
        self.assertEqual(run("report", LOG, "--format", "csv", "--color", "always"), run("report", LOG, "--format", "csv"))
        with open(os.devnull, "w") as null:
            subprocess.run([PROGRAM, "graph", LOG, "--color", "sometimes"], cwd=DATA, stderr=null, stdout=null)
        self.assertTrue(refused("report", LOG, "--color", "sometimes"))


@unittest.skipUnless(has_terminals(), "no pseudo terminals")
class Pager(unittest.TestCase):
    def test_a_terminal_gets_text_by_way_of_it(self):
        plain = run("report", LOG, "--color", "never")
        got = on_terminal("info", LOG, BACKSIGHT_PAGER="sed 's/^/P:/'")
        self.assertTrue(got.startswith("P:format "), got)
        self.assertTrue(all(line.startswith("P:") for line in got.splitlines()))
        self.assertNotEqual(plain, "")

    def test_whoever_forbids_it_gets_none(self):
        for words, environment in ((["--no-pager"], {"BACKSIGHT_PAGER": "sed s/^/P:/"}), ([], {"BACKSIGHT_PAGER": "cat"}), ([], {"PAGER": ""}),
                                   ([], {"PAGER": "sed s/^/P:/", "TERM": "dumb"})):
            got = on_terminal("info", LOG, *words, **environment)
            self.assertTrue(got.startswith("format "), got)
        got = on_terminal("export", "--to", "folded", LOG, PAGER="sed s/^/P:/")
        self.assertFalse(got.startswith("P:"))
        self.assertTrue(run("info", LOG, env={**os.environ, "PAGER": "sed s/^/P:/"}).startswith("format "))

    def test_one_that_ends_early_is_no_error(self):
        got = on_terminal("dump", LOG, PAGER="head -n 2")
        self.assertEqual(len(got.splitlines()), 2)

    def test_control_characters_of_a_trace_are_shown_there_too(self):
        got = on_terminal("info", LOG, PAGER="cat -v")
        self.assertNotIn("^[", got)


@unittest.skipUnless(has_terminals(), "no pseudo terminals")
class Widths(unittest.TestCase):
    """Tables and help fit a terminal; what is no terminal gets all of it."""
    SINGLE = "memtrace/single/drmemtrace.single.10508.3099.trace"
    COMMANDS = [["counts", YIELD], ["counts", YIELD, "--per-window"], ["counts", "memtrace/yield/drmemtrace.yield.24336.5587.raw"], ["windows", YIELD],
                ["working-set", SINGLE], ["hot", SINGLE], ["hot", SINGLE, "--by", "line"], ["reuse", SINGLE], ["opcodes", SINGLE, "--by", "bytes"],
                ["syscalls", YIELD], ["view", YIELD, "--limit", "300"], ["report", LOG], ["report", UFTRACE], ["stacks", LOG], ["calls", LOG],
                ["calls", UFTRACE], ["graph", LOG, "*"], ["graph", UFTRACE, "*"], ["diff", UFTRACE, UFTRACE], ["replay", SINGLE], ["info", UFTRACE, "--task"],
                ["report", "perf/group-read/perf.data"], ["stacks", "perf/group-read/perf.data"], ["dump", "perf/group-read/perf.data", "--limit", "40"],
                ["report", "xray_profile/threads.xray"]]

    def lines(self, words, columns):
        # Messages on the same terminal are not cut.
        got = on_terminal(*words, "--no-pager", "--color", "never", "-q", columns=columns)
        return [line for line in got.splitlines() if not re.match(r"backsight: |\S+: ", line)]

    def test_no_line_is_wider_than_the_terminal(self):
        for columns in (80, 200):
            for words in self.COMMANDS:
                with self.subTest(words=words, columns=columns):
                    lines = self.lines(words, columns)
                    self.assertGreater(len(lines), 1)
                    self.assertLessEqual(max(len(line) for line in lines), columns)

    def test_help_fits(self):
        for words in (["--help"], ["report", "--help"], ["help", "unwind"], ["cfi", "table", "--help"], ["view", "--help"]):
            got, plain = on_terminal(*words, BACKSIGHT_PAGER="cat", columns=80), run(*words)
            self.assertLessEqual(max(len(line) for line in got.splitlines() if " " in line.strip()), 80, words)
            self.assertEqual(got.split(), plain.split())

    def test_columns_that_have_no_room_are_named(self):
        lines = self.lines(["counts", YIELD], 80)
        left_out = re.fullmatch(r"\(no room for (.*)\)", lines[-1])[1].split(", ")
        heading = self.lines(["counts", YIELD], 200)[0].split()
        self.assertTrue(set(left_out) < set(heading), left_out)
        self.assertEqual(len(lines[0].split()), len(heading) - len(left_out))
        self.assertNotIn("no room", run("counts", YIELD))
        self.assertEqual(self.lines(["counts", YIELD], 200), run("counts", YIELD).splitlines())

    def test_names_are_whole_where_that_was_asked_for(self):
        path = UFTRACE
        rows = [line.split() for line in run("stacks", path).splitlines()]
        longest = max((row[-1] for row in rows[1:]), key=len)
        self.assertGreater(len(longest), 20)
        narrow = "\n".join(self.lines(["stacks", path], 48))
        self.assertNotIn(longest, narrow)
        self.assertIn("...", narrow)
        self.assertIn(longest, "\n".join(self.lines(["stacks", path, "--full-names"], 48)))


class Text(unittest.TestCase):
    def test_thousands_have_commas_and_names_have_not(self):
        plain, text = run("counts", YIELD), run("counts", YIELD, "--thousands")
        self.assertRegex(text, r"\b\d{1,3},\d{3}\b")
        self.assertEqual([line.replace(",", "").split() for line in text.splitlines()], [line.split() for line in plain.splitlines()])
        self.assertEqual([line.split()[0] for line in text.splitlines()], [line.split()[0] for line in plain.splitlines()])
        self.assertTrue(refused("counts", YIELD, "--thousands", "--format", "csv"))

    def test_recursion_is_told_once_or_level_by_level(self):
        with tempfile.TemporaryDirectory() as folder:
            log = made_traces.recursive_log(os.path.join(folder, "a.xray"))
            trace = made_traces.recursive_memtrace(os.path.join(folder, "a.trace"))
            for path, name in ((log, "#2"), (trace, "0x2000")):
                folded, whole = run("replay", path), run("replay", path, "--unfold")
                # The innermost call is a leaf and has one line.
                self.assertEqual(re.findall(rf"({name}\S* x\d+)", folded), [name + "() x4", name + " x4"])
                self.assertNotRegex(whole, r" x\d")
                self.assertEqual(len(whole.splitlines()) - len(folded.splitlines()), 6)
                for line in folded.splitlines()[1:]:
                    self.assertIn(line.replace(" x4", ""), whole)
        self.assertRegex(run("stacks", UFTRACE), r"fib\S* x\d")

    def test_windows_fit_120_columns_and_have_a_date(self):
        lines = run("windows", YIELD).splitlines()
        self.assertRegex(lines[0], r"^times after \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} UTC$")
        self.assertLessEqual(max(len(line) for line in lines), 120)
        machine = run("windows", YIELD, "--format", "csv").splitlines()
        self.assertTrue(machine[0].startswith("tid,window,begin,end,instructions,units,first_time,last_time,skipped"))
        times = [line.split(",") for line in machine[1:]]
        first = min(int(row[6]) for row in times if row[6] != "0")
        for row, line in zip(times, lines[2:]):
            if row[6] != "0":
                self.assertEqual(line.split()[6], f"{(int(row[6]) - first) / 1e6:.6f}")
        self.assertRegex(run("info", YIELD), r"first_time +\d+ \(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} UTC\)")

    def test_rows_of_call_frame_information_in_words(self):
        path = "cfi/elf/gcc-O2"
        plain, words = run("cfi", "rows", path), run("cfi", "rows", path, "--words")
        self.assertEqual(len(plain.splitlines()), len(words.splitlines()))
        self.assertIn(" cfa=rsp+16 rip=[cfa-8]\n", words)
        self.assertEqual(re.findall(r"^\S+ cfa=r7\+8 r16=c-8$", plain, re.M), [line.replace("rsp", "r7").replace("rip=[cfa-8]", "r16=c-8")
                                                                             for line in re.findall(r"^\S+ cfa=rsp\+8 rip=\[cfa-8\]$", words, re.M)])
        self.assertNotIn("cfa=e:", words)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
