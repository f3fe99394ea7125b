// SPDX-License-Identifier: Apache-2.0
// Stands for cfi/frame.hpp, cfi/rule_cache.hpp, cfi/rule_steps.hpp, cfi/saved_places.hpp
#include <backsight/cfi/unwind.hpp>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include <unistd.h>

#include <backsight/cfi/arch/aarch64.hpp>
#include <backsight/cfi/batch.hpp>
#include <backsight/cfi/lookup.hpp>

#include <support/catch.hpp>
#include <support/no_alloc.hpp>
#include <support/skip.hpp>

#include "../../examples/cli/sample_corpus.hpp"
#include "fixtures.hpp"
#include "frame_builder.hpp"
#include "scene.hpp"
#include "seal_table.hpp"

using namespace backsight;
using test::bytes;
using arch = cfi::arch::x86_64;

using test::scene;
using test::start;
using test::words;

TEST_CASE("a walk goes up to the outermost frame") {
  // cfa = rsp + 16; rip = *(cfa - 8)  |  cfa = rbp + 16; rbp = *(cfa - 16)  |  rip undefined
  const scene s(test::frame_builder{}.fde(bytes<0x0e, 16>).fde(bytes<0x0c, 6, 16, 0x86, 2>).fde(bytes<0x07, 16>));
  const words stack{{1, 0x401110, 3, 0x9999, 0x401210}};
  auto f = start(0x401005, 0x8018);
  std::array<std::uint64_t, 8> pcs{};
  const auto walked = cfi::walk(f, s.space, stack, pcs);
  CHECK(walked.why == cfi::stop::outermost);
  REQUIRE(walked.count == 3);
  CHECK(pcs[1] == 0x401110);
  CHECK(pcs[2] == 0x401210);
  CHECK(f.get(6, stack) == std::optional<std::uint64_t>(0x9999));
  CHECK(f.stack_pointer() == 0x8028);
}

TEST_CASE("a return address is looked up one byte before itself") {
  // The call is the last instruction of the first function; its return address belongs to the next one.
  const scene s(test::frame_builder{}.fde(bytes<0x0e, 16>).fde(bytes<0x0e, 64>));
  const words stack{{0, 0x401100, 0, 0x401010, 0, 0}};
  auto f = start(0x401005);
  REQUIRE(cfi::step(f, s.space, stack) == cfi::stop::none);
  CHECK(f.pc == 0x401100);
  REQUIRE(cfi::step(f, s.space, stack) == cfi::stop::none);
  CHECK(f.pc == 0x401010);
  CHECK(f.stack_pointer() == 0x8020);
}

TEST_CASE("every reason to stop is told apart and leaves the frame alone") {
  const scene s(test::frame_builder{}.fde(bytes<0x0e, 16>).fde(bytes<0x0f, 1, 0x06>).fde(bytes<0x0f, 2, 0x77, 0>));
  const auto stops = [&](std::uint64_t pc, const words& stack) {
    auto f = start(pc);
    const auto before = f.pc;
    const cfi::stop why = cfi::step(f, s.space, stack);
    CHECK(f.pc == before);
    CHECK(f.stack_pointer() == 0x8000);
    return why;
  };
  CHECK(stops(0x500000, {}) == cfi::stop::no_object);
  CHECK(stops(0x401f00, {}) == cfi::stop::no_information);
  CHECK(stops(0x401000, {}) == cfi::stop::unreadable);
  CHECK(stops(0x401000, {{0, 0}}) == cfi::stop::outermost);
  CHECK(stops(0x401110, {{0, 0}}) == cfi::stop::bad_rule);
  CHECK(stops(0x401210, {{}}) == cfi::stop::unreadable);
}

TEST_CASE("the same pc and stack pointer again end the walk") {
  // cfa = rsp + 0; rip = *(cfa - 8): the frame is its own caller.
  const scene s(test::frame_builder{}.fde(bytes<0x0e, 0>));
  words stack{{0x401010, 0x401010}};
  auto f = start(0x401010);
  f.value[7] = 0x8008;
  std::array<std::uint64_t, 8> pcs{};
  const auto walked = cfi::walk(f, s.space, stack, pcs);
  CHECK(walked.why == cfi::stop::no_progress);
  CHECK(walked.count == 1);
}

TEST_CASE("registers of a callee are not mixed with those of its caller") {
  // rbx and rbp change places: all new values come from the old ones.
  const scene s(test::frame_builder{}.fde(bytes<0x09, 3, 6, 0x09, 6, 3>));
  auto f = start(0x401010, 66);
  f.value[3] = 33;
  const words stack{{0x401020}};
  REQUIRE(cfi::step(f, s.space, stack) == cfi::stop::none);
  CHECK(f.get(3, stack) == std::optional<std::uint64_t>(66));
  CHECK(f.get(6, stack) == std::optional<std::uint64_t>(33));
}

TEST_CASE("a lost register is absent, a register nobody saved is unchanged") {
  const scene s(test::frame_builder{}.fde(bytes<0x07, 3>));
  auto f = start(0x401010, 7);
  const words stack{{0x401020}};
  REQUIRE(cfi::step(f, s.space, stack) == cfi::stop::none);
  CHECK_FALSE(f.get(3, stack));
  CHECK(f.get(6, stack) == std::optional<std::uint64_t>(7));
  CHECK_FALSE(f.get(99, stack));
}

TEST_CASE("a lost register is back where an outer frame has saved it") {
  // rbx is lost, then saved at cfa - 16 by the caller; a lost stack pointer is the CFA all the same.
  const scene s(test::frame_builder{}.fde(bytes<0x07, 3, 0x07, 7>).fde(bytes<0x0e, 16, 0x83, 2>));
  auto f = start(0x401010);
  const words stack{{0x401120, 0x3333, 0x401020}};
  REQUIRE(cfi::step(f, s.space, stack) == cfi::stop::none);
  CHECK_FALSE(f.get(3, stack));
  CHECK(f.get(7, stack) == std::optional<std::uint64_t>(0x8008));
  REQUIRE(cfi::step(f, s.space, stack) == cfi::stop::none);
  CHECK(f.get(3, stack) == std::optional<std::uint64_t>(0x3333));
}

TEST_CASE("a long walk knows where the outermost frame's registers are saved") {
  // Every function calls itself: 200 frames, each saves rbx, and only the innermost one saves r12.
  const scene s(test::frame_builder{}.fde(bytes<0x0e, 24, 0x83, 2, 0x8c, 3>).fde(bytes<0x0e, 16, 0x83, 2>));
  words stack{{0xcccc, 0xbbbb, 0x401120}};
  for (std::uint64_t i = 0; i < 200; ++i) {
    stack.values.push_back(i);
    stack.values.push_back(0x401120);
  }
  auto f = start(0x401010);
  std::array<std::uint64_t, 150> pcs{};
  const auto cache = std::make_unique<cfi::rule_cache<arch>>();
  for (int i = 0; i < 2; ++i) {
    auto walked = f;
    const auto result =
        i == 0 ? cfi::walk(walked, s.space, stack, pcs) : cfi::walk(walked, s.space, stack, pcs, *cache);
    CHECK(result.count == 150);
    CHECK(result.why == cfi::stop::limit);
    CHECK(walked.get(12, stack) == std::optional<std::uint64_t>(0xcccc));
    CHECK(walked.get(3, stack) == std::optional<std::uint64_t>(148));
  }
}

namespace {

/// Steps through the interpreter in place of a table.
cfi::stop step_by_rows(const test::frame_builder& built, cfi::frame<arch>& f, const words& stack) {
  const auto index = cfi::fde_index<order::little>::build(built.section());
  const auto memory = std::make_unique<cfi::context<>>();
  cfi::section_unwinder<arch, order::little> unwinder(index, *memory);
  return unwinder.step(f, 0x400000, stack);
}

}  // namespace

TEST_CASE(
    "the frame that a signal interrupted is looked up at its pc itself, by common and general rules and by rows") {
  // At 0x1000 the frame of a signal handler's caller; its caller was interrupted at the first byte of its function,
  // whose rule is cfa = rsp + 32, and in front of which lies one with cfa = rsp + 16.
  for (const bool general : {false, true}) {
    // r3 = r12 is no common rule.
    const byte_view code = general ? byte_view(bytes<0x0e, 16, 0x09, 3, 12>) : byte_view(bytes<0x0e, 16>);
    const auto built = test::frame_builder{}
                           .cie("zRS", bytes<0x0c, 7, 8, 0x90, 1>)
                           .fde(code)
                           .cie("zR", bytes<0x0c, 7, 8, 0x90, 1>)
                           .fde(bytes<0x0e, 16>)
                           .fde(bytes<0x0e, 32>);
    const scene s(built);
    const words stack{{0, 0x401200, 0, 0x401150, 0, 0x401210, 0, 0}};
    for (const bool by_rows : {false, true}) {
      auto f = start(0x401010);
      REQUIRE((by_rows ? step_by_rows(built, f, stack) : cfi::step(f, s.space, stack)) == cfi::stop::none);
      CHECK(f.pc == 0x401200);
      CHECK(f.pc_is_next);
      CHECK(f.lookup_address() == 0x401200);
      REQUIRE((by_rows ? step_by_rows(built, f, stack) : cfi::step(f, s.space, stack)) == cfi::stop::none);
      CHECK(f.pc == 0x401210);
      CHECK(f.stack_pointer() == 0x8030);
      CHECK_FALSE(f.pc_is_next);
    }
    std::array<std::uint64_t, 3> pcs{};
    auto f = start(0x401010);
    const auto cache = std::make_unique<cfi::rule_cache<arch>>();
    CHECK(cfi::walk(f, s.space, stack, pcs, *cache).count == 3);
    CHECK(pcs == std::array<std::uint64_t, 3>{0x401010, 0x401200, 0x401210});
  }
}

TEST_CASE("a first frame at the first byte of a function has that function's rule") {
  // cfa = rsp + 16 in front of it, cfa = rsp + 32 its own.
  const scene s(test::frame_builder{}.fde(bytes<0x0e, 16>).fde(bytes<0x0e, 32>).fde(bytes<0x07, 16>));
  const words stack{{0, 0x401010, 0, 0x401210}};
  const auto cache = std::make_unique<cfi::rule_cache<arch>>();
  for (int i = 0; i < 3; ++i) {
    auto f = start(0x401100);
    std::array<std::uint64_t, 8> pcs{};
    const auto walked = i == 0 ? cfi::walk(f, s.space, stack, pcs) : cfi::walk(f, s.space, stack, pcs, *cache);
    CHECK(walked.why == cfi::stop::outermost);
    REQUIRE(walked.count == 2);
    CHECK(pcs[1] == 0x401210);
  }
}

TEST_CASE("a register that cannot be read is lost, and does not end the walk") {
  // rbx by an expression that reads address 8, r12 saved there: neither is a common rule.
  const auto built = test::frame_builder{}.fde(bytes<0x10, 3, 2, 0x38, 0x06, 0x16, 12, 2, 0x38, 0x06>);
  const scene s(built);
  const words stack{{0x401020}};
  for (const bool by_rows : {false, true}) {
    auto f = start(0x401010, 6);
    f.value[3] = 33;
    REQUIRE((by_rows ? step_by_rows(built, f, stack) : cfi::step(f, s.space, stack)) == cfi::stop::none);
    CHECK(f.pc == 0x401020);
    CHECK_FALSE(f.get(3, stack));
    CHECK_FALSE(f.get(12, stack));
    CHECK(f.get(6, stack) == std::optional<std::uint64_t>(6));
  }
}

TEST_CASE("a general rule that leads to the same frame ends the walk") {
  // cfa = value of rsp, as an expression; rip = *(cfa - 8): the frame is its own caller.
  const auto built = test::frame_builder{}.fde(bytes<0x0f, 2, 0x77, 0>);
  const scene s(built);
  const words stack{{0x401010, 0}};
  for (const bool by_rows : {false, true}) {
    auto f = start(0x401010);
    f.value[7] = 0x8008;
    CHECK((by_rows ? step_by_rows(built, f, stack) : cfi::step(f, s.space, stack)) == cfi::stop::no_progress);
    CHECK(f.stack_pointer() == 0x8008);
  }
}

TEST_CASE("what a general rule says of a register replaces where it was saved, and that it was lost") {
  // First rbx and r12 are saved and r13 is lost; then rbx := r14 and r13 := r15 by a general rule, r12 is lost.
  const scene s(test::frame_builder{}
                    .fde(bytes<0x0e, 32, 0x83, 2, 0x8c, 3, 0x07, 13>)
                    .fde(bytes<0x0e, 16, 0x09, 3, 14, 0x09, 13, 15, 0x07, 12>)
                    .fde(bytes<0x0e, 16>));
  const words stack{{0, 0xcccc, 0xbbbb, 0x401120, 0, 0x401220, 0, 0x401230}};
  auto f = start(0x401010);
  f.value[13] = 13;
  f.value[14] = 14;
  f.value[15] = 15;
  REQUIRE(cfi::step(f, s.space, stack) == cfi::stop::none);
  CHECK(f.get(3, stack) == std::optional<std::uint64_t>(0xbbbb));
  CHECK(f.get(12, stack) == std::optional<std::uint64_t>(0xcccc));
  CHECK_FALSE(f.get(13, stack));
  REQUIRE(cfi::step(f, s.space, stack) == cfi::stop::none);
  CHECK(f.get(3, stack) == std::optional<std::uint64_t>(14));
  CHECK_FALSE(f.get(12, stack));
  CHECK(f.get(13, stack) == std::optional<std::uint64_t>(15));
}

TEST_CASE("a rule of a table that counts the CFA from a register that frames do not have is refused") {
  const auto made = cfi::build_table<arch>(test::frame_builder{}.fde(bytes<0x0e, 16>).section());
  REQUIRE(made);
  for (const unsigned reg : {17U, 18U, 127U}) {
    std::vector<std::byte> forged(made->bytes().begin(), made->bytes().end());
    const auto rule = static_cast<std::size_t>(made->view().rule(0).bytes() - made->bytes().data());
    mutable_record<cfi::unwind_rule, order::little>(forged.data() + rule)
        .set(cfi::unwind_rule::cfa_register, static_cast<std::uint8_t>(reg));
    test::seal_table(forged);
    const auto opened = cfi::table_view::open(forged);
    REQUIRE(opened);
    cfi::address_space<arch> space;
    REQUIRE_FALSE(space.add({0x401000, 0x402000, 0x400000, *opened, 1}));
    auto f = start(0x401010);
    CHECK(cfi::step(f, space, words{{0, 0x401020}}) == cfi::stop::bad_rule);
  }
}

TEST_CASE("a return address that is in its register is not read from memory, in the middle of a walk either") {
  // AArch64: cfa = sp + 16, x30 saved at cfa - 8 | cfa = sp + 32, x30 unchanged.
  using a64 = cfi::arch::aarch64;
  const auto& cie = bytes<0x0c, 31, 0>;
  const auto built = test::frame_builder{}.cie("zR", cie, 30).fde(bytes<0x0e, 16, 0x9e, 1>).fde(bytes<0x0e, 32>);
  const auto made = cfi::build_table<a64>(built.section());
  REQUIRE(made);
  cfi::address_space<a64> space;
  REQUIRE_FALSE(space.add({0x401000, 0x402000, 0x400000, made->view(), 1}));
  // At the second frame's CFA lies an address that must not be taken.
  const words stack{{1, 0x401110, 2, 3, 4, 5, 0x401020, 0x401020, 0x401020, 0x401020, 0, 0}};
  std::array<std::uint64_t, 33> registers{};
  registers[31] = 0x8000;
  const auto first = cfi::first_frame<a64>(0x401010, registers);
  const auto cache = std::make_unique<cfi::rule_cache<a64>>();
  for (int i = 0; i < 3; ++i) {
    auto f = first;
    std::array<std::uint64_t, 4> pcs{};
    const auto walked = i == 0 ? cfi::walk(f, space, stack, pcs) : cfi::walk(f, space, stack, pcs, *cache);
    CHECK(walked.count == 4);
    CHECK(pcs == std::array<std::uint64_t, 4>{0x401010, 0x401110, 0x401110, 0x401110});
  }
}

TEST_CASE("a cache that guesses the caller wrongly gives the same frames") {
  // One function is called from two others in turn, so that what came after it last time is wrong each time.
  const scene s(test::frame_builder{}.fde(bytes<0x0e, 16>).fde(bytes<0x0e, 24>).fde(bytes<0x07, 16>));
  const auto cache = std::make_unique<cfi::rule_cache<arch>>();
  for (int i = 0; i < 4; ++i) {
    const bool direct = i % 2 == 0;
    const words stack = direct ? words{{0, 0x401210}} : words{{0, 0x401110, 0, 0, 0x401210}};
    auto f = start(0x401010);
    std::array<std::uint64_t, 8> pcs{};
    const auto walked = cfi::walk(f, s.space, stack, pcs, *cache);
    CHECK(walked.why == cfi::stop::outermost);
    REQUIRE(walked.count == (direct ? 2 : 3));
    CHECK(pcs[1] == (direct ? 0x401210U : 0x401110U));
    CHECK(pcs[walked.count - 1] == 0x401210);
  }
}

TEST_CASE("a rule that names a register over and over is refused") {
  // Column 16, cfa = r7 + 8, then 40 times r3 = same value.
  std::vector<std::byte> text;
  for (const unsigned b : {16U, 1U, 7U, 8U, 40U}) text.push_back(std::byte(b));
  for (unsigned i = 0; i < 40; ++i) {
    for (const unsigned b : {3U, 1U, 0U}) text.push_back(std::byte(b));
  }
  auto f = start(0x401010);
  CHECK(cfi::apply_general(f, text, false, words{{0x401020}}) == cfi::stop::bad_rule);
  CHECK(f.pc == 0x401010);
}

TEST_CASE("frames found by fallback are return addresses, up to the end of the code they belong to") {
  // 0x402000 is behind the last byte of the module: the call before it is its last instruction.
  const scene s(test::frame_builder{}.fde(bytes<0x0e, 16>).fde_at(0x1f00, bytes<0x0e, 16>, 0x100));
  for (const bool scanned : {false, true}) {
    const cfi::fallback way = scanned ? cfi::fallback{false, 4} : cfi::fallback{true, 0};
    // A frame record right at the stack pointer.
    const words stack{{0x8040, 0x402000, 0, 0}};
    auto f = start(0x401800, 0x8000);
    REQUIRE(cfi::step(f, s.space, stack, cfi::no_cache{}, way) == cfi::stop::none);
    CHECK(f.pc == 0x402000);
    CHECK(f.stack_pointer() == 0x8010);
    CHECK_FALSE(f.pc_is_next);
    CHECK(f.how == (scanned ? cfi::found_by::stack_scan : cfi::found_by::frame_pointer));
    if (!scanned) CHECK(f.get(6, stack) == std::optional<std::uint64_t>(0x8040));
    // One byte further is outside.
    auto outside = start(0x401800, 0x8000);
    CHECK(cfi::step(outside, s.space, words{{0x8040, 0x402001, 0, 0}}, cfi::no_cache{}, way) ==
          cfi::stop::no_information);
  }
}

TEST_CASE("a frame pointer below the stack pointer is not followed, one that was saved is read") {
  const scene s(test::frame_builder{}.fde(bytes<0x0e, 16>));
  const words stack{{0x8040, 0x401010, 0x8010, 0x8020, 0x401020, 0}};
  auto below = start(0x401f00, 0x8000);
  below.value[7] = 0x8008;
  CHECK(cfi::step(below, s.space, stack, cfi::no_cache{}, {true, 0}) == cfi::stop::no_information);
  // rbp lies on the stack at 0x8010, and points to itself there; afterwards it is what its record holds.
  auto saved = start(0x401f00, 0x1234);
  saved.where[1] = 0x8018;
  REQUIRE(cfi::step(saved, s.space, words{{0, 0, 0, 0x8020, 0x5555, 0x401010}}, cfi::no_cache{}, {true, 0}) ==
          cfi::stop::none);
  CHECK(saved.get(6, stack) == std::optional<std::uint64_t>(0x5555));
  CHECK(saved.stack_pointer() == 0x8030);
}

TEST_CASE("fallbacks are used where asked for, and reported") {
  const scene s(test::frame_builder{}.fde(bytes<0x0e, 16>));
  const words stack{{5, 6, 0x8040, 0x401010, 0, 0, 0, 0, 0, 0}};
  auto f = start(0x401f00, 0x8010);
  CHECK(cfi::step(f, s.space, stack) == cfi::stop::no_information);
  REQUIRE(cfi::step(f, s.space, stack, cfi::no_cache{}, {true, 0}) == cfi::stop::none);
  CHECK(f.how == cfi::found_by::frame_pointer);
  CHECK(f.pc == 0x401010);
  CHECK(f.get(6, stack) == std::optional<std::uint64_t>(0x8040));
  CHECK(f.stack_pointer() == 0x8020);
  f = start(0x401f00);
  REQUIRE(cfi::step(f, s.space, stack, cfi::no_cache{}, {false, 8}) == cfi::stop::none);
  CHECK(f.how == cfi::found_by::stack_scan);
  CHECK(f.pc == 0x401010);
}

TEST_CASE("mapped objects come and go, and a cache notices") {
  scene s(test::frame_builder{}.fde(bytes<0x0e, 16>));
  const auto cache = std::make_unique<cfi::rule_cache<arch>>();
  const words stack{{0, 0x401020}};
  auto f = start(0x401010);
  REQUIRE(cfi::step(f, s.space, stack, *cache) == cfi::stop::none);
  CHECK(s.space.add({0x401800, 0x403000, 0, {}, 2}).code == errc::bad_value);
  REQUIRE(s.space.remove(0x401000));
  CHECK_FALSE(s.space.remove(0x401000));
  f = start(0x401010);
  CHECK(cfi::step(f, s.space, stack, *cache) == cfi::stop::no_object);
}

TEST_CASE("a range of frames gives the same frames as a walk") {
  const scene s(test::frame_builder{}.fde(bytes<0x0e, 16>));
  const words stack{{0, 0x401020, 0, 0x401030, 0, 0}};
  cfi::no_cache cache;
  cfi::frames<arch, const words, cfi::no_cache> range(start(0x401010), s.space, stack, cache);
  std::vector<std::uint64_t> pcs;
  for (const auto& f : range) pcs.push_back(f.pc);
  CHECK(pcs == std::vector<std::uint64_t>{0x401010, 0x401020, 0x401030});
  CHECK(range.why() == cfi::stop::outermost);
}

TEST_CASE("unwinding allocates nothing") {
  const scene s(test::frame_builder{}.fde(bytes<0x0e, 16>));
  const words stack{{0, 0x401020, 0, 0x401030, 0, 0}};
  const auto cache = std::make_unique<cfi::rule_cache<arch>>();
  std::array<std::uint64_t, 8> pcs{};
  CHECK(test::allocations_in([&] {
          auto f = start(0x401010);
          (void)cfi::walk(f, s.space, stack, pcs, *cache);
        }) == 0);
}

TEST_CASE("corpus: all stack samples give the expected pcs", "[corpus]") {
  const std::string corpus = test::corpus_path();
  if (corpus.empty()) return test::skip("BACKSIGHT_CORPUS is not set");
  const auto folder = std::filesystem::temp_directory_path() / ("backsight-stacks-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string unpack = "zstd -dqf '" + corpus + "/stacks/dev.stk.zst' -o '" + folder.string() +
                             "/dev.stk' && zstd -dqc '" + corpus + "/stacks/dev-elf.tar.zst' | tar -C '" +
                             folder.string() + "' -xf -";
  if (std::system(unpack.c_str()) != 0) {
    std::filesystem::remove_all(folder);
    return test::skip("the stack samples cannot be unpacked; is zstd installed?");
  }
  {
    const auto bytes_of_samples = test::read_file(folder.string() + "/dev.stk");
    auto opened = cli::stack_samples::open(bytes_of_samples);
    REQUIRE(opened);
    cli::sample_corpus all;
    all.samples = std::move(opened.value());
    (void)all.load(folder.string(), [](const std::string&) {}, [](const std::string&, const trace_error&) {});
    const auto cache = std::make_unique<cfi::rule_cache<arch>>();
    std::vector<std::uint64_t> pcs(1024);
    std::size_t differences = 0, register_differences = 0, next = 0, batch_differences = 0;
    std::vector<cfi::stop> reasons;
    for (const auto& sample : all.samples.samples) {
      auto f = cli::sample_corpus::first_frame(sample);
      const auto memory = cli::sample_corpus::memory_of(sample);
      const auto& space = all.spaces[sample.map_set];
      auto stepped = f;
      const auto walked = cfi::walk(f, space, memory, pcs, *cache);
      const auto& expected = sample.expected.front();
      const bool same = walked.count == expected.size() && std::equal(expected.begin(), expected.end(), pcs.begin());
      differences += same ? 0U : 1U;
      reasons.push_back(walked.why);
      // Step by step, without a cache, to the same frame: all registers are the same.
      for (std::size_t i = 1; i < walked.count; ++i) (void)cfi::step(stepped, space, memory);
      for (std::uint64_t reg = 0; reg < arch::register_count; ++reg) {
        register_differences += f.get(reg, memory) == stepped.get(reg, memory) ? 0U : 1U;
      }
    }
    using item = cfi::batch_item<arch, cli::snapshot_reader>;
    std::vector<std::vector<std::uint64_t>> room(16, std::vector<std::uint64_t>(1024));
    cfi::walk_batch<8, arch, cli::snapshot_reader>(
        *cache,
        [&](item& i) {
          if (next == all.samples.samples.size()) return false;
          const auto& sample = all.samples.samples[next];
          if (i.pcs.empty()) i.pcs = room[next];
          i.start = cli::sample_corpus::first_frame(sample);
          i.space = &all.spaces[sample.map_set];
          i.memory = cli::sample_corpus::memory_of(sample);
          i.user = next++;
          return true;
        },
        [&](item& i) {
          const auto& expected = all.samples.samples[i.user].expected.front();
          const bool same = i.result.why == reasons[i.user] && i.result.count == expected.size() &&
                            std::equal(expected.begin(), expected.end(), i.pcs.begin());
          batch_differences += same ? 0U : 1U;
        });
    CHECK(all.samples.samples.size() == 6681);
    CHECK(next == 6681);
    CHECK(differences == 0);
    CHECK(register_differences == 0);
    CHECK(batch_differences == 0);
  }
  std::filesystem::remove_all(folder);
}
