// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <backsight/cfi/table_format.hpp>
#include <backsight/cfi/table_search.hpp>
#include <backsight/core/record.hpp>

namespace backsight::cfi::detail {

/// The ids of a bucket's rows and the granules where they begin.
struct bucket_rows {
  static constexpr std::uint8_t rare = id_rarest;  ///< A rule without an id of its own, which is no part of a sequence.
  std::array<std::uint8_t, 256> starts;
  std::array<std::uint8_t, 256> ids;
  std::size_t count = 0;
};

/// The sequences of rows that a table has an id for.
class row_sequences {
 public:
  struct sequence {
    std::vector<std::uint8_t> distances, ids;  // Of each row; the first distance is 0.
  };

  row_sequences() : edges_(edge_slots), ends_(256), starts_some_(256) {}

  void add(const sequence& made) {
    std::uint32_t node = made.ids[0];
    starts_some_[node] = true;
    for (std::size_t k = 1; k < made.ids.size(); ++k) {
      const std::uint32_t key = key_of(node, made.distances[k] - std::uint32_t{made.distances[k - 1]}, made.ids[k]);
      edge& at = edges_[slot_of(key)];
      if (at.key == 0) {
        at = {key, static_cast<std::uint32_t>(ends_.size())};
        ends_.push_back(0);
      }
      node = at.to;
    }
    all_.push_back(made);
    ends_[node] = static_cast<std::uint8_t>(all_.size());
  }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

  /// The longest sequence that the rows from `first` on begin with: its number and how many rows it has; 0 rows for none.
  struct found {
    std::size_t number = 0, rows = 0;
  };
  [[nodiscard]] found match(const bucket_rows& in, std::size_t first) const noexcept {
    found best;
    std::uint32_t node = in.ids[first];
    if (!starts_some_[node]) return best;
    for (std::size_t i = first + 1; i < in.count; ++i) {
      const std::uint32_t key = key_of(node, in.starts[i] - std::uint32_t{in.starts[i - 1]}, in.ids[i]);
      const edge& at = edges_[slot_of(key)];
      if (at.key == 0) break;
      node = at.to;
      if (ends_[node] != 0) best = {ends_[node] - std::size_t{1}, i + 1 - first};
    }
    return best;
  }

  [[nodiscard]] owned_record<table_sequence, order::little> image(std::size_t number) const noexcept {
    const sequence& s = all_[number];
    std::array<std::byte, 15> distances{};
    std::array<std::byte, 16> ids{};
    for (std::size_t k = 0; k < s.ids.size(); ++k) {
      if (k > 0) distances[k - 1] = static_cast<std::byte>(s.distances[k]);
      ids[k] = static_cast<std::byte>(s.ids[k]);
    }
    return owned_record<table_sequence, order::little>{}
        .set(table_sequence::more, static_cast<std::uint8_t>(s.ids.size() - 1))
        .set(table_sequence::distances, distances)
        .set(table_sequence::ids, ids);
  }

 private:
  // A tree of rows: an edge leads from a node by a distance and an id to the next. Nodes below 256 are first ids.
  struct edge {
    std::uint32_t key = 0, to = 0;
  };
  static constexpr unsigned edge_bits = 12;
  static constexpr std::size_t edge_slots = std::size_t{1} << edge_bits;
  static_assert(most_sequences * most_sequence_rows * 2 <= edge_slots);

  [[nodiscard]] static std::uint32_t key_of(std::uint32_t node, std::uint32_t distance, std::uint8_t id) noexcept {
    return (node << 16U | distance << 8U | id) + 1;
  }
  [[nodiscard]] std::size_t slot_of(std::uint32_t key) const noexcept {
    std::size_t at = (key * 0x9e3779b1U) >> (32 - edge_bits);
    while (edges_[at].key != key && edges_[at].key != 0) at = (at + 1) & (edge_slots - 1);
    return at;
  }

  std::vector<edge> edges_;
  std::vector<std::uint8_t> ends_;  // Of a node: the sequence that ends there and 1, or 0.
  std::vector<bool> starts_some_;
  std::vector<sequence> all_;
};

/// Learns sequences from a sample of rows: makes the most frequent pair of neighbours one symbol, again and again. A pair's
/// count is kept up to date where symbols change, so that all of it takes little more than linear time.
class sequence_learner {
 public:
  /// Adds the rows of a bucket.
  void add(const bucket_rows& rows) {
    for (std::size_t i = 0; i < rows.count; ++i) {
      const bool last = i + 1 == rows.count;
      const auto here = static_cast<std::uint32_t>(symbols_.size());
      symbols_.push_back({rows.ids[i], rows.starts[i], i == 0 ? none : here - 1, last ? none : here + 1});
    }
  }
  [[nodiscard]] std::size_t size() const noexcept { return symbols_.size(); }

  /// Fills `out`. `rows` is the number of rows that the sample stands for: a sequence has to save its own bytes.
  void learn(std::size_t rows, row_sequences& out) {
    if (symbols_.empty()) return;
    kinds_.resize(256);
    for (std::size_t id = 0; id < 256; ++id) kinds_[id].rows = {{0}, {static_cast<std::uint8_t>(id)}};
    slot_bits_ = static_cast<unsigned>(std::bit_width(symbols_.size() * 4));
    slots_.assign(std::size_t{1} << slot_bits_, 0);
    pair_of_.assign(symbols_.size(), none);
    pairs_.reserve(symbols_.size());
    for (std::uint32_t i = 0; i < symbols_.size(); ++i) ++kinds_[symbols_[i].id].uses;
    for (std::uint32_t i = 0; i < symbols_.size(); ++i) count_pair(i);
    queue_new_counts();
    const double scale = static_cast<double>(rows) / static_cast<double>(symbols_.size());
    // A row less is two bytes less.
    const auto saves = [&](std::size_t uses, std::size_t rows_less) {
      return 2.0 * scale * static_cast<double>(uses * rows_less) > static_cast<double>(size_of<table_sequence>);
    };
    while (kinds_.size() < 256 + most_sequences) {
      const std::uint32_t best = most_frequent();
      if (best == none || !saves(pairs_[best].count, 1)) break;
      merge(best);
    }
    // What grew into others may not be worth its bytes any more.
    for (std::size_t i = 256; i < kinds_.size(); ++i) {
      if (saves(kinds_[i].uses, kinds_[i].rows.ids.size() - 1)) out.add(kinds_[i].rows);
    }
  }

 private:
  static constexpr std::uint32_t none = 0xffffffffU;

  struct symbol {
    std::uint32_t id = 0;     // Of a row, or 256 and the number of a sequence.
    std::uint32_t start = 0;  // Of its first row, in granules of the bucket.
    std::uint32_t before = none, behind = none;
  };
  struct symbol_kind {
    row_sequences::sequence rows;
    std::size_t uses = 0;
    [[nodiscard]] std::uint32_t extent() const noexcept { return rows.distances.back(); }
  };
  struct pair {
    std::uint32_t first = 0, distance = 0, second = 0;
    std::uint32_t count = 0;
    bool is_new = true;
    std::vector<std::uint32_t> places;  // Symbols that began it once.
  };

  [[nodiscard]] bool may_join(std::uint32_t a, std::uint32_t distance, std::uint32_t b) const noexcept {
    const symbol_kind& x = kinds_[a];
    const symbol_kind& y = kinds_[b];
    return a != bucket_rows::rare && b != bucket_rows::rare && x.rows.ids.back() != id_aligned_gap &&
           x.rows.ids.size() + y.rows.ids.size() <= most_sequence_rows && distance + y.extent() <= 255;
  }
  /// The number of the pair that a symbol begins.
  [[nodiscard]] std::uint32_t pair_number(std::uint32_t a, std::uint32_t distance, std::uint32_t b) {
    const std::uint64_t hash = ((std::uint64_t{a} << 20 | std::uint64_t{distance} << 10 | b) + 1) * 0x9e3779b97f4a7c15U;
    for (auto at = static_cast<std::size_t>(hash >> (64 - slot_bits_));; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at] == 0) {
        // So many pairs are far more than a sample has.
        if (pairs_.size() * 2 >= slots_.size()) return none;
        pairs_.push_back({a, distance, b, 0, true, {}});
        slots_[at] = static_cast<std::uint32_t>(pairs_.size());
        return slots_[at] - 1;
      }
      const pair& p = pairs_[slots_[at] - 1];
      if (p.first == a && p.distance == distance && p.second == b) return slots_[at] - 1;
    }
  }
  void count_pair(std::uint32_t i) {
    const symbol& s = symbols_[i];
    if (s.behind == none) return;
    const symbol& t = symbols_[s.behind];
    const std::uint32_t distance = t.start - s.start;
    if (!may_join(s.id, distance, t.id)) return;
    const std::uint32_t number = pair_number(s.id, distance, t.id);
    if (number == none) return;
    pair_of_[i] = number;
    pair& p = pairs_[number];
    ++p.count;
    p.places.push_back(i);
    if (p.is_new) {
      p.is_new = false;
      grown_.push_back(number);
    }
  }
  void forget_pair(std::uint32_t i) {
    if (pair_of_[i] == none) return;
    --pairs_[pair_of_[i]].count;
    pair_of_[i] = none;
  }
  /// Puts pairs that were counted up where most_frequent finds them.
  void queue_new_counts() {
    for (const std::uint32_t number : grown_) {
      pairs_[number].is_new = true;
      queue(number);
    }
    grown_.clear();
  }
  void queue(std::uint32_t number) {
    const std::size_t count = pairs_[number].count;
    if (queued_.size() <= count) queued_.resize(count + 1);
    queued_[count].push_back(number);
  }
  /// The pair that occurs most often, once at least; counts may have fallen since it was queued.
  [[nodiscard]] std::uint32_t most_frequent() {
    while (queued_.size() > 1) {
      if (queued_.back().empty()) {
        queued_.pop_back();
        continue;
      }
      const std::uint32_t number = queued_.back().back();
      queued_.back().pop_back();
      if (pairs_[number].count + 1 == queued_.size()) return number;
      if (pairs_[number].count != 0) queue(number);
    }
    return none;
  }
  void merge(std::uint32_t number) {
    const pair of = pairs_[number];
    const auto made = static_cast<std::uint32_t>(kinds_.size());
    symbol_kind joined{kinds_[of.first].rows, 0};
    for (std::size_t k = 0; k < kinds_[of.second].rows.ids.size(); ++k) {
      joined.rows.distances.push_back(static_cast<std::uint8_t>(of.distance + kinds_[of.second].rows.distances[k]));
      joined.rows.ids.push_back(kinds_[of.second].rows.ids[k]);
    }
    kinds_.push_back(std::move(joined));
    for (const std::uint32_t i : of.places) {
      if (pair_of_[i] != number) continue;
      symbol& s = symbols_[i];
      const std::uint32_t second = s.behind;
      forget_pair(i);
      forget_pair(second);
      if (s.before != none) forget_pair(s.before);
      s.id = made;
      s.behind = symbols_[second].behind;
      if (s.behind != none) symbols_[s.behind].before = i;
      ++kinds_[made].uses;
      --kinds_[of.first].uses;
      --kinds_[of.second].uses;
      count_pair(i);
      if (s.before != none) count_pair(s.before);
    }
    queue_new_counts();
  }

  unsigned slot_bits_ = 0;  // There are so many slots, 2 to this: more than four for each symbol.
  std::vector<symbol> symbols_;
  std::vector<symbol_kind> kinds_;  // By id.
  std::vector<pair> pairs_;
  std::vector<std::uint32_t> pair_of_;  // Of a symbol: the pair that it begins.
  std::vector<std::uint32_t> slots_;    // A pair's number and 1, by hash.
  std::vector<std::uint32_t> grown_;
  std::vector<std::vector<std::uint32_t>> queued_;  // By count.
};

}  // namespace backsight::cfi::detail
