# SPDX-License-Identifier: Apache-2.0
"""A test case that skips is neither a pass nor hides a failure. usage: skipping_test.py PROGRAM"""
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)


def run(*names):
    done = subprocess.run([PROGRAM, *names], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    return done.returncode, done.stdout


class Skipping(unittest.TestCase):
    def test_passing(self):
        self.assertEqual(run('[.passes]')[0], 0)

    def test_a_skip_is_told_with_its_reason(self):
        code, text = run('[.skips],[.passes]')
        self.assertEqual(code, 77)
        self.assertIn('skipped: one that cannot run: a reason\n', text)

    def test_a_skip_hides_no_failure(self):
        self.assertEqual(run('[.skips],[.fails]')[0], 1)

    def test_77_failures_are_no_skip(self):
        self.assertEqual(run('[.fails77]')[0], 1)

    def test_nothing_run_is_a_failure(self):
        self.assertEqual(run('no test has this name')[0], 1)


unittest.main()
