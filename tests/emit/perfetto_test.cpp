// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
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
  [[nodiscard]] std::uint64_t number(std::uint64_t field) const {
    return numbers.count(field) == 1 ? numbers.find(field)->second : ~std::uint64_t{0};
  }
  [[nodiscard]] proto message(std::uint64_t field) const {
    REQUIRE(nested.count(field) == 1);
    return proto(nested.find(field)->second);
  }
};

/// The packets of a trace, in order.
std::vector<proto> packets_of(const std::string& text) {
  const proto trace(text);
  std::vector<proto> packets;
  for (const auto& [field, bytes] : trace.nested) {
    CHECK(field == 1);
    packets.emplace_back(bytes);
  }
  return packets;
}

}  // namespace

TEST_CASE("a Perfetto trace describes each thread once, stores names once and keeps absolute times") {
  std::string text;
  emit::perfetto emitter(std::back_inserter(text));
  emitter.event(event_kind::enter, "work", 7, 300, 1795224497942566608);
  emitter.event(event_kind::exit, "work", 7, 300, 1795224497942566700);
  emitter.event(event_kind::enter, "work", 7, 301, 1795224497942566800);
  emitter.event(event_kind::mark, "note", 7, 301, 1795224497942566900);
  emitter.finish();

  const auto packets = packets_of(text);
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

TEST_CASE("only the first packet of a Perfetto trace clears the state, the others need it") {
  std::string text;
  emit::perfetto emitter(std::back_inserter(text));
  for (const std::int64_t thread : {300, 301, 302}) {
    emitter.event(event_kind::enter, "work", 7, thread, 1);
    emitter.event(event_kind::exit, "work", 7, thread, 2);
  }
  emitter.finish();
  const auto packets = packets_of(text);
  REQUIRE(packets.size() == 9);
  CHECK(packets[0].number(13) == 1);
  for (std::size_t i = 1; i < packets.size(); ++i) CHECK(packets[i].number(13) == 2);
  // The name is stored with the first event alone.
  for (std::size_t i = 0; i < packets.size(); ++i) CHECK(packets[i].nested.count(12) == (i == 1 ? 1U : 0U));
}

TEST_CASE("threads of one number in several processes have tracks of their own") {
  std::string text;
  emit::perfetto emitter(std::back_inserter(text));
  const std::pair<std::int64_t, std::int64_t> threads[]{{1, 5}, {2, 5}, {1, 6}, {1, -1}, {-1, 5}, {1, 5}};
  for (const auto& [process, thread] : threads) emitter.event(event_kind::mark, "m", process, thread, 3);
  emitter.finish();
  std::map<std::uint64_t, std::pair<std::int64_t, std::int64_t>> described;
  std::vector<std::pair<std::int64_t, std::int64_t>> of_events;
  for (const proto& packet : packets_of(text)) {
    if (packet.nested.count(60) != 0) {
      const proto descriptor = packet.message(60), thread = descriptor.message(4);
      CHECK(described
                .emplace(descriptor.number(1), std::pair{static_cast<std::int64_t>(thread.number(1)),
                                                         static_cast<std::int64_t>(thread.number(2))})
                .second);
    } else {
      of_events.push_back(described[packet.message(11).number(11)]);
    }
  }
  CHECK(described.size() == 5);
  CHECK(std::equal(of_events.begin(), of_events.end(), std::begin(threads), std::end(threads)));
}

TEST_CASE("exits and tail exits end a slice of a Perfetto trace and name nothing") {
  std::string text;
  emit::perfetto emitter(std::back_inserter(text));
  emitter.event(event_kind::enter, "a", 7, 300, 1);
  emitter.event(event_kind::tail_exit, "b", 7, 300, 2);
  emitter.event(event_kind::exit, "c", 7, 300, 3);
  emitter.event(event_kind::mark, "d", 7, 300, 4);
  emitter.finish();
  const auto packets = packets_of(text);
  REQUIRE(packets.size() == 5);
  constexpr std::uint64_t none = ~std::uint64_t{0};
  const std::uint64_t types[]{1, 2, 2, 3}, names[]{1, none, none, 2};
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    const proto event = packets[i + 1].message(11);
    CHECK(packets[i + 1].number(8) == i + 1);
    CHECK(event.number(9) == types[i]);
    CHECK(event.number(10) == names[i]);
    CHECK(event.number(11) == 1);
    CHECK(packets[i + 1].nested.count(12) == (names[i] == none ? 0U : 1U));
  }
}

TEST_CASE("numbers of a Perfetto trace keep their value at every length") {
  for (const std::uint64_t time :
       {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, std::uint64_t{129}, std::uint64_t{255},
        std::uint64_t{16383}, std::uint64_t{16384}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    std::string text;
    emit::perfetto emitter(std::back_inserter(text));
    emitter.event(event_kind::mark, std::string(static_cast<std::size_t>(time % 300), 'x'), 128, 127, time);
    emitter.finish();
    const auto packets = packets_of(text);
    REQUIRE(packets.size() == 2);
    CHECK(packets[0].message(60).message(4).number(1) == 128);
    CHECK(packets[0].message(60).message(4).number(2) == 127);
    if (time != ~std::uint64_t{0}) CHECK(packets[1].number(8) == time);
    CHECK(packets[1].message(12).message(2).nested.find(2)->second.size() == time % 300);
  }
}

TEST_CASE("names in a Perfetto trace are UTF-8") {
  std::string text;
  emit::perfetto emitter(std::back_inserter(text));
  emitter.event(event_kind::mark, "caf\xc3\xa9 \xff\xc3", 7, 300, 1);
  emitter.finish();
  const proto trace(text);
  REQUIRE(trace.nested.count(1) == 2);
  const proto last(std::prev(trace.nested.end())->second);
  CHECK(last.message(12).message(2).nested.find(2)->second == "caf\xc3\xa9 \\xff\\xc3");
}

TEST_CASE("samples of a Perfetto trace lead through their stack to functions and modules, each stored once") {
  std::string text;
  emit::perfetto emitter(std::back_inserter(text));
  using frame = decltype(emitter)::stack_frame;
  emitter.thread(7, 300, "worker");
  const std::vector<frame> deep{{"main", "/opt/app"}, {"work", "/opt/app"}, {"memcpy", "[vdso]"}},
      flat{{"main", "/opt/app"}};
  emitter.sample({7, 300, 1000, 3, 2}, deep);
  emitter.sample({7, 301, 2000, {}, 1}, flat);
  emitter.sample({7, 300, 3000, 0, 2}, deep);
  emitter.sample({7, 300, 4000, 0, 2}, {});
  emitter.finish();

  std::vector<proto> samples;
  std::map<std::uint64_t, std::string> functions, paths;
  std::map<std::uint64_t, std::uint64_t> path_of_mapping;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> frames;
  std::map<std::uint64_t, std::vector<std::uint64_t>> stacks;
  std::size_t threads = 0;
  for (const proto& packet : packets_of(text)) {
    CHECK(packet.number(10) == 1);
    threads += packet.nested.count(60);
    if (packet.nested.count(66) == 0) continue;
    samples.push_back(packet);
    if (packet.nested.count(12) == 0) continue;
    const proto interned = packet.message(12);
    for (const auto& [field, bytes] : interned.nested) {
      const proto entry(bytes);
      const std::uint64_t number = entry.number(1);
      if (field == 5) CHECK(functions.emplace(number, entry.nested.find(2)->second).second);
      if (field == 17) CHECK(paths.emplace(number, entry.nested.find(2)->second).second);
      if (field == 19) CHECK(path_of_mapping.emplace(number, entry.number(7)).second);
      if (field == 6) CHECK(frames.emplace(number, std::pair{entry.number(2), entry.number(3)}).second);
      if (field == 6) CHECK(entry.number(4) == 0);
      if (field != 7) continue;
      const auto [first, last] = entry.numbers.equal_range(2);
      for (auto at = first; at != last; ++at) stacks[number].push_back(at->second);
    }
  }
  REQUIRE(samples.size() == 4);
  CHECK(threads == 2);
  CHECK(functions.size() == 3);
  CHECK(paths.size() == 2);
  CHECK(frames.size() == 3);
  const auto stack_of = [&](const proto& packet) {
    std::string out;
    for (const std::uint64_t number : stacks[packet.message(66).number(4)]) {
      const auto [function, mapping] = frames[number];
      out += functions[function] + "@/" + paths[path_of_mapping[mapping]] + " ";
    }
    return out;
  };
  CHECK(stack_of(samples[0]) == "main@/opt/app work@/opt/app memcpy@/[vdso] ");
  CHECK(stack_of(samples[1]) == "main@/opt/app ");
  CHECK(samples[2].message(66).number(4) == samples[0].message(66).number(4));
  CHECK(samples[2].nested.count(12) == 0);
  CHECK(samples[3].message(66).numbers.count(4) == 0);
  CHECK(samples[0].number(8) == 1000);
  const proto first = samples[0].message(66), second = samples[1].message(66);
  CHECK((first.number(1) == 3 && first.number(2) == 7 && first.number(3) == 300 && first.number(5) == 2));
  CHECK((second.numbers.count(1) == 0 && second.number(3) == 301 && second.number(5) == 1));
}
