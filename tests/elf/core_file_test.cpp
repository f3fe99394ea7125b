// SPDX-License-Identifier: Apache-2.0
// Stands for elf/core_memory.hpp, elf/core_schema.hpp, elf/notes.hpp
#include <backsight/elf/core_file.hpp>
#include <backsight/elf/core_memory.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include "elf_builder.hpp"

using namespace backsight;

namespace {

/// Puts core files of either class and byte order together.
struct core_builder {
  order o;
  bool wide;
  test::byte_builder notes{o};
  struct piece {
    std::uint64_t address, memory_size;
    std::string bytes;
    std::uint32_t flags = 6;
  };
  std::vector<piece> memory;

  core_builder(order byte_order, bool is_wide) : o(byte_order), wide(is_wide) {}

  core_builder& note(std::string_view owner, std::uint32_t type, const test::byte_builder& what) {
    notes.u32(owner.size() + 1).u32(what.size()).u32(type).text(owner).fill(1);
    notes.fill((4 - (owner.size() + 1) % 4) % 4).append(what.view()).fill((4 - what.size() % 4) % 4);
    return *this;
  }
  [[nodiscard]] test::byte_builder bytes() const { return test::byte_builder(o); }
  test::byte_builder& word(test::byte_builder& to, std::uint64_t value) const {
    return wide ? to.u64(value) : to.u32(value);
  }

  core_builder& thread(std::uint32_t id, std::uint32_t signal, std::string_view registers) {
    test::byte_builder status(o);
    status.u32(signal).u32(0).u32(0).u16(signal).u16(0);
    word(word(status, 0), 0).u32(id).u32(1).u32(2).u32(3).fill(wide ? 64 : 32).text(registers);
    return note("CORE", 1, status);
  }
  core_builder& files(std::uint64_t count) {
    test::byte_builder list(o);
    word(word(list, count), 0x1000);
    word(word(word(list, 0x10000), 0x12000), 0);
    word(word(word(list, 0x12000), 0x13000), 2);
    list.text("/bin/a").fill(1).text("/lib/b").fill(1);
    return note("CORE", 0x46494c45, list);
  }
  [[nodiscard]] std::vector<std::byte> file() const {
    test::elf_builder out(o, wide);
    out.type = 4;
    const std::size_t headers = out.header_size() + (1 + memory.size()) * out.segment_size();
    std::size_t at = headers;
    const auto section = [&](byte_view content) {
      out.sections.push_back({".x", 1, 0, 0, {content.begin(), content.end()}, 0, 0, 1, 0, 0});
    };
    out.segments.push_back({4, 0, at, 0, notes.size(), 0, 4});
    section(notes.view());
    at += notes.size();
    for (const piece& one : memory) {
      out.segments.push_back({1, one.flags, at, one.address, one.bytes.size(), one.memory_size, 1});
      section(std::as_bytes(std::span(one.bytes)));
      at += one.bytes.size();
    }
    return out.file();
  }
};

core_builder two_threads(order o, bool wide) {
  core_builder made(o, wide);
  made.thread(77, 6, "registers of 77").note("LINUX", 1, made.bytes().text("of others"));
  test::byte_builder process(o);
  process.fill(24).u32(77).u32(1).u32(2).u32(3).text("program").fill(9).text("program -v").fill(70);
  made.note("CORE", 3, process);
  test::byte_builder values(o);
  made.word(made.word(made.word(made.word(values, 33), 0x7000), 0), 0);
  made.note("CORE", 6, values).files(2).thread(78, 0, "and of 78");
  made.memory = {{0x3000, 0x2000, "0123456789abcdef"}, {0x1000, 0x1000, std::string(8, '\1'), 5}};
  return made;
}

std::vector<fault> faults_of(const std::vector<std::byte>& bytes, elf::core_file* out = nullptr) {
  std::vector<fault> all;
  auto opened = elf::open_core(bytes, [&](const fault& one) { all.push_back(one); });
  REQUIRE(opened);
  if (out != nullptr) *out = opened.value();
  return all;
}

}  // namespace

TEST_CASE("a core file tells threads, signals, mapped files, the command and the vdso in every class and byte order") {
  test::for_each_kind_of_file([](order o, bool wide) {
    const auto bytes = two_threads(o, wide).file();
    elf::core_file core;
    CHECK(faults_of(bytes, &core).empty());
    REQUIRE(core.threads.size() == 2);
    CHECK((core.threads[0].id == 77 && core.threads[0].signal == 6 && core.threads[1].id == 78 &&
           core.threads[1].signal == 0));
    const auto text = [](byte_view part) {
      return std::string(reinterpret_cast<const char*>(part.data()), part.size());
    };
    CHECK(text(core.threads[0].registers) == "registers of 77");
    CHECK(text(core.threads[1].registers) == "and of 78");
    CHECK(core.threads[1].offset < bytes.size());
    CHECK((core.process == 77 && core.program == "program" && core.arguments == "program -v"));
    CHECK(core.vdso == 0x7000);
    REQUIRE(core.mappings.size() == 2);
    CHECK((core.mappings[0].begin == 0x10000 && core.mappings[0].end == 0x12000 && core.mappings[0].file_offset == 0 &&
           core.mappings[0].path == "/bin/a"));
    CHECK((core.mappings[1].file_offset == 0x2000 && core.mappings[1].path == "/lib/b"));
    CHECK(core.missing == 0);
  });
}

TEST_CASE("a file that is no core file is refused at its type") {
  test::elf_builder builder(order::little, true);
  const auto bytes = builder.file();
  const auto opened = elf::open_core(bytes, [](const fault&) {});
  CHECK(opened.error() == trace_error{errc::unsupported_type, 16});
  CHECK(elf::open_core({}, [](const fault&) {}).error().code == errc::truncated);
}

TEST_CASE("memory of a core file is read by address, as far as the file has it") {
  test::for_each_kind_of_file([](order o, bool wide) {
    const auto bytes = two_threads(o, wide).file();
    elf::core_file core;
    (void)faults_of(bytes, &core);
    const elf::core_memory memory(core.file, [](const fault&) { FAIL("a fault"); });
    REQUIRE(memory.parts().size() == 2);
    CHECK(memory.parts()[0].begin == 0x1000);
    CHECK(memory(0x1000) == (wide ? 0x0101010101010101U : 0x01010101U));
    CHECK(memory(0x1008) == std::nullopt);  // Mapped, and left out of the file.
    CHECK((memory.find(0x1fff) != nullptr && memory.find(0x2000) == nullptr && memory.find(0xfff) == nullptr));
    CHECK(memory.bytes_from(0x3004).size() == 12);
    CHECK(memory(0x3000 + 16 - memory.word_size()) != std::nullopt);
    CHECK(memory(0x3000 + 17 - memory.word_size()) == std::nullopt);
    CHECK(memory(~std::uint64_t{0}) == std::nullopt);
  });
}

TEST_CASE("of segments that overlap the first counts, and the other is told by its header") {
  auto made = two_threads(order::little, true);
  made.memory = {{0x1000, 0x2000, std::string(0x2000, 'a')},
                 {0x2000, 0x2000, std::string(0x2000, 'b')},
                 {0x1800, 0x100, "c"},
                 {~std::uint64_t{0} - 0xfff, 0x2000, std::string(0x2000, 'd')}};
  const auto bytes = made.file();
  elf::core_file core;
  CHECK(faults_of(bytes, &core).empty());
  std::vector<fault> all;
  const elf::core_memory memory(core.file, [&](const fault& one) { all.push_back(one); });
  // The third header, of what lies in the first wholly, then the second.
  CHECK(all == std::vector<fault>{{errc::bad_value, 64 + 56 * 3, 0}, {errc::bad_value, 64 + 56 * 2, 0}});
  REQUIRE(memory.parts().size() == 3);
  CHECK(memory(0x2ff8) == 0x6161616161616161U);
  CHECK(memory(0x3000) == 0x6262626262626262U);
  CHECK(memory.parts()[1].end == 0x4000);
  CHECK(memory.parts()[2].end == ~std::uint64_t{0});
}

TEST_CASE("a segment at the last address is no memory") {
  auto made = two_threads(order::little, true);
  made.memory = {{~std::uint64_t{0}, 0x1000, "x"}, {0x1000, 0, "y"}};
  const auto bytes = made.file();
  elf::core_file core;
  (void)faults_of(bytes, &core);
  CHECK(elf::core_memory(core.file, [](const fault&) { FAIL("a fault"); }).parts().empty());
}

TEST_CASE("counts and sizes of notes that cannot be are faults, and what lies before them is there") {
  for (const std::uint64_t count : {std::uint64_t{3}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    core_builder made(order::little, true);
    made.thread(5, 0, "").files(count);
    elf::core_file core;
    const auto all = faults_of(made.file(), &core);
    REQUIRE(all.size() == 1);
    CHECK(all[0].code == errc::bad_size);
    CHECK(core.threads.size() == 1);
  }
  core_builder nameless(order::little, true);
  test::byte_builder list(order::little);
  list.u64(2).u64(0x1000).u64(1).u64(2).u64(0).u64(9).u64(8).u64(0).text("/bin/a");
  const auto unnamed = faults_of(nameless.note("CORE", 0x46494c45, list).file());
  REQUIRE(unnamed.size() == 1);
  CHECK(unnamed[0].code == errc::bad_string);
  core_builder cut(order::little, true);
  cut.thread(5, 0, "").note("CORE", 1, cut.bytes().fill(40));
  elf::core_file core;
  auto all = faults_of(cut.file(), &core);
  REQUIRE(all.size() == 1);
  CHECK(all[0].code == errc::truncated);
  CHECK(core.threads.size() == 1);
  cut.notes.u32(5).u32(0xffffffff).u32(1).text("CORE").fill(4);
  all = faults_of(cut.file());
  REQUIRE(all.size() == 2);
  CHECK(all[1].code == errc::truncated);
}

TEST_CASE("notes that two headers name are read once") {
  core_builder made(order::little, true);
  made.thread(5, 0, "");
  made.memory = {{0x1000, 0x1000, std::string(8, '\1')}};
  std::vector<std::byte> file = made.file();
  const std::size_t headers = static_cast<std::size_t>(load<std::uint64_t, order::little>(file.data() + 32)), size = 56;
  const std::uint64_t notes_at = load<std::uint64_t, order::little>(file.data() + headers + 8);
  std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(headers), size,
              file.begin() + static_cast<std::ptrdiff_t>(headers + size));
  elf::core_file core;
  const auto all = faults_of(file, &core);
  REQUIRE(all.size() == 1);
  CHECK(all[0].code == errc::bad_value);
  CHECK(all[0].offset == notes_at);
  CHECK(core.threads.size() == 1);
}

TEST_CASE("each truncation of a core file ends cleanly and says how much memory is missing") {
  const auto whole = two_threads(order::little, true).file();
  std::size_t most = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    std::uint64_t faults = 0;
    const auto opened = elf::open_core(bytes, [&](const fault& one) {
      ++faults;
      CHECK(one.offset <= size);
    });
    if (!opened) {
      CHECK(opened.error().offset <= size);
      continue;
    }
    CHECK(opened->threads.size() >= most);
    most = opened->threads.size();
    const elf::core_memory memory(opened->file, [](const fault&) { FAIL("a fault"); });
    for (const auto& part : memory.parts()) {
      if (!part.bytes.empty()) CHECK(part.bytes.data() + part.bytes.size() <= bytes.data() + bytes.size());
    }
    if (size < 64 + 56 * 3 + 100) CHECK((opened->missing != 0 || memory.parts().size() < 2));
  }
  CHECK(most == 2);
}
