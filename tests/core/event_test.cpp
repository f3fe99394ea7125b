// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/event.hpp>

#include <support/catch.hpp>

using namespace backsight;

namespace {

struct own_event {
  event_kind kind;
  std::uint32_t function;
  std::uint64_t time;
  std::uint16_t thread;
  std::int32_t process;
};
struct without_thread {
  event_kind kind;
  std::uint32_t function;
  std::uint64_t time;
  std::int32_t process;
};
struct without_process {
  event_kind kind;
  std::uint32_t function;
  std::uint64_t time;
  std::uint16_t thread;
};
struct text_time {
  event_kind kind;
  std::uint32_t function;
  const char* time;
  std::uint16_t thread;
  std::int32_t process;
};

}  // namespace

TEST_CASE("a call event is any type with kind, function, time, thread and process") {
  STATIC_REQUIRE(call_event<own_event>);
  STATIC_REQUIRE_FALSE(call_event<without_thread>);
  STATIC_REQUIRE_FALSE(call_event<without_process>);
  STATIC_REQUIRE_FALSE(call_event<text_time>);
  STATIC_REQUIRE_FALSE(call_event<int>);
}
