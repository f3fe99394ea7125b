// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/analysis/by_function.hpp>
#include <backsight/core/any_call_trace.hpp>
#include <backsight/core/text_store.hpp>

namespace backsight::analysis {

/// Several traces as one, a view of them all. Functions stay those of their traces: two of one name have two numbers,
/// see `renumbered` of the analyses. Times are those of the traces' to_ns(): of one clock, or they mean nothing beside
/// each other. Processes of all but the first trace have other numbers, so that threads of two traces are never one;
/// place_of() tells the true ones. Precondition: all units are equal.
class joined_traces {
 public:
  using event_type = any_call_event;

  struct source {
    any_call_trace trace;
    std::string name;  ///< Stands in front of the files that faults are in, and behind the names of processes.
  };
  /// The trace and the process that a number of a process stands for.
  struct place {
    std::size_t trace = 0;
    std::int64_t process = 0;
  };

  class part_type {
   public:
    template <class F, class OnFault>
    void for_each_event(F&& f, OnFault&& on_fault) const {
      by_function<std::uint64_t> numbers;  // One more; 0 for those that are not known yet.
      std::int64_t known = std::numeric_limits<std::int64_t>::min(), process = 0;
      const any_call_trace& trace = from_->sources_[trace_].trace;
      trace.part(index_).for_each_event(
          [&](const any_call_event& given) {
            any_call_event event = given;
            std::uint64_t& number = numbers[given.function];
            if (number == 0) number = from_->number_of(trace_, given.function) + 1;
            event.function = number - 1;
            event.time = trace.to_ns(given.time);
            if (given.process != known) {
              known = given.process;
              process = from_->process_of(trace_, known);
            }
            event.process = process;
            f(static_cast<const any_call_event&>(event));
          },
          [&](std::string_view file, const fault& found) { on_fault(from_->file_of(trace_, file), found); });
    }

   private:
    friend joined_traces;
    part_type(const joined_traces& from, std::size_t trace, std::size_t index) noexcept
        : from_(&from), trace_(trace), index_(index) {}
    const joined_traces* from_;
    std::size_t trace_, index_;
  };

  explicit joined_traces(std::vector<source> of) : sources_(std::move(of)) {
    for (const source& one : sources_) {
      first_part_.push_back(part_count_);
      part_count_ += one.trace.part_count();
    }
  }

  [[nodiscard]] const std::vector<source>& sources() const noexcept { return sources_; }
  [[nodiscard]] std::size_t part_count() const noexcept { return part_count_; }
  [[nodiscard]] part_type part(std::size_t index) const {
    const auto after = std::upper_bound(first_part_.begin(), first_part_.end(), index);
    const auto trace = static_cast<std::size_t>(after - first_part_.begin()) - 1;
    return {*this, trace, index - first_part_[trace]};
  }
  [[nodiscard]] std::string_view function_name(std::uint64_t function) const {
    const auto [trace, own] = functions_[static_cast<std::size_t>(function)];
    return sources_[trace].trace.function_name(own);
  }
  [[nodiscard]] std::string_view function_module(std::uint64_t function) const {
    const auto [trace, own] = functions_[static_cast<std::size_t>(function)];
    return sources_[trace].trace.function_module(own);
  }
  [[nodiscard]] std::string_view thread_name(std::int64_t process, std::uint64_t thread) const {
    const place of = place_of(process);
    return sources_[of.trace].trace.thread_name(of.process, thread);
  }
  /// With the name of the trace.
  [[nodiscard]] std::string_view process_name(std::int64_t process) const {
    const place of = place_of(process);
    const std::string name(sources_[of.trace].trace.process_name(of.process));
    return texts_.keep(name.empty() ? sources_[of.trace].name : name + " (" + sources_[of.trace].name + ")");
  }
  /// Of a process that an event had.
  [[nodiscard]] place place_of(std::int64_t process) const {
    const std::lock_guard<std::mutex> one_at_a_time(mutex_);
    const auto found = places_.find(process);
    return found == places_.end() ? place{0, process} : found->second;
  }
  [[nodiscard]] clock_unit unit() const {
    return sources_.empty() ? clock_unit::nanoseconds : sources_.front().trace.unit();
  }
  [[nodiscard]] static std::uint64_t to_ns(std::uint64_t time) noexcept { return time; }
  /// The earliest of all.
  [[nodiscard]] std::uint64_t start() const {
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
    for (const source& one : sources_) first = std::min(first, one.trace.to_ns(one.trace.start()));
    return sources_.empty() ? 0 : first;
  }
  [[nodiscard]] std::uint64_t lost_records() const {
    std::uint64_t all = 0;
    for (const source& one : sources_) all += one.trace.lost_records();
    return all;
  }
  [[nodiscard]] static std::string_view values_of(const any_call_event& event) noexcept { return event.values; }
  template <class OnFault>
  void for_each_fault(OnFault&& on_fault) const {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      sources_[i].trace.for_each_fault(
          [&](std::string_view file, const fault& found) { on_fault(file_of(i, file), found); });
    }
  }

 private:
  /// Above all numbers of processes that Linux gives, and readable beside them.
  static constexpr std::int64_t process_step = 10'000'000;

  [[nodiscard]] std::uint64_t number_of(std::size_t trace, std::uint64_t function) const {
    const std::lock_guard<std::mutex> one_at_a_time(mutex_);
    const auto [at, is_new] = numbers_.try_emplace(std::pair(trace, function), functions_.size());
    if (is_new) functions_.emplace_back(trace, function);
    return at->second;
  }
  [[nodiscard]] std::int64_t process_of(std::size_t trace, std::int64_t process) const {
    const std::lock_guard<std::mutex> one_at_a_time(mutex_);
    // What is no number of a process keeps its lower digits.
    std::int64_t given =
        trace == 0 ? process : process % process_step + static_cast<std::int64_t>(trace) * process_step;
    for (;; ++given) {
      const auto [at, is_new] = places_.try_emplace(given, place{trace, process});
      if (is_new || (at->second.trace == trace && at->second.process == process)) return given;
    }
  }
  [[nodiscard]] std::string_view file_of(std::size_t trace, std::string_view file) const {
    const std::string& name = sources_[trace].name;
    return texts_.keep(file.empty() ? name : name + "/" + std::string(file));
  }

  std::vector<source> sources_;
  std::vector<std::size_t> first_part_;
  std::size_t part_count_ = 0;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<std::size_t, std::uint64_t>, std::uint64_t> numbers_;
  mutable std::vector<std::pair<std::size_t, std::uint64_t>> functions_;
  mutable std::map<std::int64_t, place> places_;
  mutable text_store texts_;
};
static_assert(call_trace<joined_traces> && tells_lost_records<joined_traces> && tells_modules<joined_traces> &&
              tells_values<joined_traces>);

}  // namespace backsight::analysis
