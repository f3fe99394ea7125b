// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>

namespace backsight {

/// Reads numbers and blocks one after the other, never beyond the end. The first read that does not fit sets error(),
/// and from then on every read gives zero or an empty view, so that a caller checks once after several reads.
/// A view: the bytes must outlive it. Offsets in errors count from `base`, the place of `bytes` in the caller's view.
template <order O>
class cursor {
 public:
  constexpr cursor() = default;
  constexpr explicit cursor(byte_view bytes, std::uint64_t base = 0) noexcept : bytes_(bytes), base_(base) {}

  /// The next integer, floating-point number or enumeration of the size of T; T{} after an error.
  template <class T>
  [[nodiscard]] constexpr T read() noexcept {
    if (!fits(sizeof(T))) return T{};
    const T value = load<T, O>(bytes_.data() + position_);
    position_ += sizeof(T);
    return value;
  }

  /// An unsigned integer of `size` bytes: 1, 2, 4 or 8.
  [[nodiscard]] constexpr std::uint64_t read_unsigned(std::size_t size) noexcept {
    switch (size) {
      case 1: return read<std::uint8_t>();
      case 2: return read<std::uint16_t>();
      case 4: return read<std::uint32_t>();
      case 8: return read<std::uint64_t>();
      default: fail(errc::bad_size); return 0;
    }
  }

  /// An unsigned LEB128 number (DWARF 5, section 7.6); errc::number_too_large when it needs more than 64 bits.
  [[nodiscard, gnu::always_inline]] constexpr std::uint64_t uleb128() noexcept {
    // Most numbers have one byte.
    if (position_ < bytes_.size()) [[likely]] {
      const auto byte = load<std::uint8_t, O>(bytes_.data() + position_);
      if (byte < 0x80U) [[likely]] {
        ++position_;
        return byte;
      }
    }
    return slow<std::uint64_t>(&cursor::long_uleb128);
  }

  /// A signed LEB128 number (DWARF 5, section 7.6); errc::number_too_large when it needs more than 64 bits.
  [[nodiscard, gnu::always_inline]] constexpr std::int64_t sleb128() noexcept {
    if (position_ < bytes_.size()) [[likely]] {
      const auto byte = load<std::uint8_t, O>(bytes_.data() + position_);
      if (byte < 0x80U) [[likely]] {
        ++position_;
        return static_cast<std::int64_t>(byte ^ 0x40U) - 0x40;
      }
    }
    return slow<std::int64_t>(&cursor::long_sleb128);
  }

  /// The next `size` bytes as a view; empty after an error.
  [[nodiscard]] constexpr byte_view take(std::uint64_t size) noexcept {
    if (!fits(size)) return {};
    const byte_view taken = bytes_.subspan(position_, static_cast<std::size_t>(size));
    position_ += static_cast<std::size_t>(size);
    return taken;
  }

  /// The bytes up to the next NUL, which is consumed and not part of the view; errc::bad_string when there is none.
  [[nodiscard]] constexpr byte_view c_string() noexcept {
    if (failed()) return {};
    for (std::size_t end = position_; end < bytes_.size(); ++end) {
      if (bytes_[end] == std::byte{0}) {
        const byte_view text = bytes_.subspan(position_, end - position_);
        position_ = end + 1;
        return text;
      }
    }
    fail(errc::bad_string);
    return {};
  }

  constexpr void skip(std::uint64_t size) noexcept {
    if (fits(size)) position_ += static_cast<std::size_t>(size);
  }

  /// Goes to `position`, counted from the start of the cursor's bytes; errc::out_of_range when it lies outside.
  constexpr void seek(std::uint64_t position) noexcept {
    if (failed()) return;
    if (position > bytes_.size()) return fail(errc::out_of_range);
    position_ = static_cast<std::size_t>(position);
  }

  /// Notes an error of the caller's own at the present position; the first one is kept.
  constexpr void fail(errc code) noexcept { fail_at(code, position_); }

  [[nodiscard]] constexpr bool failed() const noexcept { return error_.code != errc::ok; }
  [[nodiscard]] constexpr const trace_error& error() const noexcept { return error_; }
  [[nodiscard]] constexpr bool at_end() const noexcept { return position_ == bytes_.size(); }
  [[nodiscard]] constexpr std::size_t position() const noexcept { return position_; }
  /// The position in the caller's view.
  [[nodiscard]] constexpr std::uint64_t offset() const noexcept { return base_ + position_; }
  [[nodiscard]] constexpr byte_view rest() const noexcept { return bytes_.subspan(position_); }
  [[nodiscard]] constexpr std::size_t remaining() const noexcept { return rest().size(); }

 private:
  /// Calls a rare path on a copy, so that a loop can keep the cursor in registers.
  template <class T>
  [[nodiscard]] constexpr T slow(T (cursor::*path)() noexcept) noexcept {
    cursor copy = *this;
    const T value = (copy.*path)();
    *this = copy;
    return value;
  }
  [[nodiscard]] constexpr std::uint64_t long_uleb128() noexcept {
    const std::size_t start = position_;
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = read<std::uint8_t>();
      if (failed()) return 0;
      const std::uint64_t digits = byte & 0x7fU;
      if (shift >= 64 ? digits != 0 : (shift == 63 && digits > 1)) return fail_at(errc::number_too_large, start), 0;
      if (shift < 64) value |= digits << shift;
      if ((byte & 0x80U) == 0) return value;
    }
  }
  [[nodiscard]] constexpr std::int64_t long_sleb128() noexcept {
    const std::size_t start = position_;
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = read<std::uint8_t>();
      if (failed()) return 0;
      const std::uint64_t digits = byte & 0x7fU;
      if (shift < 63) value |= digits << shift;
      if (shift == 63) {
        if (digits != 0 && digits != 0x7f) return fail_at(errc::number_too_large, start), 0;
        value |= digits << 63;
      }
      if (shift > 63 && digits != ((value >> 63) != 0 ? 0x7fU : 0U)) return fail_at(errc::number_too_large, start), 0;
      if ((byte & 0x80U) == 0) {
        if (shift < 57 && (digits & 0x40U) != 0) value |= ~std::uint64_t{0} << (shift + 7);
        return static_cast<std::int64_t>(value);
      }
    }
  }

  [[nodiscard]] constexpr bool fits(std::uint64_t size) noexcept {
    if (size > bytes_.size() - position_) [[unlikely]]
      return fail(errc::truncated), false;
    return true;
  }
  constexpr void fail_at(errc code, std::size_t position) noexcept {
    if (failed()) return;
    error_ = {code, base_ + position};
    // Nothing fits behind an error, so that reads need not look for it.
    bytes_ = bytes_.first(position_);
  }

  byte_view bytes_;
  std::size_t position_ = 0;
  std::uint64_t base_ = 0;
  trace_error error_{};
};

}  // namespace backsight
