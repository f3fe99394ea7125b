# SPDX-License-Identifier: Apache-2.0
"""The script that fills pages finds what is out of date or typed by hand, and the README's commands are as CI calls them."""
import os
import re
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "docs"))
import update  # noqa: E402


class Update(unittest.TestCase):
    def test_an_example_comes_from_between_its_marks(self):
        page = "<!-- begin example examples/own_format.cpp format -->\nold\n<!-- end -->\n"
        new = update.filled(page, "")
        self.assertIn("```cpp\nstruct png_format {\n", new)
        self.assertNotIn("old", new)
        self.assertNotIn("// [format]", new)
        self.assertEqual(update.filled(new, ""), new)

    def test_an_unknown_mark_or_name_is_an_error(self):
        for mark in ("sketch x y", "example examples/own_format.cpp nothing"):
            with self.assertRaises(ValueError):
                update.filled(f"<!-- begin {mark} -->\n<!-- end -->\n", "")

    def test_what_needs_a_missing_program_stays(self):
        page = "<!-- begin tables xray -->\nold\n<!-- end -->\n"
        self.assertEqual(update.filled(page, "/nowhere"), page)

    def test_typed_code_is_found_and_shell_commands_are_not(self):
        self.assertEqual(len(update.typed_code("```cpp\nint x;\n```\n")), 1)
        self.assertEqual(len(update.typed_code("```\nint x;\n```\n")), 1)
        self.assertEqual(update.typed_code("```sh\nls\n```\n"), [])
        self.assertEqual(update.typed_code("<!-- begin example a b -->\n```cpp\nint x;\n```\n<!-- end -->\n"), [])


    def test_headings_are_found_by_what_links_call_them(self):
        page = "# XRay's logs, and `dump`\n## perf.data\n```sh\n# no heading\n```\n"
        self.assertEqual(update.headings(page), {"xrays-logs-and-dump", "perfdata"})


class Readme(unittest.TestCase):
    def test_the_two_commands_are_one_line_each_and_install_what_they_need(self):
        commands = re.findall(r"^```sh\n(.*?)^```$", update.read("README.md"), re.DOTALL | re.MULTILINE)[:2]
        for command, workflow in zip(commands, ("examples/demo.sh", "cmake --workflow --preset test"), strict=True):
            self.assertEqual(command.count("\n"), 1)
            self.assertTrue(command.startswith("apt-get update && "), command)
            self.assertIn("install -y", command)
            self.assertTrue(command.rstrip().endswith(workflow), command)

    def test_the_code_example_is_short(self):
        code = re.search(r"^```cpp\n(.*?)^```$", update.read("README.md"), re.DOTALL | re.MULTILINE).group(1)
        self.assertLessEqual(code.count("\n"), 18)


class Commands(unittest.TestCase):
    # What these write is no text; pages that program.md links have them.
    WRITES_FILES = {"split", "merge", "cfi table", "cfi emit-c", "cfi compile"}

    def test_the_page_of_the_program_shows_every_command(self):
        page = update.read("docs/program.md")
        shown = re.findall(r"^<!-- begin run backsight (.+?) -->$", page + update.read("docs/unwinding.md"), re.MULTILINE)
        listed = re.findall(r"^## (.+)$", update.read("docs/commands.md"), re.MULTILINE)
        self.assertIn("report", listed)
        for command in listed:
            with self.subTest(command):
                if command in self.WRITES_FILES:
                    self.assertRegex(page, f"`{command}[ `]")
                else:
                    self.assertTrue(any(line.startswith(command + " ") for line in shown))


class Examples(unittest.TestCase):
    def test_an_example_has_fewer_than_130_lines(self):
        folder = os.path.join(ROOT, "examples")
        for name in os.listdir(folder):
            # The cookbook is many small ones.
            if name.endswith(".cpp") and name != "cookbook.cpp":
                with self.subTest(name):
                    self.assertLess(update.read(f"examples/{name}").count("\n"), 130)


if __name__ == "__main__":
    unittest.main()
