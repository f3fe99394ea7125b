// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cinttypes>
#include <set>

#include <backsight/core/table.hpp>

#include "xray_trace.hpp"

namespace cli {

using namespace backsight;

namespace {

/// The first four bytes are a version and a type that XRay has or may come to have, in either byte order, and not all
/// that there is is zero.
bool detect(const std::string&, byte_view head) {
  if (head.size() < 4 || std::ranges::count(head, std::byte{0}) == std::ssize(head)) return false;
  const auto fits = [&](auto byte_order) {
    constexpr order o = decltype(byte_order)::value;
    return load<std::uint16_t, o>(head.data()) <= 8 && load<std::uint16_t, o>(head.data() + 2) <= 1;
  };
  return fits(std::integral_constant<order, order::little>{}) || fits(std::integral_constant<order, order::big>{});
}

/// What `info` shows.
struct summary {
  std::vector<std::pair<const char*, std::uint64_t>> kinds;
  std::set<std::pair<std::int32_t, std::int32_t>> threads;
  std::uint64_t records = 0, events = 0, blocks = 0, payload_bytes = 0;
  std::uint64_t first = ~std::uint64_t{0}, last = 0;
};

template <record_format F>
void count_kinds(const std::array<std::uint64_t, F::records::size>& counts, summary& to) {
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    const char* const name = kind_name<F>(kind);
    const auto same = std::ranges::find(to.kinds, std::string_view(name),
                                        [](const auto& one) { return std::string_view(one.first); });
    if (same != to.kinds.end()) same->second += counts[kind];
    else if (counts[kind] != 0) to.kinds.emplace_back(name, counts[kind]);
  }
}

template <order O>
void summarize(xray_trace& trace, summary& to) {
  const auto& log = trace.log();
  if (log.type() == xray::log_type::basic) {
    std::array<std::uint64_t, xray::basic_format<O>::records::size> counts{};
    for_each_salvaging(
        xray::records_of_basic<O, grammar_check::ignored>(log), [&](const auto& item) { ++counts[item.kind()]; },
        [](const fault&) {});
    count_kinds<xray::basic_format<O>>(counts, to);
  } else {
    std::array<std::uint64_t, xray::fdr_format<O>::records::size> counts{};
    for (const auto& block : xray::fdr_blocks<O>(log)) {
      ++to.blocks;
      for (const auto item : block.template records<O, grammar_check::ignored>(log.version())) ++counts[item.kind()];
    }
    count_kinds<xray::fdr_format<O>>(counts, to);
  }
  for (const auto& kind : to.kinds) to.records += kind.second;
  progress shown(log.bytes().size());
  for (const auto& thread : trace.threads()) {
    trace.for_each_event(thread, [&](const xray::event& event) {
      if ((++to.events & (events_between_updates - 1)) == 0) shown.add(bytes_between_updates);
      to.threads.emplace(event.process, event.thread);
      to.payload_bytes += event.payload.size();
      to.first = std::min(to.first, event.time);
      to.last = std::max(to.last, event.time);
    });
  }
}

void print_json(output& out, const xray_trace& trace, const summary& all) {
  const auto& log = trace.log();
  out.print("{\"format\":\"xray\",\"mode\":\"%s\",\"version\":%u,\"byte_order\":\"%s\",\"ticks_per_second\":%" PRIu64
            ",\"constant_tsc\":%s,\"nonstop_tsc\":%s,\"bytes\":%zu,\"blocks\":%" PRIu64 ",\"records\":{",
            enumerator_name(log.type()), unsigned{log.version()}, log.byte_order() == order::little ? "little" : "big",
            log.ticks_per_second(), log.constant_tsc() ? "true" : "false", log.nonstop_tsc() ? "true" : "false",
            log.bytes().size(), all.blocks);
  const char* separator = "";
  for (const auto& [name, count] : all.kinds)
    out.print("%s\"%s\":%" PRIu64, std::exchange(separator, ","), name, count);
  out.print("},\"events\":%" PRIu64 ",\"threads\":[", all.events);
  separator = "";
  for (const auto& [process, thread] : all.threads) {
    out.print("%s{\"process\":%" PRId32 ",\"thread\":%" PRId32 "}", std::exchange(separator, ","), process, thread);
  }
  out.write("]");
  if (all.events != 0) out.print(",\"first_tsc\":%" PRIu64 ",\"last_tsc\":%" PRIu64, all.first, all.last);
  out.write(",\"faults\":[");
  separator = "";
  for (const auto& [place, fault] : trace.faults().all()) {
    out.print("%s{\"offset\":%" PRIu64 ",\"message\":\"%s\",\"skipped\":%" PRIu64 "}", std::exchange(separator, ","),
              place.second, message(fault.code), fault.skipped);
  }
  out.write("]}\n");
}

void print_text(output& out, const xray_trace& trace, const summary& all) {
  const auto& log = trace.log();
  out.print("format        XRay %s, version %u, %s-endian\n",
            log.type() == xray::log_type::fdr ? "flight data recorder" : "basic mode", unsigned{log.version()},
            log.byte_order() == order::little ? "little" : "big");
  if (log.ticks_per_second() == 0) out.write("clock         frequency unknown; times are ticks\n");
  else out.print("clock         %" PRIu64 " ticks per second\n", log.ticks_per_second());
  out.print("size          %zu bytes", log.bytes().size());
  if (log.type() == xray::log_type::fdr) out.print(", %" PRIu64 " blocks", all.blocks);
  out.print("\nrecords       %" PRIu64 "\n", all.records);
  for (const auto& [name, count] : all.kinds) out.print("  %-17s %12" PRIu64 "\n", name, count);
  if (all.events != 0) {
    const std::uint64_t span = all.last - all.first;
    if (log.ticks_per_second() == 0) out.print("time span     %" PRIu64 " ticks\n", span);
    else out.print("time span     %.9f s\n", static_cast<double>(log.to_ns(span)) / 1e9);
  }
  out.print("threads       %zu\n", all.threads.size());
  for (const auto& [process, thread] : all.threads)
    out.print("  process %" PRId32 ", thread %" PRId32 "\n", process, thread);
  out.print("faults        %zu\n", trace.faults().size());
  for (const auto& [place, fault] : trace.faults().all()) {
    out.print("  offset %" PRIu64 ": %s, %" PRIu64 " bytes skipped\n", place.second, message(fault.code),
              fault.skipped);
  }
}

}  // namespace

int xray_info(const arguments& asked) {
  xray_trace trace;
  if (!trace.open(asked.path())) return bad_input;
  summary all;
  with_order(trace.log().byte_order(), [&](auto byte_order) { summarize<byte_order()>(trace, all); });
  output out("-");
  if (asked.format == "json") print_json(out, trace, all);
  else print_text(out, trace, all);
  return out.close(trace.report_faults());
}

const trace_format xray_format{.bit = xray_bit,
                               .name = "XRay",
                               .a_trace = "an XRay log",
                               .tool = "llvm-xray",
                               .detect = detect,
                               .with_calls = xray_with_calls,
                               .info = xray_info,
                               .dump = xray_dump,
                               .report = xray_report,
                               .export_to = xray_export};

}  // namespace cli
