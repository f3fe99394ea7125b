// SPDX-License-Identifier: Apache-2.0
// Stands for emit/unwinder_c/detail/c_code_form.hpp, emit/unwinder_c/detail/c_frame.hpp
// Stands for emit/unwinder_c/detail/c_names.hpp, emit/unwinder_c/detail/c_own_rules.hpp
// Stands for emit/unwinder_c/detail/c_packed_rules.hpp, emit/unwinder_c/detail/c_rows.hpp
// Stands for emit/unwinder_c/detail/c_rule_words.hpp, emit/unwinder_c/detail/c_rules.hpp
// Stands for emit/unwinder_c/detail/c_runtime.hpp, emit/unwinder_c/detail/c_table_form.hpp
// Stands for emit/unwinder_c/detail/c_writer.hpp, emit/unwinder_c/detail/slots.hpp
#include "compiled.hpp"

#include <backsight/cfi/arch/generic.hpp>
#include <backsight/emit/unwinder_c/unwinder_c.hpp>

#include <support/catch.hpp>
#include <support/skip.hpp>

#include "../../cfi/fixtures.hpp"
#include "../../cfi/frame_builder.hpp"

using namespace backsight;
namespace unwinder_c = backsight::emit::unwinder_c;

namespace {

constexpr const char* compilers[] = {"gcc -std=c11 -O1", "clang-19 -std=c11 -O1", "clang-16 -std=c11 -O1",
                                     "g++ -x c++ -O1", "clang++-19 -x c++ -O1"};

bool available(const std::string& command) { return compiled::have(command.substr(0, command.find(' '))); }

/// All that one section's code is compared in; the compilers are used in turn.
template <class Arch>
void check_section(const cfi::section<order::little>& section, bool every_form, std::size_t& turn) {
  static const compiled::scratch folder;
  static const compiled::arena real;
  for (const auto registers : {unwinder_c::registers::return_address, unwinder_c::registers::all}) {
    const auto profile =
        registers == unwinder_c::registers::all ? cfi::table_profile::all : cfi::table_profile::callee_saved;
    const auto table = cfi::build_table<Arch>(section, {profile, {}});
    REQUIRE(table);
    for (const auto form : {unwinder_c::form::table, unwinder_c::form::tree, unwinder_c::form::switch_}) {
      if (form != unwinder_c::form::table && !every_form) continue;
      const bool deref = form == unwinder_c::form::table || registers == unwinder_c::registers::all;
      std::string command;
      do {
        command = compilers[turn++ % std::size(compilers)];
      } while (!available(command));
      INFO(command << ", form " << static_cast<int>(form) << ", deref " << deref);
      const auto text = compiled::source_of<Arch>(table->view(), {form, registers, "backsight", deref, 0, {}});
      const compiled::object object(folder.path, text, command);
      REQUIRE(object.compiles());
      REQUIRE(object.step() != nullptr);
      const auto t = compiled::compare_rows<Arch>(
          section, object.step(), deref, compiled::kept_slots<Arch>(table->view(), registers), deref ? nullptr : &real);
      CHECK(t.differences == 0);
      CHECK(t.comparisons > 0);
    }
  }
}

/// The rows of a small object: a frame, an expression, the outermost frame.
struct small {
  test::frame_builder built;
  small() {
    built.fde(test::bytes<0x41, 0x0e, 16, 0x86, 2, 0x44, 0x0d, 6>);
    built.fde(test::bytes<0x0f, 3, 0x77, 8, 0x06>);
    built.fde(test::bytes<0x07, 16>);
  }
  [[nodiscard]] cfi::table table() const {
    auto made = cfi::build_table<cfi::arch::x86_64>(built.section());
    return std::move(made.value());
  }
};

}  // namespace

TEST_CASE("emitted code and the interpreter agree on every row of the fixtures", "[gcc]") {
  if (!available(compilers[0])) return test::skip("no gcc");
  std::size_t turn = 0, sections = 0;
  for (const std::string name :
       {"gcc-O2", "gcc-O2-m32", "a64-O2", "rv64-O2", "ops-x86_64", "ops-aarch64", "a64-O2-pac", "gxx-O2"}) {
    const test::loaded_section loaded(test::data_path("cfi/elf/" + name), ".eh_frame");
    REQUIRE(loaded.found);
    INFO(name);
    const cfi::section<order::little> section(loaded.section.bytes, loaded.section.info);
    cfi::with_arch(loaded.image.machine(), [&](auto arch) {
      using machine = decltype(arch);
      if constexpr (requires { machine::saved; }) {
        check_section<machine>(section, name == "gcc-O2" || name == "ops-x86_64" || name == "gcc-O2-m32", turn);
        ++sections;
      }
    });
  }
  CHECK(sections == 8);
}

TEST_CASE("the comparison notices code of another object", "[gcc]") {
  if (!available(compilers[0])) return test::skip("no gcc");
  const compiled::scratch folder;
  const small ours;
  test::frame_builder other;
  other.fde(test::bytes<0x42, 0x0e, 24>).fde(test::bytes<>).fde(test::bytes<>);
  const auto table = cfi::build_table<cfi::arch::x86_64>(other.section());
  const compiled::object object(folder.path, compiled::source_of<cfi::arch::x86_64>(table->view(), {.deref = true}),
                                compilers[0]);
  REQUIRE(object.step() != nullptr);
  const auto t = compiled::compare_rows<cfi::arch::x86_64>(ours.built.section(), object.step(), true, 0xf, nullptr);
  CHECK(t.rows == 5);
  CHECK(t.differences > 0);
}

TEST_CASE("the text of emitted code is the same each time and names what it is told to") {
  const small s;
  const cfi::table table = s.table();
  const unwinder_c::function functions[] = {{0x1000, 0x1100, "first"},
                                            {0x1100, 0x1200,
                                             "evil */ ?"
                                             "?/ name"}};
  unwinder_c::options options;
  options.prefix = "mine";
  options.names = functions;
  for (const auto form : {unwinder_c::form::table, unwinder_c::form::tree, unwinder_c::form::switch_}) {
    options.form = form;
    const auto text = compiled::source_of<cfi::arch::x86_64>(table.view(), options);
    CHECK(text == compiled::source_of<cfi::arch::x86_64>(table.view(), options));
    CHECK(text.find("int mine_step(struct backsight_context *c, uint64_t bias)") != std::string::npos);
    CHECK(text.find("/* first: 0x1000u .. 0x1100u */") != std::string::npos);
    CHECK(text.find("evil __ ___ name") != std::string::npos);
  }
}

TEST_CASE("a prefix that is no identifier and a table of another machine are refused") {
  const small s;
  const cfi::table table = s.table();
  std::string text;
  for (const char* prefix : {"", "1a", "a-b", "a b"}) {
    CHECK(
        unwinder_c::write<cfi::arch::x86_64>(std::back_inserter(text), table.view(), {.prefix = prefix}).error().code ==
        errc::bad_string);
  }
  CHECK(unwinder_c::write<cfi::arch::i386>(std::back_inserter(text), table.view()).error().code ==
        errc::unsupported_type);
  CHECK(text.empty());
}

TEST_CASE("flags and error say where a walk ends", "[gcc]") {
  if (!available(compilers[0])) return test::skip("no gcc");
  const compiled::scratch folder;
  const small s;
  const cfi::table table = s.table();
  const compiled::object object(folder.path, compiled::source_of<cfi::arch::x86_64>(table.view(), {.deref = true}),
                                compilers[0]);
  REQUIRE(object.step() != nullptr);
  const auto step =
      reinterpret_cast<int (*)(compiled::context<cfi::arch::x86_64>*, std::uint64_t, compiled::deref_function, void*)>(
          object.step());
  compiled::hashed_memory memory;
  compiled::context<cfi::arch::x86_64> c{};
  c.flags = 0xf | unwinder_c::flag_pc_is_next;
  c.r[0] = 0x1200;
  CHECK(step(&c, 0, compiled::hashed_memory::deref, &memory) == static_cast<int>(cfi::stop::outermost));
  CHECK((c.flags & (unwinder_c::flag_end | unwinder_c::flag_error)) == unwinder_c::flag_end);
  c.r[0] = 0x5000;
  c.flags = 0xf | unwinder_c::flag_pc_is_next;
  CHECK(step(&c, 0, compiled::hashed_memory::deref, &memory) == static_cast<int>(cfi::stop::no_information));
  CHECK((c.flags & unwinder_c::flag_error) != 0);
  CHECK(c.error == 3);
  // The stack pointer is not known.
  c.r[0] = 0x1000;
  c.flags = 1 | unwinder_c::flag_pc_is_next;
  CHECK(step(&c, 0, compiled::hashed_memory::deref, &memory) == static_cast<int>(cfi::stop::unreadable));
}

TEST_CASE("an address far behind the code has no row in any form", "[gcc]") {
  if (!available(compilers[0])) return test::skip("no gcc");
  const compiled::scratch folder;
  const small s;
  const cfi::table table = s.table();
  for (const auto form : {unwinder_c::form::table, unwinder_c::form::tree, unwinder_c::form::switch_}) {
    const auto text = compiled::source_of<cfi::arch::x86_64>(table.view(), {.form = form, .deref = true});
    const compiled::object object(folder.path, text, compilers[0]);
    REQUIRE(object.step() != nullptr);
    const auto step = reinterpret_cast<int (*)(compiled::context<cfi::arch::x86_64>*, std::uint64_t,
                                               compiled::deref_function, void*)>(object.step());
    compiled::hashed_memory memory;
    for (const std::uint64_t pc :
         {std::uint64_t{0}, std::uint64_t{0x1300}, std::uint64_t{0x80000ffd}, std::uint64_t{0x80000fff},
          std::uint64_t{0x80001000}, std::uint64_t{0x7f0000001000}, ~std::uint64_t{0}}) {
      INFO(pc);
      compiled::context<cfi::arch::x86_64> c{};
      c.flags = 0xf | unwinder_c::flag_pc_is_next;
      c.r[0] = pc;
      CHECK(step(&c, 0, compiled::hashed_memory::deref, &memory) == static_cast<int>(cfi::stop::no_information));
    }
  }
}

TEST_CASE("addresses count from a base when there is one", "[gcc]") {
  if (!available(compilers[0])) return test::skip("no gcc");
  const compiled::scratch folder;
  const small s;
  const cfi::table table = s.table();
  for (const auto form : {unwinder_c::form::table, unwinder_c::form::tree, unwinder_c::form::switch_}) {
    const auto text =
        compiled::source_of<cfi::arch::x86_64>(table.view(), {.form = form, .deref = true, .base = 0x1000});
    const compiled::object object(folder.path, text, compilers[0]);
    REQUIRE(object.step() != nullptr);
    const auto step = reinterpret_cast<int (*)(compiled::context<cfi::arch::x86_64>*, std::uint64_t,
                                               compiled::deref_function, void*)>(object.step());
    compiled::hashed_memory memory;
    compiled::context<cfi::arch::x86_64> c{};
    c.flags = 0xf | unwinder_c::flag_pc_is_next;
    c.r[0] = 0x7200;
    CHECK(step(&c, 0x7000, compiled::hashed_memory::deref, &memory) == static_cast<int>(cfi::stop::outermost));
  }
}

TEST_CASE("code of more than 2 GiB and windows of rows across it are found in every form", "[gcc]") {
  if (!available(compilers[0])) return test::skip("no gcc");
  const compiled::scratch folder;
  test::frame_builder built;
  // Rows at 0x1000, then close together far behind: at 0xf0001000, 0xf0001001, 0xf0001081, 0xf0001100, 0xf0001180.
  built.fde(test::bytes<0x0e, 16, 0x04, 0, 0, 0, 0xf0, 0x0e, 24, 0x41, 0x0e, 32, 0x02, 0x80, 0x0e, 40, 0x02, 0x7f, 0x0e,
                        48, 0x02, 0x80, 0x0e, 56>,
            0xf0000200);
  const auto table = cfi::build_table<cfi::arch::x86_64>(built.section());
  REQUIRE(table);
  for (const auto form : {unwinder_c::form::table, unwinder_c::form::tree, unwinder_c::form::switch_}) {
    const compiled::object object(folder.path,
                                  compiled::source_of<cfi::arch::x86_64>(table->view(), {.form = form, .deref = true}),
                                  compilers[0]);
    REQUIRE(object.step() != nullptr);
    const auto t = compiled::compare_rows<cfi::arch::x86_64>(built.section(), object.step(), true, 0xf, nullptr);
    CHECK(t.rows == 6);
    CHECK(t.comparisons == 12);
    CHECK(t.differences == 0);
  }
}

TEST_CASE("a CFA that counts from a register that contexts do not hold ends the walk", "[gcc]") {
  if (!available(compilers[0])) return test::skip("no gcc");
  const compiled::scratch folder;
  test::frame_builder built;
  // With a register that is saved where an expression says, which nothing then calls.
  built.fde(test::bytes<0x41, 0x0c, 40, 8, 0x10, 3, 2, 0x77, 8>);
  const auto table = cfi::build_table<cfi::arch::x86_64>(built.section());
  REQUIRE(table);
  for (const auto form : {unwinder_c::form::table, unwinder_c::form::tree, unwinder_c::form::switch_}) {
    for (const bool deref : {true, false}) {
      const auto text = compiled::source_of<cfi::arch::x86_64>(table->view(), {.form = form, .deref = deref});
      const compiled::object object(folder.path, text, compilers[0]);
      REQUIRE(object.step() != nullptr);
      const compiled::arena real;
      const auto t = compiled::compare_rows<cfi::arch::x86_64>(built.section(), object.step(), deref, 0xf,
                                                               deref ? nullptr : &real);
      CHECK(t.rows == 2);
      CHECK(t.differences == 0);
    }
  }
}

TEST_CASE("several emitted files and the runtime header compile together", "[gcc]") {
  if (!available(compilers[0])) return test::skip("no gcc");
  const compiled::scratch folder;
  const small s;
  const cfi::table table = s.table();
  std::string text;
  (void)unwinder_c::write_runtime<cfi::arch::x86_64>(std::back_inserter(text));
  text += compiled::source_of<cfi::arch::x86_64>(table.view(), {.prefix = "one", .deref = true});
  text += compiled::source_of<cfi::arch::x86_64>(table.view(),
                                                 {.form = unwinder_c::form::tree, .prefix = "two", .deref = true});
  text +=
      "size_t all(struct backsight_context *c, const struct backsight_module *m, size_t n, uint64_t *p);\n"
      "size_t all(struct backsight_context *c, const struct backsight_module *m, size_t n, uint64_t *p) {\n"
      "  return backsight_walk(c, m, n, (backsight_deref)0, (void *)0, p, 8);\n}\n";
  for (const char* command : compilers) {
    if (!available(command)) continue;
    INFO(command);
    CHECK(compiled::object(folder.path, text, command).compiles());
  }
}
