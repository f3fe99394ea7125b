// SPDX-License-Identifier: Apache-2.0
// Stands for core/print_value.hpp
#include <iterator>
#include <string>

#include <backsight/core/print.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>
#include <support/no_alloc.hpp>
#include <support/sink.hpp>

#include "tick_format.hpp"

using namespace ticks;
using test::bytes;
using test::writes;

namespace paint {

enum class colour : std::uint8_t { red = 1, green = 2 };
constexpr const char* enumerator_name(colour value) {
  switch (value) {
    case colour::red: return "red";
    case colour::green: return "green";
  }
  return nullptr;
}
enum class plain : std::int8_t { minus = -3 };

struct stroke {
  static constexpr const char* name = "stroke";
  static constexpr field<"wet", bool> wet{};
  static constexpr field<"hue", colour, 7> hue{};
  static constexpr field<"kind", plain> kind{};
  static constexpr field<"angle", std::int16_t> angle{};
  static constexpr field<"tag", std::array<std::byte, 2>> tag{};
  static constexpr field<"width", float> width{};
  static constexpr layout fields{word<8>(wet, hue), padding<8>{}, kind, padding<8>{}, angle, tag, width};
};
constexpr auto stroke_bytes = bytes<5, 0xaa, 0xfd, 0, 0xfe, 0xff, 0xca, 0xfe, 0, 0, 0xc0, 0x3f>;
constexpr auto unnamed_bytes = bytes<0x13, 0xaa, 0xfd, 0, 0xfe, 0xff, 0xca, 0xfe, 0, 0, 0xc0, 0x3f>;

// Names of members and enumerators are what the author of a schema likes.
enum class hostile : std::uint8_t { odd = 1 };
constexpr const char* enumerator_name(hostile) { return "say \"a, b\"\n"; }
struct odd_names {
  static constexpr const char* name = "a \"record\", odd";
  static constexpr field<"co,l\"our\"", hostile> colour{};
  static constexpr field<"wid\tth", double> width{};
  static constexpr layout fields{colour, width};
};
constexpr auto odd_bytes = bytes<1, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f>;
constexpr auto nan_bytes = bytes<1, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f>;

}  // namespace paint

namespace {

using stroke_view = record<paint::stroke, order::little>;
constexpr auto note_bytes = bytes<3, 3, 'h', 'i', '"'>;
constexpr record<note, order::little> a_note(note_bytes.data(), 3);
constexpr any_record<format> any_note(note_bytes.data(), 5, 1, 70);
constexpr record<closing, order::little> a_closing(note_bytes.data());

constexpr bool prints_records() {
  return writes([](char* out) { return print(out, a_note); }, R"(note is_meta=1 kind=1 length=3 payload="hi\"")") &&
         writes([](char* out) { return print(out, any_note); }, R"(note is_meta=1 kind=1 length=3 payload="hi\"")") &&
         writes([](char* out) { return print(out, a_closing); }, "record is_meta=1 kind=1");
}

constexpr bool prints_tables() {
  return writes([](char* out) { return csv_header<note>(out); }, "is_meta,kind,length,payload") &&
         writes([](char* out) { return csv_line(out, a_note); }, "1,1,3,686922") &&
         writes([](char* out) { return csv_header<tick>(out, '\t'); }, "is_meta\tvalue") &&
         writes([](char* out) { return csv_line(out, a_closing, ';'); }, "1;1") &&
         writes([](char* out) { return csv_header<paint::stroke>(out); }, "wet,hue,kind,angle,tag,width");
}

constexpr bool prints_json() {
  return writes([](char* out) { return json_line(out, a_note, 9); },
                R"({"record":"note","offset":9,"is_meta":1,"kind":1,"length":3,"payload":"hi\""})") &&
         writes([](char* out) { return json_line(out, any_note); },
                R"({"record":"note","offset":70,"is_meta":1,"kind":1,"length":3,"payload":"hi\""})");
}

}  // namespace

TEST_CASE("a record prints itself on one line") {
  STATIC_REQUIRE(prints_records());
  CHECK(prints_records());
}

TEST_CASE("a record is a line of a table whose head comes from its schema") {
  STATIC_REQUIRE(prints_tables());
  CHECK(prints_tables());
}

TEST_CASE("a record is a JSON object") {
  STATIC_REQUIRE(prints_json());
  CHECK(prints_json());
}

TEST_CASE("enumerations print their names, or numbers where they have none; padding is left out") {
  const stroke_view named(paint::stroke_bytes.data()), unnamed(paint::unnamed_bytes.data());
  std::string text;
  print(std::back_inserter(text), named);
  CHECK(text == "stroke wet=1 hue=green kind=-3 angle=-2 tag=cafe width=1.5");
  text.clear();
  print(std::back_inserter(text), unnamed);
  CHECK(text == "stroke wet=1 hue=9 kind=-3 angle=-2 tag=cafe width=1.5");
  text.clear();
  json_line(std::back_inserter(text), named, 0);
  CHECK(text ==
        R"({"record":"stroke","offset":0,"wet":1,"hue":"green","kind":"-3","angle":-2,"tag":"cafe","width":"1.5"})");
}

TEST_CASE("names are escaped in JSON and quoted in tables, and a NaN is null") {
  const record<paint::odd_names, order::little> item(paint::odd_bytes.data()), nan(paint::nan_bytes.data());
  std::string text;
  json_line(std::back_inserter(text), item, 7);
  CHECK(text == R"({"record":"a \"record\", odd","offset":7,"co,l\"our\"":"say \"a, b\"\n","wid\tth":"1.5"})");
  text.clear();
  json_line(std::back_inserter(text), nan, 7);
  CHECK(text.ends_with(R"("wid\tth":null})"));
  text.clear();
  csv_line(std::back_inserter(text), nan);
  CHECK(text == "\"say \"\"a, b\"\"\n\",nan");
  text.clear();
  csv_header<paint::odd_names>(std::back_inserter(text));
  CHECK(text == "\"co,l\"\"our\"\"\",wid\tth");
  text.clear();
  csv_header<paint::odd_names>(std::back_inserter(text), '\t');
  CHECK(text == R"(co,l"our"	wid\tth)");
  text.clear();
  csv_line(std::back_inserter(text), item, '\t');
  CHECK(text == R"(say "a, b"\n	1.5)");
}

TEST_CASE(
    "floating-point numbers print the shortest text that reads back the same, or their bits in a constant expression") {
  STATIC_REQUIRE(writes([](char* out) { return print_value(out, 1.5F); }, "0x3fc00000"));
  CHECK(writes([](char* out) { return print_value(out, 0.1); }, "0.1"));
  CHECK(writes([](char* out) { return print_value(out, -1e300); }, "-1e+300"));
}

TEST_CASE("printing to a buffer never allocates") {
  test::sink<> room;
  char* end = nullptr;
  CHECK(test::allocations_in([&] { end = json_line(print(room.characters.data(), any_note), any_note); }) == 0);
  CHECK(end != room.characters.data());
}
