// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/common_when.hpp>
#include <backsight/core/offset_of.hpp>
#include <backsight/core/record_range.hpp>
#include <backsight/uftrace/schema.hpp>

namespace backsight::uftrace {

/// What the sizes of arguments and return values depend on: records do not tell them. `size` is asked for each record
/// with values; without it such a record ends the walk with errc::not_found. A view: `owner` must outlive the range.
struct value_sizes {
  using function = payload_result (*)(const void* owner, std::uint32_t task, std::uint64_t time, std::uint64_t address,
                                      bool is_return, byte_view rest) noexcept;
  const void* owner = nullptr;
  function size = nullptr;
  std::uint32_t task = 0;

  [[nodiscard]] friend constexpr bool operator==(const value_sizes&, const value_sizes&) = default;
};

/// The records of a task file (TID.dat), versions 3 and 4.
template <order O>
struct task_format {
  using records =
      record_list<function_record<O>, function_with_values<O>, lost_record<O>, event_record<O>, event_with_data<O>>;
  using context = value_sizes;
  static constexpr order byte_order = O;
  static constexpr std::size_t head_bytes = size_of<function_record<O>>;
  template <class S>
  static constexpr kind_result kind = records::template kind<S>;
  /// A function without values.
  static constexpr auto common = common_when<function_record<O>, O, std::uint64_t>(
      is(record_head::magic, record_magic), is(record_head::more, false),
      is(record_head::type, record_type::entry, record_type::exit));

  [[nodiscard]] static constexpr kind_result kind_of(const std::byte* at, const context&) noexcept {
    const record<function_record<O>, O> head(at);
    if (head[record_head::magic] != record_magic) return errc::bad_value;
    const bool more = head[record_head::more];
    switch (head[record_head::type]) {
      case record_type::entry:
      case record_type::exit: return more ? kind<function_with_values<O>> : kind<function_record<O>>;
      case record_type::lost: return kind<lost_record<O>>;
      default: return more ? kind<event_with_data<O>> : kind<event_record<O>>;
    }
  }
  [[nodiscard]] static constexpr payload_result payload_size(const record<function_with_values<O>, O>& item,
                                                             byte_view rest, const context& sizes) noexcept {
    if (sizes.size == nullptr) return errc::not_found;
    const payload_result values =
        sizes.size(sizes.owner, sizes.task, item[record_head::time], item[record_head::address],
                   item[record_head::type] == record_type::exit, rest);
    if (values.code != errc::ok) return values;
    return (values.size + 7) / 8 * 8;
  }
  [[nodiscard]] static constexpr payload_result payload_size(const record<event_with_data<O>, O>& item,
                                                             const context&) noexcept {
    constexpr std::size_t length_size = bytes_of(event_with_data<O>::length);
    return (length_size + item[event_with_data<O>::length] + 7) / 8 * 8 - length_size;
  }
  /// Goes to the first place, 8 bytes aligned, where several records follow each other with the right magic, times that
  /// do not go back, neither among them nor behind the last good time before the damage, and depths that fit.
  [[nodiscard]] static constexpr std::size_t resync(byte_view all, std::size_t from, context& sizes) noexcept;
};
static_assert(record_format<task_format<order::little>> && record_format<task_format<order::big>>);

namespace detail {

/// Whether what begins at `at` looks like a run of records; `time` is the time that it must not precede.
template <order O>
[[nodiscard]] constexpr bool plausible_run(byte_view all, std::size_t at, std::uint64_t time,
                                           const value_sizes& sizes) noexcept {
  // The chance that arbitrary bytes pass is 1/8 for each magic alone; four records, their times and depths make it
  // small.
  constexpr int enough = 4;
  int depth = -1;
  for (int i = 0; i < enough; ++i) {
    if (at == all.size()) return i != 0;
    if (all.size() - at < size_of<function_record<O>>) return i != 0;
    const auto next = backsight::detail::decode<task_format<O>>(all.data() + at, all.size() - at, sizes);
    if (next.code != errc::ok) return false;
    const record<function_record<O>, O> head(all.data() + at);
    const record_type type = head[record_head::type];
    if (type != record_type::lost) {
      const std::uint64_t now = head[record_head::time];
      // A day between two records of one task is not impossible, but more likely damage.
      if (now < time || (time != 0 && now - time > 86'400'000'000'000ULL)) return false;
      if (now == 0) return false;
      time = now;
    }
    if (type == record_type::entry || type == record_type::exit) {
      constexpr int levels = depth_levels;
      const int here = head[record_head::depth];
      const int before_entry = here, before_exit = (here + 1) % levels;
      const int expected = type == record_type::entry ? before_entry : before_exit;
      // longjmp and exceptions leave several levels at once, so only rises by more than one are impossible.
      if (depth >= 0 && expected > depth && !(depth == 0 && expected == levels - 1)) return false;
      if (head[record_head::address] == 0) return false;
      depth = type == record_type::entry ? (here + 1) % levels : here;
    } else {
      depth = type == record_type::lost ? -1 : depth;
    }
    at = static_cast<std::size_t>(next.end - all.data());
  }
  return true;
}

}  // namespace detail

template <order O>
constexpr std::size_t task_format<O>::resync(byte_view all, std::size_t from, context& sizes) noexcept {
  std::uint64_t time = 0;
  // The record before the damage, where it has no payload, tells a time.
  constexpr std::size_t plain = size_of<function_record<O>>;
  if (from > plain) {
    const std::byte* const before = all.data() + from - 1 - plain;
    if (holds<O>(common, before)) time = record<function_record<O>, O>(before)[record_head::time];
  }
  for (std::size_t at = (from + 7) / 8 * 8; at < all.size(); at += 8) {
    if (detail::plausible_run<O>(all, at, time, sizes)) return at;
  }
  return all.size();
}

/// The records of a task file, one after the other.
template <order O>
using task_records = record_range<task_format<O>, grammar_check::ignored>;

/// The records of a perf-cpuN.dat.
template <order O>
struct perf_format {
  using records = record_list<perf_switch, perf_task, perf_comm, perf_other>;
  using context = no_context;
  static constexpr order byte_order = O;
  static constexpr std::size_t head_bytes = size_of<perf_other>;

  [[nodiscard]] static constexpr kind_result kind_of(const std::byte* at, const context&) noexcept {
    const record<perf_other, O> head(at);
    if (head[perf_head::record_size] < size_of<perf_other>) return errc::bad_size;
    switch (head[perf_head::type]) {
      case perf_type::context_switch: return records::template kind<perf_switch>;
      case perf_type::exit:
      case perf_type::fork: return records::template kind<perf_task>;
      case perf_type::comm: return records::template kind<perf_comm>;
    }
    return records::template kind<perf_other>;
  }
  template <class S>
  [[nodiscard]] static constexpr payload_result payload_size(const record<S, O>& item, const context&) noexcept {
    const std::size_t whole = item[perf_head::record_size];
    if (whole < size_of<S>) return errc::bad_size;
    return whole - size_of<S>;
  }
};
static_assert(record_format<perf_format<order::little>>);

template <order O>
using perf_records = record_range<perf_format<O>, grammar_check::ignored>;

}  // namespace backsight::uftrace
