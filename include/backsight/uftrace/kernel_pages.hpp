// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <backsight/uftrace/kernel_header.hpp>
#include <backsight/uftrace/kernel_schema.hpp>

// The pages of kernel-cpuN.dat. Sources: Linux, kernel/trace/ring_buffer.c (struct buffer_data_page, rb_update_read_stamp);
// libtraceevent's kbuffer-parse.c.
namespace backsight::uftrace {

/// One event of a page: its data begins with the members that all events have.
struct kernel_event {
  std::uint64_t time = 0;    ///< nanoseconds of the trace clock
  std::uint64_t offset = 0;  ///< of its head in the file
  byte_view data;
};

/// A page: its events, and how many were lost before it.
struct kernel_page {
  std::uint64_t time = 0;        ///< the deltas of the events count from here
  bool has_lost = false;         ///< events were lost before this page
  std::int64_t lost = 0;         ///< how many; -1 when the kernel did not tell
  bool begins_extended = false;  ///< the first event has a delta of its own record
  std::vector<kernel_event> events;
  trace_error error;  ///< why the reading of the page ended early, and where in the file
};

namespace detail {

template <order O>
[[nodiscard]] inline std::uint64_t load_long(byte_view page, std::size_t offset, std::size_t long_size) noexcept {
  if (page.size() < long_size || offset > page.size() - long_size) return 0;
  return long_size == 8 ? load<std::uint64_t, O>(page.data() + offset) : load<std::uint32_t, O>(page.data() + offset);
}

template <order O>
inline void read_kernel_page(const kernel_header& header, byte_view page, std::uint64_t base, kernel_page& out) {
  if (page.size() < header.data_offset) {
    out.error = {errc::truncated, base + page.size()};
    return;
  }
  out.time = load<std::uint64_t, O>(page.data());
  const std::uint64_t commit = load_long<O>(page, header.commit_offset, header.long_size);
  const std::size_t room = page.size() - header.data_offset;
  const std::size_t used = std::min<std::size_t>(commit & 0x7ffffff, room);
  if ((commit >> 31 & 1) != 0) {
    out.has_lost = true;
    const bool counted = (commit >> 30 & 1) != 0 && room - used >= header.long_size;
    out.lost =
        counted ? static_cast<std::int64_t>(load_long<O>(page, header.data_offset + used, header.long_size)) : -1;
  }
  std::uint64_t time = out.time;
  const ring_records<O> events(page.subspan(header.data_offset, used), {}, base + header.data_offset);
  auto it = events.begin();
  for (; it != std::default_sentinel; ++it) {
    const auto item = *it;
    if (item.template is<ring_time_extend>()) {
      const auto extend = item.template as<ring_time_extend>();
      time += extend[ring_event_head::time_delta] | std::uint64_t{extend[ring_time_extend::upper]} << 27;
      if (out.events.empty()) out.begins_extended = true;
    } else if (item.template is<ring_time_stamp>()) {
      const auto stamp = item.template as<ring_time_stamp>();
      // 59 bits are stored; the upper ones are those of the time so far.
      constexpr std::uint64_t stored = (std::uint64_t{1} << 59) - 1;
      const std::uint64_t low =
          (stamp[ring_event_head::time_delta] | std::uint64_t{stamp[ring_time_stamp::upper]} << 27) & stored;
      std::uint64_t absolute = (time & ~stored) | low;
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

/// The page of a file of kernel data that begins at `offset`. Gives what can be read, and the error that ended it. The data
/// of its events are views of `file`. Allocates the list of events.
[[nodiscard]] inline kernel_page read_kernel_page(const kernel_header& header, byte_view file, std::size_t offset) {
  kernel_page page;
  const byte_view bytes = file.subspan(offset, std::min(header.page_size, file.size() - offset));
  with_order(header.byte_order, [&](auto o) { detail::read_kernel_page<o()>(header, bytes, offset, page); });
  return page;
}

}  // namespace backsight::uftrace
