# SPDX-License-Identifier: Apache-2.0
"""`backsight check` of every format, from outside: what a trace lacks, as text and as JSON, and the exit code.

    check_test.py PROGRAM DATA
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, DATA = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
LOG = "xray/c19/fdr-custom.xray"
GAPS = "xray/syn/syn-fdr-tail-and-missing-exits.xray"
CUT = "xray/c19/cut-fdr-threads-61.xray"
ELF = "xray/bin/workload-19"
UFTRACE = "uftrace/single-pg/uftrace.data"


def check(*words, code=0):
    done = subprocess.run([PROGRAM, "check", *words], capture_output=True, cwd=DATA, text=True)
    if done.returncode != code:
        raise AssertionError(f"{words} ends with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def told(*words, code=0):
    return json.loads(check(*words, "--format", "json", code=code))


class Check(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def test_a_whole_trace_lacks_nothing(self):
        for trace in (LOG, UFTRACE):
            got = told(trace)
            self.assertTrue(got["good"])
            self.assertEqual((got["damage"], got["lost_records"], got["exits_without_entry"], got["closed_by_caller"]), ([], 0, 0, 0))
            self.assertTrue(check(trace).endswith(f"{trace}: nothing is missing\n"))

    def test_damage_has_its_place(self):
        got = told(CUT, code=1)
        self.assertFalse(got["good"])
        self.assertEqual([(one["file"], one["offset"], one["skipped"]) for one in got["damage"]], [(CUT, 19952, 5)])
        text = check(CUT, code=1)
        self.assertIn(f"{CUT}:19952: unexpected end of the data; 5 bytes skipped\n", text)
        self.assertIn("damaged places           1\n", text)

    def test_calls_that_do_not_fit_are_counted_as_by_the_report(self):
        got = told(GAPS, code=1)
        report = json.loads(subprocess.run([PROGRAM, "report", GAPS, "--format", "json"], capture_output=True, cwd=DATA, check=True).stdout)
        for name in ("exits_without_entry", "closed_by_caller", "calls_without_exit"):
            self.assertEqual(got[name], report[name])
        self.assertGreater(got["exits_without_entry"] + got["closed_by_caller"], 0)

    def test_functions_without_a_name_are_counted_and_are_no_fault(self):
        plain, named = told(LOG), told(LOG, "--symbols", ELF)
        self.assertEqual(plain["functions_without_name"], plain["functions"])
        self.assertEqual(named["functions_without_name"], 0)
        self.assertEqual(plain["functions"], named["functions"])

    def test_lost_records_of_uftrace_are_told(self):
        path = os.path.join(self.folder, "uftrace.data")
        shutil.copytree(os.path.join(DATA, UFTRACE), path)
        name = next(one for one in sorted(os.listdir(path)) if one.endswith(".dat") and os.path.getsize(os.path.join(path, one)) > 64)
        file = os.path.join(path, name)
        with open(file, "rb") as data:
            content = data.read()
        time = struct.unpack_from("<Q", content, len(content) - 16)[0]
        # LOST, which is type 2 with the magic of every record, says how many in the address.
        with open(file, "ab") as data:
            data.write(struct.pack("<QQ", time, 2 | 5 << 3 | 7 << 16))
        got = told(path, code=1)
        self.assertEqual(got["lost_records"], 7)
        self.assertEqual(got["damage"], [])
        # Every command over calls says it, on stderr and in what machines read.
        commands = [["report"], ["report", "--by", "thread"], ["stacks"], ["graph"], ["graph", "main"], ["calls"], ["report", "-F", "m*"]]
        commands += [["export", "--to", to] for to in ("folded", "chrome", "perfetto", "dot")]
        for command, *options in commands:
            done = subprocess.run([PROGRAM, command, path, *options], capture_output=True, check=False)
            self.assertEqual(done.returncode, 0)
            self.assertIn(f"{path}: 7 records were lost when it was recorded\n", done.stderr.decode())
        for command in ("report", "stacks", "calls"):
            done = subprocess.run([PROGRAM, command, path, "--format", "json"], capture_output=True, check=True)
            self.assertEqual(json.loads(done.stdout)["lost_records"], 7)

    def test_functions_without_a_name_are_told_by_every_command(self):
        for command, *options in (["report"], ["stacks"], ["graph"], ["calls"], ["export", "--to", "folded"]):
            for symbols in ([], ["--symbols", ELF]):
                done = subprocess.run([PROGRAM, command, LOG, *options, *symbols], capture_output=True, cwd=DATA, check=True)
                self.assertEqual("functions have no name" in done.stderr.decode(), not symbols, (command, symbols))
        for symbols, unnamed in (([], told(LOG)["functions"]), (["--symbols", ELF], 0)):
            done = subprocess.run([PROGRAM, "report", LOG, "--format", "json", *symbols], capture_output=True, cwd=DATA, check=True)
            self.assertEqual(json.loads(done.stdout)["functions_without_name"], unnamed)

    def test_damage_of_a_task_names_its_file(self):
        path = os.path.join(self.folder, "uftrace.data")
        shutil.copytree(os.path.join(DATA, UFTRACE), path)
        name = next(one for one in sorted(os.listdir(path)) if one.endswith(".dat") and os.path.getsize(os.path.join(path, one)) > 64)
        with open(os.path.join(path, name), "ab") as data:
            data.write(b"\0\0\0\0\0")
        got = told(path, code=1)
        self.assertEqual(os.path.basename(got["damage"][0]["file"]), name)

    def test_memtraces_tell_their_findings(self):
        trace = "memtrace/yield/drmemtrace.yield.24340.6622.trace.zip"
        got = told(trace)
        text = check(trace)
        self.assertEqual([one["file"] for one in got], [trace])
        self.assertEqual(len(got[0]["findings"]), text.count("note: "))
        self.assertTrue(all(one["is_note"] for one in got[0]["findings"]))
        for one in got[0]["findings"]:
            self.assertIn(f"{trace}:{one['offset']}: note: {one['message']}, instruction {one['instruction']}, window {one['window']}\n", text)
        raw = "memtrace/yield/drmemtrace.yield.24336.5587.raw"
        self.assertEqual(told(raw)[0]["findings"], [])
        cut = os.path.join(self.folder, "cut.trace")
        with open(os.path.join(DATA, "memtrace/single/drmemtrace.single.10508.3099.trace"), "rb") as whole, open(cut, "wb") as part:
            part.write(whole.read(60007))
        got = told(cut, code=1)
        self.assertGreater(got[0]["count"], 0)

    def test_profiles_tell_their_damage(self):
        profile = "xray_profile/threads.xray"
        self.assertTrue(told(profile)["good"])
        cut = os.path.join(self.folder, "cut.xray")
        with open(os.path.join(DATA, profile), "rb") as whole, open(cut, "wb") as part:
            content = whole.read()
            part.write(content[:len(content) - 3])
        got = told(cut, code=1)
        self.assertEqual(len(got["damage"]), 1)
        self.assertIn(f"{cut}:{got['damage'][0]['offset']}: ", check(cut, code=1))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
