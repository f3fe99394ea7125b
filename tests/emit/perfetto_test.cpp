// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <backsight/emit/perfetto.hpp>

#include <support/catch.hpp>

using namespace backsight;

namespace {

/// The fields of a protobuf message, numbers and nested bytes, in order; an independent reader for the test.
struct proto {
  std::multimap<std::uint64_t, std::uint64_t> numbers;
  std::multimap<std::uint64_t, std::string_view> nested;

  explicit proto(std::string_view text) {
    const auto varint = [&] {
      std::uint64_t value = 0;
      for (unsigned shift = 0;; shift += 7) {
        REQUIRE(!text.empty());
        const auto byte = static_cast<unsigned char>(text.front());
        text.remove_prefix(1);
        value |= std::uint64_t{byte & 0x7fU} << shift;
        if (byte < 0x80) return value;
      }
    };
    while (!text.empty()) {
      const std::uint64_t tag = varint(), value = varint();
      if ((tag & 7U) == 0) {
        numbers.emplace(tag >> 3, value);
        continue;
      }
      REQUIRE((tag & 7U) == 2);
      REQUIRE(value <= text.size());
      nested.emplace(tag >> 3, text.substr(0, value));
      text.remove_prefix(value);
    }
  }
  [[nodiscard]] std::uint64_t number(std::uint64_t field) const { return numbers.count(field) == 1 ? numbers.find(field)->second : ~std::uint64_t{0}; }
  [[nodiscard]] proto message(std::uint64_t field) const {
    REQUIRE(nested.count(field) == 1);
    return proto(nested.find(field)->second);
  }
};

}  // namespace

TEST_CASE("a Perfetto trace describes each thread once, stores names once and keeps absolute times") {
  std::string text;
  emit::perfetto emitter(std::back_inserter(text));
  emitter.event(event_kind::enter, "work", 7, 300, 1795224497942566608);
  emitter.event(event_kind::exit, "work", 7, 300, 1795224497942566700);
  emitter.event(event_kind::enter, "work", 7, 301, 1795224497942566800);
  emitter.event(event_kind::mark, "note", 7, 301, 1795224497942566900);
  emitter.finish();

  const proto trace(text);
  std::vector<proto> packets;
  for (const auto& [field, bytes] : trace.nested) {
    CHECK(field == 1);
    packets.emplace_back(bytes);
  }
  REQUIRE(packets.size() == 6);
  for (const auto& packet : packets) CHECK(packet.number(10) == 1);

  const proto first_track = packets[0].message(60);
  CHECK(packets[0].number(13) == 1);
  CHECK(first_track.message(4).number(1) == 7);
  CHECK(first_track.message(4).number(2) == 300);
  CHECK(packets[1].number(8) == 1795224497942566608);
  CHECK(packets[1].message(11).number(9) == 1);
  CHECK(packets[1].message(11).number(11) == first_track.number(1));
  const proto interned = packets[1].message(12).message(2);
  CHECK(interned.number(1) == packets[1].message(11).number(10));
  CHECK(interned.nested.find(2)->second == "work");
  CHECK(packets[2].message(11).number(9) == 2);
  CHECK(packets[3].message(60).message(4).number(2) == 301);
  CHECK(packets[4].nested.count(12) == 0);
  CHECK(packets[4].message(11).number(10) == interned.number(1));
  CHECK(packets[5].message(11).number(9) == 3);
  CHECK(packets[5].message(12).message(2).nested.find(2)->second == "note");
}
