// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/core/bytes.hpp>
#include <backsight/core/cursor.hpp>
#include <backsight/core/error.hpp>
#include <backsight/ftrace/event_format.hpp>

namespace backsight::perf {

/// The formats of a recording's tracepoints: the feature `tracing_data`, or what stands behind a record of that name.
/// Views of the bytes. Source: tools/perf/util/trace-event-info.c of Linux.
struct tracing_data {
  order byte_order = order::little;  ///< Of the recorded machine, whose raw data the formats describe.
  std::uint8_t long_size = 8;
  std::uint32_t page_size = 0;
  std::vector<ftrace::event_format> events;

  /// The format of that number; null when it was not recorded.
  [[nodiscard]] const ftrace::event_format* find(std::uint64_t id) const noexcept {
    for (const ftrace::event_format& one : events) {
      if (one.id == id) return &one;
    }
    return nullptr;
  }
};

namespace detail {

template <order O>
[[nodiscard]] trace_error read_tracing_body(cursor<O>& in, tracing_data& out) {
  const auto text_of_size = [&](std::uint64_t size) {
    const byte_view bytes = in.take(size);
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const auto word_up_to_zero = [&] {
    const byte_view rest = in.rest();
    std::size_t size = 0;
    while (size < rest.size() && rest[size] != std::byte{0}) ++size;
    const std::string_view found = text_of_size(size);
    in.skip(1);
    return found;
  };
  const auto take_event = [&](std::string_view system) {
    const std::string_view text = text_of_size(in.template read<std::uint64_t>());
    if (in.failed()) return;
    std::vector<fault> faults;
    out.events.push_back(ftrace::read_event_format(text, 0, text.size(), faults));
    out.events.back().system = system;
  };
  out.page_size = in.template read<std::uint32_t>();
  for (const std::string_view head : {"header_page", "header_event"}) {
    const std::uint64_t offset = in.offset();
    if (word_up_to_zero() != head) return {errc::bad_magic, offset};
    (void)text_of_size(in.template read<std::uint64_t>());
    if (in.failed()) return in.error();
  }
  const auto own = in.template read<std::uint32_t>();
  for (std::uint32_t i = 0; i < own && !in.failed(); ++i) take_event("ftrace");
  const auto systems = in.template read<std::uint32_t>();
  for (std::uint32_t i = 0; i < systems && !in.failed(); ++i) {
    const std::string_view system = word_up_to_zero();
    const auto count = in.template read<std::uint32_t>();
    for (std::uint32_t k = 0; k < count && !in.failed(); ++k) take_event(system);
  }
  return in.error();
}

}  // namespace detail

/// Reads the formats. Errors: errc::bad_magic, errc::unsupported_version (before 0.5), errc::truncated; with the last
/// there is what could be read.
[[nodiscard]] inline result<tracing_data> read_tracing_data(byte_view bytes, std::uint64_t base = 0) {
  using namespace std::string_view_literals;
  constexpr std::string_view magic = "\x17\x08\x44tracing"sv;
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!all.starts_with(magic)) return {errc::bad_magic, base};
  const std::size_t version_end = all.find('\0', magic.size());
  if (version_end == all.npos || bytes.size() - version_end < 3) return {errc::truncated, base + bytes.size()};
  const std::string_view version = all.substr(magic.size(), version_end - magic.size());
  if (version != "0.5" && version != "0.6") return {errc::unsupported_version, base + magic.size()};
  tracing_data out;
  out.byte_order = bytes[version_end + 1] == std::byte{0} ? order::little : order::big;
  out.long_size = std::to_integer<std::uint8_t>(bytes[version_end + 2]);
  const trace_error error = with_order(out.byte_order, [&](auto o) {
    cursor<o()> in(bytes.subspan(version_end + 3), base + version_end + 3);
    return detail::read_tracing_body(in, out);
  });
  if (error) return {std::move(out), error};
  return out;
}

}  // namespace backsight::perf
