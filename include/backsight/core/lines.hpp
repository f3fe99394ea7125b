// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <backsight/core/bytes.hpp>

// Reading text: its lines, and what stands at its front.
namespace backsight::text {

/// Bytes as characters.
[[nodiscard]] inline std::string_view as_text(byte_view bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The lines of a text one after the other, without their ends, and where each begins.
class lines {
 public:
  explicit lines(std::string_view text, std::size_t position = 0) noexcept : text_(text), position_(position) {}

  /// Goes to the next line; false at the end.
  [[nodiscard]] bool next() noexcept {
    if (position_ >= text_.size()) return false;
    offset_ = position_;
    const std::size_t end = text_.find('\n', position_);
    const std::size_t stop = end == std::string_view::npos ? text_.size() : end;
    line_ = text_.substr(position_, stop - position_);
    position_ = end == std::string_view::npos ? text_.size() : end + 1;
    return true;
  }
  [[nodiscard]] std::string_view line() const noexcept { return line_; }
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

 private:
  std::string_view text_;
  std::size_t position_;
  std::string_view line_;
  std::uint64_t offset_ = 0;
};

/// Where a text that its writer ends with a line end was cut inside a line; nothing when it was not. What it says there
/// may be less than what was meant.
[[nodiscard]] inline std::optional<std::uint64_t> cut_at(std::string_view text) noexcept {
  if (text.empty() || text.back() == '\n') return {};
  return text.size();
}

/// Takes an unsigned number in base 10 or 16 from the front of `text`; nothing when it has no digit or overflows.
[[nodiscard]] inline std::optional<std::uint64_t> take_number(std::string_view& text, unsigned base) noexcept {
  std::uint64_t value = 0;
  std::size_t used = 0;
  for (; used < text.size(); ++used) {
    const char c = text[used];
    unsigned digit = 16;
    if (c >= '0' && c <= '9') digit = static_cast<unsigned>(c - '0');
    else if (c >= 'a' && c <= 'f') digit = static_cast<unsigned>(c - 'a') + 10;
    else if (c >= 'A' && c <= 'F') digit = static_cast<unsigned>(c - 'A') + 10;
    if (digit >= base) break;
    if (value > (~std::uint64_t{0} - digit) / base) return {};
    value = value * base + digit;
  }
  if (used == 0) return {};
  text.remove_prefix(used);
  return value;
}

/// Takes `prefix` from the front of `text`; false, and nothing taken, when it begins otherwise.
[[nodiscard]] inline bool take(std::string_view& text, std::string_view prefix) noexcept {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// A letter A to Z in lower case; other characters as they are.
[[nodiscard]] inline char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Whether `text` begins with `prefix`, which is lower case, in any case.
[[nodiscard]] inline bool begins_as(std::string_view text, std::string_view prefix) noexcept {
  if (text.size() < prefix.size()) return false;
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    if (lower(text[i]) != prefix[i]) return false;
  }
  return true;
}

/// `SEC.NNNNNNNNN` as nanoseconds.
[[nodiscard]] inline std::optional<std::uint64_t> take_time(std::string_view& text) noexcept {
  const auto seconds = take_number(text, 10);
  if (!seconds || *seconds > 18'000'000'000 || !take(text, ".")) return {};
  const std::size_t before = text.size();
  const auto fraction = take_number(text, 10);
  if (!fraction) return {};
  std::uint64_t nanoseconds = *fraction;
  std::size_t digits = before - text.size();
  for (; digits < 9; ++digits) nanoseconds *= 10;
  for (; digits > 9; --digits) nanoseconds /= 10;
  return *seconds * 1'000'000'000 + nanoseconds;
}

/// The part of a path behind its last slash.
[[nodiscard]] inline std::string_view base_name(std::string_view path) noexcept {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace backsight::text
