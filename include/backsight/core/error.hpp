// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>
#include <type_traits>
#include <utility>

/// Checks a precondition of the caller. Off under NDEBUG; never used for what a file contains.
#define BACKSIGHT_ASSERT(condition) assert(condition)

namespace backsight {

/// What is wrong with the input. Every enumerator names one cause; message() gives its text.
enum class errc : std::uint8_t {
  ok,                    ///< No error.
  truncated,             ///< The bytes end inside a record, a header or a number.
  bad_magic,             ///< The bytes do not begin as this format does.
  unsupported_version,   ///< The format is known, this version of it is not.
  unsupported_type,      ///< The format is known, this type or mode of file is not.
  unknown_record,        ///< The kind of a record is not one that the format defines.
  bad_value,             ///< A field holds a value that the format does not allow.
  bad_size,              ///< A size field is zero, negative or larger than the format allows.
  bad_transition,        ///< A record follows one that it may not follow.
  bad_end,               ///< The records end after one that may not be the last.
  record_crosses_block,  ///< A record reaches beyond the bytes that its block declares.
  trailing_bytes,        ///< Bytes follow the last record that belong to none.
  unpaired_record,       ///< A record belongs to one before it that is missing or does not match.
  number_too_large,      ///< A variable-length number does not fit 64 bits.
  out_of_range,          ///< An offset, index or address points outside of what it refers to.
  bad_string,            ///< A text is not terminated or not of the form that the format asks for.
  bad_text,              ///< A line of a text file is not of the form that the format asks for.
  missing_section,       ///< The object file has no section of that name.
  compressed,            ///< The bytes are compressed; inflate them with a header of io/ first.
  not_found,             ///< Nothing is stored under that key or at that address.
  capacity,              ///< A fixed-capacity buffer of the reader is full.
  io,                    ///< The operating system reported an error.
  checksum,              ///< A stored checksum differs from that of the bytes.
  time_reversed,         ///< A time lies before one that it must not precede.
  step_limit,            ///< A program in the data did not end within the bound on its steps.
  expansion,             ///< The bytes unfold to more than the caller allows.
  unrelocated,           ///< The section of an object file needs its relocations first; see elf/relocate.hpp.
  unknown_relocation,    ///< A relocation is of a kind that is not applied.
};

/// The number of enumerators of errc; every value below it has a message.
inline constexpr std::uint8_t errc_count = static_cast<std::uint8_t>(errc::unknown_relocation) + 1;

/// The text of an error code: static, never null, no two equal.
[[nodiscard]] constexpr const char* message(errc code) noexcept {
  switch (code) {
    case errc::ok: return "no error";
    case errc::truncated: return "unexpected end of the data";
    case errc::bad_magic: return "not a file of this format";
    case errc::unsupported_version: return "unsupported version";
    case errc::unsupported_type: return "unsupported type of file";
    case errc::unknown_record: return "unknown kind of record";
    case errc::bad_value: return "a field holds a value that is not allowed";
    case errc::bad_size: return "a size field is not valid";
    case errc::bad_transition: return "a record follows one that it may not follow";
    case errc::bad_end: return "the data ends after a record that may not be the last";
    case errc::record_crosses_block: return "a record crosses the end of its block";
    case errc::trailing_bytes: return "bytes after the last record";
    case errc::unpaired_record: return "a record does not match the one that it belongs to";
    case errc::number_too_large: return "a variable-length number is too large";
    case errc::out_of_range: return "an offset or address is out of range";
    case errc::bad_string: return "a text is not well formed";
    case errc::bad_text: return "a line is not well formed";
    case errc::missing_section: return "the section is missing";
    case errc::compressed: return "the data is compressed";
    case errc::not_found: return "not found";
    case errc::capacity: return "a fixed-capacity buffer is full";
    case errc::io: return "input/output error";
    case errc::checksum: return "the checksum does not match";
    case errc::time_reversed: return "a time lies before the one before it";
    case errc::step_limit: return "too many steps";
    case errc::expansion: return "the data unfolds to more than is allowed";
    case errc::unrelocated: return "the relocations of the section have not been applied";
    case errc::unknown_relocation: return "a relocation of a kind that is not supported";
  }
  return "unknown error code";
}

/// An error and where it is: `offset` counts bytes from the start of the view that the caller passed in.
struct trace_error {
  errc code = errc::ok;
  std::uint64_t offset = 0;

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return code != errc::ok; }
  [[nodiscard]] friend constexpr bool operator==(const trace_error&, const trace_error&) = default;
};

/// A place that was skipped over on the way through damaged data.
struct fault {
  errc code = errc::ok;
  std::uint64_t offset = 0;   ///< Where the error is.
  std::uint64_t skipped = 0;  ///< Bytes from `offset` up to where reading went on.

  [[nodiscard]] friend constexpr bool operator==(const fault&, const fault&) = default;
};

/// A value and an error side by side; the value is meaningful when there is no error. Trivially copyable when T is.
template <class T>
class result {
 public:
  using value_type = T;

  constexpr result() = default;
  constexpr result(T value) noexcept(std::is_nothrow_move_constructible_v<T>) : value_(std::move(value)) {}
  constexpr result(trace_error error) noexcept : error_(error) {}
  constexpr result(errc code, std::uint64_t offset) noexcept : error_{code, offset} {}
  /// A value that was readable up to an error.
  constexpr result(T value, trace_error error) : value_(std::move(value)), error_(error) {}

  [[nodiscard]] constexpr bool has_value() const noexcept { return error_.code == errc::ok; }
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return has_value(); }
  [[nodiscard]] constexpr const trace_error& error() const noexcept { return error_; }

  /// The value whether or not there is an error: what was readable before it, or T{}. As with value(), a temporary
  /// gives it by value, so that `for (auto r : open(bytes).partial())` walks something that is still there.
  [[nodiscard]] constexpr const T& partial() const& noexcept { return value_; }
  [[nodiscard]] constexpr T& partial() & noexcept { return value_; }
  [[nodiscard]] constexpr T partial() && noexcept(std::is_nothrow_move_constructible_v<T>) { return std::move(value_); }

  /// The value. Precondition: has_value().
  [[nodiscard]] constexpr const T& value() const& noexcept {
    BACKSIGHT_ASSERT(has_value());
    return value_;
  }
  [[nodiscard]] constexpr T& value() & noexcept {
    BACKSIGHT_ASSERT(has_value());
    return value_;
  }
  [[nodiscard]] constexpr T value() && noexcept(std::is_nothrow_move_constructible_v<T>) {
    BACKSIGHT_ASSERT(has_value());
    return std::move(value_);
  }
  [[nodiscard]] constexpr const T& operator*() const& noexcept { return value(); }
  [[nodiscard]] constexpr T& operator*() & noexcept { return value(); }
  [[nodiscard]] constexpr T operator*() && noexcept(std::is_nothrow_move_constructible_v<T>) {
    return std::move(*this).value();
  }
  [[nodiscard]] constexpr const T* operator->() const noexcept { return &value(); }
  [[nodiscard]] constexpr T* operator->() noexcept { return &value(); }

 private:
  T value_{};
  trace_error error_{};
};

}  // namespace backsight
