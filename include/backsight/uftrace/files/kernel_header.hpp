// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/core/error.hpp>
#include <backsight/core/lines.hpp>
#include <backsight/ftrace/event_format.hpp>
#include <backsight/ftrace/pages.hpp>

// The file kernel_header: how the kernel that was traced lays out its pages and events. Source: uftrace's
// utils/kernel.c (save_kernel_files, load_kernel_files).
namespace backsight::uftrace {

/// What kernel_header tells.
struct kernel_header {
  ftrace::page_layout pages;
  std::vector<ftrace::event_format> events;
  std::vector<fault> faults;  ///< bad_text, or truncated for a description that is cut

  /// The event of that id, or null. There are few: a search from the front.
  [[nodiscard]] const ftrace::event_format* find(std::uint64_t id) const noexcept {
    for (const ftrace::event_format& event : events) {
      if (event.id == id) return &event;
    }
    return nullptr;
  }
  /// A member that all events have (`common_type`, `common_pid`); null without any event.
  [[nodiscard]] const ftrace::event_field* common(std::string_view name) const noexcept {
    return events.empty() ? nullptr : events.front().find(name);
  }
};

namespace detail {

class kernel_header_reader {
 public:
  explicit kernel_header_reader(byte_view bytes) : text_(text::as_text(bytes)) {}

  [[nodiscard]] kernel_header read() {
    std::size_t position = 0;
    bool has_page_size = false;
    for (text::lines all(text_); all.next();) {
      if (all.offset() < position) continue;  // inside a description
      std::string_view rest = all.line();
      if (text::take(rest, "TRACEFS: ")) {
        const std::size_t colon = rest.rfind(": ");
        std::string_view digits = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon + 2);
        const auto size = text::take_number(digits, 10);
        if (!size || !digits.empty()) {
          note(errc::bad_text, all.offset(), all.line().size() + 1);
          continue;
        }
        const std::size_t begin =
            std::min<std::size_t>(static_cast<std::size_t>(all.offset()) + all.line().size() + 1, text_.size());
        const std::size_t left = text_.size() - begin;
        if (*size > left) note(errc::truncated, text_.size(), 0);
        position = begin + static_cast<std::size_t>(std::min<std::uint64_t>(*size, left));
        describe(rest.substr(0, colon), begin, position);
      } else if (text::take(rest, "PAGE_SIZE: ")) {
        set(header_.pages.page_size, rest, all);
        has_page_size = true;
      } else if (text::take(rest, "LONG_SIZE: ")) {
        set(header_.pages.long_size, rest, all);
        header_.pages.data_offset = 8 + header_.pages.long_size;
      } else if (text::take(rest, "ENDIAN: ")) {
        header_.pages.byte_order = rest == "BE" ? order::big : order::little;
      }
    }
    if (!header_.pages.usable()) {
      note(errc::bad_value, 0, 0);
      header_.pages = {.byte_order = header_.pages.byte_order};
    }
    if (!has_page_size) note(errc::bad_text, 0, 0);  // No kernel has had the same one at all times.
    return std::move(header_);
  }

 private:
  void note(errc code, std::uint64_t offset, std::uint64_t size) { header_.faults.push_back({code, offset, size}); }

  void set(std::size_t& value, std::string_view digits, const text::lines& at) {
    const auto number = text::take_number(digits, 10);
    const bool fits = number && *number <= std::numeric_limits<std::size_t>::max();
    if (fits && digits.empty()) value = static_cast<std::size_t>(*number);
    else note(errc::bad_text, at.offset(), at.line().size() + 1);
  }

  /// Reads the description of a page's header or of an event: the file `path` of tracefs.
  void describe(std::string_view path, std::size_t begin, std::size_t end) {
    if (!text::take(path, "events/")) return;
    const bool page = path == "header_page";
    const std::size_t slash = path.find('/');
    if (!page && (slash == std::string_view::npos || !path.ends_with("/format"))) return;
    ftrace::event_format event = ftrace::read_event_format(text_, begin, end, header_.faults);
    event.system = path.substr(0, slash);
    if (!page) {
      header_.events.push_back(std::move(event));
    } else {
      if (const ftrace::event_field* const commit = event.find("commit")) header_.pages.commit_offset = commit->offset;
      if (const ftrace::event_field* const data = event.find("data")) header_.pages.data_offset = data->offset;
    }
  }

  std::string_view text_;
  kernel_header header_;
};

}  // namespace detail

/// Reads kernel_header; what is malformed is left out and listed. Views into the bytes, which must outlive it.
/// Allocates.
[[nodiscard]] inline kernel_header read_kernel_header(byte_view bytes) {
  return detail::kernel_header_reader(bytes).read();
}

}  // namespace backsight::uftrace
