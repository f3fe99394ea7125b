// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace backsight::analysis {

/// All values of a set of numbers, exact, in little memory: the first 4096 are stored as they are; when there are more,
/// numbers below 65536 are counted one by one in pages of 256, and only larger ones are stored. Memory stays in
/// proportion to what was added. Adding costs a few loads; any rank can be asked for.
class distribution {
 public:
  void add(std::uint64_t value) {
    if (value < counted_values && !pages_.empty()) [[likely]] {
      ++counter(value);
    } else {
      store(value);
    }
  }

  /// Takes in all values of another.
  void merge(const distribution& other) {
    other.for_each_counted([&](std::uint64_t value, std::uint64_t times) {
      if (pages_.empty()) start_counting();
      counter(value) += times;
    });
    for (const std::uint64_t value : other.stored_) add(value);
  }

  /// How many values there are, and what they are together. Costs a pass over the counters: up to 65536 loads.
  struct totals {
    std::uint64_t count = 0;
    std::uint64_t sum = 0;
    std::uint64_t min = 0;  ///< 0 when there is no value, as is max.
    std::uint64_t max = 0;
  };
  [[nodiscard]] totals sum_up() const {
    totals all{.min = ~std::uint64_t{0}};
    const auto add_times = [&](std::uint64_t value, std::uint64_t times) {
      all.count += times;
      all.sum += value * times;
      all.min = std::min(all.min, value);
      all.max = std::max(all.max, value);
    };
    for_each_counted(add_times);
    for (const std::uint64_t value : stored_) add_times(value, 1);
    if (all.count == 0) all.min = 0;
    return all;
  }
  [[nodiscard]] bool empty() const noexcept { return pages_.empty() && stored_.empty(); }

  /// The value at `rank` (from 0) of the sorted values. Sorts the stored ones at the first call after an add.
  /// Precondition: rank is below the count.
  [[nodiscard]] std::uint64_t at_rank(std::uint64_t rank) {
    for (std::size_t page = 0; page < pages_.size(); ++page) {
      for (std::size_t i = 0; i < pages_[page].size(); ++i) {
        const std::uint64_t here = pages_[page][i];
        if (rank < here) return page * page_size + i;
        rank -= here;
      }
    }
    if (!sorted_) std::sort(stored_.begin(), stored_.end());
    sorted_ = true;
    return stored_[static_cast<std::size_t>(rank)];
  }
  /// The value at rank floor(count * numerator / denominator), as llvm-xray has it: no interpolation. `all` is
  /// sum_up(). Precondition: all.count is not 0 and the fraction is below 1.
  [[nodiscard]] std::uint64_t quantile(const totals& all, std::uint64_t numerator, std::uint64_t denominator) {
    return at_rank(all.count / denominator * numerator + all.count % denominator * numerator / denominator);
  }

 private:
  static constexpr std::size_t page_size = 256;
  static constexpr std::size_t counted_values = 65536;
  static constexpr std::size_t stored_at_first = 4096;

  [[nodiscard]] std::uint64_t& counter(std::uint64_t value) {
    auto& page = pages_[static_cast<std::size_t>(value) / page_size];
    if (page.empty()) page.resize(page_size);
    return page[static_cast<std::size_t>(value) % page_size];
  }
  void store(std::uint64_t value) {
    stored_.push_back(value);
    sorted_ = false;
    if (pages_.empty() && stored_.size() > stored_at_first) start_counting();
  }
  template <class F>
  void for_each_counted(F&& f) const {
    for (std::size_t page = 0; page < pages_.size(); ++page) {
      for (std::size_t i = 0; i < pages_[page].size(); ++i) {
        if (pages_[page][i] != 0) f(std::uint64_t{page * page_size + i}, pages_[page][i]);
      }
    }
  }
  /// From here on small values are counted; those stored so far are moved over.
  void start_counting() {
    pages_.resize(counted_values / page_size);
    std::size_t kept = 0;
    for (const std::uint64_t value : stored_) {
      if (value < counted_values) ++counter(value);
      else stored_[kept++] = value;
    }
    stored_.resize(kept);
  }

  std::vector<std::vector<std::uint64_t>> pages_;
  std::vector<std::uint64_t> stored_;
  bool sorted_ = true;
};

}  // namespace backsight::analysis
