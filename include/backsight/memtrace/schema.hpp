// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <backsight/core/record.hpp>
#include <backsight/memtrace/types.hpp>

// The records of final traces: trace_entry_t, packed, little-endian, 12 bytes with 64-bit addresses and 8 bytes with
// 32-bit ones. Source: clients/drcachesim/common/trace_entry.h of DynamoRIO, commit 05e316505. All records have the
// same shape; what the two members behind `type` mean depends on the type, so each meaning is a schema of its own.

namespace backsight::memtrace {

/// What every record of a final trace begins with. In MARKER and INSTR_BUNDLE the second member means something else.
struct entry_head {
  static constexpr backsight::field<"type", trace_type> type{};
  static constexpr backsight::field<"size", std::uint16_t> size{};
  static constexpr backsight::layout head{type, size};
};

/// Any record of a final trace, as stored: type, size and address. All versions.
template <class Address>
struct basic_entry : entry_head {
  static constexpr const char* name = "entry";
  static constexpr backsight::field<"addr", Address> addr{};
  static constexpr backsight::layout fields = head + backsight::layout{addr};
};

/// HEADER: the first record of a file. All versions.
template <class Address>
struct basic_header : entry_head {
  static constexpr const char* name = "header";
  static constexpr backsight::field<"version", Address> version{};
  static constexpr backsight::layout fields = head + backsight::layout{version};
};

/// FOOTER: the last record of a file, and mid-file in core-sharded traces. All versions.
template <class Address>
struct basic_footer : entry_head {
  static constexpr const char* name = "footer";
  static constexpr backsight::field<"addr", Address> addr{};
  static constexpr backsight::layout fields = head + backsight::layout{addr};
};

/// THREAD: the thread that the records behind it belong to. All versions.
template <class Address>
struct basic_thread : entry_head {
  static constexpr const char* name = "thread";
  static constexpr backsight::field<"tid", Address> tid{};
  static constexpr backsight::layout fields = head + backsight::layout{tid};
};

/// THREAD_EXIT: the thread ends. All versions.
template <class Address>
struct basic_thread_exit : entry_head {
  static constexpr const char* name = "thread_exit";
  static constexpr backsight::field<"tid", Address> tid{};
  static constexpr backsight::layout fields = head + backsight::layout{tid};
};

/// PID: the process of the records behind it. All versions.
template <class Address>
struct basic_process : entry_head {
  static constexpr const char* name = "pid";
  static constexpr backsight::field<"pid", Address> pid{};
  static constexpr backsight::layout fields = head + backsight::layout{pid};
};

/// MARKER: a fact about the trace or the program; marker_type says which. All versions.
template <class Address>
struct basic_marker : entry_head {
  static constexpr const char* name = "marker";
  static constexpr backsight::field<"marker_type", memtrace::marker_type> marker_type{};
  static constexpr backsight::field<"value", Address> value{};
  static constexpr backsight::layout fields{type, marker_type, value};
};

/// ENCODING: up to 8 (4) bytes of the instruction that follows. Version 4 and later.
template <class Address>
struct basic_encoding : entry_head {
  static constexpr const char* name = "encoding";
  static constexpr backsight::field<"bytes", std::array<std::byte, sizeof(Address)>> bytes{};
  static constexpr backsight::layout fields = head + backsight::layout{bytes};
};

/// INSTR*: an executed instruction; the type says what kind of branch it is. A size of zero marks the PC of the next
/// data record of a filtered trace, and is no instruction. TAKEN and UNTAKEN from version 5 on.
template <class Address>
struct basic_instruction : entry_head {
  static constexpr const char* name = "instruction";
  static constexpr backsight::field<"pc", Address> pc{};
  static constexpr backsight::layout fields = head + backsight::layout{pc};
};

/// INSTR_NO_FETCH and INSTR_MAYBE_FETCH: a further iteration of a string instruction. All versions.
template <class Address>
struct basic_fetch : entry_head {
  static constexpr const char* name = "fetch";
  static constexpr backsight::field<"pc", Address> pc{};
  static constexpr backsight::layout fields = head + backsight::layout{pc};
};

/// INSTR_BUNDLE: lengths of several instructions that follow one another. Online traces only. All versions.
template <class Address>
struct basic_bundle : entry_head {
  static constexpr const char* name = "bundle";
  static constexpr backsight::field<"count", std::uint16_t> count{};
  static constexpr backsight::field<"lengths", std::array<std::byte, sizeof(Address)>> lengths{};
  static constexpr backsight::layout fields{type, count, lengths};
};

/// READ and WRITE: a data reference of the instruction before it. All versions.
template <class Address>
struct basic_memory_reference : entry_head {
  static constexpr const char* name = "memory_reference";
  static constexpr backsight::field<"address", Address> address{};
  static constexpr backsight::layout fields = head + backsight::layout{address};
};

/// PREFETCH*: a software or hardware prefetch. All versions.
template <class Address>
struct basic_prefetch : entry_head {
  static constexpr const char* name = "prefetch";
  static constexpr backsight::field<"address", Address> address{};
  static constexpr backsight::layout fields = head + backsight::layout{address};
};

/// INSTR_FLUSH*, DATA_FLUSH*: a cache flush. All versions.
template <class Address>
struct basic_flush : entry_head {
  static constexpr const char* name = "flush";
  static constexpr backsight::field<"address", Address> address{};
  static constexpr backsight::layout fields = head + backsight::layout{address};
};

/// A record of a final trace with 64-bit addresses, 12 bytes.
using entry_record = basic_entry<std::uint64_t>;
using header_record = basic_header<std::uint64_t>;
using footer_record = basic_footer<std::uint64_t>;
using thread_record = basic_thread<std::uint64_t>;
using thread_exit_record = basic_thread_exit<std::uint64_t>;
using process_record = basic_process<std::uint64_t>;
using marker_record = basic_marker<std::uint64_t>;
using encoding_record = basic_encoding<std::uint64_t>;
using instruction_record = basic_instruction<std::uint64_t>;
using fetch_record = basic_fetch<std::uint64_t>;
using bundle_record = basic_bundle<std::uint64_t>;
using memory_reference = basic_memory_reference<std::uint64_t>;
using prefetch_record = basic_prefetch<std::uint64_t>;
using flush_record = basic_flush<std::uint64_t>;

static_assert(schema<entry_record> && size_of<entry_record> == 12);
static_assert(schema<basic_entry<std::uint32_t>> && size_of<basic_entry<std::uint32_t>> == 8);
static_assert(schema<header_record> && schema<footer_record> && schema<thread_record> && schema<thread_exit_record>);
static_assert(schema<process_record> && schema<marker_record> && schema<encoding_record> && schema<instruction_record>);
static_assert(schema<fetch_record> && schema<bundle_record> && schema<memory_reference> && schema<prefetch_record>);
static_assert(schema<flush_record>);

/// Whether a record is a marker of that type.
template <class Address>
[[nodiscard]] constexpr bool is_marker(const record<basic_entry<Address>, order::little>& item,
                                       marker_type wanted) noexcept {
  if (item[entry_head::type] != trace_type::marker) return false;
  using marker = basic_marker<Address>;
  return record<marker, order::little>(item.bytes().data())[marker::marker_type] == wanted;
}

/// An entry of a schedule file (cpu_schedule.bin.zip, serial_schedule.bin.gz), 32 bytes: who ran when and where.
struct schedule_entry {
  static constexpr const char* name = "schedule_entry";
  static constexpr backsight::field<"thread", std::uint64_t> thread{};
  static constexpr backsight::field<"timestamp", std::uint64_t> timestamp{};
  static constexpr backsight::field<"cpu", std::uint64_t> cpu{};
  static constexpr backsight::field<"start_instruction", std::uint64_t> start_instruction{};
  static constexpr backsight::layout fields{thread, timestamp, cpu, start_instruction};
};
static_assert(schema<schedule_entry> && size_of<schedule_entry> == 32);

}  // namespace backsight::memtrace
