// SPDX-License-Identifier: Apache-2.0
// Stands for cfi/bpf_pages.hpp
#include <backsight/cfi/bpf_pages.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <backsight/cfi/arch/aarch64.hpp>
#include <backsight/cfi/frame_sections.hpp>
#include <backsight/cfi/row_table.hpp>
#include <backsight/cfi/unwind.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>

#include "../cfi/frame_builder.hpp"
#include "plain_step.h"

using namespace backsight;
using test::bytes;
using arch = cfi::arch::x86_64;

namespace {

/// A table, its pages in front of the plain step, and comparisons of both.
class both_forms {
 public:
  explicit both_forms(cfi::table made) : table_(std::move(made)) {
    auto pages = cfi::make_bpf_pages(table_.view());
    REQUIRE(pages);
    pages_ = std::move(*pages);
    REQUIRE(pages_.bytes.size() % cfi::bpf_pages::page_bytes == 0);
    plain_memory = {reinterpret_cast<const unsigned char*>(pages_.bytes.data()), pages_.bytes.size() / 4096, nullptr, 0,
                    0};
  }
  [[nodiscard]] const cfi::table_view& table() const { return table_.view(); }
  [[nodiscard]] const cfi::bpf_pages& pages() const { return pages_; }
  [[nodiscard]] record<cfi::bpf_header, order::little> header() const {
    return record<cfi::bpf_header, order::little>(pages_.bytes.data());
  }
  /// Both say the same of an address.
  [[nodiscard]] bool agree(std::uint64_t address) const {
    const cfi::any_rule expected = table().find(address);
    const unsigned char* found = plain_find(0, address);
    if (!expected || found == nullptr) return !expected && found == nullptr;
    const cfi::rule_shape shape = expected[cfi::unwind_rule::shape];
    if (shape == cfi::rule_shape::general) return (found[0] & 7) == 3 || (found[0] & 7) == 6;
    // The place of further registers is another one.
    const bool placed = shape == cfi::rule_shape::aligned || shape == cfi::rule_shape::signal;
    return std::memcmp(expected.bytes(), found, placed ? 4 : 8) == 0 &&
           std::memcmp(expected.bytes() + 8, found + 8, 8) == 0;
  }
  /// Gives how many addresses were compared: about each row's begin, and far away.
  std::size_t compare() const {
    std::size_t count = 0;
    const auto check = [&](std::uint64_t address) {
      ++count;
      CAPTURE(address);
      if (!agree(address)) FAIL("the two forms differ");
    };
    std::uint64_t last = 0;
    table().for_each_row([&](std::uint64_t address, std::uint32_t) {
      for (std::uint64_t at = address - 2; at != address + 3; ++at) check(at);
      check(address + 255), check(address + 256), check(address + 65536);
      last = address;
    });
    for (const std::uint64_t at :
         {std::uint64_t{0}, ~std::uint64_t{0}, last + 5000, last + 300000, last + (std::uint64_t{1} << 40)})
      check(at);
    return count;
  }

 private:
  cfi::table table_;
  cfi::bpf_pages pages_;
};

/// A table whose rows begin where `begins` says; the CFA's offset is a number of `kinds`.
cfi::table rows_at(const std::vector<std::uint64_t>& begins, std::uint64_t kinds, bool holes = false) {
  cfi::cie common;
  common.return_address_register = 16;
  auto made = cfi::build_table_of_rows<arch>({}, {}, [&](auto&& add) {
    for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
      cfi::row r;
      r.begin = begins[i];
      r.end = holes && i % 3 == 0 ? begins[i] + 1 : begins[i + 1];
      r.cfa = {cfi::cfa_kind::register_offset, 7, static_cast<std::int64_t>(8 * (1 + i * 7 % kinds)), {}};
      (void)r.rules.set({16, cfi::rule_kind::at_cfa_offset, 0, -8});
      add(r, common, byte_view{});
    }
  });
  REQUIRE(made);
  return std::move(*made);
}
std::vector<std::uint64_t> every(std::uint64_t distance, std::size_t count, std::uint64_t first = 0x401000) {
  std::vector<std::uint64_t> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(first + i * distance);
  return all;
}
cfi::table table_of(const test::frame_builder& frames) {
  auto made = cfi::build_table<arch>(frames.section());
  REQUIRE(made);
  return std::move(*made);
}

/// A step by the pages and by the table, from registers that differ, on a stack of 128 words.
struct steps {
  std::array<std::uint64_t, 128> stack{};
  static constexpr std::uint64_t base = 0x7000;

  steps() {
    for (std::size_t i = 0; i < stack.size(); ++i) stack[i] = base + 8 * (i + 5);
    plain_memory.stack = reinterpret_cast<const unsigned char*>(stack.data());
    plain_memory.stack_base = base;
    plain_memory.stack_size = sizeof stack;
  }
  void check(const both_forms& forms, std::uint64_t pc) const {
    cfi::address_space<arch> space;
    REQUIRE(!space.add({0x10000, 0x90000, 0xf000, forms.table(), 0}));
    cfi::frame<arch> f;
    backsight_frame g{};
    f.pc = g.pc = pc + 0xf000;
    g.pc_is_next = 1;
    for (std::size_t i = 0; i < 17; ++i) f.value[i] = g.r[i] = base + 0x100 + 24 * i;
    const auto read = [&](std::uint64_t at) -> std::optional<std::uint64_t> {
      if (at < base || at > base + sizeof stack - 8) return std::nullopt;
      std::uint64_t value = 0;
      std::memcpy(&value, reinterpret_cast<const char*>(stack.data()) + (at - base), 8);
      return value;
    };
    const auto why = cfi::step(f, space, read);
    CHECK(plain_step(&g, 0, 0xf000) == static_cast<int>(why));
    CHECK(g.pc == f.pc);
    CHECK((g.pc_is_next != 0) == f.pc_is_next);
    for (std::uint32_t reg = 0; reg < 17; ++reg) {
      CAPTURE(reg);
      std::uint64_t value = 0;
      const auto expected = f.get(reg, read);
      const bool got = backsight_get(&g, reg, &value) == 0;
      CHECK(got == expected.has_value());
      if (got && expected) CHECK(value == *expected);
    }
  }
};

}  // namespace

TEST_CASE("pages say of each address what the table says, for files of compilers") {
  for (const char* name : {"gcc-O2", "gxx-O2", "gcc-O2-lld", "ops-x86_64", "negoff-x86_64"}) {
    INFO(name);
    const auto file = test::read_file(test::data_path(std::string("cfi/elf/") + name));
    const auto found = cfi::find_frame_section(*elf::open(file), cfi::section_kind::eh_frame);
    REQUIRE(found);
    auto table = cfi::build_table<arch>(cfi::section<order::little>(found->bytes, found->info));
    REQUIRE(table);
    const both_forms forms(std::move(*table));
    CHECK(forms.compare() > 0);
    CHECK(forms.header()[cfi::bpf_header::page_count] == forms.pages().bytes.size() / 4096);
    CHECK(forms.pages().bytes.size() == 4096);
  }
}

TEST_CASE("rows of any density, number of rules and distance are cut into leaves") {
  std::size_t leaves = 0;
  for (const bool holes : {false, true}) {
    for (const std::uint64_t kinds : {std::uint64_t{3}, std::uint64_t{300}, std::uint64_t{3000}}) {
      for (const std::uint64_t distance :
           {std::uint64_t{2}, std::uint64_t{7}, std::uint64_t{48}, std::uint64_t{1000}, std::uint64_t{70001}}) {
        CAPTURE(holes, kinds, distance);
        const both_forms forms(rows_at(every(distance, 2500), kinds, holes));
        CHECK(forms.compare() > 0);
        leaves += forms.header()[cfi::bpf_header::leaf_count];
      }
    }
  }
  CHECK(leaves > 100);
}

TEST_CASE("rows at each byte have granules of parts of a byte") {
  const both_forms forms(rows_at(every(1, 3000), 1000));
  CHECK(forms.header()[cfi::bpf_header::shift_up] > 0);
  CHECK(forms.compare() > 0);
}

TEST_CASE("more leaves than a page has keys for are found by two lists") {
  const both_forms forms(rows_at(every((std::uint64_t{1} << 20) + 1, 1500), 300));
  CHECK(forms.header()[cfi::bpf_header::leaf_count] > 1024);
  CHECK(forms.header()[cfi::bpf_header::second_keys] != 0);
  CHECK(forms.compare() > 0);
}

TEST_CASE("what cannot be cut into pages is refused") {
  CHECK(cfi::make_bpf_pages(cfi::table_view{}).error().code == errc::missing_section);
  const both_forms wide(rows_at(every(std::uint64_t{1} << 30, 200), 3));
  CHECK(wide.compare() > 0);
  const cfi::table too_wide = rows_at(every(std::uint64_t{1} << 30, 300), 3);
  CHECK(cfi::make_bpf_pages(too_wide.view()).error().code == errc::capacity);
  const auto file = test::read_file(test::data_path("cfi/elf/a64-O2"));
  const auto found = cfi::find_frame_section(*elf::open(file), cfi::section_kind::eh_frame);
  REQUIRE(found);
  const auto other = cfi::build_table<cfi::arch::aarch64>(cfi::section<order::little>(found->bytes, found->info));
  REQUIRE(other);
  CHECK(cfi::make_bpf_pages(other->view()).error().code == errc::unsupported_type);
}

TEST_CASE("steps by pages are those by the table") {
  test::frame_builder frames;
  frames
      .fde(bytes<0x0e, 16, 0x86, 2, 0x83, 3>)     // cfa = rsp+16; rbp c-16; rbx c-24
      .fde(bytes<0x0c, 6, 16, 0x86, 2, 0x8c, 3>)  // cfa = rbp+16
      .fde(bytes<0x07, 16>)                       // outermost
      .fde(bytes<0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0, 0x10, 3, 2, 0x76,
                 0x70>)                                                                  // cfa = *(rbp-8); rbp *(rbp+0)
      .fde(bytes<0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22>)  // of a PLT
      .fde(bytes<0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x36, 0x2a, 0x33, 0x24, 0x22>)  // of another PLT
      .fde(bytes<0x0c, 10, 0>)                                                           // cfa = r10
      .fde(bytes<0x0e, 0xf0, 0x7f>);                                                     // Outside of the stack.
  frames.cie("zRS", bytes<0x0f, 3, 0x77, 0x20, 0x06, 0x10, 16, 2, 0x77, 0x28, 0x10, 0, 2, 0x77, 0x30, 0x10, 10, 2, 0x77,
                          0x38, 0x10, 6, 3, 0x77, 0xc0, 0x00>);
  frames.fde(bytes<0>);
  const both_forms forms(table_of(frames));
  CHECK(forms.pages().general_rules == 0);
  CHECK(forms.compare() > 0);
  const steps both;
  for (std::uint64_t pc = 0x1000; pc < 0x1b00; pc += 0x81) {
    CAPTURE(pc);
    both.check(forms, pc);
  }
  for (std::uint64_t pc = 0x1400; pc < 0x1410; ++pc) {
    CAPTURE(pc);
    both.check(forms, pc);
    both.check(forms, pc + 0x100);
  }
}

TEST_CASE("a rule of any other expression ends the walk as one that cannot be evaluated, and is counted") {
  test::frame_builder frames;
  frames.fde(bytes<0x0f, 5, 0x77, 8, 0x33, 0x24, 0x22>);
  const both_forms forms(table_of(frames));
  CHECK(forms.pages().general_rules == 1);
  backsight_frame f{};
  f.pc = 0x1010;
  f.pc_is_next = 1;
  CHECK(plain_step(&f, 0, 0) == BACKSIGHT_BAD_RULE);
}

TEST_CASE("no bytes of pages lead the step outside of a page") {
  // Pages are masked, not checked: whatever they hold, the step reads inside of them, which the sanitizers watch.
  const both_forms forms(rows_at(every(5, 3000), 400));
  std::uint32_t random = 1;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::byte> damaged = forms.pages().bytes;
    for (int i = 0; i < 8; ++i) {
      random = random * 1664525 + 1013904223;
      const std::size_t room = i < 4 ? 64 : damaged.size();
      damaged[random % room] = static_cast<std::byte>(random >> 16U);
    }
    plain_memory.pages = reinterpret_cast<const unsigned char*>(damaged.data());
    for (std::uint64_t at = 0x401000; at < 0x401000 + 15000; at += 331) {
      const unsigned char* rule = plain_find(0, at);
      if (rule == nullptr) continue;
      const auto place = static_cast<std::size_t>(rule - plain_memory.pages);
      REQUIRE(place + 16 <= damaged.size());
      backsight_frame f{};
      f.pc = at;
      (void)plain_step(&f, 0, 0);
    }
  }
}
