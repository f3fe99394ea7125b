// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <backsight/core/record_range.hpp>

namespace backsight {

/// Calls `visitor(record<S, order>)`, or `visitor(record<S, order>, context)`, for each record of the range, and gives
/// the error that ended the walk, or none: for_each and visit in one. Without offsets for records of fixed size; these
/// are where for_each gives them.
template <record_format F, grammar_check Check, class Visitor>
constexpr trace_error visit_each(const record_range<F, Check>& range, Visitor&& visitor) {
  return for_each(range, [&](const any_record<F>& item, const typename F::context& context) {
    visit(item, [&](const auto& typed) {
      if constexpr (std::invocable<Visitor&, decltype(typed), const typename F::context&>) visitor(typed, context);
      else visitor(typed);
    });
  });
}

}  // namespace backsight
