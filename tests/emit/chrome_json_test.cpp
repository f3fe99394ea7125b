// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <string>

#include <nlohmann/json.hpp>

#include <backsight/emit/chrome_json.hpp>

#include <support/catch.hpp>

using namespace backsight;

TEST_CASE("Chrome's trace events are JSON, with exact times since the first event") {
  std::string text;
  emit::chrome_json emitter(std::back_inserter(text));
  constexpr std::uint64_t start = 1795224497942566608;
  emitter.event(event_kind::enter, "a \"quoted\"\n\x01 name", 7, 8, start);
  emitter.event(event_kind::mark, "caf\xc3\xa9 \xff", 7, 8, start + 1);
  emitter.event(event_kind::exit, "a", 7, 8, start + 1234567);
  emitter.event(event_kind::tail_exit, "b", 7, 9, start - 1500);
  emitter.finish();

  const auto json = nlohmann::json::parse(text);
  const auto& events = json["traceEvents"];
  REQUIRE(events.size() == 4);
  CHECK(events[0]["ph"] == "B");
  CHECK(events[0]["name"] == "a \"quoted\"\n\x01 name");
  CHECK(events[0]["ts"] == 0);
  CHECK(events[0]["pid"] == 7);
  CHECK(events[0]["tid"] == 8);
  CHECK(events[1]["ph"] == "i");
  CHECK(events[1]["name"] == "caf\xc3\xa9 \xc3\xbf");
  CHECK(events[1]["ts"] == 0.001);
  CHECK(events[2]["ph"] == "E");
  CHECK(events[2]["ts"] == 1234.567);
  CHECK(events[3]["ph"] == "E");
  CHECK(events[3]["ts"] == -1.5);
  CHECK(json["otherData"]["start_ns"] == std::to_string(start));
}

TEST_CASE("a Chrome trace without events is JSON too") {
  std::string text;
  emit::chrome_json(std::back_inserter(text)).finish();
  CHECK(nlohmann::json::parse(text)["traceEvents"].empty());
}

TEST_CASE("times of a Chrome trace have three decimals at every size") {
  const auto written = [](std::uint64_t time) {
    std::string text;
    emit::chrome_json emitter(std::back_inserter(text));
    emitter.event(event_kind::enter, "a", 1, 2, 5000);
    emitter.event(event_kind::exit, "a", 1, 2, time);
    emitter.finish();
    const auto at = text.rfind("\"ts\":") + 5;
    return text.substr(at, text.find('}', at) - at);
  };
  CHECK(written(5000) == "0.000");
  CHECK(written(5001) == "0.001");
  CHECK(written(5010) == "0.010");
  CHECK(written(5999) == "0.999");
  CHECK(written(6000) == "1.000");
  CHECK(written(4999) == "-0.001");
  CHECK(written(4000) == "-1.000");
  CHECK(written(~std::uint64_t{0}) == "18446744073709546.615");
}

TEST_CASE("processes and threads of a Chrome trace may have negative numbers") {
  std::string text;
  emit::chrome_json emitter(std::back_inserter(text));
  emitter.event(event_kind::enter, "", -1, -2, 0);
  emitter.finish();
  const auto json = nlohmann::json::parse(text);
  CHECK(json["traceEvents"][0]["pid"] == -1);
  CHECK(json["traceEvents"][0]["tid"] == -2);
  CHECK(json["traceEvents"][0]["name"] == "");
}
