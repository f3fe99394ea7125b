// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/schema.hpp>

namespace backsight {

namespace detail {

/// The bytes through which a member is read: the smallest power-of-two window that covers it and lies inside the
/// record, or, where there is none (24-bit words at the end of a record), just the bytes that it touches.
struct window {
  std::size_t first = 0;
  std::size_t size = 0;
};

[[nodiscard]] constexpr window window_of(placement place, std::size_t record_size) noexcept {
  const std::size_t first = place.first_bit / 8;
  const std::size_t last = (place.first_bit + place.bits + 7) / 8;
  for (const std::size_t size : {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{8}}) {
    if (size > record_size) break;
    const std::size_t aligned = first / size * size;
    if (aligned + size >= last && aligned + size <= record_size) return {aligned, size};
    const std::size_t fitting = first + size <= record_size ? first : record_size - size;
    if (fitting <= first && fitting + size >= last) return {fitting, size};
  }
  return {first, last - first};
}

template <placement Place, std::size_t RecordSize, order O>
struct bit_access {
  static constexpr window bytes = window_of(Place, RecordSize);
  static_assert(bytes.size <= 8, "backsight: a member touches more than eight bytes");
  static constexpr std::size_t shift = O == order::little
                                           ? Place.first_bit - bytes.first * 8
                                           : (bytes.first + bytes.size) * 8 - (Place.first_bit + Place.bits);
  static constexpr bool power_of_two = (bytes.size & (bytes.size - 1)) == 0;
  using word = unsigned_of_size<power_of_two ? bytes.size : 8>;
  static constexpr word mask =
      static_cast<word>(Place.bits >= sizeof(word) * 8 ? ~word{0} : (word{1} << Place.bits % 64) - 1);

  [[nodiscard]] static constexpr word read_window(const std::byte* record) noexcept {
    if constexpr (power_of_two) {
      return load<word, O>(record + bytes.first);
    } else {
      word value = 0;
      for (std::size_t i = 0; i < bytes.size; ++i) {
        const std::size_t byte = O == order::little ? bytes.size - 1 - i : i;
        value = value << 8 | std::to_integer<word>(record[bytes.first + byte]);
      }
      return value;
    }
  }
  [[nodiscard]] static constexpr word read(const std::byte* record) noexcept {
    return static_cast<word>(read_window(record) >> shift) & mask;
  }
  static constexpr void write(std::byte* record, word value) noexcept {
    const word cleared = static_cast<word>(read_window(record) & static_cast<word>(~static_cast<word>(mask << shift)));
    const word combined = static_cast<word>(cleared | static_cast<word>((value & mask) << shift));
    if constexpr (power_of_two) {
      store<O>(record + bytes.first, combined);
    } else {
      for (std::size_t i = 0; i < bytes.size; ++i) {
        const std::size_t byte = O == order::little ? i : bytes.size - 1 - i;
        record[bytes.first + byte] = static_cast<std::byte>(combined >> (i * 8));
      }
    }
  }
};

template <class T, placement Place, std::size_t RecordSize, order O>
[[nodiscard]] constexpr T read_member(const std::byte* record) noexcept {
  if constexpr (byte_array_size<T> != 0) {
    static_assert(Place.first_bit % 8 == 0, "backsight: an array of bytes begins at a whole byte");
    T value{};
    for (std::size_t i = 0; i < value.size(); ++i) value[i] = record[Place.first_bit / 8 + i];
    return value;
  } else {
    using access = bit_access<Place, RecordSize, O>;
    const auto bits = access::read(record);
    if constexpr (std::is_same_v<T, bool>) {
      return bits != 0;
    } else if constexpr (std::is_floating_point_v<T>) {
      return std::bit_cast<T>(bits);
    } else if constexpr (std::is_enum_v<T>) {
      return static_cast<T>(read_member<std::underlying_type_t<T>, Place, RecordSize, O>(record));
    } else if constexpr (std::is_signed_v<T>) {
      using word = typename access::word;
      constexpr word sign = static_cast<word>(word{1} << (Place.bits - 1));
      return static_cast<T>(static_cast<std::make_signed_t<word>>(static_cast<word>((bits ^ sign) - sign)));
    } else {
      return static_cast<T>(bits);
    }
  }
}

template <class T, placement Place, std::size_t RecordSize, order O>
constexpr void write_member(std::byte* record, const T& value) noexcept {
  if constexpr (byte_array_size<T> != 0) {
    static_assert(Place.first_bit % 8 == 0, "backsight: an array of bytes begins at a whole byte");
    for (std::size_t i = 0; i < value.size(); ++i) record[Place.first_bit / 8 + i] = value[i];
  } else {
    using access = bit_access<Place, RecordSize, O>;
    using word = typename access::word;
    if constexpr (std::is_floating_point_v<T>) access::write(record, std::bit_cast<word>(value));
    else access::write(record, static_cast<word>(value));
  }
}

struct payload_size_slot {
  std::size_t payload_bytes = 0;
};
struct no_payload_slot {};

}  // namespace detail

/// A view of one record of schema S: a pointer, and the payload's size where the schema has one. Trivially copyable;
/// the bytes must outlive it. Reading a member costs one load, a shift and a mask; it cannot fail on a valid view.
template <schema S, order O>
class record : private std::conditional_t<has_payload<S>, detail::payload_size_slot, detail::no_payload_slot> {
  using slot = std::conditional_t<has_payload<S>, detail::payload_size_slot, detail::no_payload_slot>;

 public:
  using schema_type = S;
  static constexpr order byte_order = O;
  /// Bytes of the members, without payload.
  static constexpr std::size_t size = size_of<S>;

  constexpr record() = default;
  /// Precondition: `size` bytes are readable at `data`.
  constexpr explicit record(const std::byte* data) noexcept : data_(data) {}
  /// Precondition: `size + payload_size` bytes are readable at `data`.
  constexpr record(const std::byte* data, std::size_t payload_size) noexcept
    requires has_payload<S>
      : slot{payload_size}, data_(data) {}

  /// It views bytes: false for a default-constructed one.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return data_ != nullptr; }

  /// The value of a member.
  template <class F>
  [[nodiscard]] constexpr typename F::value_type operator[](F) const noexcept {
    static_assert(field_of<F, S>, "backsight: this member does not belong to the record's schema");
    return read_at<F, detail::layout_of<S>::members::template index_of<F>>();
  }

  /// The value of the member of that index, padding included.
  template <std::size_t Index>
  [[nodiscard]] constexpr auto member_at() const noexcept {
    return read_at<typename detail::layout_of<S>::members::template at<Index>, Index>();
  }

  /// All bytes of the record, the payload included.
  [[nodiscard]] constexpr byte_view bytes() const noexcept {
    if constexpr (has_payload<S>) return {data_, size + this->payload_bytes};
    else return {data_, size};
  }

  /// The bytes behind the members.
  [[nodiscard]] constexpr byte_view payload() const noexcept
    requires has_payload<S>
  {
    return {data_ + size, this->payload_bytes};
  }

  /// Equal bytes, padding and payload included.
  [[nodiscard]] friend constexpr bool operator==(const record& a, const record& b) noexcept {
    const byte_view x = a.bytes(), y = b.bytes();
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] != y[i]) return false;
    }
    return true;
  }

 private:
  template <class F, std::size_t Index>
  [[nodiscard]] constexpr typename F::value_type read_at() const noexcept {
    using fields = detail::layout_of<S>;
    return detail::read_member<typename F::value_type, fields::template place_of<Index, O>, size,
                               detail::order_of_member<F, O>>(data_);
  }

  const std::byte* data_ = nullptr;
};

/// A view of one record of schema S whose members can be written. The bytes must outlive it.
template <schema S, order O>
  requires(!detail::varying<S>)
class mutable_record {
 public:
  /// Precondition: size_of<S> bytes are writable at `data`.
  constexpr explicit mutable_record(std::byte* data) noexcept : data_(data) {}

  /// Writes a member; bits of `value` beyond the member's width are cut off. The bits around it stay.
  template <class F>
  constexpr const mutable_record& set(F, const typename F::value_type& value) const noexcept {
    static_assert(field_of<F, S>, "backsight: this member does not belong to the record's schema");
    return set_at<detail::layout_of<S>::members::template index_of<F>>(value);
  }

  /// Writes the member of that index, padding included.
  template <std::size_t Index, class T>
  constexpr const mutable_record& set_at(const T& value) const noexcept {
    using fields = detail::layout_of<S>;
    using member = typename fields::members::template at<Index>;
    detail::write_member<T, fields::template place_of<Index, O>, size_of<S>, detail::order_of_member<member, O>>(data_,
                                                                                                                 value);
    return *this;
  }

  [[nodiscard]] constexpr record<S, O> view() const noexcept { return record<S, O>(data_); }

 private:
  std::byte* data_;
};

/// The members of a record in bytes of its own, all zero at first: `owned_record<S, O>{}.set(S::a, 1).set(S::b, 2)`.
template <schema S, order O>
  requires(!detail::varying<S>)
class owned_record {
 public:
  constexpr owned_record() = default;
  /// The members of a record that is there.
  constexpr explicit owned_record(const record<S, O>& from) noexcept {
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = from.bytes()[i];
  }

  template <class F>
  constexpr owned_record& set(F member, const typename F::value_type& value) noexcept {
    mutable_record<S, O>(bytes_.data()).set(member, value);
    return *this;
  }
  template <class F>
  [[nodiscard]] constexpr typename F::value_type operator[](F member) const noexcept {
    return view()[member];
  }
  /// A view of this object's bytes.
  [[nodiscard]] constexpr record<S, O> view() const noexcept { return record<S, O>(bytes_.data()); }
  [[nodiscard]] constexpr const std::array<std::byte, size_of<S>>& bytes() const noexcept { return bytes_; }

 private:
  std::array<std::byte, size_of<S>> bytes_{};
};

/// Decodes every member of `from`, padding included, and encodes it at `to` in the byte order To; the payload is
/// copied. With To == From the bytes come out as they were. Precondition: from.bytes().size() bytes are writable at
/// `to`.
template <order To, schema S, order From>
  requires(!detail::varying<S>)
constexpr void encode(const record<S, From>& from, std::byte* to) noexcept {
  const mutable_record<S, To> out(to);
  for_each_member<S>([&](auto, auto index) { out.template set_at<index>(from.template member_at<index>()); });
  if constexpr (has_payload<S>) {
    const byte_view payload = from.payload();
    for (std::size_t i = 0; i < payload.size(); ++i) to[size_of<S> + i] = payload[i];
  }
}

}  // namespace backsight
