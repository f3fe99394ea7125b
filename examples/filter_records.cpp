// SPDX-License-Identifier: Apache-2.0
// Uses the algorithms and views of std::ranges on the records of an XRay log:   filter_records LOG
#include <algorithm>
#include <cstdio>
#include <ranges>

#include <backsight/io/mapped_file.hpp>
#include <backsight/xray/xray.hpp>

namespace xray = backsight::xray;
using backsight::order;

int main(int count, char** words) {
  if (count != 2) return 2;
  const auto file = backsight::io::mapped_file::open(words[1]);
  const auto log = xray::open(file.partial().bytes());
  if (!log || log->type() != xray::log_type::fdr || log->byte_order() != order::little) return 1;

  // [filter]
  for (const xray::block& block : xray::fdr_blocks<order::little>(*log)) {
    const auto records = block.records<order::little>(log->version());
    auto functions = records | std::views::filter([](auto item) { return item.template is<xray::function_record>(); }) |
                     std::views::transform([](auto item) { return item.template as<xray::function_record>(); });
    const auto exits = std::ranges::count(functions, xray::function_action::exit, xray::function_record::action);
    const auto longest = std::ranges::max(functions, {}, xray::function_record::tsc_delta);
    std::printf("block at %llu: %lld exits, longest pause %u ticks before function %u\n",
                static_cast<unsigned long long>(block.offset), static_cast<long long>(exits),
                longest[xray::function_record::tsc_delta], longest[xray::function_record::function_id]);
  }
  // [filter]
  return 0;
}
