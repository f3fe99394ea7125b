// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include <backsight/cfi/rule.hpp>
#include <backsight/cfi/section.hpp>
#include <backsight/cfi/table_builder.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>

namespace backsight::cfi {

/// Builds an unwind table from rows of any source. `each(add)` calls `add(row, cie, expressions)` for one row after
/// the other, ascending by address and without overlaps; of the CIE the return address register and the signal mark
/// count, and `expressions` are the bytes that expressions of the row lie in. `source` is the fingerprint of what the
/// rows are from. Errors: those of build_table.
template <class Arch, class Each>
[[nodiscard]] result<table> build_table_of_rows(const table_options& options, const fingerprint& source, Each&& each) {
  detail::table_encoder<Arch> encoder(options.profile);
  detail::packed_rows rows;
  std::uint64_t covered = 0;
  each([&](const row& r, const cie& common, byte_view expressions) {
    if (covered < r.begin) rows.add(covered, rows.no_rule);
    rows.add(r.begin, encoder.rule_number(r, common, expressions));
    covered = r.end;
  });
  rows.add(covered, rows.no_rule);
  rows.close();
  auto bytes = encoder.encode(rows, options, source);
  if (!bytes) return bytes.error();
  return table::of_encoder(std::move(*bytes));
}

}  // namespace backsight::cfi
