// SPDX-License-Identifier: Apache-2.0
// The first byte chooses address size and byte order, the rest is a DWARF expression.
#include <cstdint>
#include <cstdlib>

#include <backsight/dwarf/expression.hpp>

using namespace backsight;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const byte_view code(reinterpret_cast<const std::byte*>(data + 1), size - 1);
  const auto registers = [](std::uint64_t number) -> std::optional<std::uint64_t> {
    if (number > 32) return std::nullopt;
    return number * 0x10001;
  };
  const auto memory = [](std::uint64_t address) -> std::optional<std::uint64_t> {
    if (address % 16 == 5) return std::nullopt;
    return address * 0x9e3779b97f4a7c15U;
  };
  const dwarf::expression_limits limits{(data[0] & 1U) != 0 ? 4U : 8U, 200};
  const std::optional<std::uint64_t> first = (data[0] & 4U) != 0 ? std::optional<std::uint64_t>(0x1000) : std::nullopt;
  const auto value = (data[0] & 2U) != 0 ? dwarf::evaluate<order::big>(code, limits, first, registers, memory)
                                         : dwarf::evaluate<order::little>(code, limits, first, registers, memory);
  if (value && dwarf::wrap(*value, limits.address_size) != *value) std::abort();
  if (!value && value.error().offset > code.size()) std::abort();
  return 0;
}
