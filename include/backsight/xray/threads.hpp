// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <backsight/xray/events.hpp>
#include <backsight/xray/index.hpp>

namespace backsight::xray {

/// A thread and the blocks that it filled, in the order in which it filled them.
struct traced_thread {
  std::int32_t process = 0;
  std::int32_t id = 0;
  std::uint64_t first_tsc = 0;  ///< Of its first block.
  std::vector<block> blocks;
};

/// The threads of an FDR log in the order of process and thread id, by the first records of each block; with
/// `merge_processes` threads of one id in several processes are one, in the order of thread ids, as llvm-xray has them.
/// The error is that which ended the search for blocks, if any. A basic-mode log has no blocks: one nameless thread
/// stands for all.
[[nodiscard]] inline result<std::vector<traced_thread>> threads_of(const log& opened, bool merge_processes = false) {
  std::vector<traced_thread> found;
  if (opened.type() == log_type::basic) {
    found.emplace_back();
    return {std::move(found), trace_error{}};
  }
  auto index = index_blocks(opened);
  std::vector<block_info>& blocks = index.partial();
  sort_by_thread(blocks);
  if (merge_processes) {
    std::stable_sort(blocks.begin(), blocks.end(),
                     [](const auto& a, const auto& b) { return a.thread_id < b.thread_id; });
  }
  for (const block_info& info : blocks) {
    const bool same = !found.empty() && found.back().id == info.thread_id &&
                      (merge_processes || found.back().process == info.process_id);
    if (!same) found.push_back({info.process_id, info.thread_id, info.first_tsc, {}});
    found.back().blocks.push_back(info.where);
  }
  return {std::move(found), index.error()};
}

/// Calls `f(event)` for each event of a thread, block after block, and `on_fault(fault)` for what cannot be read; for
/// basic-mode logs for each event of the log. Different threads may be walked at the same time.
template <class F, class OnFault>
void for_each_event(const log& opened, const traced_thread& of, F&& f, OnFault&& on_fault) {
  with_order(opened.byte_order(), [&](auto byte_order) {
    if (opened.type() == log_type::basic) {
      for_each_basic_event<byte_order()>(opened, f, on_fault);
    } else {
      for (const block& where : of.blocks) for_each_event<byte_order()>(opened, where, f, on_fault);
    }
  });
}

}  // namespace backsight::xray
