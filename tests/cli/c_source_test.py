# SPDX-License-Identifier: Apache-2.0
"""Checks `backsight cfi emit-c` and `backsight cfi compile` from outside.

    c_source_test.py PROGRAM DATA [CLASS ...]
"""
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, DATA = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
ELF, ARM, DEBUG = "cfi/elf/gcc-O2", "cfi/elf/a64-O2", "cfi/elf/dbgframe-v4"
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-fsyntax-only"]
COMPILERS = [words for words in (["gcc", "-std=c11"], ["clang-19", "-std=c11"], ["clang-16", "-std=c11"], ["g++", "-x", "c++"],
                                 ["clang++-19", "-x", "c++"]) if shutil.which(words[0])]


def run(*words, code=0, environment=None):
    done = subprocess.run([PROGRAM, "cfi", *words], capture_output=True, cwd=DATA, env=environment)
    if done.returncode != code:
        raise AssertionError(f"{words} ends with {done.returncode}: {done.stderr.decode()}")
    return done.stdout.decode(), done.stderr.decode()


class EmitC(unittest.TestCase):
    def test_every_choice_of_options_gives_clean_c_the_same_each_time(self):
        compilers = itertools.cycle(COMPILERS)
        seen = set()
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "unwinder.c")
            for elf, form, registers, deref, names in itertools.product(
                    (ELF, ARM), ("table", "tree", "switch"), ("ra", "all"), ([], ["--deref"]), ([], ["--names"])):
                words = ["emit-c", elf, "--form", form, "--registers", registers, "--prefix", "mine", *deref, *names]
                with self.subTest(words=words):
                    text, err = run(*words)
                    self.assertEqual(err, "")
                    self.assertEqual(run(*words, "-o", source), ("", ""))
                    with open(source, encoding="utf-8") as file:
                        self.assertEqual(file.read(), text)
                    seen.add(text)
                    self.assertEqual("backsight_deref deref" in text, bool(deref))
                    self.assertEqual("/* main: " in text, bool(names))
                    self.assertEqual(set(re.findall(r"#include.*", text)), {"#include <stdint.h>"})
                    self.assertIn("int mine_step(struct backsight_context *c, uint64_t bias", text)
                    if COMPILERS:
                        subprocess.run([*next(compilers), *STRICT, source], check=True)
        # Where callees save nothing that the choice of registers decides, two texts are the same.
        self.assertGreaterEqual(len(seen), 24)

    def test_the_runtime_header_is_clean(self):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "program.c")
            run("emit-c", ELF, "--runtime", "-o", os.path.join(folder, "runtime.h"))
            with open(source, "w", encoding="utf-8") as file:
                file.write('#include "runtime.h"\n#include "runtime.h"\n')
            for compiler in COMPILERS:
                subprocess.run([*compiler, *STRICT, source], check=True)

    def test_a_section_is_chosen(self):
        texts = {run("emit-c", DEBUG, *words)[0] for words in (["--section", ".debug_frame"], ["--section", ".eh_frame"], [])}
        self.assertEqual(len(texts), 3)
        self.assertTrue(run("emit-c", ELF, "--section", ".debug_frame", code=1)[1].startswith(ELF + ":0: "))

    def test_wrong_usage_and_bad_input_have_their_exit_codes(self):
        for words in (["emit-c"], ["emit-c", ELF, "--form", "list"], ["emit-c", ELF, "--prefix", "1a"], ["emit-c", ELF, "--registers", "few"],
                      ["compile", ELF]):
            with self.subTest(words=words):
                self.assertEqual(run(*words, code=2)[0], "")
        for path in ("/dev/null", "/nonexistent", "png/squares.png"):
            self.assertTrue(run("emit-c", path, code=1)[1].startswith(path + ":"))


class Compile(unittest.TestCase):
    @unittest.skipUnless(shutil.which("cc") or shutil.which("gcc") or shutil.which("clang"), "no C compiler")
    def test_objects_are_made_once_and_again_when_the_text_differs(self):
        with tempfile.TemporaryDirectory() as folder:
            def compile_all(*words, code=0):
                out, err = run("compile", *words, "-o", folder, code=code)
                return {line.split("\t")[1]: line.split("\t")[::2] for line in out.splitlines()}, err

            first, _ = compile_all(ELF, DEBUG)
            self.assertEqual({path: state for path, (_, state) in first.items()}, {ELF: "compiled", DEBUG: "compiled"})
            for made, _ in first.values():
                self.assertTrue(os.path.exists(made))
            self.assertRegex(os.path.basename(first[ELF][0]), r"^([0-9a-f]{40}|text-[0-9a-f]{16})\.so$")
            again, _ = compile_all(ELF, DEBUG, "--jobs", "1")
            self.assertEqual({state for _, state in again.values()}, {"cached"})
            tree, _ = compile_all(ELF, "--form", "tree")
            self.assertEqual(tree[ELF][1], "compiled")
            # One that cannot be read does not keep the others from being made.
            mixed, err = compile_all("/nonexistent", ELF, "--form", "tree", code=1)
            self.assertEqual(mixed[ELF][1], "cached")
            self.assertTrue(err.startswith("/nonexistent:"))
            self.assertEqual([name for name in os.listdir(folder) if not name.endswith((".c", ".so"))], [])

    def test_a_compiler_that_fails_is_an_error_and_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            for compiler in ("false", "/nonexistent"):
                out, err = run("compile", ELF, "-o", folder, code=1, environment={**os.environ, "CC": compiler})
                self.assertEqual(out, "")
                self.assertIn("cannot compile", err)
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
