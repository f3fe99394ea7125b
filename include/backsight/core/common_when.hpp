// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <backsight/core/condition.hpp>
#include <backsight/core/format.hpp>
#include <backsight/core/record.hpp>

// Masks over the words of a record, made from its schema.
namespace backsight {

namespace detail {

// Not constexpr: to call it ends the compilation.
inline void these_members_do_not_lie_in_one_word() {}

}  // namespace detail

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
