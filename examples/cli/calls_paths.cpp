// SPDX-License-Identifier: Apache-2.0
// stacks, graph and export: what is made of paths of calls, and of the calls in their order.
#include <algorithm>
#include <cinttypes>

#include <backsight/analysis/call_tree.hpp>
#include <backsight/analysis/neighbours.hpp>
#include <backsight/emit/chrome_json.hpp>
#include <backsight/emit/dot.hpp>
#include <backsight/emit/folded.hpp>
#include <backsight/emit/perfetto.hpp>
#include <backsight/emit/timeline.hpp>
#include <backsight/names/name_pattern.hpp>

#include "call_modules.hpp"
#include "call_table.hpp"

namespace cli {

using namespace backsight;

namespace {

/// The path of a node; in text with what calls itself told once, with how often.
std::string path_of(const analysis::call_tree& tree, analysis::call_tree::node_id id, const any_call_trace& trace,
                    bool folds) {
  std::string path;
  std::uint64_t last = 0;
  std::size_t times = 0;
  const auto end_run = [&] {
    if (times > 1) path += " x" + std::to_string(times);
  };
  for (const std::uint64_t function : tree.path(id)) {
    if (folds && times != 0 && function == last) {
      ++times;
      continue;
    }
    end_run();
    if (!path.empty()) path += ';';
    path += trace.function_name(function);
    last = function;
    times = 1;
  }
  end_run();
  return path;
}

void print_stacks(output& out, const call_input& input, const analysis::call_tree& tree, const any_call_trace& trace) {
  const arguments& asked = input.asked;
  std::vector<analysis::call_tree::node_id> order;
  std::uint64_t whole = 0;
  for (analysis::call_tree::node_id id = 1; id < tree.nodes().size(); ++id) {
    whole += tree.nodes()[id].self;
    if (tree.nodes()[id].count != 0) order.push_back(id);
  }
  std::ranges::stable_sort(order, [&](auto a, auto b) { return tree.nodes()[a].self > tree.nodes()[b].self; });
  const bool text = asked.format == "text";
  const std::size_t limit = static_cast<std::size_t>(asked.limit.value_or(text ? 20 : order.size()));
  if (order.size() > limit) order.resize(limit);
  const std::size_t width = text ? terminal_width() : 0;
  call_table to(out, asked, trace.unit(),
                {{.key = "self%", .width = 7, .text_only = true},
                 {.key = with_unit("self", trace.unit()), .heading = "self", .width = 10},
                 {.key = with_unit("total", trace.unit()), .heading = "total", .width = 10},
                 {.key = "count", .width = 9},
                 {.key = "path"}});
  constexpr std::size_t used = 7 + 2 + 10 + 2 + 10 + 2 + 9 + 2;
  for (const auto id : order) {
    const auto& node = tree.nodes()[id];
    const std::string path = path_of(tree, id, trace, text);
    to.share(node.self, whole).time(trace.to_ns(node.self)).time(trace.to_ns(node.total));
    to.cells().number(node.count);
    to.cells()
        .text(width == 0 || asked.full_names ? path : shortened(path, width > used + 20 ? width - used : 20))
        .end_row();
  }
  to.finish(what_lacks(trace, tree), input);
}

/// The callers and callees of the functions that fit.
int print_neighbours(output& out, const call_input& input, const analysis::call_tree& tree,
                     const any_call_trace& trace) {
  const arguments& asked = input.asked;
  const names::name_pattern wanted(asked.about, names::pattern_kind::glob, {});
  const auto found = analysis::neighbours_of(tree, [&](std::uint64_t function) {
    const std::string name(trace.function_name(function));
    return wanted.fits(name) || wanted.fits(name.substr(0, name.find('(')));
  });
  if (found.empty()) {
    say("%s: no function is called like %s\n", input.path.c_str(), asked.about.c_str());
    return usage;
  }
  call_table to(out, asked, trace.unit(),
                {{.key = "relation", .width = 8},
                 {.key = "count", .width = 9},
                 {.key = with_unit("total", trace.unit()), .heading = "total", .width = 10},
                 {.key = with_unit("self", trace.unit()), .heading = "self", .width = 10},
                 {.key = "about", .not_in_text = true},
                 {.key = "function", .is_left = true, .is_name = true}});
  for (const auto& [function, of] : found) {
    const std::string about(trace.function_name(function));
    const auto row = [&](const char* relation, const analysis::neighbours::sums& sum, std::string_view name) {
      to.cells().text(relation).number(sum.count);
      to.time(trace.to_ns(sum.total)).time(trace.to_ns(sum.self));
      to.cells().text(about).text(name).end_row();
    };
    const auto all = [&](const char* relation, const std::map<std::uint64_t, analysis::neighbours::sums>& sums) {
      std::vector<std::pair<std::uint64_t, analysis::neighbours::sums>> order(sums.begin(), sums.end());
      std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.second.total > b.second.total; });
      for (const auto& [other, sum] : order) row(relation, sum, std::string(trace.function_name(other)));
    };
    all("caller", of.callers);
    if (of.outermost.count != 0) row("caller", of.outermost, "");
    row("itself", of.own, about);
    all("callee", of.callees);
  }
  to.finish(what_lacks(trace, tree), input);
  return success;
}

int write_graph(const any_call_trace& trace, call_input& input) {
  const bool by_module = input.asked.by == "module";
  module_numbers modules(trace);
  if (by_module && !modules.prepare(input)) return int{usage};
  const auto tree = analyze(input, analysis::call_tree());
  const int code = input.finish();
  if (code == usage) return code;
  output out(input.asked.output);
  if (by_module) {
    emit::dot(
        output_iterator(out), tree, [&](std::uint64_t number) { return std::string_view(modules.name(number)); },
        [&](output_iterator to, std::uint64_t time) {
          to = text::literal(text::decimal(to, trace.to_ns(time)), " ");
          return text::literal(to, unit_name(trace.unit()));
        },
        [&](std::uint64_t function) { return modules.number_of(function); });
  } else {
    emit::dot(output_iterator(out), tree, trace);
  }
  const int done = out.close(code);
  say_what_lacks(input.path, what_lacks(trace, tree));
  return done;
}

/// Times of Chrome's and Perfetto's tracks start with the trace's, whatever clock it has.
template <class Emitter>
void write_timeline(const any_call_trace& trace, call_input& input, Emitter emitter) {
  const auto note = [&](std::string_view file, const fault& found) { input.notes.add(file, found); };
  trace.for_each_fault(note);
  emit::timeline(emitter, trace, note);
  emitter.finish();
}

}  // namespace

int show_stacks(const arguments& asked, const trace_format& format) {
  const auto body = [](const any_call_trace& trace, call_input& input) {
    const auto tree = analyze(input, analysis::call_tree());
    const int code = input.finish();
    if (code == usage) return code;
    output out("-");
    print_stacks(out, input, tree, trace);
    const int done = out.close(code);
    say_what_lacks(input.path, what_lacks(trace, tree));
    return done;
  };
  return format.with_calls(asked, body);
}

int show_graph(const arguments& asked, const trace_format& format) {
  const auto body = [](const any_call_trace& trace, call_input& input) {
    if (input.asked.about.empty()) return write_graph(trace, input);
    const auto tree = analyze(input, analysis::call_tree(true));
    const int code = input.finish();
    if (code == usage) return code;
    output out(input.asked.output);
    const int shown = print_neighbours(out, input, tree, trace);
    const int done = out.close(shown == success ? code : shown);
    say_what_lacks(input.path, what_lacks(trace, tree));
    return done;
  };
  return format.with_calls(asked, body);
}

int export_calls(const arguments& asked, const trace_format& format) {
  const auto body = [](const any_call_trace& trace, call_input& input) {
    const std::string& to = input.asked.to;
    if (to == "dot") return write_graph(trace, input);
    if (to == "folded") {
      const auto tree = analyze(input, analysis::call_tree());
      const int code = input.finish();
      if (code == usage) return code;
      output out(input.asked.output);
      emit::folded(output_iterator(out), tree, trace);
      const int done = out.close(code);
      say_what_lacks(input.path, what_lacks(trace, tree));
      return done;
    }
    output out(input.asked.output);
    if (to == "chrome") write_timeline(trace, input, emit::chrome_json(output_iterator(out)));
    else write_timeline(trace, input, emit::perfetto(output_iterator(out)));
    const int done = out.close(input.finish());
    say_what_lacks(input.path, {.lost_records = trace.lost_records()});
    return done;
  };
  return format.with_calls(with_values(asked), body);
}

}  // namespace cli
