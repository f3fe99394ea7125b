// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include <backsight/core/analyzer.hpp>
#include <backsight/memtrace/pc_set.hpp>
#include <backsight/memtrace/references.hpp>
#include <backsight/memtrace/windows.hpp>

namespace backsight::memtrace {

/// The different cache lines of data and of code that were touched, in lines of `line` bytes: the working set.
class working_set {
 public:
  explicit working_set(std::uint64_t line = 64) : line_(line == 0 ? 1 : line) {}
  void on(const reference& item) {
    if (item.type == trace_type::read || item.type == trace_type::write) add(data_, item);
    else if (is_instruction(item.type)) add(code_, item);
  }
  [[nodiscard]] std::uint64_t data_lines() const noexcept { return data_.size(); }
  [[nodiscard]] std::uint64_t code_lines() const noexcept { return code_.size(); }
  [[nodiscard]] std::uint64_t line_size() const noexcept { return line_; }
  void merge(const working_set& other) {
    data_ += other.data_;
    code_ += other.code_;
  }

 private:
  void add(pc_set& to, const reference& item) const {
    const std::uint64_t last = (item.address + std::max<std::uint64_t>(item.size, 1) - 1) / line_;
    for (std::uint64_t line = item.address / line_;; ++line) {
      to.insert(line);
      if (line >= last) break;
    }
  }
  std::uint64_t line_;
  pc_set data_, code_;
};
static_assert(analyzer_of<working_set, reference> && mergeable_analyzer<working_set>);

/// Gives every reference of a final file to one analyzer, with begin_part(window) and end_part(window) around those of
/// each window: the way of an online consumer that lives as long as the program. References before the first window
/// come before the first begin_part. Records reach the analyzer in the order of the file.
template <analyzer_of<reference> A>
trace_error run_phases(const final_trace& trace, A& to) {
  reference_builder builder;
  const entry_span all = trace.entries();
  auto it = trace.windows().begin();
  bool open = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint64_t offset = i * size_of<entry_record>;
    if (open && offset == it->end) {
      backsight::detail::end_part(to, *it);
      ++it;
      open = false;
    }
    if (!open && it != std::default_sentinel && offset == it->begin) {
      backsight::detail::begin_part(to, *it);
      open = true;
    }
    if (const auto item = builder.next(all[i])) to.on(*item);
  }
  if (open) backsight::detail::end_part(to, *it);
  return it.error();
}

/// Reads windows one after the other. A window whose chunk is that of the one before, and which lies behind it, goes on
/// where that one ended, so that all windows of a file in their order cost one pass over it, chunks or not.
class window_reader {
 public:
  /// As run_window() does.
  template <analyzer_of<reference> A>
  void run(const final_trace& trace, const window& which, A& to, bool encodings = false) {
    const std::uint64_t head = std::min<std::uint64_t>(trace.header().size, which.begin);
    const std::uint64_t start = encodings ? std::max(which.chunk, head) : which.begin;
    const bool goes_on = encodings && bytes_.data() == trace.bytes().data() && bytes_.size() == trace.bytes().size() &&
                         start_ == start && position_ <= which.begin;
    bytes_ = trace.bytes();
    if (!goes_on) {
      builder_ = {};
      start_ = start;
      // The file's header names the thread.
      feed(0, head, [](const auto&) {});
      position_ = start;
    }
    feed(position_, which.begin, [](const auto&) {});
    builder_.set_thread(which.tid);
    feed(which.begin, which.end, [&](const auto& item) {
      if (item) to.on(*item);
    });
    position_ = std::max(which.begin, which.end);
  }

 private:
  template <class F>
  void feed(std::uint64_t from, std::uint64_t end, F&& use) {
    if (from >= end) return;
    const auto bytes = bytes_.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(end - from));
    const entry_span entries = window_part{bytes, from}.entries();
    for (const entry_view item : entries) use(builder_.next(item));
  }

  reference_builder builder_;
  byte_view bytes_;
  std::uint64_t start_ = 0;     ///< from which `builder_` has read, behind the header
  std::uint64_t position_ = 0;  ///< up to where
};

/// Gives the references of one window to `to`. With `encodings`, instructions have their bytes, for which the records
/// from the start of the window's chunk are read first; else those that the window itself brings.
template <analyzer_of<reference> A>
void run_window(const final_trace& trace, const window& which, A& to, bool encodings = false) {
  window_reader().run(trace, which, to, encodings);
}

/// A window of one of several files. A view over the file's bytes.
struct window_task {
  final_trace trace;
  window which;
};

/// All windows of all files, in the order of the files.
[[nodiscard]] inline std::vector<window_task> tasks_of(const std::vector<final_trace>& traces) {
  std::vector<window_task> tasks;
  for (const final_trace& trace : traces) {
    for (const window& one : trace.windows()) tasks.push_back({trace, one});
  }
  return tasks;
}

/// The controller: makes a fresh analyzer with `make()` for each window, runs them with `jobs` threads, and gives the
/// analyzers in the order of `tasks`. The results are the same for any number of jobs. merge() gives those of the whole
/// application. `make` is called from several threads at once.
template <class Make>
[[nodiscard]] auto run_each_window(const std::vector<window_task>& tasks, Make&& make, unsigned jobs = 1,
                                   bool encodings = false) {
  using result_type = decltype(make());
  std::vector<std::optional<result_type>> made(tasks.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    window_reader reader;
    for (std::size_t i; (i = next.fetch_add(1)) < tasks.size();) {
      made[i].emplace(make());
      reader.run(tasks[i].trace, tasks[i].which, *made[i], encodings);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < jobs && i < tasks.size(); ++i) threads.emplace_back(work);
  work();
  for (std::thread& one : threads) one.join();
  std::vector<result_type> results;
  results.reserve(made.size());
  for (auto& one : made) results.push_back(std::move(*one));
  return results;
}

}  // namespace backsight::memtrace
