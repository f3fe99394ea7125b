// SPDX-License-Identifier: Apache-2.0
#include <backsight/io/kernel_symbols.hpp>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include <support/catch.hpp>

namespace io = backsight::io;
using fit = io::kernel_symbols::fit;

namespace {

constexpr std::uint64_t text_at = 0xffffffff81000000;

/// A text of `count` functions of 0x40 bytes each, and behind them those of modules, whose addresses are not in order.
std::string kallsyms(unsigned count) {
  std::string all = "0000000000000000 A fixed_percpu_data\n";
  char line[160];
  std::snprintf(line, sizeof line, "%016llx T _text\n", static_cast<unsigned long long>(text_at));
  all += line;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned long long at = text_at + 0x1000 + i * 0x40;
    std::snprintf(line, sizeof line, "%016llx t function_%u\n", at, i);
    all += line;
    // Another name for the same place, which is the better one, and one that is neither code nor data.
    if (i % 7 == 0) std::snprintf(line, sizeof line, "%016llx T function_alias_%u\n", at, i), all += line;
    if (i % 5 == 0) std::snprintf(line, sizeof line, "%016llx r table_%u\n", at + 8, i), all += line;
  }
  all += "ffffffffc0200000 t late\t[second]\nffffffffc0100000 t early\t[first]\n";
  return all;
}

/// A file that goes with the object.
struct text_file {
  std::string path;
  explicit text_file(const std::string& text) {
    path =
        (std::filesystem::temp_directory_path() / ("backsight_kernel_symbols_" + std::to_string(::getpid()))).string();
    std::ofstream(path, std::ios::binary) << text;
  }
  ~text_file() { std::filesystem::remove(path); }
};

std::string name_at(io::kernel_symbols& symbols, std::uint64_t address, bool of_module = false) {
  const auto found = symbols.find(address, of_module);
  return found ? std::string(found->text) + "+" + std::to_string(found->offset) : std::string("none");
}

std::string expected_name(unsigned i, unsigned offset) {
  return (i % 7 == 0 ? "function_alias_" : "function_") + std::to_string(i) + "+" + std::to_string(offset);
}

}  // namespace

TEST_CASE("names of the kernel are the same from parts of the text and from all of it") {
  const text_file file(kallsyms(3000));
  io::kernel_symbols parts, whole;
  REQUIRE(parts.open(file.path));
  REQUIRE(whole.open(file.path));
  REQUIRE(parts.place("_text", text_at) == fit::good);
  REQUIRE(whole.place("_text", text_at) == fit::good);
  // A module's address has all of it read.
  CHECK(name_at(whole, 0xffffffffc0100004, true) == "early\t[first]+4");
  for (const unsigned i : {0U, 1U, 77U, 511U, 512U, 1400U, 2000U, 2870U, 2998U, 2999U}) {
    for (const unsigned offset : {0U, 9U, 63U}) {
      const std::uint64_t at = text_at + 0x1000 + i * 0x40 + offset;
      CHECK(name_at(parts, at) == expected_name(i, offset));
      CHECK(name_at(whole, at) == expected_name(i, offset));
    }
  }
  CHECK(name_at(parts, text_at + 16) == "_text+16");
  CHECK(name_at(parts, 0xffffffffc0200004, true) == "late\t[second]+4");
}

TEST_CASE("names of the kernel move with the function that the recorder named") {
  std::string text = kallsyms(2000);
  io::kernel_symbols symbols;
  symbols.keep(
      {reinterpret_cast<const std::byte*>(text.data()), reinterpret_cast<const std::byte*>(text.data()) + text.size()});
  constexpr std::uint64_t moved = 0x2400000;
  REQUIRE(symbols.place("_text", text_at + moved) == fit::good);
  CHECK(name_at(symbols, text_at + moved + 0x1000 + 1000 * 0x40 + 3) == expected_name(1000, 3));
  CHECK(name_at(symbols, text_at + 0x1000) == "none");
  CHECK(symbols.place("_text", text_at + 8) == fit::other_kernel);
  CHECK(symbols.place("", 0) == fit::good);
  CHECK(symbols.place("no_such_function", text_at) == fit::good);
}

TEST_CASE("a text whose parts are not in order is read whole") {
  // The first half of the functions stands behind the second.
  const std::string text = kallsyms(1000);
  const std::size_t first = text.find('\n') + 1, middle = text.find("ffffffff81008d00"), end = text.find("ffffffffc02");
  REQUIRE(middle != text.npos);
  const std::string turned =
      text.substr(0, first) + text.substr(middle, end - middle) + text.substr(first, middle - first) + text.substr(end);
  const text_file file(turned);
  io::kernel_symbols symbols;
  REQUIRE(symbols.open(file.path));
  REQUIRE(symbols.place("", 0) == fit::good);
  for (unsigned i = 0; i < 1000; i += 13)
    CHECK(name_at(symbols, text_at + 0x1000 + i * 0x40 + 1) == expected_name(i, 1));
}

TEST_CASE("a text without addresses is of no use") {
  const text_file file("0000000000000000 T _text\n0000000000000000 t f\n");
  io::kernel_symbols symbols;
  REQUIRE(symbols.open(file.path));
  CHECK(symbols.place("_text", text_at) == fit::no_addresses);
  CHECK_FALSE(symbols.open("/no/such/file"));
  CHECK_FALSE(symbols.open("/"));
}
