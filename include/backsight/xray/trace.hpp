// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/offset_of.hpp>
#include <backsight/core/record.hpp>
#include <backsight/xray/schema.hpp>

namespace backsight::xray {

/// An opened log: the decoded file header and a view of the whole file, which must outlive it. Trivially copyable.
class log {
 public:
  constexpr log() = default;

  [[nodiscard]] constexpr byte_view bytes() const noexcept { return bytes_; }
  /// The bytes behind the file header; they begin at offset size_of<file_header>.
  [[nodiscard]] constexpr byte_view body() const noexcept { return bytes_.subspan(size_of<file_header>); }
  [[nodiscard]] constexpr order byte_order() const noexcept { return order_; }
  [[nodiscard]] constexpr log_type type() const noexcept { return type_; }
  [[nodiscard]] constexpr std::uint16_t version() const noexcept { return version_; }
  [[nodiscard]] constexpr bool constant_tsc() const noexcept { return constant_tsc_; }
  [[nodiscard]] constexpr bool nonstop_tsc() const noexcept { return nonstop_tsc_; }
  /// Ticks of the log's clock in a second; 0 when the recorder did not know.
  [[nodiscard]] constexpr std::uint64_t ticks_per_second() const noexcept { return cycle_frequency_; }
  /// FDR: the configured size of one thread's buffer.
  [[nodiscard]] constexpr std::uint64_t buffer_size() const noexcept { return buffer_size_; }

  /// A time or duration in nanoseconds, rounded down and exact; ticks as they are when the frequency is unknown.
  [[nodiscard]] constexpr std::uint64_t to_ns(std::uint64_t ticks) const noexcept {
    constexpr std::uint64_t second = 1000000000;
    if (cycle_frequency_ == 0 || cycle_frequency_ == second) return ticks;
    const std::uint64_t whole = ticks / cycle_frequency_, rest = ticks % cycle_frequency_;
    // rest * second fits 64 bits up to 18 GHz; beyond that the clock is finer than a nanosecond by far.
    const std::uint64_t part = cycle_frequency_ <= ~std::uint64_t{0} / second ? rest * second / cycle_frequency_
                                                                              : rest / (cycle_frequency_ / second);
    return whole * second + part;
  }

 private:
  friend constexpr result<log> open(byte_view bytes) noexcept;

  template <order O>
  constexpr bool decode(byte_view bytes) noexcept {
    const record<file_header, O> header(bytes.data());
    bytes_ = bytes;
    order_ = O;
    version_ = header[file_header::version];
    type_ = header[file_header::type];
    constant_tsc_ = header[file_header::constant_tsc];
    nonstop_tsc_ = header[file_header::nonstop_tsc];
    cycle_frequency_ = header[file_header::cycle_frequency];
    buffer_size_ = header[file_header::buffer_size];
    return known_type() && version_ >= 1 && version_ <= (type_ == log_type::fdr ? 5 : 3);
  }
  [[nodiscard]] constexpr bool known_type() const noexcept {
    return type_ == log_type::basic || type_ == log_type::fdr;
  }

  byte_view bytes_;
  std::uint64_t cycle_frequency_ = 0;
  std::uint64_t buffer_size_ = 0;
  std::uint16_t version_ = 0;
  log_type type_{};
  order order_{};
  bool constant_tsc_ = false;
  bool nonstop_tsc_ = false;
};

/// Opens an XRay log. The byte order is that in which type and version make sense (xray_records.h; LLVM tries little
/// endian first too). Errors: errc::truncated (fewer than 32 bytes), errc::unsupported_type at offset 2,
/// errc::unsupported_version at offset 0. A log of nothing but a header is an empty log.
[[nodiscard]] constexpr result<log> open(byte_view bytes) noexcept {
  if (bytes.size() < size_of<file_header>) return {errc::truncated, 0};
  log little, big;
  if (little.decode<order::little>(bytes)) return little;
  if (big.decode<order::big>(bytes)) return big;
  if (little.known_type() || big.known_type())
    return {errc::unsupported_version, offset_of<file_header>(file_header::version)};
  return {errc::unsupported_type, offset_of<file_header>(file_header::type)};
}

}  // namespace backsight::xray
