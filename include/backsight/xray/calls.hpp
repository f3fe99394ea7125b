// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/core/argument_text.hpp>
#include <backsight/core/call_trace.hpp>
#include <backsight/core/text_store.hpp>
#include <backsight/xray/names.hpp>
#include <backsight/xray/threads.hpp>

namespace backsight::xray {

/// What a trace of calls tells beside these.
struct call_options {
  std::string program{};  ///< The name of the program that function names are of: the module of the functions it knows.
  bool values = false;    ///< Tell logged arguments as text.
};

/// An XRay log as a call_trace: the blocks of a thread are a part, a basic-mode log is one. A view over the log's
/// bytes. Process and thread have no names.
class calls {
 public:
  using event_type = event;

  class part_type {
   public:
    part_type(const log& opened, const traced_thread& thread) : log_(&opened), thread_(&thread) {}
    template <class F, class OnFault>
    void for_each_event(F&& f, OnFault&& on_fault) const {
      xray::for_each_event(*log_, *thread_, f, [&](const fault& found) { on_fault(std::string_view(), found); });
    }

   private:
    const log* log_;
    const traced_thread* thread_;
  };

  /// Reads the first records of each block.
  explicit calls(const log& opened, function_names names = {}, call_options asked = {})
      : log_(opened), names_(std::move(names)), asked_(std::move(asked)) {
    auto found = threads_of(opened);
    threads_ = std::move(found.partial());
    if (found.error())
      damage_.push_back({found.error().code, found.error().offset, opened.bytes().size() - found.error().offset});
    start_ = opened.type() == log_type::basic ? first_time() : ~std::uint64_t{0};
    for (const traced_thread& each : threads_) {
      if (!each.blocks.empty()) start_ = std::min(start_, each.first_tsc);
    }
    if (start_ == ~std::uint64_t{0}) start_ = 0;
  }

  [[nodiscard]] std::size_t part_count() const noexcept { return threads_.size(); }
  [[nodiscard]] part_type part(std::size_t index) const noexcept { return {log_, threads_[index]}; }
  [[nodiscard]] std::string_view function_name(std::uint64_t function) const { return names_[function].function; }
  [[nodiscard]] std::string_view function_module(std::uint64_t function) const noexcept {
    return names_.knows(function) ? std::string_view(asked_.program) : std::string_view();
  }
  /// Logged arguments: small numbers in decimal, others in hexadecimal.
  [[nodiscard]] std::string_view values_of(const event& of) const {
    if (!asked_.values || of.arguments.empty()) return {};
    std::string shown;
    (void)text::arguments(std::back_inserter(shown), of.arguments);
    return texts_.keep(shown);
  }
  [[nodiscard]] static std::string_view thread_name(std::int64_t, std::uint64_t) noexcept { return {}; }
  [[nodiscard]] static std::string_view process_name(std::int64_t) noexcept { return {}; }
  [[nodiscard]] clock_unit unit() const noexcept {
    return log_.ticks_per_second() == 0 ? clock_unit::ticks : clock_unit::nanoseconds;
  }
  [[nodiscard]] std::uint64_t to_ns(std::uint64_t ticks) const noexcept { return log_.to_ns(ticks); }
  [[nodiscard]] std::uint64_t start() const noexcept { return start_; }
  template <class F>
  void for_each_fault(F&& f) const {
    for (const fault& one : damage_) f(std::string_view(), one);
  }

  [[nodiscard]] const log& source() const noexcept { return log_; }
  [[nodiscard]] const std::vector<traced_thread>& threads() const noexcept { return threads_; }
  [[nodiscard]] const function_names& names() const noexcept { return names_; }

 private:
  /// Of a basic-mode log, whose records are those of threads side by side.
  [[nodiscard]] std::uint64_t first_time() const {
    return with_order(log_.byte_order(), [&](auto byte_order) {
      for (const auto& item : records_of_basic<byte_order(), grammar_check::ignored>(log_)) {
        if (const auto call = get_if<basic_function_record>(item)) return call[basic_function_record::tsc];
      }
      return std::uint64_t{0};
    });
  }

  log log_;
  function_names names_;
  call_options asked_;
  mutable text_store texts_;
  std::vector<traced_thread> threads_;
  std::vector<fault> damage_;
  std::uint64_t start_ = 0;
};
static_assert(call_trace<calls> && tells_modules<calls> && tells_values<calls>);

}  // namespace backsight::xray
