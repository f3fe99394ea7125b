// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <backsight/core/record.hpp>

namespace backsight {

namespace detail {

/// Where a unit of the tail lies, counted from the start of the record, and what reading it found: a number or a count.
struct slot {
  static constexpr std::size_t absent = ~std::size_t{0};
  std::size_t begin = absent;
  std::uint64_t value = 0;
};

/// What reading a record with members of varying size has found, so that it need not be read again: where the members
/// end and the units of the tail lie.
template <std::size_t Units>
struct tail {
  const std::byte* end = nullptr;
  std::array<slot, Units> slots{};
};
template <>
struct tail<0> {};

/// A condition holds for the members of `record` that are read.
template <auto Condition, class Record>
[[nodiscard]] constexpr bool holds_for(const Record& record) noexcept {
  return static_cast<bool>(Condition(record));
}

/// The unit without its conditions.
template <class Unit>
struct bare_unit {
  using type = Unit;
};
template <auto Condition, class Unit>
struct bare_unit<conditional_unit<Condition, Unit>> : bare_unit<Unit> {};

}  // namespace detail

/// Where a member lies in a record: `bits` bits from bit `first_bit` of the bytes at `offset` on.
struct member_place {
  std::size_t offset = 0;
  std::size_t size = 0;
  std::size_t first_bit = 0;
  std::size_t bits = 0;
};

/// A view of one record with members of varying size. Their places are found once, when the view is made; reading a
/// member then costs what it costs in other records. Trivially copyable; the bytes must outlive it.
template <schema S, order O>
  requires detail::varying<S>
class record<S, O> {
  using fields = detail::layout_of<S>;
  static constexpr std::size_t tail_units = fields::tail_units;

 public:
  using schema_type = S;
  static constexpr order byte_order = O;
  /// Bytes of the fixed part.
  static constexpr std::size_t size = size_of<S>;

  constexpr record() = default;
  /// Precondition: a record of S lies in the `bytes` bytes at `data`, which is all that belongs to it; it begins at
  /// `offset` of the caller's view.
  [[gnu::always_inline]] constexpr record(const std::byte* data, std::size_t bytes, std::uint64_t offset = 0) noexcept
      : data_(data), size_(bytes), offset_(offset) {
    [[maybe_unused]] const errc code = find_members(bytes);
  }
  /// The same, of members that were found before.
  template <std::size_t Units>
  [[gnu::always_inline]] constexpr record(const std::byte* data, std::size_t bytes, std::uint64_t offset,
                                          const detail::tail<Units>& found) noexcept
      : data_(data), size_(bytes), tail_end_(found.end), offset_(offset) {
    static_assert(Units >= tail_units);
    for (std::size_t i = 0; i < tail_units; ++i) slots_[i] = found.slots[i];
  }
  /// Where the members were found.
  template <std::size_t Units>
  [[gnu::always_inline]] constexpr void tell(detail::tail<Units>& found) const noexcept {
    found.end = tail_end_;
    for (std::size_t i = 0; i < tail_units; ++i) found.slots[i] = slots_[i];
  }
  /// A view of the fixed part alone, for find_members. Precondition: `size` bytes are readable at `data`.
  [[nodiscard]] static constexpr record of_fixed_part(const std::byte* data) noexcept {
    record view;
    view.data_ = data;
    return view;
  }

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return data_ != nullptr; }

  /// Finds the members behind the fixed part, within `available` bytes from the start of the record on.
  [[nodiscard, gnu::always_inline]] constexpr errc find_members(std::size_t available) noexcept {
    errc code = errc::ok;
    const std::byte* const end =
        pass_all(data_ + size, data_ + available, code, std::make_index_sequence<tail_units>{});
    if (end == nullptr) [[unlikely]]
      return code;
    tail_end_ = end;
    return errc::ok;
  }
  /// Where the members end, and the payload begins.
  [[nodiscard]] constexpr const std::byte* members_end() const noexcept { return tail_end_; }
  /// Sets where the record ends, payload included.
  constexpr void set_end(const std::byte* end) noexcept { size_ = static_cast<std::size_t>(end - data_); }
  /// Sets where the record begins in the caller's view.
  constexpr void set_offset(std::uint64_t offset) noexcept { offset_ = offset; }

  /// The value of a member; a value of zeros, or an empty view, where the record has it not.
  template <class F>
  [[nodiscard]] constexpr auto operator[](F) const noexcept {
    static_assert(field_of<F, S>, "backsight: this member does not belong to the record's schema");
    return member_at<fields::members::template index_of<F>>();
  }
  /// The record has this member: its condition holds.
  template <class F>
  [[nodiscard]] constexpr bool has(F) const noexcept {
    static_assert(field_of<F, S>, "backsight: this member does not belong to the record's schema");
    return has_at<fields::members::template index_of<F>>();
  }

  /// The value of the member of that index, padding included.
  template <std::size_t Index>
  [[nodiscard, gnu::always_inline]] constexpr auto member_at() const noexcept {
    using member = typename fields::members::template at<Index>;
    constexpr detail::placement place = fields::template place_of<Index, O>;
    if constexpr (Index < fields::fixed_members) {
      return detail::read_member<typename member::value_type, place, size, detail::order_of_member<member, O>>(data_);
    } else {
      constexpr std::size_t number = fields::template unit_of<Index>;
      const detail::slot at = slot_at<number>();
      using unit = typename detail::bare_unit<unit_at<number>>::type;
      if constexpr (detail::is_varying<unit>) {
        if (may_be_absent<number> && at.begin == detail::slot::absent) return decltype(member::get(*this, at)){};
        return member::get(*this, at);
      } else {
        using value = typename member::value_type;
        if (may_be_absent<number> && at.begin == detail::slot::absent) return value{};
        return detail::read_member<value, place, unit::bits / 8, detail::order_of_member<member, O>>(data_ + at.begin);
      }
    }
  }
  template <std::size_t Index>
  [[nodiscard]] constexpr bool has_at() const noexcept {
    if constexpr (Index < fields::fixed_members) return true;
    else if constexpr (!may_be_absent<fields::template unit_of<Index>>) return true;
    else return slots_[fields::template unit_of<Index>].begin != detail::slot::absent;
  }
  /// Where the member of that index lies. Precondition: has_at<Index>().
  template <std::size_t Index>
  [[nodiscard]] constexpr member_place place_at() const noexcept {
    constexpr detail::placement place = fields::template place_of<Index, O>;
    if constexpr (Index < fields::fixed_members) {
      return place_in(0, place);
    } else {
      constexpr std::size_t unit = fields::template unit_of<Index>;
      const std::size_t begin = slots_[unit].begin;
      if constexpr (!detail::is_varying<typename detail::bare_unit<unit_at<unit>>::type>) return place_in(begin, place);
      auto end = static_cast<std::size_t>(tail_end_ - data_);
      for (std::size_t i = tail_units; i-- > unit + 1;) {
        if (slots_[i].begin != detail::slot::absent) end = slots_[i].begin;
      }
      return {begin, end - begin, 0, (end - begin) * 8};
    }
  }

  /// All bytes of the record, the payload included.
  [[nodiscard]] constexpr byte_view bytes() const noexcept { return {data_, size_}; }
  /// The bytes behind the members.
  [[nodiscard]] constexpr byte_view payload() const noexcept
    requires has_payload<S>
  {
    return {tail_end_, static_cast<std::size_t>(data_ + size_ - tail_end_)};
  }
  /// Where the record begins in the caller's view.
  [[nodiscard]] constexpr std::uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] constexpr const std::byte* data() const noexcept { return data_; }

  /// Equal bytes, padding and payload included.
  [[nodiscard]] friend constexpr bool operator==(const record& a, const record& b) noexcept {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i) {
      if (a.data_[i] != b.data_[i]) return false;
    }
    return true;
  }

 private:
  template <std::size_t Unit>
  using unit_at = typename fields::units::template at<fields::fixed_units + Unit>;

  template <std::size_t Unit>
  static constexpr bool may_be_absent = !std::is_same_v<unit_at<Unit>, typename detail::bare_unit<unit_at<Unit>>::type>;
  /// Where a unit lies. The place of the first one is known without looking.
  template <std::size_t Unit>
  [[nodiscard, gnu::always_inline]] constexpr detail::slot slot_at() const noexcept {
    if constexpr (Unit == 0 && !may_be_absent<Unit>) return {size, slots_[Unit].value};
    else return slots_[Unit];
  }

  [[nodiscard]] static constexpr member_place place_in(std::size_t begin, detail::placement place) noexcept {
    const std::size_t first = place.first_bit / 8, last = (place.first_bit + place.bits + 7) / 8;
    return {begin + first, last - first, place.first_bit % 8, place.bits};
  }

  /// Goes over the units of the tail, and gives where they end; null where one is not readable, for `code`. Inlined by
  /// force: as a call it keeps the record in memory, which costs a walk a third of its time (Clang 19).
  template <std::size_t... Is>
  [[nodiscard, gnu::always_inline]] constexpr const std::byte* pass_all(const std::byte* at, const std::byte* end,
                                                                        errc& code,
                                                                        std::index_sequence<Is...>) noexcept {
    (void)((at = pass<unit_at<Is>, Is>(at, end, code)) && ...);
    return at;
  }
  /// Goes over a unit of the tail, and gives where it ends; null where it is not readable, for `code`.
  template <class Unit, std::size_t Index>
  [[nodiscard, gnu::always_inline]] constexpr const std::byte* pass(const std::byte* at, const std::byte* end,
                                                                    errc& code) noexcept {
    detail::slot& here = slots_[Index];
    if constexpr (requires { typename Unit::unit; }) {
      if (!detail::holds_for<Unit::condition>(*this)) return here.begin = detail::slot::absent, at;
      return pass<typename Unit::unit, Index>(at, end, code);
    } else if constexpr (detail::is_varying<Unit>) {
      constexpr std::size_t behind = Unit::member::takes_rest ? fields::template behind<Index> : 0;
      if (static_cast<std::size_t>(end - at) < behind) return code = errc::truncated, nullptr;
      here.begin = static_cast<std::size_t>(at - data_);
      return Unit::member::pass(*this, at, end - behind, here.value, code);
    } else {
      if (static_cast<std::size_t>(end - at) < Unit::bits / 8) return code = errc::truncated, nullptr;
      here.begin = static_cast<std::size_t>(at - data_);
      return at + Unit::bits / 8;
    }
  }

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  const std::byte* tail_end_ = nullptr;
  std::uint64_t offset_ = 0;
  std::array<detail::slot, tail_units> slots_{};
};

namespace detail {

/// Where the member of that index lies in a record. Precondition: the record has it.
template <std::size_t Index, schema S, order O>
[[nodiscard]] constexpr member_place place_of_member(const record<S, O>& item) noexcept {
  if constexpr (varying<S>) {
    return item.template place_at<Index>();
  } else {
    constexpr placement place = layout_of<S>::template place_of<Index, O>;
    constexpr std::size_t first = place.first_bit / 8, last = (place.first_bit + place.bits + 7) / 8;
    return {first, last - first, place.first_bit % 8, place.bits};
  }
}

}  // namespace detail

}  // namespace backsight
