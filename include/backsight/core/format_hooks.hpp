// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <backsight/core/error.hpp>
#include <backsight/core/schema.hpp>

// What the hooks of a format take and give: see record_format.
namespace backsight {

/// The answer of a format to "what begins here": a kind of its record_list, `records::kind<S>`, or an error.
struct kind_result {
  std::uint32_t kind = 0;  ///< The index of the schema in the list.
  errc code = errc::ok;

  constexpr kind_result(errc error) noexcept : code(error) {}
  [[nodiscard]] friend constexpr bool operator==(const kind_result&, const kind_result&) = default;
  template <std::integral T>
  constexpr kind_result(T) noexcept {
    static_assert(sizeof(T) == 0, "backsight: a kind is made from a schema, not from a number: give records::kind<S>");
  }

 private:
  template <schema...>
  friend struct record_list;
  template <class Records, std::size_t Count>
  friend class kind_table;
  struct number {
    std::size_t index;
  };
  constexpr explicit kind_result(number of) noexcept : kind(static_cast<std::uint32_t>(of.index)) {}
};

/// The kinds of record of a format. The index of a schema in the list is the number of its kind.
template <schema... Schemas>
struct record_list : detail::type_list<Schemas...> {
  /// That a record of S begins.
  template <class S>
  static constexpr kind_result kind = kind_result(kind_result::number{record_list::template index_of<S>});
};

/// The answer of a format to "how many payload bytes follow the members of this record".
struct payload_result {
  std::size_t size = 0;
  errc code = errc::ok;

  constexpr payload_result() = default;
  template <std::unsigned_integral T>
  constexpr payload_result(T bytes) noexcept : size(static_cast<std::size_t>(bytes)) {
    static_assert(sizeof(T) <= sizeof(std::size_t),
                  "backsight: a size of 64 bits may not fit: check it and convert it to std::size_t");
  }
  template <std::signed_integral T>
  constexpr payload_result(T) noexcept {
    static_assert(sizeof(T) == 0,
                  "backsight: a size from a signed integer may be negative: check it and convert it to std::size_t");
  }
  constexpr payload_result(errc error) noexcept : code(error) {}
};

/// The kind of record that makes up most of a stream, told by a mask over one of its words (of `Word`'s size, read in
/// the format's byte order, at byte `offset`): a record begins here when (word & mask) == value. Ranges test it first,
/// and runs of it are found many records at a time. It has no payload, may follow itself, is valid whenever the test
/// holds, and leaves the context as it is.
template <schema S, std::unsigned_integral Word>
struct common_record {
  using schema_type = S;
  using word_type = Word;
  static_assert(sizeof(Word) <= size_of<S>, "backsight: the word of a common record lies inside the record");
  static_assert(!detail::varying<S>, "backsight: the members of a common record have fixed places");
  static_assert(!has_payload<S>, "backsight: a common record has no payload");
  Word mask = 0;
  Word value = 0;
  std::size_t offset = 0;
};

/// For a format whose lengths and kinds need nothing but the record's own bytes.
struct no_context {
  [[nodiscard]] friend constexpr bool operator==(const no_context&, const no_context&) = default;
};

}  // namespace backsight
