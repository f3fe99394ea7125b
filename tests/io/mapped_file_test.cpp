// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>
#include <utility>

#include <unistd.h>

#include <backsight/io/mapped_file.hpp>

#include <support/catch.hpp>

using backsight::errc;
using backsight::io::mapped_file;

namespace {

/// A file that is gone when the test ends.
struct temporary_file {
  std::string path = "/tmp/backsight_test_XXXXXX";
  explicit temporary_file(const std::string& content) {
    const int descriptor = ::mkstemp(path.data());
    REQUIRE(descriptor >= 0);
    REQUIRE(::write(descriptor, content.data(), content.size()) == static_cast<ssize_t>(content.size()));
    ::close(descriptor);
  }
  ~temporary_file() { std::remove(path.c_str()); }
};

}  // namespace

TEST_CASE("a mapped file gives the bytes of the file and keeps them when it is moved") {
  const temporary_file file("backsight");
  auto opened = mapped_file::open(file.path.c_str());
  REQUIRE(opened);
  const std::byte* const data = opened->bytes().data();
  const mapped_file moved = std::move(opened).value();
  CHECK(moved.bytes().size() == 9);
  CHECK(moved.bytes().data() == data);
  CHECK(moved.bytes()[8] == std::byte{'t'});
}

TEST_CASE("an empty file gives no bytes and no error") {
  const temporary_file file("");
  const auto opened = mapped_file::open(file.path.c_str());
  REQUIRE(opened);
  CHECK(opened->bytes().empty());
}

TEST_CASE("a file that is missing and a folder give an error") {
  CHECK(mapped_file::open("/nonexistent/file").error().code == errc::io);
  CHECK(mapped_file::open("/tmp").error().code == errc::io);
}
