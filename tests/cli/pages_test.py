# SPDX-License-Identifier: Apache-2.0
"""The manual page, the completions of shells, --version, -q and -v, from outside.

    pages_test.py PROGRAM DATA
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, DATA = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
LOG = "xray/c19/fdr-threads.xray"
UNFINISHED = "xray/syn/syn-fdr-tail-and-missing-exits.xray"
CUT = "xray/c19/cut-fdr-threads-61.xray"


def run(*words, code=0, **more):
    done = subprocess.run(words, capture_output=True, cwd=DATA, text=True, **more)
    if done.returncode != code:
        raise AssertionError(f"{words} ends with {done.returncode}: {done.stderr}")
    return done.stdout, done.stderr


def page(kind):
    return run(PROGRAM, "pages", kind)[0]


def listed(text, heading):
    """The first words of the indented lines below a heading of the help."""
    found = []
    for line in text[text.index(heading):].splitlines()[1:]:
        if not line.startswith("  "):
            break
        if line[2] != " ":
            found.append(line.split()[0])
    return found


def commands():
    text = run(PROGRAM, "--help")[0]
    top = listed(text, "Traces:") + listed(text, "Subcommands:")
    below = ["cfi " + name for name in listed(run(PROGRAM, "cfi", "--help")[0], "Subcommands:")]
    return [name for name in top if name != "cfi"] + below


def options(command):
    names = set()
    for line in run(PROGRAM, *command.split(), "--help")[0].splitlines():
        if line.startswith("  -"):
            names.update(line.split()[0].split(","))
    return names


class Manual(unittest.TestCase):
    def shown(self):
        """As a terminal has it, without what makes it bold."""
        text = run("man", "--warnings", "-l", "-", input=page("man"), env={**os.environ, "MANWIDTH": "400", "LC_ALL": "C"})[0]
        return re.sub(".\x08|\x1b\\[[0-9;]*m", "", text)

    @unittest.skipIf(shutil.which("man") is None or shutil.which("groff") is None, "man or groff is not installed")
    def test_man_shows_it_without_a_warning_and_with_every_command_and_option(self):
        out, err = run("man", "--warnings", "-l", "-", input=page("man"), env={**os.environ, "LC_ALL": "C.UTF-8"})
        self.assertEqual(err, "")
        text = self.shown()
        for command in commands():
            self.assertIn(f"backsight {command}", text)
            start = text.index(f"\n       backsight {command} ")
            end = text.find("\n       backsight ", start + 10)
            for option in options(command):
                self.assertIn(option, text[start:end], command)

    @unittest.skipIf(shutil.which("mandoc") is None, "mandoc is not installed")
    def test_mandoc_finds_nothing(self):
        out, err = run("mandoc", "-T", "lint", "-W", "warning", input=page("man"))
        self.assertEqual([line for line in (out + err).splitlines() if "date" not in line and "referenced manual" not in line], [])


class Completions(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, kind):
        path = os.path.join(self.folder, kind)
        run(PROGRAM, "pages", kind, "--output", path)
        return path

    def complete(self, *words):
        """What bash offers behind these words, the last of which is begun."""
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                  '$(complete -p backsight | sed "s/.*-F \\([^ ]*\\).*/\\1/"); printf "%s\\n" "${COMPREPLY[@]}"')
        return set(run("bash", "-c", script, "-", self.write("bash"), "backsight", *words)[0].split())

    def test_bash_takes_it(self):
        run("bash", "-n", self.write("bash"))

    def test_bash_offers_commands_options_and_values(self):
        offered = self.complete("")
        self.assertEqual(offered, {name.split()[0] for name in commands()})
        self.assertEqual(self.complete("re"), {"report", "replay", "reuse"})
        self.assertEqual({"cfi " + name for name in self.complete("cfi", "")}, {name for name in commands() if name.startswith("cfi ")})
        self.assertEqual(self.complete("report", "--format", ""), {"text", "csv", "tsv", "json"})
        self.assertEqual(self.complete("report", "trace", "--format", "j"), {"json"})
        self.assertEqual(self.complete("export", "--to", "=", "fo"), {"folded"})
        self.assertEqual(self.complete("export", "--to", "="), {"folded", "chrome", "perfetto", "dot", "yaml"})
        self.assertEqual(self.complete("cfi", "table", "--profile", ""), {"callee-saved", "all"})
        self.assertIn("p99", self.complete("report", "-s", ""))

    def test_bash_offers_every_option_of_every_command(self):
        for command in commands():
            with self.subTest(command=command):
                self.assertEqual(self.complete(*command.split(), "-"), options(command))

    def test_a_value_called_like_a_command_is_no_command(self):
        self.assertIn("--by", self.complete("report", "stacks", "--"))

    def check_syntax(self, shell):
        if shutil.which(shell) is None:
            self.skipTest(shell + " is not installed")
        run(shell, "-n", self.write(shell))

    def test_zsh_takes_it(self):
        self.check_syntax("zsh")

    def test_fish_takes_it(self):
        self.check_syntax("fish")

    @unittest.skipIf(shutil.which("fish") is None, "fish is not installed")
    def test_fish_offers_commands_and_values(self):
        script = "source $argv[1]; complete -C $argv[2]"
        def offered(line):
            return {one.split("\t")[0] for one in run("fish", "-c", script, self.write("fish"), line)[0].splitlines()}
        self.assertLessEqual({name.split()[0] for name in commands()}, offered("backsight "))
        self.assertEqual(offered("backsight report --format "), {"text", "csv", "tsv", "json"})
        self.assertIn("rows", offered("backsight cfi "))


class Help(unittest.TestCase):
    def test_help_is_what_the_option_prints(self):
        self.assertEqual(run(PROGRAM, "help"), run(PROGRAM, "--help"))
        for command in commands():
            with self.subTest(command=command):
                self.assertEqual(run(PROGRAM, "help", *command.split()), run(PROGRAM, *command.split(), "--help"))

    def test_help_of_no_command_is_refused(self):
        self.assertEqual(run(PROGRAM, "help", "reprot", code=2), ("", "backsight: there is no command reprot; do you mean report?\n"))
        self.assertEqual(run(PROGRAM, "help", "report", "it", code=2)[0], "")


class Messages(unittest.TestCase):
    def test_the_version_tells_what_was_built_in(self):
        lines = run(PROGRAM, "--version")[0].splitlines()
        self.assertRegex(lines[0], r"^backsight \d+\.\d+\.\d+$")
        told = {line[:12].strip(): line[14:].split(", ") for line in lines[1:]}
        for name in ("XRay", "uftrace", "memtrace", "perf.data"):
            self.assertIn(name, told["formats"])
        self.assertEqual({"uftrace", "llvm-xray", "drmemtrace"} - set(told["prints as"]), set())
        packings = {"zlib", "lz4", "snappy", "zip", "zstd", "lzma"}
        self.assertEqual(packings - set(told["packings"]) - set(told["not built in"]), set())
        self.assertEqual(set(told["packings"]) & set(told["not built in"]) - {"none"}, set())

    def test_quiet_leaves_notes_out_and_errors_in(self):
        plain = run(PROGRAM, "report", UNFINISHED)
        self.assertIn("calls without exit", plain[1])
        self.assertEqual(run(PROGRAM, "report", "-q", UNFINISHED), (plain[0], ""))
        self.assertEqual(run(PROGRAM, "info", "--quiet", CUT, code=1), run(PROGRAM, "info", CUT, code=1))

    def test_verbose_tells_the_format_the_time_and_the_memory(self):
        plain = run(PROGRAM, "report", LOG)
        told = run(PROGRAM, "report", "-v", LOG)
        self.assertEqual(told[0], plain[0])
        self.assertIn(f"{LOG}: an XRay log\n", told[1])
        self.assertRegex(told[1], r"\d s, [\d.]+ MB of memory at most\n")
        self.assertNotIn("MB of memory", plain[1])
        run(PROGRAM, "report", "-v", "-q", LOG, code=2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
