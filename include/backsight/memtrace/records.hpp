// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/common_when.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/kind_table.hpp>
#include <backsight/core/offset_of.hpp>
#include <backsight/core/record_span.hpp>
#include <backsight/memtrace/file_start.hpp>
#include <backsight/memtrace/schema.hpp>

namespace backsight::memtrace {

/// The final format, for record_range: kinds by type. Every record has the same size, so that nothing is lost behind
/// one that cannot be understood: salvage goes on with the next record.
template <class Address>
struct basic_final_format {
  using records =
      record_list<basic_instruction<Address>, basic_memory_reference<Address>, basic_marker<Address>,
                  basic_fetch<Address>, basic_encoding<Address>, basic_prefetch<Address>, basic_flush<Address>,
                  basic_bundle<Address>, basic_thread<Address>, basic_process<Address>, basic_thread_exit<Address>,
                  basic_header<Address>, basic_footer<Address>>;
  using context = no_context;
  using uniform = basic_entry<Address>;  ///< What every record is of, as stored.
  using footer = basic_footer<Address>;
  static constexpr order byte_order = order::little;
  static constexpr std::size_t head_bytes = sizeof(trace_type);
  static constexpr std::size_t entry_size = size_of<basic_entry<Address>>;
  static constexpr auto common =
      common_when<basic_instruction<Address>, byte_order, std::uint16_t>(is(entry_head::type, trace_type::instr));

  template <class S>
  static constexpr kind_result kind = records::template kind<S>;
  /// The kind of each type.
  static constexpr auto kinds = [] {
    kind_table<records, trace_type_count> table(kind<basic_instruction<Address>>);
    for (std::uint16_t i = 0; i < trace_type_count; ++i) {
      const auto type = static_cast<trace_type>(i);
      if (is_prefetch(type)) table.set(i, kind<basic_prefetch<Address>>);
      else if (is_flush(type)) table.set(i, kind<basic_flush<Address>>);
      else if (type == trace_type::read || type == trace_type::write)
        table.set(i, kind<basic_memory_reference<Address>>);
      else if (type == trace_type::marker) table.set(i, kind<basic_marker<Address>>);
      else if (type == trace_type::instr_no_fetch || type == trace_type::instr_maybe_fetch)
        table.set(i, kind<basic_fetch<Address>>);
      else if (type == trace_type::encoding) table.set(i, kind<basic_encoding<Address>>);
      else if (type == trace_type::instr_bundle) table.set(i, kind<basic_bundle<Address>>);
      else if (type == trace_type::thread) table.set(i, kind<basic_thread<Address>>);
      else if (type == trace_type::pid) table.set(i, kind<basic_process<Address>>);
      else if (type == trace_type::thread_exit) table.set(i, kind<basic_thread_exit<Address>>);
      else if (type == trace_type::header) table.set(i, kind<basic_header<Address>>);
      else if (type == trace_type::footer) table.set(i, kind<basic_footer<Address>>);
    }
    return table;
  }();

  static constexpr kind_result kind_of(const std::byte* at, const context&) noexcept {
    const auto type = static_cast<std::uint16_t>(
        load<trace_type, byte_order>(at + offset_of<basic_entry<Address>>(entry_head::type)));
    if (type >= trace_type_count) return errc::unknown_record;
    return kinds[type];
  }
  static constexpr errc check(record<basic_encoding<Address>, byte_order> item, const context&) noexcept {
    return item[basic_encoding<Address>::size] > sizeof(Address) ? errc::bad_size : errc::ok;
  }
  static constexpr errc check(record<basic_bundle<Address>, byte_order> item, const context&) noexcept {
    return item[basic_bundle<Address>::count] > sizeof(Address) ? errc::bad_size : errc::ok;
  }
  static constexpr std::size_t resync(byte_view all, std::size_t from, context&) noexcept {
    const std::size_t next = (from + entry_size - 1) / entry_size * entry_size;
    return next < all.size() ? next : all.size();
  }
};

/// The typed records of a final trace: record_range<final_format>(bytes).
using final_format = basic_final_format<std::uint64_t>;
using final_format32 = basic_final_format<std::uint32_t>;
using final_range = record_range<final_format>;
using final_range32 = record_range<final_format32>;
static_assert(record_format<final_format> && record_format<final_format32>);

/// What is wrong with a record: errc::unknown_record, errc::bad_size for more bytes than an ENCODING or INSTR_BUNDLE
/// has room for, errc::ok.
template <class Address>
[[nodiscard]] constexpr errc entry_error(const record<basic_entry<Address>, order::little>& item) noexcept {
  const trace_type type = item[entry_head::type];
  if (static_cast<std::uint16_t>(type) >= trace_type_count) return errc::unknown_record;
  const bool has_bytes = type == trace_type::encoding || type == trace_type::instr_bundle;
  return has_bytes && item[entry_head::size] > sizeof(Address) ? errc::bad_size : errc::ok;
}

/// The records as uniform entries, random access: the fastest way over a trace.
using entry_span = record_span<entry_record, order::little>;
using entry_view = record<entry_record, order::little>;

/// What the records at the start of a final file say; `size` ends at the first TIMESTAMP or other record that is no
/// part of it.
struct final_header : file_start {
  std::uint64_t chunk_instr_count = 0;
  std::uint8_t address_size = 8;  ///< 8: records of 12 bytes; 4: records of 8 bytes.
  bool has_file_type = false;     ///< The file has a FILETYPE marker.

  [[nodiscard]] constexpr std::size_t entry_size() const noexcept {
    return address_size == 4 ? size_of<basic_entry<std::uint32_t>> : size_of<entry_record>;
  }
};

/// Calls `f(Address{})` with the type of the file's addresses, std::uint64_t or std::uint32_t.
template <class F>
constexpr decltype(auto) with_address(const final_header& head, F&& f) {
  if (head.address_size == sizeof(std::uint32_t)) return f(std::uint32_t{});
  return f(std::uint64_t{});
}

namespace detail {

template <class Address>
[[nodiscard]] constexpr result<final_header> read_final_header_as(byte_view bytes) noexcept {
  using any = basic_entry<Address>;
  final_header head;
  head.address_size = sizeof(Address);
  const record_span<any, order::little> all(bytes);
  head.version = all[0][any::addr];
  if (head.version == 0 || head.version > newest_final_version)
    return {head, {errc::unsupported_version, offset_of<any>(any::addr)}};
  std::size_t i = 1;
  for (; i < all.size(); ++i) {
    const auto item = all[i];
    const std::uint64_t offset = i * size_of<any>, value = item[any::addr];
    const trace_type type = item[any::type];
    const auto says = [&](marker_type wanted) { return is_marker(item, wanted); };
    if (type == trace_type::thread && head.tid == 0) head.tid = value;
    else if (type == trace_type::pid && head.pid == 0) head.pid = value;
    else if (type != trace_type::marker) break;
    else if (says(marker_type::version)) {
      if (value != head.version) return {head, {errc::bad_value, offset}};
    } else if (says(marker_type::filetype)) {
      head.has_file_type = true;
      head.file_type = value;
      if ((value & ~file_type::known) != 0) return {head, {errc::unsupported_type, offset}};
      const bool narrow = (value & (file_type::arm32 | file_type::x86_32)) != 0;
      const bool wide = (value & (file_type::aarch64 | file_type::x86_64)) != 0;
      if ((narrow && sizeof(Address) != 4) || (wide && sizeof(Address) != 8) || (narrow && wide)) {
        return {head, {errc::unsupported_type, offset}};
      }
    } else if (says(marker_type::cache_line_size)) head.cache_line_size = value;
    else if (says(marker_type::chunk_instr_count)) head.chunk_instr_count = value;
    else if (says(marker_type::page_size)) head.page_size = value;
    else if (!says(marker_type::vector_length)) break;
  }
  head.size = i * size_of<any>;
  for (; i < all.size() && all[i][any::type] == trace_type::marker; ++i) {
    if (!is_marker(all[i], marker_type::timestamp)) continue;
    head.first_time = all[i][any::addr];
    break;
  }
  return head;
}

}  // namespace detail

/// Reads the start of a final trace, version 1 to 7. Errors: errc::compressed for a compressed file, errc::bad_magic
/// for anything else that does not begin with a HEADER, errc::unsupported_version, errc::unsupported_type for file-type
/// bits that this library does not know or that contradict the record size, errc::truncated.
[[nodiscard]] constexpr result<final_header> read_final_header(byte_view bytes) noexcept {
  if (looks_compressed(bytes)) return {errc::compressed, 0};
  using narrow_entry = basic_entry<std::uint32_t>;
  if (bytes.size() < size_of<narrow_entry>) return {bytes.empty() ? errc::truncated : errc::bad_magic, 0};
  const record<narrow_entry, order::little> first(bytes.data());
  if (first[entry_head::type] != trace_type::header || first[entry_head::size] != 0) return {errc::bad_magic, 0};
  if (bytes.size() < size_of<entry_record>) return {errc::truncated, bytes.size()};
  // The version fits 32 bits: behind it a wide record has zeros, a narrow one the type of the next record.
  const record<header_record, order::little> wide(bytes.data());
  if (wide[header_record::version] >> 32 == 0) return detail::read_final_header_as<std::uint64_t>(bytes);
  const trace_type next = record<narrow_entry, order::little>(bytes.data() + size_of<narrow_entry>)[entry_head::type];
  if (next != trace_type::marker && next != trace_type::thread)
    return {errc::unsupported_version, offset_of<header_record>(header_record::version)};
  return detail::read_final_header_as<std::uint32_t>(bytes);
}

}  // namespace backsight::memtrace
