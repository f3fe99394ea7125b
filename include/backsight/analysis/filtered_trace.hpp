// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <backsight/core/call_trace.hpp>

namespace backsight::analysis {

/// A call_trace with events left out or moved: `make()` gives a filter for each part, with `on(event, next)`, which
/// calls `next(event)` for what stays, and maybe `finish(next)` for the end of the part. It is called by several
/// threads at once. A view: the trace must outlive it.
template <call_trace T, class Make>
class filtered_trace {
 public:
  using event_type = typename T::event_type;

  class part_type {
   public:
    part_type(const T& from, std::size_t index, const Make& make) : part_(from.part(index)), make_(&make) {}
    template <class F, class OnFault>
    void for_each_event(F&& f, OnFault&& on_fault) const {
      auto filter = (*make_)();
      part_.for_each_event([&](const event_type& event) { filter.on(event, f); }, on_fault);
      if constexpr (requires { filter.finish(f); }) filter.finish(f);
    }

   private:
    decltype(std::declval<const T&>().part(0)) part_;
    const Make* make_;
  };

  filtered_trace(const T& from, Make make) : from_(&from), make_(std::move(make)) {}

  [[nodiscard]] std::size_t part_count() const { return from_->part_count(); }
  [[nodiscard]] part_type part(std::size_t index) const { return part_type(*from_, index, make_); }
  [[nodiscard]] decltype(auto) function_name(std::uint64_t function) const { return from_->function_name(function); }
  [[nodiscard]] decltype(auto) thread_name(std::int64_t process, std::uint64_t thread) const {
    return from_->thread_name(process, thread);
  }
  [[nodiscard]] decltype(auto) process_name(std::int64_t process) const { return from_->process_name(process); }
  [[nodiscard]] clock_unit unit() const { return from_->unit(); }
  [[nodiscard]] std::uint64_t to_ns(std::uint64_t time) const { return from_->to_ns(time); }
  [[nodiscard]] std::uint64_t start() const { return from_->start(); }
  [[nodiscard]] std::uint64_t lost_records() const
    requires tells_lost_records<T>
  {
    return from_->lost_records();
  }
  [[nodiscard]] decltype(auto) function_module(std::uint64_t function) const
    requires tells_modules<T>
  {
    return from_->function_module(function);
  }
  [[nodiscard]] std::string_view values_of(const event_type& event) const
    requires tells_values<T>
  {
    return from_->values_of(event);
  }
  template <class F>
  void for_each_fault(F&& f) const {
    from_->for_each_fault(f);
  }

 private:
  const T* from_;
  Make make_;
};

}  // namespace backsight::analysis
