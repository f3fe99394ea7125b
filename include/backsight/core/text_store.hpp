// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace backsight {

/// Texts that live as long as their store, equal ones once. Several threads may keep texts at once. A copy begins
/// empty, as views of what the other one holds stay those of the other one; what is moved keeps its texts where they
/// are.
class text_store {
 public:
  text_store() = default;
  text_store(const text_store&) {}
  text_store(text_store&& other) noexcept : known_(std::move(other.known_)), pieces_(std::move(other.pieces_)) {}
  text_store& operator=(const text_store&) = delete;
  text_store& operator=(text_store&&) = delete;
  ~text_store() = default;

  /// A view of the same text that lives as long as the store.
  [[nodiscard]] std::string_view keep(std::string_view text) {
    if (text.empty()) return {};
    const std::lock_guard<std::mutex> one_at_a_time(mutex_);
    if (const auto known = known_.find(text); known != known_.end()) return *known;
    if (pieces_.empty() || pieces_.back().capacity() - pieces_.back().size() < text.size()) {
      pieces_.emplace_back();
      pieces_.back().reserve(std::max(piece_size, text.size()));
    }
    std::vector<char>& piece = pieces_.back();
    const std::size_t at = piece.size();
    piece.insert(piece.end(), text.begin(), text.end());
    return *known_.emplace(piece.data() + at, text.size()).first;
  }

 private:
  static constexpr std::size_t piece_size = std::size_t{1} << 16;

  std::mutex mutex_;
  std::unordered_set<std::string_view> known_;
  std::deque<std::vector<char>> pieces_;  ///< Each is filled up to what was reserved, so that nothing moves.
};

}  // namespace backsight
