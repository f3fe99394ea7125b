// SPDX-License-Identifier: Apache-2.0
// Stands for uftrace/detail/loaded_libraries.hpp, uftrace/object_rule.hpp
#include <backsight/uftrace/resolver.hpp>

#include <string>
#include <string_view>

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;
namespace fn = test::fn;
using records = test::uftrace_records;

namespace {

std::string name_at(resolver& names, std::uint64_t time, std::uint64_t address, std::uint32_t index = 0) {
  return names.name(names.find(index, time, address).name);
}

/// A program and libraries that dlopen loads; `lines` are those of task.txt behind the first two.
test::uftrace_builder with_libraries(std::string_view lines) {
  test::uftrace_builder directory;
  directory.tasks += lines;
  directory.file("one.so.sym", std::string_view("0 10 T one\n100 10 T one_far\n"))
      .file("two.so.sym", std::string_view("0 10 T two\n"));
  directory.file("odd.so.sym", std::string_view("0 8 T odd\n")).data(7, records());
  return directory;
}

}  // namespace

TEST_CASE("an address is that of the symbol that covers it in the mapping that has it") {
  test::uftrace_builder directory;
  directory.map += "600000-601000 r-xp 00000000 00:00 0 /lib/x.so\n";
  directory.file("x.so.sym", std::string_view("0 10 T first\nff0 20 T last\n")).data(7, records());
  const recording from = directory.open();
  resolver names(from);
  CHECK(name_at(names, 10, fn::main) == "main");
  CHECK(name_at(names, 10, fn::a - 1) == "main");
  CHECK(name_at(names, 10, fn::a) == "a");
  CHECK(name_at(names, 10, fn::main - 1) == "<400fff>");
  CHECK(name_at(names, 10, 0x3fffff) == "<3fffff>");
  CHECK(name_at(names, 10, 0x600000) == "first");
  CHECK(name_at(names, 10, 0x600fff) == "last");
  CHECK(name_at(names, 10, 0x601000) == "<601000>");
  CHECK(name_at(names, 10, 0) == "<0>");
  CHECK(names.find(0, 10, fn::a).known);
  CHECK_FALSE(names.find(0, 10, 0x601000).known);
  CHECK(&names.find(0, 10, fn::a) == &names.find(0, 11, fn::a + 3));
  CHECK(&names.find(0, 10, 0x601000) == &names.find(0, 11, 0x601000));
  CHECK(name_at(names, 1, fn::main) == "<401000>");  // the task begins at 2
  CHECK(names.find_in_session(0, 10, fn::b).name == names.find(0, 10, fn::b).name);
  CHECK(names.name(names.find_in_session(resolver::no_session, 10, fn::b).name) == "<401020>");
  CHECK(names.name(names.find_in_session(1, 10, fn::b).name) == "<401020>");
}

TEST_CASE("addresses beyond 48 bits are told apart from those below") {
  test::uftrace_builder directory;
  directory.data(7, records());
  const recording from = directory.open();
  resolver names(from);
  CHECK(name_at(names, 10, fn::main) == "main");
  CHECK(name_at(names, 10, fn::main | std::uint64_t{1} << 48) == "<1000000401000>");
  CHECK(name_at(names, 10, fn::main) == "main");
}

TEST_CASE("a newer library without a symbol at an address does not hide an older one that has one") {
  auto directory = with_libraries(
      "DLOP timestamp=0.000000100 tid=7 sid=0123456789abcdef base=700040 libname=\"two.so\"\n"
      "DLOP timestamp=0.000000200 tid=7 sid=0123456789abcdef base=700000 libname=\"one.so\"\n");
  const recording from = directory.open();
  resolver names(from);
  CHECK(name_at(names, 300, 0x700045) == "two");
  CHECK(names.candidates(0, 300, 0x700045) == 1);
  CHECK(name_at(names, 300, 0x700060) == "<700060>");
  CHECK(names.candidates(0, 300, 0x700060) == 0);
}

TEST_CASE("of loaded libraries that cover an address the newest one is taken") {
  auto directory = with_libraries(
      "DLOP timestamp=0.000000100 tid=7 sid=0123456789abcdef base=700000 libname=\"one.so\"\n"
      "DLOP timestamp=0.000000200 tid=7 sid=0123456789abcdef base=700000 libname=\"two.so\"\n"
      "DLOP timestamp=0.000000300 tid=7 sid=0123456789abcdef base=700000 libname=\"odd.so\"\n"
      "DLOP timestamp=0.000000300 tid=7 sid=0123456789abcdef base=800000 libname=\"one.so\"\n");
  const recording from = directory.open();
  resolver names(from);
  CHECK(name_at(names, 99, 0x700000) == "<700000>");
  CHECK(name_at(names, 100, 0x700000) == "one");
  CHECK(name_at(names, 199, 0x70000f) == "one");
  CHECK(name_at(names, 200, 0x700000) == "two");
  CHECK(name_at(names, 300, 0x700007) == "odd");
  CHECK(name_at(names, 300, 0x700008) == "two");  // the newest that has a symbol there
  CHECK(name_at(names, 300, 0x700100) == "one_far");
  CHECK(name_at(names, 300, 0x6fffff) == "<6fffff>");
  CHECK(name_at(names, 300, 0x800000) == "one");
  CHECK(name_at(names, 299, 0x800000) == "<800000>");
  CHECK_FALSE(names.is_lasting(0, 300));
  CHECK(names.candidates(0, 99, 0x700000) == 0);
  CHECK(names.candidates(0, 100, 0x700000) == 1);
  CHECK(names.candidates(0, 200, 0x700000) == 2);
  CHECK(names.candidates(0, 300, 0x700007) == 3);
  CHECK(names.candidates(0, 300, 0x700008) == 2);
  CHECK(names.candidates(0, 300, 0x700100) == 1);
  CHECK(names.candidates(0, 300, fn::main) == 1);
  CHECK(names.candidates(0, 1, fn::main) == 0);
}

TEST_CASE("of libraries that were loaded at one time the later one in the file is the newest") {
  auto directory = with_libraries(
      "DLOP timestamp=0.000000100 tid=7 sid=0123456789abcdef base=700000 libname=\"one.so\"\n"
      "DLOP timestamp=0.000000100 tid=7 sid=0123456789abcdef base=700000 libname=\"two.so\"\n"
      "DLOP timestamp=0.000000050 tid=7 sid=0123456789abcdef base=700000 libname=\"odd.so\"\n");
  const recording from = directory.open();
  resolver names(from);
  CHECK(name_at(names, 100, 0x700000) == "two");
  CHECK(name_at(names, 50, 0x700000) == "odd");
}

TEST_CASE("names follow the sessions of a task from the time on when they begin") {
  test::uftrace_builder directory;
  directory.tasks +=
      "SESS timestamp=0.000000200 pid=7 sid=ffffffffffffffff exename=\"/bin/other\"\nTASK timestamp=0.000000210 tid=7 "
      "pid=7\n"
      "FORK timestamp=0.000000300 pid=8 ppid=7\nFORK timestamp=0.000000320 pid=9 ppid=8\n";
  directory.file("sid-ffffffffffffffff.map", std::string_view("400000-500000 r-xp 0 0 0 /bin/other\n"));
  directory.file("other.sym", std::string_view("1000 10 T other_main\n"));
  directory.data(7, records()).data(8, records()).data(9, records());
  const recording from = directory.open();
  resolver names(from);
  for (const bool again : {false, true}) {
    CAPTURE(again);
    CHECK(name_at(names, 209, fn::main) == "main");
    CHECK(name_at(names, 210, fn::main) == "other_main");
    CHECK(name_at(names, 2, fn::main) == "main");
    CHECK(name_at(names, 1, fn::main) == "<401000>");
    CHECK(name_at(names, 300, fn::main, 1) == "other_main");
    CHECK(name_at(names, 209, fn::main, 1) == "main");  // before the fork the parent's
    CHECK(name_at(names, 210, fn::main, 2) == "other_main");
    CHECK(name_at(names, 209, fn::main, 2) == "main");
    CHECK(name_at(names, 500, fn::main, 2) == "other_main");
  }
  CHECK(names.session_of(0, 209) == 0);
  CHECK(names.session_of(0, 210) == 1);
  CHECK(names.session_of(0, 1) == resolver::no_session);
  CHECK(names.is_lasting(0, 209));
  CHECK(names.is_lasting(0, 1));
}

TEST_CASE("equal names have one number") {
  test::uftrace_builder directory;
  directory.symbols += "0000000000002000 00000010 T main\n";
  directory.data(7, records());
  const recording from = directory.open();
  resolver names(from);
  CHECK(names.find(0, 10, fn::main).name == names.find(0, 10, 0x402000).name);
  CHECK(&names.find(0, 10, fn::main) != &names.find(0, 10, 0x402000));
  const std::uint32_t count = names.name_count();
  CHECK(names.intern("main") == names.find(0, 10, fn::main).name);
  CHECK(names.name_count() == count);
  CHECK(names.intern("new") == count);
  CHECK(names.name(count) == "new");
}

TEST_CASE("functions that move the stack are known by their exact names, but not those of the kernel") {
  using enum special_function;
  for (const char* const name : {"execl", "execlp", "execle", "execv", "execve", "execvp", "execvpe"})
    CHECK(special_function_of(name) == exec);
  for (const char* const name : {"setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp"})
    CHECK(special_function_of(name) == setjmp);
  for (const char* const name : {"longjmp", "siglongjmp", "__longjmp_chk"}) CHECK(special_function_of(name) == longjmp);
  for (const char* const name : {"fork", "vfork", "daemon", "posix.fork"}) CHECK(special_function_of(name) == fork);
  for (const char* const name : {"forks", "afork", "", "exec", "main"}) CHECK(special_function_of(name) == none);
  test::uftrace_builder directory;
  directory.data(7, records())
      .kernel(test::uftrace_kernel_records().entry(100, 7, 0, test::uftrace_kernel_records::k0));
  auto files = directory.files();
  const std::string_view symbols = "ffff800000001000 T fork\nffff800000001010 T end\n";
  for (directory_file& file : files) {
    if (file.name == "kallsyms") file.bytes = test::view_of(symbols);
  }
  const auto from = uftrace::open(files);
  REQUIRE(from);
  resolver names(*from);
  CHECK(names.find(0, 10, fn::fork).special == fork);
  CHECK(name_at(names, 10, test::uftrace_kernel_records::k0) == "fork");
  CHECK(names.find(0, 10, test::uftrace_kernel_records::k0).special == none);
}

TEST_CASE("the kernel's addresses begin at a border") {
  test::uftrace_builder directory;
  directory.data(7, records())
      .kernel(test::uftrace_kernel_records().entry(100, 7, 0, test::uftrace_kernel_records::k0));
  const recording from = directory.open();
  resolver names(from);
  constexpr std::uint64_t base = test::uftrace_kernel_records::base;
  CHECK(names.is_kernel(0, base));
  CHECK(names.is_kernel(0, ~std::uint64_t{0}));
  CHECK_FALSE(names.is_kernel(0, base - 1));
  CHECK(names.is_kernel(7, base));  // without a session that of the first one
  CHECK(name_at(names, 100, base + 0x1010) == "k1");
  CHECK(name_at(names, 100, base) == "<ffff800000000000>");
  test::uftrace_builder plain;
  plain.data(7, records());
  const recording without = plain.open();
  CHECK_FALSE(resolver(without).is_kernel(0, base));
}

TEST_CASE("the values of a function are those of its specifications, by the kind of pattern") {
  const auto values_of = [](std::string_view lines, std::uint64_t address, std::string_view pattern_type = "",
                            bool is_return = false) {
    test::uftrace_builder directory;
    directory.with(feature::argument).with(feature::debug_info).data(7, records());
    directory.info_lines.emplace_back(10U, std::string("argspec:lines=9\n") + std::string(lines));
    if (!pattern_type.empty())
      directory.info_lines.emplace_back(12U, "pattern_type:" + std::string(pattern_type) + "\n");
    directory.file("prog.dbg", std::string_view("F: 1020 b\nA: @arg1/c\nR: @retval/c\n"));
    const recording from = directory.open();
    resolver names(from);
    std::string text;
    for (const value_spec& v : names.values(names.find(0, 10, address), is_return))
      text += std::to_string(v.index) + static_cast<char>(v.format) + ' ';
    return text;
  };
  CHECK(values_of("argspec:a@arg1/i,arg2/s\n", fn::a) == "1i 2s ");
  CHECK(values_of("argspec:a@arg1/i\n", fn::main) == "");
  CHECK(values_of("argspec:a@arg1/i\nargspec:a@arg2/x;a@arg1/u\n", fn::a) == "1u 2x ");
  CHECK(values_of("argspec:ma*@arg1/i\n", fn::main, "glob") == "1i ");
  CHECK(values_of("argspec:ma*@arg1/i\n", fn::main, "simple") == "");
  CHECK(values_of("argspec:ma*@arg1/i\n", fn::main, "regex") == "");  // without an engine
  CHECK(values_of("argspec:*a*@arg1/x;main@arg1/i\nargspec:m*@arg1/u\n", fn::main, "glob") == "1i ");
  CHECK(values_of("retspec:a@retval/s\n", fn::a, "", true) == "0s ");
  CHECK(values_of("retspec:a@retval/s\n", fn::a) == "");
  // Automatic ones only where there are none by hand: from the .dbg file, else by exact name.
  CHECK(values_of("argauto:a@arg1/p\n", fn::a) == "");
  CHECK(values_of("argauto:a@arg1/p;b@arg1/p\nauto-args:1\n", fn::a) == "1p ");
  CHECK(values_of("argauto:a@arg1/p;b@arg1/p\nauto-args:1\n", fn::b) == "1c ");
  CHECK(values_of("argspec:b@arg2/u\nargauto:b@arg1/p\nauto-args:1\n", fn::b) == "2u ");
  CHECK(values_of("retauto:b@retval/p\nauto-args:1\n", fn::b, "", true) == "0c ");
  CHECK(values_of("argauto:a@arg1/p;a@arg1/u\nauto-args:1\n", fn::a) == "1u ");
}

TEST_CASE("an enumeration of the object file comes before an automatic one") {
  test::uftrace_builder directory;
  directory.with(feature::argument).data(7, records());
  directory.info_lines = {{10, "argspec:lines=1\nenumauto:enum both {AUTO};enum only {O}\n"}};
  directory.file("prog.dbg", std::string_view("E: enum both {OWN}\nF: 1000 main\n"));
  const recording from = directory.open();
  resolver names(from);
  const function& known = names.find(0, 10, fn::main);
  const function& unknown = names.find(0, 10, 0x10);
  const auto first = [&](const function& f, std::string_view name) -> std::string {
    const enumeration* const found = names.find_enumeration(f, name);
    return found == nullptr ? "none" : std::string(found->values.at(0).name);
  };
  CHECK(first(known, "both") == "OWN");
  CHECK(first(unknown, "both") == "AUTO");
  CHECK(first(known, "only") == "O");
  CHECK(first(known, "neither") == "none");
}
