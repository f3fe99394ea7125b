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

/// Writes an annotated hex dump of one record: a line with its name, then for each member a line with its offset, the
/// bytes that it touches, its name and value (with the bits it takes where it does not fill its bytes), then the payload.
template <class Out, schema S, order O>
constexpr Out hex_dump(Out out, const record<S, O>& item, std::uint64_t offset) {
  out = text::decimal(text::literal(text::hexadecimal(out, offset, 8), "  -- "), item.bytes().size());
  out = text::literal(text::literal(text::literal(out, " bytes: "), name_of_schema<S>()), "\n");
  for_each_member<S>([&]<class M>(M, auto index) {
    constexpr detail::placement place = detail::layout_of<S>::template place_of<index>;
    constexpr std::size_t first = place.first_bit / 8, last = (place.first_bit + place.bits + 7) / 8;
    for (std::size_t at = first; at < last; at += detail::dump_width) {
      const std::size_t left = last - at, size = left < detail::dump_width ? left : detail::dump_width;
      out = detail::dump_bytes(out, offset + at, item.bytes().subspan(at, size));
      if (at == first) {
        out = text::literal(out, M::name());
        if constexpr (place.bits % 8 != 0 || place.first_bit % 8 != 0) {
          out = text::decimal(text::literal(out, " (bits "), place.first_bit % 8);
          out = text::decimal(text::literal(out, ".."), place.first_bit % 8 + place.bits - 1);
          *out++ = ')';
        }
        if constexpr (!M::is_padding) out = print_value(text::literal(out, " = "), item.template member_at<index>());
      }
      *out++ = '\n';
    }
  });
  if constexpr (has_payload<S>) out = hex_dump(out, item.payload(), offset + size_of<S>, "payload");
  return out;
}

/// hex_dump of a record whose kind is known at run time.
template <class Out, record_format F>
constexpr Out hex_dump(Out out, const any_record<F>& item) {
  visit(item, [&](const auto& typed) { out = hex_dump(out, typed, item.offset()); });
  return out;
}

}  // namespace backsight
