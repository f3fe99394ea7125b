// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <backsight/emit/chrome_json.hpp>
#include <backsight/emit/perfetto.hpp>
#include <backsight/emit/timeline.hpp>

#include <nlohmann/json.hpp>

#include <support/call_parts.hpp>
#include <support/catch.hpp>

using namespace backsight;
using test::enter;
using test::exit;
using test::of_thread;

namespace {

struct written {
  std::vector<std::string> lines;
  void event(event_kind kind, std::string_view name, std::int64_t process, std::int64_t thread, std::uint64_t time) {
    const char sign = kind == event_kind::enter ? '+' : kind == event_kind::mark ? '.' : '-';
    lines.push_back(sign + std::string(name) + " " + std::to_string(process) + "/" + std::to_string(thread) + " @" +
                    std::to_string(time));
  }
  void thread(std::int64_t, std::int64_t thread, std::string_view name) {
    lines.push_back("thread " + std::to_string(thread) + " " + std::string(name));
  }
  void process(std::int64_t process, std::string_view name) {
    lines.push_back("process " + std::to_string(process) + " " + std::string(name));
  }
};
static_assert(emit::timeline_writer<written>);

}  // namespace

TEST_CASE("a timeline names threads once, in front of their events, and its calls nest whatever was left out") {
  const test::call_parts trace{
      .parts = {{enter(1, 1), of_thread(enter(2, 2), 2), enter(3, 3), exit(1, 4), exit(9, 5), of_thread(exit(2, 6), 2)},
                {exit(2, 7), test::mark(8)}},
      .damage = {{}, {errc::truncated, 5, 6}}};
  written out;
  std::vector<std::uint64_t> faults;
  emit::timeline(out, trace, [&](std::string_view, const fault& found) { faults.push_back(found.offset); });
  CHECK(out.lines == std::vector<std::string>{"process 1 it", "+f1 1/1 @10", "thread 2 t2", "+f2 1/2 @20",
                                              "+f3 1/1 @30", "-f3 1/1 @40", "-f1 1/1 @40", "-f2 1/2 @60",
                                              ".f0 1/1 @80"});
  CHECK(faults == std::vector<std::uint64_t>{5});
}

TEST_CASE("calls that a part of a timeline leaves open end with it where another part goes on with their thread") {
  const test::call_parts trace{.parts = {{enter(1, 1), enter(2, 2), of_thread(enter(3, 3), 2), enter(4, 4), exit(4, 5)},
                                         {enter(5, 8), exit(5, 9)}},
                               .damage = {}};
  written out;
  emit::timeline(out, trace, [](std::string_view, const fault&) {});
  // Those of a thread that does not go on are left to the reader.
  CHECK(out.lines == std::vector<std::string>{"process 1 it", "+f1 1/1 @10", "+f2 1/1 @20", "thread 2 t2",
                                              "+f3 1/2 @30", "+f4 1/1 @40", "-f4 1/1 @50", "-f2 1/1 @50", "-f1 1/1 @50",
                                              "+f5 1/1 @80", "-f5 1/1 @90"});
}

TEST_CASE("Chrome's and Perfetto's traces hold the names of threads and processes") {
  const test::call_parts trace{.parts = {{of_thread(enter(2, 2), 2), of_thread(exit(2, 6), 2)}}, .damage = {}};
  std::string json;
  emit::chrome_json chrome(std::back_inserter(json));
  emit::timeline(chrome, trace, [](std::string_view, const fault&) {});
  chrome.finish();
  const auto events = nlohmann::json::parse(json)["traceEvents"];
  REQUIRE(events.size() == 4);
  CHECK(events[0] ==
        nlohmann::json{{"name", "process_name"}, {"ph", "M"}, {"pid", 1}, {"tid", 1}, {"args", {{"name", "it"}}}});
  CHECK(events[1] ==
        nlohmann::json{{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", 2}, {"args", {{"name", "t2"}}}});
  CHECK(events[2]["ts"] == 0);
  CHECK(events[3]["ph"] == "E");

  std::string packets;
  emit::perfetto perfetto(std::back_inserter(packets));
  emit::timeline(perfetto, trace, [](std::string_view, const fault&) {});
  perfetto.finish();
  // TrackDescriptor 60: process 3 {pid 1, process_name 6} and thread 4 {pid 1, tid 2, thread_name 5}.
  CHECK(packets.find(std::string("\x1a\x06\x08\x01\x32\x02it", 8)) != std::string::npos);
  CHECK(packets.find(std::string("\x22\x08\x08\x01\x10\x02\x2a\x02t2", 10)) != std::string::npos);
}

TEST_CASE("what was given to calls and given back stands in a timeline where the writer takes it") {
  struct valued_parts : test::call_parts {
    std::string_view values_of(const test::call_event& event) const {
      return event.function == 1 ? event.kind == event_kind::enter ? "\"a\", 2" : "3" : "";
    }
  };
  const valued_parts trace{{.parts = {{enter(1, 1), enter(2, 2), exit(1, 3)}}, .damage = {}}};
  std::string json;
  emit::chrome_json chrome(std::back_inserter(json));
  emit::timeline(chrome, trace, [](std::string_view, const fault&) {});
  (void)chrome.finish();
  const auto events = nlohmann::json::parse(json).at("traceEvents");
  REQUIRE(events.size() == 5);
  CHECK(events.at(1).at("args") == nlohmann::json{{"arguments", "\"a\", 2"}});
  CHECK_FALSE(events.at(2).contains("args"));
  CHECK_FALSE(events.at(3).contains("args"));  // The exit is not its own.
  CHECK(events.at(4).at("args") == nlohmann::json{{"result", "3"}});
  std::string packets;
  emit::perfetto perfetto(std::back_inserter(packets));
  emit::timeline(perfetto, trace, [](std::string_view, const fault&) {});
  // debug_annotations: a name and a text.
  CHECK(packets.find("\x22\x13\x52\x09"
                     "arguments\x32\x06\"a\", 2") != std::string::npos);
  CHECK(packets.find("\x22\x0b\x52\x06result\x32\x01"
                     "3") != std::string::npos);
  STATIC_REQUIRE_FALSE(emit::value_writer<written>);
  written lines;
  emit::timeline(lines, trace, [](std::string_view, const fault&) {});
  CHECK(lines.lines.size() == 5);
}
