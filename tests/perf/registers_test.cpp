// SPDX-License-Identifier: Apache-2.0
#include <backsight/perf/registers.hpp>

#include <cstdint>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

namespace perf = backsight::perf;
namespace cfi = backsight::cfi;
using backsight::order;

TEST_CASE("registers of x86-64 go from perf's numbers to DWARF's") {
  backsight::test::byte_builder words(order::little);
  // perf's mask of `--call-graph dwarf`: AX to IP, FLAGS, CS, SS, R8 to R15. Each value is its number and 0x100.
  constexpr std::uint64_t mask = 0xff0fff;
  for (unsigned number = 0; number < 64; ++number) {
    if ((mask >> number & 1U) != 0) words.u64(0x100 + number);
  }
  const perf::register_values values{2, mask, perf::word_list(words.view(), order::little)};
  const auto frame = perf::first_frame<cfi::arch::x86_64>(values);
  REQUIRE(frame);
  CHECK(frame->pc == 0x108);
  CHECK(frame->stack_pointer() == 0x107);
  // RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, then R8 to R15.
  const std::uint64_t expected[16]{0x100, 0x103, 0x102, 0x101, 0x104, 0x105, 0x106, 0x107,
                                   0x110, 0x111, 0x112, 0x113, 0x114, 0x115, 0x116, 0x117};
  for (std::size_t i = 0; i < 16; ++i) CHECK(frame->value[i] == expected[i]);
  CHECK(frame->undefined[0] == 0);
}

TEST_CASE("registers that were not recorded are lost, and without pc and stack pointer there is no frame") {
  backsight::test::byte_builder words(order::big);
  words.u64(0x6).u64(0x7).u64(0x8);
  const perf::word_list list(words.view(), order::big);
  // BP, SP and IP.
  const auto frame = perf::first_frame<cfi::arch::x86_64>({2, 0x1c0, list});
  REQUIRE(frame);
  CHECK(frame->pc == 8);
  CHECK(frame->stack_pointer() == 7);
  CHECK(frame->value[6] == 6);
  CHECK(frame->undefined[0] == 0xff3f);
  CHECK_FALSE(perf::first_frame<cfi::arch::x86_64>({2, 0x0c0, list}));
  CHECK_FALSE(perf::first_frame<cfi::arch::x86_64>({2, 0x140, list}));
  // Fewer values than the mask counts.
  CHECK_FALSE(perf::first_frame<cfi::arch::x86_64>({2, 0x1ff, list}));
  CHECK_FALSE(perf::first_frame<cfi::arch::x86_64>({}));
}

TEST_CASE("registers of AArch64 have the numbers of DWARF") {
  backsight::test::byte_builder words(order::little);
  for (unsigned number = 0; number < 33; ++number) words.u64(0x200 + number);
  const auto frame =
      perf::first_frame<cfi::arch::aarch64>({2, 0x1ffffffff, perf::word_list(words.view(), order::little)});
  REQUIRE(frame);
  CHECK(frame->pc == 0x220);
  CHECK(frame->stack_pointer() == 0x21f);
  CHECK(frame->value[29] == 0x21d);
  CHECK(frame->value[30] == 0x21e);
}
