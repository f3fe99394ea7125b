// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
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
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  ~temporary_file() { std::remove(path.c_str()); }
};

std::string text_of(const mapped_file& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

/// The reason why open() failed; 0 when it did not.
int reason_of(const backsight::result<mapped_file>& opened) {
  const int reason = errno;
  if (opened) return 0;
  CHECK(opened.error() == backsight::trace_error{errc::io, 0});
  return reason;
}

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
  CHECK(reason_of(mapped_file::open("/nonexistent/file")) == ENOENT);
  CHECK(reason_of(mapped_file::open("/tmp")) == EISDIR);
  CHECK(reason_of(mapped_file::open_regular("/nonexistent/file")) == ENOENT);
  CHECK(reason_of(mapped_file::open_regular("/tmp")) == EISDIR);
}

TEST_CASE("a pipe is read to its end into memory") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  // More than a pipe holds.
  const std::string content(std::size_t{300'000}, 'x');
  std::thread writer([&] {
    for (std::size_t at = 0; at < content.size();) {
      const ssize_t done = ::write(ends[1], content.data() + at, content.size() - at);
      if (done > 0) at += static_cast<std::size_t>(done);
    }
    ::close(ends[1]);
  });
  SECTION("by its descriptor") {
    const auto opened = mapped_file::from_descriptor(ends[0]);
    REQUIRE(opened);
    CHECK(text_of(*opened) == content);
    CHECK(opened->copied());
  }
  SECTION("by its path") {
    const auto opened = mapped_file::open(("/dev/fd/" + std::to_string(ends[0])).c_str());
    REQUIRE(opened);
    CHECK(text_of(*opened) == content);
    CHECK(opened->copied());
  }
  writer.join();
  ::close(ends[0]);
}

TEST_CASE("a FIFO is read when a process writes into it, and refused when none does or only files are asked for") {
  const temporary_file file("");
  const std::string path = file.path;
  REQUIRE(std::remove(path.c_str()) == 0);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(reason_of(mapped_file::open_regular(path.c_str())) == ENOTSUP);
  CHECK(reason_of(mapped_file::open(path.c_str())) == ETIMEDOUT);
  std::thread writer([&] {
    const int descriptor = ::open(path.c_str(), O_WRONLY);
    (void)!::write(descriptor, "backsight", 9);
    ::close(descriptor);
  });
  const auto opened = mapped_file::open(path.c_str());
  writer.join();
  REQUIRE(opened);
  CHECK(text_of(*opened) == "backsight");
}

TEST_CASE("a device is refused, and a file whose size is not told is read") {
  CHECK(reason_of(mapped_file::open("/dev/zero")) == ENOTSUP);
  CHECK(reason_of(mapped_file::open("/dev/null")) == ENOTSUP);
  CHECK(reason_of(mapped_file::open_regular("/dev/null")) == ENOTSUP);
  if (::access("/proc/self/status", R_OK) != 0) return;
  for (const bool regular : {true, false}) {
    const auto opened =
        regular ? mapped_file::open_regular("/proc/self/status") : mapped_file::open("/proc/self/status");
    REQUIRE(opened);
    CHECK(text_of(*opened).starts_with("Name:"));
  }
}

TEST_CASE("an open file is read from its position on") {
  const temporary_file file("backsight");
  const int descriptor = ::open(file.path.c_str(), O_RDONLY);
  REQUIRE(descriptor >= 0);
  const auto whole = mapped_file::from_descriptor(descriptor);
  REQUIRE(whole);
  CHECK(text_of(*whole) == "backsight");
  CHECK_FALSE(whole->copied());
  REQUIRE(::lseek(descriptor, 4, SEEK_SET) == 4);
  const auto rest = mapped_file::from_descriptor(descriptor);
  REQUIRE(rest);
  CHECK(text_of(*rest) == "sight");
  ::close(descriptor);
}

TEST_CASE("a stream that does not fit into memory is an error") {
#if defined(__SANITIZE_ADDRESS__)
  // The sanitizer takes more address space than can be left.
  return;
#endif
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    const std::array<char, 4096> block{};
    for (int i = 0; i < 65536; ++i) {
      if (::write(ends[1], block.data(), block.size()) < 0) break;
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
  rlimit small = before;
  small.rlim_cur = std::size_t{128} << 20;
  REQUIRE(::setrlimit(RLIMIT_AS, &small) == 0);
  const int reason = reason_of(mapped_file::from_descriptor(ends[0]));
  REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(reason == ENOMEM);
  ::close(ends[0]);
  CHECK(::waitpid(child, nullptr, 0) == child);
}

TEST_CASE("of a stream whose first 65,536 bytes are not wanted no more is read, and shorter ones are read whole") {
  const auto is_a = [](backsight::byte_view head) { return head.size() == 65536 && head.front() == std::byte{'a'}; };
  struct sample {
    char letter;
    std::size_t written, read;
  };
  for (const sample& one : {sample{'a', 300'000, 300'000}, sample{'a', 65'536, 65'536}, sample{'b', 65'537, 65'536},
                            sample{'b', 65'536, 65'536}, sample{'b', 65'535, 65'535}}) {
    INFO(one.letter << ' ' << one.written);
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    std::thread writer([&] {
      const std::string text(one.written, one.letter);
      for (std::size_t done = 0; done < text.size();) {
        const auto more = ::write(ends[1], text.data() + done, text.size() - done);
        if (more <= 0) break;
        done += static_cast<std::size_t>(more);
      }
      ::close(ends[1]);
    });
    const auto file = mapped_file::from_descriptor(ends[0], is_a);
    const bool whole = file && file->bytes().size() == one.read;
    std::array<char, 4096> left{};
    while (::read(ends[0], left.data(), left.size()) > 0) {
    }
    writer.join();
    ::close(ends[0]);
    CHECK(whole);
  }
}
