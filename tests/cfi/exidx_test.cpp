// SPDX-License-Identifier: Apache-2.0
// Stands for cfi/exidx/index.hpp, cfi/exidx/rows.hpp, cfi/row_table.hpp
#include <backsight/cfi/exidx/rows.hpp>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <backsight/cfi/exidx/index.hpp>
#include <backsight/io/mapped_file.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>

using namespace backsight;
namespace exidx = cfi::exidx;

namespace {

constexpr const char* files[] = {"frames-arm", "shapes-arm-O0", "shapes-arm-O2"};

std::vector<std::byte> bytes_of(const char* name) {
  const auto file = io::mapped_file::open(test::data_path(std::string("cfi/exidx/") + name).c_str());
  REQUIRE(file);
  return {file->bytes().begin(), file->bytes().end()};
}

std::string text_of(const cfi::row& r, const exidx::entry& of, bool last) {
  char text[128];
  std::snprintf(text, sizeof text, "0x%" PRIx64 "..0x%" PRIx64 " ", r.begin, last ? 0 : r.end);
  std::string line = text;
  switch (of.how) {
    case exidx::model::cant_unwind: return line + "cantunwind ";
    case exidx::model::inlined: line += "inline pr0"; break;
    case exidx::model::compact: line += "table pr" + std::to_string(of.personality); break;
    case exidx::model::generic: line += "generic"; break;
  }
  std::snprintf(text, sizeof text, " r%u+%" PRId64 " ra=", r.cfa.reg, r.cfa.offset);
  line += text;
  const auto* const ra = r.rules.find(14);
  line += ra == nullptr ? "lr" : "c" + std::to_string(ra->value);
  line += " ";
  std::string saved;
  for (const auto& rule : r.rules) {
    REQUIRE(rule.kind == cfi::rule_kind::at_cfa_offset);
    saved += (saved.empty() ? "r" : " r") + std::to_string(rule.reg) + "=c" + std::to_string(rule.value);
  }
  return line + saved;
}

/// A file of one function with these opcodes in a table of personality 1.
std::string rule_of(const std::vector<std::uint8_t>& opcodes) {
  auto bytes = bytes_of("frames-arm");
  const auto image = elf::open(bytes);
  REQUIRE(image);
  // The second entry's opcodes are in the index: three of them.
  REQUIRE(opcodes.size() <= 3);
  std::uint64_t at = 0;
  for (const elf::section& s : image->sections()) {
    if (s.type == exidx::index::section_type) at = s.offset + 8 + 4;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    bytes[static_cast<std::size_t>(at) + 2 - i] = static_cast<std::byte>(i < opcodes.size() ? opcodes[i] : 0xb0);
  }
  const auto index = exidx::index::open(*elf::open(bytes));
  REQUIRE(index);
  const auto of = (*index)[1];
  REQUIRE(of);
  cfi::row made;
  if (const auto error = exidx::opcode_runner(*index).run(*of, made)) return message(error.code);
  const std::string text = text_of(made, *of, false);
  return text.substr(text.find(" r") + 1);
}

}  // namespace

TEST_CASE("an ARM index gives the rule of each function") {
  for (const char* const name : files) {
    INFO(name);
    const auto bytes = bytes_of(name);
    const auto index = exidx::index::open(*elf::open(bytes));
    REQUIRE(index);
    std::ifstream expected(test::data_path(std::string("cfi/exidx/") + name + ".rows"));
    std::size_t i = 0;
    cfi::row made;
    exidx::opcode_runner runner(*index);
    for (std::string line; std::getline(expected, line); ++i) {
      REQUIRE(i < index->size());
      const auto of = (*index)[i];
      REQUIRE(of);
      REQUIRE_FALSE(runner.run(*of, made));
      CHECK(text_of(made, *of, i + 1 == index->size()) == line);
    }
    CHECK(i == index->size());
    CHECK(i > 8);
  }
}

TEST_CASE("each ARM opcode does what the ABI says") {
  CHECK(rule_of({0x3f, 0x84, 0x00}) == "r13+260 ra=c-4 r14=c-4");
  CHECK(rule_of({0x40}) == "r13+-4 ra=lr ");
  CHECK(rule_of({0x7f}) == "r13+-256 ra=lr ");
  CHECK(rule_of({0x88, 0x01}) == "r13+8 ra=c-4 r4=c-8 r14=c-4");
  CHECK(rule_of({0x84, 0x00, 0xa0}) == "r13+8 ra=c-8 r4=c-4 r14=c-8");
  CHECK(rule_of({0x9b, 0xa8}) == "r11+8 ra=c-4 r4=c-8 r14=c-4");
  CHECK(rule_of({0xa7}) == "r13+32 ra=lr r4=c-32 r5=c-28 r6=c-24 r7=c-20 r8=c-16 r9=c-12 r10=c-8 r11=c-4");
  CHECK(rule_of({0xb1, 0x0f}) == "r13+16 ra=lr r0=c-16 r1=c-12 r2=c-8 r3=c-4");
  CHECK(rule_of({0xb2, 0x01}) == "r13+520 ra=lr ");
  CHECK(rule_of({0xb2, 0x80, 0x01}) == "r13+1028 ra=lr ");
  CHECK(rule_of({0xb3, 0x81}) == "r13+20 ra=lr ");
  CHECK(rule_of({0xb4}) == "r13+4 ra=lr ");
  CHECK(rule_of({0xb5}) == "r13+0 ra=lr ");
  CHECK(rule_of({0xb8}) == "r13+12 ra=lr ");
  CHECK(rule_of({0xbf}) == "r13+68 ra=lr ");
  CHECK(rule_of({0xc0}) == "r13+8 ra=lr ");
  CHECK(rule_of({0xc5}) == "r13+48 ra=lr ");
  CHECK(rule_of({0xc6, 0x23}) == "r13+32 ra=lr ");
  CHECK(rule_of({0xc7, 0x05}) == "r13+8 ra=lr ");
  CHECK(rule_of({0xc8, 0x01}) == "r13+16 ra=lr ");
  CHECK(rule_of({0xc9, 0x8f}) == "r13+128 ra=lr ");
  CHECK(rule_of({0xd0}) == "r13+8 ra=lr ");
  CHECK(rule_of({0xd7}) == "r13+64 ra=lr ");
  // A return address that is popped into the pc is the one, not r14's.
  CHECK(rule_of({0x8c, 0x00}) == "r13+8 ra=c-4 r14=c-4");
}

TEST_CASE("ARM opcodes that are none, or that no row can say, are errors") {
  for (const unsigned spare : {0x9dU, 0x9fU, 0xb6U, 0xb7U, 0xcaU, 0xcfU, 0xd8U, 0xe0U, 0xffU}) {
    INFO(spare);
    CHECK(rule_of({static_cast<std::uint8_t>(spare)}) == message(errc::unknown_record));
  }
  CHECK(rule_of({0xb1, 0x00}) == message(errc::unknown_record));
  CHECK(rule_of({0xb1, 0x10}) == message(errc::unknown_record));
  CHECK(rule_of({0xc7, 0x00}) == message(errc::unknown_record));
  CHECK(rule_of({0xa0, 0x97}) == message(errc::unsupported_type));
  CHECK(rule_of({0x82, 0x00}) == message(errc::unsupported_type));
  CHECK(rule_of({0xb0, 0xb0, 0xff}) == "r13+0 ra=lr ");
  CHECK(rule_of({0x00, 0x00, 0x80}) == message(errc::truncated));
  CHECK(rule_of({0x00, 0xb2, 0x80}) == message(errc::truncated));
}

TEST_CASE("a table of an ARM index finds its rules") {
  for (const char* const name : files) {
    const auto bytes = bytes_of(name);
    const auto index = exidx::index::open(*elf::open(bytes));
    REQUIRE(index);
    const auto ignore = [](const trace_error&) { CHECK(false); };
    const auto made = exidx::build_table(*index, {}, ignore);
    REQUIRE(made);
    REQUIRE(cfi::table_view::open(made->bytes()));
    std::size_t compared = 0;
    exidx::for_each_row(
        *index,
        [&](const cfi::row& r, const exidx::entry& of) {
          for (const std::uint64_t address : {r.begin, r.end - 1}) {
            const cfi::any_rule rule = made->view().find(address);
            REQUIRE(rule);
            const auto shape = rule[cfi::unwind_rule::shape];
            CHECK((shape == cfi::rule_shape::outermost) == (of.how == exidx::model::cant_unwind));
            if (shape != cfi::rule_shape::common) continue;
            CHECK(rule[cfi::unwind_rule::cfa_register] == r.cfa.reg);
            CHECK(rule[cfi::unwind_rule::cfa_offset] == r.cfa.offset);
            ++compared;
          }
        },
        ignore);
    CHECK(compared > 8);
  }
}

TEST_CASE("files without an ARM index are refused") {
  const auto open = [](const char* path) {
    const auto file = io::mapped_file::open(test::data_path(path).c_str());
    REQUIRE(file);
    return exidx::index::open(*elf::open(file->bytes())).error().code;
  };
  CHECK(open("cfi/sframe/elf/basic-x86_64.v1") == errc::unsupported_type);
  auto bytes = bytes_of("frames-arm");
  bytes[16] = std::byte{1};  // ET_REL
  CHECK(exidx::index::open(*elf::open(bytes)).error().code == errc::unrelocated);
}

TEST_CASE("an ARM index that is cut or changed anywhere ends cleanly") {
  const auto whole = bytes_of("frames-arm");
  std::size_t rows = 0, errors = 0;
  const auto read = [&](const std::vector<std::byte>& bytes) {
    const auto image = elf::open(bytes);
    if (!image) return void(++errors);
    const auto index = exidx::index::open(*image);
    errors += index ? 0U : 1U;
    std::uint64_t covered = 0;
    exidx::for_each_row(
        index.partial(),
        [&](const cfi::row& r, const exidx::entry&) {
          ++rows;
          CHECK(covered <= r.begin);
          covered = r.end;
        },
        [&](const trace_error& e) {
          ++errors;
          CHECK(e.offset <= bytes.size());
        });
  };
  for (std::size_t size = 0; size < whole.size(); ++size)
    read({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const unsigned flip : {0x01U, 0x10U, 0x40U, 0x80U, 0xffU}) {
      auto changed = whole;
      changed[i] ^= static_cast<std::byte>(flip);
      read(changed);
    }
  }
  CHECK(rows > 1000);
  CHECK(errors > 1000);
}
