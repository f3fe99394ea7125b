// SPDX-License-Identifier: Apache-2.0
#include "uftrace_data.hpp"

#include <algorithm>
#include <unordered_map>

namespace cli {

using namespace backsight;
using as_uftrace::tree_node;

namespace {

/// Prints a tree as `uftrace graph` does: a column for each ancestor with more than one child.
class graph_printer {
 public:
  graph_printer(const as_uftrace::call_tree& tree, const uftrace::resolver& names, text_out& out)
      : tree_(tree), names_(names), out_(out) {}

  void print(std::uint32_t root, std::string_view program) {
    std::string& text = out_.text();
    text += "  ";
    add_duration(text, tree_.nodes()[root].time);
    text += " : (1) ";
    text += program;
    out_.line();
    // The walk keeps its own stack: call trees may be thousands of levels deep.
    struct step {
      std::uint32_t node;
      bool in_column;
    };
    std::vector<step> open{{root, false}};
    std::uint32_t at = tree_.first_child(root);
    while (at != tree_node::none) {
      const tree_node& node = tree_.nodes()[at];
      const std::uint32_t first = tree_.first_child(node.parent);
      const bool last = tree_.next_sibling(at) == tree_node::none;
      const bool many = !(last && at == first);
      if (many && at == first) {
        columns_.push_back(true);
        open.back().in_column = true;
      } else if (many) {
        text += "             : ";
        indent(columns_.size());
        out_.line();
      }
      text += "  ";
      add_duration(text, node.time);
      text += " : ";
      if (many) {
        indent(columns_.size() - 1);
        text += " +-";
        if (last) columns_.back() = false;
      } else {
        indent(columns_.size());
      }
      text += '(';
      add_padded(text, node.calls, 1);
      text += ") ";
      text += names_.name(tree_.name(at));
      out_.line();
      if (node.last_child != tree_node::none) {
        open.push_back({at, false});
        at = tree_.first_child(at);
        continue;
      }
      while (tree_.next_sibling(at) == tree_node::none) {
        const step done = open.back();
        open.pop_back();
        if (done.in_column) columns_.pop_back();
        if (open.empty()) return;
        at = done.node;
      }
      at = tree_.next_sibling(at);
    }
  }

 private:
  void indent(std::size_t columns) {
    for (std::size_t i = 0; i < columns; ++i) out_.text() += columns_[i] ? " | " : "   ";
  }

  const as_uftrace::call_tree& tree_;
  const uftrace::resolver& names_;
  text_out& out_;
  std::vector<bool> columns_;
};

int print_graphs(const arguments& from, const uftrace_data& data, text_out& out) {
  const uftrace::recording& recording = data.recording();
  uftrace::resolver names(recording);
  uftrace::merged_records records(names, data.merging);
  as_uftrace::session_graph graph(records, data.stacks());
  graph.run();
  report_faults(data, records);
  if (graph.broken()) {
    const uftrace::task_data& file = recording.data[graph.broken_at().data_index];
    (void)report_error(from.path() + "/" + file.file, trace_error{errc::time_reversed, graph.broken_at().offset});
  }
  std::vector<std::size_t> order(recording.sessions.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const uftrace::session &x = recording.sessions[a], &y = recording.sessions[b];
    return x.pid != y.pid ? x.pid > y.pid : x.start_time > y.start_time;
  });
  std::string& text = out.text();
  bool any = false;
  for (const std::size_t i : order) {
    const uftrace::session& session = recording.sessions[i];
    const std::uint32_t root = graph.root(i);
    const tree_node& node = graph.tree().nodes()[root];
    const bool empty = node.time == 0 && node.last_child == tree_node::none;
    const std::string_view program = text::base_name(session.program);
    if (empty && !graph.seen(i)) continue;
    text += "# Function Call Graph for '";
    text += program;
    text += "' (session: ";
    text += session.sid;
    text += ")";
    out.line();
    any = true;
    if (empty) continue;
    text += "========== FUNCTION CALL GRAPH ==========\n# TOTAL TIME   FUNCTION\n";
    graph_printer(graph.tree(), names, out).print(root, program);
    out.line();
  }
  if (!any) {
    text += "uftrace: cannot find graph for '_start'";
    out.line();
    if (data.functions != nullptr || !from.filter_time.empty() || from.depth) {
      text += "\t please check your filter settings.";
      out.line();
    }
  }
  return graph.broken() && from.as.empty() ? bad_input : success;
}

/// A task in the tree of tasks.
struct task_times {
  std::uint64_t total = 0;  ///< nanoseconds from the first to the last shown record
  std::uint64_t self = 0;   ///< without waits
  bool seen = false;
};

/// `uftrace graph --task`: the times of tasks below the tasks that started them.
class task_graph {
 public:
  task_graph(const uftrace_data& data, text_out& out)
      : recording_(data.recording()),
        data_(data),
        filter_(data.merging.shorter_than),
        out_(out),
        times_(recording_.tasks.size()) {}

  int run() {
    measure();
    find_children();
    std::string& text = out_.text();
    text += "========== TASK GRAPH ==========\n# TOTAL TIME   SELF TIME     TID      TASK NAME\n";
    shown_.assign(recording_.tasks.size(), false);
    if (!recording_.tasks.empty()) print(0, 0);
    out_.line();
    if (!cut_) return success;
    return report_error(data_.path, "tasks below more than " + std::to_string(most_levels) + " others are left out");
  }

 private:
  /// A line is as long as its task is deep; so without a limit a chain of forks would make the square of its length.
  static constexpr int most_levels = 256;

  void measure() {
    uftrace::resolver names(recording_);
    uftrace::merge_options options = data_.merging;
    options.shorter_than = 0;
    uftrace::merged_records records(names, options);
    as_uftrace::call_stacks stacks(recording_, data_.stacks());
    std::vector<std::uint64_t> first(times_.size()), last(times_.size()), idle(times_.size()), since(times_.size());
    uftrace::merged_record r;
    stacks.follow(records);
    comms_ = std::vector<std::string>(times_.size());
    for (std::size_t i = 0; i < times_.size(); ++i) comms_[i] = recording_.tasks[i].comm;
    while (records.next(r)) {
      stacks.consume(r);
      as_uftrace::task_stack& t = stacks.of(r);
      const std::uint32_t number = recording_.data[r.data_index].task;
      if (number == uftrace::task_data::no_task) continue;
      if (r.address == uftrace::task_name && r.source == uftrace::record_source::perf_file) {
        comms_[number] = std::string(text::as_text(r.payload));
      }
      if (r.type == uftrace::record_type::entry) {
        const uftrace::function& f = names.find(r.data_index, r.time, r.address);
        stacks.note(t, f.special);
        if (!stacks.show_entry(t, names, f)) continue;
        stacks.apply(t, f.special);
      } else if (r.type == uftrace::record_type::exit) {
        if (!stacks.show_exit(t)) continue;
      } else if (r.type == uftrace::record_type::lost || !as_uftrace::call_stacks::show_event(t)) {
        continue;
      }
      if (!times_[number].seen) first[number] = r.time;
      times_[number].seen = true;
      last[number] = r.time;
      if (r.is_sched_out()) since[number] = r.time;
      if (r.is_sched_in()) {
        if (since[number] != 0) idle[number] += r.time - since[number];
        since[number] = 0;
      }
    }
    report_faults(data_, records);
    for (std::size_t i = 0; i < times_.size(); ++i) {
      if (since[i] != 0) idle[i] += last[i] - since[i];
      times_[i].total = last[i] - first[i];
      times_[i].self = times_[i].total - idle[i];
    }
  }

  /// Threads below their process, processes below the one that forked them.
  void find_children() {
    for (std::uint32_t i = 0; i < recording_.tasks.size(); ++i) {
      const uftrace::task& t = recording_.tasks[i];
      const std::uint32_t above = t.tid != t.pid ? t.pid : t.parent;
      if (above != 0 && above != t.tid && times_[i].total >= filter_) children_[above].push_back(i);
    }
  }

  void print(std::uint32_t number, int levels) {
    shown_[number] = true;
    const uftrace::task& t = recording_.tasks[number];
    std::string& text = out_.text();
    text += "  ";
    add_duration(text, times_[number].total);
    text += "  ";
    add_duration(text, times_[number].self);
    text += "  [";
    add_padded(text, t.tid, 7);
    text += "] :";
    text += ' ';
    text += indent_;
    text += comms_[number];
    out_.line();
    const auto found = children_.find(t.tid);
    const std::vector<std::uint32_t> none;
    const std::vector<std::uint32_t>& below = found == children_.end() ? none : found->second;
    if (levels == most_levels && !below.empty()) {
      cut_ = true;
      return;
    }
    bool after_fork = false;
    for (std::size_t i = 0; i < below.size(); ++i) {
      if (shown_[below[i]]) continue;  // It is said to lie below itself.
      const bool last = i + 1 == below.size();
      const bool is_fork = recording_.tasks[below[i]].tid == recording_.tasks[below[i]].pid;
      const std::string saved = columns_text_;
      if (is_fork || after_fork) line(saved + (is_fork ? " |    " : " | "));
      after_fork = is_fork;
      indent_ = saved + (is_fork ? " +----" : " +-");
      columns_text_ = saved + (last ? (is_fork ? "      " : "   ") : (is_fork ? " |    " : " | "));
      print(below[i], levels + 1);
      columns_text_ = saved;
    }
  }
  void line(const std::string& indent) {
    out_.text().append(35, ' ');
    out_.text() += " : ";
    out_.text() += indent;
    out_.line();
  }

  const uftrace::recording& recording_;
  const uftrace_data& data_;
  std::uint64_t filter_;
  text_out& out_;
  std::vector<task_times> times_;
  std::vector<std::string> comms_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> children_;  ///< by tid, in the order of task.txt
  std::string indent_, columns_text_;
  std::vector<bool> shown_;
  bool cut_ = false;
};

}  // namespace

int uftrace_graph(const arguments& from) {
  uftrace_data data;
  if (const int code = open_uftrace(from, data); code != success) return code;
  output to(from.output);
  to.write(data.notice);
  int code = success;
  {
    text_out out(to);
    code = from.by_task ? task_graph(data, out).run() : print_graphs(from, data, out);
  }
  return data.finish(to, code);
}

}  // namespace cli
