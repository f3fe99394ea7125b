// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <backsight/core/record_range.hpp>

namespace backsight {

namespace detail {

/// Reads a record of S, and hands it to the visitor when it may follow the one before it.
template <class S, record_format F, grammar_check Check, class Visitor>
[[nodiscard, gnu::always_inline]] constexpr payload_result visit_one(const std::byte* at, std::size_t available,
                                                                     std::uint64_t offset, std::uint32_t previous,
                                                                     typename F::context& context, Visitor& visitor) {
  constexpr auto rules = transitions_of<F>;
  record<S, F::byte_order> members;
  const payload_result found = read_record<F>(at, available, context, members);
  if (found.code != errc::ok) return found;
  if (Check == grammar_check::enforced && !rules.may_follow(previous, F::records::template index_of<S>))
    return errc::bad_transition;
  if constexpr (varying<S>) {
    members.set_size(found.size);
    members.set_offset(offset);
  } else if constexpr (has_payload<S>) {
    members = record<S, F::byte_order>(at, found.size - size_of<S>);
  }
  if constexpr (std::invocable<Visitor&, const record<S, F::byte_order>&, const typename F::context&>) {
    visitor(members, std::as_const(context));
  } else {
    visitor(members);
  }
  if constexpr (requires { F::advance(context, members); }) F::advance(context, members);
  return found;
}

}  // namespace detail

/// Calls `visitor(record<S, order>)`, or `visitor(record<S, order>, context)`, for each record of the range, and gives
/// the error that ended the walk, or none. The same as for_each with visit, but each record is read once: for records
/// with members of varying size about half the cost. Without offsets for records of fixed size; these are where
/// for_each gives them.
template <record_format F, grammar_check Check, class Visitor>
constexpr trace_error visit_each(const record_range<F, Check>& range, Visitor&& visitor) {
  constexpr auto rules = detail::transitions_of<F>;
  typename F::context context = range.context();
  const std::byte* const first = range.bytes().data();
  const std::byte* const end = first + range.bytes().size();
  const std::byte* at = first;
  std::uint32_t previous = decltype(detail::transitions_of<F>)::start_state;
  errc code = errc::ok;
  while (at != end) {
    const auto available = static_cast<std::size_t>(end - at);
    kind_result kind = errc::truncated;
    if (available >= F::head_bytes) [[likely]]
      kind = F::kind_of(at, context);
    else kind = detail::kind_of_last<F>(at, available, context);
    if (kind.code != errc::ok) {
      code = kind.code;
      break;
    }
    payload_result found = errc::unknown_record;
    const std::uint64_t offset = range.base() + static_cast<std::uint64_t>(at - first);
    [&]<std::size_t... Is>(std::index_sequence<Is...>) {
      (void)((kind.kind == Is && (found = detail::visit_one<typename F::records::template at<Is>, F, Check>(
                                      at, available, offset, previous, context, visitor),
                                  true)) ||
             ...);
    }(std::make_index_sequence<F::records::size>{});
    if (found.code != errc::ok) {
      code = found.code;
      break;
    }
    at += found.size;
    previous = kind.kind;
    if (previous == detail::terminator_of<F> && previous != detail::no_kind) return {};
  }
  if (code == errc::ok && Check == grammar_check::enforced && !rules.may_finish(previous)) code = errc::bad_end;
  if (code == errc::ok) return {};
  return {code, range.base() + static_cast<std::uint64_t>(at - first)};
}

}  // namespace backsight
