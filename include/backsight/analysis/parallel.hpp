// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace backsight::analysis {

/// Works on `count` independent parts (blocks, tasks, windows) with `threads` threads and gives one state for each
/// thread: `work(state, index)` is called once for each index, each state by one thread only. The caller adds the
/// states up; which thread took which part is not fixed, so that states must add up in any order. With one thread
/// nothing is started. `work` must not throw; std::system_error comes through where the system refuses a thread.
template <class State, class Work>
[[nodiscard]] std::vector<State> for_each_part(std::size_t count, unsigned threads, Work&& work) {
  threads = static_cast<unsigned>(std::clamp<std::size_t>(count, 1, std::max(threads, 1U)));
  std::vector<State> states(threads);
  std::atomic<std::size_t> next{0};
  const auto run = [&](State& state) {
    for (std::size_t index; (index = next.fetch_add(1, std::memory_order_relaxed)) < count;) work(state, index);
  };
  {
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < threads; ++i) others.emplace_back([&run, &states, i] { run(states[i]); });
    run(states[0]);
  }
  return states;
}

}  // namespace backsight::analysis
