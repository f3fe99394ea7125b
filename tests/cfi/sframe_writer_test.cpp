// SPDX-License-Identifier: Apache-2.0
// Stands for cfi/sframe/compare.hpp, cfi/sframe/frame_rows.hpp, cfi/sframe/row_words.hpp, cfi/sframe/writer.hpp
#include <backsight/cfi/sframe/compare.hpp>
#include <backsight/cfi/sframe/writer.hpp>

#include <set>
#include <string>
#include <vector>

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::cfi::sframe;
using enum place::kind;

namespace {

sframe_row row_of(const place& cfa, const place& return_address, const place& frame_pointer, bool is_signed = false) {
  sframe_row r;
  r.cfa = cfa;
  r.return_address = return_address;
  r.frame_pointer = frame_pointer;
  r.return_address_signed = is_signed;
  return r;
}
frame_function function_of(std::uint64_t begin, std::uint64_t end, std::vector<interval> rows) {
  frame_function f;
  f.begin = begin;
  f.end = end;
  f.usual_column = true;
  f.rows = std::move(rows);
  return f;
}
const place pushed{at_cfa, 0, -8};
sframe_row plain(std::int64_t offset) { return row_of({is_register, 7, offset}, pushed, {}); }

/// Writes the functions, reads them back and compares.
std::size_t differences_after(abi machine, const std::vector<frame_function>& functions,
                              std::uint64_t address = 0x500000) {
  writer w(machine);
  for (const frame_function& f : functions) REQUIRE(w.add(f) == unsayable::none);
  const auto bytes = w.write(address);
  REQUIRE(bytes);
  const auto opened = section::open(*bytes, address);
  REQUIRE(opened);
  std::size_t count = 0;
  const auto broken = [&](const problem& p) {
    INFO(name_of(p.what));
    CHECK(p.what == defect::none);
  };
  compare(opened.section, functions, [&](const difference&) { ++count; }, broken);
  return count;
}

}  // namespace

TEST_CASE("rows of all widths are read back as they were written") {
  for (const std::uint64_t size : {0xffU, 0x100U, 0xffffU, 0x10000U, 0x20000U}) {
    for (const std::int64_t offset : {8, 127, 128, 32767, 32768, 1 << 30}) {
      const std::uint64_t begin = 0x1000;
      CHECK(differences_after(abi::x86_64,
                              {function_of(begin, begin + size,
                                           {{begin, begin + 1, plain(8)},
                                            {begin + 1, begin + size - 1, plain(offset)},
                                            {begin + size - 1, begin + size,
                                             row_of({is_register, 6, 16}, pushed, {at_cfa, 0, -offset})}})}) == 0);
    }
  }
}

TEST_CASE("places of all kinds are read back on each machine") {
  sframe_row outermost;
  outermost.outermost = true;
  frame_function signal =
      function_of(0x2000, 0x2010,
                  {{0x2000, 0x2004, row_of({at_register, 7, 160}, {at_register, 7, 168}, {at_register, 7, 120})},
                   {0x2004, 0x2008, row_of({is_register, 40, -8}, {is_register, 3, 0}, {is_register, 300, 0})},
                   {0x2008, 0x200c, row_of({is_register, 7, 8}, pushed, {at_cfa, 0, -16})},
                   {0x200c, 0x2010, outermost}});
  signal.signal_frame = true;
  CHECK(differences_after(abi::x86_64, {signal, function_of(0x1000, 0x1001, {{0x1000, 0x1001, plain(8)}})}) == 0);
  // Starts may lie on either side of the section.
  CHECK(differences_after(abi::x86_64, {signal}, 0x100) == 0);

  frame_function arm =
      function_of(0x10, 0x20,
                  {{0x10, 0x14, row_of({is_register, 31, 0}, {}, {})},
                   {0x14, 0x18, row_of({is_register, 31, 32}, {at_cfa, 0, -24}, {}, true)},
                   {0x18, 0x20, row_of({is_register, 29, 32}, {at_cfa, 0, -24}, {at_cfa, 0, -32}, true)}});
  arm.key_b = true;
  CHECK(differences_after(abi::aarch64_little, {arm}) == 0);
  CHECK(differences_after(abi::aarch64_big, {arm}) == 0);
  CHECK(differences_after(
            abi::s390x,
            {function_of(0x10, 0x1c,
                         {{0x10, 0x14, row_of({is_register, 15, 160}, {}, {})},
                          {0x14, 0x18, row_of({is_register, 11, 320}, {}, {at_cfa, 0, -72})},
                          {0x18, 0x1c, row_of({is_register, 15, 320}, {at_cfa, 0, -48}, {at_cfa, 0, -72})}})}) == 0);
}

TEST_CASE("rows that repeat are written once") {
  std::vector<interval> rows{{0x1000, 0x1006, plain(16)}, {0x1006, 0x1010, plain(24)}};
  for (std::uint64_t at = 0x1010; at < 0x1400; at += 16) {
    append_interval(rows, {at, at + 11, plain(8)});
    append_interval(rows, {at + 11, at + 16, plain(16)});
  }
  const frame_function plt = function_of(0x1000, 0x1400, rows);
  CHECK(differences_after(abi::x86_64, {plt}) == 0);
  writer w(abi::x86_64);
  REQUIRE(w.add(plt) == unsayable::none);
  CHECK(w.write(0)->size() < 100);
}

TEST_CASE("what SFrame cannot say is left out, with the reason") {
  const auto why = [](abi machine, const sframe_row& r) {
    return writer(machine).add(function_of(16, 32, {{16, 32, r}}));
  };
  CHECK(why(abi::x86_64, plain(8)) == unsayable::none);
  CHECK(why(abi::x86_64, row_of({expression, 3, 0}, pushed, {})) == unsayable::cfa);
  CHECK(why(abi::x86_64, row_of({is_register, 7, std::int64_t{1} << 31}, pushed, {})) == unsayable::cfa);
  CHECK(why(abi::x86_64, row_of({is_register, 7, 8}, {}, {})) == unsayable::return_address);
  CHECK(why(abi::x86_64, row_of({is_register, 7, 8}, {is_cfa, 0, 8}, {})) == unsayable::return_address);
  CHECK(why(abi::x86_64, row_of({is_register, 7, 8}, pushed, {undefined, 0, 0})) == unsayable::frame_pointer);
  CHECK(why(abi::x86_64, row_of({is_register, 7, 8}, pushed, {at_expression, 4, 0})) == unsayable::frame_pointer);
  CHECK(why(abi::aarch64_little, row_of({is_register, 19, 8}, {}, {})) == unsayable::cfa);
  CHECK(why(abi::aarch64_little, row_of({is_register, 31, 8}, {}, {at_cfa, 0, -16})) == unsayable::frame_pointer);
  CHECK(why(abi::aarch64_little, row_of({is_register, 31, 8}, {is_register, 9, 0}, {})) == unsayable::return_address);
  CHECK(why(abi::s390x, row_of({is_register, 15, 164}, {}, {})) == unsayable::cfa);

  writer w(abi::x86_64);
  CHECK(w.add(function_of(0, 8, {})) == unsayable::gap);
  CHECK(w.add(function_of(0, 8, {{0, 2, plain(8)}, {2, 4, row_of({}, {}, {})}, {4, 8, plain(8)}})) == unsayable::gap);
  CHECK(w.add(function_of(0, 8, {{0, 4, plain(8)}})) == unsayable::gap);
  CHECK(w.add(function_of(0, std::uint64_t{1} << 32, {{0, std::uint64_t{1} << 32, plain(8)}})) == unsayable::size);
  std::vector<interval> many;
  for (std::uint64_t i = 0; i <= 0x10000; ++i)
    many.push_back({i, i + 1, plain(static_cast<std::int64_t>(8 * (i * i % 1021)))});
  CHECK(w.add(function_of(0, 0x10001, many)) == unsayable::row_count);
  frame_function other = function_of(0, 8, {{0, 8, plain(8)}});
  other.usual_column = false;
  CHECK(w.add(other) == unsayable::return_column);
  other.usual_column = other.moves_stack_pointer = true;
  CHECK(w.add(other) == unsayable::stack_pointer);

  CHECK(w.add(function_of(0x100, 0x120, {{0x110, 0x120, plain(8)}})) == unsayable::none);
  CHECK(w.add(function_of(0x118, 0x130, {{0x118, 0x130, plain(16)}})) == unsayable::none);
  std::size_t overlapping = 0;
  const auto bytes = w.write(0, &overlapping);
  REQUIRE(bytes);
  CHECK(overlapping == 1);
  CHECK(section::open(*bytes, 0).section.function_count() == 1);
  std::set<std::string> names;
  for (std::size_t i = 0; i < unsayable_count; ++i) names.insert(name_of(static_cast<unsayable>(i)));
  CHECK(names.size() == unsayable_count);
}
