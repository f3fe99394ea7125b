// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include <backsight/analysis/call_stack.hpp>
#include <backsight/core/event.hpp>

namespace backsight::analysis {

/// The stacks of all threads of a part. An event of the same thread as the one before costs a comparison, others a
/// look-up.
class call_stacks {
 public:
  call_stacks() = default;
  call_stacks(const call_stacks& other) : stacks_(other.stacks_), faults_(other.faults_) {}
  call_stacks(call_stacks&& other) noexcept : stacks_(std::move(other.stacks_)), faults_(other.faults_) {
    other.last_ = nullptr;
  }
  call_stacks& operator=(call_stacks other) noexcept {
    stacks_.swap(other.stacks_);
    faults_ = other.faults_;
    last_ = nullptr;
    return *this;
  }
  ~call_stacks() = default;

  /// The stack of the event's thread; valid until finish().
  template <call_event Event>
  [[nodiscard]] call_stack& of(const Event& event) {
    const key wanted{static_cast<std::int64_t>(event.process), static_cast<std::uint64_t>(event.thread)};
    if (last_key_ != wanted || last_ == nullptr) [[unlikely]]
      find(wanted);
    return *last_;
  }

  /// f(pair of process and thread, stack) for each stack, by process and thread.
  template <class F>
  void for_each(F&& f) const {
    for (const auto& [thread, stack] : stacks_) f(thread, stack);
  }

  /// Counts what is still open as unfinished and forgets all stacks: the end of a part.
  void finish() {
    for (auto& [thread, stack] : stacks_) {
      stack.finish();
      faults_.add(stack.faults());
    }
    stacks_.clear();
    last_ = nullptr;
  }

  /// What the events of finished parts could not be made into calls.
  [[nodiscard]] const call_faults& faults() const noexcept { return faults_; }
  void merge(const call_stacks& other) noexcept { faults_.add(other.faults_); }

 private:
  using key = std::pair<std::int64_t, std::uint64_t>;
  [[gnu::noinline]] void find(
      const key& wanted) {  // GCC 12 puts the look-up into the loop over events otherwise: 4 % of a report.
    last_ = &stacks_[wanted];
    last_key_ = wanted;
  }

  std::map<key, call_stack> stacks_;
  call_faults faults_;
  key last_key_{};
  call_stack* last_ = nullptr;  ///< that of last_key_; null when there is none
};

}  // namespace backsight::analysis
