// SPDX-License-Identifier: Apache-2.0
#include <backsight/perf/symbol_table.hpp>

#include <string_view>
#include <vector>

#include <support/catch.hpp>

namespace perf = backsight::perf;

namespace {

const auto same = [](std::string_view name) { return name; };

std::string_view best(const std::vector<perf::named_range>& all) {
  perf::symbol_table table;
  for (const auto& one : all) table.add(one);
  table.finish(same);
  const auto* const found = table.find(all.front().begin);
  return found == nullptr ? std::string_view() : found->name;
}

}  // namespace

TEST_CASE("of several names at one address perf's choice is taken") {
  CHECK(best({{16, 32, "spin"}, {16, 32, "spin_alias"}}) == "spin_alias");
  CHECK(best({{16, 16, "longer_name"}, {16, 32, "short"}}) == "short");
  CHECK(best({{16, 32, "weak_name", 2}, {16, 32, "x", 1}}) == "x");
  CHECK(best({{16, 32, "local_name", 0}, {16, 32, "x", 1}}) == "x");
  CHECK(best({{16, 32, "__qsort_r_long", 1}, {16, 32, "qsort", 1}}) == "qsort");
  CHECK(best({{16, 32, "a", 1}, {16, 32, "b", 1}}) == "a");
}

TEST_CASE("a name without a size ends at the next one") {
  perf::symbol_table table;
  table.add({0x300, 0x300, "last"});
  table.add({0x100, 0x100, "first"});
  table.add({0x200, 0x210, "second"});
  table.finish(same);
  CHECK(table.find(0x1ff)->name == "first");
  CHECK(table.find(0x20f)->name == "second");
  CHECK(table.find(0x210) == nullptr);
  CHECK(table.find(0xff) == nullptr);
  CHECK(table.find(0x1fff)->name == "last");
  CHECK(table.find(0x2000) == nullptr);
}

TEST_CASE("lines of kallsyms have an address, a type and a name") {
  std::vector<std::string_view> names;
  std::vector<std::uint64_t> addresses;
  perf::for_each_kallsyms_line("ffffffff81000000 T _text\nbad\nffffffffc0000000 t init\t[mod]\nxyz t no\n12 T x",
                               [&](std::uint64_t address, char type, std::string_view name) {
                                 CHECK((type == 'T' || type == 't'));
                                 addresses.push_back(address);
                                 names.push_back(name);
                               });
  CHECK(names == std::vector<std::string_view>{"_text", "init\t[mod]", "x"});
  CHECK(addresses == std::vector<std::uint64_t>{0xffffffff81000000, 0xffffffffc0000000, 0x12});
}

TEST_CASE("lines of perf map files have a start, a size and a name to the end of the line") {
  std::vector<std::string_view> names;
  perf::for_each_map_line("1000 10 a function()\n0x2000 0x8 b\nbroken\n3000  c\nffffffffffffffff 2 wraps\n4000 4 d",
                          [&](std::uint64_t, std::uint64_t, std::string_view name) { names.push_back(name); });
  CHECK(names == std::vector<std::string_view>{"a function()", "b", "d"});
}
