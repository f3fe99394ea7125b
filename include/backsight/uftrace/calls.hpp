// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <backsight/core/call_trace.hpp>
#include <backsight/core/text_store.hpp>
#include <backsight/uftrace/events.hpp>

namespace backsight::uftrace {

/// What a trace of calls tells beside these.
struct call_options {
  /// Functions of one name in several modules are several functions. Without, the module is that of the first one.
  bool by_module = false;
  /// Appends the values of an entry or exit as text, as for_each_value() finds them; without it none are told.
  std::function<void(resolver& names, const merged_record& record, std::string& to)> values{};
};

/// A uftrace directory as a call_trace: each task is a part, or some are where there are very many, or all where the
/// kernel was traced too, whose files are those of cpus. Functions with one name are one; they have numbers in the
/// order in which they are met, which may differ between runs that walk parts at the same time. The recording must
/// outlive it.
class calls {
 public:
  /// With what was given to the call or given back.
  struct event_type : call_event {
    std::string_view values{};
  };

  class part_type {
   public:
    part_type(const calls& from, std::size_t index) : from_(&from), index_(index) {}
    /// Costs a resolver of its own, whose cache is filled anew.
    template <class F, class OnFault>
    void for_each_event(F&& f, OnFault&& on_fault) const {
      const recording& source = *from_->from_;
      resolver names(source);
      const std::size_t parts = from_->part_count(), tasks = source.data.size();
      std::vector<bool> chosen(tasks, false);
      for (std::size_t i = tasks * index_ / parts; i < tasks * (index_ + 1) / parts; ++i) chosen[i] = true;
      merge_options options;
      options.tasks = &chosen;
      std::vector<std::uint64_t> numbers;  // Of the resolver's names, one more; 0 for those that are not known yet.
      const auto number_of = [&](std::uint64_t name, const function& found) {
        if (name >= numbers.size())
          numbers.resize(std::max<std::size_t>(static_cast<std::size_t>(name) + 1, numbers.size() * 2));
        std::uint64_t& number = numbers[static_cast<std::size_t>(name)];
        if (number == 0) number = from_->number_of(names.name(static_cast<std::uint32_t>(name)), object_of(found)) + 1;
        return number - 1;
      };
      std::unordered_map<const function*, std::uint64_t> modular;  // The same where functions are told by module.
      const auto modular_number_of = [&](const function& found) {
        const auto [at, is_new] = modular.try_emplace(&found);
        if (is_new) at->second = from_->number_of(names.name(found.name), object_of(found));
        return at->second;
      };
      lost_counter lost;
      std::string text;
      const auto faults = for_each_call(
          names, options, lost, [&](const call_event& given, const merged_record& r, const function& found) {
            event_type event{given};
            event.function = from_->asked_.by_module ? modular_number_of(found) : number_of(given.function, found);
            if (from_->asked_.values && !r.payload.empty()) {
              text.clear();
              from_->asked_.values(names, r, text);
              event.values = from_->texts_.keep(text);
            }
            f(static_cast<const event_type&>(event));
          });
      from_->lost_[index_].store(lost.records, std::memory_order_relaxed);
      for (const task_fault& one : faults) on_fault(std::string_view(source.data[one.data_index].file), one.fault);
    }

   private:
    [[nodiscard]] static std::uint32_t object_of(const function& found) noexcept {
      return found.known ? found.object : no_object;
    }
    struct lost_counter : every_call {
      std::uint64_t records = 0;
      /// A recorder that does not know how many says so with none.
      void consume(const merged_record& r) noexcept {
        if (r.type == record_type::lost) records += static_cast<std::int64_t>(r.address) > 0 ? r.address : 1;
      }
    };
    const calls* from_;
    std::size_t index_;
  };

  explicit calls(const recording& from, call_options asked = {})
      : from_(&from), asked_(std::move(asked)), lost_(part_count()) {
    start_ = ~std::uint64_t{0};
    for (const task_data& each : from.data) start_ = std::min(start_, first_time(each));
    if (start_ == ~std::uint64_t{0}) start_ = 0;
  }

  [[nodiscard]] std::size_t part_count() const noexcept {
    const std::size_t tasks = from_->data.size();
    if (!from_->kernel.files.empty()) return std::min<std::size_t>(tasks, 1);
    // Each part looks at all tasks once: so often in all, however many there are.
    constexpr std::size_t most_parts = 256, most_looks = 65'536;
    return tasks <= most_parts ? tasks : std::max<std::size_t>(most_looks / tasks, 1);
  }
  [[nodiscard]] part_type part(std::size_t index) const noexcept { return {*this, index}; }
  [[nodiscard]] std::string_view function_name(std::uint64_t function) const {
    return function < names_.size() ? std::string_view(names_[static_cast<std::size_t>(function)])
                                    : std::string_view("?");
  }
  /// The path of the program or library, or the kernel's name.
  [[nodiscard]] std::string_view function_module(std::uint64_t function) const {
    if (function >= objects_.size()) return {};
    const std::uint32_t object = objects_[static_cast<std::size_t>(function)];
    return object == no_object ? std::string_view() : from_->objects[object].path;
  }
  [[nodiscard]] static std::string_view values_of(const event_type& event) noexcept { return event.values; }
  /// The task's name as its program set it last.
  [[nodiscard]] std::string_view thread_name(std::int64_t, std::uint64_t thread) const noexcept {
    return comm_of(thread);
  }
  [[nodiscard]] std::string_view process_name(std::int64_t process) const noexcept {
    return comm_of(static_cast<std::uint64_t>(process));
  }
  [[nodiscard]] static clock_unit unit() noexcept { return clock_unit::nanoseconds; }
  [[nodiscard]] static std::uint64_t to_ns(std::uint64_t time) noexcept { return time; }
  [[nodiscard]] std::uint64_t start() const noexcept { return start_; }
  template <class F>
  void for_each_fault(F&& f) const {
    for (const file_fault& one : from_->faults) f(std::string_view(one.file), one.fault);
  }

  /// Records that were lost when recording, of the parts that were walked.
  [[nodiscard]] std::uint64_t lost_records() const noexcept {
    std::uint64_t all = 0;
    for (const auto& each : lost_) all += each.load(std::memory_order_relaxed);
    return all;
  }

  [[nodiscard]] const recording& source() const noexcept { return *from_; }

 private:
  static constexpr std::uint32_t no_object = 0xffffffff;

  [[nodiscard]] std::uint64_t number_of(const std::string& name, std::uint32_t object) const {
    const std::lock_guard<std::mutex> one_at_a_time(mutex_);
    std::vector<std::uint64_t>& known = numbers_[name];
    for (const std::uint64_t number : known) {
      if (!asked_.by_module || objects_[static_cast<std::size_t>(number)] == object) return number;
    }
    known.push_back(names_.size());
    names_.push_back(name);
    objects_.push_back(object);
    return known.back();
  }
  [[nodiscard]] std::string_view comm_of(std::uint64_t tid) const noexcept {
    const std::uint32_t task =
        tid > 0xffffffffU ? task_data::no_task : from_->find_task(static_cast<std::uint32_t>(tid));
    return task == task_data::no_task ? std::string_view() : std::string_view(from_->tasks[task].comm);
  }
  [[nodiscard]] std::uint64_t first_time(const task_data& of) const {
    return with_order(from_->info.byte_order, [&](auto byte_order) {
      using head = function_record<byte_order()>;
      if (of.bytes.size() < size_of<head>) return ~std::uint64_t{0};
      return std::uint64_t{record<head, byte_order()>(of.bytes.data())[head::time]};
    });
  }

  const recording* from_;
  call_options asked_;
  std::uint64_t start_ = 0;
  mutable std::vector<std::atomic<std::uint64_t>> lost_;  ///< of each part
  mutable std::mutex mutex_;
  mutable std::deque<std::string> names_;
  mutable std::vector<std::uint32_t> objects_;  ///< of the functions
  mutable std::unordered_map<std::string, std::vector<std::uint64_t>> numbers_;
  mutable text_store texts_;
};
static_assert(call_trace<calls> && tells_lost_records<calls> && tells_modules<calls> && tells_values<calls>);

}  // namespace backsight::uftrace
