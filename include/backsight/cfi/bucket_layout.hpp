// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <backsight/cfi/table_format.hpp>

namespace backsight::cfi {

// How rows are laid out in buckets of 256 granules, in tables and in the arrays of emitted C source.

/// The granule that suits all addresses whose bits are set in `bits`, as a power of two: 16 bytes at most.
[[nodiscard]] constexpr int granule_bits_of(std::uint64_t bits) noexcept { return std::countr_zero(bits | 16); }

/// Rows one after the other, with a look at the next one. Reader has done(), current() with members `start` and `rule`,
/// advance() and no_rule.
template <class Reader>
struct row_window {
  using row = typename Reader::row;
  row now;
  Reader next;
  bool done = false;

  explicit row_window(const Reader& from) : next(from) { advance(); }
  void advance() {
    done = next.done();
    now = next.current();
    next.advance();
  }
  /// A gap up to the next multiple of 16 with rows behind it.
  [[nodiscard]] bool is_aligned_gap() const {
    return now.rule == Reader::no_rule && !next.done() && now.start % 16 != 0 &&
           next.current().start == (now.start | 15) + 1;
  }
};

/// Reads the rows that begin in a bucket, which is `bytes` long: on_gap(start, id) and on_rule(start, rule), start
/// counted from `begin`. An aligned gap with the rule `entry` behind it is one row with that one where may_join(the
/// start of that one).
// Inline always: out of line, what the callbacks count lies in memory, and building a table takes 4 % more instructions
// (GCC 12).
template <class Reader, class MayJoin, class OnGap, class OnRule>
[[gnu::always_inline]] inline void read_bucket(row_window<Reader>& from, std::uint64_t begin, std::uint64_t bytes,
                                               std::uint32_t entry, MayJoin&& may_join, OnGap&& on_gap,
                                               OnRule&& on_rule) {
  row_window<Reader> at = from;  // A local one stays in registers.
  for (; !at.done && at.now.start - begin < bytes; at.advance()) {
    const std::uint64_t start = at.now.start - begin;
    if (at.now.rule != Reader::no_rule) {
      on_rule(start, at.now.rule);
      continue;
    }
    const bool both = at.is_aligned_gap() && at.next.current().rule == entry && may_join(at.next.current().start);
    on_gap(start, both ? id_aligned_gap : id_gap);
    if (both) at.advance();
  }
  from = at;
}

/// Cuts rows into runs of units, each of one bucket or more: a run ends where the next row is `reach` units away. For
/// each run on_run(begin), and for each of its units on_unit(begin), which reads the rows that begin in the `bytes`
/// from there on, until one is false; gives whether none was.
template <class Reader, class OnRun, class OnUnit>
[[nodiscard]] bool for_each_unit(row_window<Reader>& at, std::uint64_t bytes, std::uint64_t reach, OnRun&& on_run,
                                 OnUnit&& on_unit) {
  while (!at.done) {
    std::uint64_t begin = at.now.start / bytes * bytes;
    on_run(begin);
    for (; !at.done && at.now.start - begin < bytes * reach; begin += bytes) {
      if (!on_unit(begin)) return false;
    }
  }
  return true;
}

/// Orders rules by how often they are used; the first is that of entries, which follows most gaps. As many as a table
/// may have.
class rule_ranking {
 public:
  rule_ranking() = default;
  explicit rule_ranking(std::size_t rules) : uses_(rules), entries_(rules) {}

  void count(std::uint32_t rule) noexcept { ++uses_[rule]; }
  void count_entry(std::uint32_t rule) noexcept { ++entries_[rule]; }
  void rank() {
    entry_ = static_cast<std::uint32_t>(std::max_element(entries_.begin(), entries_.end()) - entries_.begin());
    ranked_.resize(uses_.size());
    for (std::size_t i = 0; i < ranked_.size(); ++i) ranked_[i] = static_cast<std::uint32_t>(i);
    std::sort(ranked_.begin(), ranked_.end(), [&](std::uint32_t a, std::uint32_t b) {
      if ((a == entry_) != (b == entry_)) return a == entry_;
      return uses_[a] != uses_[b] ? uses_[a] > uses_[b] : a < b;
    });
    order_of_.resize(ranked_.size());
    for (std::size_t i = 0; i < ranked_.size(); ++i) order_of_[ranked_[i]] = static_cast<std::uint16_t>(i);
  }
  /// Once they are ranked: the rules in their order, the place of each in it, and the one of entries.
  [[nodiscard]] const std::vector<std::uint32_t>& ranked() const noexcept { return ranked_; }
  [[nodiscard]] std::uint16_t order_of(std::uint32_t rule) const noexcept { return order_of_[rule]; }
  [[nodiscard]] std::uint32_t entry() const noexcept { return entry_; }

 private:
  std::vector<std::uint32_t> uses_, entries_, ranked_;
  std::vector<std::uint16_t> order_of_;
  std::uint32_t entry_ = 0;
};

}  // namespace backsight::cfi
