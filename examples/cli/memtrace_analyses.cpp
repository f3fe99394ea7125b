// SPDX-License-Identifier: Apache-2.0
// What a memtrace tells of the program: its working set, what is hot, how soon lines are used again, its opcodes, its
// system calls.
#include "memtrace_commands.hpp"

#include <algorithm>
#include <cinttypes>
#include <map>
#include <tuple>

#include <backsight/memtrace/access_counts.hpp>
#include <backsight/memtrace/analyzers.hpp>
#include <backsight/memtrace/opcode.hpp>
#include <backsight/memtrace/reuse.hpp>
#include <backsight/memtrace/syscalls.hpp>

#include "disassembler.hpp"
#include "memtrace_choice.hpp"
#include "memtrace_names.hpp"
#include "syscall_names.hpp"
#include "table.hpp"

namespace cli::memtrace {

namespace {

using namespace backsight;
using namespace backsight::memtrace;

constexpr table_look analysis_look{.gap = "  ", .json_object = true};

std::uint64_t line_size_of(const final_header& head) { return head.cache_line_size == 0 ? 64 : head.cache_line_size; }
std::uint64_t page_size_of(const final_header& head) { return head.page_size == 0 ? 4096 : head.page_size; }

std::string address_text(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, value);
  return text;
}
table::column hidden_in_text(const char* key) { return {.key = key, .not_in_text = true}; }

// working-set

struct touched {
  std::uint64_t instructions = 0, loads = 0, stores = 0;
  backsight::memtrace::working_set lines, pages;

  touched& operator+=(const touched& other) {
    instructions += other.instructions;
    loads += other.loads;
    stores += other.stores;
    lines.merge(other.lines);
    pages.merge(other.pages);
    return *this;
  }
};

void print_touched(table& to, const std::string& tid, const std::optional<std::uint64_t>& window, const touched& of) {
  to.text(tid).id(window).number(of.instructions).number(of.loads).number(of.stores);
  to.number(of.lines.data_lines())
      .number(of.pages.data_lines())
      .number(of.lines.code_lines())
      .number(of.pages.code_lines())
      .end_row();
}

// hot

struct hot_row {
  std::uint64_t address = 0, count = 0, loads = 0, stores = 0;
  std::string module{}, symbol{};
};

void sort_hot(std::vector<hot_row>& rows, const arguments& asked) {
  std::ranges::sort(rows, [](const hot_row& a, const hot_row& b) {
    return std::tie(b.count, a.address, a.symbol, a.module) < std::tie(a.count, b.address, b.symbol, b.module);
  });
  if (asked.limit && rows.size() > *asked.limit) rows.resize(static_cast<std::size_t>(*asked.limit));
}

int hot_code(const arguments& asked, code_names& names) {
  choice wanted(asked);
  pc_counts counted;
  const int code = for_each_chosen_reference(
      asked, wanted, [&](const final_header&, const reference_place&, const reference& item) { counted.on(item); });
  if (code == usage) return code;
  std::uint64_t whole = 0;
  std::vector<hot_row> rows;
  std::map<std::pair<std::string, std::string>, hot_row> sums;
  const bool by_module = asked.by == "module", by_function = asked.by == "function";
  for (const auto& [pc, count] : counted.counts()) {
    whole += count;
    if (!by_module && !by_function) {
      rows.push_back({.address = pc, .count = count});
      continue;
    }
    code_names::name found = names.find(pc);
    hot_row& sum = sums[{by_function ? found.symbol : "", found.module}];
    sum.count += count;
    ++sum.loads;  // Here: how many instructions these are.
    sum.module = std::move(found.module);
    if (by_function) sum.symbol = std::move(found.symbol);
  }
  for (auto& [key, sum] : sums) rows.push_back(std::move(sum));
  sort_hot(rows, asked);
  output out("-");
  if (by_module || by_function) {
    std::vector<table::column> columns{{.key = "share", .width = 7, .text_only = true},
                                       {.key = "count", .width = 12},
                                       {.key = "instructions", .width = 12}};
    if (by_function) columns.push_back({.key = "function", .is_left = true, .is_name = true});
    columns.push_back({.key = "module", .is_left = true, .is_name = true});
    table to(out, asked.format, std::move(columns), analysis_look);
    for (const hot_row& row : rows) {
      to.share(row.count, whole).number(row.count).number(row.loads);
      const bool text = asked.format == "text";
      if (by_function) to.text(row.symbol.empty() && text ? "?" : row.symbol);
      to.text(row.module.empty() && text ? "?" : row.module).end_row();
    }
    to.finish();
    return out.close(code);
  }
  table to(out, asked.format,
           {{.key = "share", .width = 7, .text_only = true},
            {.key = "count", .width = 12},
            {.key = "pc", .width = 18},
            {.key = "place", .text_only = true, .is_left = true, .is_name = true},
            hidden_in_text("module"),
            hidden_in_text("offset"),
            hidden_in_text("symbol"),
            hidden_in_text("into_symbol")},
           analysis_look);
  for (const hot_row& row : rows) {
    const code_names::name found = names.find(row.address);
    to.share(row.count, whole).number(row.count).text(address_text(row.address));
    to.text(found.module.empty() ? "" : names.text(row.address)).text(found.module);
    if (found.module.empty()) to.empty();
    else to.text(address_text(found.offset));
    to.text(found.symbol);
    if (found.symbol.empty()) to.empty();
    else to.number(found.into);
    to.end_row();
  }
  to.finish();
  return out.close(code);
}

int hot_data(const arguments& asked) {
  choice wanted(asked);
  std::optional<block_counts> counted;
  const int code = for_each_chosen_reference(
      asked, wanted, [&](const final_header& head, const reference_place&, const reference& item) {
        if (!counted) counted.emplace(asked.by == "page" ? page_size_of(head) : line_size_of(head));
        counted->on(item);
      });
  if (code == usage) return code;
  std::vector<hot_row> rows;
  std::uint64_t whole = 0;
  if (counted) {
    for (const auto& [block, uses] : counted->counts()) {
      rows.push_back({.address = block * counted->block_size(),
                      .count = uses.loads + uses.stores,
                      .loads = uses.loads,
                      .stores = uses.stores});
      whole += uses.loads + uses.stores;
    }
  }
  sort_hot(rows, asked);
  output out("-");
  table to(out, asked.format,
           {{.key = "share", .width = 7, .text_only = true},
            {.key = "count", .width = 12},
            {.key = "loads", .width = 12},
            {.key = "stores", .width = 12},
            {.key = asked.by, .width = 18}},
           analysis_look);
  for (const hot_row& row : rows)
    to.share(row.count, whole)
        .number(row.count)
        .number(row.loads)
        .number(row.stores)
        .text(address_text(row.address))
        .end_row();
  to.finish(counted ? ",\n\"bytes\":" + std::to_string(counted->block_size()) : "");
  return out.close(code);
}

// reuse

/// The largest distance of the row that one is in: 0, 1, 2 to 3, 4 to 7 and so on.
std::uint64_t last_of_row(std::uint64_t distance) {
  std::uint64_t last = 0;
  while (last < distance) last = last * 2 + 1;
  return last;
}

// opcodes

std::string hex_bytes(byte_view bytes) {
  std::string text;
  for (const std::byte one : bytes) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%s%02x", text.empty() ? "" : " ", std::to_integer<unsigned>(one));
    text += digits;
  }
  return text;
}

/// The text by which instructions of these bytes are counted.
class opcode_texts {
 public:
  opcode_texts(const std::string& by, std::uint64_t type) : by_(by), type_(type), disassembler_(type) {}

  [[nodiscard]] bool has_mnemonics() const { return disassembler_.good(); }
  [[nodiscard]] std::string of(byte_view code) {
    if (code.empty()) return "(no bytes)";
    if (by_ == "mnemonic") return disassembler_.mnemonic(code);
    if (by_ == "bytes") return hex_bytes(code);
    if (by_ == "length") return std::to_string(code.size());
    // The opcode of another machine is spread over its instructions, of which these are the bytes then.
    const bool is_x86 = (type_ & (file_type::aarch64 | file_type::arm32 | file_type::arch_regdeps)) == 0;
    if (!is_x86) return hex_bytes(code);
    const x86_opcode found = x86_opcode_of(code, (type_ & file_type::x86_32) == 0);
    return found.size == 0 ? "(cut)" : hex_bytes(byte_view(found.bytes).first(found.size));
  }

 private:
  std::string by_;
  std::uint64_t type_;
  disassembler disassembler_;
};

}  // namespace

int working_sets(const arguments& asked) {
  choice wanted(asked);
  using key = std::pair<std::optional<std::uint64_t>, std::uint64_t>;
  std::map<key, touched> pieces;
  touched* now = nullptr;
  key here;
  std::uint64_t line = 0, page = 0;
  const int code = for_each_chosen_reference(
      asked, wanted, [&](const final_header& head, const reference_place& place, const reference& item) {
        const bool is_data = item.type == trace_type::read || item.type == trace_type::write;
        if (!is_data && !is_instruction(item.type)) return;
        if (now == nullptr || here != key{place.window, place.tid}) {
          if (line == 0) line = line_size_of(head), page = page_size_of(head);
          here = {place.window, place.tid};
          const touched fresh{.lines = backsight::memtrace::working_set(line),
                              .pages = backsight::memtrace::working_set(page)};
          now = &pieces.try_emplace(here, fresh).first->second;
        }
        now->lines.on(item);
        now->pages.on(item);
        ++(is_data ? item.type == trace_type::read ? now->loads : now->stores : now->instructions);
      });
  if (code == usage) return code;
  output out("-");
  table to(out, asked.format,
           {{.key = "tid", .width = 8},
            {.key = "window", .width = 6, .narrow = "win"},
            {.key = "instructions", .width = 12, .narrow = "instrs"},
            {.key = "loads", .width = 10},
            {.key = "stores", .width = 10},
            {.key = "data_lines", .width = 10, .narrow = "lines"},
            {.key = "data_pages", .width = 10, .narrow = "pages"},
            {.key = "code_lines", .width = 10, .narrow = "c.lines"},
            {.key = "code_pages", .width = 10, .narrow = "c.pages"}},
           analysis_look);
  touched all{.lines = backsight::memtrace::working_set(line), .pages = backsight::memtrace::working_set(page)};
  for (auto at = pieces.begin(); at != pieces.end();) {
    const auto window = at->first.first;
    touched sum{.lines = backsight::memtrace::working_set(line), .pages = backsight::memtrace::working_set(page)};
    std::size_t threads = 0;
    for (; at != pieces.end() && at->first.first == window; ++at, ++threads) {
      print_touched(to, std::to_string(at->first.second), window, at->second);
      sum += at->second;
    }
    if (threads > 1) print_touched(to, "*", window, sum);
    all += sum;
  }
  if (pieces.size() > 1) print_touched(to, "all", std::nullopt, all);
  to.finish(",\n\"line_bytes\":" + std::to_string(line) + ",\"page_bytes\":" + std::to_string(page));
  return out.close(code);
}

int hot(const arguments& asked) {
  if (asked.by == "line" || asked.by == "page") return hot_data(asked);
  code_names names;
  const int read = names.open(asked);
  if (read != success && !names.has_modules()) return read;
  if ((asked.by == "module" || asked.by == "function") && !names.has_modules()) {
    say("%s: no modules.log is beside it, which --by %s needs; --modules names one\n", asked.path().c_str(),
        asked.by.c_str());
    return usage;
  }
  return std::max(read, hot_code(asked, names));
}

int reuse(const arguments& asked) {
  choice wanted(asked);
  std::map<std::uint64_t, reuse_distance> threads;
  std::uint64_t line = 0;
  const int code = for_each_chosen_reference(
      asked, wanted, [&](const final_header& head, const reference_place& place, const reference& item) {
        if (line == 0) line = line_size_of(head);
        threads.try_emplace(place.tid, line).first->second.on(item);
      });
  if (code == usage) return code;
  distance_histogram all, data;
  std::uint64_t references = 0, lines = 0;
  for (const auto& [tid, one] : threads) {
    all += one.all();
    data += one.data();
    references += one.references();
    lines += one.lines();
  }
  struct row {
    std::uint64_t from, to, count = 0, data = 0;
  };
  std::vector<row> rows;
  for (const auto& [distance, count] : all.counts()) {
    const std::uint64_t last = asked.by == "distance" ? distance : last_of_row(distance);
    if (rows.empty() || rows.back().to != last)
      rows.push_back({asked.by == "distance" ? distance : (last + 1) / 2, last});
    rows.back().count += count;
    const auto found = data.counts().find(distance);
    if (found != data.counts().end()) rows.back().data += found->second;
  }
  output out("-");
  if (asked.format == "text") {
    out.print("references  %" PRIu64 " of %zu threads to %" PRIu64 " lines of %" PRIu64 " bytes\n", references,
              threads.size(), lines, line);
    out.print("distance    mean %.2f, median %" PRIu64 "; of data mean %.2f, median %" PRIu64 "\n\n", all.mean(),
              all.median(), data.mean(), data.median());
  }
  table to(out, asked.format,
           {{"from", {}, 10},
            {"to", {}, 10},
            {"count", {}, 12},
            {"share", {}, 8, false, true},
            {"up to here", {}, 10, false, true},
            {"data", {}, 12}},
           analysis_look);
  std::uint64_t seen = 0;
  for (const row& one : rows) {
    seen += one.count;
    to.number(one.from).number(one.to).number(one.count).share(one.count, all.uses()).share(seen, all.uses());
    to.number(one.data).end_row();
  }
  char more[256];
  std::snprintf(more, sizeof more,
                ",\n\"references\":%" PRIu64 ",\"threads\":%zu,\"lines\":%" PRIu64 ",\"line_bytes\":%" PRIu64
                ",\"mean\":%.6f,\"median\":%" PRIu64 ",\"data_mean\":%.6f,\"data_median\":%" PRIu64,
                references, threads.size(), lines, line, all.mean(), all.median(), data.mean(), data.median());
  to.finish(more);
  return out.close(code);
}

int opcodes(const arguments& asked) {
  choice wanted(asked);
  encoding_counts counted;
  std::map<trace_type, std::uint64_t> kinds;
  std::optional<std::uint64_t> type;
  const bool by_kind = asked.by == "kind";
  const int code = for_each_chosen_reference(
      asked, wanted, [&](const final_header& head, const reference_place&, const reference& item) {
        if (!type) type = head.file_type;
        if (!by_kind) counted.on(item);
        else if (is_instruction(item.type)) ++kinds[item.type];
      });
  if (code == usage) return code;
  opcode_texts texts(asked.by.empty() ? "opcode" : asked.by, type.value_or(0));
  if (asked.by == "mnemonic" && type && !texts.has_mnemonics()) {
    say("backsight: there is no disassembler (capstone) for instructions of this trace; what needs none is --by "
        "opcode, bytes, length and kind\n");
    return usage;
  }
  std::map<std::string, std::uint64_t> sums;
  for (const auto& [kind, count] : kinds) sums[enumerator_name(kind)] += count;
  std::uint64_t without = 0;
  for (const auto& [encoding, count] : counted.counts()) {
    sums[texts.of(byte_view(encoding.bytes).first(encoding.size))] += count;
    if (encoding.size == 0) without += count;
  }
  std::vector<std::pair<std::uint64_t, std::string>> rows;
  std::uint64_t whole = 0;
  for (const auto& [text, count] : sums) rows.emplace_back(count, text), whole += count;
  std::ranges::sort(
      rows, [](const auto& a, const auto& b) { return std::tie(b.first, a.second) < std::tie(a.first, b.second); });
  if (asked.limit && rows.size() > *asked.limit) rows.resize(static_cast<std::size_t>(*asked.limit));
  output out("-");
  table to(out, asked.format,
           {{.key = "share", .width = 7, .text_only = true},
            {.key = "count", .width = 12},
            {.key = asked.by.empty() ? "opcode" : asked.by, .is_left = true, .is_name = true}},
           analysis_look);
  for (const auto& [count, text] : rows) to.share(count, whole).number(count).text(text).end_row();
  to.finish(",\n\"instructions\":" + std::to_string(whole) + ",\"without_bytes\":" + std::to_string(without));
  if (without != 0) note("%s: %" PRIu64 " instructions are without their bytes\n", asked.path().c_str(), without);
  return out.close(code);
}

int syscalls(const arguments& asked) {
  choice wanted(asked);
  std::map<std::uint64_t, syscall_counts> threads;
  std::uint64_t type = 0;
  const int code = for_each_chosen_reference(
      asked, wanted, [&](const final_header& head, const reference_place& place, const reference& item) {
        type = head.file_type;
        threads[place.tid].on(item);
      });
  if (code == usage) return code;
  std::map<std::uint64_t, std::pair<syscall_counts::uses, std::uint64_t>> sums;
  for (const auto& [tid, one] : threads) {
    for (const auto& [number, uses] : one.counts()) {
      sums[number].first += uses;
      ++sums[number].second;
    }
  }
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, sum] : sums) numbers.push_back(number);
  std::ranges::stable_sort(numbers,
                           [&](std::uint64_t a, std::uint64_t b) { return sums[a].first.count > sums[b].first.count; });
  const syscall_table names = (type & file_type::x86_64) != 0    ? syscall_table::x86_64
                              : (type & file_type::aarch64) != 0 ? syscall_table::aarch64
                                                                 : syscall_table::none;
  output out("-");
  table to(out, asked.format,
           {{.key = "number", .width = 6},
            {.key = "count", .width = 10},
            {.key = "threads", .width = 7},
            {.key = "may_block", .width = 9},
            {.key = "failed", .width = 8},
            {.key = "timed", .width = 8},
            {.key = "time_us", .width = 12},
            {.key = "name", .is_left = true, .is_name = true}},
           analysis_look);
  for (const std::uint64_t number : numbers) {
    const auto& [uses, in] = sums[number];
    to.id(number)
        .number(uses.count)
        .number(in)
        .number(uses.may_block)
        .number(uses.failed)
        .number(uses.timed)
        .number(uses.time);
    to.text(syscall_name(names, number)).end_row();
  }
  to.finish();
  if (sums.empty() && (type & file_type::syscall_numbers) == 0)
    note("%s: the trace has no markers of system calls\n", asked.path().c_str());
  return out.close(code);
}

}  // namespace cli::memtrace
