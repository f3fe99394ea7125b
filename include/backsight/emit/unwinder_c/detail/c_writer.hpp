// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <backsight/core/text.hpp>

namespace backsight::emit::unwinder_c::detail {

/// An unsigned number as C writes it in hexadecimal, and one of 64 bits.
struct c_hex {
  std::uint64_t value = 0;
};
struct c_wide {
  std::uint64_t value = 0;
};

/// Writes C text to an output iterator of char, argument by argument: texts, integers in decimal, c_hex and c_wide.
template <class Out>
class c_writer {
 public:
  c_writer(Out out, std::string_view prefix, bool deref, unsigned address_size)
      : out_(std::move(out)), prefix_(prefix), deref_(deref), narrow_(address_size == 4) {}

  template <class... Parts>
  c_writer& operator()(const Parts&... parts) {
    (put(parts), ...);
    return *this;
  }
  [[nodiscard]] std::string_view prefix() const noexcept { return prefix_; }
  /// How functions that read memory are declared and called, behind their other arguments.
  [[nodiscard]] const char* memory_parameters() const noexcept {
    return deref_ ? ", backsight_deref deref, void *memory" : "";
  }
  [[nodiscard]] const char* memory_arguments() const noexcept { return deref_ ? ", deref, memory" : ""; }
  [[nodiscard]] bool has_deref() const noexcept { return deref_; }
  /// Narrow machines: sums are cut to 32 bits with this behind them.
  [[nodiscard]] const char* cut() const noexcept { return narrow_ ? " & 0xffffffffu" : ""; }
  [[nodiscard]] bool narrow() const noexcept { return narrow_; }
  [[nodiscard]] Out take() { return std::move(out_); }

 private:
  void put(std::string_view text) {
    for (const char c : text) *out_++ = c;
  }
  void put(const char* text) { put(std::string_view(text)); }
  void put(char c) { *out_++ = c; }
  void put(c_hex number) { out_ = text::hexadecimal(text::literal(std::move(out_), "0x"), number.value), put('u'); }
  void put(c_wide number) {
    out_ = text::hexadecimal(text::literal(std::move(out_), "UINT64_C(0x"), number.value), put(')');
  }
  template <class T>
    requires std::is_integral_v<T>
  void put(T number) {
    out_ = text::decimal(std::move(out_), number);
  }

  Out out_;
  std::string_view prefix_;
  bool deref_;
  bool narrow_;
};

}  // namespace backsight::emit::unwinder_c::detail
