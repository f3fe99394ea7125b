// SPDX-License-Identifier: Apache-2.0
// info, dump, report, stacks and export for perf.data recordings.
#include <algorithm>
#include <array>
#include <cinttypes>
#include <numeric>
#include <utility>
#include <vector>

#include <backsight/core/escape.hpp>
#include <backsight/core/hex_dump.hpp>
#include <backsight/core/print.hpp>

#include "perf_profile.hpp"
#include "program.hpp"
#include "table.hpp"

namespace cli {

namespace {

using namespace backsight;
namespace data = cli::perf_data;

/// JSON has an escape for each character that would end a text; other output has none to need.
std::string in_quotes(std::string_view text) {
  std::string out;
  text::quoted(std::back_inserter(out), text);
  return out;
}

int info(const arguments& asked) {
  data::recording_input recording;
  if (!recording.open(asked.path())) return bad_input;
  const perf::trace& trace = recording.trace;
  int code = success;
  std::array<std::uint64_t, 256> kinds{};
  std::uint64_t first = ~std::uint64_t{0}, last = 0, other = 0;
  data::lost_counts lost;
  const auto counts = recording.for_each(
      [&](const perf::merged_record& one) {
        const auto type = static_cast<std::uint32_t>(one.record.type);
        if (type < kinds.size()) ++kinds[type];
        else ++other;
        lost.take(one.record);
        if (one.record.type != perf::record_type::sample || one.time == 0) return;
        first = std::min(first, one.time);
        last = std::max(last, one.time);
      },
      [&](const fault& damage) {
        report_fault(recording.path, damage);
        code = bad_input;
      });
  output out("-");
  const bool json = asked.format == "json";
  const auto line = [&](const char* name, const std::string& value, bool number = false) {
    if (json) out.print(",\n \"%s\": %s", name, number ? value.c_str() : in_quotes(value).c_str());
    else out.print("%-16s %s\n", name, value.c_str());
  };
  if (json) out.write("{\"format\": \"perf.data\"");
  else out.write("format           perf.data\n");
  line("form", trace.is_pipe() ? "pipe" : recording.others.empty() ? "file" : "directory");
  line("byte order", trace.byte_order() == order::little ? "little" : "big");
  if (trace.is_interrupted()) line("recorder", "was killed: no features were written");
  for (const perf::feature one : {perf::feature::hostname, perf::feature::osrelease, perf::feature::version,
                                  perf::feature::arch, perf::feature::cpudesc}) {
    if (const std::string text = recording.text_feature(one); !text.empty()) line(enumerator_name(one), text);
  }
  if (const auto command = trace.find(perf::feature::cmdline)) {
    std::string all;
    (void)perf::for_each_text(*command, trace.byte_order(),
                              [&](std::string_view word) { all += (all.empty() ? "" : " ") + std::string(word); });
    line("command", all);
  }
  for (const perf::event_description& event : trace.events()) line("event", std::string(event.name));
  line("records", std::to_string(counts.records), true);
  for (std::uint32_t type = 0; type < kinds.size(); ++type) {
    if (kinds[type] == 0) continue;
    const char* const name = perf::enumerator_name(static_cast<perf::record_type>(type));
    line(name != nullptr ? (std::string(json ? "" : "  ") + name).c_str() : "  other", std::to_string(kinds[type]),
         true);
  }
  if (other != 0) line("other", std::to_string(other), true);
  if (lost.records != 0) line("lost records", std::to_string(lost.records), true);
  if (lost.samples != 0) line("lost samples", std::to_string(lost.samples), true);
  if (lost.filtered != 0) line("filtered samples", std::to_string(lost.filtered), true);
  if (last != 0) {
    line("first sample ns", std::to_string(first), true);
    line("last sample ns", std::to_string(last), true);
  }
  if (json) out.write("}\n");
  return out.close(code);
}

/// What the recording lacks: what is damaged, what was lost, what belongs to nothing.
int check(const arguments& asked) {
  data::recording_input recording;
  if (!recording.open(asked.path())) return bad_input;
  data::lost_counts lost;
  std::uint64_t samples = 0, throttled = 0;
  std::vector<fault> damage;
  const auto counts = recording.for_each(
      [&](const perf::merged_record& one) {
        lost.take(one.record);
        if (one.record.type == perf::record_type::sample) ++samples;
        if (one.record.type == perf::record_type::throttle) ++throttled;
      },
      [&](const fault& one) { damage.push_back(one); });
  const bool good = damage.empty() && !lost.any() && counts.without_event == 0;
  output out("-");
  const std::string& path = asked.path();
  if (asked.format == "json") {
    out.print("{\"trace\":%s,\"format\":\"perf.data\",\"good\":%s,\"damage\":[", in_quotes(path).c_str(),
              good ? "true" : "false");
    const char* separator = "";
    for (const fault& one : damage) {
      out.print("%s\n{\"file\":%s,\"offset\":%" PRIu64 ",\"message\":\"%s\",\"skipped\":%" PRIu64 "}",
                std::exchange(separator, ","), in_quotes(path).c_str(), one.offset, message(one.code), one.skipped);
    }
    out.print("],\n\"samples\":%" PRIu64 ",\"lost_records\":%" PRIu64 ",\"lost_samples\":%" PRIu64
              ",\"filtered_samples\":%" PRIu64 ",\"samples_without_event\":%" PRIu64 ",\"throttled\":%" PRIu64
              ",\"records_of_unknown_type\":%" PRIu64 "}\n",
              samples, lost.records, lost.samples, lost.filtered, counts.without_event, throttled, counts.unknown);
    return out.close(good ? success : bad_input);
  }
  for (const fault& one : damage)
    out.print("%s:%" PRIu64 ": %s; %" PRIu64 " bytes skipped\n", path.c_str(), one.offset, message(one.code),
              one.skipped);
  const auto line = [&](const char* name, std::uint64_t count) { out.print("%-24s %" PRIu64 "\n", name, count); };
  line("damaged places", damage.size());
  line("samples", samples);
  line("lost records", lost.records);
  line("lost samples", lost.samples);
  line("filtered samples", lost.filtered);
  line("samples without event", counts.without_event);
  line("throttled", throttled);
  line("records of unknown type", counts.unknown);
  out.print("%s: %s\n", path.c_str(), good ? "nothing is missing" : "something is missing");
  return out.close(good ? success : bad_input);
}

/// Every record where it stands, in the order of the file.
int dump(const arguments& asked) {
  data::recording_input recording;
  if (!recording.open(asked.path())) return bad_input;
  if (!recording.others.empty()) {
    say("backsight: %s: a directory is dumped file by file: give one of its files\n", asked.path().c_str());
    return usage;
  }
  output out("-");
  int code = success;
  std::uint64_t count = 0;
  const std::size_t width = asked.format == "text" && !asked.hex ? terminal_width() : 0;
  with_order(recording.trace.byte_order(), [&](auto o) {
    const auto records = recording.trace.template records<o()>();
    if (asked.format == "csv") {
      out.used(text::literal(csv_header_of_format<perf::perf_format<o()>>(out.room(16384)), "\n"));
    }
    for_each_salvaging(
        records,
        [&](const any_record<perf::perf_format<o()>>& item) {
          if (item.offset() < asked.begin.value_or(0) || item.offset() >= asked.end.value_or(~std::uint64_t{0})) return;
          if (asked.limit && count >= *asked.limit) return;
          ++count;
          if (asked.hex) {
            out.used(hex_dump(out.room(4096 + item.bytes().size() * 16), item));
            return;
          }
          char* const line = out.room(4096 + item.bytes().size() * 6);
          char* to = line;
          if (asked.format == "csv") to = csv_line(to, item);
          else if (asked.format == "json") to = json_line(to, item);
          else to = print(text::literal(text::decimal(to, item.offset(), 8), "  "), item);
          *to++ = '\n';
          if (width == 0 || static_cast<std::size_t>(to - line) <= width + 1) return out.used(to);
          const std::string folded = folded_text({line, static_cast<std::size_t>(to - line)}, width, 10);
          out.used(line);
          out.write(folded);
        },
        [&](const fault& damage) {
          report_fault(recording.path, damage);
          code = bad_input;
        });
  });
  return out.close(code);
}

/// What report, stacks and export read: the options that they share.
struct profile_input {
  data::stack_profile profile;
  int code = success;

  [[nodiscard]] bool read(const arguments& asked) {
    data::stack_options options;
    options.sysroots = asked.sysroots;
    std::vector<std::string> known;
    std::size_t shown = 0;
    for (const std::string& path : asked.paths) {
      data::recording_input recording;
      data::stack_counts counts;
      if (!recording.open(path)) {
        code = bad_input;
        continue;
      }
      // Values are those of events: other events count something else.
      for (const auto& event : recording.trace.events()) {
        const std::string name(event.name);
        if (shown == 0) known.push_back(name);
        if (std::ranges::find(known, name) != known.end()) continue;
        say("backsight: the samples of %s count %s, those of %s do not\n", path.c_str(), name.c_str(),
            asked.path().c_str());
        code = usage;
        return false;
      }
      ++shown;
      profile.begin_recording();
      code = std::max(code, data::read_profile(recording, options, profile, counts));
    }
    return shown != 0;
  }
  [[nodiscard]] std::string_view function(std::uint32_t number) const {
    const std::string_view both = profile.functions[number];
    return both.substr(0, both.rfind('\n'));
  }
  [[nodiscard]] std::uint64_t whole() const {
    std::uint64_t sum = 0;
    for (const auto& node : profile.nodes()) sum += node.self;
    return sum;
  }
};

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

/// The columns of values in front of what they are of; a share of all in text.
table make_table(output& out, const arguments& asked, const std::vector<std::string>& values, const std::string& of) {
  std::vector<table::column> columns;
  for (const std::string& value : values) columns.push_back({.key = value, .width = 16});
  columns.push_back({.key = of, .is_left = true, .is_name = true});
  return table(out, asked.format, std::move(columns), {.json_lines = true});
}
void share(table& to, std::uint64_t part, std::uint64_t whole) {
  char shown[32];
  std::snprintf(shown, sizeof shown, "%.2f%%", percent(part, whole));
  to.number(part, shown);
}

int report(const arguments& asked) {
  const std::string by = asked.by.empty() ? "function" : asked.by;
  profile_input input;
  if (!input.read(asked)) return input.code;
  const data::stack_profile& profile = input.profile;
  struct row {
    std::string_view name;
    std::uint64_t self = 0, total = 0, samples = 0;
  };
  std::vector<row> rows;
  if (by == "process") {
    for (const auto& one : profile.by_process)
      rows.push_back({one.name, one.all.value, one.all.value, one.all.samples});
  } else if (by == "thread" || by == "event") {
    const auto& names = by == "thread" ? profile.threads : profile.events;
    const auto& totals = by == "thread" ? profile.by_thread : profile.by_event;
    for (std::uint32_t i = 0; i < totals.size(); ++i)
      rows.push_back({names[i], totals[i].value, totals[i].value, totals[i].samples});
  } else {
    const bool functions = by == "function";
    rows.resize(functions ? profile.functions.size() : profile.modules.size());
    const auto place = [&](std::uint32_t function) { return functions ? function : profile.module_of[function]; };
    for (std::uint32_t i = 0; i < rows.size(); ++i)
      rows[i].name = functions ? input.function(i) : std::string_view(profile.modules[i]);
    // A row counts once for each stack that it is on, however often it is there: when the walk down the tree comes to
    // it first.
    const auto& nodes = profile.nodes();
    std::vector<std::uint64_t> total(nodes.size());
    for (std::size_t i = nodes.size(); i-- > 1;) {
      total[i] += nodes[i].self;
      total[nodes[i].parent] += total[i];
    }
    std::vector<std::vector<std::uint32_t>> children(nodes.size());
    for (std::uint32_t i = 1; i < nodes.size(); ++i) children[nodes[i].parent].push_back(i);
    std::vector<std::uint32_t> open(rows.size()), path{0};
    std::vector<std::size_t> next(nodes.size());
    while (!path.empty()) {
      const std::uint32_t at = path.back();
      if (next[at] < children[at].size()) {
        const std::uint32_t child = children[at][next[at]++];
        row& one = rows[place(nodes[child].function)];
        if (open[place(nodes[child].function)]++ == 0) one.total += total[child];
        one.self += nodes[child].self;
        one.samples += nodes[child].samples;
        path.push_back(child);
      } else {
        if (at != 0) --open[place(nodes[at].function)];
        path.pop_back();
      }
    }
  }
  const bool by_total = asked.sort == "sum";
  std::sort(rows.begin(), rows.end(), [&](const row& a, const row& b) {
    const std::uint64_t x = by_total ? a.total : a.self, y = by_total ? b.total : b.self;
    if (x != y) return x > y;
    return a.total != b.total ? a.total > b.total : a.name < b.name;
  });
  if (asked.limit && rows.size() > *asked.limit) rows.resize(static_cast<std::size_t>(*asked.limit));
  output out("-");
  const std::uint64_t whole = input.whole();
  table shown = make_table(out, asked, {"self", "children", "samples"}, by);
  for (const row& one : rows) {
    share(shown, one.self, whole);
    share(shown, one.total, whole);
    shown.number(one.samples).text(one.name).end_row();
  }
  shown.finish();
  return out.close(input.code);
}

int stacks(const arguments& asked) {
  profile_input input;
  if (!input.read(asked)) return input.code;
  const auto& nodes = input.profile.nodes();
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 1; i < nodes.size(); ++i) {
    if (nodes[i].self != 0) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return nodes[a].self != nodes[b].self ? nodes[a].self > nodes[b].self : a < b;
  });
  if (asked.limit && order.size() > *asked.limit) order.resize(static_cast<std::size_t>(*asked.limit));
  output out("-");
  const std::uint64_t whole = input.whole();
  table shown = make_table(out, asked, {"self", "samples"}, "stack");
  for (const std::uint32_t one : order) {
    std::string path;
    for (const std::uint32_t function : input.profile.path(one))
      path += (path.empty() ? "" : ";") + std::string(input.function(function));
    share(shown, nodes[one].self, whole);
    shown.number(nodes[one].samples).text(path).end_row();
  }
  shown.finish();
  return out.close(input.code);
}

int export_to(const arguments& asked) {
  if (asked.to == "perfetto") {
    data::recording_input recording;
    if (!recording.open(asked.path())) return bad_input;
    data::stack_options options;
    options.sysroots = asked.sysroots;
    data::stack_counts counts;
    output out(asked.output);
    const int code = data::write_perfetto(recording, options, out, counts);
    return out.close(code);
  }
  profile_input input;
  if (!input.read(asked)) return input.code;
  output out(asked.output);
  const auto& nodes = input.profile.nodes();
  std::string line;
  for (std::uint32_t i = 1; i < nodes.size(); ++i) {
    if (nodes[i].self == 0) continue;
    line.clear();
    for (const std::uint32_t function : input.profile.path(i)) {
      if (!line.empty()) line += ';';
      // The format has no escapes.
      for (const char c : input.function(function)) line += c == ';' ? ':' : c == '\n' || c == '\r' ? ' ' : c;
    }
    line += ' ' + std::to_string(nodes[i].self) + '\n';
    out.write(line);
  }
  return out.close(input.code);
}

bool detect(const std::string& path, byte_view head) { return data::is_recording(path, head); }

}  // namespace

const trace_format perf_format{.bit = perf_bit,
                               .name = "perf.data",
                               .a_trace = "a perf.data recording",
                               .tool = nullptr,
                               .detect = detect,
                               .info = info,
                               .dump = dump,
                               .report = report,
                               .stacks = stacks,
                               .graph = nullptr,
                               .export_to = export_to,
                               .replay = nullptr,
                               .check = check};

}  // namespace cli
