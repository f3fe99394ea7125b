// SPDX-License-Identifier: Apache-2.0
#include <backsight/xray/events.hpp>
#include <backsight/xray/records.hpp>

#include <ranges>
#include <vector>

#include <support/catch.hpp>
#include <support/xray_builder.hpp>

#include "compare_with_oracle.hpp"

using namespace backsight;
using namespace backsight::xray;
using test::xray_builder;

static_assert(std::ranges::forward_range<basic_records<order::little>>);
static_assert(std::ranges::view<basic_records<order::big>>);

namespace {

constexpr xray_builder begun(order o, unsigned version = 3) {
  return xray_builder(o, version).header(0, 0, 2500000000);
}

struct seen {
  std::vector<test::oracle_event> events;
  std::vector<fault> faults;
};
seen read(const xray_builder& file) {
  seen found;
  const auto opened = xray::open(file.view());
  REQUIRE(opened);
  for_each_event(
      *opened, [&](const event& e) { found.events.push_back(test::in_words(e)); },
      [&](const fault& f) { found.faults.push_back(f); });
  return found;
}
trace_error validate(const xray_builder& file) {
  const auto opened = xray::open(file.view());
  return with_order(opened->byte_order(), [&](auto o) { return records_of_basic<o()>(*opened).validate(); });
}

constexpr bool check_constant() {
  const auto file = begun(order::big)
                        .basic_function(1, 3, 5, 100, 7, 6)
                        .basic_argument(5, 7, 6, 42)
                        .basic_function(1, 1, 5, 130, 7, 6);
  std::uint64_t time = 0, argument = 0;
  bool fault_seen = false;
  for_each_event(
      *xray::open(file.view()),
      [&](const event& e) {
        time += e.time;
        if (!e.arguments.empty()) argument = e.arguments[0];
      },
      [&](const fault&) { fault_seen = true; });
  return time == 230 && argument == 42 && !fault_seen;
}
static_assert(check_constant());

}  // namespace

TEST_CASE("basic mode can be read in a constant expression") { CHECK(check_constant()); }

TEST_CASE("a basic mode function record has cpu, action, id, tsc, thread and process") {
  for (const order o : {order::little, order::big}) {
    for (unsigned version = 1; version <= 3; ++version) {
      const auto found = read(begun(o, version).basic_function(200, 2, 0x7ffffffd, 0x1122334455667788, 7, 6));
      REQUIRE(found.events.size() == 1);
      CHECK(found.faults.empty());
      const auto& e = found.events[0];
      CHECK(e.kind == "tail_exit");
      CHECK(e.cpu == 200);
      CHECK(e.function == 0x7ffffffd);
      CHECK(e.time == 0x1122334455667788);
      CHECK(e.thread == 7);
      CHECK(e.process == (version == 3 ? 6 : 0));
      CHECK(e.offset == 32);
    }
  }
}

TEST_CASE("each basic mode action is told, and others are a fault that costs one record") {
  const char* const names[]{"enter", "exit", "tail_exit", "enter"};
  for (const order o : {order::little, order::big}) {
    for (unsigned action = 0; action < 256; ++action) {
      const auto file = begun(o).basic_function(0, action, 1, 2, 3, 4).basic_function(0, 1, 1, 3, 3, 4);
      const auto found = read(file);
      if (action < 4) {
        REQUIRE(found.events.size() == 2);
        CHECK(found.events[0].kind == names[action]);
        CHECK_FALSE(validate(file));
      } else {
        REQUIRE(found.events.size() == 1);
        CHECK(found.faults == std::vector<fault>{{errc::bad_value, 32, 32}});
        CHECK(validate(file) == trace_error{errc::bad_value, 32});
      }
    }
  }
}

TEST_CASE("an unknown basic mode record type is a fault that costs one record") {
  for (const order o : {order::little, order::big}) {
    auto file = begun(o).basic_function(0, 0, 1, 2, 3, 4);
    std::vector<std::byte> record(32);
    store<order::little>(record.data(), o == order::little ? std::uint16_t{2} : std::uint16_t{0x0200});
    file.append(record).basic_function(0, 1, 1, 3, 3, 4);
    const auto found = read(file);
    CHECK(found.events.size() == 2);
    CHECK(found.faults == std::vector<fault>{{errc::unknown_record, 64, 32}});
    CHECK(validate(file) == trace_error{errc::unknown_record, 64});
  }
}

TEST_CASE("argument records belong to the record before them") {
  for (const order o : {order::little, order::big}) {
    const auto found = read(begun(o)
                                .basic_function(0, 3, 5, 1, 7, 6)
                                .basic_argument(5, 7, 6, 1)
                                .basic_argument(5, 7, 6, ~std::uint64_t{0})
                                .basic_function(0, 1, 5, 2, 7, 6));
    REQUIRE(found.events.size() == 2);
    CHECK(found.events[0].arguments == std::vector<std::uint64_t>{1, ~std::uint64_t{0}});
    CHECK(found.events[1].arguments.empty());
    CHECK(found.faults.empty());
  }
}

TEST_CASE("argument records that match no record before them are a fault") {
  for (const order o : {order::little, order::big}) {
    const auto call = [&](unsigned version) { return begun(o, version).basic_function(0, 3, 5, 1, 7, 6); };
    const std::vector<fault> second{{errc::unpaired_record, 64, 32}};
    CHECK(read(call(3).basic_argument(6, 7, 6, 1)).faults == second);
    CHECK(read(call(3).basic_argument(5, 8, 6, 1)).faults == second);
    CHECK(read(call(3).basic_argument(5, 7, 9, 1)).faults == second);
    CHECK(read(call(2).basic_argument(5, 7, 9, 1)).faults.empty());
    CHECK(read(begun(o).basic_argument(5, 7, 6, 1)).faults == std::vector<fault>{{errc::unpaired_record, 32, 32}});
    CHECK(validate(begun(o).basic_argument(5, 7, 6, 1)) == trace_error{errc::bad_transition, 32});
    // The one behind a stray argument is stray too.
    const auto stray = read(call(3).basic_argument(6, 7, 6, 1).basic_argument(5, 7, 6, 2));
    CHECK(stray.faults == std::vector<fault>{{errc::unpaired_record, 64, 32}, {errc::unpaired_record, 96, 32}});
    REQUIRE(stray.events.size() == 1);
    CHECK(stray.events[0].arguments.empty());
    // Also behind a record that cannot be read.
    const auto damaged = read(call(3).basic_function(0, 9, 5, 1, 7, 6).basic_argument(5, 7, 6, 2));
    CHECK(damaged.faults == std::vector<fault>{{errc::bad_value, 64, 32}, {errc::unpaired_record, 96, 32}});
  }
}

TEST_CASE("a basic mode log that is cut off keeps its whole records") {
  for (const order o : {order::little, order::big}) {
    const auto file =
        begun(o).basic_function(0, 3, 5, 1, 7, 6).basic_argument(5, 7, 6, 1).basic_function(0, 1, 5, 2, 7, 6);
    for (std::size_t size = 32; size <= file.size(); ++size) {
      const std::vector<std::byte> cut(file.view().begin(), file.view().begin() + static_cast<std::ptrdiff_t>(size));
      const auto opened = xray::open(cut);
      std::size_t events = 0;
      std::vector<fault> faults;
      for_each_event(*opened, [&](const event&) { ++events; }, [&](const fault& f) { faults.push_back(f); });
      const std::size_t whole = size / 32 * 32;
      CHECK(events == (whole >= 128 ? 2U : whole >= 64 ? 1U : 0U));
      if (whole == size) CHECK(faults.empty());
      else CHECK(faults == std::vector<fault>{{errc::truncated, whole, size - whole}});
    }
  }
}
