// SPDX-License-Identifier: Apache-2.0
#include <backsight/uftrace/files/info.hpp>

#include <string>
#include <string_view>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::uftrace;

namespace {

/// The file info of these masks and lines.
struct info_file {
  std::uint64_t features = 0, items = 0;
  std::string lines = {};
  order byte_order = order::little;
  std::uint32_t version = 4;
  std::uint64_t max_stack = 0;
  unsigned elf_class = 2;

  [[nodiscard]] std::vector<std::byte> bytes() const {
    test::byte_builder file(byte_order);
    file.text("Ftrace!").u8(0).u32(version).u16(40).u8(byte_order == order::little ? 1 : 2).u8(elf_class);
    file.u64(features).u64(items).u16(max_stack).fill(6).text(lines);
    return file.vector();
  }
};

}  // namespace

TEST_CASE("the header of info has its members in both byte orders") {
  for (const order o : {order::little, order::big}) {
    info_file file{.features = 1U << 6 | 1U << 13, .byte_order = o, .max_stack = 4321};
    const auto bytes = file.bytes();
    const auto read = read_info(bytes);
    REQUIRE(read);
    CHECK(read->byte_order == o);
    CHECK((read->version == 4 && read->header_size == 40 && read->feat_mask == 0x2040 && read->info_mask == 0));
    CHECK(read->raw_header_size == (o == order::little ? 40 : 40 << 8));
    CHECK(read->max_stack == 4321);
    CHECK((read->has(feature::max_stack) && read->has(feature::callsite) && !read->has(feature::event)));
    CHECK((read->is_64 && read->long_size() == 8));
    CHECK(read->lines.empty());
  }
}

TEST_CASE("without its bit the deepest stack is 1024") {
  CHECK(read_info(info_file{.max_stack = 4321}.bytes())->max_stack == 1024);
  CHECK_FALSE(read_info(info_file{.elf_class = 1}.bytes())->is_64);
  CHECK(read_info(info_file{.elf_class = 1}.bytes())->long_size() == 4);
}

TEST_CASE("versions 3 and 4 are read and no others") {
  for (const std::uint32_t version : {3U, 4U}) CHECK(read_info(info_file{.version = version}.bytes()));
  for (const std::uint32_t version : {0U, 2U, 5U})
    CHECK(read_info(info_file{.version = version}.bytes()).error() == trace_error{errc::unsupported_version, 8});
}

TEST_CASE("each byte of the magic, the byte order and the class are checked") {
  const auto good = info_file{}.bytes();
  for (std::size_t at = 0; at < 8; ++at) {
    auto bytes = good;
    bytes[at] ^= std::byte{1};
    CHECK(read_info(bytes).error() == trace_error{errc::bad_magic, at});
    // Also where the file ends right behind it.
    CHECK(read_info(byte_view(bytes).first(at + 1)).error() == trace_error{errc::bad_magic, at});
    CHECK(read_info(byte_view(good).first(at + 1)).error() == trace_error{errc::truncated, at + 1});
  }
  for (const unsigned value : {0U, 3U}) {
    auto bytes = good;
    bytes[14] = static_cast<std::byte>(value);
    CHECK(read_info(bytes).error() == trace_error{errc::bad_value, 14});
    bytes = good;
    bytes[15] = static_cast<std::byte>(value);
    CHECK(read_info(bytes).error() == trace_error{errc::bad_value, 15});
  }
}

TEST_CASE("lines of info are split at their colon, those of groups at the equals sign too") {
  const auto bytes =
      info_file{.lines =
                    "exename:/a:b=c\ncpuinfo:lines=2\ncpuinfo:desc=A = B\nargspec:lines=2\nargspec:f@arg1\n"
                    "taskinfo:plain\nusageinfo:ctxsw=1\nosinfo:kernel=x\nrecord_date:a=b\n"}
          .bytes();
  const auto read = read_info(bytes);
  REQUIRE(read);
  REQUIRE(read->lines.size() == 9);
  CHECK((read->lines[0].key == "exename" && read->lines[0].name.empty() && read->lines[0].value == "/a:b=c"));
  CHECK((read->lines[0].offset == 40 && read->lines[1].offset == 55));
  CHECK((read->lines[2].name == "desc" && read->lines[2].value == "A = B"));
  CHECK((read->lines[3].name == "lines" && read->lines[3].value == "2"));
  CHECK((read->lines[4].name.empty() && read->lines[4].value == "f@arg1"));
  CHECK((read->lines[5].name.empty() && read->lines[5].value == "plain"));
  CHECK((read->lines[6].name == "ctxsw" && read->lines[7].name == "kernel"));
  CHECK((read->lines[8].name.empty() && read->lines[8].value == "a=b"));
  CHECK(read->value("argspec") == "f@arg1");
  CHECK(read->value("argspec", "lines") == "2");
  CHECK(read->value("nothing").empty());
}

TEST_CASE("a line without a colon and an item without its line are told, and the rest is kept") {
  const auto colon = info_file{.items = 1, .lines = "exename:/a\n\nrubbish\nodd\n"}.bytes();
  CHECK(read_info(colon).error() == trace_error{errc::bad_text, 52});
  CHECK(read_info(colon).partial().value("exename") == "/a");
  constexpr std::string_view keys[] = {"exename",      "build_id",        "exit_status", "cmdline",
                                       "cpuinfo",      "meminfo",         "osinfo",      "taskinfo",
                                       "usageinfo",    "loadinfo",        "argspec",     "record_date",
                                       "pattern_type", "uftrace_version", "utc_offset",  "sysctl"};
  std::string all;
  for (const std::string_view key : keys) all += std::string(key) + ":1\n";
  CHECK(read_info(info_file{.items = 0xffff, .lines = all}.bytes()));
  for (unsigned bit = 0; bit < 16; ++bit) {
    CAPTURE(bit);
    std::string without;
    for (unsigned i = 0; i < 16; ++i) {
      if (i != bit) without += std::string(keys[i]) + ":1\n";
    }
    const auto missing = info_file{.items = 0xffff, .lines = without}.bytes();
    CHECK(read_info(missing).error() == trace_error{errc::bad_text, missing.size()});
    CHECK(read_info(missing).partial().lines.size() == 15);
    CHECK(read_info(missing).partial().has_item(bit));
    CHECK(read_info(info_file{.items = std::uint64_t{0xffff} ^ std::uint64_t{1} << bit, .lines = without}.bytes()));
  }
}

TEST_CASE("numbers of info are 0 where they are not told") {
  const auto bytes = info_file{.lines = "taskinfo:tids=12,3,x,5\nelapsed_time:1.5 sec\nutc_offset:77\n"}.bytes();
  const auto read = read_info(bytes);
  CHECK(read->tids() == std::vector<std::uint32_t>{12, 3});
  CHECK(read->elapsed_ns() == 1'500'000'000);
  CHECK(read->utc_offset() == 77);
  const auto empty = read_info(info_file{}.bytes());
  CHECK((empty->tids().empty() && empty->elapsed_ns() == 0 && empty->utc_offset() == 0));
}
