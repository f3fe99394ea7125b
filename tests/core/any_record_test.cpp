// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include <backsight/core/any_record.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>
#include <support/no_alloc.hpp>

#include "tick_format.hpp"

using namespace ticks;
using test::bytes;

namespace {

static_assert(std::is_trivially_copyable_v<any_record<format>>);

constexpr auto note_bytes = bytes<3, 2, 'h', 'i'>;
constexpr auto tick_bytes = bytes<6, 0>;
constexpr any_record<format> a_note(note_bytes.data(), 4, 1, 70);
constexpr any_record<format> a_tick(tick_bytes.data(), 2, 0, 74);

constexpr bool knows_its_kind_and_place() {
  return a_note.is<note>() && !a_note.is<tick>() && a_note.kind() == 1 && a_note.offset() == 70 &&
         a_note.bytes().size() == 4 && a_note.as<note>().payload().size() == 2 && a_tick.as<tick>()[tick::value] == 3;
}

constexpr bool gives_a_view_or_none() {
  const auto found = get_if<note>(a_note);
  return found && found.payload()[1] == std::byte{'i'} && !get_if<tick>(a_note) &&
         get_if<tick>(a_tick)[tick::value] == 3;
}

constexpr int number_of(any_record<format> item) {
  return visit(item, overloaded{
                         [](record<tick, order::little> it) { return int{it[tick::value]}; },
                         [](record<note, order::little> it) { return 100 + int{it[note::length]}; },
                         [](record<closing, order::little>) { return -1; },
                     });
}

constexpr bool visits_by_kind() {
  int visited = 0;
  visit(a_note, [&](const auto& typed) { visited = static_cast<int>(typed.bytes().size()); });
  // One visitor that changes from call to call.
  auto counting = [count = 0](const auto&) mutable { return ++count; };
  visit(a_note, counting);
  return number_of(a_tick) == 3 && number_of(a_note) == 102 && visited == 4 && visit(a_tick, counting) == 2;
}

}  // namespace

TEST_CASE("a record of a kind known at run time knows kind, place and bytes") {
  STATIC_REQUIRE(knows_its_kind_and_place());
  CHECK(knows_its_kind_and_place());
}

TEST_CASE("get_if gives a view, or an empty one for another kind") {
  STATIC_REQUIRE(gives_a_view_or_none());
  CHECK(gives_a_view_or_none());
}

TEST_CASE("visit calls the function for the kind of the record and gives what it returns") {
  STATIC_REQUIRE(visits_by_kind());
  CHECK(visits_by_kind());
}

TEST_CASE("visiting never allocates") {
  int sum = 0;
  CHECK(test::allocations_in([&] { sum = number_of(a_tick) + number_of(a_note); }) == 0);
  CHECK(sum == 105);
}
