// SPDX-License-Identifier: Apache-2.0
// view: a row for each record of a final memtrace, the threads merged by time.
#include "memtrace_commands.hpp"

#include <cinttypes>
#include <cstdlib>
#include <memory>
#include <set>
#include <unordered_map>

#include <backsight/core/lines.hpp>
#include <backsight/memtrace/references.hpp>
#include <backsight/memtrace/time_text.hpp>

#include "as/drmemtrace/view.hpp"
#include "disassembler.hpp"
#include "memtrace_choice.hpp"
#include "memtrace_input.hpp"
#include "memtrace_names.hpp"
#include "syscall_names.hpp"
#include "table.hpp"

namespace cli::memtrace {

namespace {

using namespace backsight;
using namespace backsight::memtrace;

/// A thread file that is being merged: the visible records, one ahead.
class input {
 public:
  explicit input(loaded_file file) : file_(std::move(file)), all_(file_.bytes()) { advance(); }

  [[nodiscard]] const std::optional<reference>& head() const { return head_; }
  /// The tid that the file states for the record in front; that of VERSION and FILETYPE is not known yet.
  void advance() {
    head_.reset();
    while (next_ < all_.size() && !head_) {
      place_.on(all_[next_]);
      head_ = builder_.next(all_[next_++]);
    }
  }
  /// Of the record in front.
  [[nodiscard]] const record_place& place() const { return place_; }
  /// The time of the record in front: that of the TIMESTAMP ahead while the file's first was not passed.
  std::uint64_t time = 0;
  [[nodiscard]] std::uint64_t first_time() const {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i][entry_record::type] == trace_type::marker &&
          all_[i][entry_record::size] == static_cast<std::uint16_t>(marker_type::timestamp)) {
        return all_[i][entry_record::addr];
      }
    }
    return 0;
  }

 private:
  loaded_file file_;
  entry_span all_;
  std::size_t next_ = 0;
  reference_builder builder_;
  record_place place_;
  std::optional<reference> head_;
};

/// What a viewer is given beside a record.
struct viewed_place {
  std::uint64_t tid = 0;
  std::optional<std::uint64_t> window;
  std::uint64_t time = 0;  ///< microseconds since 1601; 0 where none is known
};

std::string hexadecimal_of(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, value);
  return text;
}

/// The value of a marker is an address, or bits.
bool is_hexadecimal(marker_type type) {
  switch (type) {
    case marker_type::kernel_event:
    case marker_type::kernel_xfer:
    case marker_type::rseq_abort:
    case marker_type::rseq_entry:
    case marker_type::filetype:
    case marker_type::physical_address:
    case marker_type::virtual_address:
    case marker_type::physical_address_not_available:
    case marker_type::func_retaddr:
    case marker_type::func_arg:
    case marker_type::func_retval:
    case marker_type::uncompleted_instruction: return true;
    default: return false;
  }
}

/// The table of records.
class viewer {
 public:
  /// `earliest` is the time from which others are told.
  viewer(output& out, const arguments& asked, std::uint64_t type, std::uint64_t earliest, code_names& names)
      : disassembler_(type),
        type_(type),
        earliest_(earliest),
        names_(names),
        is_text_(asked.format == "text"),
        table_(out, asked.format,
               {{.key = "record", .width = 9},
                {.key = "instruction", .heading = "instr", .width = 9, .spare = 4},
                {.key = "time_us", .not_in_text = true},
                {.key = "after s", .width = 10, .text_only = true, .spare = 5},
                {.key = "tid", .heading = "thread", .width = 7},
                {.key = "window", .width = 6, .narrow = "win", .spare = 3},
                {.key = "what", .width = 18, .is_left = true},
                {.key = "size", .width = 4, .spare = 1},
                {.key = "pc", .width = 14},
                {.key = "address", .width = 14},
                {.key = "place", .width = 20, .text_only = true, .is_left = true, .is_name = true, .spare = 6},
                {.key = "detail", .text_only = true, .is_left = true, .is_name = true},
                {.key = "value", .not_in_text = true},
                {.key = "target", .not_in_text = true},
                {.key = "bytes", .not_in_text = true},
                {.key = "module", .not_in_text = true},
                {.key = "offset", .not_in_text = true},
                {.key = "symbol", .not_in_text = true},
                {.key = "into_symbol", .not_in_text = true},
                {.key = "text", .not_in_text = true}},
               {.gap = "  ", .json_lines = true}) {}

  /// Counts a record that is not shown.
  void pass(const reference& item) {
    ++records_;
    if (is_instruction(item.type)) ++instructions_;
  }

  void show(const reference& item, const viewed_place& place) {
    pass(item);
    const bool is_marker = item.type == trace_type::marker, is_exit = item.type == trace_type::thread_exit;
    const bool is_code = is_instruction(item.type) || item.type == trace_type::instr_no_fetch;
    table_.number(records_).number(instructions_);
    if (place.time == 0) table_.id(std::nullopt).text("-");
    else table_.id(place.time).text(seconds(place.time - earliest_));
    // VERSION and FILETYPE stand in front of the record that names the thread.
    table_.id(place.tid == 0 ? std::nullopt : std::optional(place.tid)).id(place.window).text(what(item));
    if (is_marker || is_exit) {
      table_.empty().empty().empty();
      if (is_text_) table_.text("").text(is_exit ? std::to_string(item.address) : marker_text(item));
      else table_.text("").text("").id(item.address).empty().text("").text("").empty().text("").empty().text("");
      table_.end_row();
      return;
    }
    const known_code& code = code_at(item, is_code);
    table_.id(item.size).text(code.pc);
    if (is_code) table_.empty();
    else table_.text(hexadecimal_of(item.address));
    const std::string target = item.branch_target ? hexadecimal_of(*item.branch_target) : "";
    table_.text(code.place);
    if (is_text_) {
      const std::string& said = code.text.empty() ? code.bytes : code.text;
      table_.text(!is_code ? "" : target.empty() ? said : said + " -> " + target).end_row();
      return;
    }
    table_.text("").empty();
    if (target.empty()) table_.empty();
    else table_.text(target);
    table_.text(is_code ? code.bytes : "").text(code.name.module);
    if (code.name.module.empty()) table_.empty();
    else table_.text(hexadecimal_of(code.name.offset));
    table_.text(code.name.symbol);
    if (code.name.symbol.empty()) table_.empty();
    else table_.number(code.name.into);
    table_.text(is_code ? code.text : "").end_row();
  }

  void finish() { table_.finish(); }

 private:
  /// What is known of an instruction, of which most run more than once.
  struct known_code {
    bool has_name = false, has_text = false;
    code_names::name name;
    std::string pc, place, bytes, text;
  };

  const known_code& code_at(const reference& item, bool is_code) {
    known_code& code = codes_[item.pc];
    if (!code.has_name) {
      code.has_name = true;
      code.pc = hexadecimal_of(item.pc);
      code.name = names_.find(item.pc);
      if (!code.name.module.empty()) code.place = names_.text(item.pc);
    }
    if (!is_code || (code.has_text && !item.encoding_is_new)) return code;
    code.has_text = true;
    code.bytes.clear();
    code.text.clear();
    if (item.encoding == nullptr) return code;
    for (std::size_t i = 0; i < item.encoding_size; ++i) {
      char digits[4];
      std::snprintf(digits, sizeof digits, "%s%02x", i == 0 ? "" : " ", std::to_integer<unsigned>(item.encoding[i]));
      code.bytes += digits;
    }
    code.text = disassembler_.text({item.encoding, item.encoding_size}, item.pc);
    return code;
  }

  static std::string seconds(std::uint64_t microseconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%" PRIu64 ".%06" PRIu64, microseconds / 1'000'000, microseconds % 1'000'000);
    return text;
  }
  static std::string what(const reference& item) {
    const char* const name =
        item.type == trace_type::marker ? enumerator_name(item.marker()) : enumerator_name(item.type);
    if (name != nullptr) return name;
    return (item.type == trace_type::marker ? "marker " : "entry ") +
           std::to_string(item.type == trace_type::marker ? item.size : static_cast<unsigned>(item.type));
  }
  std::string marker_text(const reference& item) {
    const std::uint64_t value = item.address;
    const marker_type type = item.marker();
    if (type == marker_type::timestamp) {
      std::string date;
      (void)print_utc(std::back_inserter(date), value);
      return date + " UTC";
    }
    if (type == marker_type::syscall) {
      const syscall_table table = (type_ & file_type::x86_64) != 0    ? syscall_table::x86_64
                                  : (type_ & file_type::aarch64) != 0 ? syscall_table::aarch64
                                                                      : syscall_table::none;
      const std::string name(syscall_name(table, value));
      return std::to_string(value) + (name.empty() ? "" : " " + name);
    }
    if (!is_hexadecimal(type)) return std::to_string(value);
    const std::string place = names_.has_modules() && type != marker_type::filetype ? names_.text(value) : "";
    const std::string digits = hexadecimal_of(value);
    return place.empty() || place == digits ? digits : digits + " " + place;
  }

  disassembler disassembler_;
  std::uint64_t type_, earliest_;
  code_names& names_;
  bool is_text_;
  table table_;
  std::uint64_t records_ = 0, instructions_ = 0;
  std::unordered_map<std::uint64_t, known_code> codes_;
};

/// The folder of a split set with that window; the first when there is none, or none was asked for.
const trace_folder& folder_of_window(const std::vector<trace_folder>& folders,
                                     const std::optional<std::uint64_t>& wanted) {
  for (const trace_folder& one : folders) {
    std::string_view name = one.window;
    const auto number = text::take(name, "window.") ? text::take_number(name, 10) : std::nullopt;
    if (wanted && number == wanted) return one;
  }
  return folders.front();
}

/// The threads of a trace and the time up to which they are merged.
struct merged_threads {
  std::vector<std::unique_ptr<input>> inputs;
  std::uint64_t file_type = 0;
  int code = success;

  [[nodiscard]] std::uint64_t earliest() const {
    std::uint64_t least = ~std::uint64_t{0};
    for (const auto& one : inputs) {
      if (one->time != 0) least = std::min(least, one->time);
    }
    return least;
  }

  void add(const std::string& path) {
    loaded_file file(path);
    const auto head = read_final_header(file.bytes());
    if (!head || head->address_size != 8) {
      const trace_error error = file.error() ? file.error()
                                : head       ? trace_error{errc::unsupported_type, 0}
                                             : head.error();
      code = report_error(path, error, detail_of(path, error));
      return;
    }
    const trace_error damage = file.error() ? file.error() : damage_of(file.bytes());
    if (damage) code = report_error(path, damage, detail_of(path, damage));
    if (inputs.empty()) file_type = head->file_type;
    inputs.push_back(std::make_unique<input>(std::move(file)));
    inputs.back()->time = inputs.back()->first_time();
  }

  /// Gives each record to `show(input)` or, when it was not asked for, to `pass(input)`, until `show` gave `limit` of
  /// them. The thread with the earliest time goes on until a TIMESTAMP that does not lie before that of another; of
  /// several with the same time the first goes first.
  template <class Show, class Pass>
  void for_each(choice& wanted, std::uint64_t limit, Show&& show, Pass&& pass) {
    std::set<std::pair<std::uint64_t, std::size_t>> waiting;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i]->head()) waiting.emplace(inputs[i]->time, i);
    }
    while (limit != 0 && !waiting.empty()) {
      const std::size_t number = waiting.extract(waiting.begin()).value().second;
      input& now = *inputs[number];
      const std::uint64_t next = waiting.empty() ? ~std::uint64_t{0} : waiting.begin()->first;
      for (bool first = true; now.head() && limit != 0; first = false) {
        if (!first && now.head()->is_marker(marker_type::timestamp)) {
          now.time = now.head()->address;
          if (now.time >= next) break;
        }
        if (wanted.has(now.place().window(), now.place().tid())) {
          show(now);
          --limit;
        } else {
          pass(now);
        }
        now.advance();
      }
      if (now.head()) waiting.emplace(now.time, number);
    }
  }
};

void view_as_drmemtrace(merged_threads& threads, choice& wanted, std::uint64_t limit, output& out) {
  as_drmemtrace::viewer shown(out, threads.file_type);
  threads.for_each(
      wanted, limit, [&](const input& now) { shown.show(*now.head()); },
      [&](const input& now) { shown.pass(*now.head()); });
  shown.finish();
}

int view_as_table(const arguments& asked, merged_threads& threads, choice& wanted, std::uint64_t limit, output& out) {
  code_names names;
  const int code = names.open(asked);
  const std::uint64_t earliest = threads.earliest();
  if (asked.format == "text" && earliest != ~std::uint64_t{0}) {
    std::string begin;
    (void)print_utc(std::back_inserter(begin), earliest);
    out.write("times after " + begin + " UTC\n");
  }
  viewer shown(out, asked, threads.file_type, earliest, names);
  threads.for_each(
      wanted, limit,
      [&](const input& now) { shown.show(*now.head(), {now.place().tid(), now.place().window(), now.time}); },
      [&](const input& now) { shown.pass(*now.head()); });
  shown.finish();
  return code;
}

}  // namespace

int view(const arguments& asked) {
  const std::vector<trace_folder> folders = folders_at(asked.path());
  if (folders.empty()) return report_error(asked.path(), "no memtraces are here");
  output out(asked.output);
  merged_threads threads;
  // One folder at a time: of a split set the first window.
  choice wanted(asked);
  const trace_folder& folder = folder_of_window(folders, asked.window);
  if (&folder == &folders.front() && !asked.window) note_first_folder(folders);
  for (const std::string& path : folder.files) threads.add(path);
  if (threads.inputs.empty()) return out.close(threads.code);
  const std::uint64_t limit = asked.limit.value_or(~std::uint64_t{0});
  if (asked.as == "drmemtrace") view_as_drmemtrace(threads, wanted, limit, out);
  else if (view_as_table(asked, threads, wanted, limit, out) != success) threads.code = bad_input;
  return out.close(wanted.finish(threads.code));
}

}  // namespace cli::memtrace
