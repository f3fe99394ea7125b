// SPDX-License-Identifier: Apache-2.0
#include "uftrace_data.hpp"

#include <algorithm>
#include <ctime>
#include <iterator>

#include <sys/stat.h>

#include <backsight/core/text.hpp>

namespace cli {

using namespace backsight;
using uftrace::merged_record;
using uftrace::record_type;
using uftrace::tree_node;

namespace {

/// Folded stacks as `uftrace dump --flame-graph` prints them.
int export_folded(const arguments& from, const uftrace_data& data, text_out& out) {
  uftrace::resolver names(data.recording());
  uftrace::merge records(names, data.merging);
  uftrace::flame_graph graph(records, data.stacks());
  graph.run();
  report_faults(from, records);
  const uftrace::call_tree& tree = graph.tree();
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
      add_padded(out.text(), samples, 1);
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

/// `uftrace dump --chrome`.
class chrome_export {
 public:
  chrome_export(const arguments& from, const uftrace_data& data, text_out& out)
      : from_(from), recording_(data.recording()), names_(recording_),
        records_(names_, data.merging), stacks_(recording_, data.stacks()),
        values_(names_), out_(out), offset_(recording_.info.utc_offset() * 1'000'000'000) {}

  int run() {
    out_.text() += "{\"traceEvents\":[";
    out_.line();
    const auto comms = final_names(recording_);
    for (std::size_t i = 0; i < recording_.data.size(); ++i) {
      for (const char* kind : {"process_name", "thread_name"}) {
        add_format(out_.text(), "{\"ts\":0,\"ph\":\"M\",\"pid\":%u,\"name\":\"%s\",\"args\":{\"name\":\"[%u] %s\"}},", recording_.data[i].tid,
                   kind, recording_.data[i].tid, comms[i].c_str());
        out_.line();
      }
    }
    merged_record r;
    while (records_.next(r)) {
      if (records_.estimating() && r.source == uftrace::record_source::perf_file && (r.is_sched_in() || r.is_sched_out())) {
        uftrace::function_report::estimate_exit(records_, stacks_, r);
      }
      stacks_.consume(r);
      step(r);
    }
    finish();
    report_faults(from_, records_);
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
    for (const char c : name) {
      if (c == '"' || c == '\\') out_.text() += '\\';
      out_.text() += c;
    }
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
    values_.values(text, r, uftrace::text_style::chrome);
    if (text.size() - before > 2047) text.resize(before + 2047);
    text += entry ? ")\"}" : "\"}";
  }

  void row(const merged_record& r, char phase, std::string_view name) {
    separate();
    begin(r.data_index, r.time, phase, name);
    add_values(r);
    out_.text() += '}';
  }

  void step(const merged_record& r) {
    uftrace::task_stack& t = stacks_.of(r);
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
    if (!uftrace::call_stacks::show_event(t)) return;
    if (r.address == uftrace::sched_out) row(r, 'B', "linux:schedule");
    else if (r.is_sched_in()) row(r, 'E', "linux:schedule");
    else if (r.address == uftrace::task_name) comm(r);
  }

  void comm(const merged_record& r) {
    const std::uint32_t tid = recording_.data[r.data_index].tid;
    const std::uint32_t number = recording_.data[r.data_index].task;
    const bool main = number == uftrace::task_data::no_task || recording_.tasks[number].pid == tid;
    const std::string name(uftrace::detail::as_text(r.payload));
    separate();
    if (main) {
      add_format(out_.text(), "{\"ts\":0,\"ph\":\"M\",\"pid\":%u,\"name\":\"process_name\",\"args\":{\"name\":\"%s\"}},", tid, name.c_str());
      out_.line();
      add_format(out_.text(), "{\"ts\":0,\"ph\":\"M\",\"pid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":\"%s\"}}", tid, name.c_str());
    } else {
      add_format(out_.text(), "{\"ts\":0,\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":\"[%u] %s\"}}",
                 recording_.tasks[number].pid, tid, tid, name.c_str());
    }
  }

  void finish() {
    for (std::uint32_t i = 0; i < stacks_.all().size(); ++i) {
      uftrace::task_stack& t = stacks_.all()[i];
      const std::uint64_t end = records_.closes_at() != 0 ? records_.closes_at() : t.consumed_time;
      for (; t.height > 0; --t.height) {
        const std::uint64_t address = stacks_.address(t, t.height - 1);
        if (address == 0 || stacks_.slot(t, t.height - 1) == nullptr) continue;
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
    struct stat status {};
    const bool known = ::stat((from_.path() + "/info").c_str(), &status) == 0;
    std::string when = known ? std::ctime(&status.st_mtime) : "";
    if (!when.empty()) when.pop_back();
    text += "\"recorded_time\":\"" + when + "\"";
    const std::string_view command = recording_.info.value("cmdline");
    if (!command.empty()) {
      text += ',';
      out_.line();
      text += "\"command_line\":\"";
      text += command;
      text += '"';
    }
    out_.line();
    text += "} }";
    out_.line();
  }

  const arguments& from_;
  const uftrace::recording& recording_;
  uftrace::resolver names_;
  uftrace::merge records_;
  uftrace::call_stacks stacks_;
  uftrace::value_writer values_;
  text_out& out_;
  std::uint64_t offset_;
  bool first_ = true;
};

}  // namespace

int uftrace_export(const arguments& from) {
  if (from.to != "folded" && from.to != "chrome") return report_error(from.path(), "a uftrace directory exports to folded or chrome"), usage;
  uftrace_data data;
  if (const int code = open_uftrace(from, data); code != success) return code;
  output to(from.output);
  to.write(data.notice);
  int code = success;
  {
    text_out out(to);
    code = from.to == "folded" ? export_folded(from, data, out) : chrome_export(from, data, out).run();
  }
  return to.close(code);
}

int uftrace_stacks(const arguments& from) {
  uftrace_data data;
  if (const int code = open_uftrace(from, data); code != success) return code;
  uftrace::resolver names(data.recording());
  uftrace::merge records(names, data.merging);
  uftrace::session_graph graph(records, data.stacks(), true);
  graph.run();
  report_faults(from, records);
  const auto& nodes = graph.tree().nodes();
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].parent != tree_node::none) order.push_back(i);
  }
  const auto self = [&](std::uint32_t i) { return nodes[i].time - std::min(nodes[i].time, graph.tree().child_time(i)); };
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return self(a) != self(b) ? self(a) > self(b) : a < b; });
  order.resize(std::min<std::size_t>(order.size(), static_cast<std::size_t>(from.limit.value_or(20))));
  output to(from.output);
  to.write(data.notice);
  {
    text_out out(to);
    std::string& text = out.text();
    const char separator = from.format == "csv" ? ',' : '\t';
    if (from.format == "text") text += "   Self time  Total time       Calls  Path\n";
    else if (from.format != "json") text += std::string("self_ns") + separator + "total_ns" + separator + "calls" + separator + "path\n";
    for (const std::uint32_t i : order) {
      std::vector<std::uint32_t> path;
      for (std::uint32_t at = i; nodes[at].parent != tree_node::none; at = nodes[at].parent) path.push_back(at);
      std::string joined;
      for (auto at = path.rbegin(); at != path.rend(); ++at) {
        if (!joined.empty()) joined += ';';
        joined += names.name(graph.tree().name(*at));
      }
      if (from.format == "text") {
        text += "  ";
        add_duration(text, self(i));
        text += "  ";
        add_duration(text, nodes[i].time);
        text += "  ";
        add_padded(text, nodes[i].calls, 10);
        text += "  ";
        text += joined;
      } else if (from.format == "json") {
        add_format(text, "{\"self_ns\":%llu,\"total_ns\":%llu,\"calls\":%llu,\"path\":", static_cast<unsigned long long>(self(i)),
                   static_cast<unsigned long long>(nodes[i].time), static_cast<unsigned long long>(nodes[i].calls));
        (void)backsight::text::quoted(std::back_inserter(text), byte_view(reinterpret_cast<const std::byte*>(joined.data()), joined.size()));
        text += '}';
      } else {
        add_padded(text, self(i), 1);
        text += separator;
        add_padded(text, nodes[i].time, 1);
        text += separator;
        add_padded(text, nodes[i].calls, 1);
        text += separator;
        text += joined;
      }
      out.line();
    }
  }
  return to.close(success);
}

}  // namespace cli
