// SPDX-License-Identifier: Apache-2.0
#include <backsight/cfi/table_builder.hpp>

#include <backsight/cfi/arch/generic.hpp>

#include <support/catch.hpp>
#include <support/no_alloc.hpp>

#include "fixtures.hpp"
#include "frame_builder.hpp"
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
    const std::byte* rule = t.view().find(address);
    return rule == nullptr ? -1 : cfi::rule_view(rule)[cfi::unwind_rule::cfa_offset];
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
  CHECK(cfi::rule_view(t.view().find(0x12345678))[cfi::unwind_rule::cfa_offset] == 16);
  CHECK(cfi::rule_view(t.view().find((std::uint64_t{1} << 50) + 2))[cfi::unwind_rule::cfa_offset] == 32);
  CHECK(t.view().find((std::uint64_t{1} << 50) + 16) == nullptr);
  CHECK(t.view().find((std::uint64_t{1} << 40) + 0x1000) == nullptr);
}

TEST_CASE("more rules than one byte numbers are reached through the exceptions") {
  test::frame_builder built;
  for (unsigned i = 0; i < 400; ++i) {
    test::byte_builder code;
    code.u8(0x0e).u8(0x80 | (i & 0x7fU)).u8(i >> 7);
    built.fde(code.view());
  }
  const cfi::table t = build(built);
  CHECK(t.view().header()[cfi::table_header::exception_count] > 100);
  for (unsigned i = 0; i < 400; ++i) {
    const std::byte* rule = t.view().find(0x1000 + i * 0x100 + 7);
    REQUIRE(rule != nullptr);
    CHECK(cfi::rule_view(rule)[cfi::unwind_rule::cfa_offset] == static_cast<std::int32_t>(i));
  }
}

namespace {

/// The rule for an address, as general rules tell it: the CFA and each register's kind and value.
std::string rule_at(const cfi::table& t, std::uint64_t address) {
  const std::byte* rule = t.view().find(address);
  if (rule == nullptr) return "none";
  const cfi::rule_view r(rule);
  if (r[cfi::unwind_rule::shape] != cfi::rule_shape::general) return "not general";
  std::string text;
  const trace_error error = cfi::walk_general_rule(
      t.view().general_rule(static_cast<std::uint32_t>(r[cfi::unwind_rule::cfa_offset])),
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
  const std::byte* rule = t.view().find(address);
  if (rule == nullptr) return "none";
  const cfi::rule_view r(rule);
  if (r[cfi::unwind_rule::shape] != cfi::rule_shape::common) return "not common";
  std::string text = "r" + std::to_string(r[cfi::unwind_rule::cfa_register]) + '+' +
                     std::to_string(r[cfi::unwind_rule::cfa_offset]) + " ra" + std::to_string(r[cfi::unwind_rule::return_address_word]);
  for (std::size_t i = 0; i < arch::saved.size(); ++i) {
    const int word = load<std::int8_t, order::little>(rule + cfi::unwind_rule::size + i);
    if (word != 0) text += " r" + std::to_string(arch::saved[i]) + ":" + std::to_string(word);
  }
  return text;
}

}  // namespace

TEST_CASE("a register saved further from the CFA than a byte of words tells is in a general rule") {
  // rbx at cfa - 1024, - 1032, + 1016, + 1024, + 0, and at no multiple of a word.
  test::frame_builder built;
  built.fde(bytes<0x05, 3, 0x80, 1>).fde(bytes<0x05, 3, 0x81, 1>).fde(bytes<0x11, 3, 0x81, 0x7f>).fde(bytes<0x11, 3, 0x80, 0x7f>);
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
  CHECK(common_at(build(test::frame_builder{}.fde(bytes<0x0e, 0xff, 0xff, 0xff, 0xff, 0x07>)), 0x1010) == "r7+2147483647 ra-1");
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
      CHECK(cfi::rule_view(made->view().find(0x1000 + (count - 1) * 0x100))[cfi::unwind_rule::cfa_offset] ==
            static_cast<std::int32_t>(count - 1));
    }
    return made.error();
  };
  CHECK_FALSE(rules(0xffff));
  CHECK(rules(0x10000) == trace_error{errc::capacity, 0});
  // A row for each byte of a bucket of 256.
  const auto rows = [](unsigned count) {
    test::byte_builder code;
    for (unsigned i = 1; i < count; ++i) code.u8(0x41).u8(0x0e).u8(i % 2 == 0 ? 8 : 16);
    const auto built = test::frame_builder{}.fde(code.view(), 0x1000);
    const auto made = cfi::build_table<arch>(built.section());
    if (made) {
      for (unsigned i = 0; i < count; ++i) {
        CHECK(cfi::rule_view(made->view().find(0x1000 + i))[cfi::unwind_rule::cfa_offset] == (i % 2 == 0 ? 8 : 16));
      }
    }
    return made.error();
  };
  CHECK_FALSE(rows(255));
  CHECK(rows(256) == trace_error{errc::capacity, 0});
}

TEST_CASE("a gap up to the end of a page and the function behind it are found, however long that is") {
  // With code at odd addresses a page is 4096 bytes; the function behind the gap is longer than the pages that a table
  // stores without rows.
  for (const std::uint64_t size : {std::uint64_t{0x100}, std::uint64_t{0x1000}, std::uint64_t{0x42000}, std::uint64_t{1} << 30}) {
    test::frame_builder built;
    built.fde_at(0x1000, bytes<0x41, 0x0e, 16>, 0xff5).fde_at(0x2000, bytes<0>, size);
    const cfi::table t = build(built);
    CHECK(common_at(t, 0x1ff4) == "r7+16 ra-1");
    for (std::uint64_t address = 0x1ff5; address < 0x2000; ++address) CHECK(t.view().find(address) == nullptr);
    for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{1}, size / 2, size - 1}) CHECK(common_at(t, 0x2000 + at) == "r7+8 ra-1");
    CHECK(t.view().find(0x2000 + size) == nullptr);
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
  CHECK(t.view().find(0x1200) == nullptr);
  CHECK(t.view().find(0x1350) == nullptr);
  CHECK(common_at(t, 0x1380) == "r7+64 ra-1");
  CHECK(common_at(t, 0x157f) == "r7+64 ra-1");
  CHECK(t.view().find(0x1580) == nullptr);
}

TEST_CASE("an FDE that fails behind its first rows leaves none of them") {
  // Three rows, then an instruction that nobody defines.
  const auto built = test::frame_builder{}
                         .fde(bytes<0x41, 0x0e, 16>)
                         .fde(bytes<0x41, 0x0e, 16, 0x44, 0x0e, 24, 0x44, 0x3f>)
                         .fde(bytes<0x41, 0x0e, 32>);
  const cfi::table t = build(built);
  CHECK(common_at(t, 0x10ff) == "r7+16 ra-1");
  for (std::uint64_t address = 0x1100; address < 0x1200; ++address) CHECK(t.view().find(address) == nullptr);
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
  CHECK(t->view().find(0x1050) != nullptr);
  CHECK(t->view().find(0x1150) == nullptr);
  CHECK(t->view().find(0x1250) != nullptr);
}

TEST_CASE("where two sections have an answer the first one counts") {
  const auto first = test::frame_builder{}.fde(bytes<0x0e, 16>);
  const auto second = test::frame_builder{}.fde(bytes<0x0e, 32>).fde(bytes<0x0e, 48>);
  const std::array<cfi::section<order::little>, 2> sections{first.section(), second.section()};
  const auto t = cfi::build_table<arch>(std::span<const cfi::section<order::little>>(sections), {},
                                        [](const trace_error&, std::uint32_t) {});
  REQUIRE(t);
  CHECK(cfi::rule_view(t->view().find(0x1010))[cfi::unwind_rule::cfa_offset] == 16);
  CHECK(cfi::rule_view(t->view().find(0x1110))[cfi::unwind_rule::cfa_offset] == 48);
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
  CHECK(opened->find(0x1010) != nullptr);
  CHECK(std::equal(id.begin(), id.end(), opened->build_id().begin(), opened->build_id().end()));
  CHECK(opened->profile() == cfi::table_profile::all);
  CHECK(opened->machine() == 62);
  CHECK(test::allocations_in([&] { (void)opened->find(0x1010); }) == 0);
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

namespace {

/// A table's bytes, changed, with a checksum that fits.
struct forged {
  std::vector<std::byte> bytes;

  explicit forged(const cfi::table& from) : bytes(from.bytes().begin(), from.bytes().end()) {}
  [[nodiscard]] trace_error open() {
    store<order::little>(bytes.data() + 16, std::uint64_t{bytes.size()});
    store<order::little>(bytes.data() + 8, cfi::detail::checksum(byte_view(bytes).subspan(16)));
    return cfi::table_view::open(bytes).error();
  }
};
using header = cfi::table_header;

/// Where the parts of a table begin: runs, pages, rules, positions and rules of exceptions, general rules, blocks, end.
std::array<std::size_t, 8> parts_of(const cfi::table& t) {
  const auto h = t.view().header();
  const std::size_t exceptions = h[header::exception_count];
  const std::array<std::size_t, 7> sizes{16 * std::size_t{h[header::run_count]}, 20 * std::size_t{h[header::page_count]},
                                         t.view().rule_count() * t.view().rule_bytes(), 4 * exceptions, 2 * exceptions,
                                         h[header::general_bytes], h[header::block_bytes]};
  std::array<std::size_t, 8> starts{128};
  for (std::size_t i = 0; i < sizes.size(); ++i) starts[i + 1] = starts[i] + sizes[i];
  REQUIRE(starts[7] == t.bytes().size());
  return starts;
}

}  // namespace

TEST_CASE("a table that was forged is refused where it lies, with a checksum that fits") {
  // One page with rows at 0x1000, 0x1001, 0x1100, 0x1101 and a gap; two rules and a general one.
  const cfi::table t = build(test::frame_builder{}.fde(bytes<0x41, 0x0e, 16>).fde(bytes<0x41, 0x0f, 2, 0x77, 8>));
  const auto at = parts_of(t);
  const auto rules = static_cast<std::uint8_t>(t.view().rule_count());
  REQUIRE(rules == 3);
  CHECK_FALSE(forged(t).open());

  SECTION("the entry rule") {
    forged last(t), beyond(t);
    last.bytes[56] = static_cast<std::byte>(rules - 1);
    CHECK_FALSE(last.open());
    beyond.bytes[56] = static_cast<std::byte>(rules);
    CHECK(beyond.open() == trace_error{errc::out_of_range, 56});
  }
  SECTION("the rule of a row") {
    // The blocks: one for what lies before the first row, then the bucket's starts and ids.
    const auto first_id = at[6] + 1 + std::to_integer<std::size_t>(t.bytes()[at[1] + 4]);
    forged last(t), beyond(t), before(t);
    last.bytes[first_id] = static_cast<std::byte>(rules - 1);
    CHECK_FALSE(last.open());
    beyond.bytes[first_id] = static_cast<std::byte>(rules);
    CHECK(beyond.open() == trace_error{errc::out_of_range, first_id});
    before.bytes[at[6]] = static_cast<std::byte>(rules);
    CHECK(before.open() == trace_error{errc::out_of_range, at[6]});
    forged exception(t);
    exception.bytes[first_id] = std::byte{cfi::detail::id_exception};
    CHECK(exception.open() == trace_error{errc::out_of_range, first_id});
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
    CHECK(fewer.open() == trace_error{errc::bad_size, at[6]});
  }
  SECTION("bytes left over behind the blocks") {
    forged longer(t);
    longer.bytes.resize(longer.bytes.size() + 2);
    const std::uint32_t block_bytes = t.view().header()[header::block_bytes];
    mutable_record<header, order::little>(longer.bytes.data()).set(header::block_bytes, block_bytes + 2);
    CHECK(longer.open() == trace_error{errc::bad_size, at[6]});
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
    mutable_record<header, order::little>(rule_count.bytes.data()).set(header::rule_count, 4U);
    CHECK(rule_count.open() == trace_error{errc::bad_size, 16});
  }
}

TEST_CASE("the exceptions of a table are checked one by one") {
  test::frame_builder built;
  for (unsigned i = 0; i < 300; ++i) built.fde(test::byte_builder{}.u8(0x0e).u8(0x80 | (i & 0x7fU)).u8(i >> 7).view());
  const cfi::table t = build(built);
  const auto at = parts_of(t);
  const std::size_t exceptions = (at[4] - at[3]) / 4;
  REQUIRE(exceptions > 10);
  for (const std::size_t one : {std::size_t{0}, exceptions - 1}) {
    const auto position = load<std::uint32_t, order::little>(t.bytes().data() + at[3] + 4 * one);
    const trace_error refused{errc::out_of_range, at[6] + position};
    forged last(t), beyond(t), moved(t);
    store<order::little>(last.bytes.data() + at[4] + 2 * one, static_cast<std::uint16_t>(299));
    CHECK_FALSE(last.open());
    store<order::little>(beyond.bytes.data() + at[4] + 2 * one, static_cast<std::uint16_t>(300));
    CHECK(beyond.open() == refused);
    store<order::little>(moved.bytes.data() + at[3] + 4 * one, position + 1);
    CHECK(moved.open() == refused);
  }
  // One row less that refers to them.
  forged unused(t);
  const auto position = load<std::uint32_t, order::little>(t.bytes().data() + at[4] - 4);
  unused.bytes[at[6] + position] = std::byte{0};
  CHECK(unused.open() == trace_error{errc::bad_size, at[6]});
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
  for (std::size_t i = 16; i < t.bytes().size(); ++i) {
    for (const unsigned flip : {0x01U, 0x80U, 0xffU}) {
      std::vector<std::byte> damaged(t.bytes().begin(), t.bytes().end());
      damaged[i] ^= static_cast<std::byte>(flip);
      store<order::little>(damaged.data() + 8, cfi::detail::checksum(byte_view(damaged).subspan(16)));
      const auto view = cfi::table_view::open(damaged);
      if (!view) {
        CHECK(view.error().offset <= damaged.size());
        ++refused;
        continue;
      }
      ++opened;
      const auto is_rule = [&](const std::byte* rule) {
        for (std::size_t n = 0; n < view->rule_count(); ++n) {
          if (rule == view->rule(n)) return true;
        }
        return false;
      };
      std::size_t strange = 0;
      for (std::uint64_t address = 0xf00; address < 0x1300; address += 7) {
        const std::byte* rule = view->find(address);
        strange += rule != nullptr && !is_rule(rule) ? 1U : 0U;
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
