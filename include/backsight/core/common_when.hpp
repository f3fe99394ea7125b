// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <backsight/core/format.hpp>
#include <backsight/core/record.hpp>

// Masks over the words of a record, made from its schema.
namespace backsight {

/// That a member has a value: `is(S::magic, 5)`; or one of several, which must be all that have some of their bits in common.
template <class F>
struct member_condition {
  std::uint64_t mask = 0;  ///< bits of the member that count
  std::uint64_t value = 0;
};

namespace detail {

// Not constexpr: to call one of them ends the compilation.
inline void these_values_are_not_all_that_have_some_bits_in_common() {}
inline void these_members_do_not_lie_in_one_word() {}

}  // namespace detail

template <class F, std::same_as<typename F::value_type>... Others>
[[nodiscard]] consteval member_condition<F> is(F, typename F::value_type first, Others... others) {
  const auto bits = static_cast<std::uint64_t>(first);
  const std::uint64_t differ = (std::uint64_t{0} | ... | (static_cast<std::uint64_t>(others) ^ bits));
  if ((std::uint64_t{1} << std::popcount(differ)) != 1 + sizeof...(others))
    detail::these_values_are_not_all_that_have_some_bits_in_common();
  const std::uint64_t width = F::bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << F::bits) - 1;
  return {width & ~differ, bits & ~differ};
}

/// The common_record of the schema that these conditions on its members tell. They lie in one word.
template <schema S, order O, std::unsigned_integral Word, class... Fs>
[[nodiscard]] consteval common_record<S, Word> common_when(member_condition<Fs>... conditions) {
  std::array<std::byte, size_of<S>> masks{}, values{};
  (mutable_record<S, O>(masks.data()).set(Fs{}, static_cast<typename Fs::value_type>(conditions.mask)), ...);
  (mutable_record<S, O>(values.data()).set(Fs{}, static_cast<typename Fs::value_type>(conditions.value)), ...);
  common_record<S, Word> found;
  std::size_t words = 0;
  for (std::size_t at = 0; at + sizeof(Word) <= masks.size(); at += sizeof(Word)) {
    const Word mask = load<Word, O>(masks.data() + at);
    if (mask == 0) continue;
    found = {.mask = mask, .value = load<Word, O>(values.data() + at), .offset = at};
    ++words;
  }
  if (words != 1) detail::these_members_do_not_lie_in_one_word();
  return found;
}

/// Whether the record at `at` is one of these.
template <order O, schema S, std::unsigned_integral Word>
[[nodiscard]] constexpr bool holds(const common_record<S, Word>& common, const std::byte* at) noexcept {
  return (load<Word, O>(at + common.offset) & common.mask) == common.value;
}

}  // namespace backsight
