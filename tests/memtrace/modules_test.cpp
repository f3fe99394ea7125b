// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <backsight/memtrace/modules.hpp>

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;

namespace {

const std::string module_text =
    "Module Table: version 5, count 5\n"
    "Columns: id, containing_id, start, end, entry, offset, preferred_base, (custom fields), path\n"
    "  0,   0, 0x0000000000400000, 0x0000000000401000, 0x00000000004016d0, 0000000000000000, 0x0000000000400000, "
    "v#1,0, /bin/program\n"
    "  1,   0, 0x0000000000401000, 0x0000000000479000, 0x00000000004016d0, 0000000000001000, 0x0000000000401000, "
    "v#1,0, /bin/program\n"
    "  2,   2, 0x00007f2222e00000, 0x00007f2222e4f000, 0x0000000000000000, 0000000000000000, 0x0000000071000000, "
    "v#1,0, lib x.so\n"
    "  3,   3, 0x00007f2222dfe000, 0x00007f2222e00000, 0x00007f2222dfe000, 0000000000000000, 0x0000000000000000, "
    "v#1,4,a\nb, [vdso]\n"
    "  4,   2, 0x00007f2222e4f000, 0x00007f2222f3c000, 0x0000000000000000, 000000000004f000, 0x000000007104f000, "
    "v#1,0, lib x.so\n";

}  // namespace

TEST_CASE("an address lies in a module, at an offset from its first segment") {
  const auto read = read_modules(module_text);
  REQUIRE(read);
  CHECK(read->segments().size() == 5);
  const auto program = read->find(0x401016);
  REQUIRE(program);
  CHECK(program->path == "/bin/program");
  CHECK(program->offset == 0x1016);
  CHECK(program->link_address == 0x401016);
  const auto library = read->find(0x7f2222e4f010);
  REQUIRE(library);
  CHECK(library->path == "lib x.so");
  CHECK(library->offset == 0x4f010);
  CHECK(library->link_address == 0x7104f010);
  CHECK_FALSE(read->find(0x3fffff));
  CHECK_FALSE(read->find(0x479000));
  CHECK_FALSE(read->find(~std::uint64_t{0}));
}

TEST_CASE("a custom field holds any bytes") {
  const auto read = read_modules(module_text);
  REQUIRE(read);
  const auto vdso = read->find(0x7f2222dfe123);
  REQUIRE(vdso);
  CHECK(vdso->path == "[vdso]");
  CHECK(vdso->offset == 0x123);
}

TEST_CASE("an older table has fewer columns") {
  const auto read = read_modules(
      "Module Table: version 3, count 1\nColumns: id, containing_id, start, end, entry, path\n"
      "  0,   0, 0x7000, 0x8000, 0x0, /lib/a.so\r\n");
  REQUIRE(read);
  const auto found = read->find(0x7010);
  REQUIRE(found);
  CHECK(found->path == "/lib/a.so");
  CHECK(found->link_address == 0x10);
}

TEST_CASE("what is no module table is told, and a cut or broken one with its place") {
  CHECK(read_modules("").error() == trace_error{errc::bad_magic, 0});
  CHECK(read_modules("Module Table: version 5, count 1\n").error() == trace_error{errc::bad_text, 33});
  std::string broken = module_text;
  const std::size_t line = broken.find("  2,   2");
  broken.replace(line, 3, "  x");
  const auto read = read_modules(broken);
  CHECK(read.error() == trace_error{errc::bad_text, line});
  CHECK(read.partial().segments().size() == 2);
  std::string backwards = module_text;
  backwards.replace(backwards.find("0x0000000000479000"), 18, "0x0000000000000009");
  CHECK(read_modules(backwards).error().code == errc::bad_text);
  for (std::size_t size = 0; size < module_text.size(); ++size) {
    const auto cut = read_modules(std::string_view(module_text).substr(0, size));
    CHECK(cut.partial().segments().size() <= 5);
  }
  CHECK(read_modules(std::string_view(module_text).substr(0, module_text.size() - 1)).error() ==
        trace_error{errc::truncated, module_text.size() - 1});
  // More bytes than there are.
  CHECK(read_modules("Module Table: version 5, count 1\nColumns: id, (custom fields), path\n0, v#1,99999999999999, x\n")
            .error()
            .code == errc::bad_text);
}
