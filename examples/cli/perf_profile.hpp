// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "perf_lines.hpp"
#include "perf_stacks.hpp"

namespace cli::perf_data {

/// Texts by number, each once.
class text_list {
 public:
  std::uint32_t add(const std::string& text) {
    const auto [at, is_new] = numbers_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(&at->first);
    return at->second;
  }
  [[nodiscard]] const std::string& operator[](std::uint32_t number) const { return *texts_[number]; }
  [[nodiscard]] std::size_t size() const { return texts_.size(); }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<const std::string*> texts_;
};

/// What samples add up to: a tree of calls, the outermost functions below its root, and how much time or how many
/// events each thread, process and event has. Memory: what the different stacks need, not the samples.
class stack_profile {
 public:
  struct node {
    std::uint32_t parent = 0, function = 0;
    std::uint64_t self = 0, samples = 0;
  };
  struct total {
    std::uint64_t value = 0, samples = 0;
  };

  stack_profile() { nodes_.push_back({}); }

  text_list functions;  ///< `name`, or `[module]` for what has none
  text_list modules;
  std::vector<std::uint32_t> module_of;  ///< of each function
  text_list threads, events;
  std::vector<total> by_thread, by_event;
  /// Called as its first thread was at last, or where none of that was sampled as the last that was.
  struct process {
    std::string name;
    bool is_of_first = false;
    total all;
  };
  std::vector<process> by_process;

  /// What comes next is of another recording: numbers of its processes are its own.
  void begin_recording() { ++recording_; }
  /// Adds a stack, the outermost function first.
  void add(const std::vector<std::uint32_t>& stack, std::uint64_t value) {
    std::uint32_t at = 0;
    for (const std::uint32_t function : stack) {
      const std::uint64_t key = std::uint64_t{at} << 32 | function;
      const auto [found, is_new] = children_.try_emplace(key, static_cast<std::uint32_t>(nodes_.size()));
      if (is_new) nodes_.push_back({at, function, 0, 0});
      at = found->second;
    }
    nodes_[at].self += value;
    ++nodes_[at].samples;
  }
  static void count(text_list& names, std::vector<total>& totals, const std::string& name, std::uint64_t value) {
    const std::uint32_t number = names.add(name);
    if (totals.size() <= number) totals.resize(number + 1);
    totals[number].value += value;
    ++totals[number].samples;
  }
  /// `number` is that of perf::process.
  void count_process(std::uint32_t number, std::int32_t pid, const std::string& name, bool is_of_first,
                     std::uint64_t value) {
    const auto [at, is_new] = processes_.try_emplace(recording_ << 32 | number, by_process.size());
    if (is_new) by_process.emplace_back();
    process& one = by_process[at->second];
    if (is_new || is_of_first || !one.is_of_first) one.name = name + " " + std::to_string(pid);
    one.is_of_first = one.is_of_first || is_of_first;
    one.all.value += value;
    ++one.all.samples;
  }
  /// Parents come before their children.
  [[nodiscard]] const std::vector<node>& nodes() const { return nodes_; }
  /// The functions of a node's path, the outermost first.
  [[nodiscard]] std::vector<std::uint32_t> path(std::uint32_t number) const {
    std::vector<std::uint32_t> all;
    for (; number != 0; number = nodes_[number].parent) all.push_back(nodes_[number].function);
    return {all.rbegin(), all.rend()};
  }

 private:
  std::vector<node> nodes_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
  std::unordered_map<std::uint64_t, std::size_t> processes_;
  std::uint64_t recording_ = 0;
};

/// Writes the samples of a recording with their stacks as a Perfetto trace. Gives the exit code.
[[nodiscard]] int write_perfetto(const recording_input& recording, const stack_options& options, output& out,
                                 stack_counts& counts);

/// Reads a recording into a profile. Gives the exit code.
[[nodiscard]] int read_profile(const recording_input& recording, const stack_options& options, stack_profile& profile,
                               stack_counts& counts);

}  // namespace cli::perf_data
