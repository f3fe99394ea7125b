// SPDX-License-Identifier: Apache-2.0
// The smallest program that uses the library: each way to get hold of it builds and runs this file.
#include <array>
#include <cstdio>

#include <backsight/backsight.hpp>

int main() {
  static constexpr std::array<std::byte, 32> empty_log{std::byte{5}, std::byte{0}, std::byte{1}};
  constexpr auto log = backsight::xray::open(empty_log);
  static_assert(log && log->version() == 5);
  const auto error = backsight::xray::open(backsight::byte_view(empty_log).first(31)).error();
  std::printf("backsight %d.%d: %s\n", BACKSIGHT_VERSION_MAJOR, BACKSIGHT_VERSION_MINOR,
              backsight::message(error.code));
  return error.code == backsight::errc::truncated ? 0 : 1;
}
