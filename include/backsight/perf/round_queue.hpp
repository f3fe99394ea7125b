// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace backsight::perf {

/// Brings items into the order of their times, as perf does: at the end of a round everything up to the greatest time
/// of the round before it is complete. Items of equal times keep their order. Holds the items of two rounds at most.
template <class Item>
class round_queue {
 public:
  void push(std::uint64_t time, Item item) {
    if (time > greatest_) greatest_ = time;
    sorted_ = sorted_ && (waiting_.empty() || waiting_.back().time <= time);
    waiting_.push_back({time, count_++, std::move(item)});
    if (waiting_.size() > most_) most_ = waiting_.size();
  }

  /// The end of a round: calls `f(Item&)` for what is complete.
  template <class F>
  void finish_round(F&& f) {
    give_up_to(limit_, f);
    limit_ = greatest_;
  }
  /// The end of all: calls `f(Item&)` for what is left.
  template <class F>
  void finish(F&& f) {
    give_up_to(~std::uint64_t{0}, f);
    limit_ = greatest_;
  }

  /// The greatest number of items that waited at once.
  [[nodiscard]] std::size_t most() const noexcept { return most_; }

 private:
  struct entry {
    std::uint64_t time;
    std::uint64_t number;
    Item item;
  };

  template <class F>
  void give_up_to(std::uint64_t limit, F& f) {
    // Not std::stable_sort: Clang 19 warns of what libstdc++ 12 uses for it.
    if (!sorted_) {
      std::sort(waiting_.begin(), waiting_.end(), [](const entry& a, const entry& b) {
        return a.time != b.time ? a.time < b.time : a.number < b.number;
      });
    }
    sorted_ = true;
    std::size_t count = 0;
    for (; count < waiting_.size() && waiting_[count].time <= limit; ++count) f(waiting_[count].item);
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
  }

  std::vector<entry> waiting_;
  std::uint64_t greatest_ = 0;
  std::uint64_t limit_ = 0;
  std::uint64_t count_ = 0;
  std::size_t most_ = 0;
  bool sorted_ = true;
};

}  // namespace backsight::perf
