// SPDX-License-Identifier: Apache-2.0
// Stands for cfi/interpreter_context.hpp
// Stands for cfi/arch/aarch64.hpp, cfi/arch/arm.hpp, cfi/arch/generic.hpp, cfi/arch/i386.hpp, cfi/arch/riscv64.hpp
// Stands for cfi/arch/x86_64.hpp
// Stands for cfi/arch.hpp
#include <backsight/cfi/interpreter.hpp>

#include <array>
#include <vector>

#include <backsight/cfi/arch/generic.hpp>

#include <support/catch.hpp>
#include <support/no_alloc.hpp>

#include "frame_builder.hpp"

using namespace backsight;
using test::bytes;

namespace {

using small_context = cfi::context<64, 4>;
using kind = cfi::rule_kind;

/// The rows of an FDE with these instructions, and how it ended.
struct outcome {
  std::vector<cfi::row> rows;
  trace_error error;
  std::uint64_t first_instruction = 0;

  [[nodiscard]] constexpr const cfi::row& last() const { return rows.back(); }
  [[nodiscard]] constexpr bool has(std::uint64_t reg, kind k, std::int64_t value) const {
    const cfi::register_rule* r = last().rules.find(reg);
    return r != nullptr && r->kind == k && r->value == value;
  }
  [[nodiscard]] constexpr bool cfa(std::uint32_t reg, std::int64_t offset) const {
    const cfi::cfa_rule& c = last().cfa;
    return c.kind == cfi::cfa_kind::register_offset && c.reg == reg && c.offset == offset;
  }
};

template <class Arch = cfi::arch::x86_64>
constexpr outcome run(byte_view instructions) {
  const auto built = test::frame_builder{}.fde(instructions);
  const auto section = built.section();
  outcome out;
  small_context memory;
  for (const cfi::entry& e : section.entries()) {
    if (e.is_cie) continue;
    const auto c = section.cie_at(e.cie_offset);
    const auto f = section.parse_fde(e, *c);
    out.first_instruction = f->instructions;
    out.error = cfi::interpret<Arch>(section, *f, memory, [&](const cfi::row& r) { out.rows.push_back(r); });
  }
  return out;
}

// push rbp; mov rsp,rbp; ...; pop rbp; ret - as a compiler describes it.
constexpr bool whole_function() {
  const outcome o = run(bytes<0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x60, 0x0c, 7, 8, 0xc6>);
  if (o.error || o.rows.size() != 4) return false;
  const std::array<std::uint64_t, 5> starts{0x1000, 0x1001, 0x1004, 0x1064, 0x1100};
  for (std::size_t i = 0; i < 4; ++i) {
    if (o.rows[i].begin != starts[i] || o.rows[i].end != starts[i + 1]) return false;
  }
  return o.rows[0].cfa.reg == 7 && o.rows[0].cfa.offset == 8 && o.rows[1].cfa.offset == 16 &&
         o.rows[1].rules.size() == 2 && o.rows[2].cfa.reg == 6 && o.rows[2].cfa.offset == 16 &&
         o.rows[3].cfa.reg == 7 && o.rows[3].rules.size() == 1;
}
static_assert(whole_function());

constexpr bool remember_and_restore() {
  // The CFA and all rules come back, the location stays.
  const outcome o = run(bytes<0x0a, 0x0e, 32, 0x83, 4, 0x44, 0x0b, 0x44>);
  return !o.error && o.rows.size() == 3 && o.rows[0].cfa.offset == 32 && o.rows[1].begin == 0x1004 &&
         o.rows[1].cfa.offset == 8 && o.rows[1].rules.size() == 1 && o.rows[2].begin == 0x1008;
}
static_assert(remember_and_restore());

constexpr bool every_rule() {
  return run(bytes<0x83, 2>).has(3, kind::at_cfa_offset, -16) &&
         run(bytes<0x05, 20, 3>).has(20, kind::at_cfa_offset, -24) &&
         run(bytes<0x11, 20, 0x7d>).has(20, kind::at_cfa_offset, 24) &&
         run(bytes<0x2f, 3, 2>).has(3, kind::at_cfa_offset, 16) && run(bytes<0x07, 3>).has(3, kind::undefined, 0) &&
         run(bytes<0x08, 3>).has(3, kind::same_value, 0) && run(bytes<0x09, 3, 12>).has(3, kind::in_register, 12) &&
         run(bytes<0x14, 3, 2>).has(3, kind::is_cfa_offset, -16) &&
         run(bytes<0x15, 3, 0x7e>).has(3, kind::is_cfa_offset, 16) &&
         run(bytes<0x10, 3, 1, 0x30>).last().rules.find(3)->kind == kind::at_expression &&
         run(bytes<0x16, 3, 1, 0x30>).last().rules.find(3)->kind == kind::is_expression &&
         run(bytes<0x83, 2, 0xc3>).last().rules.find(3) == nullptr &&
         run(bytes<0x83, 2, 0x06, 3>).last().rules.find(3) == nullptr &&
         run(bytes<0x90, 5, 0xd0>).has(16, kind::at_cfa_offset, -8);
}
static_assert(every_rule());

constexpr bool every_cfa() {
  return run(bytes<0x0c, 6, 24>).cfa(6, 24) && run(bytes<0x0d, 6>).cfa(6, 8) && run(bytes<0x0e, 40>).cfa(7, 40) &&
         run(bytes<0x12, 6, 0x7d>).cfa(6, 24) && run(bytes<0x13, 0x7b>).cfa(7, 40) &&
         run(bytes<0x30, 6, 24, 0>).cfa(6, 24) && run(bytes<0x31, 6, 0x7d, 0>).cfa(6, 24) &&
         run(bytes<0x0f, 1, 0x30>).last().cfa.kind == cfi::cfa_kind::expression &&
         // def_cfa_register after an expression keeps the last offset.
         run(bytes<0x0e, 56, 0x0f, 1, 0x30, 0x0d, 6>).cfa(6, 56);
}
static_assert(every_cfa());

constexpr bool every_advance() {
  const auto begins = [](byte_view code, std::uint64_t at) {
    const outcome o = run(code);
    return !o.error && o.rows.size() == 2 && o.rows[1].begin == at;
  };
  return begins(bytes<0x45>, 0x1005) && begins(bytes<0x02, 0xf0>, 0x10f0) && begins(bytes<0x03, 0x34, 0x12>, 0x2234) &&
         begins(bytes<0x04, 1, 0, 1, 0>, 0x11001) && begins(bytes<0x1d, 2, 0, 0, 0, 0, 0, 0, 0>, 0x1002) &&
         begins(bytes<0x01, 0x80, 0x10, 0, 0, 0, 0, 0, 0>, 0x1080) && begins(bytes<0x40>, 0x1000) &&
         run(bytes<0, 0, 0x2e, 8>).rows.size() == 1;
}
static_assert(every_advance());

constexpr bool error_is(byte_view code, errc error, std::uint64_t at) {
  const outcome o = run(code);
  return o.error == trace_error{error, o.first_instruction + at};
}
constexpr bool malformed() {
  return error_is(bytes<0x0b>, errc::bad_transition, 1) && error_is(bytes<0x3f>, errc::unknown_record, 1) &&
         error_is(bytes<0x0f, 9, 0>, errc::truncated, 2) &&
         error_is(bytes<0x0f, 1, 0x30, 0x0e, 8>, errc::bad_transition, 5) &&
         error_is(bytes<0x03, 1>, errc::truncated, 1) &&
         error_is(bytes<0x0a, 0x0a, 0x0a, 0x0a, 0x0a>, errc::capacity, 5) &&
         error_is(bytes<0x05, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0>, errc::number_too_large,
                  1);
}
static_assert(malformed());

// set_loc to where the row begins ends it without length; it may not go back.
constexpr bool set_loc_goes_on() {
  const outcome same = run(bytes<0x41, 0x01, 0x01, 0x10, 0, 0, 0, 0, 0, 0>);
  return !same.error && same.rows.size() == 3 && same.rows[1].begin == same.rows[1].end &&
         error_is(bytes<0x41, 0x01, 0x00, 0x10, 0, 0, 0, 0, 0, 0>, errc::bad_transition, 10) &&
         error_is(bytes<0x01, 0, 0, 0, 0, 0, 0, 0, 0>, errc::bad_transition, 9);
}
static_assert(set_loc_goes_on());

// From 0x1000 to the last address that there is, and one further.
constexpr bool advances_stay_inside() {
  const outcome last = run(bytes<0x1d, 0xff, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff>);
  return !last.error && last.rows[1].begin == ~std::uint64_t{0} &&
         error_is(bytes<0x1d, 0, 0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff>, errc::out_of_range, 9) &&
         error_is(bytes<0x1d, 0xff, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x41>, errc::out_of_range, 10);
}
static_assert(advances_stay_inside());

constexpr bool signed_return_address() {
  return run<cfi::arch::aarch64>(bytes<0x2d>).last().return_address_signed == 1 &&
         run<cfi::arch::aarch64>(bytes<0x2d, 0x2d>).last().return_address_signed == 0 &&
         run<cfi::arch::aarch64>(bytes<0x2c>).last().return_address_signed == 3 &&
         run<cfi::arch::aarch64>(bytes<0x0a, 0x2d, 0x0b>).last().return_address_signed == 0 &&
         run(bytes<0x2d>).last().return_address_signed == 0;
}
static_assert(signed_return_address());

}  // namespace

TEST_CASE("a function's rows follow its instructions") { CHECK(whole_function()); }
TEST_CASE("restore_state brings back rules and CFA but not the location") { CHECK(remember_and_restore()); }
TEST_CASE("each instruction for registers sets its rule") { CHECK(every_rule()); }
TEST_CASE("each instruction for the CFA sets it") { CHECK(every_cfa()); }
TEST_CASE("each advance begins a row") { CHECK(every_advance()); }
TEST_CASE("an FDE in error says what and where") { CHECK(malformed()); }
TEST_CASE("set_loc to a lower address is an error, to the same one it is not") { CHECK(set_loc_goes_on()); }
TEST_CASE("an advance beyond the last address is an error, to it it is not") { CHECK(advances_stay_inside()); }
TEST_CASE("AArch64 keeps whether the return address is signed") { CHECK(signed_return_address()); }

namespace {

/// One CIE and one FDE of 0x80 bytes of code with absolute pointers, as bytes, and what comes of them.
struct by_hand {
  test::byte_builder bytes;
  cfi::section_info info;
  std::uint64_t cie_instructions = 0;

  by_hand(unsigned address_size, std::uint64_t begin, byte_view alignment, byte_view of_cie, byte_view of_fde) {
    test::byte_builder cie;
    cie.u8(1).fill(1).append(alignment).u8(0x78).u8(16);
    cie_instructions = 8 + cie.size();
    cie.append(of_cie);
    bytes.u32(4 + cie.size()).u32(0).append(cie.view());
    test::byte_builder fde;
    address_size == 4 ? fde.u32(begin).u32(0x80) : fde.u64(begin).u64(0x80);
    fde.append(of_fde);
    const std::uint64_t back = bytes.size() + 4;
    bytes.u32(4 + fde.size()).u32(back).append(fde.view());
    info.address_size = static_cast<std::uint8_t>(address_size);
  }
  [[nodiscard]] outcome run() const {
    const cfi::section<order::little> section(bytes.view(), info);
    small_context memory;
    outcome out;
    for (const cfi::entry& e : section.entries()) {
      if (e.is_cie) continue;
      const auto c = section.cie_at(e.cie_offset);
      REQUIRE(c);
      const auto f = section.parse_fde(e, *c);
      REQUIRE(f);
      out.first_instruction = f->instructions;
      out.error =
          cfi::interpret<cfi::arch::i386>(section, *f, memory, [&](const cfi::row& r) { out.rows.push_back(r); });
    }
    return out;
  }
};

}  // namespace

TEST_CASE("addresses of 32 bits end at 32 bits") {
  const auto run_32 = [](byte_view code) { return by_hand(4, 0xffffff00, bytes<1>, bytes<0x0c, 4, 4>, code).run(); };
  const outcome last = run_32(bytes<0x02, 0xff>);
  CHECK_FALSE(last.error);
  REQUIRE(last.rows.size() == 2);
  CHECK(last.rows[1].begin == 0xffffffff);
  for (const byte_view code : {byte_view(bytes<0x03, 0x00, 0x01>), byte_view(bytes<0x02, 0xff, 0x41>)}) {
    const outcome beyond = run_32(code);
    CHECK(beyond.error == trace_error{errc::out_of_range, beyond.first_instruction + 3});
  }
}

TEST_CASE("an advance counts in units of the code alignment, whose product must not wrap") {
  // 2 to the 62.
  const auto& huge = bytes<0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40>;
  const auto run_with = [](byte_view alignment, byte_view code) {
    return by_hand(8, 0x1000, alignment, bytes<0x0c, 7, 8>, code).run();
  };
  CHECK(run_with(bytes<4>, bytes<0x43>).rows[1].begin == 0x100c);
  CHECK(run_with(huge, bytes<0x43>).rows[1].begin == (std::uint64_t{3} << 62) + 0x1000);
  const outcome wrapped = run_with(huge, bytes<0x44>);
  CHECK(wrapped.error == trace_error{errc::out_of_range, wrapped.first_instruction + 1});
  CHECK(run_with(bytes<0>, bytes<0x44>).rows[1].begin == 0x1000);
}

TEST_CASE("restore in the instructions of a CIE is an error, packed and extended") {
  for (const auto& [code, at] : std::vector<std::pair<byte_view, std::uint64_t>>{
           {bytes<0x0c, 7, 8, 0xc3>, 4}, {bytes<0x0c, 7, 8, 0x83, 2, 0xc3>, 6}, {bytes<0x0c, 7, 8, 0x06, 3>, 5}}) {
    const by_hand built(8, 0x1000, bytes<1>, code, bytes<0x41>);
    const outcome out = built.run();
    CHECK(out.error == trace_error{errc::bad_transition, built.cie_instructions + at});
    CHECK(out.rows.empty());
  }
}

TEST_CASE("an FDE behind a CIE in error is judged by its own CIE") {
  // The context keeps nothing of a CIE that failed.
  const by_hand bad(8, 0x1000, bytes<1>, bytes<0xc3>, bytes<0x41>);
  const by_hand good(8, 0x1000, bytes<1>, bytes<0x0c, 7, 8, 0x83, 2>, bytes<0x41, 0xc3>);
  CHECK(bad.run().error);
  const outcome out = good.run();
  CHECK_FALSE(out.error);
  CHECK(out.has(3, kind::at_cfa_offset, -16));
}

TEST_CASE("a context that goes from one section to another reads the CIE there, though it lies at the same offset") {
  const auto near = test::frame_builder{}.cie("zR", bytes<0x0c, 7, 8>).fde(bytes<0x41>);
  const auto far = test::frame_builder{}.cie("zR", bytes<0x0c, 7, 24>).fde(bytes<0x41>);
  small_context memory;
  const auto cfa_of = [&](const test::frame_builder& built) {
    const auto section = built.section();
    std::int64_t offset = 0;
    for (const cfi::entry& e : section.entries()) {
      if (e.is_cie) continue;
      const auto c = section.cie_at(e.cie_offset);
      const auto f = section.parse_fde(e, *c);
      CHECK_FALSE(
          cfi::interpret<cfi::arch::x86_64>(section, *f, memory, [&](const cfi::row& r) { offset = r.cfa.offset; }));
    }
    return offset;
  };
  for (int round = 0; round < 2; ++round) {
    CHECK(cfa_of(near) == 8);
    CHECK(cfa_of(far) == 24);
  }
}

TEST_CASE("a CIE whose CFA is an expression leaves no offset to its FDEs") {
  const outcome out = by_hand(8, 0x1000, bytes<1>, bytes<0x0c, 7, 8, 0x0f, 1, 0x30>, bytes<0x0d, 6>).run();
  CHECK(out.cfa(6, 0));
}

TEST_CASE("restore_state gives the room of what was remembered back") {
  // 20 registers with a rule, then remembered and restored 200 times: a context of 64 rules holds three of them at
  // once.
  test::byte_builder code;
  for (unsigned reg = 20; reg < 40; ++reg) code.u8(0x05).u8(reg).u8(2);
  for (unsigned i = 0; i < 200; ++i) code.u8(0x0a).u8(0x0b);
  code.u8(0x0a).u8(0x0a).u8(0x0a);
  const outcome out = run(code.view());
  CHECK_FALSE(out.error);
  CHECK(out.last().rules.size() == 21);
  code.u8(0x0a);
  CHECK(run(code.view()).error.code == errc::capacity);
}

TEST_CASE("an FDE cut anywhere in its instructions ends cleanly") {
  const auto& whole = bytes<0x41, 0x0e, 16, 0x86, 2, 0x0f, 2, 0x77, 8, 0x03, 9, 0, 0x0a, 0x0b, 0x10, 3, 1, 0x30>;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const outcome o = run(byte_view(whole).first(size));
    CHECK((o.error.code == errc::ok || o.error.code == errc::truncated));
  }
}

TEST_CASE("interpreting allocates nothing") {
  const auto built = test::frame_builder{}.fde(bytes<0x41, 0x0e, 16, 0x86, 2, 0x0a, 0x43, 0x0d, 6, 0x0b>);
  const auto section = built.section();
  small_context memory;
  std::size_t rows = 0;
  CHECK(test::allocations_in([&] {
          for (const cfi::entry& e : section.entries()) {
            if (e.is_cie) continue;
            const auto f = section.parse_fde(e, *section.cie_at(e.cie_offset));
            (void)cfi::interpret<cfi::arch::x86_64>(section, *f, memory, [&](const cfi::row&) { ++rows; });
          }
        }) == 0);
  CHECK(rows == 3);
}
