// SPDX-License-Identifier: Apache-2.0
// How the work grows with the input: counted in basic blocks, at n, 2n and 4n.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <backsight/cfi/address_space.hpp>
#include <backsight/cfi/arch/x86_64.hpp>
#include <backsight/cfi/lookup.hpp>
#include <backsight/cfi/row_text.hpp>
#include <backsight/cfi/table_builder.hpp>

#include <support/catch.hpp>
#include <support/work.hpp>

#include "../../examples/cli/stack_samples.hpp"
#include "frame_builder.hpp"

using namespace backsight;
using test::bytes;
using test::frame_builder;
using test::work_of;
using arch = cfi::arch::x86_64;

namespace {

/// Doubling n doubles the work of `run(input)`, or does somewhat more, as sorting does.
template <class Make, class Run>
void check_growth(std::size_t n, Make&& make, Run&& run) {
  std::uint64_t before = 0;
  for (const std::size_t size : {n, 2 * n, 4 * n}) {
    const auto input = make(size);
    const std::uint64_t work = work_of([&] { run(input); });
    INFO(size << ": " << work << " blocks, before " << before);
    CHECK(work > size);
    if (before != 0) CHECK(work < before * 5 / 2);
    before = work;
  }
}

void build_table(const frame_builder& built) {
  const auto section = built.section();
  (void)cfi::build_table<arch>(std::span<const cfi::section<order::little>>(&section, 1), {cfi::table_profile::all, {}},
                               [](const trace_error&, std::uint32_t) {});
}
void build_index(const frame_builder& built) {
  const auto index = cfi::fde_index<order::little>::build(built.section());
  CHECK(index.find(0x1008));
}
void dump(const frame_builder& built, bool merged) {
  std::size_t written = 0;
  cfi::print_rows<arch>(
      built.section(), merged, [&](std::string_view text) { written += text.size(); }, [](const trace_error&) {});
  CHECK(written > 0);
}
void dump_full(const frame_builder& built) { dump(built, false); }
void dump_merged(const frame_builder& built) { dump(built, true); }

template <class Make>
void check_all(std::size_t n, Make&& make) {
  check_growth(n, make, build_table);
  check_growth(n, make, dump_full);
  check_growth(n, make, dump_merged);
}

std::vector<std::byte> repeated(std::size_t count, byte_view code) {
  std::vector<std::byte> all;
  for (std::size_t i = 0; i < count; ++i) all.insert(all.end(), code.begin(), code.end());
  return all;
}

}  // namespace

TEST_CASE("work grows with the number of FDEs that overlap, nested, at one start and at one end") {
  const auto code = bytes<0x41, 0x0e, 16>;
  const auto nested = [&](std::size_t n) {
    frame_builder built;
    for (std::size_t i = 0; i < n; ++i) built.fde_at(0x1000 + i, code, 2 * (n - i));
    return built;
  };
  const auto one_start = [&](std::size_t n) {
    frame_builder built;
    for (std::size_t i = 0; i < n; ++i) built.fde_at(0x1000, code, 0x1000 + i);
    return built;
  };
  const auto one_end = [&](std::size_t n) {
    frame_builder built;
    for (std::size_t i = 0; i < n; ++i) built.fde_at(0x1000 + 16 * i, code, 0x100000 - 16 * i);
    return built;
  };
  check_all(500, nested);
  check_all(500, one_start);
  check_all(500, one_end);
  check_growth(500, nested, build_index);
  check_growth(500, one_start, build_index);
}

TEST_CASE("work grows with the number and the length of CIEs, whichever FDEs have them") {
  const auto many = [](std::size_t n) {
    frame_builder built;
    for (std::size_t i = 0; i < n; ++i) built.cie("zR", bytes<0x0c, 7, 8, 0x90, 1>).fde(bytes<0x41, 0x0e, 16>);
    return built;
  };
  check_all(500, many);
  // Two CIEs of 2n bytes that n FDEs have in turn; then one whose last instruction is an error.
  for (const bool fails : {false, true}) {
    const auto long_ones = [&](std::size_t n) {
      std::vector<std::byte> code = repeated(n, bytes<0x0e, 16>);
      if (fails) code.push_back(std::byte{0x3f});
      frame_builder built;
      built.cie("zR", code);
      const std::uint64_t one = built.cie_offset();
      built.cie("zR", code);
      const std::uint64_t other = built.cie_offset();
      for (std::size_t i = 0; i < n; ++i) built.use_cie(i % 2 == 0 ? one : other).fde(bytes<0x41, 0x0e, 24>);
      return built;
    };
    check_all(500, long_ones);
    if (!fails) check_growth(500, long_ones, build_index);
  }
}

TEST_CASE("work grows with the length of CIEs that lie in one another") {
  const auto overlapping = [](std::size_t n) {
    // In a CIE of 16 n bytes every 16 bytes another one that ends where it does.
    test::byte_builder body;
    for (std::size_t i = 0; i < n; ++i) body.u32((n - i) * 16 - 4).u32(0).u8(1).u8(0).u8(1).u8(0x78).u8(16).fill(3);
    frame_builder built;
    const std::uint64_t first = built.view().size() + 8;
    built.entry(0, body.view());
    for (std::size_t i = 0; i < n; ++i) {
      test::byte_builder fde;
      fde.u64(0x1000 + i * 0x100).u64(0x100).append(bytes<0x41, 0x0e, 16>);
      built.entry(built.view().size() + 4 - (first + 16 * i), fde.view());
    }
    return built;
  };
  check_all(500, overlapping);
  check_growth(500, overlapping,
               [](const frame_builder& built) { (void)cfi::fde_index<order::little>::build(built.section()); });
}

TEST_CASE("work grows with the number of states that are remembered, and of rows with many registers") {
  check_all(500, [](std::size_t n) {
    frame_builder built;
    built.fde(repeated(n, bytes<0x0a, 0x41, 0x0e, 16, 0x0b>), 0x1000000);
    // 100 deep, with 100 registers.
    test::byte_builder deep;
    for (unsigned reg = 20; reg < 30; ++reg) deep.u8(0x05).u8(reg).u8(2);
    deep.append(repeated(100, bytes<0x0a>)).append(repeated(n, bytes<0x41, 0x0e, 16, 0x41, 0x0e, 24>));
    built.fde(deep.view(), 0x1000000);
    return built;
  });
  check_all(500, [](std::size_t n) {
    test::byte_builder code;
    for (unsigned reg = 0; reg < 120; ++reg) code.u8(0x05).u8(reg).u8(2);
    code.append(repeated(n, bytes<0x41, 0x0e, 16, 0x41, 0x0e, 24>));
    return frame_builder{}.fde(code.view(), 0x1000000);
  });
}

TEST_CASE("work grows with the length of expressions, however many rows have them") {
  const auto with_expression = [](std::size_t n, byte_view rows) {
    test::byte_builder code;
    code.u8(0x0f).u8(0x80 | (n & 0x7fU)).u8(0x80 | (n >> 7 & 0x7fU)).u8(n >> 14).append(repeated(n, bytes<0x96>));
    code.append(repeated(n, rows));
    return frame_builder{}.fde(code.view(), 0x1000000);
  };
  // Few different rows, and rows that are all different from the one before.
  const auto few = [&](std::size_t n) { return with_expression(n, bytes<0x41, 0x90, 2, 0x41, 0x90, 3>); };
  check_growth(1000, few, build_table);
  const auto many = [&](std::size_t n) {
    auto built = with_expression(n, bytes<0x41>);
    test::byte_builder code;
    code.u8(0x0f).u8(0x80 | (n & 0x7fU)).u8(0x80 | (n >> 7 & 0x7fU)).u8(n >> 14).append(repeated(n, bytes<0x96>));
    for (std::size_t i = 0; i < n; ++i) code.u8(0x41).u8(0x83).u8(0x80 | (i & 0x7fU)).u8(1 + (i >> 7));
    return built.fde(code.view(), 0x1000000);
  };
  check_growth(1000, many, build_table);
  // Of as many rows as that the text would be 4096 times as long as the FDE.
  check_growth(8000, few, dump_full);
  check_growth(8000, few, dump_merged);
  check_all(500, [](std::size_t n) {
    frame_builder built;
    for (std::size_t i = 0; i < n; ++i) {
      built.fde(test::byte_builder{}.u8(0x0f).u8(4).u8(0x77).u8(i & 0x3fU).u8(0x23).u8(i >> 6).view());
    }
    return built;
  });
}

TEST_CASE("work grows with the number of mapped objects that are added, in any order") {
  for (const bool descending : {false, true}) {
    check_growth(
        1000, [](std::size_t n) { return n; },
        [&](std::size_t n) {
          cfi::address_space<arch> space;
          for (std::size_t i = 0; i < n; ++i) {
            const std::uint64_t begin = 0x1000 * (descending ? n - i : i + 1);
            CHECK_FALSE(space.add({begin, begin + 0x1000, 0, {}, 0}));
          }
        });
  }
}

TEST_CASE("work grows with the number of pairs with one start that a header's table has") {
  struct listed {
    frame_builder built;
    test::byte_builder header;
    std::size_t count = 0;
    std::uint64_t first = 0;
  };
  check_growth(
      500,
      [](std::size_t n) {
        listed made;
        made.count = n;
        for (std::size_t i = 0; i < n; ++i) made.built.fde_at(0x1000, bytes<0x0e, 16>, 0x100);
        made.header.u8(1).u8(0x03).u8(0x03).u8(0x3b).u32(0).u32(n);
        for (const cfi::entry& e : made.built.section().entries()) {
          if (e.is_cie) continue;
          if (made.first == 0) made.first = e.offset;
          made.header.u32(0x1000).u32(e.offset);
        }
        return made;
      },
      [](const listed& input) {
        const auto table = cfi::header_table<order::little>::open(input.header.view(), 0, 8);
        REQUIRE(table);
        const cfi::fde_index<order::little> index(input.built.section(), *table);
        for (std::size_t i = 0; i < input.count; ++i) CHECK(index.find(0x1000 + i % 0x100) == input.first);
      });
}

namespace {

/// n samples of 192 bytes; `overlapping` ones claim to have as many pcs as fit up to the end of the file.
test::byte_builder samples(std::size_t n, bool overlapping) {
  constexpr std::uint64_t size = 192;
  test::byte_builder b;
  b.text("STKSMP01").u32(96).u32(62).u32(17).u32(1).u32(1).u32(n);
  b.u64(96).u64(136).u64(144).u64(152).u64(152 + n * size).fill(96 - 72);
  b.u32(0).u32(20).fill(20, 1).fill(4).u64(0).u32(0).u32(0).text("x").fill(7);
  for (std::size_t i = 0; i < n; ++i) {
    b.u32(size).u32(1).u32(0).u32(0).u32(0).u32(1).u64(0).u64(0).fill(17 * 8);
    b.u32(overlapping ? ((n - i) * size - 184) / 8 : 1).u32(0).fill(8);
  }
  return b;
}

}  // namespace

TEST_CASE("work grows with the number of stack samples, and those that reach into the next ones end the reading") {
  check_growth(
      1000, [](std::size_t n) { return samples(n, false); },
      [](const test::byte_builder& b) { CHECK(cli::stack_samples::open(b.view())); });
  for (const std::size_t n : {std::size_t{1000}, std::size_t{4000}}) {
    const auto file = samples(n, true);
    CHECK(work_of([&] {
            const auto opened = cli::stack_samples::open(file.view());
            CHECK(opened.error().code == errc::truncated);
            CHECK(opened.partial().samples.empty());
          }) < 20000);
  }
}
