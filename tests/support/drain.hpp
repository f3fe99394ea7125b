// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <backsight/core/error.hpp>

namespace backsight::test {

/// All that a reader gives, asked for in pieces.
template <class Reader>
[[nodiscard]] result<std::vector<std::byte>> drain(Reader&& reader, std::size_t piece = 4096) {
  std::vector<std::byte> all, block(piece);
  for (;;) {
    const auto got = reader.read(block);
    all.insert(all.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(got.partial()));
    if (!got || got.partial() < block.size()) return {std::move(all), got.error()};
  }
}

}  // namespace backsight::test
