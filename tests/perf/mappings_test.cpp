// SPDX-License-Identifier: Apache-2.0
#include <backsight/perf/mappings.hpp>

#include <string>
#include <vector>

#include <support/catch.hpp>

namespace perf = backsight::perf;

namespace {

perf::mapping piece(std::uint64_t begin, std::uint64_t end, std::uint64_t offset, std::uint32_t file = 0) {
  perf::mapping made;
  made.begin = begin;
  made.end = end;
  made.file_offset = offset;
  made.file = file;
  return made;
}

std::vector<std::vector<std::uint64_t>> rows(const perf::mapping_set& set) {
  std::vector<std::vector<std::uint64_t>> all;
  for (const auto& [begin, one] : set) all.push_back({one.begin, one.end, one.file_offset, one.file});
  return all;
}

}  // namespace

TEST_CASE("a mapping over the middle of another leaves its head and its tail") {
  perf::mapping_set set;
  set.add(piece(0x1000, 0x9000, 0x100));
  set.add(piece(0x3000, 0x5000, 0, 1));
  CHECK(rows(set) == std::vector<std::vector<std::uint64_t>>{
                         {0x1000, 0x3000, 0x100, 0}, {0x3000, 0x5000, 0, 1}, {0x5000, 0x9000, 0x4100, 0}});
  CHECK(set.find(0x2fff)->file == 0);
  CHECK(set.find(0x3000)->file == 1);
  CHECK(set.find(0x5000)->file_address(0x5001) == 0x4101);
  CHECK(set.find(0x9000) == nullptr);
  CHECK(set.find(0xfff) == nullptr);
}

TEST_CASE("a mapping over several others replaces those and cuts the last") {
  perf::mapping_set set;
  set.add(piece(0x1000, 0x2000, 0));
  set.add(piece(0x2000, 0x3000, 0, 1));
  set.add(piece(0x4000, 0x6000, 0, 2));
  set.add(piece(0x1800, 0x5000, 0, 3));
  CHECK(rows(set) == std::vector<std::vector<std::uint64_t>>{
                         {0x1000, 0x1800, 0, 0}, {0x1800, 0x5000, 0, 3}, {0x5000, 0x6000, 0x1000, 2}});
  set.add(piece(0, 0x10000, 0, 4));
  CHECK(rows(set) == std::vector<std::vector<std::uint64_t>>{{0, 0x10000, 0, 4}});
}

TEST_CASE("mappings that are empty or wrap are left out") {
  perf::mapping_set set;
  set.add(piece(0x1000, 0x1000, 0));
  set.add(piece(0x2000, 0x1000, 0));
  CHECK(set.empty());
}

TEST_CASE("removing a part in the middle leaves two parts") {
  perf::mapping_set set;
  set.add(piece(0x1000, 0x4000, 0));
  set.remove(0x2000, 0x3000);
  CHECK(rows(set) == std::vector<std::vector<std::uint64_t>>{{0x1000, 0x2000, 0, 0}, {0x3000, 0x4000, 0x2000, 0}});
}

TEST_CASE("names of mappings tell what is mapped") {
  using kind = perf::file_kind;
  CHECK(perf::kind_of_file("/usr/bin/x", false) == kind::file);
  CHECK(perf::kind_of_file("/usr/bin/x", true) == kind::anonymous);
  CHECK(perf::kind_of_file("//anon", false) == kind::anonymous);
  CHECK(perf::kind_of_file("/dev/zero (deleted)", false) == kind::anonymous);
  CHECK(perf::kind_of_file("[vdso]", false) == kind::vdso);
  CHECK(perf::kind_of_file("[stack]", false) == kind::special);
  CHECK(perf::kind_of_file("[heap]", false) == kind::special);
}

TEST_CASE("a file is listed once for each name and build id") {
  perf::file_list files;
  const std::byte bytes[]{std::byte{0xab}, std::byte{0x01}};
  const perf::build_id id{backsight::byte_view(bytes)};
  CHECK(id.text() == "ab01");
  CHECK(files.add("/a", {}, perf::file_kind::file) == 0);
  CHECK(files.add("/a", id, perf::file_kind::file) == 1);
  CHECK(files.add("/a", {}, perf::file_kind::file) == 0);
  CHECK(files.size() == 2);
  CHECK(files[1].id == id);
}
