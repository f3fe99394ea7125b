# SPDX-License-Identifier: Apache-2.0
"""What the program tells of memtraces, from outside: windows and threads chosen, and the analyses; on the corpus too where
BACKSIGHT_CORPUS names it.

    memtrace_test.py PROGRAM DATA
"""
import atexit
import collections
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, DATA = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SINGLE = "memtrace/single/drmemtrace.single.10508.3099.trace"
# The folder has the raw files too, which would be taken for damaged final ones.
YIELD = tempfile.mkdtemp()
atexit.register(shutil.rmtree, YIELD)
for name in sorted(os.listdir(os.path.join(DATA, "memtrace/yield"))):
    if name.endswith(".trace.zip"):
        shutil.copy(os.path.join(DATA, "memtrace/yield", name), YIELD)
CORPUS = os.environ.get("BACKSIGHT_CORPUS", "")
ANALYSES = ("working-set", "hot", "reuse", "opcodes", "syscalls")


def run(*words, code=0):
    done = subprocess.run([PROGRAM, *words], capture_output=True, cwd=DATA)
    if done.returncode != code:
        raise AssertionError(f"{words} ends with {done.returncode}: {done.stderr.decode()}")
    return done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode()


def rows(*words):
    return json.loads(run(*words, "--format", "json")[0])["rows"]


def viewed(*words):
    return [json.loads(line) for line in run("view", *words, "--format", "json")[0].splitlines()]


def traces():
    """Final traces with their folders: those of the tests, and of the corpus."""
    found = [SINGLE, YIELD, "memtrace/sig"]
    for name in ("single", "tick", "sig", "multi", "nowin", "single_split"):
        path = os.path.join(CORPUS, "memtrace", name)
        if CORPUS and os.path.isdir(path):
            found.append(path)
    if not CORPUS:
        print("BACKSIGHT_CORPUS is not set: the traces of the tests alone")
    return found


def references(trace, *choice):
    """The references of a trace as the hex dump's uniform records have them: (tid, window, type, size, address)."""
    tid = window = None
    windows = {}
    for line in run("dump", trace, "--format", "json", *choice)[0].splitlines():
        one = json.loads(line)
        kind = one["record"]
        if kind == "thread":
            tid = one["tid"]
            window = windows.get(tid)
        elif kind == "marker" and one["marker_type"] == "window_id":
            window = windows[tid] = one["value"]
        elif kind == "instruction" and one["size"]:
            yield tid, window, "instr", one["size"], one["pc"]
        elif kind == "memory_reference":
            yield tid, window, one["type"], one["size"], one["address"]
        elif kind == "prefetch":
            yield tid, window, "prefetch_instr" if one["type"] == "prefetch_instr" else "prefetch", one["size"], one["address"]


class Chosen(unittest.TestCase):
    def test_counts_of_windows_add_up_to_those_of_the_trace(self):
        for trace in (SINGLE, YIELD):
            whole = list(csv.DictReader(io.StringIO(run("counts", trace, "--format", "csv")[0])))
            each = list(csv.DictReader(io.StringIO(run("counts", trace, "--per-window", "--format", "csv")[0])))
            windows = sorted({int(row["window"]) for row in each if row["window"] != "-"})
            self.assertGreater(len(windows), 2)
            for window in windows:
                own = list(csv.DictReader(io.StringIO(run("counts", trace, "--window", str(window), "--per-window", "--format", "csv")[0])))
                self.assertEqual(own, [row for row in each if row["window"] == str(window)])
            total = {row["tid"]: int(row["instrs"]) for row in whole if row["tid"] != "*"}
            for tid, count in total.items():
                of_thread = list(csv.DictReader(io.StringIO(run("counts", trace, "--thread", tid, "--format", "csv")[0])))
                self.assertEqual([row["instrs"] for row in of_thread], [str(count)] * 2)

    def test_the_windows_of_a_dump_are_a_partition_of_it(self):
        whole = run("dump", SINGLE)[0].splitlines()
        parts = []
        for window in range(5):
            part = run("dump", SINGLE, "--window", str(window))[0].splitlines()
            self.assertIn("marker_type=window_id value=%d" % window, part[0])
            parts += part
        self.assertEqual(parts, whole[-len(parts):])
        self.assertTrue(all("window_id" not in line for line in whole[:-len(parts)]))

    def test_view_numbers_records_as_in_the_whole_trace(self):
        whole, part = viewed(SINGLE), viewed(SINGLE, "--window", "2")
        at = whole.index(part[0])
        self.assertGreater(at, 0)
        self.assertEqual(whole[at:at + len(part)], part)
        counted = rows("working-set", SINGLE, "--window", "2")[0]
        self.assertEqual(sum(1 for row in part if row["what"].startswith("instr")), counted["instructions"])
        self.assertEqual(sum(1 for row in part if row["what"] == "read"), counted["loads"])
        self.assertEqual([row["record"] for row in whole], list(range(1, len(whole) + 1)))

    def test_view_shows_what_the_records_hold(self):
        for trace in traces()[:3]:
            got = collections.Counter((row["tid"], row["window"], row["size"], int(row["address"] or row["pc"], 16)) for row in viewed(trace)
                                      if row["pc"] and row["what"] != "instr_no_fetch")
            want = collections.Counter((tid, window, size, address) for tid, window, _, size, address in references(trace))
            self.assertEqual(got, want, trace)

    def test_view_of_a_thread_shows_no_other(self):
        tid = 24340
        got = viewed(YIELD, "--thread", str(tid))
        self.assertGreater(len(got), 100)
        self.assertEqual({row["tid"] for row in got}, {tid})

    def test_view_has_the_times_and_markers_of_the_trace(self):
        lines = run("view", YIELD)[0].splitlines()
        self.assertRegex(lines[0], r"^times after \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} UTC$")
        self.assertEqual(lines[1].split(), "record instr after s thread window what size pc address place detail".split())
        self.assertTrue(all("UTC" in line for line in lines if re.search(r"  timestamp  ", line)))
        self.assertTrue(any(re.search(r"  syscall  .* 24 sched_yield$", line) for line in lines))
        got = viewed(YIELD)
        times = [row["time_us"] for row in got if row["what"] == "timestamp"]
        self.assertEqual(times, [row["value"] for row in got if row["what"] == "timestamp"])
        table = list(csv.DictReader(io.StringIO(run("view", YIELD, "--format", "csv", "--limit", "50")[0])))
        self.assertEqual([row["what"] for row in table], [row["what"] for row in got[:50]])

    def test_view_as_the_tool_is_asked_for(self):
        text = run("view", SINGLE, "--as", "drmemtrace")[0]
        self.assertTrue(text.startswith("Output format:\n<--record#-> <--instr#->: <Wrkld.Tid> <record details>\n"))
        self.assertIn("View tool results:", text)
        self.assertIn("--format", run("view", SINGLE, "--as", "drmemtrace", "--format", "json", code=2)[1])

    def test_one_window_is_cut_into_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            to = os.path.join(folder, "out")
            run("split", SINGLE, "--window", "2", "-o", to)
            files = [os.path.join(at, name) for at, _, names in os.walk(to) for name in names]
            self.assertEqual([os.path.relpath(one, to) for one in files], ["window.0002/drmemtrace.single.10508.3099.trace"])
            self.assertEqual(rows("hot", files[0]), rows("hot", SINGLE, "--window", "2"))
            self.assertEqual(rows("opcodes", files[0]), rows("opcodes", SINGLE, "--window", "2"))

    def test_what_there_is_nothing_of_is_said(self):
        for command in ANALYSES + ("counts", "view", "dump", "windows"):
            out, err = run(command, SINGLE, "--window", "77", code=2)
            self.assertEqual(out, "", command)
            self.assertIn("nothing of window 77", err)
            self.assertIn("nothing of thread 5", run(command, SINGLE, "--thread", "5", code=2)[1])
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("nothing of window 9", run("split", SINGLE, "--window", "9", "-o", folder + "/x", code=2)[1])
            self.assertFalse(os.path.exists(folder + "/x"))


class Analyses(unittest.TestCase):
    def test_the_formats_hold_the_same(self):
        for command in ANALYSES:
            objects = rows(command, SINGLE)
            table = list(csv.reader(io.StringIO(run(command, SINGLE, "--format", "csv")[0])))
            tabbed = [line.split("\t") for line in run(command, SINGLE, "--format", "tsv")[0].splitlines()]
            self.assertEqual(table, tabbed)
            if objects:
                self.assertEqual(list(objects[0]), table[0])
            self.assertEqual(len(objects), len(table) - 1)
            self.assertGreaterEqual(len(run(command, SINGLE)[0].splitlines()), len(objects) + 1)

    def test_working_sets_are_the_lines_and_pages_that_are_touched(self):
        for trace in traces():
            wanted = collections.defaultdict(lambda: [0, 0, 0, set(), set(), set(), set()])
            for tid, window, kind, size, address in references(trace):
                if kind not in ("instr", "read", "write"):
                    continue
                one = wanted[tid, window]
                one[("instr", "read", "write").index(kind)] += 1
                for unit, data, code in ((64, 3, 5), (4096, 4, 6)):
                    one[code if kind == "instr" else data].update(range(address // unit, (address + max(size, 1) - 1) // unit + 1))
            got = {(int(row["tid"]), row["window"]): [row[name] for name in ("instructions", "loads", "stores", "data_lines", "data_pages", "code_lines", "code_pages")]
                   for row in rows("working-set", trace) if row["tid"].isdigit()}
            self.assertEqual(got, {key: one[:3] + [len(lines) for lines in one[3:]] for key, one in wanted.items()}, trace)

    def test_hot_counts_each_instruction_and_line(self):
        pcs, lines = collections.Counter(), collections.Counter()
        for _, _, kind, size, address in references(YIELD):
            if kind == "instr":
                pcs[address] += 1
            elif kind in ("read", "write"):
                lines.update(range(address // 64, (address + max(size, 1) - 1) // 64 + 1))
        got = rows("hot", YIELD)
        self.assertEqual({int(row["pc"], 16): row["count"] for row in got}, dict(pcs))
        self.assertEqual([row["count"] for row in got], sorted(pcs.values(), reverse=True))
        self.assertEqual({int(row["line"], 16) // 64: row["count"] for row in rows("hot", YIELD, "--by", "line")}, dict(lines))
        pages = rows("hot", YIELD, "--by", "page")
        self.assertEqual({int(row["page"], 16) % 4096 for row in pages}, {0})
        self.assertEqual(len(rows("hot", YIELD, "--limit", "3")), 3)

    def test_reuse_is_the_depth_in_a_list_of_the_lines_used_last(self):
        for trace in traces():
            lists, all_of, data_of = collections.defaultdict(list), collections.Counter(), collections.Counter()
            count = 0
            for tid, _, kind, _, address in references(trace):
                used, line = lists[tid], address // 64
                count += 1
                if line in used:
                    distance = used.index(line)
                    all_of[distance] += 1
                    if kind not in ("instr", "prefetch_instr"):
                        data_of[distance] += 1
                    used.remove(line)
                used.insert(0, line)
            told = json.loads(run("reuse", trace, "--by", "distance", "--format", "json")[0])
            self.assertEqual({row["from"]: row["count"] for row in told["rows"]}, dict(all_of))
            self.assertEqual({row["from"]: row["data"] for row in told["rows"] if row["data"]}, dict(data_of))
            self.assertEqual((told["references"], told["lines"]), (count, sum(len(one) for one in lists.values())))
            self.assertAlmostEqual(told["mean"], sum(d * n for d, n in all_of.items()) / sum(all_of.values()), places=4)
            coarse = rows("reuse", trace)
            self.assertEqual(sum(row["count"] for row in coarse), sum(all_of.values()))
            for row in coarse:
                self.assertEqual(row["count"], sum(n for d, n in all_of.items() if row["from"] <= d <= row["to"]))

    def test_opcodes_add_up_to_the_instructions(self):
        instructions = sum(1 for one in references(SINGLE) if one[2] == "instr")
        for by in ("opcode", "bytes", "length", "kind"):
            self.assertEqual(sum(row["count"] for row in rows("opcodes", SINGLE, "--by", by)), instructions, by)
        self.assertEqual(rows("opcodes", SINGLE), rows("opcodes", SINGLE, "--by", "opcode"))
        features = run("--version")[0]
        if "capstone" in features[features.index("built with"):features.index("not built in")]:
            got = rows("opcodes", SINGLE, "--by", "mnemonic")
            self.assertEqual(sum(row["count"] for row in got), instructions)
            returns = {row["opcode"]: row["count"] for row in rows("opcodes", SINGLE)}["c3"]
            self.assertEqual(sum(row["count"] for row in got if row["mnemonic"] in ("ret", "retq")), returns)
        told = json.loads(run("opcodes", "memtrace/legacy/drmemtrace.small.x64.trace", "--format", "json")[0])
        self.assertEqual(told["without_bytes"], told["instructions"])

    def test_system_calls_have_names_and_times(self):
        got = {row["number"]: row for row in rows("syscalls", YIELD)}
        self.assertEqual(got[24]["name"], "sched_yield")
        counted = list(csv.DictReader(io.StringIO(run("counts", YIELD, "--format", "csv")[0])))
        self.assertEqual(sum(row["count"] for row in got.values()), int(counted[-1]["syscalls"]))
        self.assertEqual(sum(row["may_block"] for row in got.values()), int(counted[-1]["maybe_blocking"]))

    def test_a_cut_trace_is_told_and_its_beginning_shown(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cut.trace")
            with open(os.path.join(DATA, SINGLE), "rb") as whole, open(path, "wb") as part:
                part.write(whole.read(60007))
            for command in ANALYSES:
                out, err = run(command, path, code=1)
                self.assertIn(f"{path}:60000: ", err)
                self.assertNotEqual(out, "")


class Names(unittest.TestCase):
    TABLE = ("Module Table: version 5, count 1\n"
             "Columns: id, containing_id, start, end, entry, offset, preferred_base, (custom fields), path\n"
             "  0,   0, 0x0000000000400000, 0x00000000004ae000, 0x00000000004016d0, 0000000000000000, 0x0000000000400000, v#1,0, /nowhere/single\n")

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.trace = os.path.join(self.folder, "trace", "a.trace")
        os.makedirs(os.path.join(self.folder, "raw"))
        os.makedirs(os.path.dirname(self.trace))
        shutil.copy(os.path.join(DATA, SINGLE), self.trace)

    def test_without_a_module_table_there_are_addresses_alone(self):
        self.assertEqual({row["module"] for row in rows("hot", self.trace)}, {""})
        self.assertIn("modules.log", run("hot", self.trace, "--by", "module", code=2)[1])

    def test_the_table_of_the_recording_is_found_beside_the_trace(self):
        with open(os.path.join(self.folder, "raw", "modules.log"), "w") as file:
            file.write(self.TABLE)
        for path in (self.trace, self.folder):
            row = rows("hot", path)[0]
            self.assertEqual((row["module"], int(row["offset"], 16)), ("/nowhere/single", int(row["pc"], 16) - 0x400000))
            self.assertEqual([row["module"] for row in rows("hot", path, "--by", "module")], ["/nowhere/single"])
            self.assertIn(" single+0x", run("hot", path)[0])

    def test_reports_name_functions_by_it(self):
        self.assertTrue(all(row["function"].startswith("0x") for row in rows("report", self.trace)))
        with open(os.path.join(self.folder, "raw", "modules.log"), "w") as file:
            file.write(self.TABLE)
        plain = {row["function"] for row in rows("report", self.trace)}
        self.assertTrue(all(name.startswith("single+0x") for name in plain), plain)

    def test_a_broken_table_is_told(self):
        table = os.path.join(self.folder, "m.log")
        with open(table, "w") as file:
            file.write(self.TABLE + "  what\n")
        out, err = run("hot", self.trace, "--modules", table, code=1)
        self.assertIn(f"{table}:{len(self.TABLE)}: a line is not well formed", err)
        self.assertIn("single+0x", out)

    @unittest.skipIf(shutil.which("gcc") is None, "gcc is not installed")
    def test_symbols_come_from_the_file_below_the_folder_that_is_given(self):
        root = os.path.join(self.folder, "root")
        os.mkdir(root)
        with open(os.path.join(root, "a.c"), "w") as file:
            file.write("void _start(void) { for (;;) {} }\n")
        pc = int(rows("hot", self.trace)[0]["pc"], 16)
        # A program whose one function lies where the hottest instruction of the trace does.
        subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", f"-Wl,-Ttext={pc:#x}", "-o", os.path.join(root, "single"), os.path.join(root, "a.c")], check=True)
        with open(os.path.join(self.folder, "raw", "modules.log"), "w") as file:
            file.write(self.TABLE)
        self.assertEqual(rows("hot", self.trace)[0]["symbol"], "")
        row = rows("hot", self.trace, "--sysroot", root)[0]
        self.assertEqual((row["symbol"], row["into_symbol"]), ("_start", 0))
        by_function = rows("hot", self.trace, "--sysroot", root, "--by", "function")
        self.assertIn("_start", [row["function"] for row in by_function])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
