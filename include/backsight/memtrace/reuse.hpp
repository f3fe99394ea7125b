// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include <backsight/memtrace/references.hpp>

namespace backsight::memtrace {

/// How many different things were used since the last use of one: its depth in a stack of the latest used. A use costs
/// time in proportion to the logarithm of the number of different things, memory is in proportion to that number.
class use_distance {
 public:
  /// Uses `what`: how many others were used since its last use; nothing for the first.
  std::optional<std::uint64_t> use(std::uint64_t what) {
    if (next_ == slots_.size()) make_room();
    std::optional<std::uint64_t> distance;
    const auto [found, is_new] = last_.try_emplace(what, next_);
    if (!is_new) {
      const std::size_t before = found->second;
      // Each thing stands in the slot of its last use; those behind it were used since.
      distance = last_.size() - sum_to(before) - 1;
      add(before, ~std::uint64_t{0});
      slots_[before].taken = false;
      found->second = next_;
    }
    slots_[next_] = {what, true};
    add(next_++, 1);
    return distance;
  }
  [[nodiscard]] std::uint64_t different() const noexcept { return last_.size(); }

 private:
  struct slot {
    std::uint64_t what = 0;
    bool taken = false;
  };

  /// How many of the slots 0 to `at` before it are taken.
  [[nodiscard]] std::uint64_t sum_to(std::size_t at) const noexcept {
    std::uint64_t sum = 0;
    for (; at != 0; at &= at - 1) sum += sums_[at];
    return sum;
  }
  void add(std::size_t at, std::uint64_t value) noexcept {
    for (++at; at < sums_.size(); at += at & (0 - at)) sums_[at] += value;
  }

  /// Leaves out the slots that are free; half of them are then, at least, so that each use pays for a constant part of
  /// it.
  void make_room() {
    std::vector<slot> kept;
    kept.resize(last_.size() * 2 < smallest ? smallest : last_.size() * 2);
    next_ = 0;
    for (const slot& one : slots_) {
      if (!one.taken) continue;
      last_[one.what] = next_;
      kept[next_++] = one;
    }
    slots_ = std::move(kept);
    sums_.assign(slots_.size() + 1, 0);
    for (std::size_t i = 1; i < sums_.size(); ++i) {
      sums_[i] += i <= next_ ? 1 : 0;
      const std::size_t above = i + (i & (0 - i));
      if (above < sums_.size()) sums_[above] += sums_[i];
    }
  }

  static constexpr std::size_t smallest = 1024;
  std::unordered_map<std::uint64_t, std::size_t> last_;
  std::vector<slot> slots_;
  std::vector<std::uint64_t> sums_;  ///< a Fenwick tree of the taken slots
  std::size_t next_ = 0;
};

/// How often each distance occurred.
class distance_histogram {
 public:
  void add(std::uint64_t distance, std::uint64_t count = 1) {
    counts_[distance] += count;
    uses_ += count;
  }
  distance_histogram& operator+=(const distance_histogram& other) {
    for (const auto& [distance, count] : other.counts_) add(distance, count);
    return *this;
  }
  /// In ascending order of distances.
  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& counts() const noexcept { return counts_; }
  [[nodiscard]] std::uint64_t uses() const noexcept { return uses_; }
  [[nodiscard]] double mean() const {
    double sum = 0;
    for (const auto& [distance, count] : counts_) sum += static_cast<double>(distance) * static_cast<double>(count);
    return uses_ == 0 ? 0 : sum / static_cast<double>(uses_);
  }
  /// The smallest distance that half of the uses, rounded down, do not exceed; 0 without uses. It is that of
  /// DynamoRIO's tool.
  [[nodiscard]] std::uint64_t median() const {
    std::uint64_t seen = 0;
    for (const auto& [distance, count] : counts_) {
      seen += count;
      if (seen >= uses_ / 2) return distance;
    }
    return 0;
  }

 private:
  std::map<std::uint64_t, std::uint64_t> counts_;
  std::uint64_t uses_ = 0;
};

/// The reuse distances of cache lines, as DynamoRIO's tool reuse_distance defines them: instructions, loads, stores and
/// prefetches use the line in which they begin; the distance is the number of other lines that were used since. One
/// thread's references; add the histograms of several. The distances of data alone are those of the data references,
/// among all lines.
class reuse_distance {
 public:
  explicit reuse_distance(std::uint64_t line = 64) : line_(line == 0 ? 1 : line) {}
  void on(const reference& item) {
    const bool is_data = memtrace::is_data(item.type);
    if (!is_data && !is_instruction(item.type)) return;
    ++references_;
    const auto distance = lines_.use(item.address / line_);
    if (!distance) return;
    all_.add(*distance);
    if (is_data && item.type != trace_type::prefetch_instr) data_.add(*distance);
  }
  [[nodiscard]] std::uint64_t references() const noexcept { return references_; }
  /// The different lines.
  [[nodiscard]] std::uint64_t lines() const noexcept { return lines_.different(); }
  [[nodiscard]] const distance_histogram& all() const noexcept { return all_; }
  [[nodiscard]] const distance_histogram& data() const noexcept { return data_; }

 private:
  std::uint64_t line_, references_ = 0;
  use_distance lines_;
  distance_histogram all_, data_;
};

}  // namespace backsight::memtrace
