// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <backsight/core/error.hpp>
#include <backsight/ftrace/schema.hpp>

// The pages of the kernel's trace ring buffer. Sources: Linux, kernel/trace/ring_buffer.c (struct buffer_data_page,
// rb_update_read_stamp); libtraceevent's kbuffer-parse.c.
namespace backsight::ftrace {

/// How the kernel that was traced lays out its pages: the file `events/header_page` of tracefs. Defaults are those of a
/// 64-bit little-endian kernel.
struct page_layout {
  std::size_t page_size = 4096;
  std::size_t long_size = 8;
  order byte_order = order::little;
  std::size_t commit_offset = 8;  ///< in a page: how many bytes of it are used, a long
  std::size_t data_offset = 16;   ///< in a page: where its events begin

  /// Whether pages can be read by it: sizes that kernels have, and a head that lies in the page and begins with the
  /// time.
  [[nodiscard]] bool usable() const noexcept {
    return page_size >= 32 && page_size <= (std::size_t{1} << 24) && (long_size == 4 || long_size == 8) &&
           data_offset >= sizeof(std::uint64_t) && data_offset < page_size && commit_offset <= page_size - long_size;
  }
};

/// One event of a page: its data begins with the members that all events have.
struct page_event {
  std::uint64_t time = 0;    ///< nanoseconds of the trace clock
  std::uint64_t offset = 0;  ///< of its head in the file
  byte_view data;
};

/// A page: its events, and how many were lost before it.
struct page {
  std::uint64_t time = 0;        ///< the deltas of the events count from here
  bool has_lost = false;         ///< events were lost before this page
  std::int64_t lost = 0;         ///< how many; -1 when the kernel did not tell
  bool begins_extended = false;  ///< the first event has a delta of its own record
  std::vector<page_event> events;
  trace_error error;  ///< why the reading of the page ended early, and where in the file
};

namespace detail {

/// Parts of a page's commit word (ring_buffer.c: BUF_PAGE_SIZE masks, RB_MISSED_EVENTS, RB_MISSED_STORED).
inline constexpr std::uint64_t commit_size = (std::uint64_t{1} << 27) - 1;
inline constexpr std::uint64_t events_were_lost = std::uint64_t{1} << 31;
inline constexpr std::uint64_t lost_are_counted = std::uint64_t{1} << 30;

template <order O>
[[nodiscard]] inline std::uint64_t load_long(byte_view bytes, std::size_t offset, std::size_t long_size) noexcept {
  if (bytes.size() < long_size || offset > bytes.size() - long_size) return 0;
  return long_size == 8 ? load<std::uint64_t, O>(bytes.data() + offset) : load<std::uint32_t, O>(bytes.data() + offset);
}

template <order O>
inline void read_page(const page_layout& layout, byte_view bytes, std::uint64_t base, page& out) {
  if (bytes.size() < layout.data_offset) {
    out.error = {errc::truncated, base + bytes.size()};
    return;
  }
  out.time = load<std::uint64_t, O>(bytes.data());
  const std::uint64_t commit = load_long<O>(bytes, layout.commit_offset, layout.long_size);
  const std::size_t room = bytes.size() - layout.data_offset;
  const std::size_t used = std::min<std::size_t>(commit & commit_size, room);
  if ((commit & events_were_lost) != 0) {
    out.has_lost = true;
    const bool counted = (commit & lost_are_counted) != 0 && room - used >= layout.long_size;
    out.lost =
        counted ? static_cast<std::int64_t>(load_long<O>(bytes, layout.data_offset + used, layout.long_size)) : -1;
  }
  std::uint64_t time = out.time;
  const ring_records<O> events(bytes.subspan(layout.data_offset, used), {}, base + layout.data_offset);
  auto it = events.begin();
  for (; it != std::default_sentinel; ++it) {
    const auto item = *it;
    if (item.template is<ring_time_extend>()) {
      time += whole_time(item.template as<ring_time_extend>());
      if (out.events.empty()) out.begins_extended = true;
    } else if (item.template is<ring_time_stamp>()) {
      // The bits above the stored ones are those of the time so far.
      constexpr std::size_t bits = ring_time_stamp::time_delta.bits + ring_time_stamp::upper.bits;
      constexpr std::uint64_t stored = (std::uint64_t{1} << bits) - 1;
      std::uint64_t absolute = (time & ~stored) | whole_time(item.template as<ring_time_stamp>());
      if (absolute < time) absolute += stored + 1;
      time = absolute;
    } else if (item.template is<ring_data>()) {
      const auto event = item.template as<ring_data>();
      time += event[ring_event_head::time_delta];
      out.events.push_back({time, item.offset(), event.payload()});
    } else if (item.template is<ring_long_data>()) {
      const auto event = item.template as<ring_long_data>();
      time += event[ring_event_head::time_delta];
      out.events.push_back({time, item.offset(), event.payload()});
    } else {
      time += item.template as<ring_padding>()[ring_event_head::time_delta];
    }
  }
  out.error = it.error();
}

}  // namespace detail

/// The page of a file of such pages that begins at `offset`; the layout is usable. Gives what can be read, and the
/// error that ended it. The data of its events are views of `file`. Allocates the list of events.
[[nodiscard]] inline page read_page(const page_layout& layout, byte_view file, std::size_t offset) {
  BACKSIGHT_ASSERT(layout.usable() && offset <= file.size());
  page read;
  const byte_view bytes = file.subspan(offset, std::min(layout.page_size, file.size() - offset));
  with_order(layout.byte_order, [&](auto o) { detail::read_page<o()>(layout, bytes, offset, read); });
  return read;
}

}  // namespace backsight::ftrace
