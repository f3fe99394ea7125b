// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include <backsight/core/text.hpp>
#include <backsight/uftrace/files/kernel_header.hpp>

// The data of kernel events as text. Sources: Linux, Documentation/trace/events.rst, "Event formats" ("print fmt");
// printf(3) for the conversions.
namespace cli::as_uftrace {

using namespace backsight;
using namespace backsight::uftrace;

/// Writes the data of one event by its print format. Understood are members (`REC->name`, also behind a cast) and texts
/// (`__get_str(name)`); conversions of integers, characters, texts and pointers.
class kernel_event_writer {
 public:
  kernel_event_writer(std::string& out, const kernel_header& header, const ftrace::event_format& format, byte_view data)
      : out_(out), header_(header), format_(format), data_(data) {}

  /// False, and nothing useful written, when the format has something else.
  [[nodiscard]] bool by_format() {
    std::string_view rest = format_.print_format;
    if (!text::take(rest, "\"")) return false;
    const std::size_t quote = rest.rfind('"');
    if (quote == std::string_view::npos) return false;
    std::string_view text = rest.substr(0, quote);
    arguments_ = rest.substr(quote + 1);
    while (!text.empty()) {
      const char c = text.front();
      text.remove_prefix(1);
      if (c == '\\') {
        if (text.empty()) return false;
        out_ += text.front() == 'n' ? '\n' : text.front() == 't' ? '\t' : text.front();
        text.remove_prefix(1);
      } else if (c != '%') {
        out_ += c;
      } else if (text::take(text, "%")) {
        out_ += '%';
      } else if (!conversion(text)) {
        return false;
      }
    }
    return arguments_.empty();
  }

  /// `name=value` for each member that not all events have.
  void by_members() {
    bool first = true;
    for (const ftrace::event_field& field : format_.fields) {
      if (field.name.starts_with("common_")) continue;
      if (!first) out_ += ' ';
      first = false;
      out_ += field.name;
      out_ += '=';
      const auto value = field.value(data_, header_.pages.byte_order);
      const auto at = std::back_inserter(out_);
      if (is_text(field)) out_ += text_of(field);
      else if (!value || field.is_array) (void)text::hex_bytes(at, field.bytes(data_));
      else if (field.is_signed) (void)text::decimal(at, signed_value(field, *value));
      else (void)text::decimal(at, *value);
    }
  }

 private:
  [[nodiscard]] static bool is_text(const ftrace::event_field& field) noexcept {
    return (field.is_array || field.type.starts_with("__data_loc")) &&
           field.type.find("char") != std::string_view::npos;
  }
  [[nodiscard]] static std::int64_t signed_value(const ftrace::event_field& field, std::uint64_t value) noexcept {
    const unsigned unused = static_cast<unsigned>(64 - 8 * field.size);
    return static_cast<std::int64_t>(value << unused) >> unused;
  }

  /// The characters of a member up to a NUL: its own, or those that it points to within the data (`__data_loc`).
  [[nodiscard]] std::string_view text_of(const ftrace::event_field& field) const noexcept {
    byte_view bytes = field.bytes(data_);
    if (field.type.starts_with("__data_loc")) {
      const std::uint64_t place = field.value(data_, header_.pages.byte_order).value_or(0);
      const std::size_t offset = place & 0xffff, size = place >> 16 & 0xffff;
      bytes = offset <= data_.size() && size <= data_.size() - offset ? data_.subspan(offset, size) : byte_view{};
    }
    const std::string_view text = text::as_text(bytes);
    return text.substr(0, text.find('\0'));
  }

  /// The member that the next argument names.
  [[nodiscard]] const ftrace::event_field* argument() {
    std::string_view& rest = arguments_;
    const auto blanks = [&rest] {
      while (rest.starts_with(' ')) rest.remove_prefix(1);
    };
    blanks();
    if (!text::take(rest, ",")) return nullptr;
    blanks();
    std::size_t open = 0;
    while (text::take(rest, "(")) {
      const std::size_t end = rest.find_first_of("()");
      if (end == std::string_view::npos) return nullptr;
      const bool cast = end != 0 && rest[end] == ')' && rest.substr(0, end).find("REC->") == std::string_view::npos;
      if (cast) rest.remove_prefix(end + 1);
      else ++open;
      blanks();
    }
    const bool text = text::take(rest, "__get_str(");
    if (!text && !text::take(rest, "REC->")) return nullptr;
    std::size_t size = 0;
    const auto is_name = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    while (size < rest.size() && is_name(rest[size])) ++size;
    const ftrace::event_field* const field = format_.find(rest.substr(0, size));
    rest.remove_prefix(size);
    for (open += text; open != 0; --open) {
      if (!text::take(rest, ")")) return nullptr;
    }
    blanks();
    return rest.empty() || rest.front() == ',' ? field : nullptr;
  }

  /// One conversion behind its percent sign.
  [[nodiscard]] bool conversion(std::string_view& text) {
    std::string spec = "%";
    constexpr std::string_view flags = "-+ #0123456789.";
    while (!text.empty() && flags.find(text.front()) != std::string_view::npos && spec.size() < 8) {
      spec += text.front();
      text.remove_prefix(1);
    }
    // Sizes do not matter: members have their own.
    while (text.starts_with('l') || text.starts_with('h') || text.starts_with('z')) text.remove_prefix(1);
    if (text.empty()) return false;
    const char kind = text.front();
    text.remove_prefix(1);
    const ftrace::event_field* const field = argument();
    if (field == nullptr) return false;
    char written[96];
    int size = 0;
    if (kind == 's') {
      if (!is_text(*field)) return false;
      if (spec.size() == 1) {
        out_ += text_of(*field);
        return true;
      }
      const std::string copy(text_of(*field));
      size = std::snprintf(written, sizeof written, (spec + 's').c_str(), copy.c_str());
    } else {
      const auto value = field->value(data_, header_.pages.byte_order);
      if (!value) return false;
      switch (kind) {
        case 'd':
        case 'i':
          size = std::snprintf(written, sizeof written, (spec + "lld").c_str(),
                               static_cast<long long>(signed_value(*field, *value)));
          break;
        case 'u':
        case 'x':
        case 'X':
        case 'o':
          size = std::snprintf(written, sizeof written, (spec + "ll" + kind).c_str(),
                               static_cast<unsigned long long>(*value));
          break;
        case 'c':
          size = std::snprintf(written, sizeof written, (spec + 'c').c_str(), static_cast<int>(*value & 0xff));
          break;
        case 'p':
          size = std::snprintf(written, sizeof written, "0x%llx", static_cast<unsigned long long>(*value));
          break;
        default: return false;
      }
    }
    if (size > 0) out_.append(written, std::min(static_cast<std::size_t>(size), sizeof written - 1));
    return true;
  }

  std::string& out_;
  const kernel_header& header_;
  const ftrace::event_format& format_;
  byte_view data_;
  std::string_view arguments_;
};

/// Appends the name of a kernel event: `sched:sched_switch`, or `kernel_event:ID` when no such event is described.
inline void add_kernel_event_name(std::string& out, const kernel_header& header, std::uint64_t id) {
  if (const ftrace::event_format* const format = header.find(id)) {
    out += format->system;
    out += ':';
    out += format->name;
  } else {
    out += "kernel_event:";
    (void)text::decimal(std::back_inserter(out), id);
  }
}

/// Appends the data of a kernel event as its print format tells. Where that holds more than members and texts, for
/// example tables of flags, the members follow each other as `name=value` instead.
inline void add_kernel_event_text(std::string& out, const kernel_header& header, std::uint64_t id, byte_view data) {
  const ftrace::event_format* const format = header.find(id);
  if (format == nullptr) return;
  const std::size_t before = out.size();
  if (kernel_event_writer(out, header, *format, data).by_format()) return;
  out.resize(before);
  kernel_event_writer(out, header, *format, data).by_members();
}

}  // namespace cli::as_uftrace
