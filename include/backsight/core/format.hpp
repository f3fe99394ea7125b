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
#include <backsight/core/varying_record.hpp>

namespace backsight {

/// A format: how to tell record kinds apart, how long each is, and what may follow what. A type with
///   `using records = record_list<A, B, ...>;`        the kinds;
///   `static constexpr order byte_order`;
///   `static constexpr std::size_t head_bytes`        bytes that kind_of looks at: no more than the smallest record
///       has, or with `static constexpr bool head_beyond_end = true` any number: where fewer are left, it sees zeros
///       behind them;
///   `using context = ...;`                           what lengths depend on beside the bytes, or no_context; trivially
///       copyable, at most 64 bytes, because every step copies it;
///   `static constexpr kind_result kind_of(const std::byte*, const context&)`;
/// and, where the format needs it,
///   `static constexpr payload_result payload_size(record<S, byte_order>, const context&)`  for each S with a payload,
///       or
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

/// The most units that a tail of these has.
template <class... Schemas>
consteval std::size_t tail_units_of(type_list<Schemas...>) {
  std::size_t most = 0;
  [[maybe_unused]] const auto count = [&]<class S>(type_list<S>) {
    if constexpr (varying<S>) most = layout_of<S>::tail_units > most ? layout_of<S>::tail_units : most;
  };
  (count(type_list<Schemas>{}), ...);
  return most;
}
/// What reading a record of F has found, whatever its kind: empty where all members have fixed places.
template <record_format F>
using tail_of = tail<tail_units_of(typename F::records{})>;

/// Where a record ends. A pointer, not a size: in a walk the next record's place then hangs on one addition.
struct end_result {
  const std::byte* end = nullptr;
  errc code = errc::ok;

  constexpr end_result(const std::byte* at) noexcept : end(at) {}
  constexpr end_result(errc error) noexcept : code(error) {}
};

/// One decoded step; small enough to be returned in registers, so that the range stays there too.
template <record_format F>
struct step {
  const std::byte* end = nullptr;
  std::uint32_t kind = no_kind;
  errc code = errc::ok;
  [[no_unique_address]] tail_of<F> found{};
};

template <record_format F>
inline constexpr auto transitions_of = [] {
  if constexpr (requires { F::transitions; }) return F::transitions;
  else return grammar<typename F::records>::any();
}();

/// The size that all records of F have; 0 where they differ.
template <record_format F>
inline constexpr std::size_t size_of_every_record = []<class First, class... Others>(type_list<First, Others...>) {
  constexpr bool fixed = !varying<First> && !has_payload<First> && ((!varying<Others> && !has_payload<Others>) && ...);
  constexpr bool same = ((size_of<Others> == size_of<First>) && ...);
  return fixed && same ? size_of<First> : std::size_t{0};
}(typename F::records{});

template <record_format F>
inline constexpr std::uint32_t terminator_of = [] {
  if constexpr (requires { typename F::terminator; }) {
    static_assert(F::records::template count<typename F::terminator> == 1,
                  "backsight: the terminator is not in the list");
    return static_cast<std::uint32_t>(F::records::template index_of<typename F::terminator>);
  } else {
    return no_kind;
  }
}();

template <class F, class S>
concept advances_on =
    requires(typename F::context& context, const record<S, F::byte_order>& item) { F::advance(context, item); };

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
  static_assert(F::common.offset <= size - sizeof(word_type),
                "backsight: the word of a common record lies inside the record");

  /// The test word, zero when a common record begins at `at`.
  [[nodiscard]] static constexpr word_type difference(const std::byte* at) noexcept {
    return (load<word_type, F::byte_order>(at + F::common.offset) ^ F::common.value) & F::common.mask;
  }
};

template <record_format F, class S>
[[nodiscard, gnu::always_inline]] constexpr payload_result payload_size_of(
    const record<S, F::byte_order>& members, byte_view rest, const typename F::context& context) noexcept {
  if constexpr (requires { F::payload_size(members, byte_view{}, context); })
    return F::payload_size(members, rest, context);
  else return F::payload_size(members, context);
}

/// The size of a whole record, as the member says that S::extent names.
template <class S, order O>
[[nodiscard, gnu::always_inline]] constexpr payload_result extent_of(const record<S, O>& fixed_part) noexcept {
  constexpr std::uint64_t limit = ~std::size_t{0} / 2;
  const auto told = static_cast<std::uint64_t>(S::extent::size(fixed_part));
  if (told > (limit - S::extent::before) / S::extent::unit) return errc::bad_size;
  const auto total = static_cast<std::size_t>(told * S::extent::unit + S::extent::before);
  return total < layout_of<S>::smallest ? payload_result(errc::bad_size) : payload_result(total);
}

/// The first constant or repeated member that is not what it must be makes the record wrong.
template <class S, order O>
[[nodiscard, gnu::always_inline]] constexpr errc verify_members(const record<S, O>& members) noexcept {
  return [&]<class... Ms>(type_list<Ms...>) {
    errc found = errc::ok;
    [[maybe_unused]] const auto verify = [&]<class M>(type_list<M>) {
      if constexpr (requires { M::verify(members); }) {
        if constexpr (varying<S>) {
          if (!members.has(M{})) return true;
        }
        found = M::verify(members);
        return found == errc::ok;
      } else {
        return true;
      }
    };
    (void)(verify(type_list<Ms>{}) && ...);
    return found;
  }(typename layout_of<S>::members{});
}

/// Finds the members of a record of S at `at`, and checks its constants. Gives the end of the whole record where S
/// states its extent, else that of the members.
template <class S, order O>
[[nodiscard, gnu::always_inline]] constexpr end_result find_members(const std::byte* at, std::size_t available,
                                                                    record<S, O>& members) noexcept {
  if (available < size_of<S>) return errc::truncated;
  if constexpr (varying<S>) members = record<S, O>::of_fixed_part(at);
  else members = record<S, O>(at);
  const std::byte* end = at + size_of<S>;
  if constexpr (states_extent<S>) {
    const payload_result total = extent_of(members);
    if (total.code != errc::ok) return total.code;
    if (total.size > available) return errc::truncated;
    available = total.size;
    end = at + available;
  }
  if constexpr (varying<S>) {
    if (const errc code = members.find_members(available); code != errc::ok) {
      return states_extent<S> && code == errc::truncated ? errc::bad_size : code;
    }
    if constexpr (!states_extent<S>) end = members.members_end();
    members.set_end(end);
  }
  if (const errc code = verify_members(members); code != errc::ok) return code;
  return end;
}

/// Reads a record of S at `at`: its members, whether they are as they may be, and the end of the whole record.
template <record_format F, class S>
[[nodiscard, gnu::always_inline]] constexpr end_result read_record(const std::byte* at, std::size_t available,
                                                                   const typename F::context& context,
                                                                   record<S, F::byte_order>& members) noexcept {
  const end_result found = find_members(at, available, members);
  if (found.code != errc::ok) return found;
  const std::byte* end = found.end;
  if constexpr (requires { F::check(members, context); }) {
    if (const errc code = F::check(members, context); code != errc::ok) return code;
  }
  if constexpr (has_payload<S> && !states_extent<S>) {
    const byte_view rest(end, static_cast<std::size_t>(at + available - end));
    const payload_result payload = payload_size_of<F>(members, rest, context);
    if (payload.code != errc::ok) return payload.code;
    if (payload.size > rest.size()) return errc::truncated;
    end += payload.size;
  }
  if constexpr (layout_of<S>::smallest == 0) {
    // Nothing is not a record: the walk would stay where it is.
    if (end == at) return errc::bad_size;
  }
  return end;
}

template <record_format F, class S>
[[nodiscard, gnu::always_inline]] constexpr step<F> decode_as(const std::byte* at, std::size_t available,
                                                              const typename F::context& context,
                                                              std::uint32_t kind) noexcept {
  record<S, F::byte_order> members;
  const end_result found = read_record<F>(at, available, context, members);
  if (found.code != errc::ok) return {nullptr, no_kind, found.code};
  step<F> result{found.end, kind, errc::ok};
  if constexpr (varying<S>) members.tell(result.found);
  return result;
}

template <record_format F, std::size_t... Is>
[[nodiscard, gnu::always_inline]] constexpr step<F> decode_kind(const std::byte* at, std::size_t available,
                                                                typename F::context context, std::uint32_t kind,
                                                                std::index_sequence<Is...>) noexcept {
  step<F> result{nullptr, no_kind, errc::unknown_record};
  (void)((kind == Is &&
          (result = decode_as<F, typename F::records::template at<Is>>(at, available, context, kind), true)) ||
         ...);
  return result;
}

/// What begins where fewer bytes are left than kind_of looks at: a record that ends there is smaller.
template <record_format F>
[[nodiscard, gnu::noinline]] constexpr kind_result kind_of_last(const std::byte* at, std::size_t available,
                                                                const typename F::context& context) noexcept {
  if (F::head_bytes <= smallest_of(typename F::records{}) || available < smallest_of(typename F::records{}))
    return errc::truncated;
  std::array<std::byte, F::head_bytes> head{};
  for (std::size_t i = 0; i < available; ++i) head[i] = at[i];
  const kind_result found = F::kind_of(head.data(), context);
  return found.code != errc::ok ? kind_result(errc::truncated) : found;
}

/// decode there.
template <record_format F>
[[nodiscard, gnu::noinline]] constexpr step<F> decode_last(const std::byte* at, std::size_t available,
                                                           const typename F::context& context) noexcept {
  const kind_result found = kind_of_last<F>(at, available, context);
  if (found.code != errc::ok) return {nullptr, no_kind, found.code};
  return decode_kind<F>(at, available, context, found.kind, std::make_index_sequence<F::records::size>{});
}

/// Decodes what begins at `at`. Reads at most `available` bytes. Everything goes in and out by value and without a
/// call, so that the loop around it keeps its variables in registers.
template <record_format F>
[[nodiscard, gnu::always_inline]] constexpr step<F> decode(const std::byte* at, std::size_t available,
                                                           typename F::context context) noexcept {
  if (available < F::head_bytes) {
    if constexpr (F::head_bytes <= smallest_of(typename F::records{})) return {nullptr, no_kind, errc::truncated};
    else return decode_last<F>(at, available, context);
  }
  const kind_result found = F::kind_of(at, context);
  if (found.code != errc::ok) return {nullptr, no_kind, found.code};
  return decode_kind<F>(at, available, context, found.kind, std::make_index_sequence<F::records::size>{});
}

}  // namespace detail

}  // namespace backsight
