// SPDX-License-Identifier: Apache-2.0
// info and dump of memtraces, raw and final.
#include <array>
#include <cinttypes>
#include <type_traits>

#include <backsight/core/hex_dump.hpp>
#include <backsight/core/table.hpp>
#include <backsight/memtrace/time_text.hpp>
#include <backsight/memtrace/trace.hpp>

#include "memtrace_choice.hpp"
#include "memtrace_commands.hpp"
#include "memtrace_input.hpp"
#include "program.hpp"

namespace cli {

namespace {

using namespace backsight;
using namespace backsight::memtrace;
using memtrace::stage;

/// Files of that stage are at the path.
bool has(const std::string& path, stage wanted) {
  for (const auto& folder : memtrace::folders_at(path)) {
    for (const std::string& file : folder.files) {
      // A missing library is for the command to report.
      const auto kind = memtrace::stage_of(file);
      if (kind.partial() == wanted) return true;
      if (wanted == stage::final && is_directory(path) && kind.error().code == errc::compressed) return true;
    }
  }
  return false;
}
bool detect_final(const std::string& path, byte_view) { return has(path, stage::final); }
/// A folder with final files too is one of these, which tell all.
bool detect_raw(const std::string& path, byte_view) { return has(path, stage::raw) && !has(path, stage::final); }

std::string names_of(std::uint64_t type) {
  std::string names;
  for (unsigned i = 0; i < 64; ++i) {
    if ((type >> i & 1U) == 0) continue;
    if (!names.empty()) names += ' ';
    const char* const name = file_type::name(i);
    names += name != nullptr ? name : "bit" + std::to_string(i);
  }
  return names;
}

/// How many records of each kind, with its name.
std::vector<std::pair<const char*, std::uint64_t>> kinds_of(const backsight::memtrace::trace& trace,
                                                            trace_error& error) {
  std::vector<std::pair<const char*, std::uint64_t>> named;
  trace.with_records([&]<class F>(const record_range<F>& range) {
    std::array<std::uint64_t, F::records::size> counts{};
    error = for_each(range, [&](const auto& item) { ++counts[item.kind()]; });
    for (std::size_t kind = 0; kind < counts.size(); ++kind) named.emplace_back(kind_name<F>(kind), counts[kind]);
  });
  return named;
}

void print_info(output& out, const arguments& asked, bool& first, const std::string& path, const char* kind,
                const std::vector<std::pair<const char*, std::uint64_t>>& facts, std::uint64_t type,
                const std::vector<std::pair<const char*, std::uint64_t>>& kinds) {
  if (asked.format == "json") {
    out.print("%s{\"file\":", first ? "[" : ",\n");
    first = false;
    text::quoted(output_iterator(out), std::as_bytes(std::span(path)));
    out.print(",\"kind\":\"%s\",\"file_type\":\"%s\"", kind, names_of(type).c_str());
    for (const auto& [name, value] : facts) out.print(",\"%s\":%" PRIu64, name, value);
    out.write(",\"records\":{");
    bool comma = false;
    for (const auto& [name, value] : kinds) {
      if (value == 0) continue;
      out.print("%s\"%s\":%" PRIu64, comma ? "," : "", name, value);
      comma = true;
    }
    out.write("}}");
    return;
  }
  out.print("%s: %s memtrace\n", path.c_str(), kind);
  out.print("  %-18s 0x%" PRIx64 " (%s)\n", "file type", type, names_of(type).c_str());
  for (const auto& [name, value] : facts) {
    out.print("  %-18s %" PRIu64, name, value);
    if (std::string_view(name) == "first_time" && value != 0) {
      std::string date;
      (void)print_utc(std::back_inserter(date), value);
      out.write(" (" + date + " UTC)");
    }
    out.write("\n");
  }
  for (const auto& [name, value] : kinds) {
    if (value != 0) out.print("  %12" PRIu64 " %s\n", value, name);
  }
}

/// Prints what a file is, if that can be told; `first` is false then.
int info_of_file(const std::string& path, const arguments& asked, bool& first, output& out) {
  const memtrace::loaded_file file(path);
  trace_error error = file.error();
  if (file.bytes().empty())
    return report_error(path, error ? error : trace_error{errc::truncated, 0}, memtrace::detail_of(path, error));
  const auto trace = backsight::memtrace::open(file.bytes());
  if (!trace) return report_error(path, trace.error());
  trace_error bad;
  const auto kinds = kinds_of(*trace, bad);
  const bool raw = trace->stage() == stage::raw;
  const file_start& start = trace->start();
  std::vector<std::pair<const char*, std::uint64_t>> facts{{"version", start.version},
                                                           {"tid", start.tid},
                                                           {"pid", start.pid},
                                                           {"cache_line_size", start.cache_line_size},
                                                           {"page_size", start.page_size}};
  if (!raw) facts.emplace_back("chunk_instr_count", trace->final_header().chunk_instr_count);
  facts.emplace_back("first_time", start.first_time);
  facts.emplace_back("bytes", file.bytes().size());
  print_info(out, asked, first, path, raw ? "raw" : "final", facts, start.file_type, kinds);
  if (!error) error = bad ? bad : trace->validate();
  return error ? report_error(path, error, memtrace::detail_of(path, error)) : success;
}

int info(const arguments& asked) {
  output out("-");
  int code = success;
  bool first = true;
  for (const auto& folder : memtrace::folders_at(asked.path())) {
    for (const std::string& path : folder.files) {
      if (info_of_file(path, asked, first, out) != success) code = bad_input;
    }
  }
  if (asked.format == "json" && !first) out.write("]\n");
  return out.close(code);
}

/// Whose a raw entry is, and of which window: that of the last WINDOW_ID at or before it.
class raw_place {
 public:
  explicit raw_place(const raw_file_header& head) : tid_(head.tid) {}
  template <class Item>
  void on(const Item& item) {
    if (item.template is<raw_marker>() &&
        item.template as<raw_marker>()[raw_marker::marker_type] == marker_type::window_id)
      window_ = item.template as<raw_marker>()[raw_marker::value];
  }
  [[nodiscard]] std::uint64_t tid() const { return tid_; }
  [[nodiscard]] const std::optional<std::uint64_t>& window() const { return window_; }

 private:
  std::uint64_t tid_;
  std::optional<std::uint64_t> window_;
};
/// The same of a final record.
template <class Address>
class final_place : public basic_record_place<Address> {
 public:
  template <class Item>
  void on(const Item& item) {
    basic_record_place<Address>::on(record<basic_entry<Address>, order::little>(item.bytes().data()));
  }
};

template <class Uniform, class Format, class Place>
int dump_range(const std::string& path, const record_range<Format>& range, const arguments& asked,
               memtrace::choice& wanted, Place place, output& out) {
  const output_iterator to(out);
  std::uint64_t left = asked.limit.value_or(~std::uint64_t{0});
  const std::uint64_t begin = asked.begin.value_or(0), end = asked.end.value_or(~std::uint64_t{0});
  if (asked.format == "csv" && !asked.hex) {
    out.write("offset,");
    csv_header<Uniform>(to);
    out.write("\n");
  }
  // A record that cannot be read is reported, and reading goes on behind it; both formats have records of fixed size.
  const std::size_t faults = for_each_salvaging(
      range,
      [&](const auto& item) {
        place.on(item);
        if (left == 0 || item.offset() < begin || item.offset() >= end || !wanted.has(place.window(), place.tid()))
          return;
        --left;
        if (asked.hex) {
          hex_dump(to, item);
          return;
        }
        if (asked.format == "json") {
          json_line(to, item);
        } else if (asked.format == "csv") {
          text::decimal(to, item.offset());
          out.write(",");
          csv_line(to, record<Uniform, order::little>(item.bytes().data()));
        } else {
          text::hexadecimal(to, item.offset(), 8);
          out.write(" ");
          print(to, item);
        }
        out.write("\n");
      },
      [&](const fault& f) { report_fault(path, f); });
  return faults == 0 ? success : bad_input;
}

int dump(const arguments& asked) {
  output out("-");
  int code = success;
  memtrace::choice wanted(asked);
  for (const auto& folder : memtrace::folders_at(asked.path())) {
    for (const std::string& path : folder.files) {
      const memtrace::loaded_file file(path);
      if (file.error()) code = report_error(path, file.error(), memtrace::detail_of(path, file.error()));
      const auto trace = backsight::memtrace::open(file.bytes());
      trace_error bad = trace.error();
      if (trace) {
        const int dumped = trace->with_records([&]<class F>(const record_range<F>& records) {
          using uniform = typename F::uniform;
          if constexpr (std::is_same_v<uniform, raw_entry>) {
            return dump_range<uniform>(path, records, asked, wanted, raw_place(read_raw_header(file.bytes()).partial()),
                                       out);
          } else {
            constexpr bool is_narrow = std::is_same_v<uniform, basic_entry<std::uint32_t>>;
            using place = final_place<std::conditional_t<is_narrow, std::uint32_t, std::uint64_t>>;
            return dump_range<uniform>(path, records, asked, wanted, place(), out);
          }
        });
        if (dumped != success) code = bad_input;
        // Records that cannot be read were told one by one.
        if (const trace_error end = trace->validate(); end.code == errc::bad_end) bad = end;
      }
      if (bad && !file.error()) code = report_error(path, bad);
    }
  }
  return out.close(wanted.finish(code));
}

}  // namespace

const trace_format memtrace_format{.bit = final_bit,
                                   .name = "memtrace",
                                   .a_trace = "a memtrace",
                                   .tool = "drmemtrace",
                                   .detect = detect_final,
                                   .with_calls = memtrace::with_calls,
                                   .info = info,
                                   .dump = dump,
                                   .counts = memtrace::counts,
                                   .view = memtrace::view,
                                   .windows = memtrace::windows,
                                   .split = memtrace::split,
                                   .merge = memtrace::merge,
                                   .check = memtrace::check,
                                   .working_sets = memtrace::working_sets,
                                   .hot = memtrace::hot,
                                   .reuse = memtrace::reuse,
                                   .opcodes = memtrace::opcodes,
                                   .syscalls = memtrace::syscalls};

const trace_format raw_memtrace_format{.bit = raw_bit,
                                       .name = "raw memtrace",
                                       .a_trace = "a raw memtrace",
                                       .tool = "drmemtrace",
                                       .detect = detect_raw,
                                       .info = info,
                                       .dump = dump,
                                       .counts = memtrace::counts,
                                       .windows = memtrace::windows,
                                       .check = memtrace::check};

}  // namespace cli
