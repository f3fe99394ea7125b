// SPDX-License-Identifier: Apache-2.0
// Writes the call paths of a trace with their own times, the input of flame graph programs, for any format:
//     flame_graph TRACE | flamegraph.pl > flames.svg
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>

#include <backsight/analysis/call_tree.hpp>
#include <backsight/analysis/run.hpp>
#include <backsight/core/any_call_trace.hpp>
#include <backsight/emit/folded.hpp>
#include <backsight/io/with_call_trace.hpp>

// [flames]
bool write_flames(const backsight::any_call_trace& trace, const char* path) {
  bool whole = true;
  const auto on_fault = [&](std::string_view file, const backsight::fault& damage) {
    std::fprintf(stderr, "%s/%s:%llu: %s\n", path, std::string(file).c_str(),
                 static_cast<unsigned long long>(damage.offset), message(damage.code));
    whole = false;
  };
  trace.for_each_fault(on_fault);
  const auto tree =
      backsight::analysis::run(trace, backsight::analysis::call_tree(), on_fault, std::thread::hardware_concurrency());
  std::string text;
  backsight::emit::folded(std::back_inserter(text), tree, trace);
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && whole;
}
// [flames]

int main(int count, char** words) {
  if (count != 2) return std::fprintf(stderr, "usage: flame_graph TRACE\n"), 2;
  bool good = false;
  const auto error = backsight::io::with_call_trace(
      words[1], [&](const backsight::any_call_trace& trace) { good = write_flames(trace, words[1]); });
  if (error)
    std::fprintf(stderr, "%s:%llu: %s\n", words[1], static_cast<unsigned long long>(error.offset), message(error.code));
  return good ? 0 : 1;
}
