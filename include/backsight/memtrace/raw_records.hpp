// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include <backsight/core/error.hpp>
#include <backsight/core/offset_of.hpp>
#include <backsight/core/record_span.hpp>
#include <backsight/memtrace/file_start.hpp>
#include <backsight/memtrace/raw_schema.hpp>

namespace backsight::memtrace {

/// What the kinds of raw entries depend on beside their bits.
struct raw_context {
  bool arm32 = false;  ///< Type 5 is a flushed range of code, not a block.
  [[nodiscard]] friend constexpr bool operator==(const raw_context&, const raw_context&) = default;
};

/// The raw format, for record_range. Addresses with tag bits in their top byte may look like another kind of entry;
/// they cannot be told without decoding the code, and are given as what their bits say.
struct raw_format {
  using records =
      record_list<raw_memref, raw_block, raw_timestamp, raw_marker, raw_split_marker, raw_thread, raw_process,
                  raw_header, raw_header_deprecated, raw_footer, raw_meminfo, raw_scatter_gather_base, raw_iflush>;
  using context = raw_context;
  using uniform = raw_entry;  ///< What every record is of, as stored.
  using footer = raw_footer;
  static constexpr order byte_order = order::little;
  static constexpr std::size_t head_bytes = size_of<raw_entry>;

  static constexpr kind_result kind_of(const std::byte* at, const context& now) noexcept {
    const record<raw_marker, byte_order> item(at);
    switch (item[raw_marker::type]) {
      case raw_type::memref:
      case raw_type::memref_high: return records::kind<raw_memref>;
      case raw_type::pc: return records::kind<raw_block>;
      case raw_type::thread: return records::kind<raw_thread>;
      case raw_type::pid: return records::kind<raw_process>;
      case raw_type::timestamp: return records::kind<raw_timestamp>;
      case raw_type::pc_top_bit_or_iflush:
        if (now.arm32) return records::kind<raw_iflush>;
        return records::kind<raw_block>;
      case raw_type::extended: break;
    }
    switch (item[raw_marker::ext]) {
      case raw_extension::header_deprecated: return records::kind<raw_header_deprecated>;
      case raw_extension::footer: return records::kind<raw_footer>;
      case raw_extension::marker:
        if (item[raw_marker::marker_type] == marker_type::split_value) return records::kind<raw_split_marker>;
        return records::kind<raw_marker>;
      case raw_extension::meminfo: return records::kind<raw_meminfo>;
      case raw_extension::header: return records::kind<raw_header>;
      case raw_extension::scatter_gather_base: return records::kind<raw_scatter_gather_base>;
    }
    return errc::unknown_record;
  }
  static constexpr errc check(record<raw_split_marker, byte_order> item, const context&) noexcept {
    const record<raw_marker, byte_order> second(item.bytes().data() + size_of<raw_marker>);
    return is_marker(second) && !is_marker(second, marker_type::split_value) ? errc::ok : errc::unpaired_record;
  }
  static constexpr errc check(record<raw_iflush, byte_order> item, const context&) noexcept {
    return item[raw_iflush::end_type] == raw_type::pc_top_bit_or_iflush ? errc::ok : errc::unpaired_record;
  }
  static constexpr void advance(context& now, record<raw_header, byte_order> item) noexcept {
    now.arm32 = (item[raw_header::file_type] & file_type::arm32) != 0;
  }
  static constexpr void advance(context& now, record<raw_header_deprecated, byte_order> item) noexcept {
    now.arm32 = (item[raw_header_deprecated::file_type] & file_type::arm32) != 0;
  }
  static constexpr std::size_t resync(byte_view all, std::size_t from, context&) noexcept {
    constexpr std::size_t step = size_of<raw_entry>;
    const std::size_t next = (from + step - 1) / step * step;
    return next < all.size() ? next : all.size();
  }
};
static_assert(record_format<raw_format>);

/// The typed entries of a raw trace.
using raw_range = record_range<raw_format>;
/// The entries as uniform words, random access.
using raw_span = record_span<raw_entry, order::little>;
/// The same as what a marker has; of other entries only `type` says something, and of extended ones `ext`.
using raw_marker_span = record_span<raw_marker, order::little>;

/// The value of a split marker: both halves.
[[nodiscard]] constexpr std::uint64_t value_of(record<raw_split_marker, order::little> item) noexcept {
  return item[raw_split_marker::high] << 32 | static_cast<std::uint32_t>(item[raw_split_marker::low]);
}

/// What the entries at the start of a raw file say; `size` ends at the first unit, which `first_time` is of.
struct raw_file_header : file_start {
  std::uint64_t vector_length = 0;

  [[nodiscard]] constexpr raw_context context() const noexcept { return {(file_type & file_type::arm32) != 0}; }
};

/// Reads the start of a raw trace, versions 2 to 8. Errors: errc::compressed, errc::bad_magic for bytes that do not
/// begin with a raw header, errc::unsupported_version, errc::unsupported_type, errc::truncated.
[[nodiscard]] constexpr result<raw_file_header> read_raw_header(byte_view bytes) noexcept {
  if (looks_compressed(bytes)) return {errc::compressed, 0};
  const raw_span all(bytes);
  const raw_marker_span markers(bytes);
  if (all.empty()) return {bytes.empty() ? errc::truncated : errc::bad_magic, 0};
  raw_file_header head;
  const record<raw_header, order::little> first(bytes.data());
  const record<raw_header_deprecated, order::little> old(bytes.data());
  if (first[raw_header::type] != raw_type::extended) return {errc::bad_magic, 0};
  if (first[raw_header::ext] == raw_extension::header) {
    head.version = first[raw_header::version];
    head.file_type = first[raw_header::file_type];
    if (head.version < 5 || head.version > newest_raw_version)
      return {head, {errc::unsupported_version, offset_of<raw_header>(raw_header::version)}};
  } else if (first[raw_header::ext] == raw_extension::header_deprecated) {
    head.version = old[raw_header_deprecated::version];
    head.file_type = old[raw_header_deprecated::file_type];
    if (head.version < oldest_raw_version || head.version > 4)
      return {head, {errc::unsupported_version, offset_of<raw_header_deprecated>(raw_header_deprecated::version)}};
  } else {
    return {errc::bad_magic, 0};
  }
  if ((head.file_type & ~file_type::known) != 0) return {head, {errc::unsupported_type, 0}};
  std::size_t i = 1;
  for (; i < all.size(); ++i) {
    const std::uint64_t value = markers[i][raw_marker::value];
    if (all[i][raw_entry::type] == raw_type::thread) head.tid = all[i][raw_entry::value];
    else if (all[i][raw_entry::type] == raw_type::pid) head.pid = all[i][raw_entry::value];
    else if (is_marker(markers[i], marker_type::cache_line_size)) head.cache_line_size = value;
    else if (is_marker(markers[i], marker_type::page_size)) head.page_size = value;
    else if (is_marker(markers[i], marker_type::vector_length)) head.vector_length = value;
    else break;
  }
  head.size = i * size_of<raw_entry>;
  if (i < all.size() && all[i][raw_entry::type] == raw_type::timestamp) head.first_time = all[i][raw_entry::value];
  return head;
}

/// One buffer of the tracer, as it was written: a unit header (TIMESTAMP, WINDOW_ID, CPU_ID) and what follows it.
struct raw_unit {
  std::size_t begin = 0;   ///< Byte offset of the unit's TIMESTAMP.
  std::size_t end = 0;     ///< Byte offset behind its last entry.
  std::uint64_t time = 0;  ///< When the buffer began, microseconds since 1601; clamped up to its window's opening.
  std::uint64_t cpu = 0;
  std::uint64_t tid = 0;
  std::optional<std::uint64_t> window;  ///< None in a run without windows.
};

/// The units of a raw file with windows: found by looking for TIMESTAMP, WINDOW_ID, CPU_ID and nothing between them. In
/// a run without windows a unit header cannot be told from a system call's times, and the file is one unit.
/// A view over `bytes`. Costs one comparison for each entry.
class raw_units {
 public:
  constexpr raw_units(byte_view bytes, const raw_file_header& head) noexcept
      : bytes_(bytes), tid_(head.tid), first_(head.size) {}

  class iterator {
   public:
    using value_type = raw_unit;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::forward_iterator_tag;
    constexpr iterator() = default;
    constexpr const raw_unit& operator*() const noexcept { return unit_; }
    constexpr const raw_unit* operator->() const noexcept { return &unit_; }
    constexpr iterator& operator++() noexcept {
      load(unit_.end);
      return *this;
    }
    constexpr iterator operator++(int) noexcept {
      const iterator before = *this;
      ++*this;
      return before;
    }
    friend constexpr bool operator==(const iterator& a, const iterator& b) noexcept {
      return a.unit_.begin == b.unit_.begin;
    }
    friend constexpr bool operator==(const iterator& a, std::default_sentinel_t) noexcept { return a.done_; }

   private:
    friend raw_units;
    constexpr iterator(byte_view bytes, std::size_t at, std::uint64_t tid) noexcept : bytes_(bytes) {
      unit_.tid = tid;
      load(at);
    }
    static constexpr std::size_t step = size_of<raw_entry>;
    [[nodiscard]] constexpr record<raw_marker, order::little> at(std::size_t offset) const noexcept {
      return record<raw_marker, order::little>(bytes_.data() + offset);
    }
    [[nodiscard]] constexpr bool is_marker_at(std::size_t offset, marker_type type) const noexcept {
      return offset + step <= bytes_.size() && is_marker(at(offset), type);
    }
    [[nodiscard]] constexpr bool is_unit(std::size_t offset) const noexcept {
      return at(offset)[raw_marker::type] == raw_type::timestamp && is_marker_at(offset + step, marker_type::window_id);
    }
    constexpr void load(std::size_t begin) noexcept {
      unit_.begin = begin;
      unit_.window.reset();
      unit_.time = unit_.cpu = 0;
      const std::size_t whole = bytes_.size() / step * step;
      done_ = begin >= whole;
      if (done_) {
        unit_.begin = unit_.end = whole;
        return;
      }
      if (at(begin)[raw_marker::type] == raw_type::timestamp) {
        unit_.time = record<raw_timestamp, order::little>(bytes_.data() + begin)[raw_timestamp::usec];
        std::size_t next = begin + step;
        if (is_marker_at(next, marker_type::window_id)) {
          unit_.window = at(next)[raw_marker::value];
          next += step;
        }
        if (is_marker_at(next, marker_type::cpu_id)) unit_.cpu = at(next)[raw_marker::value];
      }
      std::size_t end = begin + step;
      while (end < whole && !is_unit(end)) end += step;
      unit_.end = end;
    }

    byte_view bytes_;
    raw_unit unit_;
    bool done_ = true;
  };

  [[nodiscard]] constexpr iterator begin() const noexcept { return {bytes_, first_, tid_}; }
  [[nodiscard]] constexpr std::default_sentinel_t end() const noexcept { return {}; }

 private:
  byte_view bytes_;
  std::uint64_t tid_ = 0;
  std::size_t first_ = 0;
};

}  // namespace backsight::memtrace
