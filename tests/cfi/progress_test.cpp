// SPDX-License-Identifier: Apache-2.0
#include <backsight/cfi/progress.hpp>

#include <map>
#include <memory>

#include <backsight/cfi/batch.hpp>
#include <backsight/cfi/unwind.hpp>

#include <support/catch.hpp>

#include "scene.hpp"

using namespace backsight;
using test::bytes;
using test::scene;
using arch = cfi::arch::x86_64;

namespace {

/// Words at any address.
struct anywhere {
  std::map<std::uint64_t, std::uint64_t> at;
  std::optional<std::uint64_t> operator()(std::uint64_t address) const {
    const auto found = at.find(address);
    return found == at.end() ? std::nullopt : std::optional(found->second);
  }
};

struct seen {
  std::size_t count = 0;
  cfi::stop why = cfi::stop::none;
};
seen by_frames(const scene& s, const cfi::frame<arch>& first, const anywhere& memory, std::size_t limit = 5000) {
  const cfi::no_cache none;
  cfi::frames<arch, const anywhere, const cfi::no_cache> range(first, s.space, memory, none, {}, limit);
  seen out;
  for (const auto& f : range) {
    (void)f;
    ++out.count;
  }
  out.why = range.why();
  return out;
}
seen by_walk(const scene& s, cfi::frame<arch> f, const anywhere& memory, bool cached) {
  std::vector<std::uint64_t> pcs(5000);
  const auto cache = std::make_unique<cfi::rule_cache<arch>>();
  const auto walked = cached ? cfi::walk(f, s.space, memory, pcs, *cache) : cfi::walk(f, s.space, memory, pcs);
  return {walked.count, walked.why};
}
seen by_batch(const scene& s, const cfi::frame<arch>& first, const anywhere& memory) {
  using item = cfi::batch_item<arch, anywhere>;
  std::vector<std::uint64_t> pcs(5000);
  const auto cache = std::make_unique<cfi::rule_cache<arch>>();
  seen out;
  bool given = false;
  cfi::walk_batch<4, arch, anywhere>(
      *cache,
      [&](item& i) {
        if (given) return false;
        given = true;
        i.start = first;
        i.space = &s.space;
        i.memory = memory;
        i.pcs = pcs;
        return true;
      },
      [&](item& i) { out = {i.result.count, i.result.why}; });
  return out;
}

void check_all(const scene& s, const cfi::frame<arch>& first, const anywhere& memory, std::size_t count,
               cfi::stop why) {
  for (const seen& got : {by_frames(s, first, memory), by_walk(s, first, memory, false),
                          by_walk(s, first, memory, true), by_batch(s, first, memory)}) {
    CHECK(got.count == count);
    CHECK(got.why == why);
  }
}

}  // namespace

TEST_CASE("a guard lets a walk go up, and stops one that comes to the same place again") {
  cfi::progress_guard up;
  for (std::uint64_t sp = 1; sp < 10000; ++sp) CHECK(up.goes_on(sp - 1, sp, 7));
  // To other stacks and back, never to the same place.
  cfi::progress_guard stacks;
  for (std::uint64_t i = 1; i <= 100; ++i) CHECK(stacks.goes_on(0x9000, 0x8000 - i, 7));
  cfi::progress_guard same;
  CHECK(same.goes_on(0x9000, 0x8000, 7));
  CHECK(same.goes_on(0x9000, 0x8000, 8));  // Another pc.
  CHECK(same.goes_on(0x9000, 0x8008, 8));
  cfi::progress_guard still;
  CHECK(still.goes_on(0x8000, 0x8000, 7));
  CHECK_FALSE(still.goes_on(0x8000, 0x8000, 7));
  std::size_t steps = 0;
  while (same.goes_on(0x9000, 0x8000, 7) && same.goes_on(0x9000, 0x8000, 8)) ++steps;
  CHECK(steps < 10);
}

TEST_CASE("a guard ends steps without progress that lead to new places for ever") {
  cfi::progress_guard guard;
  std::uint64_t steps = 0;
  while (guard.goes_on(0x100000, 0x90000 - steps, 7)) ++steps;
  CHECK(steps == cfi::progress_guard::most_steps_back);
}

TEST_CASE("two frame records that point at each other end the walk") {
  // cfa = rbp + 16; rbp = *(cfa - 16); rip = *(cfa - 8)
  const scene s(test::frame_builder{}.fde(bytes<0x0c, 6, 16, 0x86, 2>).fde(bytes<0x0c, 6, 16, 0x86, 2>));
  auto first = test::start(0x401010, 0x7000);
  first.value[7] = 0x6ff0;
  SECTION("with one pc: the step back is told by itself") {
    const anywhere memory{{{0x7000, 0x7100}, {0x7008, 0x401010}, {0x7100, 0x7000}, {0x7108, 0x401010}}};
    check_all(s, first, memory, 3, cfi::stop::no_progress);
  }
  SECTION("with two: it is told when it comes again") {
    const anywhere memory{{{0x7000, 0x7100}, {0x7008, 0x401110}, {0x7100, 0x7000}, {0x7108, 0x401010}}};
    check_all(s, first, memory, 5, cfi::stop::no_progress);
  }
}

TEST_CASE("a ring of many frame records ends after few rounds") {
  const scene s(test::frame_builder{}.fde(bytes<0x0c, 6, 16, 0x86, 2>).fde(bytes<0x0c, 6, 16, 0x86, 2>));
  anywhere memory;
  constexpr std::uint64_t records = 200;
  for (std::uint64_t i = 0; i < records; ++i) {
    // Every third step leads down.
    const std::uint64_t next = 0x10000 + (i + 7) % records * 32;
    memory.at[0x10000 + i * 32] = next;
    memory.at[0x10000 + i * 32 + 8] = i % 2 == 0 ? 0x401010 : 0x401110;
  }
  auto first = test::start(0x401010, 0x10000);
  first.value[7] = 0xfff0;
  for (const seen& got : {by_frames(s, first, memory), by_walk(s, first, memory, true), by_batch(s, first, memory)}) {
    CHECK(got.why == cfi::stop::no_progress);
    CHECK(got.count > records);
    CHECK(got.count < 4 * records);
  }
}

TEST_CASE("a walk may change to a stack that lies lower, as coroutines and split stacks do") {
  // The second function runs on a stack at 0x9000, and its frame pointer is on the one that it came from, at 0x7000.
  const scene s(test::frame_builder{}.fde(bytes<0x0e, 16>).fde(bytes<0x0c, 6, 16, 0x86, 2>).fde(bytes<0x07, 16>));
  auto first = test::start(0x401010, 0x7000);
  first.value[7] = 0x9000;
  const anywhere memory{{{0x9008, 0x401110}, {0x7000, 0}, {0x7008, 0x401210}}};
  check_all(s, first, memory, 3, cfi::stop::outermost);
}

TEST_CASE("a range of frames ends at its limit") {
  // Every function calls itself, each frame 16 bytes higher.
  const scene s(test::frame_builder{}.fde(bytes<0x0e, 16>));
  anywhere memory;
  for (std::uint64_t i = 0; i < 1000; ++i) memory.at[0x8008 + 16 * i] = 0x401010;
  for (const std::size_t limit : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{999}}) {
    const seen got = by_frames(s, test::start(0x401010), memory, limit);
    CHECK(got.count == limit);
    CHECK(got.why == cfi::stop::limit);
  }
  const seen all = by_frames(s, test::start(0x401010), memory, 1002);
  CHECK(all.count == 1001);
  CHECK(all.why == cfi::stop::unreadable);
}
