// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/core/error.hpp>
#include <backsight/uftrace/detail/lines.hpp>

// The file kernel_header: how the kernel that was traced lays out its pages and events. Sources: uftrace's utils/kernel.c
// (save_kernel_files, load_kernel_files); Linux, Documentation/trace/events.rst, "Event formats".
namespace backsight::uftrace {

/// One member of an event, as the kernel describes it. Views into the file's bytes.
struct kernel_field {
  std::string_view type;  ///< as declared, without the name: `unsigned char`, `__data_loc char[]`
  std::string_view name;
  std::size_t offset = 0;  ///< in the event's data
  std::size_t size = 0;
  bool is_signed = false;
  bool is_array = false;

  /// The bytes of the member; empty where the data is too short.
  [[nodiscard]] byte_view bytes(byte_view data) const noexcept {
    return offset <= data.size() && size <= data.size() - offset ? data.subspan(offset, size) : byte_view{};
  }
  /// Its value without sign extension; nothing for other sizes than 1, 2, 4 and 8 and for data that is too short.
  [[nodiscard]] std::optional<std::uint64_t> value(byte_view data, order o) const noexcept {
    const byte_view raw = bytes(data);
    return with_order(o, [&](auto constant) -> std::optional<std::uint64_t> {
      switch (raw.size()) {
        case 1: return load<std::uint8_t, constant()>(raw.data());
        case 2: return load<std::uint16_t, constant()>(raw.data());
        case 4: return load<std::uint32_t, constant()>(raw.data());
        case 8: return load<std::uint64_t, constant()>(raw.data());
        default: return {};
      }
    });
  }
};

/// A kind of event: its members and how the kernel prints it.
struct kernel_event_format {
  std::string_view system, name;  ///< `sched` and `sched_switch`
  std::uint32_t id = 0;
  std::vector<kernel_field> fields;
  std::string_view print_format;  ///< `"text", REC->member, ...`

  [[nodiscard]] const kernel_field* find(std::string_view field_name) const noexcept {
    for (const kernel_field& field : fields) {
      if (field.name == field_name) return &field;
    }
    return nullptr;
  }
};

/// What kernel_header tells. Defaults are those of a 64-bit little-endian kernel.
struct kernel_header {
  std::size_t page_size = 4096;
  std::size_t long_size = 8;
  order byte_order = order::little;
  std::size_t commit_offset = 8;  ///< in a page: how many bytes of it are used, a long
  std::size_t data_offset = 16;   ///< in a page: where its events begin
  std::vector<kernel_event_format> events;
  std::vector<fault> faults;  ///< bad_text, or truncated for a description that is cut

  /// The event of that id, or null. There are few: a search from the front.
  [[nodiscard]] const kernel_event_format* find(std::uint64_t id) const noexcept {
    for (const kernel_event_format& event : events) {
      if (event.id == id) return &event;
    }
    return nullptr;
  }
  /// A member that all events have (`common_type`, `common_pid`); null without any event.
  [[nodiscard]] const kernel_field* common(std::string_view name) const noexcept {
    return events.empty() ? nullptr : events.front().find(name);
  }
};

namespace detail {

/// `field:TYPE NAME; offset:N; size:N; signed:N;`
[[nodiscard]] inline std::optional<kernel_field> read_kernel_field(std::string_view line) noexcept {
  const auto blanks = [](std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  };
  blanks(line);
  if (!take(line, "field:")) return {};
  kernel_field field;
  const std::size_t end = line.find(';');
  if (end == std::string_view::npos) return {};
  std::string_view declaration = line.substr(0, end);
  line.remove_prefix(end + 1);
  blanks(declaration);
  if (const std::size_t bracket = declaration.rfind('[');
      bracket != std::string_view::npos && declaration.ends_with(']')) {
    field.is_array = true;
    declaration = declaration.substr(0, bracket);
  }
  const std::size_t blank = declaration.find_last_of(" *");
  field.name = blank == std::string_view::npos ? declaration : declaration.substr(blank + 1);
  field.type = declaration.substr(0, declaration.size() - field.name.size());
  const auto number = [&](std::string_view key, std::size_t& value) {
    blanks(line);
    if (!take(line, key)) return false;
    const auto read = take_number(line, 10);
    if (!read || *read > std::numeric_limits<std::size_t>::max() || !take(line, ";")) return false;
    value = static_cast<std::size_t>(*read);
    return true;
  };
  if (field.name.empty() || !number("offset:", field.offset) || !number("size:", field.size)) return {};
  // Kernels before 2.6.32 do not tell.
  std::size_t is_signed = 0;
  (void)number("signed:", is_signed);
  field.is_signed = is_signed != 0;
  return field;
}

class kernel_header_reader {
 public:
  explicit kernel_header_reader(byte_view bytes) : text_(as_text(bytes)) {}

  [[nodiscard]] kernel_header read() {
    std::size_t position = 0;
    bool has_page_size = false;
    for (lines all(text_); all.next();) {
      if (all.offset() < position) continue;  // inside a description
      std::string_view rest = all.line();
      if (take(rest, "TRACEFS: ")) {
        const std::size_t colon = rest.rfind(": ");
        std::string_view digits = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon + 2);
        const auto size = take_number(digits, 10);
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
      } else if (take(rest, "PAGE_SIZE: ")) {
        set(header_.page_size, rest, all);
        has_page_size = true;
      } else if (take(rest, "LONG_SIZE: ")) {
        set(header_.long_size, rest, all);
        header_.data_offset = 8 + header_.long_size;
      } else if (take(rest, "ENDIAN: ")) {
        header_.byte_order = rest == "BE" ? order::big : order::little;
      }
    }
    const bool sane = header_.page_size >= 32 && header_.page_size <= (std::size_t{1} << 24) &&
                      (header_.long_size == 4 || header_.long_size == 8) && header_.data_offset < header_.page_size &&
                      header_.commit_offset <= header_.page_size - header_.long_size;
    if (!sane) {
      note(errc::bad_value, 0, 0);
      header_ = {4096, 8, header_.byte_order, 8, 16, std::move(header_.events), std::move(header_.faults)};
    }
    if (!has_page_size) note(errc::bad_text, 0, 0);  // No kernel has had the same one at all times.
    return std::move(header_);
  }

 private:
  void note(errc code, std::uint64_t offset, std::uint64_t size) { header_.faults.push_back({code, offset, size}); }

  void set(std::size_t& value, std::string_view digits, const lines& at) {
    const auto number = take_number(digits, 10);
    const bool fits = number && *number <= std::numeric_limits<std::size_t>::max();
    if (fits && digits.empty()) value = static_cast<std::size_t>(*number);
    else note(errc::bad_text, at.offset(), at.line().size() + 1);
  }

  /// Reads the description of a page's header or of an event: the file `path` of tracefs.
  void describe(std::string_view path, std::size_t begin, std::size_t end) {
    if (!take(path, "events/")) return;
    const bool page = path == "header_page";
    const std::size_t slash = path.find('/');
    if (!page && (slash == std::string_view::npos || !path.ends_with("/format"))) return;
    kernel_event_format event;
    event.system = path.substr(0, slash);
    for (lines all(text_.substr(0, end), begin); all.next();) {
      std::string_view rest = all.line();
      if (take(rest, "name: ")) {
        event.name = rest;
      } else if (take(rest, "ID: ")) {
        event.id = static_cast<std::uint32_t>(take_number(rest, 10).value_or(0));
      } else if (take(rest, "print fmt: ")) {
        event.print_format = rest;
      } else if (rest.find("field:") != std::string_view::npos) {
        const auto field = read_kernel_field(rest);
        if (field) event.fields.push_back(*field);
        else note(errc::bad_text, all.offset(), all.line().size() + 1);
      }
    }
    if (!page) {
      header_.events.push_back(std::move(event));
    } else {
      if (const kernel_field* const commit = event.find("commit")) header_.commit_offset = commit->offset;
      if (const kernel_field* const data = event.find("data")) header_.data_offset = data->offset;
    }
  }

  std::string_view text_;
  kernel_header header_;
};

}  // namespace detail

/// Reads kernel_header; what is malformed is left out and listed. Views into the bytes, which must outlive it. Allocates.
[[nodiscard]] inline kernel_header read_kernel_header(byte_view bytes) {
  return detail::kernel_header_reader(bytes).read();
}

}  // namespace backsight::uftrace
