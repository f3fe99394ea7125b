# SPDX-License-Identifier: Apache-2.0
"""The parts of mutate.py that find and switch text."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import mutate  # noqa: E402


def mutant(pattern, replacement, form="expr", **more):
    made = mutate.Mutant("core", 1, ["core/x.hpp", form, pattern, replacement, *([""] * 4)])
    for name, value in more.items():
        setattr(made, name, value)
    return made


def found(text, pattern, **more):
    one = mutant(pattern, "r", **more)
    one.find(text)
    return text[one.begin:one.end], one.problem


class Patterns(unittest.TestCase):
    def test_white_space_does_not_matter(self):
        self.assertEqual(found("if (a\n    < b) x;", "a<b"), ("a\n    < b", ""))

    def test_only_the_marked_part_is_replaced(self):
        self.assertEqual(found("f(a); g(a);", "g( %%a%% )"), ("a", ""))

    def test_words_are_whole(self):
        self.assertEqual(found("size_ + size", "size"), ("size", ""))

    def test_none_and_two_are_problems(self):
        self.assertIn("0 times", found("a", "b")[1])
        self.assertIn("2 times", found("a a", "a")[1])

    def test_marks_come_in_pairs(self):
        self.assertIn("%%", found("a", "%%a")[1])
        self.assertIn("%%", found("a", "%%%%a")[1])

    def test_unknown_forms_are_problems(self):
        self.assertIn("none of", mutant("a", "b", form="exp").problem)


class Switches(unittest.TestCase):
    def switched(self, text, *mutants):
        for number, one in enumerate(mutants, 1):
            one.find(text)
            one.number = number
        together, apart = mutate.separate(mutants)
        return mutate.switched(text, together).replace("::backsight_mutation::", ""), apart

    def test_an_expression_and_a_statement(self):
        self.assertEqual(self.switched("if (a < b) c;", mutant("a < b", "true"), mutant("if (a < b) c;", "", form="stmt"))[0],
                         "if (on(0x00000002UL)) {  } else { if ((on(0x00000001UL) ? (true) : (a < b))) c; }")

    def test_two_of_one_expression(self):
        self.assertEqual(self.switched("a < b", mutant("a < b", "x"), mutant("a < b", "y"))[0],
                         "(on(0x00000002UL) ? (y) : ((on(0x00000001UL) ? (x) : (a < b))))")

    def test_those_that_overlap_by_halves_are_built_alone(self):
        text, apart = self.switched("a + b + c", mutant("a + b", "x"), mutant("b + c", "y"))
        self.assertEqual(text, "(on(0x00000001UL) ? (x) : (a + b)) + c")
        self.assertEqual([m.replacement for m in apart], ["y"])


class Output(unittest.TestCase):
    def test_names_of_test_cases(self):
        self.assertEqual(mutate.cases('<TestCase name="a &quot;b&quot; &lt; c" tags="">\n<TestCase name="d">'), ['a "b" < c', "d"])

    def test_tests_that_do_not_exist_are_problems(self):
        one = mutant("a", "b", test="no test has this name at all")
        self.assertEqual(len(mutate.check([one])), 1)


unittest.main()
