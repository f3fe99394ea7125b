// SPDX-License-Identifier: Apache-2.0
#include <backsight/uftrace/files/memory_map.hpp>

#include <string_view>
#include <vector>

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;
using test::view_of;

TEST_CASE("each line of a map gives start, end, path and build-id") {
  const memory_map map =
      read_memory_map(view_of("400000-500000 r-xp 00000000 00:00 0    /bin/a b build-id:12ab\n"
                              "7ff0-7ff1 r-xp 00000000 00:00 0 /lib/c\n"));
  CHECK(map.faults.empty());
  REQUIRE(map.mappings.size() == 2);
  CHECK((map.mappings[0].start == 0x400000 && map.mappings[0].end == 0x500000));
  CHECK((map.mappings[0].path == "/bin/a b" && map.mappings[0].build_id == "12ab"));
  CHECK((map.mappings[1].start == 0x7ff0 && map.mappings[1].end == 0x7ff1 && map.mappings[1].path == "/lib/c"));
  CHECK(map.mappings[1].build_id.empty());
  CHECK(map.kernel_base == 0);
}

TEST_CASE("anonymous and special mappings are left out, the stack tells where the kernel is") {
  const memory_map map =
      read_memory_map(view_of("1000-2000 rw-p 00000000 00:00 0\n1000-2000 rw-p 00000000 00:00 0 \n"
                              "1000-2000 rw-p 0 0 0 [heap]\n1000-2000 r-xp 0 0 0 [vdso]\n1000-2000 r-xp 0\n"
                              "bef00000-bf000000 rw-p 0 0 0 [stack]\n"));
  CHECK(map.mappings.empty());
  CHECK(map.faults.empty());
  CHECK(map.kernel_base == 0xc0000000);
}

TEST_CASE("lines of a map that are none are listed with place and size") {
  const std::string_view text =
      "2000-1000 r-xp 0 0 0 /a\n1000-1000 r-xp 0 0 0 /b\n1000-1001 r-xp 0 0 0 /c\n1000 2000 r-xp 0 0 0 /d\nx-2000 r 0 "
      "0 0 /e\n\n1000-2000\n1000-y\n";
  const memory_map map = read_memory_map(view_of(text));
  REQUIRE(map.mappings.size() == 1);
  CHECK(map.mappings[0].path == "/c");
  std::vector<std::string_view> bad;
  for (const fault& f : map.faults) {
    CHECK(f.code == errc::bad_text);
    bad.push_back(text.substr(f.offset, f.skipped));
  }
  CHECK(bad == std::vector<std::string_view>{"2000-1000 r-xp 0 0 0 /a\n", "1000-1000 r-xp 0 0 0 /b\n",
                                             "1000 2000 r-xp 0 0 0 /d\n", "x-2000 r 0 0 0 /e\n", "1000-2000\n",
                                             "1000-y\n"});
}

TEST_CASE("a map that ends inside a line says so, and mappings of one file that follow each other are one") {
  const std::string_view text =
      "1000-2000 r-xp 0 0 0 /a\n3000-4000 r--p 0 0 0 /a\n5000-6000 r--p 0 0 0 /b\n7000-8000 r--p 0 0 0 /a";
  const memory_map map = read_memory_map(view_of(text));
  REQUIRE(map.mappings.size() == 3);
  CHECK((map.mappings[0].start == 0x1000 && map.mappings[0].end == 0x4000));
  CHECK((map.mappings[2].start == 0x7000 && map.mappings[2].path == "/a"));
  CHECK(map.faults == std::vector<fault>{{errc::truncated, text.size(), 0}});
}

TEST_CASE("the kernel begins at the first border above the stack") {
  STATIC_REQUIRE(kernel_base_above(0x3fffffff) == 0x40000000);
  STATIC_REQUIRE(kernel_base_above(0x40000000) == 0x80000000);
  STATIC_REQUIRE(kernel_base_above(0x7fffffff) == 0x80000000);
  STATIC_REQUIRE(kernel_base_above(0x80000000) == 0xb0000000);
  STATIC_REQUIRE(kernel_base_above(0xafffffff) == 0xb0000000);
  STATIC_REQUIRE(kernel_base_above(0xb0000000) == 0xc0000000);
  STATIC_REQUIRE(kernel_base_above(0xc0000000) == 0xffffff8000000000);
  STATIC_REQUIRE(kernel_base_above(0x7fffffffff) == 0xffffff8000000000);
  STATIC_REQUIRE(kernel_base_above(0x8000000000) == 0xfffffc0000000000);
  STATIC_REQUIRE(kernel_base_above(0x40000000000) == 0xffff800000000000);
  STATIC_REQUIRE(kernel_base_above(0x7fffffffffff) == 0xffff800000000000);
  STATIC_REQUIRE(kernel_base_above(0x800000000000) == 0xffff000000000000);
}

TEST_CASE("the libraries that trace are known by their names") {
  for (const char* const name :
       {"libmcount.so", "/usr/lib/libmcount-fast.so", "/x/libmcount-single.so", "libmcount-fast-single.so"})
    CHECK(is_tracer_library(name));
  for (const char* const name : {"libmcount.so.1", "mylibmcount.so", "/libmcount.so/x", ""})
    CHECK_FALSE(is_tracer_library(name));
}
