// SPDX-License-Identifier: Apache-2.0
#include <backsight/io/uftrace_directory.hpp>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include <unistd.h>

#include <support/catch.hpp>
#include <support/files.hpp>

using namespace backsight;
using io::uftrace_directory;

namespace {

/// A copy of a directory of tests/data that is gone when the test ends.
struct copied_directory {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("backsight_uftrace_" + std::to_string(::getpid()));
  copied_directory() {
    std::filesystem::remove_all(path);
    std::filesystem::copy(test::data_path("uftrace/single-pg/uftrace.data"), path);
  }
  copied_directory(const copied_directory&) = delete;
  copied_directory& operator=(const copied_directory&) = delete;
  ~copied_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

std::set<std::string> names_of(const uftrace_directory& directory) {
  std::set<std::string> names;
  for (const auto& file : directory.files()) names.insert(std::string(file.name));
  return names;
}

}  // namespace

TEST_CASE("a uftrace directory holds every file with its bytes, and none of its folders") {
  const copied_directory copy;
  std::filesystem::create_directory(copy.path / "folder");
  std::ofstream(copy.path / "folder" / "inside") << "x";
  std::ofstream(copy.path / "empty");
  const auto opened = uftrace_directory::open(copy.path.string());
  REQUIRE(opened);
  std::set<std::string> wanted;
  for (const auto& entry : std::filesystem::directory_iterator(copy.path)) {
    if (entry.is_regular_file()) wanted.insert(entry.path().filename().string());
  }
  CHECK(names_of(*opened) == wanted);
  CHECK(wanted.count("empty") == 1);
  for (const auto& file : opened->files()) {
    const auto bytes = test::read_file((copy.path / std::string(file.name)).string());
    CHECK(std::equal(file.bytes.begin(), file.bytes.end(), bytes.begin(), bytes.end()));
  }
  CHECK_FALSE(opened->recording().data.empty());
}

TEST_CASE("a uftrace directory that is moved keeps its bytes") {
  auto opened = uftrace_directory::open(test::data_path("uftrace/single-pg/uftrace.data"));
  REQUIRE(opened);
  const auto before = opened->recording().data.front().bytes;
  const uftrace_directory moved = std::move(opened).value();
  const auto after = moved.recording().data.front().bytes;
  CHECK(after.data() == before.data());
  CHECK(after.size() == before.size());
  CHECK(std::any_of(moved.files().begin(), moved.files().end(),
                    [&](const auto& file) { return file.bytes.data() == after.data(); }));
}

TEST_CASE("a uftrace directory that is missing, a file, or without its info is an error that tells why") {
  errno = 0;
  CHECK(uftrace_directory::open("/nonexistent/folder").error() == trace_error{errc::io, 0});
  CHECK(errno == ENOENT);
  CHECK(uftrace_directory::open(test::data_path("uftrace/README.md")).error() == trace_error{errc::io, 0});
  CHECK(errno == ENOTDIR);
  const copied_directory copy;
  std::filesystem::remove(copy.path / "info");
  const auto opened = uftrace_directory::open(copy.path.string());
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code != errc::io);
}
