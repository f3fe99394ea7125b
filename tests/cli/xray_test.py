# SPDX-License-Identifier: Apache-2.0
"""XRay logs and profiles through the program: what profiles hold, exit codes of damaged input, and the work of odd logs.

    xray_test.py PROGRAM DATA
"""
import collections
import csv
import glob
import io
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, DATA = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
PROFILE = os.path.join(DATA, "xray_profile", "threads.xray")

COMMANDS = [["info"], ["info", "--format", "json"], ["dump"], ["dump", "--hex"], ["dump", "--format", "csv"], ["dump", "--format", "json"],
            ["report"], ["report", "-j", "3"], ["report", "--as", "llvm-xray"], ["report", "--as", "llvm-xray", "--deduce-calls"], ["stacks"],
            ["graph"], ["export", "--to", "folded"], ["export", "--to", "chrome"], ["export", "--to", "perfetto"], ["export", "--to", "dot"],
            ["export", "--to", "yaml"], ["export", "--to", "chrome", "--as", "llvm-xray"]]


def run(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True)
    return done.returncode, done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode()


def profile_of(blocks, order="<"):
    """A profile as compiler-rt's xray_profile_collector.cpp writes it: a thread and its paths for each block."""
    data = struct.pack(order + "QQQQ", 0x7872617970726F66, 0x20180424, 1700000000000000000, 4711)
    for number, (thread, paths) in enumerate(blocks):
        body = b"".join(struct.pack(f"{order}{len(ids) + 1}iQQ", *ids, 0, calls, ticks) for ids, calls, ticks in paths)
        data += struct.pack(order + "IIQ", 16 + len(body), number, thread) + body
    return data


def paths_of(data):
    """A second reader of profiles, for the real one."""
    at, paths = 32, []
    while at < len(data):
        size, _, thread = struct.unpack_from("<IIQ", data, at)
        end, at = at + size, at + 16
        while at < end:
            ids = []
            while (one := struct.unpack_from("<i", data, at)[0]) != 0:
                ids.append(one)
                at += 4
            paths.append((thread, ids, *struct.unpack_from("<QQ", data, at + 4)))
            at += 20
    return paths


class Profiles(unittest.TestCase):
    def test_info_and_report_of_a_real_profile_hold_the_sums_of_its_paths(self):
        with open(PROFILE, "rb") as file:
            paths = paths_of(file.read())
        code, out, err = run("info", PROFILE, "--format", "json")
        self.assertEqual((code, err), (0, ""))
        info = json.loads(out)
        self.assertEqual(info["paths"], len(paths))
        self.assertEqual(info["calls"], sum(path[2] for path in paths))
        self.assertEqual(info["self_ticks"], sum(path[3] for path in paths))
        self.assertEqual([at["thread"] for at in info["threads"]], sorted({path[0] for path in paths}))
        self.assertEqual(len(info["threads"]), 3)
        count, total, own = collections.Counter(), collections.Counter(), collections.Counter()
        for _, ids, calls, ticks in paths:
            count[ids[0]] += calls
            own[ids[0]] += ticks
            for one in set(ids):
                total[one] += ticks
        code, out, err = run("report", PROFILE, "--format", "json")
        self.assertEqual((code, err), (0, ""))
        rows = json.loads(out)
        self.assertEqual({at["id"]: (at["count"], at["sum_ticks"], at["self_ticks"]) for at in rows},
                         {one: (count[one], total[one], own[one]) for one in total})
        self.assertEqual([at["self_ticks"] for at in rows], sorted((at["self_ticks"] for at in rows), reverse=True))
        # What the program did, counted by hand: see the README of the data.
        self.assertEqual({at["id"]: at["count"] for at in rows if at["id"] in (2, 4)}, {2: 3, 4: 3})
        table = list(csv.reader(io.StringIO(run("report", PROFILE, "--format", "csv")[1])))
        self.assertEqual([[str(at[key]) for key in ("id", "count", "sum_ticks", "self_ticks", "function")] for at in rows], table[1:])
        text = run("report", PROFILE)[1].splitlines()
        self.assertEqual([line.split() for line in text[1:]], [row[1:] for row in table[1:]])
        self.assertEqual(run("report", PROFILE, "--limit", "2")[1].splitlines(), text[:3])

    def test_profiles_of_either_byte_order(self):
        blocks = [(7, [([1], 1, 100), ([2, 1], 20, 3000), ([1, 2, 1], 5, 7)]), (8, [([3], 1 << 40, (1 << 64) - 1), ([3, 3], 1, 1)])]
        outputs = []
        with tempfile.TemporaryDirectory() as folder:
            for order in "<>":
                path = os.path.join(folder, "profile")
                with open(path, "wb") as file:
                    file.write(profile_of(blocks, order))
                code, out, _ = run("report", path, "--format", "csv", "--sort", "function")
                self.assertEqual(code, 0)
                outputs.append(out)
        self.assertEqual(outputs[0], outputs[1])
        # A recursive function counts once, and sums do not wrap.
        self.assertEqual(outputs[0], "id,count,sum_ticks,self_ticks,function\n1,6,3107,107,#1\n2,20,3007,3000,#2\n"
                         f"3,{(1 << 40) + 1},{(1 << 64) - 1},{(1 << 64) - 1},#3\n")

    def test_a_damaged_profile_ends_with_1_and_tells_the_place(self):
        whole = profile_of([(7, [([1], 1, 100), ([2, 1], 20, 3000)]), (8, [([3], 4, 5)])])
        bad = bytearray(whole)
        bad[72:76] = struct.pack("<i", -1)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "profile")
            for data, message in ((whole[:90], "72: unexpected end of the data; 18 bytes skipped"),
                                  (bytes(bad), "72: a field holds a value that is not allowed; 28 bytes skipped"),
                                  (whole[:20], "0: unexpected end of the data"),
                                  (whole[:8] + b"\1" + whole[9:], "8: unsupported version")):
                with open(path, "wb") as file:
                    file.write(data)
                for command in (["info"], ["info", "--format", "json"], ["report"], ["report", "--format", "csv"]):
                    code, _, err = run(command[0], path, *command[1:])
                    self.assertEqual((code, err), (1, f"{path}:{message}\n"))

    def test_what_a_profile_has_not_got_is_said(self):
        for words in (["dump"], ["stacks"], ["graph"], ["export", "--to", "folded"], ["report", "--sort", "median"], ["report", "--as", "llvm-xray"]):
            code, out, err = run(words[0], PROFILE, *words[1:])
            self.assertEqual((code, out), (2, ""))
            self.assertIn("profile", err.lower())


class Damage(unittest.TestCase):
    def test_every_command_ends_with_1_where_a_log_is_damaged_and_says_so(self):
        logs = sorted(glob.glob(os.path.join(DATA, "xray", "*", "*.xray")))
        codes = {log: run("info", log)[0] for log in logs}
        damaged = [log for log in logs if codes[log] == 1]
        for log in damaged[::3] + [log for log in logs if codes[log] == 0][::8]:
            code = codes[log]
            for command in COMMANDS:
                with self.subTest(log=os.path.relpath(log, DATA), command=command):
                    found, _, err = run(command[0], log, *command[1:])
                    # llvm-xray's fdr-dump reads no logs of the basic mode.
                    no_form = command == ["dump", "--as", "llvm-xray"] and '"mode":"basic"' in run("info", log, "--format", "json")[1]
                    self.assertEqual(found, 1 if no_form else code)
                    if code == 1:
                        self.assertIn(log + ":", err)
        self.assertGreater(len(damaged), 10)

    def test_graph_offers_no_form_that_it_has_not_got(self):
        self.assertNotIn("llvm-xray", run("graph", "--help")[1])
        self.assertIn("llvm-xray", run("report", "--help")[1])
        self.assertEqual(run("graph", os.path.join(DATA, "xray/c19/fdr-threads.xray"), "--as", "llvm-xray")[0], 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
