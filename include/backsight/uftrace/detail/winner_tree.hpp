// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace backsight::uftrace::detail {

/// Keeps the earliest of many sources, the lower index first on ties. Changing one time costs log2(sources)
/// comparisons.
class winner_tree {
 public:
  explicit winner_tree(std::size_t sources = 0) : times_(sources, ~std::uint64_t{0}), ended_(sources, 1) {
    while (leaves_ < sources) leaves_ *= 2;
    nodes_.assign(leaves_, sources);
    for (std::size_t i = 0; i < sources; ++i) update(i);
  }
  /// Source `i` goes on at that time.
  void set(std::size_t i, std::uint64_t time) {
    times_[i] = time;
    ended_[i] = 0;
    update(i);
  }
  /// Source `i` has no more.
  void end(std::size_t i) {
    times_[i] = ~std::uint64_t{0};
    ended_[i] = 1;
    update(i);
  }
  [[nodiscard]] bool empty() const noexcept { return times_.empty() || ended_[winner()] != 0; }
  /// The source with the smallest time. Precondition: there is a source.
  [[nodiscard]] std::size_t winner() const noexcept { return times_.size() < 2 ? 0 : nodes_[1]; }
  [[nodiscard]] std::uint64_t time() const noexcept { return times_[winner()]; }
  /// The source that comes out behind the winner if that ends; the number of sources when there is none. The siblings
  /// on the winner's way up are all that can.
  [[nodiscard]] std::size_t runner_up() const noexcept {
    std::size_t best = times_.size();
    if (times_.size() < 2) return best;
    for (std::size_t node = winner() + leaves_; node > 1; node /= 2) {
      const std::size_t other = child(node ^ 1);
      if (other < times_.size() && ended_[other] == 0 && (best == times_.size() || earlier(other, best))) best = other;
    }
    return best;
  }
  [[nodiscard]] std::uint64_t time_of(std::size_t source) const noexcept { return times_[source]; }

 private:
  [[nodiscard]] bool earlier(std::size_t a, std::size_t b) const noexcept {
    if (times_[a] != times_[b]) return times_[a] < times_[b];
    if (ended_[a] != ended_[b]) return ended_[a] < ended_[b];
    return a < b;
  }
  [[nodiscard]] std::size_t child(std::size_t node) const noexcept {
    if (node < leaves_) return nodes_[node];
    return node - leaves_ < times_.size() ? node - leaves_ : times_.size();
  }
  void update(std::size_t i) noexcept {
    if (times_.size() < 2) return;
    for (std::size_t node = (i + leaves_) / 2; node >= 1; node /= 2) {
      const std::size_t left = child(2 * node), right = child(2 * node + 1);
      nodes_[node] = right >= times_.size() || (left < times_.size() && !earlier(right, left)) ? left : right;
    }
  }

  std::vector<std::uint64_t> times_;
  std::vector<std::uint8_t> ended_;
  std::vector<std::size_t> nodes_;
  std::size_t leaves_ = 1;
};

}  // namespace backsight::uftrace::detail
