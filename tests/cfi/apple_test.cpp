// SPDX-License-Identifier: Apache-2.0
// Stands for cfi/apple/mach_o.hpp, cfi/apple/rows.hpp, cfi/apple/unwind_info.hpp
#include <backsight/cfi/apple/rows.hpp>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <backsight/io/mapped_file.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>

using namespace backsight;
namespace apple = cfi::apple;

namespace {

constexpr const char* files[] = {"libshapes-x86_64-fp.dylib", "libshapes-x86_64-nofp.dylib", "libshapes-arm64-fp.dylib",
                                 "libshapes-arm64-nofp.dylib"};

std::vector<std::byte> bytes_of(const char* name) {
  const auto file = io::mapped_file::open(test::data_path(std::string("cfi/apple/") + name).c_str());
  REQUIRE(file);
  return {file->bytes().begin(), file->bytes().end()};
}

std::string text_of(const apple::unwind_source& from, const apple::unwind_entry& of) {
  char text[128];
  std::snprintf(text, sizeof text, "0x%" PRIx64 "..0x%" PRIx64 " 0x%08x ", of.begin, of.end, of.encoding);
  std::string line = text;
  if (apple::mode_of(from.file.machine(), of.encoding) == apple::unwind_mode::dwarf) {
    std::snprintf(text, sizeof text, "dwarf+0x%x ", apple::eh_frame_offset(of.encoding));
    return line + text;
  }
  cfi::row made;
  const errc code = apple::make_row(from.file, of, made);
  if (code != errc::ok) return line + message(code);
  std::snprintf(text, sizeof text, "r%u+%" PRId64 " ", made.cfa.reg, made.cfa.offset);
  line += text;
  std::string saved;
  for (const auto& rule : made.rules) {
    saved += (saved.empty() ? "r" : " r") + std::to_string(rule.reg) + "=c" + std::to_string(rule.value);
  }
  return line + saved;
}

/// The rule of an encoding at an address of libshapes-x86_64-nofp.dylib.
std::string rule_of(std::uint32_t encoding, std::uint64_t function = 0x590) {
  const auto bytes = bytes_of("libshapes-x86_64-nofp.dylib");
  const auto from = apple::unwind_source::open(bytes);
  REQUIRE(from);
  const std::string text = text_of(*from, {function, function + 1, encoding});
  return text.substr(text.find(' ', text.find(' ') + 1) + 1);
}

}  // namespace

TEST_CASE("compact encodings give the rule of each function") {
  for (const char* const name : files) {
    INFO(name);
    const auto bytes = bytes_of(name);
    const auto from = apple::unwind_source::open(bytes);
    REQUIRE(from);
    std::ifstream expected(test::data_path(std::string("cfi/apple/") + name + ".rows"));
    std::size_t count = 0;
    from->info.for_each(
        [&](const apple::unwind_entry& of) {
          std::string line;
          REQUIRE(std::getline(expected, line));
          CHECK(text_of(*from, of) == line);
          ++count;
        },
        [](const trace_error&) { CHECK(false); });
    std::string rest;
    CHECK_FALSE(std::getline(expected, rest));
    CHECK(count > 10);
  }
}

TEST_CASE("registers of frameless functions are told by a permutation") {
  // Six registers: 0 is the first order, 719 the last.
  CHECK(rule_of(0x02081800) == "r7+64 r3=c-56 r6=c-16 r12=c-48 r13=c-40 r14=c-32 r15=c-24 r16=c-8");
  CHECK(rule_of(0x02081800 + 719) == "r7+64 r3=c-16 r6=c-56 r12=c-24 r13=c-32 r14=c-40 r15=c-48 r16=c-8");
  CHECK(rule_of(0x02081800 + 720) == "a field holds a value that is not allowed");
  CHECK(rule_of(0x02080400 + 5) == "r7+64 r6=c-16 r16=c-8");
  CHECK(rule_of(0x02080400 + 6) == "a field holds a value that is not allowed");
  CHECK(rule_of(0x02081c00) == "a field holds a value that is not allowed");
  CHECK(rule_of(0x01010007) == "a field holds a value that is not allowed");
  CHECK(rule_of(0x05000000) == "unknown kind of record");
  CHECK(rule_of(0x03044400, 0x40000000) == "an offset or address is out of range");
}

TEST_CASE("rows of compact encodings and of the FDEs between them make a table") {
  for (const char* const name : files) {
    INFO(name);
    const auto bytes = bytes_of(name);
    const auto from = apple::unwind_source::open(bytes);
    REQUIRE(from);
    const auto compare = [&](auto arch) {
      using Arch = decltype(arch);
      const auto report = [](const trace_error&) { CHECK(false); };
      const auto made = apple::build_table<Arch>(*from, {}, report);
      REQUIRE(made);
      REQUIRE(cfi::table_view::open(made->bytes()));
      std::size_t rows = 0;
      std::uint64_t covered = 0;
      apple::for_each_row<Arch>(
          *from,
          [&](const cfi::row& r, const cfi::cie&, byte_view) {
            CHECK(covered <= r.begin);
            covered = r.end;
            const cfi::any_rule rule = made->view().find(r.begin);
            REQUIRE(rule);
            if (rule[cfi::unwind_rule::shape] != cfi::rule_shape::common) return;
            CHECK(rule[cfi::unwind_rule::cfa_register] == r.cfa.reg);
            CHECK(rule[cfi::unwind_rule::cfa_offset] == r.cfa.offset);
            ++rows;
          },
          report);
      CHECK(rows > 10);
    };
    if (from->file.machine() == apple::cpu::x86_64) {
      compare(cfi::arch::x86_64{});
      CHECK(apple::build_table<cfi::arch::aarch64>(*from, {}, [](const trace_error&) {}).error().code ==
            errc::unsupported_type);
    } else {
      compare(cfi::arch::aarch64{});
    }
  }
}

TEST_CASE("a Mach-O file that is cut or changed anywhere ends cleanly") {
  for (const char* const name : {"libshapes-x86_64-nofp.dylib", "libshapes-arm64-fp.dylib"}) {
    auto whole = bytes_of(name);
    std::size_t rows = 0, errors = 0;
    const auto read = [&](byte_view bytes) {
      const auto from = apple::unwind_source::open(bytes);
      if (!from) return void(++errors);
      const auto report = [&](const trace_error& e) {
        ++errors;
        CHECK(e.offset <= bytes.size());
      };
      std::uint64_t covered = 0;
      const auto count = [&](const cfi::row& r, const cfi::cie&, byte_view) {
        ++rows;
        CHECK(covered <= r.begin);
        covered = r.end;
      };
      if (from->file.machine() == apple::cpu::x86_64) apple::for_each_row<cfi::arch::x86_64>(*from, count, report);
      else apple::for_each_row<cfi::arch::aarch64>(*from, count, report);
    };
    const auto from = apple::unwind_source::open(whole);
    REQUIRE(from);
    const auto info = static_cast<std::size_t>(from->info_offset);
    const std::size_t end = info + from->info.bytes().size();
    // The commands, the section, and some of the rest.
    for (std::size_t size = 0; size < whole.size(); size += size < end ? 7 : 501) {
      const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      read(cut);
    }
    const auto change = [&](std::size_t i) {
      for (const unsigned flip : {0x01U, 0x10U, 0x80U, 0xffU}) {
        whole[i] ^= static_cast<std::byte>(flip);
        read(whole);
        whole[i] ^= static_cast<std::byte>(flip);
      }
    };
    for (std::size_t i = 0; i < 1200; i += 3) change(i);
    for (std::size_t i = info; i < end; ++i) change(i);
    CHECK(rows > 1000);
    CHECK(errors > 200);
  }
}
