// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <backsight/core/format.hpp>
#include <backsight/core/with_constant.hpp>

// Records whose members are chosen by a number that stands elsewhere, such as the sample_type of perf's events.
namespace backsight {

namespace detail {

/// Members that are there where the selector has one of these bits.
template <std::uint64_t Bits, class Layout>
struct selected : Layout {
  static constexpr std::uint64_t bits = Bits;
};

struct layout_set_base {};

}  // namespace detail

/// `select<1>(a, b)`: these members are there where the selector has one of the bits.
template <std::uint64_t Bits, class... Members>
[[nodiscard]] consteval auto select(Members...) {
  static_assert(Bits != 0, "backsight: members that no bit selects are never there");
  return detail::selected<Bits, layout<Members...>>{};
}

/// What records may consist of, in wire order: `layout_set{select<1>(a), select<2>(b, c)}`.
template <class... Selected>
struct layout_set : detail::layout_set_base {
  consteval explicit layout_set(Selected...) {}
  using members = decltype((detail::type_list<>{} + ... + typename Selected::members{}));

  /// The layout that one selector chooses.
  template <std::uint64_t Selector>
  [[nodiscard]] static consteval auto chosen() {
    return (layout<>{} + ... + only < (Selector & Selected::bits) != 0 > (static_cast<const Selected*>(nullptr)));
  }
  /// Calls `f(units, bits)` for each group, as long as it gives true.
  template <class F>
  [[gnu::always_inline]] static constexpr bool for_each(F&& f) {
    return (f(static_cast<const typename Selected::units*>(nullptr), Selected::bits) && ...);
  }

 private:
  template <bool There, std::uint64_t Bits, class... Members>
  static consteval auto only(const detail::selected<Bits, layout<Members...>>*) {
    if constexpr (There) return layout<Members...>{};
    else return layout<>{};
  }
};
template <class... Selected>
layout_set(Selected...) -> layout_set<Selected...>;

/// The schema that a selector chooses of a set, for printing, tables and all else that takes a schema.
template <auto Set, std::uint64_t Selector>
struct chosen_schema {
  static constexpr auto fields = Set.template chosen<Selector>();
};

/// A record of a set whose selector is known at run time: one pass finds its members. A view.
template <auto Set, class Selector, order O>
class selected_record {
  using members = typename decltype(Set)::members;

 public:
  static constexpr order byte_order = O;
  constexpr explicit selected_record(Selector selector = {}) noexcept : selector_(selector) {}

  // Inlined by force: a call in the loop would put the places up in memory (three times slower with GCC 12, with Clang
  // 19 five).
  /// Finds the members in `bytes`, which begin at `offset` of the caller's view. Error: what reading a member gives.
  [[nodiscard, gnu::always_inline]] constexpr trace_error find(byte_view bytes, std::uint64_t offset = 0) noexcept {
    data_ = bytes.data();
    offset_ = offset;
    const std::byte* at = data_;
    const std::byte* const end = data_ + bytes.size();
    errc code = errc::ok;
    const bool found =
        decltype(Set)::for_each([&]<class... Units>(const detail::type_list<Units...>*, std::uint64_t bits) {
          const bool there = (selector_ & bits) != 0;
          return (pass<Units>(there, at, end, code) && ...);
        });
    if (!found) return {code, offset + static_cast<std::uint64_t>(at - data_)};
    size_ = static_cast<std::size_t>(at - data_);
    return {};
  }
  /// Bytes of the members.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] constexpr std::uint64_t offset() const noexcept { return offset_; }

  template <class F>
  [[nodiscard]] constexpr bool has(F) const noexcept {
    return slots_[members::template index_of<F>].begin != detail::slot::absent;
  }
  /// The value of a member; zeros, or an empty view, where the record has it not.
  template <class F>
  [[nodiscard]] constexpr auto operator[](F) const noexcept {
    const detail::slot at = slots_[members::template index_of<F>];
    if constexpr (varying_member<F>) {
      if (at.begin == detail::slot::absent) return decltype(F::get(*this, at)){};
      return F::get(*this, at);
    } else {
      using value = typename F::value_type;
      if (at.begin == detail::slot::absent) return value{};
      return detail::read_member<value, detail::placement{0, F::bits}, F::bits / 8, detail::order_of_member<F, O>>(
          data_ + at.begin);
    }
  }

 private:
  template <class Unit>
  [[nodiscard, gnu::always_inline]] constexpr bool pass(bool there, const std::byte*& at, const std::byte* end,
                                                        errc& code) noexcept {
    static_assert(Unit::members::size == 1, "backsight: members of a layout_set are whole bytes, each for itself");
    using member = typename Unit::members::template at<0>;
    detail::slot& here = slots_[members::template index_of<member>];
    here.begin = detail::slot::absent;
    if (!there) return true;
    here.begin = static_cast<std::size_t>(at - data_);
    const std::byte* next = nullptr;
    if constexpr (varying_member<member>) {
      next = member::pass(*this, at, end, here.value, code);
    } else if (static_cast<std::size_t>(end - at) >= member::bits / 8) {
      next = at + member::bits / 8;
    } else {
      code = errc::truncated;
    }
    if (next == nullptr) return false;
    at = next;
    return true;
  }

  const std::byte* data_ = nullptr;
  std::uint64_t offset_ = 0;
  std::size_t size_ = 0;
  Selector selector_;
  std::array<detail::slot, members::size> slots_{};
};

/// A record of a set whose selector is a constant: members have the places that their schema gives them.
template <auto Set, class T, T Value, order O>
class selected_record<Set, std::integral_constant<T, Value>, O> {
 public:
  using schema_type = chosen_schema<Set, Value>;
  static constexpr order byte_order = O;
  constexpr explicit selected_record(std::integral_constant<T, Value> = {}) noexcept {}

  [[nodiscard, gnu::always_inline]] constexpr trace_error find(byte_view bytes, std::uint64_t offset = 0) noexcept {
    offset_ = offset;
    const detail::end_result found = detail::find_members(bytes.data(), bytes.size(), record_);
    if (found.code != errc::ok) [[unlikely]]
      return where(bytes, offset, found.code);
    size_ = static_cast<std::size_t>(found.end - bytes.data());
    if constexpr (detail::varying<schema_type>) record_.set_offset(offset);
    return {};
  }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr std::uint64_t offset() const noexcept { return offset_; }
  /// The record as one of its schema.
  [[nodiscard]] constexpr const record<schema_type, O>& view() const noexcept { return record_; }

  template <class F>
  [[nodiscard]] constexpr bool has(F) const noexcept {
    static_assert(decltype(Set)::members::template count<F> == 1, "backsight: this member does not belong to the set");
    return field_of<F, schema_type>;
  }
  template <class F>
  [[nodiscard]] constexpr auto operator[](F member) const noexcept {
    static_assert(decltype(Set)::members::template count<F> == 1, "backsight: this member does not belong to the set");
    if constexpr (field_of<F, schema_type>) return record_[member];
    else return decltype(std::declval<const selected_record<Set, T, O>&>()[member]){};
  }

 private:
  /// Where reading broke is for the walk to say that looks at each member.
  [[nodiscard, gnu::noinline]] static constexpr trace_error where(byte_view bytes, std::uint64_t offset,
                                                                  errc code) noexcept {
    selected_record<Set, T, O> slow(Value);
    const trace_error error = slow.find(bytes, offset);
    return error ? error : trace_error{code, offset};
  }

  record<schema_type, O> record_;
  std::uint64_t offset_ = 0;
  std::size_t size_ = 0;
};

/// Calls `f` once with an empty selected_record for the selector: compiled for each of Common, and general for all
/// others. Loops over many records stand inside of `f`.
template <auto Set, order O, std::uint64_t... Common, class F>
constexpr void with_layout(std::uint64_t selector, F&& f) {
  with_constant<Common...>(selector, [&](auto value) { f(selected_record<Set, decltype(value), O>(value)); });
}

}  // namespace backsight
