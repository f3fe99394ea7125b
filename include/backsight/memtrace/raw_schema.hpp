// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/record.hpp>
#include <backsight/memtrace/types.hpp>

// The entries of raw traces: offline_entry_t, 8 bytes, little-endian, told apart by the top three bits. Source:
// clients/drcachesim/common/trace_entry.h of DynamoRIO, commit 05e316505.

namespace backsight::memtrace {

/// The top three bits of a raw entry.
enum class raw_type : std::uint8_t {
  memref,
  pc,
  thread,
  pid,
  timestamp,
  pc_top_bit_or_iflush,
  extended,
  memref_high,
};
[[nodiscard]] constexpr const char* enumerator_name(raw_type type) noexcept {
  constexpr const char* names[]{"memref", "pc", "thread", "pid", "timestamp", "pc_top_bit", "extended", "memref_high"};
  return names[static_cast<unsigned>(type) & 7U];
}

/// Bits 56 to 60 of an extended entry.
enum class raw_extension : std::uint8_t {
  header_deprecated,
  footer,
  marker,
  meminfo,
  header,
  scatter_gather_base,
};
inline constexpr std::uint8_t raw_extension_count = 6;
[[nodiscard]] constexpr const char* enumerator_name(raw_extension extension) noexcept {
  constexpr const char* names[]{"header_deprecated", "footer", "marker", "meminfo", "header", "scatter_gather_base"};
  const auto index = static_cast<unsigned>(extension);
  return index < raw_extension_count ? names[index] : nullptr;
}

/// Any raw entry, as stored. All versions.
struct raw_entry {
  static constexpr const char* name = "raw_entry";
  static constexpr backsight::field<"value", std::uint64_t, 61> value{};
  static constexpr backsight::field<"type", raw_type, 3> type{};
  static constexpr backsight::layout fields{word<64>(value, type)};
};

/// MEMREF, MEMREF_HIGH: a data address, the whole word. Its top three bits are part of it. All versions.
struct raw_memref {
  static constexpr const char* name = "raw_memref";
  static constexpr backsight::field<"address", std::uint64_t> address{};
  static constexpr backsight::layout fields{address};
};

/// PC, PC_TOP_BIT: one executed basic block. All versions; type 5 since 2026-05.
struct raw_block {
  static constexpr const char* name = "raw_block";
  static constexpr backsight::field<"modoffs", std::uint64_t, 33> modoffs{};
  static constexpr backsight::field<"modidx", std::uint16_t, 16> modidx{};
  static constexpr backsight::field<"instr_count", std::uint16_t, 12> instr_count{};
  static constexpr backsight::field<"type", raw_type, 3> type{};
  static constexpr backsight::layout fields{word<64>(modoffs, modidx, instr_count, type)};
};
/// The modidx of code that belongs to no module: modoffs then refers to encodings.bin.
inline constexpr std::uint16_t generated_code = 0xffff;

/// THREAD. All versions.
struct raw_thread {
  static constexpr const char* name = "raw_thread";
  static constexpr backsight::field<"tid", std::uint64_t, 61> tid{};
  static constexpr backsight::field<"type", raw_type, 3> type{};
  static constexpr backsight::layout fields{word<64>(tid, type)};
};

/// PID. All versions.
struct raw_process {
  static constexpr const char* name = "raw_process";
  static constexpr backsight::field<"pid", std::uint64_t, 61> pid{};
  static constexpr backsight::field<"type", raw_type, 3> type{};
  static constexpr backsight::layout fields{word<64>(pid, type)};
};

/// TIMESTAMP: microseconds since 1601-01-01 UTC. All versions.
struct raw_timestamp {
  static constexpr const char* name = "raw_timestamp";
  static constexpr backsight::field<"usec", std::uint64_t, 61> usec{};
  static constexpr backsight::field<"type", raw_type, 3> type{};
  static constexpr backsight::layout fields{word<64>(usec, type)};
};

/// EXTENDED 2: a marker whose value fits 48 bits. All versions.
struct raw_marker {
  static constexpr const char* name = "raw_marker";
  static constexpr backsight::field<"value", std::uint64_t, 48> value{};
  static constexpr backsight::field<"marker_type", memtrace::marker_type, 8> marker_type{};
  static constexpr backsight::field<"ext", raw_extension, 5> ext{};
  static constexpr backsight::field<"type", raw_type, 3> type{};
  static constexpr backsight::layout fields{word<64>(value, marker_type, ext, type)};
};

/// A marker with a 64-bit value: a SPLIT_VALUE marker with the upper half, then the real one with the lower half. 16
/// bytes.
struct raw_split_marker {
  static constexpr const char* name = "raw_split_marker";
  static constexpr backsight::field<"high", std::uint64_t, 48> high{};
  static constexpr backsight::field<"split", memtrace::marker_type, 8> split{};
  static constexpr backsight::field<"split_ext", raw_extension, 5> split_ext{};
  static constexpr backsight::field<"split_type", raw_type, 3> split_type{};
  static constexpr backsight::field<"low", std::uint64_t, 48> low{};
  static constexpr backsight::field<"marker_type", memtrace::marker_type, 8> marker_type{};
  static constexpr backsight::field<"ext", raw_extension, 5> ext{};
  static constexpr backsight::field<"type", raw_type, 3> type{};
  static constexpr backsight::layout fields{word<64>(high, split, split_ext, split_type),
                                            word<64>(low, marker_type, ext, type)};
};

/// EXTENDED 0: the header of files before version 5.
struct raw_header_deprecated {
  static constexpr const char* name = "raw_header_deprecated";
  static constexpr backsight::field<"version", std::uint64_t, 48> version{};
  static constexpr backsight::field<"file_type", std::uint8_t, 8> file_type{};
  static constexpr backsight::field<"ext", raw_extension, 5> ext{};
  static constexpr backsight::field<"type", raw_type, 3> type{};
  static constexpr backsight::layout fields{word<64>(version, file_type, ext, type)};
};

/// EXTENDED 4: the header of files of version 5 and later.
struct raw_header {
  static constexpr const char* name = "raw_header";
  static constexpr backsight::field<"file_type", std::uint64_t, 48> file_type{};
  static constexpr backsight::field<"version", std::uint8_t, 8> version{};
  static constexpr backsight::field<"ext", raw_extension, 5> ext{};
  static constexpr backsight::field<"type", raw_type, 3> type{};
  static constexpr backsight::layout fields{word<64>(file_type, version, ext, type)};
};

/// EXTENDED 1: the last entry of a file. All versions.
struct raw_footer {
  static constexpr const char* name = "raw_footer";
  static constexpr backsight::field<"value_a", std::uint64_t, 48> value_a{};
  static constexpr backsight::field<"value_b", std::uint8_t, 8> value_b{};
  static constexpr backsight::field<"ext", raw_extension, 5> ext{};
  static constexpr backsight::field<"type", raw_type, 3> type{};
  static constexpr backsight::layout fields{word<64>(value_a, value_b, ext, type)};
};

/// EXTENDED 3: size and type of the data reference that follows, in filtered traces. All versions.
struct raw_meminfo {
  static constexpr const char* name = "raw_meminfo";
  static constexpr backsight::field<"size", std::uint64_t, 48> size{};
  static constexpr backsight::field<"access", std::uint8_t, 8> access{};
  static constexpr backsight::field<"ext", raw_extension, 5> ext{};
  static constexpr backsight::field<"type", raw_type, 3> type{};
  static constexpr backsight::layout fields{word<64>(size, access, ext, type)};
};

/// EXTENDED 5: base address of a contiguous scatter or gather. AArch64, since 2026-06.
struct raw_scatter_gather_base {
  static constexpr const char* name = "raw_scatter_gather_base";
  static constexpr backsight::field<"address", std::uint64_t, 48> address{};
  static constexpr backsight::field<"value_b", std::uint8_t, 8> value_b{};
  static constexpr backsight::field<"ext", raw_extension, 5> ext{};
  static constexpr backsight::field<"type", raw_type, 3> type{};
  static constexpr backsight::layout fields{word<64>(address, value_b, ext, type)};
};

/// IFLUSH: a flushed range of code, two words. 32-bit ARM only, where it takes the type that others use for blocks.
struct raw_iflush {
  static constexpr const char* name = "raw_iflush";
  static constexpr backsight::field<"start", std::uint64_t, 61> start{};
  static constexpr backsight::field<"start_type", raw_type, 3> start_type{};
  static constexpr backsight::field<"end", std::uint64_t, 61> end{};
  static constexpr backsight::field<"end_type", raw_type, 3> end_type{};
  static constexpr backsight::layout fields{word<64>(start, start_type), word<64>(end, end_type)};
};

static_assert(schema<raw_entry> && size_of<raw_entry> == 8);
static_assert(schema<raw_memref> && schema<raw_block> && schema<raw_thread> && schema<raw_process>);
static_assert(schema<raw_timestamp> && schema<raw_marker> && schema<raw_header_deprecated> && schema<raw_header>);
static_assert(schema<raw_footer> && schema<raw_meminfo> && schema<raw_scatter_gather_base>);
static_assert(schema<raw_split_marker> && size_of<raw_split_marker> == 16);
static_assert(schema<raw_iflush> && size_of<raw_iflush> == 16);

/// Whether a raw entry, seen as a marker, is one; and of that type.
[[nodiscard]] constexpr bool is_marker(const record<raw_marker, order::little>& item) noexcept {
  return item[raw_marker::type] == raw_type::extended && item[raw_marker::ext] == raw_extension::marker;
}
[[nodiscard]] constexpr bool is_marker(const record<raw_marker, order::little>& item, marker_type wanted) noexcept {
  return is_marker(item) && item[raw_marker::marker_type] == wanted;
}

/// The start of encodings.bin: its version, and from version 1 on the file type behind it.
struct encodings_header {
  static constexpr const char* name = "encodings_header";
  static constexpr backsight::field<"version", std::uint64_t> version{};
  static constexpr backsight::layout fields{version};
};

/// One entry of encodings.bin, raw version 6 and later; `length` counts the whole entry, the instruction bytes follow.
struct encodings_entry {
  static constexpr const char* name = "encodings_entry";
  static constexpr bool has_payload = true;
  static constexpr backsight::field<"length", std::uint64_t> length{};
  static constexpr backsight::field<"id", std::uint64_t> id{};
  static constexpr backsight::field<"start_pc", std::uint64_t> start_pc{};
  static constexpr backsight::layout fields{length, id, start_pc};
};
static_assert(schema<encodings_header> && schema<encodings_entry> && size_of<encodings_entry> == 24);

}  // namespace backsight::memtrace
