// SPDX-License-Identifier: Apache-2.0
#include "as/uftrace/session_graph.hpp"

#include <string>

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;
using namespace cli::as_uftrace;
namespace fn = test::fn;
using records = test::uftrace_records;

namespace {

/// `main 900/1(a 300/2)`: names with time, calls and callees; with `children` the times of the callees behind a minus
/// sign.
void add(std::string& out, const call_tree& tree, resolver& names, std::uint32_t node, bool children) {
  const tree_node& n = tree.nodes()[node];
  out += n.function == tree_node::none ? "*" : names.name(tree.name(node));
  out += ' ' + std::to_string(n.time);
  if (children) out += '-' + std::to_string(tree.child_time(node));
  if (n.calls != 0) out += '/' + std::to_string(n.calls);
  std::string below;
  for (std::uint32_t at = tree.first_child(node); at != tree_node::none; at = tree.next_sibling(at)) {
    if (!below.empty()) below += ", ";
    add(below, tree, names, at, children);
  }
  if (!below.empty()) out += '(' + below + ')';
}

struct graph_of {
  explicit graph_of(test::uftrace_builder& directory, merge_options merging = {}, stack_options options = {},
                    bool children = false)
      : from(directory.open()),
        names(from),
        merged(names, merging),
        graph(merged, options, children),
        with_children(children) {
    graph.run();
  }
  std::string text(std::size_t session = 0) {
    std::string out;
    add(out, graph.tree(), names, graph.root(session), with_children);
    return out;
  }
  recording from;
  resolver names;
  merged_records merged;
  session_graph graph;
  bool with_children;
};
std::string graph_text(test::uftrace_builder& directory, merge_options merging = {}, stack_options options = {},
                       bool children = false) {
  return graph_of(directory, merging, options, children).text();
}
std::string graph_text(const records& data, stack_options options = {}, bool children = false) {
  test::uftrace_builder directory;
  directory.data(7, data);
  return graph_text(directory, {}, options, children);
}

}  // namespace

TEST_CASE("the graph of a session has calls below their callers") {
  records data;
  data.entry(100, 0, fn::main).entry(200, 1, fn::a).entry(210, 2, fn::b).exit(260, 2, fn::b).exit(300, 1, fn::a);
  data.entry(400, 1, fn::b).exit(410, 1, fn::b).entry(420, 1, fn::a).exit(425, 1, fn::a).exit(1000, 0, fn::main);
  CHECK(graph_text(data) == "* 900(main 900/1(a 105/2(b 50/1), b 10/1))");
  CHECK(graph_text(data, {}, true) == "* 900-0(main 900-115/1(a 105-50/2(b 50-0/1), b 10-0/1))");
  CHECK(graph_text(data, {.depth = 1}) == "* 900(main 900/1)");
  CHECK(graph_text(data, {.depth = 2}) == "* 900(main 900/1(a 105/2, b 10/1))");
}

TEST_CASE("functions without an exit end with the last record, others that began behind it do not count") {
  records data;
  data.entry(100, 0, fn::main).entry(200, 1, fn::a).entry(300, 2, fn::b).exit(350, 2, fn::b);
  CHECK(graph_text(data) == "* 250(main 250/1(a 150/1(b 50/1)))");
  records late;
  late.entry(100, 0, fn::main).entry(200, 1, fn::a).entry(300, 2, fn::b);
  test::uftrace_builder directory;
  directory.data(7, late);
  CHECK(graph_text(directory, {.closes_at = 300}) == "* 200(main 200/1(a 100/1(b 0/1)))");
}

TEST_CASE("the graph of a record that is older than the one before stops there, and has no end") {
  records data;
  data.entry(100, 0, fn::main)
      .entry(200, 1, fn::a)
      .exit(250, 1, fn::a)
      .entry(249, 1, fn::b)
      .exit(300, 1, fn::b)
      .exit(400, 0, fn::main);
  test::uftrace_builder directory;
  directory.data(7, data);
  graph_of broken(directory);
  CHECK(broken.graph.broken());
  CHECK((broken.graph.broken_at().time == 249 && broken.graph.broken_at().offset == 48));
  CHECK(broken.text() == "* 0(main 0/1(a 50/1))");
  records equal;
  equal.entry(100, 0, fn::main).entry(200, 1, fn::a).exit(200, 1, fn::a).lost(1).entry(200, 1, fn::b);
  test::uftrace_builder fine;
  fine.data(7, equal);
  CHECK_FALSE(graph_of(fine).graph.broken());
}

TEST_CASE("waits are nodes of their kind, where events show") {
  test::uftrace_builder directory;
  directory.data(7, records().entry(100, 0, fn::main).exit(400, 0, fn::main));
  directory.perf(test::uftrace_perf_records()
                     .sched_out(50, 7)
                     .sched_in(60, 7)
                     .sched_out(150, 7)
                     .sched_in(160, 7)
                     .preempted(200, 7)
                     .sched_in(205, 7)
                     .sched_out(300, 7)
                     .sched_in(330, 7)
                     .sched_out(410, 7)
                     .sched_in(420, 7));
  CHECK(graph_text(directory) == "* 300(main 300/1(linux:schedule 40/2, linux:schedule (pre-empted) 5/1))");
  CHECK(graph_text(directory, {.scheduler = false}) == "* 300(main 300/1)");
}

TEST_CASE("each session has a graph of its own, and tasks without one another") {
  test::uftrace_builder directory;
  directory.tasks +=
      "SESS timestamp=0.000000200 pid=7 sid=ffffffffffffffff exename=\"/bin/prog\"\nTASK timestamp=0.000000200 tid=7 "
      "pid=7\n"
      "TASK timestamp=0.000000003 tid=5 pid=4\n";
  directory.file("sid-ffffffffffffffff.map", directory.map);
  directory.data(7, records()
                        .entry(100, 0, fn::main)
                        .entry(150, 1, fn::execv)
                        .entry(210, 0, fn::a)
                        .entry(220, 1, fn::b)
                        .exit(230, 1, fn::b)
                        .exit(300, 0, fn::a));
  directory.data(5, records().entry(100, 0, fn::main).exit(130, 0, fn::main));
  graph_of made(directory);
  CHECK(made.text(0) == "* 0(main 0/1(execv 0/1))");  // what exec forgets never ends
  CHECK(made.text(1) == "* 90(a 90/1(b 10/1))");
  CHECK(made.text(2) == "* 30(<401000> 30/1)");
  CHECK((made.graph.seen(0) && !made.graph.seen(1) && made.graph.seen(2)));
}

TEST_CASE("a child's inherited functions count where the fork was made") {
  test::uftrace_builder directory;
  directory.tasks += "FORK timestamp=0.000000150 pid=8 ppid=7\n";
  directory.data(
      7, records().entry(100, 0, fn::main).entry(140, 1, fn::fork).exit(160, 1, fn::fork).exit(400, 0, fn::main));
  directory.data(8, records().exit(170, 1, fn::fork).entry(180, 1, fn::a).exit(190, 1, fn::a).exit(270, 0, fn::main));
  // The child goes on at main behind the return of its fork, which took it no time.
  CHECK(graph_text(directory) == "* 400(main 400/1(fork 20/1, a 10/1))");
}

TEST_CASE("exits with nothing open add to the root once") {
  records data;
  data.entry(100, 0, fn::main).exit(200, 0, fn::main).exit(300, 0, fn::a).entry(310, 0, fn::b).exit(320, 0, fn::b);
  // The slot still holds main's 100; behind that the task adds nothing.
  CHECK(graph_text(data) == "* 200(main 100/1)");
}

TEST_CASE("inherited functions that are still open at the end do not count") {
  // Slots 0 and 1 are open since 110, and nobody knows of what.
  records data;
  data.entry(110, 2, fn::a).exit(150, 2, fn::a).entry(160, 2, fn::b).event(200, 1000000);
  CHECK(graph_text(data) == "* 80(a 40/1, b 40/1)");
}

TEST_CASE("behind lost records nothing is entered until something is left") {
  records data;
  data.entry(100, 0, fn::main)
      .entry(110, 1, fn::a)
      .lost(5)
      .entry(200, 1, fn::b)
      .entry(210, 2, fn::c)
      .exit(220, 2, fn::c);
  data.entry(230, 2, fn::a).exit(231, 2, fn::a).exit(240, 1, fn::b).exit(500, 0, fn::main);
  // The exit of c ends a, where the tree stands; then there is a way down again. main gets what b took, and its own
  // exit is one with nothing open in the tree.
  CHECK(graph_text(data) == "* 440(main 40/1(a 11/2))");
}
