# SPDX-License-Identifier: Apache-2.0
"""Runs the commands for memtraces on the small files of tests/data.

    python3 program_test.py PROGRAM DATA
"""
import gzip
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, DATA = sys.argv[1], os.path.abspath(os.path.join(sys.argv[2], "memtrace"))


def run(*words, stdin=None):
    return subprocess.run([PROGRAM, *words], capture_output=True, stdin=stdin)


def data(*names):
    return os.path.join(DATA, *names)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Commands(unittest.TestCase):
    def test_counts_of_a_folder_are_the_expected_table(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in os.listdir(data("yield")):
                if ".trace" in name:
                    os.symlink(data("yield", name), os.path.join(folder, name))
            done = run("counts", "--per-window", "--format", "tsv", folder)
        self.assertEqual(done.stdout, read(data("expected", "yield.per_thread_window.tsv")))
        self.assertEqual(done.returncode, 0)

    def test_calls_of_a_trace_as_report_stacks_graph_and_flame_graph(self):
        outputs = set()
        for end in ("", ".gz", ".zip"):
            path = data("single", "drmemtrace.single.10508.3099.trace" + end)
            rows = json.loads(run("report", path, "--format", "json").stdout)["rows"]
            paths = json.loads(run("stacks", path, "--format", "json").stdout)["rows"]
            folded = run("export", "--to", "folded", path).stdout.decode()
            self.assertEqual(sum(row["count"] for row in rows), sum(at["count"] for at in paths))
            own = sum(row["self_instructions"] for row in rows)
            self.assertEqual(own, sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()))
            # 1290 calls, of which 5 have no return in their window.
            self.assertEqual(sum(row["count"] for row in rows), 1285)
            self.assertIn(b"5 calls without exit", run("report", path).stderr)
            graph = run("graph", path)
            self.assertEqual((graph.returncode, graph.stdout.splitlines()[0]), (0, b"digraph calls {"))
            events = json.loads(run("export", "--to", "chrome", path).stdout)["traceEvents"]
            self.assertEqual(sum(event["ph"] == "B" for event in events), 1290)
            self.assertEqual(run("export", "--to", "perfetto", path).returncode, 0)
            self.assertEqual(run("report", path, "-j", "4").stdout, run("report", path).stdout)
            outputs.add(run("stacks", path).stdout)
        self.assertEqual(len(outputs), 1)

    def test_calls_of_raw_and_damaged_traces_are_refused_or_told(self):
        raw = data("yield", "drmemtrace.yield.24335.3353.raw")
        done = run("report", raw)
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn(b"make a final trace of it first", done.stderr)
        whole = read(data("single", "drmemtrace.single.10508.3099.trace"))
        with tempfile.TemporaryDirectory() as folder:
            write(os.path.join(folder, "a.trace"), whole[:12 * 3000])
            done = run("stacks", folder)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{folder}/a.trace:36000:".encode(), done.stderr)
        self.assertEqual(run("export", "--to", "yaml", data("single", "drmemtrace.single.10508.3099.trace")).returncode, 2)

    def test_counts_are_the_same_in_every_packing(self):
        tables = {run("counts", "--per-window", "--format", "tsv", data("single", "drmemtrace.single.10508.3099.trace" + end)).stdout for end in ("", ".gz", ".lz4")}
        self.assertEqual(tables, {read(data("expected", "single.plain.per_thread_window.tsv"))})
        with open(data("single", "drmemtrace.single.10508.3099.trace.gz"), "rb") as packed:
            self.assertEqual({run("counts", "--per-window", "--format", "tsv", "-", stdin=packed).stdout}, tables)

    def test_raw_counts_are_the_expected_table(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in os.listdir(data("yield")):
                if name.endswith(".raw"):
                    os.symlink(data("yield", name), os.path.join(folder, name))
            done = run("counts", "--per-window", "--format", "tsv", folder)
        self.assertEqual(done.stdout, read(data("expected", "yield.raw_windows.tsv")))

    def test_split_and_merge_give_back_the_file(self):
        name = "drmemtrace.single.10508.3099.trace"
        with tempfile.TemporaryDirectory() as folder:
            parts, whole = os.path.join(folder, "parts"), os.path.join(folder, "whole")
            self.assertEqual(run("split", data("single", name), "-o", parts).returncode, 0)
            self.assertEqual(sorted(os.listdir(parts)), [f"window.{i:04}" for i in range(5)])
            self.assertEqual(run("check", parts).returncode, 0)
            self.assertEqual(run("merge", parts, "-o", whole).returncode, 0)
            self.assertEqual(read(os.path.join(whole, name)), read(data("single", name)))

    def test_an_index_is_written_and_used(self):
        trace = data("single", "drmemtrace.single.10508.3099.trace.zip")
        with tempfile.TemporaryDirectory() as folder:
            index = os.path.join(folder, "index")
            whole = run("windows", "--format", "tsv", "--index", index, trace).stdout.splitlines()
            one = run("windows", "--format", "tsv", "--index", index, "--window", "2", trace).stdout.splitlines()
        self.assertEqual(one, [whole[0], whole[3]])

    def test_every_command_prints_something_for_every_file(self):
        for folder, _, names in os.walk(DATA):
            for name in names:
                if not name.startswith(("drmemtrace.", "mock_")):
                    continue
                path = os.path.join(folder, name)
                for words in (["info"], ["dump", "--limit", "3"], ["dump", "--hex", "--limit", "3"], ["windows"], ["counts"]):
                    done = run(*words, path)
                    self.assertEqual((done.returncode, done.stderr), (0, b""), (words, name))
                    self.assertTrue(done.stdout)

    def test_damaged_and_foreign_files_are_reported_with_their_place(self):
        whole = read(data("legacy", "drmemtrace.small.x64.trace"))
        cases = [
            (whole[:300], b":300: "), (whole[:301], b":300: "), (b"\x19\0\0\0\x63\0\0\0\0\0\0\0", b":4: unsupported version"),
            (b"\x7fELF" + bytes(60), b":0: not a file of this format"), (b"", b":0: "),
            (read(data("single", "drmemtrace.single.10508.3099.trace.gz"))[:5000], b":5000: "),
        ]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.trace")
            for content, place in cases:
                with open(path, "wb") as file:
                    file.write(content)
                done = run("counts", path)
                self.assertEqual(done.returncode, 1, content[:8])
                self.assertIn(path.encode() + place, done.stderr)
        self.assertEqual(run("counts", data("nothing")).returncode, 1)
        self.assertEqual(run("counts").returncode, 2)


def entry(kind, size, value):
    """A record of a final trace."""
    return struct.pack("<HHQ", kind, size, value)


MARKER, READ, INSTR, ENCODING, THREAD, EXIT, PID, HEADER, FOOTER = 28, 0, 10, 47, 22, 23, 24, 25, 26
TIMESTAMP, CPU_ID, FILETYPE, CACHE_LINE_SIZE, VERSION, WINDOW_ID = 2, 3, 9, 10, 12, 14
CORE_SHARDED = 0x10000


def header(tid, kind=0xC40):
    return (entry(HEADER, 0, 7) + entry(MARKER, VERSION, 7) + entry(MARKER, FILETYPE, kind) + entry(THREAD, 4, tid) + entry(PID, 4, tid) +
            entry(MARKER, CACHE_LINE_SIZE, 64))


def unit(time, window):
    return entry(MARKER, TIMESTAMP, time) + entry(MARKER, WINDOW_ID, window) + entry(MARKER, CPU_ID, 0)


def code(count, pc=0x1000):
    return b"".join(entry(INSTR, 1, pc + i) for i in range(count))


def end(tid):
    return entry(EXIT, 4, tid) + entry(FOOTER, 0, 0)


def trace(tid, *windows):
    """A thread's file: pairs of an ordinal and a number of instructions."""
    return header(tid) + b"".join(unit(1000 * (i + 1), w) + code(n) for i, (w, n) in enumerate(windows)) + end(tid)


def word(kind, value):
    """An entry of a raw trace."""
    return struct.pack("<Q", kind << 61 | value)


def extended(ext, kind, value):
    return word(6, ext << 56 | kind << 48 | value)


def raw_trace(tid, *windows):
    bytes_ = extended(4, 8, 0xC40) + word(2, tid) + word(3, tid)
    for i, (window, count) in enumerate(windows):
        bytes_ += word(4, 1000 * (i + 1)) + extended(2, WINDOW_ID, window) + extended(2, CPU_ID, 0) + word(1, count << 49)
    return bytes_ + extended(1, 0, 0)


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    return path


def tree(folder):
    """The content of every file below a folder, by its path."""
    return {os.path.relpath(os.path.join(at, name), folder): read(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names}


class InFolder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def put(self, name, content):
        return write(self.path(name), content)


class Index(InFolder):
    """`windows --index`: the same bytes as without, or a refusal."""

    FORMATS = [["--format", f] for f in ("text", "tsv", "json")]

    def sets(self):
        yield data("single", "drmemtrace.single.10508.3099.trace.zip")
        yield data("single", "drmemtrace.single.10508.3099.trace.gz")
        yield data("yield", "drmemtrace.yield.24337.8675.raw")
        merged = self.path("merged")
        for name in os.listdir(data("yield")):
            if ".trace" in name:
                shutil.copy(data("yield", name), write(os.path.join(merged, name), b""))
        yield merged
        # A split set, with threads that have no part in a window and empty windows.
        split = self.path("split")
        for tid, windows in ((5, ((0, 3), (1, 4), (3, 5))), (6, ((1, 2), (2, 0)))):
            for window, count in windows:
                write(os.path.join(split, f"window.{window:04}", f"t.{tid}.trace"), header(tid) + unit(1000 - 100 * window + tid, window) + code(count) + end(tid))
        yield split
        yield self.put("none.trace", header(3) + entry(MARKER, TIMESTAMP, 5) + code(3) + end(3))
        yield self.put("core.trace", self.cores())
        yield self.put("twice.trace", trace(4, (0, 1), (1, 2), (0, 3)))

    @staticmethod
    def cores():
        switch = lambda tid: entry(THREAD, 0, tid) + entry(PID, 0, 1)
        return (header(1, 0xC40 | CORE_SHARDED) + unit(10, 0) + code(2) + header(2, 0xC40 | CORE_SHARDED) + unit(20, 0) + code(3) + switch(1) + code(4) +
                unit(30, 1) + code(5) + switch(2) + code(6) + switch(3) + entry(MARKER, TIMESTAMP, 40) + code(7) + end(3))

    def test_with_and_without_an_index_every_listing_is_the_same(self):
        for number, path in enumerate(self.sets()):
            index = self.path(f"index{number}")
            for words in [*self.FORMATS, *[["--window", str(w)] for w in (0, 1, 2, 3, 9, 2**64 - 1)]]:
                plain = run("windows", *words, path)
                if plain.returncode == 2:  # of a window that there is nothing of
                    self.assertIn(words[0], ["--window"])
                    self.assertEqual(plain.stderr, f"{path}: there is nothing of window {words[1]}\n".encode())
                else:
                    self.assertEqual((plain.returncode, plain.stderr), (0, b""), (words, path))
                for _ in range(2):  # written by the first of all, used by the others
                    kept = run("windows", *words, "--index", index, path)
                    self.assertEqual((kept.stdout, kept.returncode, kept.stderr),
                                     (plain.stdout, plain.returncode, plain.stderr), (words, path))
                with open(path if os.path.isfile(path) else os.devnull, "rb") as stdin:
                    if os.path.isfile(path):
                        self.assertEqual(run("windows", *words, "-", stdin=stdin).stdout, plain.stdout)

    def refused(self, index, path, words=b"another trace"):
        before = read(index)
        for more in ([], ["--window", "0"]):
            done = run("windows", *more, "--index", index, path)
            self.assertEqual((done.returncode, done.stdout), (2, b""), path)
            self.assertIn(index.encode() + b": ", done.stderr)
            self.assertIn(words, done.stderr)
        self.assertEqual(read(index), before)

    def test_an_index_of_another_trace_is_refused_and_kept(self):
        one = self.put("a.trace", trace(1, (0, 10), (1, 20)))
        index = self.path("index")
        self.assertEqual(run("windows", "--index", index, one).returncode, 0)
        # Another name, another size, another folder, more files.
        self.refused(index, self.put("b.trace", trace(1, (0, 10), (1, 20))))
        self.refused(index, self.put("other/a.trace", trace(1, (0, 10), (1, 21))))
        self.refused(index, data("single", "drmemtrace.single.10508.3099.trace.zip"))
        self.put("other/b.trace", trace(2, (0, 1)))
        self.refused(index, self.path("other"))
        self.put("split/window.0000/a.trace", trace(1, (0, 10), (1, 20)))
        self.refused(index, self.path("split"))
        # The same size and name, and one bit that is different: somewhere in the middle, in the header, at the end.
        content = trace(1, (0, 10), (1, 20))
        for place in (len(content) // 2, 4 * 12 + 4, 3 * 12 + 4, len(content) - 20):
            changed = bytearray(content)
            changed[place] ^= 1
            self.refused(index, self.put("changed/a.trace", bytes(changed)))
        # A copy is the same trace, whenever it was made.
        shutil.copy(one, write(self.path("copy/a.trace"), b""))
        self.assertEqual(run("windows", "--index", index, self.path("copy/a.trace")).stdout, run("windows", one).stdout)

    def test_an_index_of_a_trace_that_was_changed_since_is_refused(self):
        content = trace(1, (0, 10), (1, 20))
        path, index = self.put("a.trace", content), self.path("index")
        self.assertEqual(run("windows", "--index", index, path).returncode, 0)
        times = os.stat(path)
        with open(path, "r+b") as file:
            file.seek(len(content) // 2)
            file.write(b"\x01")
        # As a program does that wants to hide it.
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        self.refused(index, path)

    def test_what_is_no_index_is_not_overwritten(self):
        path = self.put("a.trace", trace(1, (0, 10)))
        for name, content in (("text", b"notes of years\n"), ("empty", b""), ("other.trace", trace(2, (0, 1))), ("long", bytes(4096))):
            self.refused(self.put(name, content), path, b"not a window index")
        os.symlink(path, self.path("link"))
        self.refused(path, path, b"not a window index")
        self.refused(self.path("link"), path, b"not a window index")
        os.mkdir(self.path("folder"))
        os.mkfifo(self.path("fifo"))
        for name in ("folder", "fifo"):
            done = run("windows", "--index", self.path(name), path)
            self.assertEqual((done.returncode, done.stdout), (2, b""))

    def test_a_damaged_index_is_refused(self):
        path, index = self.put("a.trace", trace(1, (0, 10), (1, 20))), self.path("index")
        self.assertEqual(run("windows", "--index", index, path).returncode, 0)
        good = read(index)
        for place in range(8, len(good), 7):
            changed = bytearray(good)
            changed[place] ^= 0x10
            self.put("index", bytes(changed))
            done = run("windows", "--window", "1", "--index", index, path)
            self.assertEqual((done.returncode, done.stdout), (1, b""), place)
        self.put("index", good[:-1])
        self.assertEqual(run("windows", "--index", index, path).returncode, 1)

    def test_no_index_is_kept_of_a_damaged_trace(self):
        path, index = self.put("a.trace", trace(1, (0, 10), (1, 20))[:-12]), self.path("index")
        done = run("windows", "--index", index, path)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, run("windows", path).stdout)
        self.assertFalse(os.path.exists(index))


class Cores(InFolder):
    def test_windows_give_instructions_to_the_thread_that_ran_them(self):
        for path in (self.put("core.trace", Index.cores()),):
            rows = [line.split("\t") for line in run("windows", "--format", "tsv", path).stdout.decode().splitlines()[1:]]
            listed = sorted((r[0], r[1], r[4]) for r in rows)
            self.assertEqual(listed, [("1", "0", "6"), ("1", "1", "5"), ("2", "0", "9"), ("3", "-", "7")])
            counted = [line.split("\t") for line in run("counts", "--per-window", "--format", "tsv", path).stdout.decode().splitlines()[1:]]
            self.assertEqual(listed, sorted((r[0], r[1], r[2]) for r in counted if r[0] != "*" and r[2] != "0"))

    def test_such_a_trace_is_neither_split_nor_merged(self):
        path = self.put("set/core.trace", Index.cores())
        for command in ("split", "merge"):
            done = run(command, path, "-o", self.path("out"))
            self.assertEqual(done.returncode, 1)
            self.assertIn(path.encode() + b":0: unsupported type of file", done.stderr)
            self.assertFalse(os.path.exists(self.path("out")))
        # Without the bit it is seen at the change of threads, before anything is written.
        plain = self.put("set/core.trace", trace(1, (0, 2))[:-24] + entry(THREAD, 0, 2) + code(1) + end(2))
        for command in ("split", "merge"):
            done = run(command, plain, "-o", self.path(command))
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"unsupported type of file", done.stderr)
        self.assertFalse(os.path.exists(self.path("split")))


class SplitAndMerge(InFolder):
    def test_an_ordinal_that_comes_twice_is_an_error_before_anything_is_written(self):
        path = self.put("a.trace", trace(1, (0, 1), (1, 2), (0, 3)))
        done = run("split", path, "-o", self.path("out"))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"window.0000/a.trace", done.stderr)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_windows_without_ordinal_lie_beside_the_others(self):
        none = header(1) + entry(MARKER, TIMESTAMP, 5) + entry(MARKER, CPU_ID, 0) + code(3) + end(1)
        self.put("set/a.trace", none)
        self.put("set/b.trace", trace(2, (0, 1), (4, 2)))
        self.assertEqual(run("split", self.path("set"), "-o", self.path("out")).returncode, 0)
        self.assertEqual(sorted(tree(self.path("out"))), ["a.trace", "window.0000/b.trace", "window.0004/b.trace"])
        self.assertEqual(run("merge", self.path("out"), "-o", self.path("back")).returncode, 0)
        self.assertEqual(tree(self.path("back")), tree(self.path("set")))
        # Instructions in front of the first window.
        mixed = header(1) + entry(MARKER, TIMESTAMP, 5) + code(3) + unit(9, 0) + code(2) + end(1)
        self.assertEqual(run("split", self.put("m.trace", mixed), "-o", self.path("mixed")).returncode, 0)
        self.assertEqual(sorted(tree(self.path("mixed"))), ["m.trace", "window.0000/m.trace"])

    def test_threads_whose_files_have_one_name_get_their_number(self):
        one, two = trace(1, (0, 3)), trace(2, (1, 4))
        self.put("set/window.0000/a.trace", one)
        self.put("set/window.0001/a.trace", two)
        self.assertEqual(run("merge", self.path("set"), "-o", self.path("out")).returncode, 0)
        self.assertEqual(tree(self.path("out")), {"a.1.trace": one, "a.2.trace": two})
        # The names of a folder differ by their packing only.
        self.put("flat/a.trace", one)
        write(self.path("flat/a.trace.gz"), gzip.compress(two))
        self.assertEqual(run("split", self.path("flat"), "-o", self.path("parts")).returncode, 0)
        self.assertEqual(tree(self.path("parts")), {"window.0000/a.1.trace": one, "window.0001/a.2.trace": two})

    def test_a_thread_that_comes_twice_is_an_error_before_anything_is_written(self):
        one = trace(1, (0, 3))
        self.put("flat/a.trace", one)
        write(self.path("flat/a.trace.gz"), gzip.compress(one))
        self.put("flat/b.trace", trace(2, (0, 3)))
        for command in ("split", "merge"):
            done = run(command, self.path("flat"), "-o", self.path("out"))
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"a.trace.gz", done.stderr)
            self.assertFalse(os.path.exists(self.path("out")))
        # The name that a number makes may be taken.
        os.remove(self.path("flat/a.trace.gz"))
        self.put("taken/window.0000/a.trace", one)
        self.put("taken/window.0001/a.trace", trace(2, (1, 4)))
        self.put("taken/window.0000/a.2.trace", trace(3, (0, 3)))
        done = run("merge", self.path("taken"), "-o", self.path("out"))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"a.2.trace", done.stderr)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_a_split_set_is_not_split_again(self):
        self.put("set/window.0000/a.trace", trace(1, (0, 3)))
        self.put("set/window.0001/a.trace", trace(1, (1, 3)))
        done = run("split", self.path("set"), "-o", self.path("out"))
        self.assertEqual(done.returncode, 1)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_windows_are_merged_in_their_order_whatever_the_folders(self):
        self.put("set/window.0000/a.trace", trace(1, (5, 3)))
        self.put("set/window.0001/a.trace", trace(1, (2, 4)))
        self.assertEqual(run("merge", self.path("set"), "-o", self.path("out")).returncode, 0)
        self.assertEqual([l.split()[1] for l in run("windows", self.path("out")).stdout.decode().splitlines()[2:]], ["2", "5"])


class Folders(InFolder):
    def test_a_recording_is_found_by_its_folder(self):
        raw = raw_trace(5, (0, 7), (1, 9))
        self.put("app/raw/t.5.raw", raw)
        expected = run("windows", self.path("app/raw")).stdout
        self.assertIn(b" 9 ", expected)
        for command in (["windows"], ["counts"], ["info"], ["dump"], ["check"]):
            done = run(*command, self.path("app"))
            self.assertEqual((done.returncode, done.stderr), (0, b""), command)
            self.assertEqual(done.stdout, run(*command, self.path("app/raw")).stdout)
        # An empty `trace` says nothing; one with files comes first.
        os.makedirs(self.path("app/trace"))
        self.assertEqual(run("windows", self.path("app")).stdout, expected)
        self.put("app/trace/t.5.trace", trace(5, (0, 1)))
        self.assertEqual(run("windows", self.path("app")).stdout, run("windows", self.path("app/trace")).stdout)
        # Split, and not made into a final trace.
        self.put("other/raw/window.0001/t.5.raw", raw)
        self.assertEqual(run("windows", "--format", "tsv", self.path("other")).stdout, run("windows", "--format", "tsv", self.path("app/raw")).stdout)

    def test_folders_without_traces_are_an_error(self):
        os.makedirs(self.path("empty/trace"))
        os.makedirs(self.path("empty/window.0000"))
        for command in (["windows"], ["counts"], ["view"], ["check"], ["split", "-o", self.path("out")], ["merge", "-o", self.path("out")]):
            done = run(*command, self.path("empty"))
            self.assertEqual((done.returncode, done.stdout), (1, b""), command)
            self.assertIn(b"neither this folder nor one in it is a trace", done.stderr)

    def test_odd_entries_are_passed_over_with_a_warning(self):
        self.put("set/a.trace", trace(1, (0, 3)))
        plain = run("counts", self.path("set")).stdout
        os.mkfifo(self.path("set/b.trace"))
        os.symlink(self.path("nowhere"), self.path("set/c.trace"))
        os.makedirs(self.path("set/d.trace"))
        done = run("counts", self.path("set"))
        self.assertEqual((done.returncode, done.stdout), (0, plain))
        for name in ("b", "c", "d"):
            self.assertEqual(done.stderr.count(self.path(f"set/{name}.trace").encode() + b": not a regular file"), 1)


class Damage(InFolder):
    """Exit code 1 and a message on stderr for damaged input, in every command; what was readable is kept."""

    COMMANDS = [["windows"], ["counts"], ["counts", "--as", "drmemtrace"], ["info"], ["dump"], ["view"], ["check"], ["split"], ["merge"]]

    def each(self, path, commands=None):
        for command in commands or self.COMMANDS:
            where = ["-o", tempfile.mkdtemp(dir=self.folder) + "/out"] if command[0] in ("split", "merge") else []
            yield command, run(*command, *where, path), where

    def test_every_damage_is_told_by_every_command(self):
        good = trace(1, (0, 3), (1, 4))
        place = good.index(unit(2000, 1)) + 4 * 12
        cases = {
            "unknown": (good[:place] + entry(77, 0, 0) + good[place:], place),
            "size": (good[:place] + entry(ENCODING, 9, 0) + good[place:], place),
            "part": (good[:place + 5], place),
            "footer": (good[:-12], len(good) - 12),
            "cut": (good[:place], place),
        }
        path = self.put("set/a.trace", good)
        for command, done, _ in self.each(path):
            self.assertEqual((done.returncode, done.stderr), (0, b""), command)
        for name, (content, offset) in cases.items():
            for path in (self.put("set/a.trace", content), write(self.path("packed/a.trace.gz"), gzip.compress(content))):
                for command, done, where in self.each(path):
                    self.assertEqual(done.returncode, 1, (name, command))
                    self.assertIn(f"{path}:{offset}: ".encode(), done.stderr, (name, command))
                    if where:
                        parts = tree(where[1])
                        self.assertEqual(len(parts), 2 if command[0] == "split" else 1, (name, command))
                        for part in parts:
                            self.assertEqual(run("check", os.path.join(where[1], part)).stdout.count(b"unknown"), 0)
                    else:
                        self.assertTrue(done.stdout, (name, command))

    def test_what_stands_before_damage_is_counted_and_listed(self):
        good = trace(1, (0, 3), (1, 4))
        place = good.index(unit(2000, 1)) + 5 * 12
        path = self.put("a.trace", good[:place] + entry(77, 0, 0) + good[place:])
        rows = [l.split("\t") for l in run("windows", "--format", "tsv", path).stdout.decode().splitlines()[1:]]
        self.assertEqual([(r[1], r[3], r[4]) for r in rows], [("0", rows[1][2], "3"), ("1", str(place), "2")])
        rows = [l.split("\t") for l in run("counts", "--per-window", "--format", "tsv", path).stdout.decode().splitlines()[1:]]
        self.assertEqual([(r[1], r[2]) for r in rows if r[0] == "1"], [("-", "0"), ("0", "3"), ("1", "2")])
        for command in ("windows", "counts"):
            self.assertIn(b"what follows is left out", run(command, path).stderr)

    def test_damaged_raw_traces_are_told_by_every_command(self):
        good = raw_trace(1, (0, 3), (1, 4))
        place = len(good) - 8
        cases = {
            "unknown": (good[:place] + extended(9, 0, 0) + good[place:], place),
            "half of a value": (good[:place] + extended(2, 8, 0) + good[place:], place),
            "half of a value at the end": (good[:place] + extended(2, 8, 0), place),
            "part": (good[:-3], place),
            "footer": (good[:-8], place),
        }
        commands = [["windows"], ["counts"], ["info"], ["dump"], ["check"]]
        path = self.put("a.raw", good)
        for command, done, _ in self.each(path, commands):
            self.assertEqual((done.returncode, done.stderr), (0, b""), command)
        for name, (content, offset) in cases.items():
            for path in (self.put("a.raw", content), write(self.path("a.raw.gz"), gzip.compress(content))):
                for command, done, _ in self.each(path, commands):
                    self.assertEqual(done.returncode, 1, (name, command))
                    self.assertIn(f"{path}:{offset}: ".encode(), done.stderr, (name, command))
                    self.assertTrue(done.stdout, (name, command))

    def test_damaged_packings_are_told_and_what_came_out_is_kept(self):
        good = trace(1, *[(i, 3000) for i in range(20)])
        packed = gzip.compress(good)
        for content in (packed[:-4], packed[: len(packed) // 2], packed[:-8] + b"\0\0\0\0" + packed[-4:]):
            path = write(self.path("a.trace.gz"), content)
            for command, done, _ in self.each(path):
                self.assertEqual(done.returncode, 1, command)
                self.assertIn(path.encode() + b":", done.stderr, command)

    def test_nothing_is_printed_before_an_error_that_makes_it_worthless(self):
        for content in (b"", b"\x7fELF" + bytes(100), entry(HEADER, 0, 99) + trace(1, (0, 1))[12:], header(1, 1 << 40)):
            path = self.put("a.trace", content)
            for command, done, _ in self.each(path, [[*c, *f] for c in self.COMMANDS for f in ([], ["--format", "tsv"], ["--format", "json"]) if not f or c[0] in ("windows",)] + [["info", "--format", "json"], ["counts", "--per-window", "--format", "tsv"]]):
                self.assertEqual((done.returncode, done.stdout), (1, b""), (command, content[:8]))
                self.assertTrue(done.stderr)

    def test_a_damaged_file_of_a_set_does_not_end_the_others(self):
        self.put("set/a.trace", trace(1, (0, 3))[:-12])
        self.put("set/b.trace", b"none")
        self.put("set/c.trace", trace(3, (0, 5)))
        for command, done, where in self.each(self.path("set")):
            self.assertEqual(done.returncode, 1, command)
            for name in ("a", "b"):
                self.assertIn(self.path("set", f"{name}.trace").encode(), done.stderr, command)
            self.assertNotIn(b"c.trace", done.stderr, command)
            if where:
                self.assertTrue(any("c.trace" in name for name in tree(where[1])), command)

    def test_windows_far_apart_do_not_fill_the_disk_with_zeros(self):
        for last in (10**6, 2**63, 2**64 - 1):
            path = self.put("a.trace", trace(1, (0, 3), (last, 5)))
            done = run("counts", "--as", "drmemtrace", path)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertIn(str(last).encode(), run("counts", "--per-window", path).stdout)
        near = run("counts", "--as", "drmemtrace", self.put("a.trace", trace(1, (0, 3), (40, 5))))
        self.assertEqual(near.returncode, 0)
        self.assertEqual(near.stdout.count(b"Window #"), 41)
        back = run("counts", "--as", "drmemtrace", self.put("a.trace", trace(1, (0, 3), (1, 2), (0, 5))))
        self.assertEqual((back.returncode, back.stdout), (1, b""))

    def test_the_folders_that_an_imitated_tool_leaves_out_are_told(self):
        for window in (0, 1, 2):
            self.put(f"set/window.{window:04}/a.trace", trace(1, (window, 3)))
        for command in (["counts", "--as", "drmemtrace"], ["view"], ["view", "--as", "drmemtrace"]):
            done = run(*command, self.path("set"))
            self.assertEqual(done.returncode, 0)
            self.assertIn(b"window.0000: the first of 3 folders", done.stderr)
            self.assertEqual(done.stdout, run(*command, self.path("set/window.0000")).stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
