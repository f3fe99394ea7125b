// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/format_check.hpp>
#include <backsight/core/format_hooks.hpp>
#include <backsight/core/grammar.hpp>
#include <backsight/core/record.hpp>

namespace backsight {

/// A format: how to tell record kinds apart, how long each is, and what may follow what. A type with
///   `using records = record_list<A, B, ...>;`        the kinds;
///   `static constexpr order byte_order`;
///   `static constexpr std::size_t head_bytes`        bytes that kind_of looks at: no more than the smallest record has, or with
///       `static constexpr bool head_beyond_end = true` any number: where fewer are left, it sees zeros behind them;
///   `using context = ...;`                           what lengths depend on beside the bytes, or no_context; trivially copyable,
///       at most 64 bytes, because every step copies it;
///   `static constexpr kind_result kind_of(const std::byte*, const context&)`;
/// and, where the format needs it,
///   `static constexpr payload_result payload_size(record<S, byte_order>, const context&)`  for each S with a payload, or
///   `static constexpr payload_result payload_size(record<S, byte_order>, byte_view rest, const context&)`  where the
///       payload's own bytes tell its size; `rest` is all that follows the members;
///   `static constexpr errc check(record<S, byte_order>, const context&)`  for each S whose values can be wrong;
///   `static constexpr void advance(context&, record<S, byte_order>)`  for each S that changes the context;
///   `static constexpr grammar<records> transitions`  what may follow what;
///   `using terminator = S;`                          a record behind which the range ends, whatever bytes follow;
///   `static constexpr common_record<S, Word> common` the most frequent kind;
///   `static constexpr std::size_t resync(byte_view, std::size_t from, context&)`  the first offset at or after `from`
///       where reading can safely start again, or the size of the view; one that gives less than `from` ends the walk.
/// None of them throws; all offsets and sizes are checked by the range before use.
/// A hook of another signature is a compile error that names it: see format_check.
template <class F>
concept record_format = requires { requires(F::records::size > 0); } && format_check<F>;

namespace detail {

/// No record: the end, or an error.
inline constexpr std::uint32_t no_kind = 0xffffffff;

/// One decoded step; small enough to be returned in registers, so that the range stays there too.
struct step {
  std::size_t size = 0;
  std::uint32_t kind = no_kind;
  errc code = errc::ok;
};

template <record_format F>
inline constexpr auto transitions_of = [] {
  if constexpr (requires { F::transitions; }) return F::transitions;
  else return grammar<typename F::records>::any();
}();

template <record_format F>
inline constexpr std::uint32_t terminator_of = [] {
  if constexpr (requires { typename F::terminator; }) {
    static_assert(F::records::template count<typename F::terminator> == 1, "backsight: the terminator is not in the list");
    return static_cast<std::uint32_t>(F::records::template index_of<typename F::terminator>);
  } else {
    return no_kind;
  }
}();

template <class F, class S>
concept advances_on = requires(typename F::context& context, const record<S, F::byte_order>& item) { F::advance(context, item); };

template <class F, class... Schemas>
consteval bool has_advance_for(type_list<Schemas...>) {
  return (advances_on<F, Schemas> || ...);
}
/// Some record of F changes the context.
template <record_format F>
inline constexpr bool has_advance = has_advance_for<F>(typename F::records{});

template <class F>
concept has_common = requires { typename decltype(F::common)::schema_type; };

template <record_format F>
struct common_of {
  using schema_type = typename decltype(F::common)::schema_type;
  using word_type = typename decltype(F::common)::word_type;
  static constexpr std::uint32_t kind = F::records::template index_of<schema_type>;
  static constexpr std::size_t size = size_of<schema_type>;
  static_assert(F::records::template count<schema_type> == 1, "backsight: the common record is not in the list");
  static_assert(transitions_of<F>.may_follow(kind, kind), "backsight: a common record may follow itself");
  static_assert(F::common.offset <= size - sizeof(word_type), "backsight: the word of a common record lies inside the record");

  /// The test word, zero when a common record begins at `at`.
  [[nodiscard]] static constexpr word_type difference(const std::byte* at) noexcept {
    return (load<word_type, F::byte_order>(at + F::common.offset) ^ F::common.value) & F::common.mask;
  }
};

template <record_format F, class S>
[[nodiscard, gnu::always_inline]] constexpr payload_result payload_size_of(const record<S, F::byte_order>& members, std::size_t available,
                                                       const typename F::context& context) noexcept {
  if constexpr (requires { F::payload_size(members, byte_view{}, context); }) {
    return F::payload_size(members, byte_view(members.bytes().data() + size_of<S>, available), context);
  } else {
    return F::payload_size(members, context);
  }
}

template <record_format F, class S>
[[nodiscard, gnu::always_inline]] constexpr step decode_as(const std::byte* at, std::size_t available, const typename F::context& context,
                                       std::uint32_t kind) noexcept {
  using view = record<S, F::byte_order>;
  if (available < size_of<S>) return {0, no_kind, errc::truncated};
  const view members(at);
  if constexpr (requires { F::check(members, context); }) {
    if (const errc code = F::check(members, context); code != errc::ok) return {0, no_kind, code};
  }
  if constexpr (has_payload<S>) {
    const payload_result payload = payload_size_of<F>(members, available - size_of<S>, context);
    if (payload.code != errc::ok) return {0, no_kind, payload.code};
    if (payload.size > available - size_of<S>) return {0, no_kind, errc::truncated};
    return {size_of<S> + payload.size, kind, errc::ok};
  } else {
    return {size_of<S>, kind, errc::ok};
  }
}

template <record_format F, std::size_t... Is>
[[nodiscard, gnu::always_inline]] constexpr step decode_kind(const std::byte* at, std::size_t available,
                                                             typename F::context context, std::uint32_t kind,
                                                             std::index_sequence<Is...>) noexcept {
  step result{0, no_kind, errc::unknown_record};
  (void)((kind == Is && (result = decode_as<F, typename F::records::template at<Is>>(at, available, context, kind), true)) || ...);
  return result;
}

/// decode where fewer bytes are left than kind_of looks at: a record that ends there is smaller.
template <record_format F>
[[nodiscard, gnu::noinline]] constexpr step decode_last(const std::byte* at, std::size_t available,
                                                        const typename F::context& context) noexcept {
  constexpr step nothing{0, no_kind, errc::truncated};
  if (available < smallest_of(typename F::records{})) return nothing;
  std::array<std::byte, F::head_bytes> head{};
  for (std::size_t i = 0; i < available; ++i) head[i] = at[i];
  const kind_result found = F::kind_of(head.data(), context);
  if (found.code != errc::ok) return nothing;
  return decode_kind<F>(at, available, context, found.kind, std::make_index_sequence<F::records::size>{});
}

/// Decodes what begins at `at`. Reads at most `available` bytes. Everything goes in and out by value and without a call, so
/// that the loop around it keeps its variables in registers.
template <record_format F>
[[nodiscard, gnu::always_inline]] constexpr step decode(const std::byte* at, std::size_t available,
                                                        typename F::context context) noexcept {
  if (available < F::head_bytes) {
    if constexpr (F::head_bytes <= smallest_of(typename F::records{})) return {0, no_kind, errc::truncated};
    else return decode_last<F>(at, available, context);
  }
  const kind_result found = F::kind_of(at, context);
  if (found.code != errc::ok) return {0, no_kind, found.code};
  return decode_kind<F>(at, available, context, found.kind, std::make_index_sequence<F::records::size>{});
}

}  // namespace detail

}  // namespace backsight
