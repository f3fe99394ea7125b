// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <backsight/core/argument_text.hpp>
#include <backsight/core/call_trace.hpp>
#include <backsight/core/text_store.hpp>
#include <backsight/memtrace/call_follower.hpp>
#include <backsight/memtrace/records.hpp>
#include <backsight/memtrace/window_scanner.hpp>

namespace backsight::memtrace {

/// How calls of a memtrace are told.
struct call_options {
  call_clock clock = call_clock::instructions;
  /// The name of the function at an address, empty when it is not known; without it functions are named by their
  /// addresses.
  std::function<std::string(std::uint64_t address)> name;
  /// The program or library that an address is in, empty when it is not known; asked once for each function.
  std::function<std::string(std::uint64_t address)> module{};
  /// Tell arguments and return values of function markers as text.
  bool values = false;
};

/// The final files of a run as a call_trace: each window of each file is a part; the pieces of one that threads take
/// turns in are put together. Stacks begin anew in each, since what was called before is not known. Files whose
/// instructions were filtered have the calls of their function markers; of windows that begin filtered, the calls
/// behind that: see call_follower. A view of the unpacked files, of 64-bit or 32-bit layout.
class calls {
  struct opened_file;
  struct walk_info;

 public:
  /// With what was given to the call or given back.
  struct event_type : call {
    std::string_view values{};
  };

  struct file {
    byte_view bytes;
    std::string name;  ///< For its faults; empty when it is the only one.
  };
  class part_type {
   public:
    part_type(const calls& from, const walk_info& info) : from_(&from), info_(&info) {}
    template <class F, class OnFault>
    void for_each_event(F&& f, OnFault&& on_fault) const {
      const opened_file& in = from_->files_[info_->file];
      with_address(in.head, [&](auto address) { walk<decltype(address)>(in, f); });
      if (info_->last && in.damage.code != errc::ok) on_fault(std::string_view(in.name), in.damage);
    }

   private:
    template <class Address, class F>
    void walk(const opened_file& in, F& f) const {
      using any = basic_entry<Address>;
      call_follower follower(from_->asked_.clock, in.by_markers, in.head.version >= 3,
                             (in.head.file_type & file_type::bimodal_filtered_warmup) != 0);
      follower.set_process(in.head.pid);
      std::string shown;
      const auto give = [&](const call& made, std::span<const std::uint64_t> values) {
        event_type event{made};
        if (from_->asked_.values && !values.empty()) {
          shown.clear();
          (void)text::arguments(std::back_inserter(shown), values);
          event.values = from_->texts_.keep(shown);
        }
        f(static_cast<const event_type&>(event));
      };
      for (const window& each : info_->pieces) {
        follower.set_thread(each.tid, each.first_instruction, each.first_time);
        const auto bytes =
            in.bytes.subspan(static_cast<std::size_t>(each.begin), static_cast<std::size_t>(each.end - each.begin));
        for (const auto entry : record_span<any, order::little>(bytes)) {
          follower.on(entry[any::type], entry[any::size], std::uint64_t{entry[any::addr]}, give);
        }
        follower.finish(give);
      }
    }

    const calls* from_;
    const walk_info* info_;
  };

  /// Finds the windows: one pass over the files. Files that cannot be opened are left out and told as faults.
  explicit calls(const std::vector<file>& files, call_options asked = {}) : asked_(std::move(asked)) {
    start_ = ~std::uint64_t{0};
    for (const file& each : files) {
      const auto head = read_final_header(each.bytes);
      if (!head) {
        refused_.emplace_back(each.name,
                              fault{head.error().code, head.error().offset, each.bytes.size() - head.error().offset});
        continue;
      }
      opened_file opened{each.bytes, each.name, *head, {}, is_filtered(head->file_type)};
      with_address(*head, [&](auto address) { index<decltype(address)>(opened); });
      start_ = std::min(start_, head->first_time);
      files_.push_back(std::move(opened));
    }
    if (start_ == ~std::uint64_t{0} || asked_.clock == call_clock::instructions) start_ = 0;
  }

  [[nodiscard]] std::size_t part_count() const noexcept { return parts_.size(); }
  [[nodiscard]] part_type part(std::size_t index) const noexcept { return {*this, parts_[index]}; }
  /// The window that a part is; its bounds are those of the first and the last piece.
  [[nodiscard]] const window& window_of(std::size_t part) const noexcept { return parts_[part].pieces.front(); }

  [[nodiscard]] std::string_view function_name(std::uint64_t function) const {
    const auto [at, inserted] = names_.try_emplace(function);
    if (inserted) at->second = make_name(function);
    return at->second;
  }
  [[nodiscard]] std::string_view function_module(std::uint64_t function) const {
    const auto [at, inserted] = modules_.try_emplace(function);
    if (inserted && asked_.module && !is_by_markers()) at->second = asked_.module(function);
    return at->second;
  }
  [[nodiscard]] static std::string_view values_of(const event_type& event) noexcept { return event.values; }
  /// Functions are those of markers, which have numbers in place of addresses: the instructions were filtered.
  [[nodiscard]] bool is_by_markers() const noexcept { return !files_.empty() && files_.front().by_markers; }
  [[nodiscard]] static std::string_view thread_name(std::int64_t, std::uint64_t) noexcept { return {}; }
  [[nodiscard]] static std::string_view process_name(std::int64_t) noexcept { return {}; }
  [[nodiscard]] clock_unit unit() const noexcept {
    return asked_.clock == call_clock::instructions ? clock_unit::instructions : clock_unit::nanoseconds;
  }
  [[nodiscard]] std::uint64_t to_ns(std::uint64_t time) const noexcept {
    return asked_.clock == call_clock::instructions ? time : time * 1000;
  }
  [[nodiscard]] std::uint64_t start() const noexcept { return start_; }
  template <class F>
  void for_each_fault(F&& f) const {
    for (const auto& [name, found] : refused_) f(std::string_view(name), found);
  }

 private:
  struct opened_file {
    byte_view bytes;
    std::string name;
    final_header head;
    fault damage;  ///< What ended the search for windows, or is missing at the end.
    bool by_markers = false;
  };
  struct walk_info {
    std::size_t file = 0;
    std::vector<window> pieces;
    bool last = false;  ///< Of its file: it tells the damage.
  };

  /// No part of it has all instructions.
  [[nodiscard]] static bool is_filtered(std::uint64_t type) noexcept {
    return (type & (file_type::filtered | file_type::ifiltered)) != 0 &&
           (type & file_type::bimodal_filtered_warmup) == 0;
  }

  template <class Address>
  void index(opened_file& of) {
    constexpr std::size_t step = size_of<basic_entry<Address>>;
    std::unordered_map<std::uint64_t, std::size_t> latest;  // The part of each thread's last window.
    const std::size_t first = parts_.size();
    const auto add = [&](const window& found) {
      const auto known = latest.find(found.tid);
      if (found.continued && known != latest.end()) {
        parts_[known->second].pieces.push_back(found);
        return;
      }
      latest[found.tid] = parts_.size();
      parts_.push_back({files_.size(), {found}, false});
    };
    basic_window_scanner<Address> scanner;
    for (std::size_t at = 0;;) {
      at += scanner.feed(of.bytes.subspan(at));
      if (!scanner.done()) break;
      add(*scanner.done());
    }
    add(scanner.last());
    parts_.back().last = parts_.size() > first;
    const std::size_t whole = of.bytes.size() / step * step;
    if (scanner.error())
      of.damage = {scanner.error().code, scanner.error().offset, of.bytes.size() - scanner.error().offset};
    else if (whole != of.bytes.size()) of.damage = {errc::truncated, whole, of.bytes.size() - whole};
    else if (record<basic_entry<Address>, order::little>(of.bytes.data() + whole - step)[entry_head::type] !=
             trace_type::footer)
      of.damage = {errc::bad_end, whole, 0};
  }

  [[nodiscard]] std::string make_name(std::uint64_t function) const {
    if (is_by_markers()) return "function " + std::to_string(function);
    std::string name = asked_.name ? asked_.name(function) : std::string();
    if (!name.empty()) return name;
    constexpr char digits[] = "0123456789abcdef";
    for (unsigned shift = 60;; shift -= 4) {
      if (function >> shift != 0 || shift == 0) name += digits[function >> shift & 15U];
      if (shift == 0) return "0x" + name;
    }
  }

  call_options asked_;
  std::vector<opened_file> files_;
  std::vector<walk_info> parts_;
  std::vector<std::pair<std::string, fault>> refused_;
  std::uint64_t start_ = 0;
  mutable std::unordered_map<std::uint64_t, std::string> names_, modules_;
  mutable text_store texts_;
};
static_assert(call_trace<calls> && tells_modules<calls> && tells_values<calls>);

}  // namespace backsight::memtrace
