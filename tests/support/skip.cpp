// SPDX-License-Identifier: Apache-2.0
#include <support/skip.hpp>

#include <cstdio>

#include <support/catch.hpp>

namespace backsight::test {

namespace {
std::size_t count = 0;
}

void skip(std::string_view reason) {
  ++count;
  std::printf("skipped: %s: %.*s\n", Catch::getResultCapture().getCurrentTestName().c_str(),
              static_cast<int>(reason.size()), reason.data());
  std::fflush(stdout);
}

std::size_t skipped() noexcept { return count; }

}  // namespace backsight::test
