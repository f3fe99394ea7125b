# SPDX-License-Identifier: Apache-2.0
"""Text from a trace is escaped for where it goes, whatever the trace says: JSON and tables can be read, a terminal gets no
control characters, and what is no terminal gets the bytes as they are.

    escape_test.py PROGRAM DATA
"""
import csv
import io
import json
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # Nothing is written beside the tests.
from terminals import has_terminals

PROGRAM, DATA = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
EVIL = b'\x1b]0;OWNED\x07\x1b[2J"\\,\tm\xff\xc3\xa9\xc2\x9bin'


def run(*words, cwd=DATA):
    done = subprocess.run([PROGRAM, *words], capture_output=True, cwd=cwd)
    return done.returncode, done.stdout, done.stderr


def run_on_terminal(*words, stream=1, cwd=DATA):
    """What a terminal gets on stdout (1) or stderr (2); the other stream is a pipe."""
    leader, follower = pty.openpty()
    streams = {"stdout": follower if stream == 1 else subprocess.PIPE, "stderr": follower if stream == 2 else subprocess.PIPE}
    process = subprocess.Popen([PROGRAM, *words], stdin=subprocess.DEVNULL, cwd=cwd, env={**os.environ, "NO_COLOR": "1", "BACKSIGHT_PAGER": "cat"}, **streams)
    os.close(follower)
    other = process.stderr if stream == 1 else process.stdout
    shown, open_files = b"", {leader, other.fileno()}
    while open_files:
        for file in select.select(list(open_files), [], [])[0]:
            try:
                part = os.read(file, 1 << 16)
            except OSError:  # The end of a terminal on Linux.
                part = b""
            if not part:
                open_files.discard(file)
            elif file == leader:
                shown += part
    other.close()
    process.wait()
    os.close(leader)
    return shown.replace(b"\r\n", b"\n")


def evil_recording(folder, name=EVIL):
    """A uftrace directory whose main function has that name, and whose program and command line say the same."""
    path = os.path.join(folder, "evil")
    shutil.copytree(os.path.join(DATA, SOURCE), path)
    for file in os.listdir(path):
        os.chmod(os.path.join(path, file), 0o644)
    symbols = [file for file in os.listdir(path) if file.endswith(".sym")]
    for file in symbols:
        with open(os.path.join(path, file), "rb") as text:
            lines = text.read().splitlines()
        lines = [line.rsplit(b" ", 1)[0] + b" " + name.replace(b"\t", b"") if line.endswith(b" main") else line for line in lines]
        with open(os.path.join(path, file), "wb") as text:
            text.write(b"\n".join(lines) + b"\n")
    with open(os.path.join(path, "task.txt"), "rb") as text:
        tasks = text.read()
    begin = tasks.index(b'exename="') + 9
    with open(os.path.join(path, "task.txt"), "wb") as text:
        text.write(tasks[:begin] + b"/opt/" + name.replace(b'"', b"'")[:12] + tasks[tasks.index(b'"', begin):])
    with open(os.path.join(path, "info"), "rb") as text:
        info = text.read()
    begin = info.index(b"cmdline:") + 8
    with open(os.path.join(path, "info"), "wb") as text:
        text.write(info[:begin] + b'a"},"traceEvents":[{"EVIL":1}],"x":{"y":"' + name + info[info.index(b"\n", begin):])
    return path


SOURCE = "uftrace/single-pg/uftrace.data"


def controls_of(text):
    """The control characters of a text, but line ends and tabs, and the bytes that are not UTF-8."""
    decoded = text.decode("utf-8", "surrogateescape")
    return {c for c in decoded if (ord(c) < 0x20 and c not in "\n\t") or 0x7f <= ord(c) < 0xa0 or 0xdc80 <= ord(c) < 0xdd00}


COMMANDS = [["info"], ["info", "--task"], ["dump"], ["dump", "--raw"], ["dump", "--format", "json"], ["report"],
            ["report", "--format", "csv"], ["report", "--format", "tsv"], ["report", "--format", "json"], ["report", "--task", "--as", "uftrace"], ["stacks"],
            ["stacks", "--format", "csv"], ["stacks", "--format", "json"], ["graph"], ["graph", "--task", "--as", "uftrace"], ["replay"],
            ["replay", "--as", "uftrace"], ["replay", "-f", "task,module"], ["export", "--to", "folded"], ["export", "--to", "chrome"],
            ["export", "--to", "dot"], ["export", "--to", "perfetto"]]


@unittest.skipUnless(has_terminals(), "no pseudo terminals")
class Terminals(unittest.TestCase):
    def test_a_terminal_gets_no_control_characters_of_a_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            path = evil_recording(folder)
            shown_somewhere = 0
            for command in COMMANDS:
                with self.subTest(command=command):
                    words = [command[0], path, *command[1:]]
                    shown = run_on_terminal(*words)
                    self.assertEqual(controls_of(shown), set())
                    self.assertNotEqual(shown, b"")
                    shown_somewhere += b"\\x1b]0;OWNED\\x07" in shown
            self.assertGreater(shown_somewhere, 8)

    def test_what_is_no_terminal_gets_the_bytes_as_they_are(self):
        with tempfile.TemporaryDirectory() as folder:
            path = evil_recording(folder)
            for command in (["report"], ["stacks"], ["report", "--as", "uftrace"], ["replay"], ["replay", "--as", "uftrace"]):
                with self.subTest(command=command):
                    code, out, _ = run(command[0], path, *command[1:])
                    self.assertEqual(code, 0)
                    self.assertIn(EVIL.replace(b"\t", b"")[:17], out)

    def test_text_without_control_characters_is_the_same_on_a_terminal(self):
        name = "main_of_a_program m\u00e4in_\u20ac_\U0001f600".encode() * 3
        with tempfile.TemporaryDirectory() as folder:
            path = evil_recording(folder, name)
            for command in (["report", "--as", "uftrace"], ["graph"], ["replay", "--as", "uftrace"], ["stacks", "--full-names"], ["dump"]):
                with self.subTest(command=command):
                    _, out, _ = run(command[0], path, *command[1:])
                    self.assertEqual(run_on_terminal(command[0], path, *command[1:]), out)

    def test_characters_are_whole_where_the_buffer_ends(self):
        # Some 200 KB in which a character of three bytes stands at every offset modulo three.
        with tempfile.TemporaryDirectory() as folder:
            for shift in range(3):
                path = evil_recording(os.path.join(folder), b"x" * shift + "\u20ac".encode() * 70000)
                shown = run_on_terminal("report", path, "--full-names")
                self.assertIn("\u20ac".encode() * 70000, shown)
                shutil.rmtree(path)

    def test_messages_are_escaped_on_a_terminal_only(self):
        name = "no such \x1b]0;x\x07\nfile"
        code, _, err = run("info", name)
        self.assertEqual(code, 1)
        self.assertIn(name.encode(), err)
        shown = run_on_terminal("info", name, stream=2)
        self.assertEqual(controls_of(shown), set())
        self.assertIn(b"no such \\x1b]0;x\\x07\\x0afile: ", shown)
        for words in (["report", "xray/c19/fdr-custom.xray", "--sort", "b\x1b[2J"], ["info", "a", "--b\x1b[2J"]):
            shown = run_on_terminal(*words, stream=2)
            self.assertEqual(controls_of(shown), set())
            self.assertIn(b"b\\x1b[2J", shown)

    def test_xray_names_and_payloads(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(DATA, "xray/bin/workload-19"), "rb") as file:
                program = file.read()
            evil = os.path.join(folder, "evil")
            with open(evil, "wb") as file:
                symbol = b"_Z12customEventsRN12_GLOBAL__N_13CtxE\0"
                self.assertIn(symbol, program)
                file.write(program.replace(symbol, b"\x1b[2J\"\xff\\".ljust(len(symbol) - 1, b"x") + b"\0"))
            for command in (["report", "--full-names"], ["stacks", "--full-names"], ["graph"], ["export", "--to", "folded"], ["report", "--as", "llvm-xray"]):
                with self.subTest(command=command):
                    words = [command[0], "xray/c19/fdr-custom.xray", *command[1:], "--symbols", evil]
                    shown = run_on_terminal(*words)
                    self.assertEqual(controls_of(shown), set())
                    self.assertIn(b"\\x1b[2J", shown)


class Machines(unittest.TestCase):
    def test_json_of_a_hostile_recording_says_what_the_recording_says(self):
        with tempfile.TemporaryDirectory() as folder:
            path = evil_recording(folder)
            name = EVIL.replace(b"\t", b"").decode("latin-1").replace("\u00c3\u00a9", "\u00e9").replace("\u00c2\u009b", "\u009b")
            rows = json.loads(run("report", path, "--format", "json")[1])["rows"]
            self.assertIn(name, [row["function"] for row in rows])
            for command in (["info", "--format", "json"], ["export", "--to", "chrome"]):
                found = json.loads(run(command[0], path, *command[1:])[1])
                self.assertNotIn("EVIL", json.dumps(list(found)))
            events = json.loads(run("export", path, "--to", "chrome")[1])
            self.assertEqual(set(events), {"traceEvents", "displayTimeUnit", "otherData"})
            self.assertTrue(all("ph" in event for event in events["traceEvents"]))
            as_uftrace = json.loads(run("export", path, "--to", "chrome", "--as", "uftrace")[1])
            self.assertTrue(as_uftrace["metadata"]["command_line"].startswith('a"},"traceEvents"'))
            json.loads(run("stacks", path, "--format", "json")[1])

    def test_a_thread_name_stays_a_name(self):
        with tempfile.TemporaryDirectory() as folder:
            path = evil_recording(folder)
            with open(os.path.join(path, "task.txt"), "rb") as text:
                tasks = text.read()
            begin = tasks.index(b'exename="') + 9
            for evil in (b'/opt/app/x"}},{"EVIL":1},{"a":{"b":"', b"/opt/app/\x1b[2J\xff\\"):
                with open(os.path.join(path, "task.txt"), "wb") as text:
                    text.write(tasks[:begin] + evil + tasks[tasks.index(b'"', begin):])
                events = json.loads(run("export", path, "--to", "chrome")[1])["traceEvents"]
                self.assertTrue(all("ph" in event and "EVIL" not in event for event in events))

    def test_cells_stay_cells(self):
        with tempfile.TemporaryDirectory() as folder:
            path = evil_recording(folder, b'say "a, b"; \\c')
            for command in ("report", "stacks"):
                column = "function" if command == "report" else "path"
                expected = 'say "a, b"; \\c'
                table = list(csv.reader(io.StringIO(run(command, path, "--format", "csv")[1].decode())))
                self.assertEqual({len(row) for row in table}, {len(table[0])})
                self.assertIn(expected, [row[table[0].index(column)] for row in table])
                for line in run(command, path, "--format", "tsv")[1].decode().splitlines():
                    self.assertEqual(line.count("\t"), len(table[0]) - 1)
                names = [line.split("\t")[table[0].index(column)] for line in run(command, path, "--format", "tsv")[1].decode().splitlines()]
                self.assertIn('say "a, b"; \\\\c', names)

    def test_dot_is_one_graph(self):
        with tempfile.TemporaryDirectory() as folder:
            path = evil_recording(folder, b'"]; evil [label="x\xff\x1b')
            text = run("export", path, "--to", "dot")[1].decode("utf-8")
            self.assertIn('\\"]; evil [label=\\"x\\\\xff\\\\x1b', text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
