// SPDX-License-Identifier: Apache-2.0
#include "uftrace_data.hpp"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <span>

#include <sys/stat.h>

#include <backsight/core/escape.hpp>
#include <backsight/core/text.hpp>

namespace cli {

using namespace backsight;
using as_uftrace::tree_node;
using uftrace::merged_record;
using uftrace::record_type;

namespace {

/// Folded stacks as `uftrace dump --flame-graph` prints them.
int export_folded(const uftrace_data& data, text_out& out) {
  uftrace::resolver names(data.recording());
  uftrace::merged_records records(names, data.merging);
  as_uftrace::flame_graph graph(records, data.stacks());
  graph.run();
  report_faults(data, records);
  const as_uftrace::call_tree& tree = graph.tree();
  std::string path;
  std::vector<std::size_t> lengths;
  std::uint32_t at = tree.first_child(0);
  while (at != tree_node::none) {
    lengths.push_back(path.size());
    if (!path.empty()) path += ';';
    path += names.name(tree.name(at));
    if (const std::uint64_t samples = graph.samples(at); samples != 0) {
      out.text() += path;
      out.text() += ' ';
      std::string number = std::to_string(samples);
      // The newest uftrace has room for as many digits as the path is long.
      number.resize(std::min(number.size(), path.size()));
      out.text() += number;
      out.line();
    }
    if (tree.nodes()[at].last_child != tree_node::none) {
      at = tree.first_child(at);
      continue;
    }
    for (;;) {
      path.resize(lengths.back());
      lengths.pop_back();
      if (tree.next_sibling(at) != tree_node::none) break;
      at = tree.nodes()[at].parent;
      if (at == 0) break;
    }
    at = at == 0 ? tree_node::none : tree.next_sibling(at);
  }
  return success;
}

/// The text from `begin` on stands between quotes in JSON and is escaped, if all is well. What is not, because it was
/// cut or comes from a file that says otherwise, is escaped here.
void keep_in_quotes(std::string& text, std::size_t begin) {
  const std::string given = text.substr(begin);
  text.resize(begin);
  const auto is_hexadecimal = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  };
  for (std::size_t at = 0; at < given.size();) {
    std::size_t size = 0;
    const std::span<const char> rest(given.data() + at, given.size() - at);
    if (rest[0] == '\\' && rest.size() > 1) {
      if (std::string_view("\"\\/bfnrt").find(rest[1]) != std::string_view::npos) size = 2;
      if (rest[1] == 'u' && rest.size() > 5 && std::all_of(rest.begin() + 2, rest.begin() + 6, is_hexadecimal))
        size = 6;
    } else if (rest[0] != '"' && rest[0] != '\\') {
      const backsight::text::symbol found = backsight::text::symbol_at(rest, 0);
      if (found.valid && !found.is_control()) size = found.size;
    }
    if (size != 0) {
      text.append(given, at, size);
    } else {
      std::string escaped;
      (void)backsight::text::quoted(std::back_inserter(escaped), std::string_view(given).substr(at, size = 1));
      text.append(escaped, 1, escaped.size() - 2);
    }
    at += size;
  }
}

/// `uftrace dump --chrome`.
class chrome_export {
 public:
  chrome_export(const arguments& from, const uftrace_data& data, text_out& out)
      : from_(from),
        data_(data),
        recording_(data.recording()),
        names_(recording_),
        records_(names_, data.merging),
        stacks_(recording_, data.stacks()),
        values_(names_, !from.as.empty()),
        out_(out),
        offset_(recording_.info.utc_offset() * 1'000'000'000) {}

  int run() {
    stacks_.follow(records_);
    out_.text() += "{\"traceEvents\":[";
    out_.line();
    const auto comms = final_names(recording_);
    for (std::size_t i = 0; i < recording_.data.size(); ++i) {
      for (const char* kind : {"process_name", "thread_name"}) {
        add_format(out_.text(), "{\"ts\":0,\"ph\":\"M\",\"pid\":%u,\"name\":\"%s\",\"args\":{\"name\":\"[%u] ",
                   recording_.data[i].tid, kind, recording_.data[i].tid);
        add_name(comms[i]);
        out_.text() += "\"}},";
        out_.line();
      }
    }
    merged_record r;
    while (records_.next(r)) {
      stacks_.consume(r);
      step(r);
    }
    finish();
    report_faults(data_, records_);
    return success;
  }

 private:
  void separate() {
    if (!first_) {
      out_.text() += ',';
      out_.line();
    }
    first_ = false;
  }

  void add_name(std::string_view name) {
    for (const char c : name) as_uftrace::add_chrome_byte(out_.text(), static_cast<unsigned char>(c));
  }

  /// The row up to the name; `add_end` finishes it.
  void begin(std::uint32_t data_index, std::uint64_t time, char phase, std::string_view name) {
    const std::uint32_t tid = recording_.data[data_index].tid;
    const std::uint32_t number = recording_.data[data_index].task;
    const std::uint32_t pid = number == uftrace::task_data::no_task ? tid : recording_.tasks[number].pid;
    std::string& text = out_.text();
    time += offset_;
    text += "{\"ts\":";
    add_padded(text, time / 1000, 1);
    text += '.';
    const std::uint64_t part = time % 1000;
    text += static_cast<char>('0' + part / 100);
    text += static_cast<char>('0' + part / 10 % 10);
    text += static_cast<char>('0' + part % 10);
    text += ",\"ph\":\"";
    text += phase;
    text += "\",\"pid\":";
    add_padded(text, pid, 1);
    if (pid != tid) {
      text += ",\"tid\":";
      add_padded(text, tid, 1);
    }
    text += ",\"name\":\"";
    add_name(name);
    text += '"';
  }

  void add_values(const merged_record& r) {
    if (!r.more || r.is_event()) return;
    std::string& text = out_.text();
    const bool entry = r.type == record_type::entry;
    text += entry ? ",\"args\":{\"arguments\":\"(" : ",\"args\":{\"retval\":\"";
    const std::size_t before = text.size();
    values_.values(text, r, as_uftrace::text_style::chrome);
    if (text.size() - before > 2047) text.resize(before + 2047);
    keep_in_quotes(text, before);
    text += entry ? ")\"}" : "\"}";
  }

  void row(const merged_record& r, char phase, std::string_view name) {
    separate();
    begin(r.data_index, r.time, phase, name);
    add_values(r);
    out_.text() += '}';
  }

  void step(const merged_record& r) {
    as_uftrace::task_stack& t = stacks_.of(r);
    switch (r.type) {
      case record_type::entry: {
        const uftrace::function& f = names_.find(r.data_index, r.time, r.address);
        stacks_.note(t, f.special);
        if (!stacks_.show_entry(t, names_, f)) return;
        row(r, 'B', names_.name(f.name));
        stacks_.apply(t, f.special);
        return;
      }
      case record_type::exit:
        if (stacks_.show_exit(t)) row(r, 'E', names_.name(names_.find(r.data_index, r.time, r.address).name));
        return;
      case record_type::lost: separate(); return;
      case record_type::event: break;
    }
    if (!as_uftrace::call_stacks::show_event(t)) return;
    if (r.address == uftrace::sched_out) row(r, 'B', "linux:schedule");
    else if (r.is_sched_in()) row(r, 'E', "linux:schedule");
    else if (r.address == uftrace::task_name) comm(r);
  }

  void comm(const merged_record& r) {
    const std::uint32_t tid = recording_.data[r.data_index].tid;
    const std::uint32_t number = recording_.data[r.data_index].task;
    const bool main = number == uftrace::task_data::no_task || recording_.tasks[number].pid == tid;
    const std::string name(text::as_text(r.payload));
    separate();
    if (main) {
      add_format(out_.text(), "{\"ts\":0,\"ph\":\"M\",\"pid\":%u,\"name\":\"process_name\",\"args\":{\"name\":\"", tid);
      add_name(name);
      out_.text() += "\"}},";
      out_.line();
      add_format(out_.text(), "{\"ts\":0,\"ph\":\"M\",\"pid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":\"", tid);
    } else {
      add_format(out_.text(),
                 "{\"ts\":0,\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":\"[%u] ",
                 recording_.tasks[number].pid, tid, tid);
    }
    add_name(name);
    out_.text() += "\"}}";
  }

  void finish() {
    for (std::uint32_t i = 0; i < stacks_.all().size(); ++i) {
      as_uftrace::task_stack& t = stacks_.all()[i];
      const std::uint64_t end =
          records_.closes_at() != 0 ? std::min(records_.closes_at(), t.consumed_time) : t.consumed_time;
      while (t.height > 0) {
        --t.height;
        const std::uint64_t address = stacks_.address(t, t.height);
        const as_uftrace::frame* const frame = stacks_.slot(t, t.height);
        if (address == 0 || frame == nullptr || frame->total > end || !stacks_.show_exit(t)) continue;
        // Outside of the program's functions the kernel is not shown.
        if (t.user_height == 0 && names_.is_kernel(0, address)) continue;
        separate();
        begin(i, end, 'E', names_.name(names_.find(i, end, address).name));
        out_.text() += '}';
      }
    }
    std::string& text = out_.text();
    out_.line();
    text += "], \"displayTimeUnit\": \"ns\", \"metadata\": {";
    out_.line();
    text += "\"version\":\"uftrace ";
    text += uftrace_version;
    text += "\",";
    out_.line();
    struct stat status{};
    // A time whose year does not fit an int has no such text.
    const bool known = ::stat((from_.path() + "/info").c_str(), &status) == 0;
    const char* const time = known ? std::ctime(&status.st_mtime) : nullptr;
    std::string when = time != nullptr ? time : "";
    if (!when.empty()) when.pop_back();
    text += "\"recorded_time\":\"" + when + "\"";
    const std::string_view command = recording_.info.value("cmdline");
    if (!command.empty()) {
      text += ',';
      out_.line();
      text += "\"command_line\":\"";
      const std::size_t before = text.size();
      text += command;  // The recorder has escaped it.
      keep_in_quotes(text, before);
      text += '"';
    }
    out_.line();
    text += "} }";
    out_.line();
  }

  const arguments& from_;
  const uftrace_data& data_;
  const uftrace::recording& recording_;
  uftrace::resolver names_;
  uftrace::merged_records records_;
  as_uftrace::call_stacks stacks_;
  as_uftrace::value_writer values_;
  text_out& out_;
  std::uint64_t offset_;
  bool first_ = true;
};

}  // namespace

int uftrace_export(const arguments& from) {
  uftrace_data data;
  if (const int code = open_uftrace(from, data); code != success) return code;
  output to(from.output);
  to.write(data.notice);
  int code = success;
  {
    text_out out(to);
    code = from.to == "folded" ? export_folded(data, out) : chrome_export(from, data, out).run();
  }
  return data.finish(to, code);
}

}  // namespace cli
