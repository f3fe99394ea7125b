# SPDX-License-Identifier: Apache-2.0
"""Checks the program `backsight` from outside: exit codes, streams, formats that agree with one another.

    program_test.py PROGRAM DATA
"""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM, DATA = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
LOG = "xray/c19/fdr-threads.xray"
CUSTOM = "xray/c19/fdr-custom.xray"
CUT = "xray/c19/cut-fdr-threads-61.xray"
ELF = "xray/bin/workload-19"


def run(*words, stdin=None, code=0):
    done = subprocess.run([PROGRAM, *words], capture_output=True, cwd=DATA, stdin=stdin)
    if done.returncode != code:
        raise AssertionError(f"{words} ends with {done.returncode}: {done.stderr.decode()}")
    return done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode()


class ExitCodes(unittest.TestCase):
    def test_wrong_usage_ends_with_2(self):
        for words in ([], ["unknown"], ["info"], ["info", LOG, "more"], ["dump", LOG, "--format", "xml"],
                      ["report", LOG, "--sort", "colour"], ["export", LOG], ["export", LOG, "--to", "folded", "--as", "llvm-xray"]):
            with self.subTest(words=words):
                out, err = run(*words, code=2)
                self.assertEqual(out, "")
                self.assertNotEqual(err, "")

    def test_help_and_version_end_with_0(self):
        self.assertIn("report", run("--help")[0])
        self.assertIn("--symbols", run("report", "--help")[0])
        self.assertRegex(run("--version")[0], r"^backsight \d+\.\d+\.\d+\n")

    def test_bad_input_ends_with_1_and_names_file_offset_and_reason(self):
        out, err = run("info", CUT, code=1)
        self.assertRegex(err, rf"^{CUT}:19952: unexpected end of the data; 5 bytes skipped\n$")
        self.assertIn("faults        1\n", out)

    def test_what_is_no_trace_ends_with_1(self):
        for path in ("/dev/null", "/nonexistent", "xray"):
            self.assertTrue(run("info", path, code=1)[1].startswith(path + ":"))

    def test_a_symbol_file_without_map_is_an_error(self):
        self.assertIn("xray_instr_map", run("report", LOG, "--symbols", "/bin/true", code=1)[1])

    def test_output_that_cannot_be_written_is_an_error(self):
        self.assertIn("/dev/full", run("graph", LOG, "-o", "/dev/full", code=1)[1])


class Formats(unittest.TestCase):
    def test_the_formats_of_report_hold_the_same(self):
        table = list(csv.reader(io.StringIO(run("report", LOG, "--symbols", ELF, "--format", "csv")[0])))
        tabbed = [line.split("\t") for line in run("report", LOG, "--symbols", ELF, "--format", "tsv")[0].splitlines()]
        objects = json.loads(run("report", LOG, "--symbols", ELF, "--format", "json")[0])["rows"]
        lines = run("report", LOG, "--symbols", ELF)[0].splitlines()
        self.assertEqual(table, tabbed)
        self.assertEqual([[str(value) for value in at.values()] for at in objects], table[1:])
        self.assertEqual(list(objects[0]), table[0])
        self.assertEqual(table[0], ["id", "count", "total_ns", "self_ns", "min_ns", "mean_ns", "median_ns", "p90_ns", "p99_ns", "max_ns", "function"])
        # In text times have units: two words each.
        shown = [line.split(None, 18) for line in lines[1:]]
        self.assertEqual([(words[1], words[-1]) for words in shown], [(row[1], row[-1]) for row in table[1:]])
        self.assertAlmostEqual(sum(float(words[0][:-1]) for words in shown), 100, delta=0.5)

    def test_sort_orders_rows_and_limit_cuts_them(self):
        for column in ("count", "min", "mean", "median", "p90", "p99", "max", "total", "self"):
            rows = json.loads(run("report", LOG, "--sort", column, "--format", "json")[0])["rows"]
            values = [at.get(column, at.get(column + "_ns")) for at in rows]
            self.assertEqual(values, sorted(values, reverse=True))
        names = [at["function"] for at in json.loads(run("report", LOG, "--sort", "name", "--format", "json")[0])["rows"]]
        self.assertEqual(names, sorted(names))
        self.assertEqual(len(json.loads(run("report", LOG, "--limit", "3", "--format", "json")[0])["rows"]), 3)

    def test_jobs_do_not_change_the_report(self):
        for log in (LOG, CUT, "xray/c19/basic-args.xray"):
            code = 1 if log == CUT else 0
            self.assertEqual(run("report", log, code=code), run("report", log, "-j", "4", code=code))

    def test_stdin_gives_what_the_file_gives(self):
        for command in (["info"], ["dump"], ["report"], ["export", "--to", "folded"]):
            with open(os.path.join(DATA, LOG), "rb") as file:
                self.assertEqual(run(*command, "-", stdin=file)[0], run(*command, LOG)[0])

    def test_info_as_json_holds_the_counts_of_the_dump(self):
        info = json.loads(run("info", CUSTOM, "--format", "json")[0])
        records = [json.loads(line) for line in run("dump", CUSTOM, "--format", "json")[0].splitlines()]
        for kind, count in info["records"].items():
            self.assertEqual(sum(at["record"] == kind for at in records), count)
        self.assertEqual(sum(info["records"].values()), len(records))

    def test_self_times_add_up_the_same_everywhere(self):
        rows = json.loads(run("report", LOG, "--format", "json")[0])["rows"]
        stacks = json.loads(run("stacks", LOG, "--format", "json")[0])["rows"]
        folded = run("export", LOG, "--to", "folded")[0].splitlines()
        total = sum(at["self_ns"] for at in rows)
        self.assertEqual(sum(at["self_ns"] for at in stacks), total)
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded), total)
        self.assertEqual(sum(at["count"] for at in stacks), sum(at["count"] for at in rows))


class Dump(unittest.TestCase):
    def test_the_hex_dump_shows_every_byte_of_the_file_once(self):
        for log in (LOG, CUT, CUSTOM, "xray/c19/basic-args.xray", "xray/syn/syn-fdr-v1-dirty-tail-le.xray",
                    "xray/syn/syn-fdr-gap-between-buffers.xray", "xray/syn/syn-fdr-v4-be.xray"):
            with self.subTest(log=log):
                with open(os.path.join(DATA, log), "rb") as file:
                    content = file.read()
                done = subprocess.run([PROGRAM, "dump", "--hex", log], capture_output=True, cwd=DATA)
                shown = {}
                for line in done.stdout.decode("ascii").splitlines():
                    if line[8:12] == "  --":
                        continue
                    offset = int(line[:8], 16)
                    for i, byte in enumerate(bytes.fromhex(line[10:46].replace(" ", ""))):
                        self.assertEqual(shown.setdefault(offset + i, byte), byte)
                self.assertEqual(bytes(shown[i] for i in sorted(shown)), content)
                self.assertEqual(len(shown), len(content))

    def test_begin_end_and_limit_choose_records(self):
        every = run("dump", LOG)[0].splitlines()
        offsets = [int(line.split()[0]) for line in every]
        chosen = run("dump", LOG, "--begin", "200", "--end", "300")[0].splitlines()
        self.assertEqual(chosen, [line for line, at in zip(every, offsets) if 200 <= at < 300])
        self.assertEqual(run("dump", LOG, "--limit", "7")[0].splitlines(), every[:7])

    def test_csv_has_one_table_for_all_kinds(self):
        rows = list(csv.reader(io.StringIO(run("dump", CUSTOM, "--format", "csv")[0])))
        self.assertEqual(len({len(row) for row in rows}), 1)
        objects = [json.loads(line) for line in run("dump", CUSTOM, "--format", "json")[0].splitlines()]
        for row, at in zip(rows[1:], objects):
            columns = {name: value for name, value in zip(rows[0], row) if value != "" and name != "payload"}
            self.assertEqual(columns, {name: str(value) for name, value in at.items() if name != "payload"})


class Exports(unittest.TestCase):
    def test_chrome_events_nest_in_every_thread(self):
        for log in (LOG, CUSTOM, "xray/c19/fdr-tail.xray", "xray/c19/fdr-early.xray"):
            events = json.loads(run("export", log, "--to", "chrome")[0])["traceEvents"]
            stacks = {}
            for event in events:
                stack = stacks.setdefault((event["pid"], event["tid"]), [])
                if event["ph"] == "B":
                    stack.append(event["name"])
                elif event["ph"] == "E":
                    self.assertEqual(stack.pop(), event["name"])
            entries = json.loads(run("info", log, "--format", "json")[0])
            self.assertEqual(len(stacks), len(entries["threads"]))

    def test_an_export_to_a_file_is_that_to_stdout(self):
        with tempfile.TemporaryDirectory() as folder:
            for to in ("folded", "chrome", "perfetto", "yaml"):
                path = os.path.join(folder, to)
                run("export", LOG, "--to", to, "-o", path)
                with open(path, "rb") as file:
                    written = file.read()
                done = subprocess.run([PROGRAM, "export", LOG, "--to", to], capture_output=True, cwd=DATA, check=True)
                self.assertEqual(written, done.stdout)
                self.assertGreater(len(written), 1000)

    def test_the_graph_is_in_the_dot_language(self):
        lines = run("graph", LOG, "--symbols", ELF)[0].splitlines()
        self.assertEqual((lines[0], lines[-1]), ("digraph calls {", "}"))
        names = {line.split()[0] for line in lines if " [label=" in line and "->" not in line}
        for line in lines:
            if "->" in line:
                caller, _, callee = line.split()[:3]
                self.assertIn(caller, names)
                self.assertIn(callee, names)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
