// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <backsight/uftrace/object_files.hpp>
#include <backsight/uftrace/task_sessions.hpp>

// The libraries that a session loaded by dlopen. Source: uftrace's utils/session.c (session_add_dlopen,
// session_find_dlsym).
namespace backsight::uftrace::detail {

/// Finds libraries by address and time. What was loaded again at the same place is kept once, with its times; libraries
/// without symbols are left out, since nothing is found in them. A look-up costs logarithmic time and a search of the
/// symbols of each library whose symbols lie around the address.
class loaded_libraries {
 public:
  loaded_libraries() = default;
  loaded_libraries(const std::vector<object_mapping>& libraries, const std::vector<object_file>& objects)
      : objects_(&objects) {
    std::vector<entry> all;
    for (std::uint32_t i = 0; i < libraries.size(); ++i) {
      const auto& symbols = objects[libraries[i].object].symbols.symbols();
      if (symbols.empty()) continue;
      all.push_back({libraries[i].start, libraries[i].object, libraries[i].time, i});
    }
    std::sort(all.begin(), all.end(), [](const entry& a, const entry& b) {
      return std::pair(a.start, a.object) != std::pair(b.start, b.object)
                 ? std::pair(a.start, a.object) < std::pair(b.start, b.object)
                 : std::pair(a.time, a.number) < std::pair(b.time, b.number);
    });
    for (const entry& e : all) {
      if (places_.empty() || places_.back().start != e.start || places_.back().object != e.object) {
        const auto& symbols = objects[e.object].symbols.symbols();
        // Symbols are sorted by where they begin; where the last of them ends is not known to be the end of all.
        std::uint64_t end = 0;
        if (e.object >= ends_.size()) ends_.resize(e.object + std::size_t{1});
        if (ends_[e.object] == 0) {
          for (const symbol& s : symbols)
            ends_[e.object] = std::max(ends_[e.object], s.address + std::min(s.size, ~s.address));
        }
        end = ends_[e.object];
        places_.push_back({e.start, e.start + std::min(symbols.front().address, ~e.start),
                           e.start + std::min(end, ~e.start), 0, e.object, static_cast<std::uint32_t>(times_.size()),
                           0});
      }
      times_.push_back({e.time, e.number});
      ++places_.back().count;
    }
    std::sort(places_.begin(), places_.end(), [](const place& a, const place& b) { return a.first < b.first; });
    std::uint64_t end = 0;
    for (place& p : places_) p.end_of_all = end = std::max(end, p.end);
  }

  /// A library that could own an address.
  struct candidate {
    std::uint32_t object = 0;
    std::size_t symbol = symbol_table::none;
    std::uint64_t start = 0;  ///< where the library lies
  };

  /// Calls `f(candidate, when, number)` for each place where a library was loaded not later than `time` that has a
  /// symbol at the address; `when` and `number` tell the newest loading of it. Gives how many places it looked at.
  template <class F>
  std::size_t each(std::uint64_t address, std::uint64_t time, F&& f) const {
    auto at = std::upper_bound(places_.begin(), places_.end(), address,
                               [](std::uint64_t a, const place& p) { return a < p.first; });
    std::size_t steps = 0;
    for (; at != places_.begin() && (at - 1)->end_of_all > address; ++steps) {
      --at;
      if (at->end <= address) continue;
      const auto begin = times_.begin() + static_cast<std::ptrdiff_t>(at->times);
      const auto end = begin + static_cast<std::ptrdiff_t>(at->count);
      const auto after =
          std::upper_bound(begin, end, time, [](std::uint64_t t, const auto& loading) { return t < loading.first; });
      if (after == begin) continue;
      const std::size_t symbol = (*objects_)[at->object].symbols.find(address - at->start);
      if (symbol != symbol_table::none)
        f(candidate{at->object, symbol, at->start}, (after - 1)->first, (after - 1)->second);
    }
    return steps;
  }

  /// The library that was loaded last of those; its symbol is none when there is none.
  [[nodiscard]] candidate find(std::uint64_t address, std::uint64_t time) const {
    candidate best;
    std::pair<std::uint64_t, std::uint32_t> newest{0, 0};
    (void)each(address, time, [&](const candidate& found, std::uint64_t when, std::uint32_t number) {
      if (best.symbol != symbol_table::none && std::pair(when, number) < newest) return;
      best = found;
      newest = {when, number};
    });
    return best;
  }

  [[nodiscard]] bool empty() const noexcept { return places_.empty(); }

 private:
  struct entry {
    std::uint64_t start;
    std::uint32_t object;
    std::uint64_t time;
    std::uint32_t number;
  };
  struct place {
    std::uint64_t start, first, end;  ///< where the library lies, and its first and last symbol
    std::uint64_t end_of_all;         ///< the largest `end` of this one and those before
    std::uint32_t object;
    std::uint32_t times, count;
  };

  const std::vector<object_file>* objects_ = nullptr;
  std::vector<place> places_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> times_;  ///< of loading, and the number in task.txt, by place
  std::vector<std::uint64_t> ends_;                             ///< where the symbols of an object file end
};

}  // namespace backsight::uftrace::detail
