# SPDX-License-Identifier: Apache-2.0
"""Runs the commands for memtraces on the small files of tests/data.

    python3 program_test.py PROGRAM DATA
"""
import os
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

    def test_counts_are_the_same_in_every_packing(self):
        tables = {run("counts", "--format", "tsv", data("single", "drmemtrace.single.10508.3099.trace" + end)).stdout for end in ("", ".gz", ".lz4")}
        self.assertEqual(tables, {read(data("expected", "single.plain.per_thread_window.tsv"))})
        with open(data("single", "drmemtrace.single.10508.3099.trace.gz"), "rb") as packed:
            self.assertEqual({run("counts", "--format", "tsv", "-", stdin=packed).stdout}, tables)

    def test_raw_counts_are_the_expected_table(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in os.listdir(data("yield")):
                if name.endswith(".raw"):
                    os.symlink(data("yield", name), os.path.join(folder, name))
            done = run("counts", "--format", "tsv", folder)
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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
