// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <backsight/core/lines.hpp>
#include <backsight/uftrace/arguments.hpp>

// The values that a record holds, each with its bytes. Source: uftrace's cmds/replay.c (get_argspec_string).
namespace backsight::uftrace {

/// Calls `f(const value_spec&, byte_view)` for each value of a call or return: its specification and its bytes. Ends in
/// front of one that is cut.
template <class F>
void for_each_value(std::span<const value_spec> specs, byte_view payload, order o, F&& f) {
  for (const value_spec& spec : specs) {
    const payload_result one =
        o == order::little ? value_extent<order::little>(spec, payload) : value_extent<order::big>(spec, payload);
    if (one.code != errc::ok) return;
    f(spec, payload.first(spec.is_text() ? one.size : std::min<std::size_t>(spec.size, one.size)));
    payload = payload.subspan(one.size);
  }
}

/// An unsigned integer of up to 8 bytes in the byte order `o`; missing bytes are zero.
[[nodiscard]] inline std::uint64_t unsigned_of(byte_view bytes, order o) noexcept {
  std::uint64_t value = 0;
  const std::size_t size = std::min<std::size_t>(bytes.size(), 8);
  for (std::size_t i = 0; i < size; ++i) {
    const auto byte = std::to_integer<std::uint64_t>(bytes[i]);
    if (o == order::little) value |= byte << (8 * i);
    else value = value << 8 | byte;
  }
  return value;
}
/// The same with the sign of its topmost bit.
[[nodiscard]] inline std::int64_t signed_of(std::uint64_t value, std::size_t size) noexcept {
  if (size == 0 || size >= 8) return static_cast<std::int64_t>(value);
  const std::uint64_t sign = std::uint64_t{1} << (8 * size - 1);
  return static_cast<std::int64_t>((value ^ sign) - sign);
}

/// The bytes of a text value up to a NUL.
[[nodiscard]] inline std::string_view string_of(byte_view payload, order o) noexcept {
  if (payload.size() < 2) return {};
  const auto length = static_cast<std::size_t>(unsigned_of(payload.first(2), o));
  const std::string_view text = text::as_text(payload.subspan(2, std::min(length, payload.size() - 2)));
  return text.substr(0, text.find('\0'));
}

/// Whether a text value stands for a null pointer, as older recorders wrote it.
[[nodiscard]] inline bool is_old_null(byte_view payload) noexcept {
  if (payload.size() < 6) return false;
  return std::all_of(payload.begin() + 2, payload.begin() + 6, [](std::byte b) { return b == std::byte{0xff}; });
}

}  // namespace backsight::uftrace
