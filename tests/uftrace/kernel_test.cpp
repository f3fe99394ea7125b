// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/ftrace/pages.hpp>
#include <backsight/io/uftrace_directory.hpp>
#include <backsight/uftrace/events.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>
#include <support/files.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;

namespace {

std::string event_format(std::string_view path, std::string_view name, int id, std::string_view fields,
                         std::string_view print_format) {
  std::string text = "name: " + std::string(name) + "\nID: " + std::to_string(id) +
                     "\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" +
                     std::string(fields) + "\nprint fmt: " + std::string(print_format) + "\n";
  return "TRACEFS: " + std::string(path) + ": " + std::to_string(text.size()) + "\n" + text;
}

std::string small_header(order o, std::size_t long_size) {
  const std::string size = std::to_string(long_size);
  const std::string page =
      "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:" + size +
      ";\tsigned:1;\n\tfield: char data;\toffset:" + std::to_string(8 + long_size) + ";\tsize:100;\tsigned:1;\n";
  return "PAGE_SIZE: 128\nLONG_SIZE: " + size + "\nENDIAN: " + (o == order::little ? "LE" : "BE") +
         "\nTRACEFS: events/header_page: " + std::to_string(page.size()) + "\n" + page +
         event_format("events/sched/wake/format", "wake", 7, "\tfield:int foo;\toffset:8;\tsize:4;\tsigned:1;\n",
                      "\"foo=%d\", REC->foo");
}

/// The head of an event as that byte order packs it.
std::uint32_t head(order o, std::uint32_t type_len, std::uint32_t delta) {
  return o == order::little ? type_len | delta << 5 : type_len << 27 | delta;
}

/// Puts a page of 128 bytes together.
std::vector<std::byte> page_of(order o, std::size_t long_size, std::uint64_t time, std::uint64_t flags,
                               const test::byte_builder& events, std::uint64_t behind = 0) {
  test::byte_builder page(o);
  const auto put_long = [&](std::uint64_t value) { long_size == 8 ? page.u64(value) : page.u32(value); };
  page.u64(time);
  put_long(events.size() | flags);
  page.append(events.view());
  put_long(behind);
  page.fill(128 - page.size());
  return page.vector();
}

constexpr std::pair<order, std::size_t> machines[] = {
    {order::little, 8}, {order::little, 4}, {order::big, 8}, {order::big, 4}};

/// A directory in memory.
struct kernel_directory {
  std::vector<std::pair<std::string, std::vector<std::byte>>> contents;

  explicit kernel_directory(const std::string& name) {
    const auto opened = io::uftrace_directory::open(test::data_path("uftrace/" + name + "/uftrace.data"));
    REQUIRE(opened);
    for (const directory_file& file : opened->files())
      contents.emplace_back(file.name, std::vector(file.bytes.begin(), file.bytes.end()));
  }
  [[nodiscard]] std::vector<directory_file> files() const {
    std::vector<directory_file> all;
    for (const auto& [name, bytes] : contents) all.push_back({name, bytes});
    return all;
  }
  [[nodiscard]] std::vector<std::byte>& of(std::string_view name) {
    for (auto& [file, bytes] : contents) {
      if (file == name) return bytes;
    }
    FAIL("there is no file " << name);
    return contents.front().second;
  }
};

struct counts {
  std::uint64_t kernel = 0, events = 0, lost = 0, faults = 0;
};
counts count(const kernel_directory& directory, bool salvage) {
  const auto files = directory.files();
  const auto opened = uftrace::open(files);
  REQUIRE(opened);
  resolver names(*opened);
  merged_records records(names, {.salvage = salvage});
  merged_record r;
  counts all;
  while (records.next(r)) {
    if (r.source != record_source::kernel_file) continue;
    all.lost += r.type == record_type::lost;
    all.events += r.is_event();
    all.kernel += r.type == record_type::entry || r.type == record_type::exit;
  }
  all.faults = records.other_faults().size();
  return all;
}

}  // namespace

TEST_CASE("kernel_header describes pages and events") {
  const std::string text = small_header(order::big, 4);
  const kernel_header header = read_kernel_header(test::view_of(text));
  CHECK(header.pages.page_size == 128);
  CHECK(header.pages.long_size == 4);
  CHECK(header.pages.byte_order == order::big);
  CHECK(header.pages.commit_offset == 8);
  CHECK(header.pages.data_offset == 12);
  CHECK(header.faults.empty());
  REQUIRE(header.events.size() == 1);
  CHECK(header.events[0].system == "sched");
  CHECK(header.events[0].name == "wake");
  CHECK(header.find(7) == &header.events[0]);
  CHECK(header.find(8) == nullptr);
  const ftrace::event_field* const foo = header.events[0].find("foo");
  REQUIRE(foo != nullptr);
  CHECK((foo->offset == 8 && foo->size == 4 && foo->is_signed));
  CHECK(header.common("common_pid")->offset == 4);
}

TEST_CASE("members of events are declared in many ways") {
  const auto read = [](std::string_view line) { return ftrace::detail::read_event_field(line); };
  const auto array = read("\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:1;");
  REQUIRE(array);
  CHECK((array->name == "prev_comm" && array->is_array && array->type == "char "));
  const auto pointer = read("\tfield:const char * name;\toffset:8;\tsize:8;\tsigned:0;");
  CHECK((pointer && pointer->name == "name" && pointer->size == 8));
  CHECK(read("\tfield:int old;\toffset:8;\tsize:4;"));  // kernels before 2.6.32
  CHECK_FALSE(read("\tfield:int bad;\toffset:x;\tsize:4;\tsigned:1;"));
  CHECK_FALSE(read("\tfield:int bad;"));
  CHECK_FALSE(read("field:"));
}

TEST_CASE("what is wrong with kernel_header is listed") {
  const std::string whole = small_header(order::little, 8);
  CHECK(read_kernel_header(test::view_of("PAGE_SIZE: many\n")).faults.at(0).code == errc::bad_text);
  CHECK(read_kernel_header(test::view_of("PAGE_SIZE: 3\n")).pages.page_size == 4096);
  CHECK(read_kernel_header(test::view_of("PAGE_SIZE: 3\n")).faults.at(0).code == errc::bad_value);
  CHECK(read_kernel_header(test::view_of("TRACEFS: events/x/y/format: 10\nname: y\n")).faults.at(0).code ==
        errc::truncated);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> cut(test::view_of(whole).begin(),
                                     test::view_of(whole).begin() + static_cast<std::ptrdiff_t>(size));
    CHECK(read_kernel_header(cut).events.size() <= 1);
  }
}

TEST_CASE("events of a page in both byte orders and long sizes") {
  for (const auto& [o, long_size] : machines) {
    CAPTURE(o, long_size);
    const kernel_header header = [&] {
      static std::string text;
      text = small_header(o, long_size);
      return read_kernel_header(test::view_of(text));
    }();
    test::byte_builder events(o);
    events.u32(head(o, 3, 10)).u16(7).u16(0).u32(4100).u32(1);  // 12 bytes, 10 ns behind the page's time
    events.u32(head(o, 30, 5)).u32(2);                          // 2 << 27 | 5
    events.u32(head(o, 2, 1)).u16(7).u16(0).u32(4101);
    events.u32(head(o, 29, 20)).u32(8).u32(0xffffffff);          // discarded: 8 bytes behind its head
    events.u32(head(o, 0, 1)).u32(4 + 5).text("abcde").fill(3);  // a length of its own, padded
    events.u32(head(o, 31, 7)).u32(1);                           // 1 << 27 | 7, absolute
    events.u32(head(o, 1, 2)).u32(9);
    events.u32(head(o, 29, 0)).fill(4, 0xee);  // the rest is not used
    const std::uint64_t start = (std::uint64_t{1} << 59) + 1000;
    const auto bytes = page_of(o, long_size, start, 0, events);
    const ftrace::page page = ftrace::read_page(header.pages, bytes, 0);
    CHECK_FALSE(page.error);
    CHECK_FALSE(page.has_lost);
    CHECK_FALSE(page.begins_extended);
    REQUIRE(page.events.size() == 4);
    CHECK(page.events[0].time == start + 10);
    CHECK(page.events[0].offset == 8 + long_size);
    CHECK(page.events[0].data.size() == 12);
    CHECK(header.common("common_pid")->value(page.events[0].data, o) == 4100);
    const std::uint64_t second = start + 10 + (2ULL << 27) + 5 + 1;
    CHECK(page.events[1].time == second);
    CHECK(page.events[2].time == second + 21);
    CHECK(page.events[2].data.size() == 8);
    // Less than the time before: the stored 59 bits have wrapped.
    CHECK(page.events[3].time == (std::uint64_t{2} << 59) + (1ULL << 27) + 7 + 2);
    // A cut page gives what is whole before the cut.
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      const ftrace::page part = ftrace::read_page(header.pages, cut, 0);
      CHECK(part.events.size() <= 4);
      if (size < 8 + long_size) CHECK(part.error == trace_error{errc::truncated, size});
    }
  }
}

TEST_CASE("a page tells how many events were lost before it") {
  for (const auto& [o, long_size] : machines) {
    CAPTURE(o, long_size);
    const std::string text = small_header(o, long_size);
    const kernel_header header = read_kernel_header(test::view_of(text));
    test::byte_builder events(o);
    events.u32(head(o, 1, 0)).u32(7);
    const auto counted = ftrace::read_page(header.pages, page_of(o, long_size, 1, 3ULL << 30, events, 12), 0);
    CHECK((counted.has_lost && counted.lost == 12 && counted.events.size() == 1));
    const auto unknown = ftrace::read_page(header.pages, page_of(o, long_size, 1, 1ULL << 31, events, 12), 0);
    CHECK((unknown.has_lost && unknown.lost == -1));
  }
}

TEST_CASE("damaged events end a page with an error at their place") {
  const std::string text = small_header(order::little, 8);
  const kernel_header header = read_kernel_header(test::view_of(text));
  const auto error_of = [&](const test::byte_builder& events) {
    return ftrace::read_page(header.pages, page_of(order::little, 8, 1, 0, events), 0).error;
  };
  CHECK(error_of(test::byte_builder().u32(head(order::little, 28, 0)).u32(0)) == trace_error{errc::truncated, 16});
  CHECK(error_of(test::byte_builder().u32(head(order::little, 1, 0)).u32(0).u32(head(order::little, 0, 0)).u32(3)) ==
        trace_error{errc::bad_size, 24});
  CHECK(error_of(test::byte_builder().u32(head(order::little, 29, 1)).u32(0)) == trace_error{errc::bad_size, 16});
  CHECK(error_of(test::byte_builder().u32(head(order::little, 29, 1))) == trace_error{errc::truncated, 16});
}

TEST_CASE("kernel functions and events join the records of the tasks") {
  const auto directory = io::uftrace_directory::open(test::data_path("uftrace/kernel-made/uftrace.data"));
  REQUIRE(directory);
  const recording& from = directory->recording();
  CHECK(from.faults.empty());
  REQUIRE(from.kernel.files.size() == 2);
  CHECK(from.kernel.files[1].name == "kernel-cpu1.dat");
  CHECK(from.sessions[0].kernel_base == 0xffff800000000000);
  resolver names(from);
  CHECK(names.name(names.find(0, 1'000'000'002'150, 0xffffffff81002000).name) ==
        "__x64_sys_read");  // of two names the better
  std::uint64_t deepest = 0, calls = 0;
  (void)for_each_call(names, [&](const uftrace::call_event& event) {
    ++calls;
    deepest = std::max(deepest, event.depth);
  });
  CHECK(calls == 18 + 146);
  CHECK(deepest == 5);  // main, read, and four of the kernel's
  const kernel_directory files("kernel-made");
  const counts all = count(files, false);
  // Two exits come before the reading of the other file has met their entries: uftrace leaves them out, too.
  CHECK((all.kernel == 146 && all.events == 4 && all.lost == 2 && all.faults == 0));
}

TEST_CASE("where the stack lies tells where the kernel begins") {
  STATIC_REQUIRE(kernel_base_above(0x7ffd40326000) == 0xffff800000000000);
  STATIC_REQUIRE(kernel_base_above(0xffe07000) == 0xffffff8000000000);
  STATIC_REQUIRE(kernel_base_above(0x3ffe6e0a000) == 0xfffffc0000000000);
  STATIC_REQUIRE(kernel_base_above(0xffffe6e0a000) == 0xffff000000000000);
  STATIC_REQUIRE(kernel_base_above(0xbef00000) == 0xc0000000);
  STATIC_REQUIRE(kernel_base_above(0x3ef00000) == 0x40000000);
}

TEST_CASE("an unknown kind of kernel event ends its file, or is passed over") {
  kernel_directory data("kernel-made");
  auto& bytes = data.of("kernel-cpu0.dat");
  bytes[16 + 8 + 4] = std::byte{0x63};  // the kind of the first event, which has a delta of its own record
  const counts stops = count(data, false), goes_on = count(data, true);
  CHECK((stops.kernel == 4 && stops.faults == 1));
  CHECK((goes_on.kernel == 144 && goes_on.faults == 1));  // its exit has no entry and goes with it
}

TEST_CASE("every damage to kernel data ends cleanly") {
  kernel_directory data("kernel-made");
  for (const char* const name : {"kernel-cpu1.dat", "kernel_header", "kallsyms"}) {
    const std::vector<std::byte> whole = data.of(name);
    for (std::size_t size = 0; size < whole.size(); size += size < 400 ? 1 : 13) {
      data.of(name) = std::vector<std::byte>(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      CHECK(count(data, size % 2 == 0).kernel <= 146);
    }
    data.of(name) = whole;
    for (std::size_t at = 0; at < whole.size(); at += at < 400 ? 1 : 29) {
      data.of(name)[at] ^= std::byte{0xff};
      CHECK(count(data, at % 2 == 0).kernel <= 1000);
      data.of(name)[at] = whole[at];
    }
  }
}
