// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <backsight/core/field.hpp>

namespace backsight {

namespace detail {

template <std::size_t Index, class T>
struct indexed {};
template <class Indices, class... Ts>
struct indexed_list;
template <std::size_t... Is, class... Ts>
struct indexed_list<std::index_sequence<Is...>, Ts...> : indexed<Is, Ts>... {};
template <std::size_t Index, class T>
T type_at(indexed<Index, T>);

/// A list of types without values: its size, its I-th type, and the place of a type in it.
template <class... Ts>
struct type_list {
  static constexpr std::size_t size = sizeof...(Ts);

  template <std::size_t Index>
  using at = decltype(type_at<Index>(indexed_list<std::index_sequence_for<Ts...>, Ts...>{}));

  template <class T>
  static constexpr std::size_t count = (std::size_t{0} + ... + std::size_t{std::is_same_v<T, Ts>});

  /// The index of T.
  template <class T>
  static constexpr std::size_t index_of = [] {
    static_assert(count<T> != 0, "backsight: this record or member is not in the list");
    const std::array<bool, size + 1> same{std::is_same_v<T, Ts>..., true};
    std::size_t index = 0;
    while (!same[index]) ++index;
    return index;
  }();
};

template <class... As, class... Bs>
type_list<As..., Bs...> operator+(type_list<As...>, type_list<Bs...>);

/// Where a member lies: `first_bit` counts from the start of the record in the order in which members are declared.
/// On little-endian machines bit 0 of a byte is its least significant, on big-endian ones its most significant.
struct placement {
  std::size_t first_bit = 0;
  std::size_t bits = 0;
};

/// A group of members at the next free byte of a record; `stated_offset` is checked against it.
struct group_base {};
inline constexpr std::size_t anywhere = static_cast<std::size_t>(-1);

/// From which end the members of a group fill it.
enum class filling : std::uint8_t {
  as_bytes,  ///< from the least significant bit in little-endian records, from the most significant in big-endian ones
  from_lsb,
  from_msb,
};

template <std::size_t StatedOffset, std::size_t Bits, filling Filling, class... Members>
struct group : group_base {
  using members = type_list<Members...>;
  static constexpr std::size_t bits = Bits;
  static constexpr std::size_t stated_offset = StatedOffset;
  static constexpr filling fill = Filling;
};

template <class Unit>
concept has_filling = requires { Unit::fill; };

/// The members of a unit run against the bits of records of order O.
template <class Unit, order O>
inline constexpr bool runs_against_bits = [] {
  if constexpr (has_filling<Unit>) return Unit::fill == (O == order::little ? filling::from_msb : filling::from_lsb);
  else return false;
}();
template <auto Condition, class Unit>
struct conditional_unit;

/// The first bit of each member of a unit in records of order O, from the start of the unit.
template <class Unit, order O>
inline constexpr auto first_bits = []<class... Members>(type_list<Members...>) {
  std::array<std::size_t, sizeof...(Members) + 1> bits{};
  std::size_t index = 0;
  [[maybe_unused]] std::size_t bit = 0;
  ((bits[index++] = bit, bit += Members::bits), ...);
  if constexpr (runs_against_bits<Unit, O>) {
    index = 0;
    ((bits[index] = Unit::bits - bits[index] - Members::bits, ++index), ...);
  }
  return bits;
}(typename Unit::members{});
template <auto Condition, class Unit, order O>
inline constexpr auto first_bits<conditional_unit<Condition, Unit>, O> = first_bits<Unit, O>;

/// A member whose size the bytes tell.
template <class Member>
struct varying_unit : group_base {
  using members = type_list<Member>;
  using member = Member;
  static constexpr std::size_t bits = 0;
  static constexpr std::size_t smallest = Member::smallest;
  static constexpr std::size_t stated_offset = anywhere;
};

/// A group or member that is there where Condition holds for the members before it.
template <auto Condition, class Unit>
struct conditional_unit : group_base {
  using members = typename Unit::members;
  using unit = Unit;
  static constexpr auto condition = Condition;
  static constexpr std::size_t bits = 0;
  static constexpr std::size_t smallest = 0;
  static constexpr std::size_t stated_offset = anywhere;
  static_assert(Unit::stated_offset == anywhere, "backsight: at<> states the offset of a member that is always there");
};

/// Several of them.
template <class... Units>
struct unit_list {
  using units = type_list<Units...>;
};

template <class Unit>
inline constexpr bool is_varying = true;
template <std::size_t StatedOffset, std::size_t Bits, filling Filling, class... Members>
inline constexpr bool is_varying<group<StatedOffset, Bits, Filling, Members...>> = false;

template <class Unit>
inline constexpr std::size_t smallest_unit = [] {
  if constexpr (is_varying<Unit>) return Unit::smallest;
  else return Unit::bits / 8;
}();
/// It takes all bytes but those of the members behind it.
template <class Unit>
inline constexpr bool takes_rest = false;
template <class Member>
inline constexpr bool takes_rest<varying_unit<Member>> = Member::takes_rest;

template <class Member>
struct group_of {
  static_assert(member<Member>, "backsight: a layout lists fields, padding, words of them and at<> of those");
  static_assert(Member::bits % 8 == 0, "backsight: a member that is not whole bytes belongs into a word<Bits>(...)");
  using type = group<anywhere, Member::bits, filling::as_bytes, Member>;
};
template <class Group>
  requires std::is_base_of_v<group_base, Group>
struct group_of<Group> {
  using type = Group;
};
template <varying_member Member>
struct group_of<Member> {
  using type = varying_unit<Member>;
};

/// What an argument of a layout stands for.
template <class T>
struct units_of {
  using type = type_list<typename group_of<T>::type>;
};
template <class... Units>
struct units_of<unit_list<Units...>> {
  using type = type_list<Units...>;
};

template <std::size_t Count>
struct placements_and_size {
  std::array<placement, Count == 0 ? 1 : Count> little{};
  std::array<placement, Count == 0 ? 1 : Count> big{};
  /// Of members behind the fixed part: the number of their unit there.
  std::array<std::size_t, Count == 0 ? 1 : Count> units{};
  std::size_t bytes = 0;
  std::size_t fixed_members = 0;
  std::size_t fixed_units = 0;
  std::size_t smallest = 0;
};

template <std::size_t Bits, filling Filling, class... Members>
[[nodiscard]] consteval auto make_word() {
  static_assert(Bits % 8 == 0 && Bits <= 64 && Bits != 0, "backsight: a storage word has 8 to 64 bits, whole bytes");
  constexpr std::size_t used = (std::size_t{0} + ... + Members::bits);
  static_assert(used <= Bits, "backsight: the members overrun their storage word");
  static_assert(used >= Bits, "backsight: the members do not fill their storage word");
  return group<anywhere, Bits, Filling, Members...>{};
}

}  // namespace detail

/// Members that share one storage word of `Bits` bits (a multiple of 8, at most 64), in the order of a C bit-field
/// declaration: from the least significant bit on little-endian machines, from the most significant on big-endian ones.
template <std::size_t Bits, member... Members>
[[nodiscard]] consteval auto word(Members...) {
  return detail::make_word<Bits, detail::filling::as_bytes, Members...>();
}
/// Members that share a storage word from its least significant bit on, whatever the byte order: written by shifts and
/// masks.
template <std::size_t Bits, member... Members>
[[nodiscard]] consteval auto word_lsb(Members...) {
  return detail::make_word<Bits, detail::filling::from_lsb, Members...>();
}
/// Members that share a storage word from its most significant bit on, whatever the byte order.
template <std::size_t Bits, member... Members>
[[nodiscard]] consteval auto word_msb(Members...) {
  return detail::make_word<Bits, detail::filling::from_msb, Members...>();
}

/// States the byte offset of a member or word, as the format's documentation has it; a layout that derives another
/// offset does not compile.
template <std::size_t Offset, class MemberOrWord>
[[nodiscard]] consteval auto at(MemberOrWord) {
  return []<std::size_t Stated, std::size_t Bits, detail::filling Filling, class... Members>(
             detail::group<Stated, Bits, Filling, Members...>) {
    return detail::group<Offset, Bits, Filling, Members...>{};
  }(typename detail::group_of<MemberOrWord>::type{});
}

namespace detail {

/// The units of a layout: those of the fixed part, whose places are known, and from the first varying one on the tail.
template <class... Units>
class layout_of_units {
  static constexpr bool ordered([[maybe_unused]] bool overlap) {
    [[maybe_unused]] std::size_t end = 0;
    bool good = true;
    ((good = good && (Units::stated_offset == anywhere ||
                      (overlap ? Units::stated_offset >= end : Units::stated_offset <= end)),
      end += Units::bits / 8),
     ...);
    return good;
  }
  static_assert(ordered(true), "backsight: a member overlaps the one before it");
  static_assert(ordered(false), "backsight: bytes before a member belong to no member; list them as padding");

 public:
  using units = type_list<Units...>;
  using members = decltype((type_list<>{} + ... + typename Units::members{}));
  static constexpr std::size_t member_count = members::size;

 private:
  static constexpr auto derived = [] {
    placements_and_size<member_count> result;
    std::size_t index = 0;
    std::size_t unit = 0;
    bool fixed = true;
    [[maybe_unused]] const auto place = [&]<class Unit, class... Members>(type_list<Unit>, type_list<Members...>) {
      fixed = fixed && !is_varying<Unit>;
      [[maybe_unused]] const std::size_t begin = fixed ? result.bytes * 8 : 0;
      [[maybe_unused]] std::size_t in_unit = 0;
      ((result.units[index] = unit,
        result.little[index] = {begin + first_bits<Unit, order::little>[in_unit], Members::bits},
        result.big[index++] = {begin + first_bits<Unit, order::big>[in_unit++], Members::bits}),
       ...);
      if (!fixed) {
        ++unit;
      } else {
        result.bytes += Unit::bits / 8;
        result.fixed_members = index;
        ++result.fixed_units;
      }
      result.smallest += smallest_unit<Unit>;
    };
    (place(type_list<Units>{}, typename Units::members{}), ...);
    return result;
  }();
  static constexpr std::array<bool, sizeof...(Units) + 1> rests{takes_rest<Units>..., false};
  static constexpr std::array<bool, sizeof...(Units) + 1> varies{is_varying<Units>..., false};
  static constexpr std::array<std::size_t, sizeof...(Units) + 1> widths{Units::bits / 8 ..., 0};

 public:
  /// The size of the fixed part in bytes: of the record without any payload, where no member varies.
  static constexpr std::size_t size = derived.bytes;
  /// The size of the smallest record, without payload.
  static constexpr std::size_t smallest = derived.smallest;
  static constexpr std::size_t fixed_members = derived.fixed_members;
  static constexpr std::size_t fixed_units = derived.fixed_units;
  static constexpr std::size_t tail_units = sizeof...(Units) - derived.fixed_units;
  static constexpr bool has_rest = (takes_rest<Units> || ...);

  /// Where the member of that index lies in records of order O: from the start of the record, or in the tail from the
  /// start of its unit.
  template <std::size_t Index, order O = order::little>
  static constexpr placement place_of = O == order::little ? derived.little[Index] : derived.big[Index];
  /// Which unit of the tail the member of that index belongs to.
  template <std::size_t Index>
  static constexpr std::size_t unit_of = derived.units[Index];
  /// The bytes of the members behind that unit of the tail.
  template <std::size_t Unit>
  static constexpr std::size_t behind = [] {
    std::size_t bytes = 0;
    for (std::size_t i = fixed_units + Unit + 1; i < sizeof...(Units); ++i) bytes += widths[i];
    return bytes;
  }();

 private:
  static constexpr bool rest_is_followed_by_fixed() {
    bool rest = false, good = true;
    for (std::size_t i = 0; i < sizeof...(Units); ++i) {
      good = good && !(rest && varies[i]);
      rest = rest || rests[i];
    }
    return good;
  }
  static_assert(rest_is_followed_by_fixed(),
                "backsight: a member that takes the rest is followed by members of varying size; give it a count");
};

template <class Units>
struct layout_from;
template <class... Units>
struct layout_from<type_list<Units...>> {
  using type = layout_of_units<Units...>;
};

struct layout_base {};

}  // namespace detail

/// The members of a record in wire order. Offsets follow from the order and the widths, for both byte orders. Behind
/// the first member whose size the bytes tell, places are found when a record is read.
template <class... Groups>
class layout : public detail::layout_base,
               public detail::layout_from<decltype((detail::type_list<>{} + ... +
                                                    typename detail::units_of<Groups>::type{}))>::type {
 public:
  consteval layout() = default;
  consteval explicit layout(Groups...)
    requires(sizeof...(Groups) != 0)
  {}
};

template <class... Groups>
layout(Groups...) -> layout<Groups...>;

/// The members of `front`, then those of `back`: what several records begin with is written once.
template <class... Front, class... Back>
[[nodiscard]] consteval layout<Front..., Back...> operator+(layout<Front...>, layout<Back...>) {
  return {};
}

/// Says which member tells the size of the whole record: `using extent = sized_by<length>;` in a schema. The size is
/// the member's value times Unit, and Before bytes more. Size is a member of the fixed part, or a function of a
/// record's fixed members.
template <auto Size, std::size_t Before = 0, std::size_t Unit = 1>
struct sized_by {
  static constexpr auto size = Size;
  static constexpr std::size_t before = Before;
  static constexpr std::size_t unit = Unit;
};

}  // namespace backsight
