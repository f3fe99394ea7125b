// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The numbers of DynamoRIO's drmemtrace formats. Source: clients/drcachesim/common/trace_entry.h, commit 05e316505.

namespace backsight::memtrace {

// clang-format off: packed, by number.
/// trace_type_t: what an entry of a final trace is.
enum class trace_type : std::uint16_t {
  read, write, prefetch, prefetch_read_l1, prefetch_read_l2, prefetch_read_l3, prefetch_nta, prefetch_read,
  prefetch_write, prefetch_instr, instr, instr_direct_jump, instr_indirect_jump, instr_conditional_jump,
  instr_direct_call, instr_indirect_call, instr_return, instr_bundle, instr_flush, instr_flush_end, data_flush,
  data_flush_end, thread, thread_exit, pid, header, footer, hardware_prefetch, marker, instr_no_fetch,
  instr_maybe_fetch, instr_sysenter, prefetch_read_l1_nt, prefetch_read_l2_nt, prefetch_read_l3_nt, prefetch_instr_l1,
  prefetch_instr_l1_nt, prefetch_instr_l2, prefetch_instr_l2_nt, prefetch_instr_l3, prefetch_instr_l3_nt,
  prefetch_write_l1, prefetch_write_l1_nt, prefetch_write_l2, prefetch_write_l2_nt, prefetch_write_l3,
  prefetch_write_l3_nt, encoding, instr_taken_jump, instr_untaken_jump,
};
// clang-format on
/// Types from here on are not stored in a trace.
inline constexpr std::uint16_t trace_type_count = 50;

// clang-format off: packed, by number.
/// trace_marker_type_t: what a marker of a raw or a final trace says.
enum class marker_type : std::uint16_t {
  kernel_event, kernel_xfer, timestamp, cpu_id, func_id, func_retaddr, func_arg, func_retval, split_value, filetype,
  cache_line_size, instruction_count, version, rseq_abort, window_id, physical_address,
  physical_address_not_available, virtual_address, page_size, syscall_idx, chunk_instr_count, chunk_footer,
  record_ordinal, filter_endpoint, rseq_entry, syscall, maybe_blocking_syscall, syscall_trace_start,
  syscall_trace_end, branch_target, syscall_failed, direct_thread_switch, core_wait, core_idle, context_switch_start,
  context_switch_end, vector_length, syscall_unschedule, syscall_schedule, syscall_arg_timeout, signal_number,
  uncompleted_instruction, midblock_end_pc, hardware_event, hardware_context_return, kernel_event_raw, skipped_memref,
};
// clang-format on
/// Markers from here to 99 are reserved, from 100 on they are the user's own.
inline constexpr std::uint16_t marker_type_count = 47;

/// The newest version of the final format that this library reads (TRACE_ENTRY_VERSION).
inline constexpr std::uint64_t newest_final_version = 7;
/// The versions of the raw format that this library reads (OFFLINE_FILE_VERSION).
inline constexpr std::uint64_t oldest_raw_version = 2;
inline constexpr std::uint64_t newest_raw_version = 8;

/// Bits of the file type (offline_file_type_t): marker FILETYPE of a final trace, `file_type` of a raw header.
namespace file_type {
inline constexpr std::uint64_t filtered = 0x1, no_optimizations = 0x2, instruction_only = 0x4, aarch64 = 0x8,
                               arm32 = 0x10, x86_32 = 0x20, x86_64 = 0x40, ifiltered = 0x80, dfiltered = 0x100,
                               encodings = 0x200, syscall_numbers = 0x400, blocking_syscalls = 0x800,
                               kernel_syscalls = 0x1000, bimodal_filtered_warmup = 0x2000,
                               kernel_syscall_trace_templates = 0x4000, kernel_syscall_instr_only = 0x8000,
                               core_sharded = 0x10000, arch_regdeps = 0x20000, whole_system = 0x40000;
/// Every bit that has a meaning; a file with others was written by a newer tracer.
inline constexpr std::uint64_t known = 0x7ffff;

/// The name of the bit `1 << index`, or null when it has none.
[[nodiscard]] constexpr const char* name(unsigned index) noexcept {
  constexpr const char* names[]{"filtered",
                                "no_optimizations",
                                "instruction_only",
                                "aarch64",
                                "arm32",
                                "x86_32",
                                "x86_64",
                                "ifiltered",
                                "dfiltered",
                                "encodings",
                                "syscall_numbers",
                                "blocking_syscalls",
                                "kernel_syscalls",
                                "bimodal_filtered_warmup",
                                "kernel_syscall_trace_templates",
                                "kernel_syscall_instr_only",
                                "core_sharded",
                                "arch_regdeps",
                                "whole_system"};
  return index < sizeof names / sizeof *names ? names[index] : nullptr;
}
}  // namespace file_type

/// The name of a trace type; null for a number without one.
[[nodiscard]] constexpr const char* enumerator_name(trace_type type) noexcept {
  constexpr const char* names[trace_type_count]{"read",
                                                "write",
                                                "prefetch",
                                                "prefetch_read_l1",
                                                "prefetch_read_l2",
                                                "prefetch_read_l3",
                                                "prefetch_nta",
                                                "prefetch_read",
                                                "prefetch_write",
                                                "prefetch_instr",
                                                "instr",
                                                "instr_direct_jump",
                                                "instr_indirect_jump",
                                                "instr_conditional_jump",
                                                "instr_direct_call",
                                                "instr_indirect_call",
                                                "instr_return",
                                                "instr_bundle",
                                                "instr_flush",
                                                "instr_flush_end",
                                                "data_flush",
                                                "data_flush_end",
                                                "thread",
                                                "thread_exit",
                                                "pid",
                                                "header",
                                                "footer",
                                                "hardware_prefetch",
                                                "marker",
                                                "instr_no_fetch",
                                                "instr_maybe_fetch",
                                                "instr_sysenter",
                                                "prefetch_read_l1_nt",
                                                "prefetch_read_l2_nt",
                                                "prefetch_read_l3_nt",
                                                "prefetch_instr_l1",
                                                "prefetch_instr_l1_nt",
                                                "prefetch_instr_l2",
                                                "prefetch_instr_l2_nt",
                                                "prefetch_instr_l3",
                                                "prefetch_instr_l3_nt",
                                                "prefetch_write_l1",
                                                "prefetch_write_l1_nt",
                                                "prefetch_write_l2",
                                                "prefetch_write_l2_nt",
                                                "prefetch_write_l3",
                                                "prefetch_write_l3_nt",
                                                "encoding",
                                                "instr_taken_jump",
                                                "instr_untaken_jump"};
  const auto index = static_cast<std::uint16_t>(type);
  return index < trace_type_count ? names[index] : nullptr;
}

/// The name of a marker type; null for a number without one.
[[nodiscard]] constexpr const char* enumerator_name(marker_type type) noexcept {
  constexpr const char* names[marker_type_count]{"kernel_event",
                                                 "kernel_xfer",
                                                 "timestamp",
                                                 "cpu_id",
                                                 "func_id",
                                                 "func_retaddr",
                                                 "func_arg",
                                                 "func_retval",
                                                 "split_value",
                                                 "filetype",
                                                 "cache_line_size",
                                                 "instruction_count",
                                                 "version",
                                                 "rseq_abort",
                                                 "window_id",
                                                 "physical_address",
                                                 "physical_address_not_available",
                                                 "virtual_address",
                                                 "page_size",
                                                 "syscall_idx",
                                                 "chunk_instr_count",
                                                 "chunk_footer",
                                                 "record_ordinal",
                                                 "filter_endpoint",
                                                 "rseq_entry",
                                                 "syscall",
                                                 "maybe_blocking_syscall",
                                                 "syscall_trace_start",
                                                 "syscall_trace_end",
                                                 "branch_target",
                                                 "syscall_failed",
                                                 "direct_thread_switch",
                                                 "core_wait",
                                                 "core_idle",
                                                 "context_switch_start",
                                                 "context_switch_end",
                                                 "vector_length",
                                                 "syscall_unschedule",
                                                 "syscall_schedule",
                                                 "syscall_arg_timeout",
                                                 "signal_number",
                                                 "uncompleted_instruction",
                                                 "midblock_end_pc",
                                                 "hardware_event",
                                                 "hardware_context_return",
                                                 "kernel_event_raw",
                                                 "skipped_memref"};
  const auto index = static_cast<std::uint16_t>(type);
  return index < marker_type_count ? names[index] : nullptr;
}

namespace detail {

/// A set of trace types as bits of a word.
template <class... Types>
[[nodiscard]] consteval std::uint64_t types(Types... list) {
  return (std::uint64_t{0} | ... | (std::uint64_t{1} << static_cast<unsigned>(list)));
}
/// The types from `first` to `last`.
[[nodiscard]] consteval std::uint64_t types_between(trace_type first, trace_type last) {
  return (types(last) << 1) - types(first);
}
[[nodiscard]] constexpr bool among(trace_type type, std::uint64_t set) noexcept {
  const auto index = static_cast<unsigned>(type);
  return index < 64 && (set >> index & 1U) != 0;
}

inline constexpr std::uint64_t instruction_types = types(
    trace_type::instr, trace_type::instr_direct_jump, trace_type::instr_indirect_jump,
    trace_type::instr_conditional_jump, trace_type::instr_direct_call, trace_type::instr_indirect_call,
    trace_type::instr_return, trace_type::instr_sysenter, trace_type::instr_taken_jump, trace_type::instr_untaken_jump);
inline constexpr std::uint64_t indirect_types =
    types(trace_type::instr_indirect_jump, trace_type::instr_indirect_call, trace_type::instr_return);
inline constexpr std::uint64_t direct_types =
    types(trace_type::instr_direct_jump, trace_type::instr_direct_call, trace_type::instr_conditional_jump,
          trace_type::instr_taken_jump, trace_type::instr_untaken_jump);
inline constexpr std::uint64_t prefetch_types =
    types_between(trace_type::prefetch, trace_type::prefetch_instr) | types(trace_type::hardware_prefetch) |
    types_between(trace_type::prefetch_read_l1_nt, trace_type::prefetch_write_l3_nt);
inline constexpr std::uint64_t flush_types =
    types(trace_type::instr_flush, trace_type::instr_flush_end, trace_type::data_flush, trace_type::data_flush_end);

}  // namespace detail

/// Types that count as instructions when their size is not zero: 10 to 16, 31, 48 and 49.
[[nodiscard]] constexpr bool is_instruction(trace_type type) noexcept {
  return detail::among(type, detail::instruction_types);
}
[[nodiscard]] constexpr bool is_prefetch(trace_type type) noexcept {
  return detail::among(type, detail::prefetch_types);
}
[[nodiscard]] constexpr bool is_flush(trace_type type) noexcept { return detail::among(type, detail::flush_types); }
/// Loads, stores and prefetches: the entries that name data.
[[nodiscard]] constexpr bool is_data(trace_type type) noexcept {
  return type == trace_type::read || type == trace_type::write || is_prefetch(type);
}
[[nodiscard]] constexpr bool is_indirect_branch(trace_type type) noexcept {
  return detail::among(type, detail::indirect_types);
}
[[nodiscard]] constexpr bool is_branch(trace_type type) noexcept {
  return detail::among(type, detail::indirect_types | detail::direct_types);
}

}  // namespace backsight::memtrace
