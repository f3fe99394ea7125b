// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <vector>

#include <backsight/core/checksum.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using test::bytes;

namespace {

// Saved tables and indexes hold these numbers: they may not change.
constexpr bool keeps_its_values() {
  return checksum({}) == 0xaf63bd4c29620a93U && checksum(bytes<1>) == 0xaf63bc4c29620a60U &&
         checksum(bytes<1, 2, 3, 4, 5, 6, 7, 8>) == 0x9d98376d4e6c0066U &&
         checksum(bytes<1, 2, 3, 4, 5, 6, 7, 8, 9>) == 0x9d982e6d4e6c09adU;
}
static_assert(keeps_its_values());

}  // namespace

TEST_CASE("a checksum is that of saved files") { CHECK(keeps_its_values()); }

TEST_CASE("each bit of each byte changes a checksum") {
  std::vector<std::byte> data(21);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 37);
  std::set<std::uint64_t> seen{checksum(data)};
  for (std::size_t i = 0; i < data.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      auto changed = data;
      changed[i] ^= static_cast<std::byte>(1U << bit);
      seen.insert(checksum(changed));
    }
  }
  CHECK(seen.size() == data.size() * 8 + 1);
}
