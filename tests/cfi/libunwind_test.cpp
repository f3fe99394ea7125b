// SPDX-License-Identifier: Apache-2.0
#include <backsight/cfi/libunwind.hpp>

#include <array>
#include <vector>

#include <support/catch.hpp>

#include <backsight/cfi/table_builder.hpp>

#include "frame_builder.hpp"

using namespace backsight;
using namespace backsight::libunwind;

namespace {

[[gnu::noinline]] std::vector<unw_word_t> step_by_step(std::vector<unw_word_t>& stack_pointers) {
  std::vector<unw_word_t> pcs;
  unw_context_t context;
  unw_cursor_t cursor;
  unw_getcontext(&context);
  REQUIRE(unw_init_local(&cursor, &context) == 0);
  int code = 1;
  while (code > 0) {
    unw_word_t pc = 0, sp = 0;
    REQUIRE(unw_get_reg(&cursor, UNW_REG_IP, &pc) == 0);
    REQUIRE(unw_get_reg(&cursor, UNW_REG_SP, &sp) == 0);
    pcs.push_back(pc);
    stack_pointers.push_back(sp);
    code = unw_step(&cursor);
  }
  CHECK(code == 0);
  return pcs;
}

}  // namespace

TEST_CASE("a local cursor and a backtrace give the same callers") {
  std::vector<unw_word_t> stack_pointers;
  const auto pcs = step_by_step(stack_pointers);
  std::array<void*, 128> buffer{};
  const int count = unw_backtrace(buffer.data(), 128);
  REQUIRE(count > 2);
  REQUIRE(pcs.size() == static_cast<std::size_t>(count) + 1);
  // The first two are places in step_by_step and in this function.
  for (std::size_t i = 2; i < pcs.size(); ++i) CHECK(pcs[i] == reinterpret_cast<std::uint64_t>(buffer[i - 1]));
  for (std::size_t i = 1; i < stack_pointers.size(); ++i) CHECK(stack_pointers[i] > stack_pointers[i - 1]);
  CHECK(unw_backtrace(buffer.data(), 2) == 2);
}

#if defined(__x86_64__)
TEST_CASE("a remote cursor reads through its callbacks") {
  const auto built = test::frame_builder{}.fde(test::bytes<0x0e, 16, 0x83, 2>);
  const auto table = cfi::build_table<cfi::arch::x86_64>(built.section());
  REQUIRE(table);
  unw_addr_space space;
  REQUIRE_FALSE(space.objects.add({0x401000, 0x401100, 0x400000, table->view(), 0}));
  space.accessors.access_mem = [](void*, unw_word_t address, unw_word_t* value, int, void*) {
    *value = address == 0x8008 ? 0x401020 : 77;
    return address < 0x8010 ? 0 : -UNW_EINVAL;
  };
  space.accessors.access_reg = [](void*, unw_regnum_t reg, unw_word_t* value, int, void*) {
    *value = reg == 16 ? 0x401010 : reg == 7 ? 0x8000 : 0;
    return reg == 0 ? -UNW_EBADREG : 0;
  };
  unw_cursor_t cursor;
  REQUIRE(unw_init_remote(&cursor, &space, nullptr) == 0);
  unw_word_t value = 0;
  CHECK(unw_get_reg(&cursor, 0, &value) == -UNW_EBADREG);
  REQUIRE(unw_step(&cursor) == 1);
  REQUIRE(unw_get_reg(&cursor, UNW_REG_IP, &value) == 0);
  CHECK(value == 0x401020);
  REQUIRE(unw_get_reg(&cursor, 3, &value) == 0);
  CHECK(value == 77);
  CHECK(unw_is_signal_frame(&cursor) == 0);
  CHECK(unw_step(&cursor) == -UNW_EINVAL);
}
#endif
