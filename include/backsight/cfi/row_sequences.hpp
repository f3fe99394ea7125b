// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <backsight/cfi/numbering.hpp>
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
    std::array<std::uint8_t, most_sequence_rows> distances{}, ids{};  // Of each row; the first distance is 0.
    std::uint8_t rows = 0;
  };

  row_sequences() = default;
  explicit row_sequences(std::vector<sequence> all) : all_(std::move(all)) {
    std::size_t rows = 0;
    for (const sequence& one : all_) rows += one.rows;
    edge_bits_ = static_cast<unsigned>(std::bit_width(rows * 2));
    edges_.resize(std::size_t{1} << edge_bits_);
    ends_.resize(256);
    for (std::size_t i = 0; i < all_.size(); ++i) plant(all_[i], static_cast<std::uint8_t>(i + 1));
  }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

  /// The longest sequence that the rows from `first` on begin with: its number and how many rows it has; 0 rows for
  /// none.
  struct found {
    std::size_t number = 0, rows = 0;
  };
  [[nodiscard]] found match(const bucket_rows& in, std::size_t first) const noexcept {
    found best;
    std::uint32_t node = in.ids[first];
    for (std::size_t i = first + 1; i < in.count; ++i) {
      const std::uint32_t key = key_of(node, in.starts[i] - std::uint32_t{in.starts[i - 1]}, in.ids[i]);
      const edge& at = edges_[slot_of(key)];
      if (at.key == 0) break;
      node = at.to;
      if (ends_[node] != 0) best = {ends_[node] - std::size_t{1}, i + 1 - first};
    }
    return best;
  }
  /// Some sequence begins with a row of this id.
  [[nodiscard]] bool starts_with(std::uint8_t id) const noexcept { return starts_some_[id] != 0; }

  [[nodiscard]] owned_record<table_sequence, order::little> image(std::size_t number) const noexcept {
    const sequence& s = all_[number];
    std::array<std::byte, 15> distances{};
    std::array<std::byte, 16> ids{};
    for (std::size_t k = 0; k < s.rows; ++k) {
      if (k > 0) distances[k - 1] = static_cast<std::byte>(s.distances[k]);
      ids[k] = static_cast<std::byte>(s.ids[k]);
    }
    return owned_record<table_sequence, order::little>{}
        .set(table_sequence::more, static_cast<std::uint8_t>(s.rows - 1))
        .set(table_sequence::distances, distances)
        .set(table_sequence::ids, ids);
  }

 private:
  // A tree of rows: an edge leads from a node by a distance and an id to the next. Nodes below 256 are first ids.
  struct edge {
    std::uint32_t key = 0, to = 0;
  };

  void plant(const sequence& one, std::uint8_t end) {
    std::uint32_t node = one.ids[0];
    starts_some_[node] = 1;
    for (std::size_t k = 1; k < one.rows; ++k) {
      const std::uint32_t key = key_of(node, one.distances[k] - std::uint32_t{one.distances[k - 1]}, one.ids[k]);
      edge& at = edges_[slot_of(key)];
      if (at.key == 0) {
        at = {key, static_cast<std::uint32_t>(ends_.size())};
        ends_.push_back(0);
      }
      node = at.to;
    }
    ends_[node] = end;
  }
  [[nodiscard]] static std::uint32_t key_of(std::uint32_t node, std::uint32_t distance, std::uint8_t id) noexcept {
    return (node << 16U | distance << 8U | id) + 1;
  }
  [[nodiscard]] std::size_t slot_of(std::uint32_t key) const noexcept {
    std::size_t at = (key * 0x9e3779b1U) >> (32 - edge_bits_);
    while (edges_[at].key != key && edges_[at].key != 0) at = (at + 1) & (edges_.size() - 1);
    return at;
  }

  unsigned edge_bits_ = 0;          // There are so many slots, 2 to this: more than two for each row of a sequence.
  std::vector<edge> edges_;         // Empty while there are no sequences, and nothing starts with any.
  std::vector<std::uint8_t> ends_;  // Of a node: the sequence that ends there and 1, or 0.
  std::array<std::uint8_t, 256> starts_some_{};
  std::vector<sequence> all_;
};

/// Learns sequences from a sample of rows: makes the most frequent pair of neighbours one symbol, again and again. A
/// pair's count is kept up to date where symbols change, so that all of it takes little more than linear time.
class sequence_learner {
 public:
  /// Room for so many rows is made at once.
  explicit sequence_learner(std::size_t rows) { symbols_.reserve(rows); }

  /// Adds the rows of a bucket.
  void add(const bucket_rows& rows) {
    for (std::size_t i = 0; i < rows.count; ++i) {
      const bool last = i + 1 == rows.count;
      const auto here = static_cast<std::uint32_t>(symbols_.size());
      symbols_.push_back({rows.ids[i], rows.starts[i], i == 0 ? none : here - 1, last ? none : here + 1, none});
    }
  }
  [[nodiscard]] std::size_t size() const noexcept { return symbols_.size(); }

  /// The sequences. `rows` is the number of rows that the sample stands for: a sequence has to save its own bytes.
  [[nodiscard]] std::vector<row_sequences::sequence> learn(std::size_t rows) {
    std::vector<row_sequences::sequence> made;
    if (symbols_.empty()) return made;
    kinds_.resize(256);
    for (std::size_t id = 0; id < 256; ++id) {
      kinds_[id].rows.ids[0] = static_cast<std::uint8_t>(id);
      kinds_[id].rows.rows = 1;
    }
    places_.reserve(symbols_.size());
    for (const symbol& s : symbols_) ++kinds_[s.id].uses;
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
      if (saves(kinds_[i].uses, kinds_[i].rows.rows - std::size_t{1})) made.push_back(kinds_[i].rows);
    }
    return made;
  }

 private:
  static constexpr std::uint32_t none = 0xffffffffU;

  struct symbol {
    std::uint16_t id = 0;     // Of a row, or 256 and the number of a sequence.
    std::uint16_t start = 0;  // Of its first row, in granules of the bucket.
    std::uint32_t before = none, behind = none;
    std::uint32_t begins = none;  // The pair that it is the first of.
  };
  struct symbol_kind {
    row_sequences::sequence rows;
    std::uint32_t uses = 0;
    [[nodiscard]] std::uint32_t extent() const noexcept { return rows.distances[rows.rows - std::size_t{1}]; }
  };
  struct pair {
    std::uint16_t first = 0, second = 0;
    std::uint32_t distance = 0;
    std::uint32_t count = 0;
    std::uint32_t first_place = none, last_place = none;
    bool is_new = true;
  };
  /// A symbol that began a pair once, or a pair that waits at a count; and the next of its list.
  struct link {
    std::uint32_t what = 0, next = none;
  };

  [[nodiscard]] bool may_join(std::uint32_t a, std::uint32_t distance, std::uint32_t b) const noexcept {
    const row_sequences::sequence& x = kinds_[a].rows;
    return a != bucket_rows::rare && b != bucket_rows::rare && x.ids[x.rows - std::size_t{1}] != id_aligned_gap &&
           std::size_t{x.rows} + kinds_[b].rows.rows <= most_sequence_rows && distance + kinds_[b].extent() <= 255;
  }
  void count_pair(std::uint32_t i) {
    symbol& s = symbols_[i];
    if (s.behind == none) return;
    const symbol& t = symbols_[s.behind];
    const auto distance = static_cast<std::uint32_t>(t.start - s.start);
    if (!may_join(s.id, distance, t.id)) return;
    const std::uint32_t number = numbers_.number({std::uint64_t{s.id} << 32 | std::uint64_t{distance} << 16 | t.id});
    if (number == pairs_.size()) pairs_.push_back({s.id, t.id, distance});
    pair& p = pairs_[number];
    const auto place = static_cast<std::uint32_t>(places_.size());
    places_.push_back({i, none});
    (p.last_place == none ? p.first_place : places_[p.last_place].next) = place;
    p.last_place = place;
    s.begins = number;
    ++p.count;
    if (p.is_new) {
      p.is_new = false;
      grown_.push_back(number);
    }
  }
  void forget_pair(std::uint32_t i) noexcept {
    symbol& s = symbols_[i];
    if (s.begins == none) return;
    --pairs_[s.begins].count;
    s.begins = none;
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
    if (queued_.size() <= count) queued_.resize(count + 1, none);
    waiting_.push_back({number, queued_[count]});
    queued_[count] = static_cast<std::uint32_t>(waiting_.size() - 1);
  }
  /// The pair that occurs most often, once at least; counts may have fallen since it was queued.
  [[nodiscard]] std::uint32_t most_frequent() {
    while (queued_.size() > 1) {
      if (queued_.back() == none) {
        queued_.pop_back();
        continue;
      }
      const link first = waiting_[queued_.back()];
      queued_.back() = first.next;
      if (pairs_[first.what].count + 1 == queued_.size()) return first.what;
      if (pairs_[first.what].count != 0) queue(first.what);
    }
    return none;
  }
  void merge(std::uint32_t number) {
    const pair of = pairs_[number];
    const auto made = static_cast<std::uint16_t>(kinds_.size());
    symbol_kind joined{kinds_[of.first].rows, 0};
    const row_sequences::sequence& more = kinds_[of.second].rows;
    for (std::size_t k = 0; k < more.rows; ++k) {
      joined.rows.distances[joined.rows.rows] = static_cast<std::uint8_t>(of.distance + more.distances[k]);
      joined.rows.ids[joined.rows.rows++] = more.ids[k];
    }
    kinds_.push_back(joined);
    for (std::uint32_t place = of.first_place; place != none; place = places_[place].next) {
      const std::uint32_t i = places_[place].what;
      symbol& s = symbols_[i];
      if (s.begins != number) continue;
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

  std::vector<symbol> symbols_;
  std::vector<symbol_kind> kinds_;  // By id.
  numbering<1> numbers_;            // Of pairs, by symbols and distance.
  std::vector<pair> pairs_;
  std::vector<link> places_;
  std::vector<std::uint32_t> grown_;
  std::vector<std::uint32_t> queued_;  // By count: the first of a list in `waiting_`.
  std::vector<link> waiting_;
};

}  // namespace backsight::cfi::detail
