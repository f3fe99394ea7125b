// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <backsight/core/call_trace.hpp>

namespace backsight {

/// An event of a trace whose format is not known before the program runs: models call_event.
struct any_call_event {
  event_kind kind = event_kind::mark;
  std::uint64_t function = 0;
  std::uint64_t time = 0;
  std::uint64_t thread = 0;
  std::int64_t process = 0;
  std::optional<std::string_view> text{};  ///< Of a mark, where the format has one; as long as the trace lives.
  std::string_view values{};               ///< As tells_values says.
};
static_assert(call_event<any_call_event>);

namespace detail {

/// What is called for each item, by a pointer: whose code it is need not be known where it is called.
template <class... Items>
class callback {
 public:
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, callback>)
  explicit callback(F& f) noexcept
      : f_(&f),
        call_([](const void* kept, Items... items) { (*static_cast<F*>(const_cast<void*>(kept)))(items...); }) {}
  void operator()(Items... items) const { call_(f_, items...); }

 private:
  const void* f_;
  void (*call_)(const void*, Items...);
};

/// Text that lives on without the expression that gave it.
template <class Name>
concept lent_text = std::is_reference_v<Name> || std::is_trivially_copyable_v<Name>;

/// Names of modules, where a trace has them, are lent.
template <class T>
concept lends_modules =
    !tells_modules<T> || lent_text<decltype(std::declval<const T&>().function_module(std::uint64_t{}))>;

using on_any_event = callback<const any_call_event&>;
using on_any_fault = callback<std::string_view, const fault&>;

}  // namespace detail

/// A trace of calls of any format: a view of one, which must outlive it, with all that a call_trace has. What takes it
/// is compiled once, not once for each format, and every call_trace becomes one where it is asked for, as strings
/// become std::string_views. An event costs an indirect call and a copy, some 3 ns: what does little with each event is
/// faster over the trace itself. Names must be references or views: text that a trace makes anew would not live long
/// enough.
class any_call_trace {
  struct operations;

 public:
  using event_type = any_call_event;

  class part_type {
   public:
    template <class F, class OnFault>
    void for_each_event(F&& f, OnFault&& on_fault) const {
      does_->walk(trace_, index_, detail::on_any_event(f), detail::on_any_fault(on_fault));
    }

   private:
    friend class any_call_trace;
    part_type(const any_call_trace& of, std::size_t index) noexcept
        : trace_(of.trace_), does_(of.does_), index_(index) {}
    const void* trace_;
    const operations* does_;
    std::size_t index_;
  };

  template <call_trace T>
    requires(!std::same_as<T, any_call_trace>) && detail::lends_modules<T> &&
                requires(const T& trace, std::uint64_t number, std::int64_t process) {
                  { trace.function_name(number) } -> detail::lent_text;
                  { trace.thread_name(process, number) } -> detail::lent_text;
                  { trace.process_name(process) } -> detail::lent_text;
                }
  any_call_trace(const T& trace) noexcept : trace_(&trace), does_(&done_by<T>) {}

  [[nodiscard]] std::size_t part_count() const { return does_->part_count(trace_); }
  [[nodiscard]] part_type part(std::size_t index) const noexcept { return {*this, index}; }
  [[nodiscard]] std::string_view function_name(std::uint64_t function) const {
    return does_->function_name(trace_, function);
  }
  [[nodiscard]] std::string_view thread_name(std::int64_t process, std::uint64_t thread) const {
    return does_->thread_name(trace_, process, thread);
  }
  [[nodiscard]] std::string_view process_name(std::int64_t process) const {
    return does_->process_name(trace_, process);
  }
  [[nodiscard]] clock_unit unit() const { return does_->unit(trace_); }
  [[nodiscard]] std::uint64_t to_ns(std::uint64_t time) const { return does_->to_ns(trace_, time); }
  [[nodiscard]] std::uint64_t start() const { return does_->start(trace_); }
  /// As tells_lost_records says; 0 where the format does not tell.
  [[nodiscard]] std::uint64_t lost_records() const { return does_->lost_records(trace_); }
  /// As tells_modules says; empty where the format does not tell.
  [[nodiscard]] std::string_view function_module(std::uint64_t function) const {
    return does_->function_module(trace_, function);
  }
  /// As tells_values says.
  [[nodiscard]] static std::string_view values_of(const any_call_event& event) noexcept { return event.values; }
  template <class OnFault>
  void for_each_fault(OnFault&& on_fault) const {
    does_->for_each_fault(trace_, detail::on_any_fault(on_fault));
  }

 private:
  struct operations {
    std::size_t (*part_count)(const void*);
    void (*walk)(const void*, std::size_t, detail::on_any_event, detail::on_any_fault);
    std::string_view (*function_name)(const void*, std::uint64_t);
    std::string_view (*thread_name)(const void*, std::int64_t, std::uint64_t);
    std::string_view (*process_name)(const void*, std::int64_t);
    clock_unit (*unit)(const void*);
    std::uint64_t (*to_ns)(const void*, std::uint64_t);
    std::uint64_t (*start)(const void*);
    std::uint64_t (*lost_records)(const void*);
    std::string_view (*function_module)(const void*, std::uint64_t);
    void (*for_each_fault)(const void*, detail::on_any_fault);
  };

  template <class T>
  [[nodiscard]] static const T& as(const void* trace) noexcept {
    return *static_cast<const T*>(trace);
  }
  template <class T>
  static void walk(const void* trace, std::size_t index, detail::on_any_event give, detail::on_any_fault on_fault) {
    any_call_event to;
    as<T>(trace).part(index).for_each_event(
        [&](const typename T::event_type& event) {
          to.kind = event.kind;
          to.function = static_cast<std::uint64_t>(event.function);
          to.time = static_cast<std::uint64_t>(event.time);
          to.thread = static_cast<std::uint64_t>(event.thread);
          to.process = static_cast<std::int64_t>(event.process);
          if (event.kind == event_kind::mark) to.text = mark_text(event);
          if constexpr (tells_values<T>) to.values = as<T>(trace).values_of(event);
          give(to);
        },
        on_fault);
  }
  template <class T>
  static constexpr operations done_by{
      [](const void* t) -> std::size_t { return as<T>(t).part_count(); },
      &walk<T>,
      [](const void* t, std::uint64_t function) -> std::string_view { return as<T>(t).function_name(function); },
      [](const void* t, std::int64_t process, std::uint64_t thread) -> std::string_view {
        return as<T>(t).thread_name(process, thread);
      },
      [](const void* t, std::int64_t process) -> std::string_view { return as<T>(t).process_name(process); },
      [](const void* t) { return as<T>(t).unit(); },
      [](const void* t, std::uint64_t time) { return as<T>(t).to_ns(time); },
      [](const void* t) { return as<T>(t).start(); },
      [](const void* t) -> std::uint64_t {
        if constexpr (tells_lost_records<T>) return as<T>(t).lost_records();
        else return 0;
      },
      [](const void* t, std::uint64_t function) -> std::string_view {
        if constexpr (tells_modules<T>) return as<T>(t).function_module(function);
        else return {};
      },
      [](const void* t, detail::on_any_fault on_fault) { as<T>(t).for_each_fault(on_fault); }};

  const void* trace_;
  const operations* does_;
};
static_assert(call_trace<any_call_trace> && tells_modules<any_call_trace> && tells_values<any_call_trace>);

}  // namespace backsight
