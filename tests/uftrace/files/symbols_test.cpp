// SPDX-License-Identifier: Apache-2.0
#include <backsight/uftrace/files/symbols.hpp>

#include <string>
#include <string_view>

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;
using test::view_of;

namespace {

/// `10+8 T first, 20+10 P third` in hexadecimal.
std::string text_of(const symbol_table& table) {
  std::string text;
  for (const symbol& s : table.symbols()) {
    if (!text.empty()) text += ", ";
    (void)text::hexadecimal(std::back_inserter(text), s.address);
    text += '+';
    (void)text::hexadecimal(std::back_inserter(text), s.size);
    text += std::string(" ") + s.type + ' ' + std::string(s.name);
  }
  return text;
}
std::string read(std::string_view text) { return text_of(read_symbols(view_of(text))); }

}  // namespace

TEST_CASE("a symbol covers the addresses from its own up to its size") {
  const symbol_table table = read_symbols(view_of("10 8 T a\n18 8 T b\n30 0 T empty\n40 1 T one\n"));
  const std::size_t none = symbol_table::none;
  for (const auto& [address, index] : {std::pair<std::uint64_t, std::size_t>{0xf, none},
                                       {0x10, 0},
                                       {0x17, 0},
                                       {0x18, 1},
                                       {0x1f, 1},
                                       {0x20, none},
                                       {0x2f, none},
                                       {0x40, 3},
                                       {0x41, none},
                                       {~std::uint64_t{0}, none},
                                       {0, none}}) {
    CAPTURE(address);
    CHECK(table.find(address) == index);
  }
  CHECK(symbol_table().find(0) == none);
  // A symbol without a size gets what lies before the next line.
  CHECK(table.find(0x30) == 2);
  CHECK(table.find(0x3f) == 2);
}

TEST_CASE("of symbols of one address and kind the first is kept, of two kinds both") {
  CHECK(read("10 8 T first\n10 4 T second\n10 4 P third\n") == "10+8 T first, 10+4 P third");
  CHECK(read("10 8 T first\n10 4 t second\n10 4 T third\n") == "10+8 T first, 10+4 t second, 10+4 T third");
  CHECK(read("10 8 T first\n18 8 T second\n10 8 T third\n") == "10+8 T first, 10+8 T third, 18+8 T second");
}

TEST_CASE("sizes that are told stay, others reach up to the next line") {
  CHECK(read("10 T a\n20 T b\n") == "10+10 T a, 20+0 T b");
  CHECK(read("10 4 T a\n20 T b\n28 4 T c\n") == "10+4 T a, 20+8 T b, 28+4 T c");
  // Lines that are no symbols give sizes as well, others that come before do not.
  CHECK(read("10 T a\n18 ? end\n") == "10+8 T a");
  CHECK(read("10 T a\n18 X odd\n20 T b\n") == "10+8 T a, 20+0 T b");
  CHECK(read("20 T b\n10 T a\n") == "10+0 T a, 20+0 T b");
  CHECK(read("10 T a\n10 P b\n20 T c\n") == "10+0 T a, 10+10 P b, 20+0 T c");
}

TEST_CASE("end marks and symbols of other kinds are left out") {
  CHECK(read("10 4 T __sym_end\n20 4 T __dynsym_end\n30 4 T __func_end\n40 4 ? x\n50 4 T __sym_end2\n") ==
        "50+4 T __sym_end2");
  std::string all;
  for (const char kind : std::string_view("TtwPKDdvuUaXb")) all += "10 4 " + std::string(1, kind) + " f\n";
  CHECK(read(all) == "10+4 T f, 10+4 t f, 10+4 w f, 10+4 P f, 10+4 K f, 10+4 D f, 10+4 d f, 10+4 v f, 10+4 u f");
}

TEST_CASE("a line that is no symbol is listed with its place and size") {
  const std::string_view text = "# path name: /a\n10 4 T a\nrubbish\n\n20 4\n20 4 T\n20 4 T \nT f\n30 4 Tf\n40 5 T b\n";
  const symbol_table table = read_symbols(view_of(text));
  CHECK(text_of(table) == "10+4 T a, 40+5 T b");
  std::vector<std::string_view> bad;
  for (const fault& f : table.faults()) {
    CHECK(f.code == errc::bad_text);
    bad.push_back(text.substr(f.offset, f.skipped));
  }
  CHECK(bad == std::vector<std::string_view>{"rubbish\n", "20 4\n", "20 4 T\n", "20 4 T \n", "T f\n", "30 4 Tf\n"});
  CHECK(read("10 4 T x\n") == "10+4 T x");  // a name of one character
}

TEST_CASE("names end at a tab, and of names of a system call the general one is kept") {
  CHECK(read("10 t f\t[module]\n20 t g\n") == "10+10 t f, 20+0 t g");
  CHECK(read("10 4 T SyS_read\n10 4 T sys_read\n") == "10+4 T sys_read");
  CHECK(read("10 4 T SyS_read\n10 4 T sys_write\n") == "10+4 T SyS_read");
  CHECK(read("10 4 T __ia32_sys_read\n10 4 T __x64_sys_read\n") == "10+4 T __x64_sys_read");
  CHECK(read("10 4 T __ia32_sys_read\n10 4 T __x64_sys_write\n") == "10+4 T __ia32_sys_read");
  CHECK(read("10 4 T __x64_sys_read\n10 4 T __ia32_sys_read\n") == "10+4 T __x64_sys_read");
}

TEST_CASE("the comments at the start tell path and build-id, later ones do not") {
  const auto identity = [](std::string_view text) { return read_object_identity(view_of(text)); };
  CHECK(identity("# symbols: 3\n# path name: /bin/a b\n# build-id: 1234\n").path == "/bin/a b");
  CHECK(identity("# symbols: 3\n# path name: /bin/a b\n# build-id: 1234\n").build_id == "1234");
  CHECK(identity("10 4 T a\n# path name: /bin/a\n").path.empty());
  CHECK(identity("").build_id.empty());
}

TEST_CASE("symbols that end too early say so: inside a line, or before as many as the file promises") {
  const auto faults = [](std::string_view text) { return read_symbols(view_of(text)).faults(); };
  CHECK(faults("10 4 T a\n20 4 T b").size() == 1);
  CHECK(faults("10 4 T a\n20 4 T b")[0] == fault{errc::truncated, 17, 0});
  CHECK(faults("# symbols: 2\n10 4 T a\n")[0] == fault{errc::truncated, 22, 0});
  CHECK(faults("# symbols: 2\n10 4 T a\n20 4 T b\n").empty());
  CHECK(faults("# symbols: 2\n10 4 T a\n10 4 T b\n").empty());
  CHECK(faults("# symbols: 1\n10 T a\n20 ? __sym_end\n").empty());  // end marks are not counted
}
