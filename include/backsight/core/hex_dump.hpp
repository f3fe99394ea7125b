// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/print.hpp>

namespace backsight {

namespace detail {

inline constexpr std::size_t dump_width = 16;

template <class Out>
constexpr Out dump_bytes(Out out, std::uint64_t offset, byte_view bytes) {
  out = text::literal(text::hexadecimal(out, offset, 8), "  ");
  for (std::size_t i = 0; i < dump_width; ++i) {
    if (i < bytes.size()) out = text::hexadecimal(out, std::to_integer<std::uint64_t>(bytes[i]), 2);
    else out = text::literal(out, "  ");
    if (i % 4 == 3) *out++ = ' ';
  }
  return text::literal(out, " ");
}

}  // namespace detail

/// Writes bytes that belong to no record: lines of sixteen, each with its offset and `label`.
template <class Out>
constexpr Out hex_dump(Out out, byte_view bytes, std::uint64_t offset, const char* label) {
  for (std::size_t at = 0; at < bytes.size(); at += detail::dump_width) {
    const std::size_t left = bytes.size() - at, size = left < detail::dump_width ? left : detail::dump_width;
    out = detail::dump_bytes(out, offset + at, bytes.subspan(at, size));
    out = text::literal(out, label);
    *out++ = '\n';
  }
  return out;
}

namespace detail {

template <class Out, class Range>
constexpr Out dump_part(Out out, const Range& part, const char* name);

/// The lines of one member.
template <class M, std::size_t Index, class Out, schema S, order O>
constexpr Out dump_member(Out out, const record<S, O>& item, std::uint64_t offset) {
  const member_place place = place_of_member<Index>(item);
  const auto value = item.template member_at<Index>();
  if constexpr (requires { M::is_part; }) return dump_part(out, value, M::name());
  for (std::size_t at = 0; at < place.size; at += dump_width) {
    const std::size_t left = place.size - at, size = left < dump_width ? left : dump_width;
    out = dump_bytes(out, offset + place.offset + at, item.bytes().subspan(place.offset + at, size));
    if (at == 0) {
      out = text::literal(out, M::name());
      if (place.bits % 8 != 0 || place.first_bit != 0) {
        out = text::decimal(text::literal(out, " (bits "), place.first_bit);
        out = text::decimal(text::literal(out, ".."), place.first_bit + place.bits - 1);
        *out++ = ')';
      }
      if constexpr (!M::is_padding) out = print_value(text::literal(out, " = "), value);
    }
    *out++ = '\n';
  }
  return out;
}

}  // namespace detail

/// Writes an annotated hex dump of one record: a line with its name, then for each member a line with its offset, the
/// bytes that it touches, its name and value (with the bits it takes where it does not fill its bytes), then the
/// payload. A part is a line with its name, and the dump of each of its records.
template <class Out, schema S, order O>
constexpr Out hex_dump(Out out, const record<S, O>& item, std::uint64_t offset) {
  out = text::decimal(text::literal(text::hexadecimal(out, offset, 8), "  -- "), item.bytes().size());
  out = text::literal(text::literal(text::literal(out, " bytes: "), name_of_schema<S>()), "\n");
  for_each_member<S>([&]<class M>(M, auto index) {
    if (detail::has_member<index>(item)) out = detail::dump_member<M, index>(out, item, offset);
  });
  if constexpr (has_payload<S>)
    out = hex_dump(out, item.payload(), offset + item.bytes().size() - item.payload().size(), "payload");
  return out;
}

/// hex_dump of a record whose kind is known at run time.
template <class Out, record_format F>
constexpr Out hex_dump(Out out, const any_record<F>& item) {
  visit(item, [&](const auto& typed) { out = hex_dump(out, typed, item.offset()); });
  return out;
}

namespace detail {

template <class Out, class Range>
constexpr Out dump_part(Out out, const Range& part, const char* name) {
  out = text::decimal(text::literal(text::hexadecimal(out, part.base(), 8), "  >> "), part.bytes().size());
  out = text::literal(text::literal(text::literal(out, " bytes: "), name), "\n");
  auto it = part.begin();
  for (; it != part.end(); ++it) out = hex_dump(out, *it);
  const std::uint64_t end = it.offset() - part.base();
  if (const trace_error error = it.error()) {
    out = text::literal(text::hexadecimal(out, error.offset, 8), "  !! ");
    out = text::literal(text::literal(out, message(error.code)), "\n");
  }
  return hex_dump(out, part.bytes().subspan(static_cast<std::size_t>(end)), it.offset(), "(not read)");
}

}  // namespace detail

}  // namespace backsight
