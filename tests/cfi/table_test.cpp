// SPDX-License-Identifier: Apache-2.0
// Stands for cfi/bucket_layout.hpp, cfi/general_rule.hpp, cfi/numbering.hpp, cfi/packed_rows.hpp, cfi/placed_rule.hpp
// Stands for cfi/row_sequences.hpp
// Stands for cfi/table_builder.hpp, cfi/table_encoder.hpp, cfi/table_format.hpp, cfi/table_parts.hpp
// Stands for cfi/table_search.hpp, cfi/table_writer.hpp, dwarf/operation.hpp
// Stands for cfi/halving.hpp
#include <backsight/cfi/table_builder.hpp>

#include <backsight/cfi/arch/generic.hpp>
#include <backsight/cfi/unwind.hpp>

#include <support/catch.hpp>
#include <support/no_alloc.hpp>

#include "fixtures.hpp"
#include "frame_builder.hpp"
#include "seal_table.hpp"
#include "table_against_rows.hpp"

using namespace backsight;
using test::bytes;
using arch = cfi::arch::x86_64;

namespace {

cfi::table build(const test::frame_builder& built) {
  auto made = cfi::build_table<arch>(built.section());
  REQUIRE(made);
  return std::move(made.value());
}

}  // namespace

TEST_CASE("a table agrees with the interpreter on every row of every sample, in both profiles") {
  std::size_t files = 0, compared = 0;
  for (const test::expectation& e : test::expectations()) {
    if (e.kind != "ok") continue;
    INFO(e.file << ' ' << e.section);
    const test::loaded_section s(test::data_path("cfi/" + e.file), e.section);
    REQUIRE(s.found);
    if (s.image.byte_order() != order::little) continue;
    const cfi::section<order::little> section(s.section.bytes, s.section.info);
    for (const auto profile : {cfi::table_profile::callee_saved, cfi::table_profile::all}) {
      cfi::with_arch(s.image.machine(), [&](auto a) {
        using machine = decltype(a);
        if constexpr (requires { machine::saved; }) {
          const auto table = cfi::build_table<machine>(section, {profile, {}});
          REQUIRE(table);
          CHECK(test::difference<machine>(section, table->view(), compared) == "");
          ++files;
        }
      });
    }
  }
  CHECK(files > 90);
  CHECK(compared > 5000);
}

TEST_CASE("a table is found by address, gaps and ends included") {
  const cfi::table t = build(test::frame_builder{}.fde(bytes<0x41, 0x0e, 16>).fde(bytes<0x41, 0x0e, 24>, 0x80));
  const auto offset = [&](std::uint64_t address) {
    const cfi::any_rule rule = t.view().find(address);
    return !rule ? -1 : rule[cfi::unwind_rule::cfa_offset];
  };
  CHECK(offset(0xfff) == -1);
  CHECK(offset(0x1000) == 8);
  CHECK(offset(0x1001) == 16);
  CHECK(offset(0x10ff) == 16);
  CHECK(offset(0x1100) == 8);
  CHECK(offset(0x117f) == 24);
  CHECK(offset(0x1180) == -1);
  CHECK(offset(~std::uint64_t{0}) == -1);
  CHECK(offset(0) == -1);
}

TEST_CASE("a long function and code far apart need no room in between") {
  test::frame_builder built;
  built.fde(bytes<0x41, 0x0e, 16>, std::uint64_t{1} << 40);
  test::byte_builder far;
  far.u64(std::uint64_t{1} << 50).u64(16).u8(0).append(bytes<0x42, 0x0e, 32>);
  built.entry(built.view().size() + 4, far.view());
  const cfi::table t = build(built);
  CHECK(t.bytes().size() < 1000);
  CHECK(t.view().find(0x12345678)[cfi::unwind_rule::cfa_offset] == 16);
  CHECK(t.view().find((std::uint64_t{1} << 50) + 2)[cfi::unwind_rule::cfa_offset] == 32);
  CHECK_FALSE(t.view().find((std::uint64_t{1} << 50) + 16));
  CHECK_FALSE(t.view().find((std::uint64_t{1} << 40) + 0x1000));
}

TEST_CASE("more rules than one byte numbers are reached through the ids in front") {
  test::frame_builder built;
  for (unsigned i = 0; i < 400; ++i) {
    test::byte_builder code;
    code.u8(0x0e).u8(0x80 | (i & 0x7fU)).u8(i >> 7);
    built.fde(code.view());
  }
  const cfi::table t = build(built);
  CHECK(t.view().header()[cfi::table_header::rare_ids] == 2);
  for (unsigned i = 0; i < 400; ++i) {
    const cfi::any_rule rule = t.view().find(0x1000 + i * 0x100 + 7);
    REQUIRE(rule);
    CHECK(rule[cfi::unwind_rule::cfa_offset] == static_cast<std::int32_t>(i));
  }
}

namespace {

/// The rule for an address, as general rules tell it: the CFA and each register's kind and value.
std::string rule_at(const cfi::table& t, std::uint64_t address) {
  const cfi::rule_view<arch> r(t.view().find(address));
  if (!r) return "none";
  if (!cfi::has_text(r[cfi::unwind_rule::shape])) return "not general";
  std::string text;
  const trace_error error = cfi::walk_general_rule(
      t.view().text_of(r),
      [&](const cfi::cfa_rule& cfa, std::uint64_t column) {
        text = std::to_string(column) + ": r" + std::to_string(cfa.reg) + '+' + std::to_string(cfa.offset);
        return true;
      },
      [&](const cfi::register_rule& one) {
        text += " r" + std::to_string(one.reg) + '=' + std::to_string(static_cast<int>(one.kind)) + ':' +
                std::to_string(one.value);
        return true;
      });
  return error ? "error" : text;
}
/// The same of a common rule: the CFA, the return address and the saved registers, in words.
std::string common_at(const cfi::table& t, std::uint64_t address) {
  const cfi::rule_view<arch> r(t.view().find(address));
  if (!r) return "none";
  if (r[cfi::unwind_rule::shape] != cfi::rule_shape::common) return "not common";
  std::string text = "r" + std::to_string(r[cfi::unwind_rule::cfa_register]) + '+' +
                     std::to_string(r[cfi::unwind_rule::cfa_offset]) + " ra" +
                     std::to_string(r[cfi::unwind_rule::return_address_word]);
  for (std::size_t i = 0; i < arch::saved.size(); ++i) {
    const int word = r.saved_word(i);
    if (word != 0) text += " r" + std::to_string(arch::saved[i]) + ":" + std::to_string(word);
  }
  return text;
}

}  // namespace

TEST_CASE("a register saved further from the CFA than a byte of words tells is in a general rule") {
  // rbx at cfa - 1024, - 1032, + 1016, + 1024, + 0, and at no multiple of a word.
  test::frame_builder built;
  built.fde(bytes<0x05, 3, 0x80, 1>)
      .fde(bytes<0x05, 3, 0x81, 1>)
      .fde(bytes<0x11, 3, 0x81, 0x7f>)
      .fde(bytes<0x11, 3, 0x80, 0x7f>);
  built.fde(bytes<0x05, 3, 0>);
  const cfi::table t = build(built);
  CHECK(common_at(t, 0x1010) == "r7+8 ra-1 r3:-128");
  CHECK(rule_at(t, 0x1110) == "16: r7+8 r3=2:-1032 r16=2:-8");
  CHECK(common_at(t, 0x1210) == "r7+8 ra-1 r3:127");
  CHECK(rule_at(t, 0x1310) == "16: r7+8 r3=2:1024 r16=2:-8");
  CHECK(rule_at(t, 0x1410) == "16: r7+8 r3=2:0 r16=2:-8");
  CHECK(rule_at(build(test::frame_builder{}.cie("zR", bytes<0x0c, 7, 8, 0x90, 0>).fde(bytes<0>)), 0x1010) ==
        "16: r7+8 r16=2:0");
}

TEST_CASE("rules of the stack pointer and the return address that a common rule does not say are general") {
  // rsp = cfa + 0 is what it is anyway.
  CHECK(common_at(build(test::frame_builder{}.fde(bytes<0x14, 7, 0>)), 0x1010) == "r7+8 ra-1");
  CHECK(rule_at(build(test::frame_builder{}.fde(bytes<0x14, 7, 2>)), 0x1010) == "16: r7+8 r7=3:-16 r16=2:-8");
  CHECK(rule_at(build(test::frame_builder{}.fde(bytes<0x87, 2>)), 0x1010) == "16: r7+8 r7=2:-16 r16=2:-8");
  CHECK(rule_at(build(test::frame_builder{}.fde(bytes<0x08, 7>)), 0x1010) == "16: r7+8 r7=1:0 r16=2:-8");
  CHECK(rule_at(build(test::frame_builder{}.fde(bytes<0x14, 16, 1>)), 0x1010) == "16: r7+8 r16=3:-8");
  // No rule for the return address, in the machine's own column and in another.
  const auto& no_address = bytes<0x0c, 7, 8>;
  CHECK(common_at(build(test::frame_builder{}.cie("zR", no_address).fde(bytes<0>)), 0x1010) == "r7+8 ra0");
  CHECK(rule_at(build(test::frame_builder{}.cie("zR", no_address, 3).fde(bytes<0>)), 0x1010) == "3: r7+8");
}

TEST_CASE("an offset of the CFA over 31 bits is in a general rule") {
  CHECK(common_at(build(test::frame_builder{}.fde(bytes<0x0e, 0xff, 0xff, 0xff, 0xff, 0x07>)), 0x1010) ==
        "r7+2147483647 ra-1");
  CHECK(rule_at(build(test::frame_builder{}.fde(bytes<0x0e, 0x80, 0x80, 0x80, 0x80, 0x08>)), 0x1010) ==
        "16: r7+2147483648 r16=2:-8");
  CHECK(rule_at(build(test::frame_builder{}.fde(bytes<0x0e, 0x88, 0x80, 0x80, 0x80, 0x10>)), 0x1010) ==
        "16: r7+4294967304 r16=2:-8");
}

TEST_CASE("a CFA from a register that frames do not have, and registers of signal frames, are in general rules") {
  CHECK(rule_at(build(test::frame_builder{}.fde(bytes<0x0d, 17>)), 0x1010) == "16: r17+8 r16=2:-8");
  CHECK(common_at(build(test::frame_builder{}.fde(bytes<0x0d, 16>)), 0x1010) == "r16+8 ra-1");
  // rdi is kept of signal frames only.
  CHECK(common_at(build(test::frame_builder{}.fde(bytes<0x85, 2>)), 0x1010) == "r7+8 ra-1");
  CHECK(rule_at(build(test::frame_builder{}.cie("zRS", bytes<0x0c, 7, 8, 0x90, 1>).fde(bytes<0x85, 2>)), 0x1010) ==
        "16: r7+8 r5=2:-16 r16=2:-8");
}

TEST_CASE("a table takes as many rules and rows as it has room for, and refuses one more") {
  const auto rules = [](unsigned count) {
    test::frame_builder built;
    for (unsigned i = 0; i < count; ++i) {
      const auto code = test::byte_builder{}.u8(0x0e).u8(0x80 | (i & 0x7fU)).u8(0x80 | (i >> 7 & 0x7fU)).u8(i >> 14);
      built.fde(code.view());
    }
    const auto made = cfi::build_table<arch>(built.section());
    if (made) {
      CHECK(made->view().find(0x1000 + (count - 1) * 0x100)[cfi::unwind_rule::cfa_offset] ==
            static_cast<std::int32_t>(count - 1));
    }
    return made.error();
  };
  CHECK_FALSE(rules(0xffff));
  CHECK(rules(0x10000) == trace_error{errc::capacity, 0});
}

TEST_CASE("rows may begin at every address, and 16 bytes apart") {
  for (const bool distinct : {false, true}) {
    for (const unsigned distance : {1U, 2U, 16U}) {
      for (const unsigned count : {128U, 255U, 256U, 600U}) {
        CAPTURE(distinct, distance, count);
        const auto offset_of = [&](unsigned i) { return distinct ? 8 * (i + 1) : i % 2 == 0 ? 8U : 16U; };
        test::byte_builder code;
        for (unsigned i = 1; i < count; ++i) {
          code.u8(static_cast<std::uint8_t>(0x40U | distance))
              .u8(0x0e)
              .u8(0x80 | (offset_of(i) & 0x7fU))
              .u8(offset_of(i) >> 7);
        }
        const cfi::table t = build(test::frame_builder{}.fde(code.view(), 0x8000));
        CHECK_FALSE(cfi::table_view::open(t.bytes()).error());
        std::size_t wrong = 0;
        for (unsigned i = 0; i < count; ++i) {
          for (const unsigned into : {0U, distance - 1}) {
            const cfi::any_rule rule = t.view().find(0x1000 + i * distance + into);
            wrong += !rule || rule[cfi::unwind_rule::cfa_offset] != static_cast<int>(offset_of(i)) ? 1U : 0U;
          }
        }
        CHECK(wrong == 0);
        CHECK(t.view().find(0x8fff)[cfi::unwind_rule::cfa_offset] == static_cast<int>(offset_of(count - 1)));
        CHECK_FALSE(t.view().find(0x9000));
        std::vector<std::uint64_t> begins;
        t.view().for_each_row([&](std::uint64_t begin, std::uint32_t) { begins.push_back(begin); });
        REQUIRE(begins.size() == count + 1);
        for (unsigned i = 0; i < count; ++i) wrong += begins[i] != 0x1000 + i * distance ? 1U : 0U;
        CHECK(wrong == 0);
      }
    }
  }
}

namespace {

/// Functions that begin and end alike, as compilers make them, and one that is like none.
test::frame_builder alike(unsigned count) {
  test::frame_builder built;
  const auto& usual = bytes<0x41, 0x0e, 16, 0x83, 2, 0x42, 0x0e, 24, 0x86, 3, 0x44, 0x0e, 64, 0x60, 0x0e, 24, 0x41,
                            0x0e, 16, 0x41, 0x0e, 8>;
  for (unsigned i = 0; i < count; ++i) built.fde_at(0x1000 + i * 0x40, usual, 0x30 + i % 7);
  return built.fde_at(0x1000 + count * 0x40, bytes<0x43, 0x0e, 24, 0x42, 0x0e, 16>, 0x30);
}

}  // namespace

TEST_CASE("rows that follow each other in many functions are one row of the table, and are found one by one") {
  const auto built = alike(200);
  const cfi::table t = build(built);
  CHECK(t.view().header()[cfi::table_header::sequence_count] > 0);
  // Two bytes a row are what it would take without.
  CHECK(t.view().header()[cfi::table_header::block_bytes] < t.view().row_count());
  CHECK_FALSE(cfi::table_view::open(t.bytes()).error());
  std::size_t compared = 0;
  CHECK(test::difference<arch>(built.section(), t.view(), compared) == "");
  CHECK(compared > 1000);
  // for_each_row tells them as they are.
  std::size_t wrong = 0, count = 0;
  std::uint64_t before = 0;
  t.view().for_each_row([&](std::uint64_t begin, std::uint32_t number) {
    const cfi::any_rule rule = t.view().find(begin);
    const cfi::any_rule last = begin == before ? rule : t.view().find(begin - 1);
    wrong += begin <= before || !rule != (number == cfi::table_view::no_rule) || rule == last ||
                     (rule && rule != t.view().rule(number))
                 ? 1U
                 : 0U;
    before = begin;
    ++count;
  });
  CHECK(wrong == 0);
  CHECK(count == t.view().row_count());
}

TEST_CASE("a gap up to the end of a page and the function behind it are found, however long that is") {
  // With code at odd addresses a page is 4096 bytes; the function behind the gap is longer than the pages that a table
  // stores without rows.
  for (const std::uint64_t size :
       {std::uint64_t{0x100}, std::uint64_t{0x1000}, std::uint64_t{0x42000}, std::uint64_t{1} << 30}) {
    test::frame_builder built;
    built.fde_at(0x1000, bytes<0x41, 0x0e, 16>, 0xff5).fde_at(0x2000, bytes<0>, size);
    const cfi::table t = build(built);
    CHECK(common_at(t, 0x1ff4) == "r7+16 ra-1");
    for (std::uint64_t address = 0x1ff5; address < 0x2000; ++address) CHECK_FALSE(t.view().find(address));
    for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{1}, size / 2, size - 1})
      CHECK(common_at(t, 0x2000 + at) == "r7+8 ra-1");
    CHECK_FALSE(t.view().find(0x2000 + size));
    std::vector<std::uint64_t> begins;
    t.view().for_each_row([&](std::uint64_t begin, std::uint32_t) { begins.push_back(begin); });
    CHECK(begins == std::vector<std::uint64_t>{0x1000, 0x1001, 0x1ff5, 0x2000, 0x2000 + size});
  }
}

TEST_CASE("of overlapping FDEs the one with the nearest start counts, and behind its end there is nothing") {
  test::frame_builder built;
  built.fde_at(0x1000, bytes<0x03, 0x00, 0x03, 0x0e, 16>, 0x400).fde_at(0x1100, bytes<0x0e, 32>, 0x100);
  built.fde_at(0x1100, bytes<0x0e, 48>, 0x200).fde_at(0x1380, bytes<0x0e, 64>, 0x200);
  const cfi::table t = build(built);
  CHECK(common_at(t, 0x10ff) == "r7+8 ra-1");
  CHECK(common_at(t, 0x1100) == "r7+32 ra-1");
  CHECK(common_at(t, 0x11ff) == "r7+32 ra-1");
  CHECK_FALSE(t.view().find(0x1200));
  CHECK_FALSE(t.view().find(0x1350));
  CHECK(common_at(t, 0x1380) == "r7+64 ra-1");
  CHECK(common_at(t, 0x157f) == "r7+64 ra-1");
  CHECK_FALSE(t.view().find(0x1580));
}

TEST_CASE("an FDE that fails behind its first rows leaves none of them") {
  // Three rows, then an instruction that nobody defines.
  const auto built = test::frame_builder{}
                         .fde(bytes<0x41, 0x0e, 16>)
                         .fde(bytes<0x41, 0x0e, 16, 0x44, 0x0e, 24, 0x44, 0x3f>)
                         .fde(bytes<0x41, 0x0e, 32>);
  const cfi::table t = build(built);
  CHECK(common_at(t, 0x10ff) == "r7+16 ra-1");
  for (std::uint64_t address = 0x1100; address < 0x1200; ++address) CHECK_FALSE(t.view().find(address));
  CHECK(common_at(t, 0x1200) == "r7+8 ra-1");
  CHECK(common_at(t, 0x1201) == "r7+32 ra-1");
  CHECK(t.view().row_count() == 6);
}

TEST_CASE("an FDE in error is left out and reported, the others stay") {
  const auto built = test::frame_builder{}.fde(bytes<0x41, 0x0e, 16>).fde(bytes<0x41, 0x3f>).fde(bytes<0x41, 0x0e, 16>);
  const auto section = built.section();
  std::vector<trace_error> errors;
  const auto t = cfi::build_table<arch>(std::span<const cfi::section<order::little>>(&section, 1), {},
                                        [&](const trace_error& e, std::uint32_t) { errors.push_back(e); });
  REQUIRE(t);
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].code == errc::unknown_record);
  CHECK(t->view().find(0x1050));
  CHECK_FALSE(t->view().find(0x1150));
  CHECK(t->view().find(0x1250));
}

TEST_CASE("where two sections have an answer the first one counts") {
  const auto first = test::frame_builder{}.fde(bytes<0x0e, 16>);
  const auto second = test::frame_builder{}.fde(bytes<0x0e, 32>).fde(bytes<0x0e, 48>);
  const std::array<cfi::section<order::little>, 2> sections{first.section(), second.section()};
  const auto t = cfi::build_table<arch>(std::span<const cfi::section<order::little>>(sections), {},
                                        [](const trace_error&, std::uint32_t) {});
  REQUIRE(t);
  CHECK(t->view().find(0x1010)[cfi::unwind_rule::cfa_offset] == 16);
  CHECK(t->view().find(0x1110)[cfi::unwind_rule::cfa_offset] == 48);
}

TEST_CASE("a saved table opens anywhere and keeps its build-id") {
  const auto built = test::frame_builder{}.fde(bytes<0x41, 0x0e, 16>);
  const auto& id = bytes<1, 2, 3, 4>;
  const auto made = cfi::build_table<arch>(built.section(), {cfi::table_profile::all, id});
  REQUIRE(made);
  std::vector<std::byte> moved(1);
  moved.insert(moved.end(), made->bytes().begin(), made->bytes().end());
  const auto opened = cfi::table_view::open(byte_view(moved).subspan(1));
  REQUIRE(opened);
  CHECK(opened->find(0x1010));
  CHECK(std::equal(id.begin(), id.end(), opened->build_id().begin(), opened->build_id().end()));
  CHECK(opened->profile() == cfi::table_profile::all);
  CHECK(opened->machine() == 62);
  CHECK(test::allocations_in([&] { (void)opened->find(0x1010); }) == 0);
}

namespace {

/// A table's bytes, changed, with a checksum that fits.
struct forged {
  std::vector<std::byte> bytes;

  explicit forged(const cfi::table& from) : bytes(from.bytes().begin(), from.bytes().end()) {}
  [[nodiscard]] trace_error open() {
    mutable_record<cfi::table_header, order::little>(bytes.data() + saved_index_head::size)
        .set(cfi::table_header::file_bytes, std::uint64_t{bytes.size()});
    test::seal_table(bytes);
    return cfi::table_view::open(bytes).error();
  }
};
using header = cfi::table_header;

/// Where the parts of a table begin: runs, pages, rules, sequences, general rules, blocks, end.
std::array<std::size_t, 7> parts_of(const cfi::table& t) {
  const auto h = t.view().header();
  const std::array<std::size_t, 6> sizes{16 * std::size_t{h[header::run_count]},
                                         20 * std::size_t{h[header::page_count]},
                                         t.view().rule_count() * t.view().rule_bytes(),
                                         32 * std::size_t{h[header::sequence_count]},
                                         h[header::general_bytes],
                                         h[header::block_bytes]};
  std::array<std::size_t, 7> starts{cfi::detail::table_head_bytes};
  for (std::size_t i = 0; i < sizes.size(); ++i) starts[i + 1] = starts[i] + sizes[i];
  REQUIRE(starts[6] == t.bytes().size());
  return starts;
}

}  // namespace

namespace {

/// Every word can be read and is another one, but for some that cannot.
struct mixed_words {
  std::optional<std::uint64_t> operator()(std::uint64_t address) const {
    const std::uint64_t mixed = (address + 1) * 0x9e3779b97f4a7c15U;
    if (mixed % 16 == 3) return std::nullopt;
    return mixed >> 32;
  }
};

/// Frames by the rule as it was worked out and by its text differ; the number of such frames, and in `count` that of
/// all.
template <class Arch>
std::size_t frames_that_differ(const cfi::table_view& table, std::size_t& count) {
  std::size_t differ = 0;
  const mixed_words memory;
  for (std::size_t i = 0; i < table.rule_count(); ++i) {
    const cfi::rule_view<Arch> rule(table.rule(i));
    if (!cfi::detail::is_placed(rule[cfi::unwind_rule::shape])) continue;
    for (std::uint64_t seed = 1; seed <= 64; ++seed, ++count) {
      cfi::frame<Arch> placed;
      for (std::size_t reg = 0; reg < placed.value.size(); ++reg) placed.value[reg] = seed * 0x10000 + reg * 0x808;
      placed.pc = 0x1234;
      if (seed % 4 == 0) placed.where[cfi::frame<Arch>::columns[Arch::frame_pointer]] = seed * 8;
      cfi::frame<Arch> by_text = placed;
      const cfi::stop a = cfi::detail::step_placed(placed, table, rule, memory);
      const cfi::stop b =
          cfi::apply_general(by_text, table.text_of(rule), rule[cfi::unwind_rule::signal_frame], memory);
      bool same =
          a == b && placed.pc == by_text.pc && placed.pc_is_next == by_text.pc_is_next && placed.how == by_text.how;
      for (std::uint64_t reg = 0; reg < Arch::register_count; ++reg)
        same = same && placed.get(reg, memory) == by_text.get(reg, memory);
      differ += same ? 0U : 1U;
    }
  }
  return differ;
}

}  // namespace

TEST_CASE("frames of aligned stacks and of signals are worked out when a table is built") {
  const auto shape_at = [](const cfi::table& t, std::uint64_t address) {
    return t.view().find(address)[cfi::unwind_rule::shape];
  };
  // What GCC writes of a function that aligns its stack: def_cfa_expression breg6 -8, deref; rbp at breg6 0, rbx at
  // -16.
  const auto aligned = bytes<0x44, 0x0f, 3, 0x76, 0x78, 6, 0x10, 6, 2, 0x76, 0, 0x10, 3, 2, 0x76, 0x70>;
  const cfi::table a = build(test::frame_builder{}.fde(aligned));
  CHECK(shape_at(a, 0x1002) == cfi::rule_shape::common);
  REQUIRE(shape_at(a, 0x1010) == cfi::rule_shape::aligned);
  const cfi::rule_view<arch> r(a.view().find(0x1010));
  CHECK(r[cfi::unwind_rule::cfa_register] == 6);
  CHECK(r[cfi::unwind_rule::cfa_saved]);
  CHECK(r[cfi::unwind_rule::cfa_word] == -1);
  CHECK(r[cfi::unwind_rule::return_address_word] == -1);
  CHECK(a.view().others_of(a.view().find(0x1010)).count == 0);
  // The frame of a signal handler's caller, as glibc writes it: all counts from rsp, and rsp is the CFA; r8 besides.
  const auto& signal = bytes<0x0f, 4, 0x77, 0xa0, 1, 6, 0x10, 16, 3, 0x77, 0xa8, 1, 0x10, 7, 3, 0x77, 0xa0, 1, 0x10, 6,
                             3, 0x77, 0xf8, 0, 0x10, 8, 2, 0x77, 40>;
  const cfi::table b = build(test::frame_builder{}.cie("zRS", signal).fde(bytes<0>));
  REQUIRE(shape_at(b, 0x1010) == cfi::rule_shape::signal);
  const auto others = b.view().others_of(b.view().find(0x1010));
  REQUIRE(others.count == 1);
  CHECK(others.pairs[0] == std::byte{8});
  CHECK(others.pairs[1] == std::byte{4});
  // By plain offsets from a register, as on other machines.
  CHECK(shape_at(build(test::frame_builder{}.cie("zRS", bytes<0x0c, 7, 8, 0x90, 1>).fde(bytes<0x85, 2>)), 0x1010) ==
        cfi::rule_shape::aligned);

  const auto is_general = [&](byte_view code) {
    return shape_at(build(test::frame_builder{}.fde(code)), 0x1010) == cfi::rule_shape::general;
  };
  // A place from another register, one that is read, one that is no multiple of a word, one too far, one on the word
  // above the register; another stack pointer; a CFA of more than one load or that counts from the pc.
  CHECK(is_general(bytes<0x0f, 3, 0x76, 0x78, 6, 0x10, 3, 2, 0x77, 0x70>));
  CHECK(is_general(bytes<0x0f, 3, 0x76, 0x78, 6, 0x10, 3, 3, 0x76, 0x70, 6>));
  CHECK(is_general(bytes<0x0f, 3, 0x76, 0x78, 6, 0x10, 3, 2, 0x76, 0x71>));
  CHECK(is_general(bytes<0x0f, 3, 0x76, 0x78, 6, 0x10, 3, 3, 0x76, 0x80, 0x70>));
  CHECK(is_general(bytes<0x0f, 3, 0x76, 0x78, 6, 0x10, 3, 2, 0x76, 8>));
  CHECK(is_general(bytes<0x0f, 3, 0x76, 0x78, 6, 0x10, 7, 2, 0x76, 0x70>));
  CHECK(is_general(bytes<0x0f, 4, 0x76, 0x78, 6, 6>));
  CHECK(is_general(bytes<0x0f, 4, 0x80, 0x78, 6, 0x96>));
  CHECK(is_general(bytes<0x0f, 3, 0x80, 0x78, 6>));

  for (const cfi::table* t : {&a, &b}) {
    std::size_t count = 0;
    CHECK(frames_that_differ<arch>(t->view(), count) == 0);
    CHECK(count == 64);
    CHECK_FALSE(cfi::table_view::open(t->bytes()).error());
  }
}

TEST_CASE("what was worked out of a rule says what its text says, in every sample") {
  std::size_t count = 0;
  for (const test::expectation& e : test::expectations()) {
    if (e.kind != "ok") continue;
    INFO(e.file << ' ' << e.section);
    const test::loaded_section s(test::data_path("cfi/" + e.file), e.section);
    if (!s.found || s.image.byte_order() != order::little) continue;
    const cfi::section<order::little> section(s.section.bytes, s.section.info);
    cfi::with_arch(s.image.machine(), [&](auto a) {
      using machine = decltype(a);
      if constexpr (requires { machine::saved; }) {
        const auto table = cfi::build_table<machine>(section, {cfi::table_profile::all, {}});
        REQUIRE(table);
        CHECK(frames_that_differ<machine>(table->view(), count) == 0);
        CHECK_FALSE(cfi::table_view::open(table->bytes()).error());
      }
    });
  }
  CHECK(count > 0);
}

TEST_CASE("a rule that says something else than its text is refused") {
  const cfi::table t = build(
      test::frame_builder{}
          .cie("zRS",
               bytes<0x0f, 4, 0x77, 0xa0, 1, 6, 0x10, 16, 3, 0x77, 0xa8, 1, 0x10, 8, 2, 0x77, 40, 0x10, 3, 2, 0x77, 48>)
          .fde(bytes<0>));
  const auto at = parts_of(t);
  REQUIRE(t.view().rule_count() == 1);
  const trace_error refused{errc::out_of_range, at[2]};
  // Shape, register, words of return address and CFA, place of the text, lane of rbx; number of others, register, word.
  for (const std::size_t place :
       {at[2], at[2] + 1, at[2] + 2, at[2] + 3, at[2] + 4, at[2] + 8, at[4], at[4] + 1, at[4] + 2}) {
    for (const unsigned flip : {0x01U, 0x40U}) {
      CAPTURE(place, flip);
      if (place == at[2] + 8 && flip == 1)
        continue;  // Where r8 is: which lane is which register's, only the machine tells.
      forged one(t);
      one.bytes[place] ^= static_cast<std::byte>(flip);
      CHECK(one.open() == refused);
    }
  }
}

TEST_CASE("building a table takes less memory than twice the section") {
  const auto built = alike(60000);
  const auto section = built.section();
  const std::size_t before = test::allocated_bytes();
  const auto made = cfi::build_table<arch>(section);
  const std::size_t asked_for = test::allocated_bytes() - before;
  REQUIRE(made);
  CHECK(made->view().row_count() > 400000);
  // Of all that it ever asks for; what it has at a time is less.
  CHECK(asked_for < 2 * section.bytes().size());
}

TEST_CASE("a table of another version is refused as such") {
  const cfi::table t = build(test::frame_builder{}.fde(bytes<0x41, 0x0e, 16>));
  const auto place = offset_of<saved_index_head>(saved_index_head::version);
  for (const unsigned version : {0U, 1U, 2U, 4U}) {
    std::vector<std::byte> other(t.bytes().begin(), t.bytes().end());
    other[place] = static_cast<std::byte>(version);
    CHECK(cfi::table_view::open(other).error() == trace_error{errc::unsupported_version, place});
  }
  // The head of version 2: magic, checksum, size, version.
  const auto second = test::byte_builder{}.text("BSUWNTAB").u64(0x1234567890abcdef).u64(128).u16(2).u16(62).fill(100);
  CHECK(cfi::table_view::open(second.view()).error() == trace_error{errc::unsupported_version, place});
}

TEST_CASE("a table knows what it was built of") {
  const auto built = test::frame_builder{}.fde(bytes<0x41, 0x0e, 16>);
  const cfi::table t = build(built);
  CHECK(t.view().source() == fingerprint_of_ends(built.section().bytes()));
  CHECK(t.view().source() != fingerprint{});
  CHECK(cfi::table_view().source() == fingerprint{});
}

TEST_CASE("a saved table that is cut or damaged is refused") {
  const cfi::table t =
      build(test::frame_builder{}.fde(bytes<0x41, 0x0e, 16, 0x0f, 2, 0x77, 8>).fde(bytes<0x41, 0x0e, 16>));
  for (std::size_t size = 0; size < t.bytes().size(); ++size) {
    CHECK_FALSE(cfi::table_view::open(t.bytes().first(size)));
  }
  for (std::size_t i = 0; i < t.bytes().size(); ++i) {
    std::vector<std::byte> damaged(t.bytes().begin(), t.bytes().end());
    damaged[i] ^= std::byte{0x10};
    CHECK_FALSE(cfi::table_view::open(damaged));
  }
}

TEST_CASE("a table that was forged is refused where it lies, with a checksum that fits") {
  // One page with rows at 0x1000, 0x1001, 0x1100, 0x1101 and a gap; two rules and a general one.
  const cfi::table t = build(test::frame_builder{}.fde(bytes<0x41, 0x0e, 16>).fde(bytes<0x41, 0x0f, 2, 0x77, 8>));
  const auto at = parts_of(t);
  const auto rules = static_cast<std::uint8_t>(t.view().rule_count());
  REQUIRE(rules == 3);
  CHECK_FALSE(forged(t).open());

  SECTION("the shape of a rule") {
    forged none(t), beyond(t);
    none.bytes[at[2]] &= std::byte{0xf8};
    CHECK(none.open() == trace_error{errc::out_of_range, at[2]});
    beyond.bytes[at[2]] |= std::byte{7};
    CHECK(beyond.open() == trace_error{errc::out_of_range, at[2]});
  }
  SECTION("the rule of a row") {
    // The blocks: one for what lies before the first row, then the bucket's starts and ids.
    const auto first_id = at[5] + 1 + std::to_integer<std::size_t>(t.bytes()[at[1] + 4]);
    forged last(t), beyond(t), before(t);
    last.bytes[first_id] = static_cast<std::byte>(rules - 1);
    CHECK_FALSE(last.open());
    beyond.bytes[first_id] = static_cast<std::byte>(rules);
    CHECK(beyond.open() == trace_error{errc::out_of_range, first_id});
    before.bytes[at[5]] = static_cast<std::byte>(rules);
    CHECK(before.open() == trace_error{errc::out_of_range, at[5]});
    forged alone(t);
    alone.bytes[first_id] = std::byte{cfi::id_rarest};
    CHECK(alone.open() == trace_error{errc::out_of_range, first_id});
  }
  SECTION("where a row begins") {
    forged same(t), before(t);
    const auto first = at[5] + 1;
    same.bytes[first + 1] = same.bytes[first];
    CHECK(same.open() ==
          trace_error{errc::out_of_range, first + 1 + std::to_integer<std::size_t>(t.bytes()[at[1] + 4])});
    std::swap(before.bytes[first], before.bytes[first + 1]);
    CHECK(before.open() == trace_error{errc::out_of_range, first + 1});
  }
  SECTION("more rows than there are bytes for") {
    // The last bucket of the page, which has none: the next bytes are those that a look-up may read.
    for (const unsigned count : {1U, 2U, 200U}) {
      forged more(t);
      more.bytes[at[1] + 4 + 15] = static_cast<std::byte>(count);
      CHECK(more.open() == trace_error{errc::out_of_range, at[1]});
    }
  }
  SECTION("fewer rows than there are bytes for") {
    forged fewer(t);
    const std::size_t bucket = at[1] + 4;
    std::size_t last = 0;
    for (std::size_t i = 0; i < 16; ++i) last = fewer.bytes[bucket + i] != std::byte{0} ? i : last;
    fewer.bytes[bucket + last] = std::byte{0};
    CHECK(fewer.open() == trace_error{errc::bad_size, at[5]});
  }
  SECTION("bytes left over behind the blocks") {
    forged longer(t);
    longer.bytes.resize(longer.bytes.size() + 2);
    const std::uint32_t block_bytes = t.view().header()[header::block_bytes];
    mutable_record<header, order::little>(longer.bytes.data() + saved_index_head::size)
        .set(header::block_bytes, block_bytes + 2);
    CHECK(longer.open() == trace_error{errc::bad_size, at[5]});
  }
  SECTION("where the rows of a page begin") {
    forged moved(t);
    moved.bytes[at[1]] ^= std::byte{2};
    CHECK(moved.open() == trace_error{errc::out_of_range, at[1]});
  }
  SECTION("the pages of a run") {
    for (const auto& [offset, value] : std::vector<std::pair<std::size_t, unsigned>>{{8, 1}, {12, 0}, {12, 2}}) {
      forged run(t);
      run.bytes[at[0] + offset] = static_cast<std::byte>(value);
      CHECK(run.open() == trace_error{errc::out_of_range, at[0]});
    }
  }
  SECTION("the counts of parts") {
    forged rule_count(t);
    mutable_record<header, order::little>(rule_count.bytes.data() + saved_index_head::size).set(header::rule_count, 4U);
    CHECK(rule_count.open() == trace_error{errc::bad_size, cfi::detail::offset_in_table(header::file_bytes)});
  }
}

TEST_CASE("ids that have others in front are checked with them") {
  test::frame_builder built;
  built.fde(bytes<0x41, 0x0e, 16>);
  for (unsigned i = 0; i < 300; ++i) built.fde(test::byte_builder{}.u8(0x0e).u8(0x80 | (i & 0x7fU)).u8(i >> 7).view());
  const cfi::table t = build(built);
  const auto at = parts_of(t);
  const std::size_t first_sequence = 253 - 1 - std::size_t{t.view().header()[header::sequence_count]};
  // The functions begin where buckets do, so that a rule's last row is one of a pair: start, start, id, id.
  std::size_t place = 0;
  for (std::size_t i = at[5] + 1; i + 4 < at[6] - 16 && place == 0; ++i) {
    if (t.bytes()[i] == std::byte{0} && t.bytes()[i + 1] == std::byte{0} && t.bytes()[i + 3] == std::byte{252})
      place = i + 3;
  }
  REQUIRE(place != 0);
  const trace_error refused{errc::out_of_range, place};
  forged last(t), beyond(t), alone(t), many(t);
  last.bytes[place - 1] = static_cast<std::byte>(299 - first_sequence);
  CHECK_FALSE(last.open());
  beyond.bytes[place - 1] = static_cast<std::byte>(300 - first_sequence);
  CHECK(beyond.open() == refused);
  alone.bytes[place] = std::byte{0};
  CHECK(alone.open() == refused);
  many.bytes[place] = std::byte{255};
  CHECK(many.open() == refused);
}

TEST_CASE("the sequences of a table are checked one by one") {
  const cfi::table t = build(alike(200));
  const auto at = parts_of(t);
  const std::size_t count = (at[4] - at[3]) / 32;
  REQUIRE(count > 0);
  std::size_t longest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto more = [&](std::size_t k) { return t.bytes()[at[3] + 32 * k]; };
    if (more(i) > more(longest)) longest = i;
  }
  const std::size_t place = at[3] + 32 * longest;
  const auto more = std::to_integer<std::size_t>(t.bytes()[place]);
  REQUIRE(more >= 2);
  const trace_error refused{errc::out_of_range, place};
  const auto forge = [&](std::size_t offset, std::size_t value) {
    forged one(t);
    one.bytes[place + offset] = static_cast<std::byte>(value);
    return one.open();
  };
  CHECK_FALSE(forge(0, more));
  CHECK(forge(0, 16) == refused);
  CHECK(forge(1, 0) == refused);
  CHECK(forge(2, std::to_integer<std::size_t>(t.bytes()[place + 1])) == refused);
  CHECK(forge(16, t.view().rule_count()) == refused);
  CHECK(forge(16, cfi::id_aligned_gap) == refused);
  CHECK(forge(16, cfi::id_rarest) == refused);
  // Rows of a sequence behind those that follow it, or in another bucket.
  const trace_error far = forge(more, 255);
  CHECK(far.code == errc::out_of_range);
  CHECK(far.offset > at[5]);
  forged most(t);
  mutable_record<header, order::little>(most.bytes.data() + saved_index_head::size)
      .set(header::sequence_count, std::uint8_t{200});
  CHECK(most.open() == trace_error{errc::bad_value, cfi::detail::offset_in_table(header::sequence_count)});
}

TEST_CASE("two runs of a table ascend and do not overlap") {
  test::frame_builder built;
  built.fde_at(0x1000, bytes<0x41, 0x0e, 16>, 0x100).fde_at(0x10000000, bytes<0x41, 0x0e, 16>, 0x100);
  const cfi::table t = build(built);
  const auto at = parts_of(t);
  REQUIRE(at[1] - at[0] == 32);
  const auto open_with = [&](std::uint64_t begin) {
    forged moved(t);
    store<order::little>(moved.bytes.data() + at[0] + 16, begin);
    return moved.open();
  };
  CHECK_FALSE(open_with(0x2000));
  CHECK(open_with(0x1fff) == trace_error{errc::out_of_range, at[0] + 16});
  CHECK(open_with(0x1000) == trace_error{errc::out_of_range, at[0] + 16});
}

TEST_CASE("a table that was changed anywhere is refused, or gives rules of its own and nothing else") {
  const cfi::table t =
      build(test::frame_builder{}.fde(bytes<0x41, 0x0e, 16, 0x0f, 2, 0x77, 8>).fde(bytes<0x41, 0x0e, 16>));
  std::size_t refused = 0, opened = 0;
  for (std::size_t i = saved_index_head::size; i < t.bytes().size(); ++i) {
    for (const unsigned flip : {0x01U, 0x80U, 0xffU}) {
      std::vector<std::byte> damaged(t.bytes().begin(), t.bytes().end());
      damaged[i] ^= static_cast<std::byte>(flip);
      test::seal_table(damaged);
      const auto view = cfi::table_view::open(damaged);
      if (!view) {
        CHECK(view.error().offset <= damaged.size());
        ++refused;
        continue;
      }
      ++opened;
      const auto is_rule = [&](cfi::any_rule rule) {
        for (std::size_t n = 0; n < view->rule_count(); ++n) {
          if (rule == view->rule(n)) return true;
        }
        return false;
      };
      std::size_t strange = 0;
      for (std::uint64_t address = 0xf00; address < 0x1300; address += 7) {
        const cfi::any_rule rule = view->find(address);
        strange += rule && !is_rule(rule) ? 1U : 0U;
      }
      view->for_each_row([&](std::uint64_t, std::uint32_t rule) {
        strange += rule != cfi::table_view::no_rule && rule >= view->rule_count() ? 1U : 0U;
      });
      CHECK(strange == 0);
    }
  }
  // Among what is refused: every byte that counts or leads somewhere.
  CHECK(refused > 100);
  CHECK(opened > 100);
}
