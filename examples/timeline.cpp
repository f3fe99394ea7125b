// SPDX-License-Identifier: Apache-2.0
// Writes a trace of any format as trace events for chrome://tracing, Perfetto or speedscope, without calls below a
// duration:
//     timeline TRACE [NANOSECONDS] > trace.json
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include <backsight/analysis/call_filter.hpp>
#include <backsight/emit/chrome_json.hpp>
#include <backsight/emit/timeline.hpp>
#include <backsight/io/with_call_trace.hpp>

int main(int count, char** words) {
  if (count < 2) return std::fprintf(stderr, "usage: timeline TRACE [NANOSECONDS]\n"), 2;
  const unsigned long long least = count > 2 ? std::strtoull(words[2], nullptr, 10) : 0;
  bool good = false;
  const auto error = backsight::io::with_call_trace(words[1], [&](const auto& trace) {
    // [timeline]
    bool whole = true;
    std::string text;
    backsight::emit::chrome_json writer(std::back_inserter(text));
    const auto long_ones = backsight::analysis::chosen(trace, {.at_least = least});
    backsight::emit::timeline(writer, long_ones, [&](std::string_view file, const backsight::fault& damage) {
      std::fprintf(stderr, "%s/%s:%llu: %s\n", words[1], std::string(file).c_str(),
                   static_cast<unsigned long long>(damage.offset), message(damage.code));
      whole = false;
    });
    writer.finish();
    // [timeline]
    good = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && whole;
  });
  if (error)
    std::fprintf(stderr, "%s:%llu: %s\n", words[1], static_cast<unsigned long long>(error.offset), message(error.code));
  return good ? 0 : 1;
}
