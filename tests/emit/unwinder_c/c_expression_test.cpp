// SPDX-License-Identifier: Apache-2.0
#include "compiled.hpp"

#include <backsight/cfi/arch/i386.hpp>
#include <backsight/cfi/arch/x86_64.hpp>
#include <backsight/emit/unwinder_c/unwinder_c.hpp>

#include <support/catch.hpp>
#include <support/skip.hpp>

#include "../../cfi/frame_builder.hpp"

using namespace backsight;
namespace unwinder_c = backsight::emit::unwinder_c;

namespace {

std::vector<std::byte> of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int v : values) bytes.push_back(static_cast<std::byte>(v));
  return bytes;
}

/// Expressions of every operation, whole and broken, and random ones on top.
std::vector<std::vector<std::byte>> expressions() {
  std::vector<std::vector<std::byte>> all{
      of({0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}),  // The lazy PLT.
      of({0x76, 0x58, 0x06}),
      of({0x77, 0x20, 0x06, 0x23, 8}),
      of({}),
      of({0x06}),
      of({0x12}),
      of({0x96}),
      of({0x30}),
      of({0x03, 1, 2, 3, 4, 5, 6, 7, 8}),
      of({0x03, 1}),
      of({0x31, 0x28, 1, 0, 0x32, 0x33}),
      of({0x30, 0x28, 1, 0, 0x32, 0x33}),
      of({0x35, 0x2f, 0xfd, 0xff}),                             // A loop without end.
      of({0x35, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff, 0x77, 0}),  // A loop of five turns.
      of({0x31, 0x12, 0x28, 0xfc, 0xff}),
      of({0x2f, 0x10, 0}),
      of({0x2f, 0, 0x80}),
      of({0x31, 0x28, 0x10, 0}),
      of({0x77, 0, 0x94, 1}),
      of({0x77, 0, 0x94, 4}),
      of({0x77, 0, 0x94, 9}),
      of({0x77, 0, 0x94, 0}),
      of({0x77, 0, 0x94}),
      of({0x92, 7, 8}),
      of({0x92, 0x80, 1, 8}),
      of({0x92, 16, 0}),
      of({0x77, 0, 0x9f, 0x01}),
      of({0x9c}),
      of({0x50}),
      of({0x77, 0, 0x76, 0, 0x15, 1}),
      of({0x77, 0, 0x15, 1}),
      of({0x31, 0x32, 0x33, 0x17, 0x1c, 0x1e}),
      of({0x31, 0x32, 0x16, 0x1c}),
      of({0x09, 0x80, 0x19}),
      of({0x09, 0x80, 0x09, 0xff, 0x1b}),
      of({0x0f, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x09, 0xff, 0x1b}),
      of({0x77, 0, 0x30, 0x1b}),
      of({0x77, 0, 0x30, 0x1d}),
      of({0x77, 0, 0x35, 0x1d}),
      of({0x77, 0, 0x1f, 0x20}),
      of({0x77, 0, 0x08, 64, 0x24}),
      of({0x77, 0, 0x08, 63, 0x25}),
      of({0x09, 0x80, 0x08, 200, 0x26}),
      of({0x10, 0xff, 0x7f, 0x11, 0x7f, 0x27})};
  // Deeper than the stack is.
  all.push_back(std::vector<std::byte>(65, std::byte{0x31}));
  all.push_back(std::vector<std::byte>(64, std::byte{0x31}));
  all.push_back(std::vector<std::byte>(120, std::byte{0x96}));
  std::mt19937_64 random(11);
  constexpr int plain[] = {0x06, 0x12, 0x13, 0x14, 0x16, 0x17, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f, 0x20,
                           0x21, 0x22, 0x24, 0x25, 0x26, 0x27, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x96};
  for (int i = 0; i < 30; ++i) {
    std::vector<std::byte> code = of({0x77, static_cast<int>(random() % 64), 0x76, 0, 0x73, 8});
    for (int n = 0; n < 10; ++n) {
      const auto push = [&](std::initializer_list<int> values) {
        for (const int v : values) code.push_back(static_cast<std::byte>(v));
      };
      switch (random() % 8) {
        case 0: push({static_cast<int>(0x30 + random() % 32)}); break;
        case 1: push({static_cast<int>(0x70 + random() % 17), static_cast<int>(random() % 128)}); break;
        case 2: push({0x15, static_cast<int>(random() % 4)}); break;
        case 3: push({random() % 2 != 0 ? 0x28 : 0x2f, static_cast<int>(random() % 6), 0}); break;
        case 4: push({0x28, static_cast<int>(0xf0 + random() % 16), 0xff}); break;
        default: push({plain[random() % std::size(plain)]}); break;
      }
    }
    all.push_back(code);
  }
  return all;
}

template <class Arch>
void check(const char* command) {
  test::frame_builder built;
  for (const auto& code : expressions()) {
    if (code.size() > 127) continue;
    std::vector<std::byte> cfa{std::byte{0x0f}, static_cast<std::byte>(code.size())};
    cfa.insert(cfa.end(), code.begin(), code.end());
    built.fde(cfa);
    // Of a register: stored there, and being that.
    for (const int kind : {0x10, 0x16}) {
      std::vector<std::byte> rule{static_cast<std::byte>(kind), std::byte{3}, static_cast<std::byte>(code.size())};
      rule.insert(rule.end(), code.begin(), code.end());
      built.fde(rule);
    }
  }
  cfi::section_info info;
  const cfi::section<order::little> section(built.view(), info);
  const auto table = cfi::build_table<Arch>(section, {cfi::table_profile::all, {}});
  REQUIRE(table);
  const compiled::scratch folder;
  const auto text = compiled::source_of<Arch>(table->view(), {.registers = unwinder_c::registers::all, .deref = true});
  const compiled::object object(folder.path, text, command);
  REQUIRE(object.compiles());
  const auto kept = compiled::kept_slots<Arch>(table->view(), unwinder_c::registers::all);
  const auto t = compiled::compare_rows<Arch>(section, object.step(), true, kept, nullptr);
  CHECK(t.rows >= 3 * 70);
  CHECK(t.differences == 0);
}

}  // namespace

TEST_CASE("expressions as C statements give what the interpreter gives", "[gcc]") {
  if (!compiled::have("gcc")) return test::skip("no gcc");
  check<cfi::arch::x86_64>("gcc -std=c11 -O0");
  check<cfi::arch::i386>("gcc -std=c11 -O0");
  if (compiled::have("clang-19")) check<cfi::arch::x86_64>("clang-19 -std=c11 -O0");
}
