// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <backsight/core/bytes.hpp>
#include <backsight/core/format_hooks.hpp>
#include <backsight/core/grammar.hpp>
#include <backsight/core/record.hpp>

namespace backsight {

namespace detail {

// Whether F has a member of that name, however it is declared: beside another one of the name it is ambiguous.
struct named_kind_of {
  int kind_of;
};
struct named_payload_size {
  int payload_size;
};
struct named_check {
  int check;
};
struct named_advance {
  int advance;
};
struct named_resync {
  int resync;
};
struct named_transitions {
  int transitions;
};
struct named_common {
  int common;
};
template <class F, class Named>
struct both : F, Named {};

template <class F>
concept has_kind_of = !requires { &both<F, named_kind_of>::kind_of; };
template <class F>
concept has_payload_size = !requires { &both<F, named_payload_size>::payload_size; };
template <class F>
concept has_check = !requires { &both<F, named_check>::check; };
template <class F>
concept names_advance = !requires { &both<F, named_advance>::advance; };
template <class F>
concept has_resync = !requires { &both<F, named_resync>::resync; };
template <class F>
concept has_transitions = !requires { &both<F, named_transitions>::transitions; };
template <class F>
concept names_common = !requires { &both<F, named_common>::common; };

// Arguments that only a hook of a certain mistake accepts. None of them is ever made.
/// A record of a schema or byte order that F has not.
template <class F>
struct foreign_record {
  template <schema S, order O>
    requires(!(F::records::template count<S> == 1 && O == F::byte_order))
  operator record<S, O>() const;
};
/// A record of S that a hook for every record does not deduce.
template <class F, class S>
struct only_record {
  operator record<S, F::byte_order>() const;
};
/// A context that is not F's.
template <class F>
struct foreign_context {
  template <class T>
    requires(!std::is_same_v<std::remove_cv_t<T>, typename F::context>)
  operator T&() const;
};
struct nothing_at_all {};

template <class F>
using context_of = typename F::context;
template <class F, class S>
using view_of = record<S, F::byte_order>;

// Whether a hook takes these arguments.
template <class F, class Record, class Context>
concept takes_check = requires(Record item, Context context) { F::check(item, context); };
template <class F, class Record, class Context>
concept takes_payload_size = requires(Record item, Context context) { F::payload_size(item, context); } ||
                             requires(Record item, Context context) { F::payload_size(item, byte_view{}, context); };
template <class F, class Record, class Context>
concept takes_advance = requires(Record item, Context context) { F::advance(context, item); };

// Whether a hook is as it should be for records of S.
template <class F, class S>
concept checks = requires(const view_of<F, S> item, const context_of<F>& context) {
  { F::check(item, context) } -> std::same_as<errc>;
};
template <class F, class S>
concept sizes = requires(const view_of<F, S> item, const context_of<F>& context) {
  { F::payload_size(item, context) } -> std::convertible_to<payload_result>;
} || requires(const view_of<F, S> item, const context_of<F>& context) {
  { F::payload_size(item, byte_view{}, context) } -> std::convertible_to<payload_result>;
};
template <class F, class S>
concept advances = requires(const view_of<F, S> item, context_of<F>& context) { F::advance(context, item); };

// Whether a hook needs an object of F.
template <class F, class S>
concept checks_as_object =
    requires(const F& f, const view_of<F, S> item, const context_of<F>& context) { f.check(item, context); };
template <class F, class S>
concept sizes_as_object =
    requires(const F& f, const view_of<F, S> item, const context_of<F>& context) { f.payload_size(item, context); };
template <class F, class S>
concept advances_as_object =
    requires(const F& f, const view_of<F, S> item, context_of<F>& context) { f.advance(context, item); };

/// payload_size of F names S itself, rather than take every record.
template <class F, class S>
concept names_payload_of = takes_payload_size<F, only_record<F, S>, const context_of<F>&> &&
                           !takes_payload_size<F, nothing_at_all, const context_of<F>&>;

/// The hooks of format F for records of schema S.
template <class F, class S>
struct record_check {
  static_assert(!checks_as_object<F, S> || checks<F, S> || takes_check<F, view_of<F, S>, const context_of<F>&>,
                "backsight: the hook `check` is not static");
  static_assert(!takes_check<F, view_of<F, S>, const context_of<F>&> || checks<F, S>,
                "backsight: the hook `check` gives no errc; declare it as static constexpr errc check(record<S, "
                "byte_order>, const context&)");
  static_assert(checks<F, S> || !takes_check<F, view_of<F, S>, foreign_context<F>>,
                "backsight: the hook `check` takes another context; declare it as static constexpr errc "
                "check(record<S, byte_order>, const context&)");

  static_assert(!sizes_as_object<F, S> || sizes<F, S> || takes_payload_size<F, view_of<F, S>, const context_of<F>&>,
                "backsight: the hook `payload_size` is not static");
  static_assert(sizes<F, S> || !takes_payload_size<F, view_of<F, S>, foreign_context<F>>,
                "backsight: the hook `payload_size` takes another context; declare it as "
                "static constexpr payload_result payload_size(record<S, byte_order>, const context&)");
  static_assert(has_payload<S> || !names_payload_of<F, S>,
                "backsight: the hook `payload_size` is declared for a record without payload; "
                "state `static constexpr bool has_payload = true` in its schema, or leave the hook out");
  static_assert(
      !states_extent<S> || !names_payload_of<F, S>,
      "backsight: the hook `payload_size` is declared for a record whose `extent` tells its size; leave one out");
  static_assert(!has_payload<S> || sizes<F, S> || states_extent<S>,
                "backsight: the record has a payload, and no hook tells its size; declare "
                "static constexpr payload_result payload_size(record<S, byte_order>, const context&)");

  static_assert(!advances_as_object<F, S> || advances<F, S>, "backsight: the hook `advance` is not static");
  static_assert(advances<F, S> || !takes_advance<F, view_of<F, S>, foreign_context<F>>,
                "backsight: the hook `advance` takes another context; declare it as static constexpr void "
                "advance(context&, record<S, byte_order>)");
  static_assert(!takes_advance<F, view_of<F, S>, const context_of<F>&> || std::is_empty_v<context_of<F>>,
                "backsight: the hook `advance` takes a copy of the context or one that it cannot change; declare it as "
                "static constexpr void advance(context&, record<S, byte_order>)");
  static constexpr bool good = true;
};

/// The size of the smallest record in the list, without payload.
template <class... Schemas>
[[nodiscard]] consteval std::size_t smallest_of(type_list<Schemas...>) noexcept {
  std::size_t smallest = ~std::size_t{0};
  ((smallest = layout_of<Schemas>::smallest < smallest ? layout_of<Schemas>::smallest : smallest), ...);
  return smallest;
}

/// The grammar leads from its start to every kind.
template <class Grammar>
[[nodiscard]] consteval bool reaches_all(const Grammar& rules) {
  std::uint64_t reached = std::uint64_t{1} << Grammar::start_state;
  for (std::uint64_t before = 0; before != reached;) {
    before = reached;
    for (std::uint32_t from = 0; from <= Grammar::start_state; ++from) {
      if ((reached >> from & 1U) == 0) continue;
      for (std::uint32_t to = 0; to < Grammar::start_state; ++to) {
        if (rules.may_follow(from, to)) reached |= std::uint64_t{1} << to;
      }
    }
  }
  return (reached >> Grammar::start_state) == 1 && (reached + 1) >> Grammar::start_state == 2;
}

template <class F, class... Schemas>
consteval bool serves_one(type_list<Schemas...>, auto serves) {
  return (serves.template operator()<F, Schemas>() || ...);
}

/// The names that F cannot do without.
template <class F>
struct names_check {
  static_assert(
      requires { typename F::context; }, "backsight: the format names no context; write `using context = no_context;`");
  static_assert(
      requires {
        { F::byte_order } -> std::convertible_to<order>;
      }, "backsight: the format has no byte order; write `static constexpr order byte_order = order::little;`");
  static_assert(
      requires {
        { F::head_bytes } -> std::convertible_to<std::size_t>;
      },
      "backsight: the format does not say how many bytes kind_of looks at; write `static constexpr std::size_t "
      "head_bytes = ...;`");
  static_assert(has_kind_of<F>,
                "backsight: the format has no hook `kind_of`; declare static constexpr kind_result kind_of(const "
                "std::byte*, const context&)");
  static constexpr bool good = requires {
    typename F::context;
    F::byte_order;
    F::head_bytes;
  };
};

template <class F>
inline constexpr bool grammar_reaches_all = [] {
  if constexpr (has_transitions<F>) return reaches_all(F::transitions);
  else return true;
}();
template <class F>
inline constexpr bool value_in_mask = [] {
  if constexpr (names_common<F>) return (F::common.value & ~F::common.mask) == 0;
  else return true;
}();

/// The hooks of format F for no record in particular.
template <class F>
struct hooks_check {
  using context = typename F::context;
  static_assert(std::is_trivially_copyable_v<context>,
                "backsight: the context is not trivially copyable; it is copied for every record: let it hold numbers "
                "and pointers");
  static_assert(sizeof(context) <= 64,
                "backsight: the context is larger than 64 bytes; it is copied for every record: let it hold a pointer");
  static_assert(std::is_default_constructible_v<context>, "backsight: the context has no default");

  static constexpr bool kind_of_is_static = requires(const std::byte* at, const context& in) {
    F::kind_of(at, in);
  } || !requires(const F& f, const std::byte* at, const context& in) { f.kind_of(at, in); };
  static_assert(kind_of_is_static, "backsight: the hook `kind_of` is not static");
  static_assert(
      !kind_of_is_static ||
          requires(const std::byte* at, const context& in) {
            { F::kind_of(at, in) } -> std::same_as<kind_result>;
          },
      "backsight: the hook `kind_of` takes or gives something else; declare it as static constexpr kind_result "
      "kind_of(const std::byte*, const context&)");

  static_assert(
      !takes_check<F, foreign_record<F>, const context&>,
      "backsight: the hook `check` takes a record of another byte order, or of a schema that is not in the list; "
      "declare it as static constexpr errc check(record<S, byte_order>, const context&)");
  static_assert(!takes_payload_size<F, foreign_record<F>, const context&>,
                "backsight: the hook `payload_size` takes a record of another byte order, or of a schema that is not "
                "in the list; "
                "declare it as static constexpr payload_result payload_size(record<S, byte_order>, const context&)");
  static_assert(
      !takes_advance<F, foreign_record<F>, context&>,
      "backsight: the hook `advance` takes a record of another byte order, or of a schema that is not in the list; "
      "declare it as static constexpr void advance(context&, record<S, byte_order>)");

  static_assert(
      !has_resync<F> ||
          requires(context& in) {
            { F::resync(byte_view{}, std::size_t{}, in) } -> std::same_as<std::size_t>;
          },
      "backsight: the hook `resync` takes or gives something else; declare it as "
      "static constexpr std::size_t resync(byte_view, std::size_t from, context&)");
  static_assert(
      grammar_reaches_all<F>,
      "backsight: the grammar `transitions` never reaches one of the kinds; name it behind `start` or `follow`");
  static_assert(
      value_in_mask<F>,
      "backsight: the value of the record `common` has bits outside of its mask, so that no record can match");
  static_assert(
      F::head_bytes <= smallest_of(typename F::records{}) || requires { requires F::head_beyond_end; },
      "backsight: `head_bytes` is above the smallest record, so that kind_of may look beyond the end; look at fewer "
      "bytes, or state "
      "`static constexpr bool head_beyond_end = true`: then kind_of sees zeros there");
  static constexpr bool good = true;
};

/// A hook that F declares and that no record calls would be passed over without a word.
template <class F>
struct used_check {
  using records = typename F::records;
  static_assert(!has_check<F> || serves_one<F>(records{}, []<class G, class S> { return checks<G, S>; }),
                "backsight: the hook `check` serves no record; declare it as static constexpr errc check(record<S, "
                "byte_order>, const context&)");
  static_assert(!has_payload_size<F> || serves_one<F>(records{}, []<class G, class S> { return sizes<G, S>; }),
                "backsight: the hook `payload_size` serves no record; declare it as "
                "static constexpr payload_result payload_size(record<S, byte_order>, const context&)");
  static_assert(!names_advance<F> || serves_one<F>(records{}, []<class G, class S> { return advances<G, S>; }),
                "backsight: the hook `advance` serves no record; declare it as static constexpr void advance(context&, "
                "record<S, byte_order>)");
  static constexpr bool good = true;
};

template <class F, class... Schemas>
consteval bool check_format(type_list<Schemas...>) {
  if constexpr (names_check<F>::good) {
    constexpr bool good = hooks_check<F>::good && (record_check<F, Schemas>::good && ...);
    static_assert(((type_list<Schemas...>::template count<Schemas> == 1) && ...),
                  "backsight: a record is twice in the list of the format");
    if constexpr (good && !std::is_final_v<F>) return used_check<F>::good;
    else return good;
  } else {
    return false;
  }
}

}  // namespace detail

/// Compiles for a format whose hooks are all as record_format describes them. Otherwise the first error names the hook
/// and the signature that it should have; the lines around it name the format and the record. record_range asks for it.
template <class F>
inline constexpr bool format_check = detail::check_format<F>(typename F::records{});

}  // namespace backsight
