// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace backsight::cfi {

/// A value that is read while it is replaced. A reader takes no lock, waits for nobody and allocates nothing, so that
/// it may be in a signal handler, of the thread that replaces the value too. Those who replace it take turns (the
/// caller's lock); they do not wait for readers either: a value that readers may still have is freed at a later turn.
template <class T>
class published {
 public:
  published() : current_(new T) {}
  published(const published&) = delete;
  published& operator=(const published&) = delete;
  /// No reader may be left.
  ~published() {
    for (const std::vector<T*>* list : {&waiting_, &retired_}) {
      for (T* one : *list) delete one;
    }
    delete current_.load();
  }

  /// Holds the value that was current when it was made.
  class reader {
   public:
    explicit reader(const published& of) noexcept {
      // Threads that have other stacks count in other places, mostly, so that they do not share a cache line.
      const auto here = reinterpret_cast<std::uintptr_t>(this);
      const std::size_t place = (here >> 12 ^ here >> 23) % places;
      // Not the current turn is counted, but the one seen here: a turn that has passed meanwhile is waited for as well.
      count_ = &of.readers_[of.turn_.load(std::memory_order_seq_cst) & 1U][place].count;
      count_->fetch_add(1, std::memory_order_seq_cst);
      value_ = of.current_.load(std::memory_order_seq_cst);
    }
    reader(const reader&) = delete;
    reader& operator=(const reader&) = delete;
    ~reader() { count_->fetch_sub(1, std::memory_order_release); }
    [[nodiscard]] const T& operator*() const noexcept { return *value_; }
    [[nodiscard]] const T* operator->() const noexcept { return value_; }

   private:
    std::atomic<std::uint32_t>* count_;
    const T* value_;
  };

  /// The value, for those who replace it.
  [[nodiscard]] const T& latest() const noexcept { return *current_.load(std::memory_order_relaxed); }
  /// Replaces the value, and frees what no reader has any more.
  void publish(T&& next) {
    retired_.reserve(retired_.size() + 1);
    retired_.push_back(current_.exchange(new T(std::move(next)), std::memory_order_seq_cst));
    reclaim();
  }
  /// Frees what no reader has any more. What was retired before a turn is free when both counts were seen at zero: that
  /// of the turn before, for readers that were late, and after the change of turns that of this one.
  void reclaim() {
    for (;;) {
      if (!changed_) {
        if (waiting_.empty()) std::swap(waiting_, retired_);
        if (waiting_.empty() || in_use(turn_.load(std::memory_order_relaxed) + 1)) return;
        turn_.fetch_add(1, std::memory_order_seq_cst);
        changed_ = true;
      }
      if (in_use(turn_.load(std::memory_order_relaxed) + 1)) return;
      for (T* one : waiting_) delete one;
      waiting_.clear();
      changed_ = false;
    }
  }
  /// Values that are not freed yet.
  [[nodiscard]] std::size_t retired() const noexcept { return waiting_.size() + retired_.size(); }

 private:
  static constexpr std::size_t places = 16;
  struct alignas(64) counter {
    mutable std::atomic<std::uint32_t> count{0};
  };
  [[nodiscard]] bool in_use(std::uint32_t turn) const noexcept {
    for (const counter& c : readers_[turn & 1U]) {
      if (c.count.load(std::memory_order_seq_cst) != 0) return true;
    }
    return false;
  }

  std::atomic<T*> current_;
  std::atomic<std::uint32_t> turn_{0};
  mutable std::array<std::array<counter, places>, 2> readers_;
  std::vector<T*> waiting_, retired_;
  bool changed_ = false;  // The turn has changed since `waiting_` was filled.
};

}  // namespace backsight::cfi
