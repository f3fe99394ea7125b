# SPDX-License-Identifier: Apache-2.0
"""The rules of check_headers.py find what they are there for."""
import os
import tempfile
import unittest

import check_headers

HEAD = "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n"


def problems(header, *includes):
    text = HEAD + "".join(f"#include {name}\n" for name in includes)
    return check_headers.problems_of_header(header, header.split("/")[0], text)


class Layers(unittest.TestCase):
    def test_a_right_arrow_passes(self):
        self.assertEqual(problems("xray/records.hpp", "<array>", "<backsight/core/record.hpp>", "<backsight/xray/schema.hpp>"), [])
        self.assertEqual(problems("cfi/table.hpp", "<backsight/elf/sections.hpp>", "<backsight/dwarf/constants.hpp>"), [])
        self.assertEqual(problems("xray/instr_map.hpp", "<backsight/elf/sections.hpp>"), [])
        self.assertEqual(problems("cfi/in_process.hpp", "<link.h>"), [])
        self.assertEqual(problems("analysis/call_graph.hpp", "<string>", "<memory>"), [])
        self.assertEqual(problems("uftrace/resolver.hpp", "<string>"), [])

    def test_a_wrong_arrow_is_found(self):
        for header, name in (("core/record.hpp", "xray/schema.hpp"), ("xray/records.hpp", "uftrace/schema.hpp"),
                             ("xray/records.hpp", "elf/sections.hpp"), ("elf/sections.hpp", "io/inflate.hpp"),
                             ("analysis/call_stack.hpp", "xray/xray.hpp"), ("analysis/call_stack.hpp", "emit/folded.hpp"),
                             ("cfi/table.hpp", "xray/xray.hpp"), ("core/record.hpp", "backsight.hpp")):
            self.assertEqual(len(problems(header, f"<backsight/{name}>")), 1, (header, name))

    def test_a_folder_of_no_layer_is_found(self):
        self.assertEqual(len(problems("new/record.hpp", "<backsight/core/record.hpp>")), 1)

    def test_costly_and_foreign_headers_are_found(self):
        for name in ("<memory>", "<string>", "<boost/endian.hpp>", "<unistd.h>", "<sys/mman.h>", '"schema.hpp"'):
            self.assertNotEqual(problems("xray/records.hpp", name), [], name)
        self.assertNotEqual(problems("uftrace/records.hpp", "<string>"), [])

    def test_an_include_under_a_condition_is_found(self):
        text = HEAD + "#ifdef X\n#include <array>\n#endif\n"
        self.assertEqual(len(check_headers.problems_of_header("core/record.hpp", "core", text)), 1)

    def test_a_missing_guard_or_licence_is_found(self):
        self.assertEqual(len(check_headers.problems_of_header("core/record.hpp", "core", "#include <array>\n")), 2)

    def test_lines_that_are_directives_with_modules_are_found(self):
        for line in ("module m;", "  module m;", "module = find(x);", "import(a);", "export module x;"):
            self.assertEqual(len(check_headers.directives_of("a.hpp", f"int x;\n{line}\n")), 1, line)
        for line in ("const module m;", "modules.clear();", "object.module = 1;", "// module m;"):
            self.assertEqual(check_headers.directives_of("a.hpp", f"int x;\n{line}\n"), [], line)


class Tested(unittest.TestCase):
    def problems(self, **files):
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = os.path.join(root, *name.replace("_HPP", ".hpp").replace("_CPP", ".cpp").replace("_PY", ".py").split("__"))
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            return check_headers.check_tested(root)

    def test_a_header_has_a_test_of_its_name_or_one_that_stands_for_it(self):
        base = {"include__backsight__core__a_HPP": "", "include__backsight__core__b_HPP": "#include <backsight/core/c.hpp>\n",
                "include__backsight__core__c_HPP": "", "include__backsight__core__core_HPP": "",
                "tests__core__a_test_CPP": "#include <backsight/core/a.hpp>\n"}
        self.assertEqual(len(self.problems(**base)), 2)
        helped = {**base, "tests__core__d_test_CPP": '// Stands for core/b.hpp, core/c.hpp\n#include "d.hpp"\n',
                  "tests__core__d_HPP": "#include <backsight/core/b.hpp>\n"}
        self.assertEqual(self.problems(**helped), [])
        # Of what it does not include, what is not there, and what has a test of its own.
        for line in ("core/b.hpp, core/c.hpp", "core/a.hpp", "core/z.hpp"):
            text = f"// Stands for {line}\n" + "#include <backsight/core/a.hpp>\n#include <backsight/core/b.hpp>\n" * (line == "core/a.hpp")
            self.assertNotEqual(self.problems(**helped, tests__core__e_test_CPP=text), [], line)
        self.assertEqual(self.problems(**base, tests__cli__x_test_PY="# Stands for core/b.hpp, core/c.hpp\n"), [])


if __name__ == "__main__":
    unittest.main()
