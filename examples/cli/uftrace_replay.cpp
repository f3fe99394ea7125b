// SPDX-License-Identifier: Apache-2.0
// The trace of calls, indented, as `uftrace replay` prints it. Source of the rules: uftrace's cmds/replay.c.
#include "uftrace_data.hpp"

#include <algorithm>
#include <cstdlib>

#include <unistd.h>

namespace cli {

using namespace backsight;
using as_uftrace::task_stack;
using uftrace::merged_record;
using uftrace::record_type;
using uftrace::special_function;

namespace {

enum class column : unsigned { duration, tid, address, time, delta, elapsed, task, module_name, count };
struct column_text {
  const char* name;
  const char* header;
  std::size_t width;
};
constexpr column_text columns[] = {{"duration", " DURATION ", 10},  {"tid", "   TID   ", 9},
                                   {"addr", "   ADDRESS  ", 12},    {"time", "     TIMESTAMP    ", 18},
                                   {"delta", " TIMEDELTA", 10},     {"elapsed", "  ELAPSED ", 10},
                                   {"task", "      TASK NAME", 15}, {"module", "     MODULE NAME", 16}};

uftrace::merge_options with_external(uftrace::merge_options options) {
  options.external = true;
  return options;
}

/// Prints one recording. The state beside the stacks that only the replay has.
class replay {
 public:
  replay(const arguments& from, const uftrace_data& data, output& to)
      : from_(from),
        data_(data),
        recording_(data.recording()),
        exact_(from.as == "uftrace"),
        names_(recording_),
        records_(names_, with_external(data.merging)),
        stacks_(recording_, data.stacks()),
        values_(names_, exact_),
        out_(to),
        tasks_(recording_.data.size()) {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const std::uint32_t number = recording_.data[i].task;
      if (number != uftrace::task_data::no_task) tasks_[i].comm = recording_.tasks[number].comm;
    }
    merging_ = !from.no_merge;
    colored_ = !exact_ && from.output == "-" && to.colored();
    first_ = data.first_time;
    if (data.merging.from != 0) {
      for (task_stack& t : stacks_.all()) t.depth_known = false;
    }
  }

  int run() {
    if (!choose_columns()) return usage;
    stacks_.follow(records_);
    header();
    merged_record r;
    while (next(r)) {
      if (stacks_.of(r).outside_program) continue;
      switch (r.type) {
        case record_type::entry: entry(r); break;
        case record_type::exit: exit(r); break;
        case record_type::event: event(r); break;
        case record_type::lost: lost(r); break;
      }
    }
    remaining();
    out_.flush();
    report_faults(data_, records_);
    return success;
  }

 private:
  struct task_more {
    std::uint64_t previous = 0;  ///< time of the last record that may show
    std::uint64_t delta = 0;     ///< from the one before to that
    std::string comm;
    std::uint64_t callsite = 0;  ///< of the next entry; 0 when there is none
  };

  bool choose_columns() {
    std::string_view rest = from_.fields;
    if (rest.empty()) {
      // A range of time brings the time of each line along, in front, and of the kind in which it was given.
      if (!from_.range.empty())
        order_.push_back(from_.range.find_first_of("nums") == std::string::npos ? column::time : column::elapsed);
      order_.insert(order_.end(), {column::duration, column::tid});
      return true;
    }
    bool shown[std::size(columns)] = {};
    while (!rest.empty()) {
      const std::size_t comma = rest.find(',');
      const std::string_view name = rest.substr(0, comma);
      rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
      const auto at =
          std::find_if(std::begin(columns), std::end(columns), [&](const column_text& c) { return c.name == name; });
      if (at != std::end(columns)) shown[static_cast<std::size_t>(at - std::begin(columns))] = true;
      else if (name != "none") return report_error(from_.path(), "there is no column " + std::string(name)), false;
    }
    for (std::size_t i = 0; i < std::size(columns); ++i) {
      if (shown[i]) order_.push_back(static_cast<column>(i));
    }
    return true;
  }

  void header() {
    std::string& text = out_.text();
    bool first = true;
    for (const column one : order_) {
      const column_text& shown = columns[static_cast<std::size_t>(one)];
      text += first ? '#' : ' ';
      text += shown.header;
      first = false;
      width_ += shown.width + 1;
    }
    usual_columns_ = !colored_ && order_ == std::vector{column::duration, column::tid};
    if (!first) {
      text += "   FUNCTION";
      out_.line();
    }
  }

  /// The function of an entry or exit. Addresses of the kernel that no symbol covers show the 48 bits that uftrace
  /// keeps.
  const uftrace::function& function_of(const merged_record& r) {
    const uftrace::function& f = names_.find(r.data_index, r.time, r.address);
    if (f.known || r.source != uftrace::record_source::kernel_file) return f;
    return names_.find(r.data_index, r.time, r.address & 0xffffffffffff);
  }

  /// Looks at the next record and consumes it.
  bool next(merged_record& r) {
    if (records_.peek() == nullptr) return false;
    take(r);
    return true;
  }

  /// Consumes the record that was looked at.
  void take(merged_record& r) {
    records_.take(r);
    const bool program = !r.is_event() && r.source != uftrace::record_source::kernel_file;
    if ((program || stacks_.of(r).height != 0) && r.type != record_type::lost && (first_ == 0 || r.time < first_)) {
      first_ = r.time;
    }
    stacks_.consume(r);
    if (r.address == uftrace::task_name && r.source == uftrace::record_source::perf_file) {
      tasks_[r.data_index].comm = std::string(text::as_text(r.payload));
    }
  }

  struct prefix {
    std::uint64_t duration = 0, address = 0, time = 0, delta = 0, elapsed = 0;
    bool has_address = false;
  };

  /// What the columns of a line show for this record. Moves the task's time.
  prefix columns_of(const merged_record& r) {
    prefix p;
    p.time = r.time;
    task_more& more = tasks_[r.data_index];
    p.delta = more.previous == 0 ? 0 : r.time - more.previous;
    p.elapsed = r.time - first_;
    more.previous = r.time;
    more.delta = p.delta;
    return p;
  }

  void begin_line(const prefix& p, const merged_record& r, std::int64_t depth) {
    if (before_ > r.time && r.time != 0) {
      std::string& text = out_.text();
      text.append(width_, ' ');
      text += " |  ";
      text.append(static_cast<std::size_t>(std::max<std::int64_t>(stacks_.of(r).shown_depth + 1, 0)) * 2, ' ');
      text += "/* inverted time: broken data? */";
      out_.line();
    }
    before_ = r.time;
    std::string& text = out_.text();
    if (usual_columns_) {
      char line[64];
      line[0] = ' ';
      char* at = put_text(put_duration(line + 1, p.duration), " [");
      at = put_text(put_decimal(at, recording_.data[r.data_index].tid, 7), "] | ");
      text.append(line, at);
      if (depth > 0) text.append(static_cast<std::size_t>(depth) * 2, ' ');
      return;
    }
    for (const column one : order_) {
      text += ' ';
      switch (one) {
        case column::duration: add_duration(text, p.duration); break;
        case column::tid:
          if (colored_) out_.control("\033[" + std::to_string(31 + r.data_index % 6) + "m");
          text += '[';
          add_padded(text, recording_.data[r.data_index].tid, 7);
          text += ']';
          if (colored_) out_.control("\033[0m");
          break;
        case column::address:
          if (p.has_address) add_padded_hex(text, p.address & 0xffffffffffff, 12);
          else text.append(12, ' ');
          break;
        case column::time: add_time(text, p.time, 8); break;
        case column::delta: add_duration(text, p.delta); break;
        case column::elapsed: add_duration(text, p.elapsed); break;
        case column::task: add_format(text, "%15s", tasks_[r.data_index].comm.c_str()); break;
        case column::module_name: {
          const uftrace::function& f = names_.find(r.data_index, r.time, p.address);
          const std::string name(f.known && p.has_address ? text::base_name(recording_.objects[f.object].path)
                                                          : std::string_view{});
          add_format(text, "%16.16s", name.c_str());
          break;
        }
        case column::count: break;
      }
    }
    if (width_ != 0) text += " | ";
    if (depth > 0) text.append(static_cast<std::size_t>(depth) * 2, ' ');
  }

  /// Whether the next record that shows is the end of this one: then both go on one line. Records that would be hidden
  /// are consumed on the way, as uftrace does.
  bool ends_here(const merged_record& r, bool wait) {
    for (;;) {
      const merged_record* const next = records_.peek();
      if (next == nullptr || next->type == record_type::lost) return false;
      task_stack& t = stacks_.of(*next);
      // Nothing of the same file is passed over that lies as deep as this record or less deep, by the stored depth.
      const bool same_file = next->source == r.source && next->data_index == r.data_index;
      if (same_file && !wait && next->depth <= r.depth)
        return next->type == record_type::exit && next->depth == r.depth;
      if (next->source == uftrace::record_source::kernel_file && t.user_height == 0) {
        merged_record hidden;
        take(hidden);
        continue;
      }
      if (next->is_event()) {
        if (as_uftrace::call_stacks::show_event(t))
          return wait && next->is_sched_in() && next->data_index == r.data_index;
        merged_record hidden;
        take(hidden);
        continue;
      }
      if (next->type == record_type::entry) {
        const uftrace::function& f = names_.find(next->data_index, next->time, next->address);
        if (stacks_.would_show_entry(t, names_, f)) return false;
        merged_record hidden;
        take(hidden);
        stacks_.note(stacks_.of(hidden), f.special);
        (void)stacks_.show_entry(stacks_.of(hidden), names_, f);
        continue;
      }
      const as_uftrace::frame* const top = stacks_.slot(t, t.height - 1);
      if (t.started && top != nullptr && top->hidden) {
        merged_record hidden;
        take(hidden);
        (void)stacks_.show_exit(stacks_.of(hidden));
        continue;
      }
      return !wait && next->data_index == r.data_index && next->depth == r.depth;
    }
  }

  void add_name(const std::string& name, bool with_values) {
    std::string& text = out_.text();
    text += name;
    const bool call_operator = name.size() > 10 && name.ends_with("operator()");
    if (with_values || call_operator || !name.ends_with(')')) text += '(';
    else return;
    parenthesis_ = true;
  }

  /// ` /* from ... */` behind an entry that a call-site event went before.
  void add_callsite(const merged_record& r) {
    std::uint64_t& from = tasks_[r.data_index].callsite;
    if (from == 0) return;
    const uftrace::function& f = names_.find(r.data_index, r.time, from);
    if (f.known) {
      const uftrace::symbol& symbol = recording_.objects[f.object].symbols.symbols()[f.symbol];
      const std::uint32_t session = names_.session_of(r.data_index, r.time);
      std::uint64_t base = 0;
      if (const auto* const m = uftrace::resolver::find_mapped(recording_.sessions[session], from);
          m != nullptr && m->object == f.object)
        base = m->start;
      add_format(out_.text(), " /* from %s+%#llx */", names_.name(f.name).c_str(),
                 static_cast<unsigned long long>(from - base - symbol.address));
    }
    from = 0;
  }

  void entry(const merged_record& r) {
    task_stack& t = stacks_.of(r);
    const uftrace::function& f = function_of(r);
    stacks_.note(t, f.special);
    prefix p = columns_of(r);
    p.address = r.address;
    p.has_address = true;
    if (!stacks_.show_entry(t, names_, f)) return;
    if (!t.depth_known) {
      t.shown_depth = t.height - 1;
      t.depth_known = true;
    }
    const std::int64_t depth = t.shown_depth;
    const bool jumps = f.special == special_function::exec || f.special == special_function::longjmp;
    const std::string& name = names_.name(f.name);
    const std::int64_t level = t.height - 1;
    if (merging_ && !jumps && ends_here(r, false)) {
      merged_record end;
      take(end);
      (void)stacks_.show_exit(t);
      // uftrace takes the slot of the entry, also when a hidden longjmp made the exit pop another one.
      if (const as_uftrace::frame* const slot = stacks_.slot(t, exact_ ? level : t.height)) p.duration = slot->total;
      begin_line(p, r, depth);
      call(r, name);
      if (end.more) {
        out_.text() += " = ";
        limited([&](std::string& text) { values_.values(text, end, as_uftrace::text_style::replay); });
      }
      out_.text() += ';';
      add_callsite(r);
      out_.line();
      return;
    }
    begin_line(p, r, depth);
    call(r, name);
    out_.text() += " {";
    add_callsite(r);
    out_.line();
    ++t.shown_depth;
    stacks_.apply(t, f.special);
  }

  /// `name(arguments)`.
  void call(const merged_record& r, const std::string& name) {
    parenthesis_ = false;
    add_name(name, r.more);
    if (!parenthesis_) return;
    if (r.more) limited([&](std::string& text) { values_.values(text, r, as_uftrace::text_style::replay); });
    out_.text() += ')';
  }

  /// uftrace collects values in a buffer of 1024 characters.
  template <class F>
  void limited(F&& add) {
    std::string& text = out_.text();
    const std::size_t before = text.size();
    add(text);
    if (exact_ && text.size() - before > 1023) text.resize(before + 1023);
  }

  void exit(const merged_record& r) {
    task_stack& t = stacks_.of(r);
    prefix p = columns_of(r);
    if (!stacks_.show_exit(t)) return;
    if (!t.depth_known) {
      t.shown_depth = t.height + 1;
      t.depth_known = true;
    }
    if (t.shown_depth > 0) --t.shown_depth;
    const uftrace::function& f = function_of(r);
    if (const as_uftrace::frame* const slot = stacks_.slot(t, t.height)) p.duration = slot->total;
    p.address = stacks_.address(t, t.height);
    p.has_address = true;
    begin_line(p, r, t.shown_depth);
    std::string& text = out_.text();
    text += '}';
    if (r.more) {
      text += " = ";
      limited([&](std::string& to) { values_.values(to, r, as_uftrace::text_style::replay); });
      text += ';';
    }
    text += " /* ";
    text += names_.name(f.name);
    text += " */";
    out_.line();
  }

  void event(const merged_record& r) {
    task_stack& t = stacks_.of(r);
    if (!as_uftrace::call_stacks::show_event(t)) return;
    if (r.address == uftrace::callsite && r.source == uftrace::record_source::task_file) {
      tasks_[r.data_index].callsite =
          uftrace::unsigned_of(r.payload.first(std::min<std::size_t>(8, r.payload.size())), recording_.info.byte_order);
      return;
    }
    prefix p = columns_of(r);
    const std::int64_t depth = r.source == uftrace::record_source::external_file ? 0 : t.shown_depth;
    std::string& text = out_.text();
    if (r.is_sched_out() && merging_ && ends_here(r, true)) {
      merged_record end;
      take(end);
      if (const as_uftrace::frame* const slot = stacks_.slot(t, t.height)) p.duration = slot->total;
      begin_line(p, r, depth);
      text += r.address == uftrace::sched_out ? "/* linux:schedule */" : "/* linux:schedule (pre-empted) */";
      out_.line();
      return;
    }
    if (r.is_sched_in()) {
      if (const as_uftrace::frame* const slot = stacks_.slot(t, t.height)) p.duration = slot->total;
      p.address = stacks_.address(t, t.height);
      p.has_address = true;
    }
    begin_line(p, r, depth);
    text += "/* ";
    if (r.source == uftrace::record_source::kernel_file) {
      as_uftrace::add_kernel_event_name(text, recording_.kernel.header, r.address);
      text += " (";
      as_uftrace::add_kernel_event_text(text, recording_.kernel.header, r.address, r.payload);
      text += ") */";
      return out_.line();
    }
    values_.event_name(text, r.address);
    if (r.address == uftrace::external_data) {
      text += ": ";
      values_.event_text(text, r, true);
    } else if (r.more) {
      text += " (";
      values_.event_text(text, r, true);
      text += ')';
    }
    text += " */";
    out_.line();
  }

  void lost(const merged_record& r) {
    task_stack& t = stacks_.of(r);
    if (t.user_height != 0) {
      prefix p;
      p.elapsed = r.time - first_;
      // It has no time of its own: the columns repeat those of the task's last record.
      p.time = tasks_[r.data_index].previous;
      p.delta = tasks_[r.data_index].delta;
      begin_line(p, r, t.shown_depth + 1);
      if (static_cast<std::int64_t>(r.address) > 0)
        add_format(out_.text(), "/* LOST %llu records!! */", static_cast<unsigned long long>(r.address));
      else out_.text() += "/* LOST some records!! */";
      out_.line();
    }
    first_ = 0;
  }

  void remaining() {
    std::int64_t open = 0;
    const auto zeros = [&](const task_stack& t) {
      std::int64_t count = 0;
      while (count < t.height && stacks_.address(t, count) == 0) ++count;
      return count;
    };
    const auto skipped = [&](const task_stack& t) {
      if (t.height <= 0) return true;
      const std::uint64_t bottom = stacks_.address(t, 0);
      // The system call that ends a task never returns.
      if (!recording_.kernel.files.empty() && t.user_height == 0) {
        const std::uint32_t session = recording_.sessions.empty() ? uftrace::resolver::no_session : 0;
        const std::string& name = names_.name(names_.find_in_session(session, t.naming_time(), bottom).name);
        if (name.find("sys_exit") != std::string::npos || name == "do_syscall_64") return true;
      }
      return t.height == 1 && (bottom == uftrace::sched_out || bottom == uftrace::sched_out_preempted);
    };
    for (const task_stack& t : stacks_.all()) {
      if (!skipped(t)) open += t.height - zeros(t);
    }
    if (open == 0) return;
    std::string& text = out_.text();
    text += "\nuftrace stopped tracing with remaining functions\n================================================\n";
    for (std::uint32_t i = 0; i < stacks_.all().size(); ++i) {
      const task_stack& t = stacks_.all()[i];
      if (skipped(t)) continue;
      add_format(text, "task: %u\n", recording_.data[i].tid);
      const std::int64_t below = zeros(t);
      for (std::int64_t level = t.height - 1; level >= below; --level) {
        const std::uint64_t address = stacks_.address(t, level);
        add_format(text, "[%lld] ", static_cast<long long>(level - below));
        if (address == uftrace::sched_out || address == uftrace::sched_out_preempted) text += "linux:schedule";
        else
          text += names_.name(
              names_
                  .find(i, stacks_.slot(t, level) != nullptr ? stacks_.slot(t, level)->total : t.naming_time(), address)
                  .name);
        out_.line();
      }
      out_.line();
    }
  }

  const arguments& from_;
  const uftrace_data& data_;
  const uftrace::recording& recording_;
  bool exact_;
  uftrace::resolver names_;
  uftrace::merged_records records_;
  as_uftrace::call_stacks stacks_;
  as_uftrace::value_writer values_;
  text_out out_;
  std::vector<task_more> tasks_;
  std::vector<column> order_;
  std::size_t width_ = 0;
  bool usual_columns_ = false;  ///< duration and task, without colour
  bool merging_ = true, colored_ = false, parenthesis_ = false;
  std::uint64_t first_ = 0, before_ = 0;
};

}  // namespace

int uftrace_replay(const arguments& from) {
  uftrace_data data;
  if (const int code = open_uftrace(from, data); code != success) return code;
  if (from.begin) data.merging.from = *from.begin;
  if (from.end) data.merging.until = *from.end == 0 ? 0 : *from.end - 1;
  output to(from.output);
  to.write(data.notice);
  const int code = replay(from, data, to).run();
  return data.finish(to, code);
}

}  // namespace cli
