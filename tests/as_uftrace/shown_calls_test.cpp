// SPDX-License-Identifier: Apache-2.0
#include "as/uftrace/shown_calls.hpp"

#include <string>

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;
using namespace cli::as_uftrace;
namespace fn = test::fn;
using records = test::uftrace_records;

TEST_CASE("calls are shown down to the depth that is asked for, or all") {
  test::uftrace_builder directory;
  directory.tasks += "TASK timestamp=0.000000003 tid=8 pid=7\n";
  directory.data(7, records().entry(100, 0, fn::main).entry(150, 1, fn::a).exit(160, 1, fn::a).exit(200, 0, fn::main));
  directory.data(8, records().entry(155, 0, fn::b));
  const recording from = directory.open();
  const auto calls = [&](std::int32_t depth) {
    resolver names(from);
    std::string text;
    (void)for_each_call(names, {}, shown_calls(from, {.depth = depth}), [&](const uftrace::call_event& e) {
      text += (e.kind == event_kind::enter ? " +" : " -") + names.name(static_cast<std::uint32_t>(e.function));
    });
    return text;
  };
  CHECK(calls(1) == " +main +b -main");
  CHECK(calls(2) == " +main +a +b -a -main");
  CHECK(calls(every_level) == " +main +a +b -a -main");
  CHECK(calls(0).empty());
}
