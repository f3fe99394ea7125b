// SPDX-License-Identifier: Apache-2.0
// Profiles of XRay's profiling mode: what they hold, and calls and times of each function.
#include <algorithm>
#include <array>
#include <cinttypes>
#include <map>
#include <unordered_map>

#include <backsight/core/escape.hpp>
#include <backsight/xray/profile.hpp>

#include "xray_trace.hpp"

namespace cli {

using namespace backsight;

namespace {

bool detect_profile(const std::string&, byte_view head) { return xray::is_profile(head); }

/// An opened profile and its faults.
struct xray_profile {
  input file;
  xray::profile opened;
  std::vector<fault> faults;

  [[nodiscard]] bool open(const std::string& path) {
    if (!file.open(path)) return false;
    const auto found = xray::open_profile(file.bytes());
    if (!found) return report_error(path, found.error()), false;
    opened = *found;
    return true;
  }
  template <class F>
  void for_each_path(F&& f) {
    xray::for_each_path(opened, f, [this](const fault& damage) { faults.push_back(damage); });
  }
  [[nodiscard]] int report_faults(const std::string& path) const {
    for (const fault& damage : faults) report_fault(path, damage);
    return faults.empty() ? success : bad_input;
  }
};

/// Sums do not wrap, whatever the profile says.
void add(std::uint64_t& sum, std::uint64_t value) { sum = sum > ~value ? ~std::uint64_t{0} : sum + value; }

struct sums {
  std::uint64_t paths = 0, calls = 0, self = 0;

  void take(const xray::profile_path& path) {
    add(paths, 1);
    add(calls, path.calls);
    add(self, path.self_ticks);
  }
};

void print_info_json(output& out, const xray_profile& profile, const sums& all,
                     const std::map<std::uint64_t, sums>& threads) {
  out.print("{\"format\":\"xray\",\"mode\":\"profile\",\"byte_order\":\"%s\",\"timestamp_ns\":%" PRIu64
            ",\"process\":%" PRIu64 ",\"bytes\":%zu,\"paths\":%" PRIu64 ",\"calls\":%" PRIu64 ",\"self_ticks\":%" PRIu64
            ",\"threads\":[",
            profile.opened.byte_order() == order::little ? "little" : "big", profile.opened.timestamp_ns(),
            profile.opened.process(), profile.opened.bytes().size(), all.paths, all.calls, all.self);
  const char* separator = "";
  for (const auto& [thread, of] : threads) {
    out.print("%s{\"thread\":%" PRIu64 ",\"paths\":%" PRIu64 ",\"calls\":%" PRIu64 ",\"self_ticks\":%" PRIu64 "}",
              std::exchange(separator, ","), thread, of.paths, of.calls, of.self);
  }
  out.write("],\"faults\":[");
  separator = "";
  for (const fault& damage : profile.faults) {
    out.print("%s{\"offset\":%" PRIu64 ",\"message\":\"%s\",\"skipped\":%" PRIu64 "}", std::exchange(separator, ","),
              damage.offset, message(damage.code), damage.skipped);
  }
  out.write("]}\n");
}

void print_info(output& out, const xray_profile& profile, const sums& all,
                const std::map<std::uint64_t, sums>& threads) {
  const std::uint64_t written = profile.opened.timestamp_ns();
  out.print("format        XRay profile, %s-endian\n", profile.opened.byte_order() == order::little ? "little" : "big");
  out.print("written       %" PRIu64 ".%09" PRIu64 " s since 1970\n", written / 1000000000, written % 1000000000);
  out.print("process       %" PRIu64 "\n", profile.opened.process());
  out.print("size          %zu bytes\n", profile.opened.bytes().size());
  out.print("paths         %" PRIu64 "\n", all.paths);
  out.print("calls         %" PRIu64 "\n", all.calls);
  out.print("self time     %" PRIu64 " ticks\n", all.self);
  out.print("threads       %zu\n", threads.size());
  for (const auto& [thread, of] : threads) {
    out.print("  thread %" PRIu64 ": %" PRIu64 " paths, %" PRIu64 " calls, %" PRIu64 " ticks\n", thread, of.paths,
              of.calls, of.self);
  }
  out.print("faults        %zu\n", profile.faults.size());
  for (const fault& damage : profile.faults) {
    out.print("  offset %" PRIu64 ": %s, %" PRIu64 " bytes skipped\n", damage.offset, message(damage.code),
              damage.skipped);
  }
}

int profile_info(const arguments& asked) {
  xray_profile profile;
  if (!profile.open(asked.path())) return bad_input;
  sums all;
  std::map<std::uint64_t, sums> threads;
  profile.for_each_path([&](const xray::profile_path& path) {
    all.take(path);
    threads[path.thread].take(path);
  });
  output out("-");
  (asked.format == "json" ? print_info_json : print_info)(out, profile, all, threads);
  return out.close(profile.report_faults(asked.path()));
}

struct function_sum {
  std::uint64_t function = 0, count = 0, sum = 0, self = 0;
};
using sum_column = std::uint64_t function_sum::*;
constexpr std::array<std::pair<const char*, sum_column>, 4> sum_columns{{{"function", &function_sum::function},
                                                                         {"count", &function_sum::count},
                                                                         {"sum", &function_sum::sum},
                                                                         {"self", &function_sum::self}}};

/// A profile has no single calls, so that there is no shortest, longest or median one.
std::vector<function_sum> rows_of(xray_profile& profile) {
  std::unordered_map<std::uint64_t, function_sum> rows;
  std::vector<std::uint64_t> functions;
  profile.for_each_path([&](const xray::profile_path& path) {
    functions.clear();
    for (std::size_t level = 0; level < path.size(); ++level) functions.push_back(path.function(level));
    function_sum& leaf = rows[functions.front()];
    add(leaf.count, path.calls);
    add(leaf.self, path.self_ticks);
    // The time of a function is that of all paths through it; a recursive one counts once.
    std::ranges::sort(functions);
    functions.erase(std::unique(functions.begin(), functions.end()), functions.end());
    for (const std::uint64_t function : functions) add(rows[function].sum, path.self_ticks);
  });
  std::vector<function_sum> sorted;
  for (auto& [function, of] : rows) {
    of.function = function;
    sorted.push_back(of);
  }
  return sorted;
}

int profile_report(const arguments& asked) {
  sum_column sort_by = &function_sum::self;
  if (!asked.sort.empty()) {
    const auto found = std::ranges::find(sum_columns, asked.sort, [](const auto& c) { return std::string(c.first); });
    if (found == sum_columns.end()) {
      say("backsight: a profile has no column %s to sort by: it has sum, self, count and function\n",
          asked.sort.c_str());
      return usage;
    }
    sort_by = found->second;
  }
  xray_profile profile;
  xray_names names;
  if (!profile.open(asked.path()) || !names.open(asked.symbols)) return bad_input;
  std::vector<function_sum> rows = rows_of(profile);
  std::ranges::sort(rows, [&](const function_sum& a, const function_sum& b) {
    if (sort_by == &function_sum::function) return a.function < b.function;
    return std::pair(b.*sort_by, a.function) < std::pair(a.*sort_by, b.function);
  });
  if (asked.limit && rows.size() > *asked.limit) rows.resize(static_cast<std::size_t>(*asked.limit));

  output out("-");
  const char s = asked.format == "tsv" ? '\t' : ',';
  if (asked.format == "json") out.write("[");
  else if (asked.format == "text") out.print("%12s %20s %20s  function (ticks)\n", "count", "sum", "self");
  else out.print("id%ccount%csum_ticks%cself_ticks%cfunction\n", s, s, s, s);
  const char* before = "\n";
  for (const function_sum& at : rows) {
    const std::string& name = names[at.function];
    if (asked.format == "json") {
      out.print("%s{\"id\":%" PRIu64 ",\"count\":%" PRIu64 ",\"sum_ticks\":%" PRIu64 ",\"self_ticks\":%" PRIu64
                ",\"function\":",
                std::exchange(before, ",\n"), at.function, at.count, at.sum, at.self);
      text::quoted(output_iterator(out), name);
      out.write("}");
    } else if (asked.format == "text") {
      out.print("%12" PRIu64 " %20" PRIu64 " %20" PRIu64 "  ", at.count, at.sum, at.self);
      out.write(name);
      out.write("\n");
    } else {
      for (const std::uint64_t value : {at.function, at.count, at.sum, at.self}) out.print("%" PRIu64 "%c", value, s);
      text::cell(output_iterator(out), name, s);
      out.write("\n");
    }
  }
  if (asked.format == "json") out.write("\n]\n");
  return out.close(profile.report_faults(asked.path()));
}

}  // namespace

namespace {

/// What the profile lacks: what is damaged. It has sums alone, of calls that ended.
int profile_check(const arguments& asked) {
  xray_profile profile;
  if (!profile.open(asked.path())) return bad_input;
  std::uint64_t paths = 0;
  profile.for_each_path([&](const auto&) { ++paths; });
  output out("-");
  const std::string& path = asked.path();
  const bool good = profile.faults.empty();
  if (asked.format == "json") {
    out.write("{\"trace\":");
    text::quoted(output_iterator(out), path);
    out.print(",\"format\":\"XRay profile\",\"good\":%s,\"paths\":%" PRIu64 ",\"damage\":[", good ? "true" : "false",
              paths);
    const char* separator = "";
    for (const fault& damage : profile.faults) {
      out.print("%s\n{\"file\":", separator);
      separator = ",";
      text::quoted(output_iterator(out), path);
      out.print(",\"offset\":%" PRIu64 ",\"message\":\"%s\",\"skipped\":%" PRIu64 "}", damage.offset,
                message(damage.code), damage.skipped);
    }
    out.write("]}\n");
  } else {
    for (const fault& damage : profile.faults)
      out.print("%s:%" PRIu64 ": %s; %" PRIu64 " bytes skipped\n", path.c_str(), damage.offset, message(damage.code),
                damage.skipped);
    out.print("%-24s %zu\n%-24s %" PRIu64 "\n", "damaged places", profile.faults.size(), "call paths", paths);
    out.print("%s: %s\n", path.c_str(), good ? "nothing is missing" : "something is missing");
  }
  return out.close(good ? success : bad_input);
}

}  // namespace

const trace_format xray_profile_format{.bit = profile_bit,
                                       .name = "XRay profile",
                                       .a_trace = "an XRay profile",
                                       .detect = detect_profile,
                                       .info = profile_info,
                                       .report = profile_report,
                                       .check = profile_check};

}  // namespace cli
