// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <backsight/xray/blocks.hpp>

namespace backsight::xray {

/// All blocks of an FDR log in file order, by their first records only; and the error that ended the search, if any.
[[nodiscard]] inline result<std::vector<block_info>> index_blocks(const log& opened) {
  return with_order(opened.byte_order(), [&](auto byte_order) -> result<std::vector<block_info>> {
    std::vector<block_info> found;
    const fdr_blocks<byte_order()> blocks(opened);
    auto it = blocks.begin();
    for (; it != std::default_sentinel; ++it) found.push_back(read_block_info<byte_order()>(*it, opened.version()));
    return {std::move(found), it.error()};
  });
}

/// Puts blocks into the order in which each thread filled them: by process and thread, then wall clock, then tsc;
/// blocks that are equal in all that keep their order. (LLVM compares seconds and microseconds each for itself, which
/// is no ordering.)
inline void sort_by_thread(std::vector<block_info>& blocks) {
  std::sort(blocks.begin(), blocks.end(), [](const block_info& a, const block_info& b) {
    if (a.process_id != b.process_id) return a.process_id < b.process_id;
    if (a.thread_id != b.thread_id) return a.thread_id < b.thread_id;
    if (a.seconds != b.seconds) return a.seconds < b.seconds;
    if (a.microseconds != b.microseconds) return a.microseconds < b.microseconds;
    if (a.first_tsc != b.first_tsc) return a.first_tsc < b.first_tsc;
    return a.where.offset < b.where.offset;
  });
}

}  // namespace backsight::xray
