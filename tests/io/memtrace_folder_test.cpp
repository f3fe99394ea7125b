// SPDX-License-Identifier: Apache-2.0
#include <backsight/io/memtrace_folder.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include <support/catch.hpp>

using namespace backsight;
namespace fs = std::filesystem;

namespace {

/// A folder that is gone when the test ends.
struct made_folder {
  fs::path path = fs::temp_directory_path() / ("backsight_memtrace_" + std::to_string(::getpid()));
  made_folder() { fs::remove_all(path), fs::create_directories(path); }
  made_folder(const made_folder&) = delete;
  made_folder& operator=(const made_folder&) = delete;
  ~made_folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  made_folder& file(const char* name) {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << "x";
    return *this;
  }
  /// `window.0001:a.trace,b.trace `: the folders with their windows and files.
  [[nodiscard]] std::string found() const {
    std::string text;
    for (const io::memtrace_folder& folder : io::find_memtrace_folders(path.string()).folders) {
      text += fs::relative(folder.path, path).string() + (folder.window.empty() ? "" : "=" + folder.window) + ":";
      for (const std::string& name : folder.files) text += fs::path(name).filename().string() + ",";
      text += ' ';
    }
    return text;
  }
};

}  // namespace

TEST_CASE("thread files are told by their names, in every packing") {
  for (const char* const name :
       {"a.trace", "a.raw", "a.memtrace", "a.trace.zip", "a.raw.lz4", "a.memtrace.gz", "a.raw.sz", "a.raw.zlib"})
    CHECK(io::is_memtrace_file(name));
  for (const char* const name : {"a", "trace", "a.trace.zip.zip", "a.zip", "a.trace.bz2", "modules.log", "atrace"})
    CHECK_FALSE(io::is_memtrace_file(name));
}

TEST_CASE("a file stands for itself, a folder for its thread files by name") {
  made_folder made;
  made.file("b.trace.zip").file("a.trace.zip").file("modules.log");
  CHECK(made.found() == ".:a.trace.zip,b.trace.zip, ");
  const auto one = io::find_memtrace_folders((made.path / "b.trace.zip").string());
  REQUIRE((one.folders.size() == 1 && one.folders[0].files.size() == 1));
  CHECK((one.folders[0].files[0] == one.folders[0].path && one.faults.empty()));
}

TEST_CASE("windows come in the order of their numbers") {
  made_folder made;
  made.file("window.0010/a.trace").file("window.9/a.trace").file("window.18446744073709551617/a.trace");
  made.file("window.x/a.trace").file("window./a.trace").file("window.0003/modules.log");
  CHECK(made.found() ==
        "window.9=window.9:a.trace, window.0010=window.0010:a.trace, "
        "window.18446744073709551617=window.18446744073709551617:a.trace, ");
  made.file("c.trace");
  CHECK(made.found().substr(0, 11) == ".:c.trace, ");
}

TEST_CASE("a folder of a recording stands for its final trace, or for its raw files") {
  made_folder made;
  made.file("raw/a.raw").file("funclist.log");
  CHECK(made.found() == "raw:a.raw, ");
  made.file("trace/window.0001/a.trace");
  CHECK(made.found() == "trace/window.0001=window.0001:a.trace, ");
  made.file("b.trace");
  CHECK(made.found() == ".:b.trace, ");
}

TEST_CASE("what has the name of a thread file and is none is listed") {
  made_folder made;
  made.file("a.trace/inside").file("b.trace");
  const auto found = io::find_memtrace_folders(made.path.string());
  REQUIRE(found.faults.size() == 1);
  CHECK(found.faults[0].path == (made.path / "a.trace").string());
  CHECK_FALSE(found.faults[0].reason);
  CHECK(made.found() == ".:b.trace, ");
  CHECK(io::find_memtrace_folders((made.path / "none").string()).folders.size() == 1);
}
