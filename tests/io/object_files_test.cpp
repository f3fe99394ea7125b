// SPDX-License-Identifier: Apache-2.0
#include <backsight/io/object_files.hpp>

#include <string>
#include <vector>

#include <zlib.h>

#include <support/catch.hpp>

#include "object_folder.hpp"

using namespace backsight;
using test::object_builder;
using test::object_folder;

namespace {

perf::build_id id_of(unsigned byte) { return perf::build_id(std::vector<std::byte>(4, static_cast<std::byte>(byte))); }

struct finder {
  std::vector<std::string> said;
  io::object_finder of;

  explicit finder(std::vector<std::string> folders, std::string beside = "/no/such/folder")
      : of(std::move(folders), std::move(beside), [this](const std::string& message) { said.push_back(message); }) {}
  /// Where below the first folder the file was found, or "none".
  std::string find(const std::string& name, unsigned id = 0, perf::file_kind kind = perf::file_kind::file) const {
    const auto found = of.find({name, id == 0 ? perf::build_id() : id_of(id), kind});
    return found ? found->path : "none";
  }
};

}  // namespace

TEST_CASE("a mapped file is found by its path below the folders, in their order") {
  const object_folder first("objects_first"), second("objects_second");
  first.write("opt/a", object_builder().file());
  second.write("opt/a", object_builder().file());
  second.write("opt/b", object_builder().file());
  second.write("opt/text", test::byte_builder().text("no object file").vector());
  const finder all({first.path + "/", second.path});
  CHECK(all.find("/opt/a") == first.path + "/opt/a");
  CHECK(all.find("/opt/b") == second.path + "/opt/b");
  CHECK(all.find("/opt/c") == "none");
  CHECK(all.find("/opt/text") == "none");
  CHECK(all.find("/opt") == "none");
  // No path of a file that is there.
  CHECK(all.find("opt/a") == "none");
  CHECK(all.find("/opt/a (deleted)") == "none");
  CHECK(all.said.empty());
}

TEST_CASE("/usr/lib and /lib are the same folder, though not in every copy of a machine") {
  const object_folder root("objects_usr");
  root.write("usr/lib/a.so", object_builder().file());
  root.write("lib/b.so", object_builder().file());
  const finder all({root.path});
  CHECK(all.find("/lib/a.so") == root.path + "/usr/lib/a.so");
  CHECK(all.find("/usr/lib/b.so") == root.path + "/lib/b.so");
  CHECK(all.find("/opt/lib/a.so") == "none");
}

TEST_CASE("a file with another build id is told and not used, one of the recorded id is found elsewhere") {
  const object_folder root("objects_id");
  root.write("opt/a", object_builder(0x11).file());
  finder all({root.path});
  CHECK(all.find("/opt/a", 0x11) == root.path + "/opt/a");
  CHECK(all.find("/opt/a") == root.path + "/opt/a");
  CHECK(all.said.empty());
  CHECK(all.find("/opt/a", 0x22) == "none");
  REQUIRE(all.said.size() == 1);
  CHECK(all.said[0] ==
        "/opt/a: " + root.path + "/opt/a has the build id 11111111, the recording has 22222222; it is not used");
  for (const char* const place : {".build-id/22/222222/elf", ".build-id/22/222222", ".debug/.build-id/22/222222/elf",
                                  "usr/lib/.build-id/22/222222", "opt/a/22222222/elf", "22222222.elf", "22222222"}) {
    const object_folder cache("objects_cache");
    cache.write(place, object_builder(0x22).file());
    finder both({root.path, cache.path});
    CHECK(both.find("/opt/a", 0x22) == cache.path + "/" + place);
    CHECK(both.said.empty());
  }
  // A file without a build id is not one that has it.
  root.write("opt/b", object_builder().file());
  CHECK(all.find("/opt/b", 0x22) == "none");
  CHECK(all.said.back().find("(none)") != std::string::npos);
}

TEST_CASE("what profilers leave beside a recording is found there, other files are not") {
  const object_folder root("objects_root"), beside("objects_beside");
  beside.write("jitted-7-1.so", object_builder().file());
  beside.write("a.so", object_builder().file());
  const finder all({root.path}, beside.path);
  CHECK(all.find("/tmp/jitted-7-1.so") == beside.path + "/jitted-7-1.so");
  CHECK(all.find("/tmp/a.so") == "none");
}

TEST_CASE("the vdso is a file of a folder, or this process' own where that is the recorded one") {
  const object_folder root("objects_vdso");
  const finder all({root.path});
  const auto head = elf::open(byte_view(reinterpret_cast<const std::byte*>(::getauxval(AT_SYSINFO_EHDR)), 4096),
                              elf::image_layout::memory);
  if (head && !head->build_id().empty()) {
    const auto own = all.of.find({"[vdso]", perf::build_id(head->build_id()), perf::file_kind::vdso});
    REQUIRE(own);
    CHECK(own->path == "[vdso]");
    CHECK(own->image.sections().size() != 0);
  }
  CHECK(all.find("[vdso]", 0x33, perf::file_kind::vdso) == "none");
  CHECK(all.find("[vdso]", 0, perf::file_kind::vdso) == "none");
  root.write("vdso.so", object_builder(0x33).file());
  CHECK(all.find("[vdso]", 0x33, perf::file_kind::vdso) == root.path + "/vdso.so");
}

TEST_CASE("sections are given as they are, unpacked, or not where they are damaged") {
  const std::vector<std::byte> content(5000, std::byte{7});
  std::vector<std::byte> packed(6000);
  uLongf size = packed.size();
  REQUIRE(::compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(content.data()),
                     content.size()) == Z_OK);
  packed.resize(size);
  const auto with_head = [&](std::uint64_t stated, unsigned type = 1) {
    return test::byte_builder().u32(type).u32(0).u64(stated).u64(1).append(packed).vector();
  };
  constexpr std::uint64_t compressed = 0x800;
  const object_folder root("objects_sections");
  root.write("a", object_builder()
                      .section(".plain", content)
                      .section(".packed", with_head(content.size()), compressed)
                      .section(".larger", with_head(content.size() + 1), compressed)
                      .section(".smaller", with_head(content.size() - 1), compressed)
                      .section(".bomb", with_head(std::uint64_t{1} << 33), compressed)
                      .section(".zstd", with_head(content.size(), 2), compressed)
                      .section(".head", test::byte_builder().u32(1).vector(), compressed)
                      .file());
  const auto file = io::object_finder::open(root.path + "/a");
  REQUIRE(file);
  const auto content_of = [&](const char* name) {
    const auto found = io::section_of(*file, name);
    return found ? std::vector<std::byte>(found->begin(), found->end()) : std::vector<std::byte>();
  };
  CHECK(content_of(".plain") == content);
  CHECK(content_of(".packed") == content);
  for (const char* const name : {".larger", ".bomb", ".zstd", ".head", ".missing"})
    CHECK_FALSE(io::section_of(*file, name));
  CHECK(content_of(".smaller").size() <= content.size() - 1);
}
