// SPDX-License-Identifier: Apache-2.0
#include <backsight/io/object_symbols.hpp>

#include <random>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include "object_folder.hpp"

using namespace backsight;
using test::object_builder;
using test::object_folder;
using symbol = object_builder::symbol;

namespace {

/// A mapped file of a folder with its names.
struct named {
  std::vector<std::string> said;
  std::unique_ptr<io::object_file> file;
  std::unique_ptr<io::object_symbols> symbols;

  explicit named(const object_folder& root, const std::string& name = "/opt/a",
                 const io::symbol_options& options = {}) {
    const io::object_finder finder({root.path}, "/no/such/folder",
                                   [this](const std::string& message) { said.push_back(message); });
    file = finder.find({name, {}, perf::file_kind::file});
    REQUIRE(file);
    symbols = io::read_symbols(finder, *file, name, options);
  }
  /// NAME+OFFSET for a place in the file, or "none".
  std::string at(std::uint64_t offset) {
    const auto found = symbols->find(offset);
    return found ? std::string(found->text) + "+" + std::to_string(found->offset) : "none";
  }
};

std::vector<std::byte> debug_link(const std::string& name, std::uint32_t checksum) {
  test::byte_builder b;
  b.text(name).u8(0);
  b.fill((4 - b.size() % 4) % 4);
  return b.u32(checksum).vector();
}

}  // namespace

TEST_CASE("names of a mapped file are those of its symbol table and its dynamic one") {
  const object_folder root("names");
  root.write("opt/a",
             object_builder()
                 .symbols(2, {{"first", 0x401000, 0x10}, {"open_end", 0x401020, 0}, {"_alias", 0x401000, 0x10}})
                 .symbols(11, {{"exported", 0x401040, 8}, {"longer_first", 0x401000, 0x10}})
                 .file());
  named a(root);
  CHECK(a.at(0xfff) == "none");
  CHECK(a.at(0x1000) == "longer_first+0");
  CHECK(a.at(0x100f) == "longer_first+15");
  CHECK(a.at(0x1010) == "none");
  // Without a size: up to the next one, of whichever table.
  CHECK(a.at(0x103f) == "open_end+31");
  CHECK(a.at(0x1047) == "exported+7");
  CHECK(a.at(0x1048) == "none");
  CHECK(a.at(0x1000) == "longer_first+0");
  CHECK(a.said.empty());
}

TEST_CASE("names are those that a table of all symbols gives, whatever is asked for first") {
  std::mt19937 random(3);
  std::vector<symbol> full, dynamic;
  for (int i = 0; i < 400; ++i) {
    constexpr unsigned types[]{2, 2, 2, 1, 10};
    const symbol one{std::string(random() % 3, '_') + "f" + std::to_string(random() % 1000),
                     0x401000 + random() % 300 * 8, random() % 3 * 8, types[random() % 5],
                     static_cast<unsigned>(random() % 3)};
    (random() % 3 == 0 ? dynamic : full).push_back(one);
  }
  const object_folder root("names_random");
  root.write("opt/a", object_builder().symbols(2, full).symbols(11, dynamic).file());
  const auto same = [](std::string_view name) { return name; };
  perf::symbol_table all;
  for (const auto* const table : {&full, &dynamic}) {
    for (const symbol& s : *table) {
      all.add({s.value - 0x400000, s.value - 0x400000 + s.size, s.name, static_cast<std::uint8_t>(s.binding)});
    }
    all.finish(same);
  }
  named a(root);
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t offset = 0xff0; offset < 0x1000 + 301 * 8; ++offset) offsets.push_back(offset);
  std::shuffle(offsets.begin(), offsets.end(), random);
  std::size_t different = 0;
  for (const std::uint64_t offset : offsets) {
    const perf::named_range* const expected = all.find(offset);
    different +=
        a.at(offset) !=
        (expected == nullptr ? "none" : std::string(expected->name) + "+" + std::to_string(offset - expected->begin));
  }
  CHECK(different == 0);
}

TEST_CASE("names are printed as the caller says, and chosen by that") {
  const object_folder root("names_text");
  root.write("opt/a", object_builder().symbols(2, {{"x", 0x401000, 8}, {"longer", 0x401000, 8}}).file());
  io::symbol_options options;
  options.text = [](std::string_view name) { return name == "x" ? std::string("much_longer()") : std::string(name); };
  CHECK(named(root, "/opt/a", options).at(0x1004) == "much_longer()+4");
}

TEST_CASE("names come from a file of debug information by its link, where it belongs to the mapped file") {
  const auto debug = object_builder(0x44).symbols(2, {{"from_debug", 0x401000, 16}}).file();
  const auto make = [&](unsigned id, std::uint32_t checksum) {
    return object_builder(id)
        .symbols(11, {{"from_file", 0x401000, 16}})
        .section(".gnu_debuglink", debug_link("a.debug", checksum))
        .file();
  };
  for (const char* const place : {"opt/a.debug", "opt/.debug/a.debug", "usr/lib/debug/opt/a.debug"}) {
    const object_folder root("names_link");
    root.write("opt/a", make(0x44, 0));
    root.write(place, debug);
    CHECK(named(root).at(0x1000) == "from_debug+0");
    // Of another build id: told, and not used.
    root.write("opt/a", make(0x55, io::detail::crc32_of(debug)));
    named other(root);
    CHECK(other.at(0x1000) == "from_file+0");
    REQUIRE(other.said.size() == 1);
    CHECK(other.said[0] == root.path + "/" + place + " does not belong to " + root.path + "/opt/a; it is not used");
  }
  // Without build ids the checksum tells.
  const object_folder root("names_checksum");
  const auto plain = object_builder().symbols(2, {{"from_debug", 0x401000, 16}}).file();
  root.write("opt/a.debug", plain);
  root.write("opt/a", make(0, io::detail::crc32_of(plain)));
  CHECK(named(root).at(0x1000) == "from_debug+0");
  root.write("opt/a", make(0, io::detail::crc32_of(plain) + 1));
  CHECK(named(root).at(0x1000) == "from_file+0");
}

TEST_CASE("a link that is damaged or leads out of the folder is none") {
  const auto plain = object_builder().symbols(2, {{"from_debug", 0x401000, 16}}).file();
  const std::uint32_t checksum = io::detail::crc32_of(plain);
  for (const auto& link :
       {debug_link("../b/a.debug", checksum), debug_link("", checksum), test::byte_builder().text("a.debug").vector(),
        test::byte_builder().text("a.debug").u8(0).vector()}) {
    const object_folder root("names_bad_link");
    root.write("opt/a.debug", plain);
    root.write("b/a.debug", plain);
    root.write("opt/a", object_builder().symbols(11, {{"own", 0x401000, 16}}).section(".gnu_debuglink", link).file());
    CHECK(named(root).at(0x1000) == "own+0");
  }
}

TEST_CASE("names come from a file of debug information by build id") {
  for (const char* const place :
       {".build-id/44/444444/debug", "usr/lib/debug/.build-id/44/444444.debug", "usr/lib/debug/opt/a.debug"}) {
    const object_folder root("names_id");
    root.write("opt/a", object_builder(0x44).symbols(11, {{"own", 0x401000, 16}}).file());
    root.write(place, object_builder(0x44).symbols(2, {{"from_debug", 0x401008, 4}}).file());
    named a(root);
    CHECK(a.at(0x1008) == "from_debug+0");
    CHECK(a.said.empty());
  }
}

TEST_CASE("a packed symbol table is unpacked where there is no other") {
  const auto mini = object_builder().symbols(2, {{"inner", 0x401000, 8}}).file();
  static std::vector<std::byte> unpacked;
  unpacked = mini;
  io::symbol_options options;
  options.unpack = [](byte_view packed) -> std::optional<std::vector<std::byte>> {
    if (packed.size() != 3) return std::nullopt;
    return unpacked;
  };
  const object_folder root("names_mini");
  const std::vector<std::byte> data(3), damaged(4);
  root.write("opt/a", object_builder().symbols(11, {{"outer", 0x401010, 8}}).section(".gnu_debugdata", data).file());
  named a(root, "/opt/a", options);
  CHECK(a.at(0x1007) == "inner+7");
  CHECK(a.at(0x1010) == "outer+0");
  CHECK(named(root).at(0x1007) == "none");
  root.write("opt/a", object_builder().symbols(11, {{"outer", 0x401010, 8}}).section(".gnu_debugdata", damaged).file());
  named cannot(root, "/opt/a", options);
  CHECK(cannot.at(0x1007) == "none");
  CHECK(cannot.at(0x1010) == "outer+0");
  unpacked = {std::byte{1}};
  root.write("opt/a", object_builder().section(".gnu_debugdata", data).file());
  CHECK(named(root, "/opt/a", options).at(0x1007) == "none");
}

TEST_CASE("entries of the procedure linkage table are named by what they lead to, also over a symbol at their place") {
  object_builder b;
  b.builder.sections.push_back({".plt", 1, 6, 0x401000, std::vector<std::byte>(48), 0, 0, 16, 16, 0});
  const auto link = static_cast<std::uint32_t>(b.builder.sections.size() + 1);
  b.builder.sections.push_back(
      {".rela.plt", 4, 2, 0,
       test::byte_builder().u64(0).u64(std::uint64_t{1} << 32 | 7).fill(8).u64(0).u64(7).fill(8).vector(), link, 1, 8,
       24, 0});
  b.symbols(11, {{"callee", 0, 0}});
  (void)b.file();
  const std::uint64_t plt = b.builder.sections[2].offset;
  b.builder.segments[0] = {1, 5, plt, 0x401000, 0x1000, 0x1000, 1};
  b.symbols(2, {{"at_the_entry", 0x401010, 4}, {"behind", 0x401080, 4}});
  const object_folder root("names_plt");
  root.write("opt/a", b.file());
  named a(root);
  CHECK(a.at(plt + 16) == "callee@plt+0");
  CHECK(a.at(plt + 31) == "callee@plt+15");
  CHECK(a.at(plt + 32) == "@plt+0");
  CHECK(a.at(plt + 48) == "none");
  CHECK(a.at(plt + 0x81) == "behind+1");
}
