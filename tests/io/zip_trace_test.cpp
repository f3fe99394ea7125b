// SPDX-License-Identifier: Apache-2.0
#include <backsight/io/zip_trace.hpp>

#include <support/catch.hpp>

#include "packed.hpp"
#include "zip_builder.hpp"

using namespace backsight;
using test::noise;

TEST_CASE("every byte of a chunked trace has the chunk that holds it") {
  const auto bytes = test::zip_of({noise(5), {}, noise(7, 6), noise(1, 7)});
  const auto archive = io::zip_archive::open(bytes);
  REQUIRE(archive);
  const std::size_t wanted[]{0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 3, 4, 4};
  for (std::size_t at = 0; at < std::size(wanted); ++at) CHECK(io::chunk_at(*archive, at) == wanted[at]);
  CHECK(io::chunk_at(*archive, ~std::uint64_t{0}) == 4);
  const auto none = test::zip_of({{}});
  CHECK(io::chunk_at(*io::zip_archive::open(none), 0) == 1);
  CHECK(io::chunk_at(io::zip_archive(), 0) == 0);
}

TEST_CASE("every part of a chunked trace is read as it lies in the whole") {
  // One chunk is larger than the pieces that are read at a time.
  const std::vector<std::vector<std::byte>> chunks{noise(5), noise(70000, 6), {}, noise(3, 7)};
  std::vector<std::byte> whole;
  for (const auto& chunk : chunks) whole = test::joined(whole, chunk);
  const auto bytes = test::zip_of(chunks);
  const auto archive = io::zip_archive::open(bytes);
  REQUIRE(archive);
  const std::size_t places[]{0, 1, 4, 5, 6, 65535, 65536, 65540, 65541, 65542, 70004, 70005, 70006, 70008};
  for (const std::size_t begin : places) {
    for (const std::size_t end : places) {
      CAPTURE(begin, end);
      const auto got = io::read_chunks(*archive, begin, end);
      REQUIRE(got);
      if (begin >= end) {
        CHECK(got->empty());
        continue;
      }
      CHECK(std::equal(got->begin(), got->end(), whole.begin() + static_cast<std::ptrdiff_t>(begin),
                       whole.begin() + static_cast<std::ptrdiff_t>(end)));
    }
  }
  CHECK(io::read_chunks(*archive, 3, 70009).error() == trace_error{errc::out_of_range, 3});
  CHECK(io::read_chunks(*archive, 70008, 70009).error() == trace_error{errc::out_of_range, 70008});
  CHECK(io::read_chunks(*archive, 80000, ~std::uint64_t{0}).error() == trace_error{errc::out_of_range, 80000});
}

TEST_CASE("a window of a chunked trace is read from its beginning, or from that of its chunk") {
  const auto content = noise(40);
  const auto bytes = test::zip_of({test::first_bytes(content, 20), {content.begin() + 20, content.end()}});
  const auto archive = io::zip_archive::open(bytes);
  REQUIRE(archive);
  memtrace::window window;
  window.chunk = 20;
  window.begin = 25;
  window.end = 31;
  CHECK((*io::read_window(*archive, window) == std::vector<std::byte>(content.begin() + 25, content.begin() + 31)));
  CHECK(
      (*io::read_window(*archive, window, true) == std::vector<std::byte>(content.begin() + 20, content.begin() + 31)));
}
