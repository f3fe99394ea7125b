// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace baseline {

struct window_totals {
  std::uint64_t window = ~std::uint64_t{0}, instructions = 0, loads = 0, stores = 0, non_fetched = 0, markers = 0;
  friend bool operator==(const window_totals&, const window_totals&) = default;
};

/// What one writes by hand for per-window counts of a final trace: a switch over the type in a loop over 12 bytes.
inline std::vector<window_totals> count_windows(const unsigned char* at, std::size_t size) {
  std::vector<window_totals> windows(1);
  window_totals now;
  for (const unsigned char* const end = at + size / 12 * 12; at != end; at += 12) {
    std::uint16_t type, length;
    std::memcpy(&type, at, 2);
    std::memcpy(&length, at + 2, 2);
    switch (type) {
      case 10:
      case 11:
      case 12:
      case 13:
      case 14:
      case 15:
      case 16:
      case 31:
      case 48:
      case 49: now.instructions += length != 0; break;
      case 0: ++now.loads; break;
      case 1: ++now.stores; break;
      case 28:
        if (length == 14) {
          std::uint64_t window;
          std::memcpy(&window, at + 4, 8);
          if (window != now.window) {
            windows.back() = now;
            windows.emplace_back();
            now = {};
            now.window = window;
          }
        }
        ++now.markers;
        break;
      case 29: now.non_fetched += length != 0; break;
      default: break;
    }
  }
  windows.back() = now;
  return windows;
}

}  // namespace baseline
