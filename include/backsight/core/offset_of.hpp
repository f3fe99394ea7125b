// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <backsight/core/schema.hpp>

namespace backsight {

/// The byte at which a member of whole bytes lies in the records of a schema: for errors that tell where a bad value
/// is.
template <schema S, class F>
[[nodiscard]] consteval std::size_t offset_of(F) {
  static_assert(field_of<F, S>, "backsight: this member does not belong to the schema");
  constexpr std::size_t index = detail::layout_of<S>::members::template index_of<F>;
  constexpr auto place = detail::layout_of<S>::template place_of<index>;
  static_assert(place.first_bit == detail::layout_of<S>::template place_of<index, order::big>.first_bit,
                "backsight: where this member lies depends on the byte order");
  static_assert(place.first_bit % 8 == 0 && place.bits % 8 == 0, "backsight: a member of bits has no byte of its own");
  return place.first_bit / 8;
}

/// The bytes of a member of whole bytes.
template <member F>
[[nodiscard]] consteval std::size_t bytes_of(F) {
  static_assert(F::bits % 8 == 0, "backsight: a member of bits fills no bytes");
  return F::bits / 8;
}

}  // namespace backsight
