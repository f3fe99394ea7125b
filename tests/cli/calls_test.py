# SPDX-License-Identifier: Apache-2.0
"""The commands over traces of calls from outside: modules, arguments and results, several traces at once, calls that do not end.

    calls_test.py PROGRAM DATA
"""
import collections
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # Nothing is written beside the tests.
import made_traces

PROGRAM, DATA = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
XRAY, OTHER_XRAY = "xray/c19/fdr-threads.xray", "xray/c19/fdr-custom.xray"
ELF = "xray/bin/workload-19"
UFTRACE, FORKS, ARGUMENTS = "uftrace/single-pg/uftrace.data", "uftrace/forkexec-pg/uftrace.data", "uftrace/args-spec/uftrace.data"
MEMTRACE = "memtrace/single/drmemtrace.single.10508.3099.trace"
PERF = "perf/group-read/perf.data"


def run(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, cwd=DATA, timeout=60)
    return done.returncode, done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode("utf-8", "replace")


def rows(*words, expected=0):
    code, out, err = run(*words, "--format", "json")
    assert code == expected, (words, code, err)
    return json.loads(out)["rows"]


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)


class Modules(Folder):
    def test_rows_of_modules_add_up_to_those_of_functions(self):
        for trace in (UFTRACE, FORKS, "uftrace/dlopen-pg/uftrace.data", "uftrace/kernel-made/uftrace.data"):
            with self.subTest(trace=trace):
                functions, modules = rows("report", trace), rows("report", trace, "--by", "module")
                for column in ("count", "self_ns"):
                    self.assertEqual(sum(row[column] for row in functions), sum(row[column] for row in modules))
                self.assertEqual(len({row["module"] for row in modules}), len(modules))
                for row in modules:
                    self.assertLessEqual(row["self_ns"], row["total_ns"])
                self.assertTrue(any(row["module"].startswith("/") for row in modules), modules)

    def test_the_module_of_an_xray_log_is_its_program(self):
        code, out, err = run("report", XRAY, "--by", "module")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("--symbols", err)
        with_program = rows("report", XRAY, "--by", "module", "--symbols", ELF)
        self.assertEqual([row["module"] for row in with_program], [ELF])
        self.assertEqual(with_program[0]["count"], sum(row["count"] for row in rows("report", XRAY)))

    def test_the_modules_of_a_memtrace_are_those_of_its_log(self):
        code, out, err = run("report", MEMTRACE, "--by", "module")
        self.assertEqual((code, out), (2, ""), err)
        self.assertIn("--modules", err)
        log = self.path("modules.log")
        with open(log, "w") as file:
            file.write("Module Table: version 5, count 1\nColumns: id, containing_id, start, end, entry, offset, preferred_base, path\n"
                       "  0,   0, 0x0000000000002000, 0x0000000000003000, 0x0, 0000000000000000, 0x0000000000002000, /opt/app\n")
        trace = made_traces.unfinished_memtrace(self.path("a.trace"))
        found = rows("report", trace, "--by", "module", "--modules", log)
        self.assertEqual([(row["module"], row["count"]) for row in found], [("/opt/app", 2)])
        code, out, err = run("report", made_traces.memtrace_with_markers(self.path("b.trace")), "--by", "module", "--modules", log)
        self.assertEqual((code, out), (2, ""))
        self.assertIn("filtered", err)

    def test_graph_and_diff_by_module(self):
        code, out, err = run("graph", FORKS, "--by", "module")
        self.assertEqual(code, 0, err)
        modules = {row["module"] for row in rows("report", FORKS, "--by", "module")}
        for module in modules:
            self.assertIn(module, out)
        self.assertEqual(out.count("[label=") - out.count(" -> "), len(modules))
        for row in rows("diff", FORKS, FORKS, "--by", "module"):
            self.assertEqual((row["self_change_ns"], row["module"] in modules), (0, True))
        self.assertEqual(run("graph", FORKS, "main", "--by", "module")[:2], (2, ""))


class Values(Folder):
    def test_arguments_and_results_are_columns_where_the_trace_has_them(self):
        found = rows("calls", ARGUMENTS)
        self.assertTrue(any(row["arguments"] for row in found) and any(row["result"] for row in found))
        # As uftrace shows them.
        code, replay, _ = run("replay", "--as", "uftrace", ARGUMENTS)
        self.assertEqual(code, 0)
        for row in found:
            if row["arguments"]:
                self.assertIn(f"{row['function'].split('(')[0]}({row['arguments']})", replay)
            if row["result"]:
                self.assertIn(f" = {row['result']};", replay)
        self.assertNotIn("arguments", rows("calls", UFTRACE)[0])
        table = list(csv.DictReader(io.StringIO(run("calls", ARGUMENTS, "--format", "csv")[1])))
        self.assertEqual([row["arguments"] for row in table], [row["arguments"] for row in found])
        self.assertIn("arguments", run("calls", ARGUMENTS)[1].splitlines()[0])
        # A filter that holds calls back keeps them.
        kept = rows("calls", ARGUMENTS, "-t", "1ns", "-D", "9")
        self.assertEqual([(row["arguments"], row["result"]) for row in kept if row["duration_ns"] is not None],
                         [(row["arguments"], row["result"]) for row in found if row["duration_ns"] is not None and row["duration_ns"] > 0])

    def test_arguments_of_xray_logs(self):
        found = rows("calls", made_traces.log_with_arguments(self.path("a.xray")))
        self.assertEqual([(row["function"], row["arguments"], row["result"]) for row in found], [("#1", "0x123456", ""), ("#2", "", "")])

    def test_arguments_and_results_of_function_markers(self):
        found = rows("calls", made_traces.memtrace_with_markers(self.path("a.trace")))
        self.assertEqual([(row["function"], row["arguments"], row["result"]) for row in found], [("function 4", "3, 0x7fff00001000", "9")])

    def test_exports_have_them(self):
        chrome = json.loads(run("export", ARGUMENTS, "--to", "chrome")[1])["traceEvents"]
        found = rows("calls", ARGUMENTS)
        given = [event["args"]["arguments"] for event in chrome if event["ph"] == "B" and "args" in event]
        back = [event["args"]["result"] for event in chrome if event["ph"] == "E" and "args" in event]
        self.assertEqual(sorted(given), sorted(row["arguments"] for row in found if row["arguments"]))
        self.assertEqual(sorted(back), sorted(row["result"] for row in found if row["result"]))
        packets = run("export", ARGUMENTS, "--to", "perfetto")[1]
        for text in given[:5]:
            self.assertIn("arguments2" + chr(len(text)) + text, packets)


class Several(Folder):
    def sums(self, found, names=("function",)):
        sums = collections.Counter()
        for row in found:
            for column in ("count", "self_ns", "self_instructions", "total_ns"):
                if column in row:
                    sums[(tuple(row[name] for name in names), column)] += row[column]
        return sums

    def test_sums_are_those_of_all_by_name(self):
        for first, second in ((UFTRACE, FORKS), (UFTRACE, UFTRACE), (XRAY, OTHER_XRAY), (UFTRACE, XRAY), (MEMTRACE, MEMTRACE)):
            for command, name in (("report", "function"), ("stacks", "path")):
                with self.subTest(command=command, first=first, second=second):
                    both = rows(command, first, second)
                    self.assertEqual(self.sums(both, [name]), self.sums(rows(command, first), [name]) + self.sums(rows(command, second), [name]))
                    self.assertEqual(len({row[name] for row in both}), len(both))
                    code, out, err = run(command, first, second, "-j", "2", "--format", "csv")
                    self.assertEqual((code, out), run(command, first, second, "--format", "csv")[:2], err)

    def test_threads_processes_and_calls_say_which_trace_they_are_of(self):
        for by in ("thread", "process"):
            both = rows("report", UFTRACE, FORKS, "--by", by)
            for trace in (UFTRACE, FORKS):
                own = [{key: row[key] for key in row if key != "trace"} for row in both if row["trace"] == trace]
                self.assertEqual(sorted(map(str, own)), sorted(map(str, rows("report", trace, "--by", by))))
        # The same ids in both: still two threads.
        self.assertEqual(len(rows("report", UFTRACE, UFTRACE, "--by", "thread")), 2 * len(rows("report", UFTRACE, "--by", "thread")))
        both = rows("calls", UFTRACE, FORKS)
        self.assertEqual(collections.Counter(row["trace"] for row in both),
                         collections.Counter({trace: len(rows("calls", trace)) for trace in (UFTRACE, FORKS)}))
        self.assertEqual([row["start_ns"] for row in both], sorted(row["start_ns"] for row in both))

    def test_graphs_and_exports(self):
        def folded(*traces):
            counts = collections.Counter()
            for line in run("export", *traces, "--to", "folded")[1].splitlines():
                path, number = line.rsplit(" ", 1)
                counts[path] += int(number)
            return counts
        self.assertEqual(folded(UFTRACE, FORKS), folded(UFTRACE) + folded(FORKS))
        events = json.loads(run("export", UFTRACE, FORKS, "--to", "chrome")[1])["traceEvents"]
        names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
        self.assertTrue(any(UFTRACE in name for name in names) and any(FORKS in name for name in names), names)
        calls = sum(event["ph"] == "B" for event in events)
        self.assertEqual(calls, len(rows("calls", UFTRACE)) + len(rows("calls", FORKS)))
        code, out, err = run("graph", UFTRACE, FORKS)
        self.assertEqual(code, 0, err)
        self.assertEqual(out.count("\\n"), len({row["function"] for row in rows("calls", UFTRACE, FORKS)}))
        itself = [row for row in rows("graph", UFTRACE, FORKS, "main") if row["relation"] == "itself"]
        own = [row for trace in (UFTRACE, FORKS) for row in rows("graph", trace, "main") if row["relation"] == "itself"]
        self.assertEqual((len(itself), itself[0]["total_ns"]), (1, sum(row["total_ns"] for row in own)))

    def test_filters_hold_for_all_and_a_pattern_fits_where_it_fits_any(self):
        both = rows("report", UFTRACE, FORKS, "-F", "main", "-D", "2")
        self.assertEqual(self.sums(both), self.sums(rows("report", UFTRACE, "-F", "main", "-D", "2")) +
                         self.sums(rows("report", FORKS, "-F", "main", "-D", "2")))
        only = next(row["function"] for row in rows("report", FORKS)
                    if row["function"] not in {other["function"] for other in rows("report", UFTRACE)})
        self.assertEqual(run("report", UFTRACE, FORKS, "-F", only)[0], 0)
        code, _, err = run("report", UFTRACE, FORKS, "-F", "no_such_function")
        self.assertEqual((code, err.count("no_such_function")), (2, 1), err)

    def test_what_cannot_be_put_together_is_refused(self):
        def check(*words, said):
            code, out, err = run(*words)
            self.assertEqual((code, out), (2, ""), err)
            self.assertIn(said, err)
        check("report", UFTRACE, MEMTRACE, said="instructions")
        check("report", UFTRACE, PERF, said="perf.data")
        check("report", UFTRACE, "xray_profile/threads.xray", said="XRay profile")
        check("report", UFTRACE, FORKS, "--as", "uftrace", said="takes one trace")
        check("export", XRAY, OTHER_XRAY, "--to", "yaml", said="takes one trace")
        check("export", PERF, PERF, "--to", "perfetto", said="one perf.data")
        for command in ("info", "replay", "check", "dump"):
            self.assertEqual(run(command, UFTRACE, FORKS)[:2], (2, ""))

    def test_of_a_damaged_trace_the_others_are_shown(self):
        broken = self.path("broken.xray")
        with open(broken, "wb") as file:
            file.write(bytes(range(64)))
        expected = run("report", XRAY, "--format", "csv")[1]
        for traces in ((XRAY, broken), (broken, XRAY), (XRAY, self.path("none")), (broken, broken, XRAY)):
            code, out, err = run("report", *traces, "--format", "csv")
            self.assertEqual(code, 1)
            self.assertEqual([line.split(",", 1)[1] for line in out.splitlines()], [line.split(",", 1)[1] for line in expected.splitlines()])
            self.assertIn(traces[0] if traces[0] != XRAY else traces[1], err)
        self.assertEqual(run("report", broken, broken)[:2], (1, ""))
        cut = self.path("cut.xray")
        with open(os.path.join(DATA, XRAY), "rb") as file:
            data = file.read()
        with open(cut, "wb") as file:
            file.write(data[:len(data) - 5])
        code, out, err = run("report", XRAY, cut)
        self.assertEqual(code, 1)
        self.assertIn(cut + ":", err)
        self.assertNotIn(XRAY + ":" + str(len(data)), err)

    def test_recordings_of_perf(self):
        one, both = run("report", PERF, "--format", "json"), run("report", PERF, PERF, "--format", "json")
        self.assertEqual(one[0], both[0])
        one, both = ([json.loads(line) for line in got[1].splitlines()] for got in (one, both))
        self.assertEqual([(row["function"], 2 * row["self"], 2 * row["samples"]) for row in one],
                         [(row["function"], row["self"], row["samples"]) for row in both])
        processes = [json.loads(line) for line in run("report", PERF, PERF, "--by", "process", "--format", "json")[1].splitlines()]
        self.assertEqual(len(processes), 2 * len(run("report", PERF, "--by", "process", "--format", "json")[1].splitlines()))
        # Its samples count other events.
        code, out, err = run("report", "perf/pipe/perf.data", PERF)
        self.assertEqual((code, out), (2, ""), err)
        self.assertIn("task-clock", err)


class Unfinished(Folder):
    def test_calls_inside_of_one_that_does_not_end_have_a_total(self):
        trace = made_traces.unfinished_memtrace(self.path("a.trace"))
        (row,) = rows("report", trace)
        self.assertEqual((row["count"], row["total_instructions"], row["self_instructions"]), (2, 6, 6))
        itself = next(row for row in rows("graph", trace, "*") if row["relation"] == "itself")
        self.assertEqual((itself["count"], itself["total_instructions"]), (2, 6))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
