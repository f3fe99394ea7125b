// SPDX-License-Identifier: Apache-2.0
// Stands for uftrace/files/elf_symbols.hpp
#include <string>
#include <string_view>
#include <vector>

#include <backsight/uftrace/resolver.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>
#include <support/files.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;

namespace {

const symbol* find(const symbol_table& table, std::string_view name) {
  for (const symbol& s : table.symbols()) {
    if (s.name == name) return &s;
  }
  return nullptr;
}

std::string line_of(const symbol_table& table, std::string_view name) {
  const symbol* const s = find(table, name);
  if (s == nullptr) return "none";
  return std::to_string(s->address) + " " + std::to_string(s->size) + " " + s->type;
}

/// A directory with one program at 0x555500000000 and the text files given.
struct small_directory {
  std::vector<std::byte> info;
  std::string map, tasks =
                       "SESS timestamp=1.000000001 pid=7 sid=0123456789abcdef exename=\"/bin/prog\"\nTASK "
                       "timestamp=1.000000002 tid=7 pid=7\n";
  std::vector<std::pair<std::string, std::string>> more;

  explicit small_directory(std::string_view build_id = {}) {
    test::byte_builder head;
    head.text("Ftrace!").u8(0).u32(4).u16(40).u8(1).u8(2).u64(1U << 1 | 1U << 5).u64(1U << 7).u16(0).fill(6);
    head.text("taskinfo:lines=2\ntaskinfo:nr_tid=1\ntaskinfo:tids=7\n");
    info = head.vector();
    map = "555500000000-555500010000 r-xp 00000000 00:00 0 /bin/prog";
    if (!build_id.empty()) map += " build-id:" + std::string(build_id);
    map += '\n';
  }
  [[nodiscard]] std::vector<directory_file> files() const {
    std::vector<directory_file> all{{"info", info}, {"sid-0123456789abcdef.map", test::view_of(map)}};
    if (!tasks.empty()) all.push_back({"task.txt", test::view_of(tasks)});
    for (const auto& [name, text] : more) all.push_back({name, test::view_of(text)});
    return all;
  }
  [[nodiscard]] std::string name_at(std::uint64_t offset, const object_opener& opener = {}) const {
    const auto all = files();
    const auto opened = uftrace::open(all, {}, opener);
    REQUIRE(opened);
    resolver names(*opened);
    return names.name(names.find(0, 2'000'000'000, 0x555500000000 + offset).name);
  }
};

std::string sym_file(std::string_view path, std::string_view build_id, std::string_view name) {
  return "# symbols: 1\n# path name: " + std::string(path) + "\n# build-id: " + std::string(build_id) +
         "\n0000000000001000 00000010 T " + std::string(name) + "\n";
}

byte_view open_test_program(void* owner, std::string_view path) {
  return path == "/bin/prog" ? byte_view(*static_cast<std::vector<std::byte>*>(owner)) : byte_view{};
}

}  // namespace

TEST_CASE("symbols of an ELF file are those that a recorder saves") {
  // The values are those of readelf; uftrace leaves out symbols without a size.
  const auto bytes = test::read_file(test::data_path("cfi/elf/gcc-O2"));
  const symbol_table table = read_elf_symbols(bytes, {});
  CHECK(line_of(table, "main") == std::to_string(0x1080) + " 135 T");
  CHECK(line_of(table, "shrinkwrap.cold") == std::to_string(0x106b) + " 10 t");
  CHECK(line_of(table, "abort") == std::to_string(0x1030) + " 16 P");
  CHECK(line_of(table, "memset") == std::to_string(0x1040) + " 16 P");
  CHECK(line_of(table, "frame_dummy") == "none");
  CHECK(find(table, "__cxa_finalize")->type == 'P');
  for (std::size_t i = 1; i < table.symbols().size(); ++i)
    CHECK(table.symbols()[i - 1].address <= table.symbols()[i].address);
  const auto narrow = test::read_file(test::data_path("cfi/elf/gcc-O2-m32"));
  CHECK(line_of(read_elf_symbols(narrow, {}), "memset") == std::to_string(0x1040) + " 16 P");
  const auto arm = test::read_file(test::data_path("cfi/elf/a64-O2"));
  CHECK(find(read_elf_symbols(arm, {}), "memset")->type == 'P');
}

TEST_CASE("symbols of another build or of no ELF file are not used") {
  const auto bytes = test::read_file(test::data_path("cfi/elf/gcc-O2"));
  CHECK_FALSE(read_elf_symbols(bytes, "0ed1e55672afee7fefc581fa18c88052f2d33b5a").symbols().empty());
  CHECK(read_elf_symbols(bytes, "0ed1e55672afee7fefc581fa18c88052f2d33b5b").symbols().empty());
  CHECK(read_elf_symbols(test::view_of("no program"), {}).symbols().empty());
  for (std::size_t size = 0; size < bytes.size(); size += 61) {
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    (void)read_elf_symbols(cut, {});
  }
  auto damaged = bytes;
  for (std::size_t at = 0; at < damaged.size(); at += 7) {
    damaged[at] ^= std::byte{0xff};
    (void)read_elf_symbols(damaged, {});
    damaged[at] = bytes[at];
  }
}

TEST_CASE("an object without a symbol file is opened where it was") {
  auto bytes = test::read_file(test::data_path("cfi/elf/gcc-O2"));
  const object_opener opener{&bytes, &open_test_program};
  CHECK(small_directory().name_at(0x1080, opener) == "main");
  CHECK(small_directory().name_at(0x1080) == "<555500001080>");
  CHECK(small_directory("0ed1e55672afee7fefc581fa18c88052f2d33b5a").name_at(0x1080, opener) == "main");
  CHECK(small_directory("00d1e55672afee7fefc581fa18c88052f2d33b5a").name_at(0x1080, opener) == "<555500001080>");
  // The saved symbols come first.
  small_directory saved;
  saved.more.emplace_back("prog.sym", sym_file("/bin/prog", "", "saved"));
  CHECK(saved.name_at(0x1008, opener) == "saved");
}

TEST_CASE("of objects of one name each finds its own symbols") {
  small_directory directory("aabbcc");
  directory.more.emplace_back("prog.sym", sym_file("/opt/prog", "112233", "other"));
  CHECK(directory.name_at(0x1000) == "<555500001000>");
  directory.more.emplace_back("prog-aabb.sym", sym_file("/bin/prog", "aabbcc", "by_build_id"));
  CHECK(directory.name_at(0x1000) == "by_build_id");
  // Without a build-id the sum of the path's bytes tells: that of /bin/prog is 0x34f.
  small_directory without;
  without.more.emplace_back("prog.sym", "# path name: /opt/prog\n0000000000001000 00000010 T other\n");
  without.more.emplace_back("prog-034f.sym", "# path name: /bin/prog\n0000000000001000 00000010 T by_sum\n");
  CHECK(without.name_at(0x1000) == "by_sum");
  // The same build at another path is the same object.
  small_directory moved("112233");
  moved.more.emplace_back("prog.sym", sym_file("/opt/prog", "112233", "same_build"));
  CHECK(moved.name_at(0x1000) == "same_build");
}

/// A binary task file: the session of /bin/prog, 64 bytes, and its task 7.
static test::byte_builder session_and_task(order o) {
  test::byte_builder file(o);
  file.u16(0xface)
      .u16(7)
      .u32(0)
      .u64(1'000'000'001)
      .u32(7)
      .u32(7)
      .text("0123456789abcdef")
      .u32(0)
      .u32(9)
      .text("/bin/prog")
      .fill(7);
  file.u16(0xface).u16(3).u32(16).u64(1'000'000'002).u32(7).u32(7);
  return file;
}

TEST_CASE("the binary task file of old recorders") {
  for (const order o : {order::little, order::big}) {
    test::byte_builder file = session_and_task(o);
    file.u16(0xface).u16(6).u32(16).u64(1'000'000'003).u32(7).u32(8);
    const task_list list = read_task_messages(file.view(), o);
    CHECK(list.faults.empty());
    REQUIRE(list.events.size() == 3);
    CHECK((list.events[0].kind == task_event_kind::session && list.events[0].pid == 7 &&
           list.events[0].name == "/bin/prog"));
    CHECK(list.events[0].sid == "0123456789abcdef");
    CHECK((list.events[1].kind == task_event_kind::task && list.events[1].tid == 7 &&
           list.events[1].time == 1'000'000'002));
    CHECK((list.events[2].kind == task_event_kind::fork && list.events[2].pid == 8 && list.events[2].parent == 7));
    for (std::size_t size = 0; size < file.size(); ++size) {
      const std::vector<std::byte> cut(file.view().begin(), file.view().begin() + static_cast<std::ptrdiff_t>(size));
      const task_list part = read_task_messages(cut, o);
      const bool between = size == 0 || size == 64 || size == 88;
      CHECK(part.faults.empty() == between);
      CHECK(part.events.size() == (size < 64 ? 0U : size < 88 ? 1U : 2U));
    }
  }
  const auto fault_of = [](const test::byte_builder& file) {
    return read_task_messages(file.view(), order::little).faults.at(0).code;
  };
  CHECK(fault_of(test::byte_builder().u16(0xfacf).u16(3).u32(0).fill(16)) == errc::bad_magic);
  CHECK(fault_of(test::byte_builder().u16(0xface).u16(5).u32(0).fill(16)) == errc::unknown_record);
  CHECK(fault_of(test::byte_builder().u16(0xface).u16(7).u32(0).fill(36).u32(1025)) == errc::bad_size);
}

TEST_CASE("a binary task file is read before the text, and both when it is damaged") {
  const test::byte_builder file = session_and_task(order::little);
  const auto tasks_of = [&](bool cut) {
    small_directory directory;
    directory.tasks = "TASK timestamp=1.000000003 tid=9 pid=7\n";
    auto files = directory.files();
    files.push_back({"task", cut ? file.view().first(80) : file.view()});
    const auto opened = uftrace::open(files);
    REQUIRE(opened);
    CHECK(opened->sessions.size() == 1);
    CHECK(opened->faults.size() == (cut ? 1U : 0U));
    return std::pair(opened->find_task(7) != task_data::no_task, opened->find_task(9) != task_data::no_task);
  };
  CHECK(tasks_of(false) == std::pair(true, false));
  CHECK(tasks_of(true) == std::pair(false, true));
}

TEST_CASE("options, notes, user events and external data are kept") {
  small_directory directory;
  directory.more = {{"default.opts", "-t 1us\n"},
                    {"note.txt", "hello\n"},
                    {"events.txt", "EVENT: 1000001 app:step\nEVENT: x\n"},
                    {"extern.dat", "# comment\n\n1.5 message of mine\n1.6\nno time\n2.000000001   second\n"}};
  const auto files = directory.files();
  const auto opened = uftrace::open(files);
  REQUIRE(opened);
  CHECK(opened->options == "-t 1us\n");
  CHECK(opened->note == "hello\n");
  REQUIRE(opened->user_events.size() == 1);
  CHECK(opened->user_events[0].first == 1000001);
  CHECK(opened->user_events[0].second == "app:step");
  REQUIRE(opened->faults.size() == 1);
  CHECK((opened->faults[0].file == "events.txt" && opened->faults[0].fault.code == errc::bad_text &&
         opened->faults[0].fault.offset == 24));
}
