// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace backsight::analysis {

/// All values of a set of numbers, exact, in little memory: the first 4096 are stored as they are; when there are more,
/// numbers below 65536 are counted one by one in pages of 256, and only larger ones are stored. Memory stays in proportion
/// to what was added. Adding costs a few loads; any rank can be asked for.
class distribution {
 public:
  void add(std::uint64_t value) {
    ++count_;
    sum_ += value;
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
    if (value < counted_values && !pages_.empty()) [[likely]] {
      ++counter(value);
    } else {
      store(value);
    }
  }

  /// Takes in all values of another.
  void merge(const distribution& other) {
    for (std::size_t page = 0; page < other.pages_.size(); ++page) {
      for (std::size_t i = 0; i < other.pages_[page].size(); ++i) {
        const std::uint64_t times = other.pages_[page][i];
        if (times == 0) continue;
        if (pages_.empty()) start_counting();
        counter(page * page_size + i) += times;
        count_ += times;
      }
    }
    for (const std::uint64_t value : other.stored_) {
      ++count_;
      if (value < counted_values && !pages_.empty()) ++counter(value);
      else store(value);
    }
    sum_ += other.sum_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t sum() const noexcept { return sum_; }
  /// 0 when there is no value.
  [[nodiscard]] std::uint64_t min() const noexcept { return count_ == 0 ? 0 : min_; }
  [[nodiscard]] std::uint64_t max() const noexcept { return max_; }

  /// The value at `rank` (from 0) of the sorted values. Sorts the stored ones at the first call after an add.
  /// Precondition: rank < count().
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
  /// The value at rank floor(count * numerator / denominator), as llvm-xray has it: no interpolation.
  /// Precondition: count() is not 0 and the fraction is below 1.
  [[nodiscard]] std::uint64_t quantile(std::uint64_t numerator, std::uint64_t denominator) {
    return at_rank(count_ / denominator * numerator + count_ % denominator * numerator / denominator);
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

  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t min_ = ~std::uint64_t{0};
  std::uint64_t max_ = 0;
  std::vector<std::vector<std::uint64_t>> pages_;
  std::vector<std::uint64_t> stored_;
  bool sorted_ = true;
};

}  // namespace backsight::analysis
