// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <backsight/core/format.hpp>

// The binary parts of a uftrace data directory. Source: uftrace's uftrace.h (struct uftrace_file_header,
// struct uftrace_record), libmcount/record.c and utils/perf.c, checked against recordings of 0.13 and 0.19.
namespace backsight::uftrace {

/// The first 40 bytes of the file `info`, versions 3 and 4, in the byte order that `elf_data` tells.
struct file_header {
  static constexpr const char* name = "file_header";
  static constexpr std::size_t size = 40;
  static constexpr field<"magic", std::array<std::byte, 8>> magic{};  ///< "Ftrace!" and a NUL
  static constexpr field<"version", std::uint32_t> version{};
  static constexpr field<"header_size", std::uint16_t> header_size{};
  static constexpr field<"elf_data", std::uint8_t> elf_data{};    ///< 1 little-endian, 2 big-endian
  static constexpr field<"elf_class", std::uint8_t> elf_class{};  ///< 1 for 32-bit programs, 2 for 64-bit ones
  static constexpr field<"feat_mask", std::uint64_t> feat_mask{};
  static constexpr field<"info_mask", std::uint64_t> info_mask{};
  static constexpr field<"max_stack", std::uint16_t> max_stack{};
  static constexpr padding<48> unused{};
  static constexpr layout fields{magic,     version,   header_size, elf_data, elf_class,
                                 feat_mask, info_mask, max_stack,   unused};
};
static_assert(schema<file_header>);

/// What a record of a task file tells.
enum class record_type : std::uint8_t { entry, exit, lost, event };

[[nodiscard]] constexpr const char* enumerator_name(record_type type) noexcept {
  switch (type) {
    case record_type::entry: return "entry";
    case record_type::exit: return "exit";
    case record_type::lost: return "lost";
    case record_type::event: return "event";
  }
  return nullptr;
}

/// `magic` of every record of a task file.
inline constexpr std::uint8_t record_magic = 5;
/// The members that every record of a task file (TID.dat) has. The writer builds the second word by shifts, so `type`
/// lies in its least significant bits in either byte order.
struct record_head {
  static constexpr field<"time", std::uint64_t> time{};  ///< nanoseconds of the trace clock; 0 in lost records
  static constexpr field<"type", record_type, 2> type{};
  static constexpr field<"more", bool, 1> more{};              ///< a payload follows
  static constexpr field<"magic", std::uint8_t, 3> magic{};    ///< record_magic
  static constexpr field<"depth", std::uint16_t, 10> depth{};  ///< functions below this one, modulo depth_levels
  static constexpr field<"address", std::uint64_t, 48>
      address{};  ///< of the function; event id; number of lost records
};
/// Levels that `depth` tells apart: beyond them it begins at 0 again.
inline constexpr unsigned depth_levels = 1U << record_head::depth.bits;
/// The largest address that a record holds.
inline constexpr std::uint64_t largest_address = (std::uint64_t{1} << record_head::address.bits) - 1;

namespace detail {

inline constexpr auto head_word =
    word_lsb<64>(record_head::type, record_head::more, record_head::magic, record_head::depth, record_head::address);

}  // namespace detail

/// A function is entered or left, without values. 16 bytes.
template <order O>
struct function_record : record_head {
  static constexpr const char* name = "function";
  static constexpr std::size_t size = 16;
  static constexpr layout fields{record_head::time, detail::head_word};
};

/// A function is entered with its arguments or left with its return value. 16 bytes, then the values, whose sizes only
/// the specification of that function tells; padded to 8 bytes.
template <order O>
struct function_with_values : record_head {
  static constexpr const char* name = "function_with_values";
  static constexpr std::size_t size = 16;
  static constexpr bool has_payload = true;
  static constexpr layout fields{record_head::time, detail::head_word};
};

/// `address` records were lost before this place. `time` is 0, `depth` means nothing.
template <order O>
struct lost_record : record_head {
  static constexpr const char* name = "lost";
  static constexpr std::size_t size = 16;
  static constexpr layout fields{record_head::time, detail::head_word};
};

/// The event whose id is in `address`, without data.
template <order O>
struct event_record : record_head {
  static constexpr const char* name = "event";
  static constexpr std::size_t size = 16;
  static constexpr layout fields{record_head::time, detail::head_word};
};

/// The event whose id is in `address`, with `length` bytes of data, padded so that length and data fill words of 8
/// bytes.
template <order O>
struct event_with_data : record_head {
  static constexpr const char* name = "event_with_data";
  static constexpr std::size_t size = 18;
  static constexpr bool has_payload = true;
  static constexpr field<"length", std::uint16_t> length{};
  static constexpr layout fields{record_head::time, detail::head_word, length};
};
static_assert(schema<function_record<order::little>> && schema<function_record<order::big>>);
static_assert(schema<function_with_values<order::little>> && schema<function_with_values<order::big>>);
static_assert(schema<lost_record<order::little>> && schema<lost_record<order::big>>);
static_assert(schema<event_record<order::little>> && schema<event_record<order::big>>);
static_assert(schema<event_with_data<order::little>> && schema<event_with_data<order::big>>);

/// The data of an event without its padding.
template <order O>
[[nodiscard]] constexpr byte_view event_data(const record<event_with_data<O>, O>& item) noexcept {
  return item.payload().first(item[event_with_data<O>::length]);
}

/// Ids of events. Ids below 100000 are kernel tracepoints, those from 1000000 on are named in events.txt.
enum event_id : std::uint64_t {
  read_statm = 100001,
  read_page_fault = 100002,
  diff_statm = 100003,
  diff_page_fault = 100004,
  read_cycles = 100005,
  diff_cycles = 100006,
  read_cache = 100007,
  diff_cache = 100008,
  read_branch = 100009,
  diff_branch = 100010,
  watch_cpu = 100011,
  watch_variable = 100012,
  callsite = 100013,
  sched_in = 200001,
  sched_out = 200002,
  sched_both = 200003,
  task_new = 200004,
  task_exit = 200005,
  task_name = 200006,
  sched_out_preempted = 200007,
  sched_both_preempted = 200008,
  first_user_event = 1000000,
  external_data = 2000000,
};

/// Types of the records of perf-cpuN.dat that uftrace uses. Source: perf_event_open(2), enum perf_event_type.
enum class perf_type : std::uint32_t { comm = 3, exit = 4, fork = 7, context_switch = 14 };

/// The head of every record of perf-cpuN.dat. Source: perf_event_open(2), struct perf_event_header.
struct perf_head {
  static constexpr field<"type", perf_type> type{};
  static constexpr field<"misc", std::uint16_t> misc{};
  static constexpr field<"size", std::uint16_t> record_size{};  ///< of the whole record, head included
};

/// PERF_RECORD_SWITCH (14) with its sample id: a task leaves a CPU (misc bit 0x2000, 0x4000 when pre-empted) or comes
/// back.
struct perf_switch : perf_head {
  static constexpr const char* name = "switch";
  static constexpr std::size_t size = 24;
  static constexpr bool has_payload = true;
  static constexpr field<"pid", std::uint32_t> pid{};
  static constexpr field<"tid", std::uint32_t> tid{};
  static constexpr field<"time", std::uint64_t> time{};
  static constexpr layout fields{perf_head::type, perf_head::misc, perf_head::record_size, pid, tid, time};
};
/// PERF_RECORD_FORK (7) or PERF_RECORD_EXIT (4); a sample id follows.
struct perf_task : perf_head {
  static constexpr const char* name = "task";
  static constexpr std::size_t size = 32;
  static constexpr bool has_payload = true;
  static constexpr field<"pid", std::uint32_t> pid{};
  static constexpr field<"ppid", std::uint32_t> ppid{};
  static constexpr field<"tid", std::uint32_t> tid{};
  static constexpr field<"ptid", std::uint32_t> ptid{};
  static constexpr field<"time", std::uint64_t> time{};
  static constexpr layout fields{perf_head::type, perf_head::misc, perf_head::record_size, pid, ppid, tid, ptid, time};
};
/// PERF_RECORD_COMM (3): a task's name, padded with NULs to 8 bytes, then a sample id of pid, tid and u64 time.
struct perf_comm : perf_head {
  static constexpr const char* name = "comm";
  static constexpr std::size_t size = 16;
  static constexpr bool has_payload = true;
  static constexpr field<"pid", std::uint32_t> pid{};
  static constexpr field<"tid", std::uint32_t> tid{};
  static constexpr layout fields{perf_head::type, perf_head::misc, perf_head::record_size, pid, tid};
};
/// Any other perf record.
struct perf_other : perf_head {
  static constexpr const char* name = "other";
  static constexpr std::size_t size = 8;
  static constexpr bool has_payload = true;
  static constexpr layout fields{perf_head::type, perf_head::misc, perf_head::record_size};
};
static_assert(schema<perf_switch> && schema<perf_task> && schema<perf_comm> && schema<perf_other>);

inline constexpr std::uint16_t perf_misc_out = 0x2000;        ///< of a switch: the task leaves the CPU
inline constexpr std::uint16_t perf_misc_preempted = 0x4000;  ///< of a switch: it did not want to

}  // namespace backsight::uftrace
