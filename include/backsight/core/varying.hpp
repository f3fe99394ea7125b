// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <backsight/core/varint.hpp>
#include <backsight/core/varying_record.hpp>

// Members whose size the bytes of a record tell.
namespace backsight {

/// A number of seven bits a byte. T is an integer, an enumeration or bool; a LEB128 number that does not fit it is
/// refused with errc::number_too_large, of a protobuf number the upper bits are dropped, as protobuf does.
template <fixed_string Name, class T, varint_form Form>
struct varying_number : detail::varying_base {
  static_assert(std::is_integral_v<T> || std::is_enum_v<T>,
                "backsight: a number of varying size is an integer or an enumeration");
  using value_type = T;
  static constexpr std::size_t bits = detail::digits_of<T>::value;
  static constexpr std::size_t smallest = 1;
  static constexpr bool is_padding = false;
  static constexpr bool takes_rest = false;
  static constexpr varint_form form = Form;
  [[nodiscard]] static constexpr const char* name() noexcept { return Name.c_str(); }
  template <class Record>
  [[nodiscard]] constexpr T operator()(const Record& record) const noexcept {
    return record[varying_number{}];
  }

  template <class Record>
  [[nodiscard, gnu::always_inline]] static constexpr const std::byte* pass(const Record&, const std::byte* at,
                                                                           const std::byte* end, std::uint64_t& value,
                                                                           errc& code) noexcept {
    at = read_varint<Form>(at, end, value, code);
    if constexpr (sizeof(T) < 8 && (Form == varint_form::uleb || Form == varint_form::sleb)) {
      if (at != nullptr && widened(static_cast<T>(value)) != value) [[unlikely]]
        return code = errc::number_too_large, nullptr;
    }
    return at;
  }
  template <class Record>
  [[nodiscard]] static constexpr T get(const Record&, detail::slot at) noexcept {
    return static_cast<T>(at.value);
  }
  /// The bits of a value, its sign in all that T has not.
  [[nodiscard]] static constexpr std::uint64_t widened(T value) noexcept {
    if constexpr (std::is_enum_v<T>) return static_cast<std::uint64_t>(static_cast<std::underlying_type_t<T>>(value));
    else return static_cast<std::uint64_t>(value);
  }
};

/// An unsigned LEB128 number: `uleb<"count">`.
template <fixed_string Name, class T = std::uint64_t>
using uleb = varying_number<Name, T, varint_form::uleb>;
/// A signed LEB128 number.
template <fixed_string Name, class T = std::int64_t>
using sleb = varying_number<Name, T, varint_form::sleb>;
/// A protobuf number.
template <fixed_string Name, class T = std::uint64_t>
using varint = varying_number<Name, T, varint_form::varint>;
/// A protobuf number of type sint32 or sint64.
template <fixed_string Name, class T = std::int64_t>
using zigzag = varying_number<Name, T, varint_form::zigzag>;

namespace detail {

/// What members share that are views of bytes.
struct bytes_member : varying_base {
  using value_type = byte_view;
  static constexpr std::size_t bits = 0;
  static constexpr std::size_t smallest = 0;
  static constexpr bool is_padding = false;
  static constexpr bool takes_rest = false;
  template <class Record>
  [[nodiscard]] static constexpr byte_view get(const Record& record, slot at) noexcept {
    return {record.data() + at.begin, static_cast<std::size_t>(at.value)};
  }
};

/// A count that a record tells: by a member, or by a function of it. Negative counts are large ones.
template <auto Count, class Record>
[[nodiscard, gnu::always_inline]] constexpr std::uint64_t count_of(const Record& record) noexcept {
  return static_cast<std::uint64_t>(Count(record));
}

/// `count` things of `size` bytes each behind `at`; null where they are not all there.
[[nodiscard, gnu::always_inline]] constexpr const std::byte* pass_counted(const std::byte* at, const std::byte* end,
                                                                          std::uint64_t count, std::size_t size,
                                                                          std::uint64_t& value, errc& code) noexcept {
  if (count > static_cast<std::size_t>(end - at) / size) [[unlikely]]
    return code = errc::truncated, nullptr;
  value = count;
  return at + static_cast<std::size_t>(count) * size;
}

}  // namespace detail

/// A text that a NUL ends; its value has none.
template <fixed_string Name>
struct c_string : detail::bytes_member {
  static constexpr std::size_t smallest = 1;
  static constexpr bool is_text = true;
  [[nodiscard]] static constexpr const char* name() noexcept { return Name.c_str(); }
  template <class Record>
  [[nodiscard]] constexpr byte_view operator()(const Record& record) const noexcept {
    return record[c_string{}];
  }
  template <class Record>
  [[nodiscard]] static constexpr const std::byte* pass(const Record&, const std::byte* at, const std::byte* end,
                                                       std::uint64_t& value, errc& code) noexcept {
    const std::byte* last = at;
    if (std::is_constant_evaluated()) {
      while (last != end && *last != std::byte{0}) ++last;
      if (last == end) last = nullptr;
    } else {
      last =
          at == end ? nullptr : static_cast<const std::byte*>(std::memchr(at, 0, static_cast<std::size_t>(end - at)));
    }
    if (last == nullptr) return code = errc::bad_string, nullptr;
    value = static_cast<std::uint64_t>(last - at);
    return last + 1;
  }
};

/// Bytes whose number an earlier member tells: `counted_bytes<"data", length>`. Count may be a function of the record
/// too: `[](const auto& r) { return r[length] - 2; }`; a negative number is one that is too large.
template <fixed_string Name, auto Count>
struct counted_bytes : detail::bytes_member {
  static constexpr auto count = Count;
  [[nodiscard]] static constexpr const char* name() noexcept { return Name.c_str(); }
  template <class Record>
  [[nodiscard]] constexpr byte_view operator()(const Record& record) const noexcept {
    return record[counted_bytes{}];
  }
  template <class Record>
  [[nodiscard, gnu::always_inline]] static constexpr const std::byte* pass(const Record& record, const std::byte* at,
                                                                           const std::byte* end, std::uint64_t& value,
                                                                           errc& code) noexcept {
    return detail::pass_counted(at, end, detail::count_of<Count>(record), 1, value, code);
  }
};

/// All bytes up to the members behind it: of the record where it has an `extent`, else of the range.
template <fixed_string Name>
struct rest_bytes : detail::bytes_member {
  static constexpr bool takes_rest = true;
  [[nodiscard]] static constexpr const char* name() noexcept { return Name.c_str(); }
  template <class Record>
  [[nodiscard]] constexpr byte_view operator()(const Record& record) const noexcept {
    return record[rest_bytes{}];
  }
  template <class Record>
  [[nodiscard]] static constexpr const std::byte* pass(const Record&, const std::byte* at, const std::byte* end,
                                                       std::uint64_t& value, errc&) noexcept {
    value = static_cast<std::uint64_t>(end - at);
    return end;
  }
};

/// Padding up to a multiple of Alignment bytes, counted from the start of the record.
template <std::size_t Alignment>
struct align : detail::bytes_member {
  static_assert(Alignment != 0, "backsight: an alignment is at least one byte");
  static constexpr bool is_padding = true;
  static constexpr std::size_t alignment = Alignment;
  [[nodiscard]] static constexpr const char* name() noexcept { return "(padding)"; }
  template <class Record>
  [[nodiscard, gnu::always_inline]] static constexpr const std::byte* pass(const Record& record, const std::byte* at,
                                                                           const std::byte* end, std::uint64_t& value,
                                                                           errc& code) noexcept {
    const std::size_t beyond = static_cast<std::size_t>(at - record.data()) % Alignment;
    return detail::pass_counted(at, end, beyond == 0 ? 0 : Alignment - beyond, 1, value, code);
  }
};

/// Numbers side by side, read where they are used. A view.
template <class T, order O>
class number_span {
 public:
  using value_type = T;
  class iterator;

  constexpr number_span() = default;
  constexpr number_span(const std::byte* data, std::size_t count) noexcept : data_(data), count_(count) {}
  [[nodiscard]] constexpr std::size_t size() const noexcept { return count_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] constexpr T operator[](std::size_t index) const noexcept {
    BACKSIGHT_ASSERT(index < count_);
    return load<T, O>(data_ + index * sizeof(T));
  }
  [[nodiscard]] constexpr iterator begin() const noexcept { return iterator(data_); }
  [[nodiscard]] constexpr iterator end() const noexcept { return iterator(data_ + count_ * sizeof(T)); }
  [[nodiscard]] constexpr byte_view bytes() const noexcept { return {data_, count_ * sizeof(T)}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t count_ = 0;
};

template <class T, order O>
class number_span<T, O>::iterator {
 public:
  using value_type = T;
  using difference_type = std::ptrdiff_t;

  constexpr iterator() = default;
  constexpr explicit iterator(const std::byte* at) noexcept : at_(at) {}
  [[nodiscard]] constexpr T operator*() const noexcept { return load<T, O>(at_); }
  constexpr iterator& operator++() noexcept { return at_ += sizeof(T), *this; }
  constexpr iterator operator++(int) noexcept {
    const iterator before = *this;
    ++*this;
    return before;
  }
  [[nodiscard]] friend constexpr bool operator==(const iterator&, const iterator&) = default;

 private:
  const std::byte* at_ = nullptr;
};

/// Numbers whose count an earlier member tells: `counted<"values", std::uint16_t, count>`; the value is a number_span.
template <fixed_string Name, class T, auto Count>
struct counted : detail::bytes_member {
  static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>,
                "backsight: counted<> lists numbers; records are listed by counted_records<>");
  using value_type = T;
  static constexpr auto count = Count;
  [[nodiscard]] static constexpr const char* name() noexcept { return Name.c_str(); }
  template <class Record>
  [[nodiscard]] constexpr auto operator()(const Record& record) const noexcept {
    return record[counted{}];
  }
  template <class Record>
  [[nodiscard, gnu::always_inline]] static constexpr const std::byte* pass(const Record& record, const std::byte* at,
                                                                           const std::byte* end, std::uint64_t& value,
                                                                           errc& code) noexcept {
    return detail::pass_counted(at, end, detail::count_of<Count>(record), sizeof(T), value, code);
  }
  template <class Record>
  [[nodiscard]] static constexpr auto get(const Record& record, detail::slot at) noexcept {
    return number_span<T, Record::byte_order>(record.data() + at.begin, static_cast<std::size_t>(at.value));
  }
};

/// These members are there where Condition holds: `when<is(flags, 1)>(a, b)`, or a function of the record's earlier
/// members: `when<[](const auto& r) { return r[version] >= 5; }>(a)`. A member that is not there reads as zero;
/// `record.has(a)` tells.
template <auto Condition, class... Members>
[[nodiscard]] consteval auto when(Members...) {
  return []<class... Units>(detail::type_list<Units...>) {
    return detail::unit_list<detail::conditional_unit<Condition, Units>...>{};
  }(decltype((detail::type_list<>{} + ... + typename detail::units_of<Members>::type{})){});
}

}  // namespace backsight
