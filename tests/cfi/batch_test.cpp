// SPDX-License-Identifier: Apache-2.0
#include <backsight/cfi/batch.hpp>

#include <memory>

#include <support/catch.hpp>
#include <support/no_alloc.hpp>

#include "scene.hpp"

using namespace backsight;
using test::bytes;
using test::scene;
using test::start;
using test::words;
using arch = cfi::arch::x86_64;

namespace {

struct outcome {
  std::vector<std::uint64_t> pcs;
  cfi::stop why = cfi::stop::none;
  bool operator==(const outcome&) const = default;
};

constexpr std::size_t most = 50;

std::vector<outcome> one_by_one(const scene& s, const std::vector<words>& stacks, std::uint64_t first) {
  std::vector<outcome> all;
  for (const words& w : stacks) {
    auto f = start(first, 0x8010);
    std::vector<std::uint64_t> pcs(most);
    const auto walked = cfi::walk(f, s.space, w, pcs);
    pcs.resize(walked.count);
    all.push_back({pcs, walked.why});
  }
  return all;
}

template <std::size_t Lanes, class Cache>
std::vector<outcome> together(const scene& s, const std::vector<words>& stacks, std::uint64_t first, Cache& cache) {
  std::vector<outcome> all(stacks.size());
  using item = cfi::batch_item<arch, words>;
  std::size_t next = 0;
  std::vector<std::uint64_t> room(stacks.size() * most);
  cfi::walk_batch<Lanes, arch, words>(
      cache,
      [&](item& i) {
        if (next == stacks.size()) return false;
        i.start = start(first, 0x8010);
        i.space = &s.space;
        i.memory = stacks[next];
        i.pcs = std::span(room).subspan(next * most, most);
        i.user = next++;
        return true;
      },
      [&](item& i) {
        const auto pcs = i.pcs.first(i.result.count);
        all[i.user] = {{pcs.begin(), pcs.end()}, i.result.why};
      });
  return all;
}

/// Stacks of all lengths whose words lead through the functions of a scene, and in some cases out of it.
std::vector<words> many_stacks() {
  std::vector<words> all;
  for (std::uint64_t n = 0; n < 240; ++n) {
    words w;
    for (std::uint64_t i = 0; i < n; ++i) {
      // Even words are frame pointers to further up, odd ones return addresses.
      const std::uint64_t code = n % 4 == 0 ? 0xf8 : 0x5f8;
      w.values.push_back(i % 2 == 0 ? 0x8000 + (i + 2) * 8 : 0x401000 + (n * 37 + i * 101) % code);
    }
    if (n % 3 != 0) w.values.push_back(0);
    all.push_back(w);
  }
  return all;
}

}  // namespace

TEST_CASE("a batch gives each sample what a walk of its own gives") {
  // CFAs by rsp and by rbp, saved registers, an expression, another register, and an outermost frame.
  const scene s(test::frame_builder{}
                    .fde(bytes<0x0e, 16>)
                    .fde(bytes<0x0c, 6, 16, 0x86, 2>)
                    .fde(bytes<0x0e, 32, 0x83, 2>)
                    .fde(bytes<0x0f, 2, 0x77, 16>)
                    .fde(bytes<0x0c, 3, 16>)
                    .fde(bytes<0x07, 16>));
  const auto stacks = many_stacks();
  const auto small = std::make_unique<cfi::rule_cache<arch, 2>>();
  const auto large = std::make_unique<cfi::rule_cache<arch>>();
  cfi::no_cache none;
  std::vector<bool> seen(8);
  for (const std::uint64_t first : {0x401010U, 0x401110U, 0x401310U, 0x401510U, 0x401610U, 0x500000U}) {
    const auto expected = one_by_one(s, stacks, first);
    CHECK(together<4>(s, stacks, first, *small) == expected);
    CHECK(together<16>(s, stacks, first, *large) == expected);
    CHECK(together<1>(s, stacks, first, none) == expected);
    for (const outcome& o : expected) seen[static_cast<std::size_t>(o.why)] = true;
  }
  for (const cfi::stop why : {cfi::stop::outermost, cfi::stop::no_object, cfi::stop::no_information,
                              cfi::stop::unreadable, cfi::stop::limit}) {
    INFO(cfi::message(why));
    CHECK(seen[static_cast<std::size_t>(why)]);
  }
}

TEST_CASE("a batch without samples calls nobody") {
  cfi::no_cache none;
  const scene s(test::frame_builder{}.fde(bytes<0x0e, 16>));
  CHECK(together<4>(s, {}, 0x401010, none).empty());
}
