// SPDX-License-Identifier: Apache-2.0
// The formats of examples/formats on good, cut and changed bytes; run under the sanitizers by the preset asan.
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <backsight/elf/sections.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>

#include "walks.hpp"

using namespace backsight;

namespace {

/// 1,000 for each file; BACKSIGHT_MUTATIONS asks for another number.
int mutations() {
  const char* const asked = std::getenv("BACKSIGHT_MUTATIONS");
  return asked == nullptr ? 1'000 : std::atoi(asked);
}

/// Every length of the file that is shorter, then files with some bytes changed.
template <class Walk>
void try_hard(const std::vector<std::byte>& good, std::size_t step, Walk&& walk) {
  std::uint64_t sum = 0;
  const std::size_t all = walk(byte_view(good), &sum);
  CHECK(all > 3);
  for (std::size_t size = 0; size < good.size(); size += step) {
    const std::vector<std::byte> cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    (void)walk(byte_view(cut), &sum);
  }
  std::mt19937_64 random(good.size());
  std::vector<std::byte> changed;
  for (int i = 0, most = mutations(); i < most; ++i) {
    changed = good;
    for (auto left = 1 + random() % 4; left != 0; --left) {
      const std::size_t at = random() % changed.size();
      constexpr unsigned char edges[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
      changed[at] = static_cast<std::byte>(random() % 2 == 0 ? edges[random() % 5] : random());
    }
    if (random() % 8 == 0) changed.resize(random() % changed.size());
    (void)walk(byte_view(changed), &sum);
  }
  CHECK(sum != 0);
}

}  // namespace

TEST_CASE("captures of both byte orders are read whatever is cut or changed", "[formats]") {
  for (const std::string name : {"little", "big"}) {
    try_hard(test::read_file(test::data_path("formats/" + name + ".pcapng")), 1, walks::walk_pcapng);
  }
}

TEST_CASE("protobuf messages are read whatever is cut or changed", "[formats]") {
  try_hard(test::read_file(test::data_path("formats/message.pb")), 1, walks::walk_protobuf);
}

TEST_CASE("line tables are read whatever is cut or changed", "[formats]") {
  for (const std::string name : {"gcc-4", "gcc-5", "gcc-5-64"}) {
    const auto file = test::read_file(test::data_path("formats/" + name + ".elf"));
    const auto image = elf::open(file).value();
    const byte_view section = image.section_bytes(image.find_section(".debug_line").value()).value();
    try_hard({section.begin(), section.end()}, 1, walks::walk_debug_line);
  }
}
