// SPDX-License-Identifier: Apache-2.0
// A saved table: opened, and asked for many addresses. The checksum is put right, so that damage gets past it.
#include <cstdint>
#include <vector>

#include <backsight/cfi/arch/x86_64.hpp>
#include <backsight/cfi/table_builder.hpp>
#include <backsight/cfi/unwind.hpp>

using namespace backsight;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(data),
                               reinterpret_cast<const std::byte*>(data) + size);
  if (bytes.size() >= 128) {
    store<order::little>(bytes.data() + 8, cfi::detail::checksum(byte_view(bytes).subspan(16)));
  }
  const auto table = cfi::table_view::open(bytes);
  if (!table) return 0;
  const auto stack = [](std::uint64_t address) -> std::optional<std::uint64_t> {
    return address % 64 == 8 ? std::nullopt : std::optional<std::uint64_t>(0x401000 + address % 0x3000);
  };
  cfi::address_space<cfi::arch::x86_64> space;
  if (space.add({0x400000, 0x500000, 0x400000, *table, 0})) return 0;
  std::uint64_t pcs[32];
  for (std::uint64_t address = 0; address < 0x4000; address += 13) {
    (void)table->find(address);
    (void)table->find(address << 40);
    cfi::frame<cfi::arch::x86_64> f;
    f.pc = 0x400000 + address;
    f.value[7] = 0x7000 + address % 8 * 8;
    (void)cfi::walk(f, space, stack, pcs);
  }
  return 0;
}
