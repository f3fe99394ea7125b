// SPDX-License-Identifier: Apache-2.0
// Stands for cfi/core_registers.hpp
#include <backsight/cfi/core_registers.hpp>
#include <backsight/cfi/explained_walk.hpp>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;

namespace {

/// Registers as the kernel lays them out: word i has the value 100 + i.
template <class Arch>
std::vector<std::byte> numbered_registers(std::size_t count, order o) {
  test::byte_builder b(o);
  for (std::size_t i = 0; i < count; ++i) Arch::address_size == 8 ? b.u64(100 + i) : b.u32(100 + i);
  return b.vector();
}

struct stored_words {
  std::map<std::uint64_t, std::uint64_t> all;
  std::optional<std::uint64_t> operator()(std::uint64_t address) const {
    const auto found = all.find(address);
    return found == all.end() ? std::nullopt : std::optional(found->second);
  }
};

/// Walks where [0x1000, 0x2000) is code without call frame information.
template <class Arch>
std::pair<std::string, cfi::stop> walk_code(const cfi::frame<Arch>& first, const stored_words& memory,
                                            std::size_t limit = 100) {
  cfi::address_space<Arch> space;
  std::string seen;
  const cfi::stop why = cfi::explained_walk<Arch>(
      first, space, memory, limit,
      [&](std::uint64_t address) {
        if (address < 0x1000 || address >= 0x2000) return false;
        if (space.find(address) == nullptr) REQUIRE_FALSE(space.add({address, address + 1, 0, {}, 0}));
        return true;
      },
      [&](const cfi::explained_frame& one) {
        seen += std::to_string(one.pc) + (one.pc_is_next ? "! " : " ") + message(one.from) + "; ";
      });
  return {seen, why};
}

}  // namespace

TEST_CASE("registers of a core file's thread are those of DWARF") {
  using cfi::arch::x86_64;
  const auto x86 = cfi::first_frame<x86_64>(numbered_registers<x86_64>(27, order::little), order::little);
  REQUIRE(x86);
  // rip is the 17th, rsp the 20th, rbp the fifth, rbx the sixth, r15 the first of user_regs_struct.
  CHECK((x86->pc == 116 && x86->stack_pointer() == 119 && x86->value[6] == 104 && x86->value[3] == 105 &&
         x86->value[15] == 100));
  CHECK((x86->value[0] == 110 && x86->value[1] == 112 && x86->value[2] == 111 && x86->value[4] == 113 &&
         x86->value[5] == 114));
  using cfi::arch::i386;
  const auto small = cfi::first_frame<i386>(numbered_registers<i386>(17, order::little), order::little);
  REQUIRE(small);
  CHECK((small->pc == 112 && small->stack_pointer() == 115 && small->value[5] == 105 && small->value[3] == 100));
  using cfi::arch::aarch64;
  for (const order o : {order::little, order::big}) {
    const auto wide = cfi::first_frame<aarch64>(numbered_registers<aarch64>(34, o), o);
    REQUIRE(wide);
    CHECK((wide->pc == 132 && wide->stack_pointer() == 131 && wide->value[30] == 130 && wide->value[29] == 129));
  }
  using cfi::arch::arm;
  const auto thumb = cfi::first_frame<arm>(numbered_registers<arm>(18, order::little), order::little);
  REQUIRE(thumb);
  CHECK((thumb->pc == 115 && thumb->stack_pointer() == 113 && thumb->value[14] == 114));
  using cfi::arch::riscv64;
  const auto risc = cfi::first_frame<riscv64>(numbered_registers<riscv64>(32, order::little), order::little);
  REQUIRE(risc);
  CHECK((risc->pc == 100 && risc->value[0] == 0 && risc->stack_pointer() == 102 && risc->value[1] == 101 &&
         risc->value[8] == 108));
  CHECK_FALSE(cfi::first_frame<x86_64>(numbered_registers<x86_64>(19, order::little), order::little));
  CHECK_FALSE(cfi::first_frame<aarch64>({}, order::little));
}

TEST_CASE("where there is no call frame information a walk follows frame pointers and says so") {
  cfi::frame<cfi::arch::x86_64> first;
  first.pc = 0x1100;
  first.value[7] = 0x8000;
  first.value[6] = 0x8010;
  stored_words memory{
      {{0x8010, 0x8040}, {0x8018, 0x1200}, {0x8040, 0x8080}, {0x8048, 0x1300}, {0x8080, 0}, {0x8088, 0x500}}};
  auto [seen, why] = walk_code(first, memory);
  CHECK(seen == "4352! registers; 4608 frame pointer; 4864 frame pointer; ");
  CHECK(why == cfi::stop::no_information);
  // A chain that leads back ends.
  memory.all[0x8040] = 0x8010;
  std::tie(seen, why) = walk_code(first, memory);
  CHECK(seen.find("4864") != seen.npos);
  CHECK(why != cfi::stop::limit);
  CHECK(walk_code(first, memory, 2).second == cfi::stop::limit);
}

TEST_CASE("a call of what is no code leads to its caller, on the stack or in its register") {
  cfi::frame<cfi::arch::x86_64> first;
  first.pc = 0;
  first.value[7] = 0x8000;
  first.value[6] = 0x8010;
  const stored_words memory{{{0x8000, 0x1500}, {0x8010, 0x8040}, {0x8018, 0x1200}, {0x8040, 0}, {0x8048, 0}}};
  CHECK(walk_code(first, memory).first == "0! registers; 5376 return address; 4608 frame pointer; ");
  CHECK(walk_code(first, stored_words{}).second == cfi::stop::no_object);
  cfi::frame<cfi::arch::aarch64> other;
  other.pc = 0x9999;
  other.value[30] = 0x1500;
  other.value[31] = 0x8000;
  CHECK(walk_code(other, stored_words{}).first == "39321! registers; 5376 return address; ");
}
