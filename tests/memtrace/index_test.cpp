// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include <backsight/io/zip_trace.hpp>
#include <backsight/memtrace/index.hpp>
#include <backsight/memtrace/windows.hpp>

#include "trace_builder.hpp"

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::load_trace;
using test::trace_builder;
using test::windows_of;

namespace {

const std::vector<indexed_file> two_files{{"window.0000", "a.trace", 1000, 0x1234, 99}, {"", "b.trace.zip", 7, 0, 0}};

/// A window with a number of its own in every member.
window numbered(std::uint64_t n, std::optional<std::uint64_t> ordinal, std::uint64_t begin, std::uint64_t end) {
  window made;
  made.ordinal = ordinal, made.tid = n + 1, made.begin = begin, made.end = end, made.opening = n + 2,
  made.first_time = n + 3, made.last_time = n + 4;
  made.first_instruction = n + 5, made.instructions = n + 6, made.units = n + 7, made.chunk = n + 8,
  made.skipped = n + 9, made.idle_time = n + 10;
  made.has_predecessor = n % 2 != 0, made.continued = n % 3 == 0;
  return made;
}

/// Windows of two files: one without ordinal, then ordinals that are not those of their places, one of which comes
/// twice.
std::vector<indexed_window> some_windows() {
  return {{0, numbered(100, {}, 0, 12), false},   {0, numbered(200, 7, 12, 24), true},
          {0, numbered(300, 2, 24, 36), false},   {0, numbered(401, 7, 36, 60), false},
          {1, numbered(500, 0, 120, 132), false}, {1, numbered(603, ~std::uint64_t{0}, 144, 156), true}};
}

/// The saved bytes with one changed, and the checksum made to fit, as by someone who means harm.
std::vector<std::byte> forged(std::vector<std::byte> saved, std::size_t at, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) saved[at + i] = static_cast<std::byte>(value >> 8 * i);
  const std::uint64_t sum = checksum(byte_view(saved).first(40)) + checksum(byte_view(saved).subspan(48));
  store<order::little>(saved.data() + 40, sum);
  return saved;
}

}  // namespace

TEST_CASE("a saved index gives back every window, file and name") {
  const auto all = some_windows();
  const auto saved = save_index(all, two_files);
  const auto index = window_index::open(saved);
  REQUIRE(index);
  REQUIRE(index->size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) CHECK((*index)[i] == all[i]);
  REQUIRE(index->files() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(index->file(i) == two_files[i]);
  // Whatever order they come in.
  auto shuffled = all;
  std::reverse(shuffled.begin(), shuffled.end());
  CHECK(save_index(shuffled, two_files) == saved);
  const auto empty = save_index({}, {});
  REQUIRE(window_index::open(empty));
  CHECK(window_index::open(empty)->size() == 0);
  CHECK_FALSE(window_index::open(empty)->find(0, 0, 100));
  CHECK_FALSE(window_index::open(empty)->containing(0, 0));
}

TEST_CASE("a window is found by its ordinal, if it lies inside of the file") {
  const auto all = some_windows();
  const auto saved = save_index(all, two_files);
  const auto index = window_index::open(saved);
  REQUIRE(index);
  constexpr std::uint64_t any = ~std::uint64_t{0};
  CHECK(index->find(0, 7, any) == all[1].what);
  CHECK(index->find(0, 2, any) == all[2].what);
  CHECK(index->find(1, 0, any) == all[4].what);
  CHECK(index->find(1, any, any) == all[5].what);
  for (const std::uint64_t ordinal : {0U, 1U, 3U, 6U, 8U}) CHECK_FALSE(index->find(0, ordinal, any));
  CHECK_FALSE(index->find(1, 2, any));
  CHECK_FALSE(index->find(1, 7, any));
  CHECK_FALSE(index->find(2, 0, any));
  // The end of the file.
  CHECK(index->find(1, any, 156) == all[5].what);
  CHECK_FALSE(index->find(1, any, 155));
  CHECK(index->all_of(0, 7) == std::vector<indexed_window>{all[1], all[3]});
  CHECK(index->all_of(0, 2) == std::vector<indexed_window>{all[2]});
  CHECK(index->all_of(1, any) == std::vector<indexed_window>{all[5]});
  for (const std::uint64_t ordinal : {0U, 3U, 8U}) CHECK(index->all_of(0, ordinal).empty());
  CHECK(index->all_of(2, 0).empty());
}

TEST_CASE("a window without ordinal comes before window 0 and is not taken for it") {
  std::vector<indexed_window> all{{0, numbered(100, {}, 0, 12), false}};
  for (const std::size_t more : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
    CAPTURE(more);
    if (more != 0) all.push_back({0, numbered(100 + more, {}, 12 * more, 12 * more + 12), false});
    std::vector<indexed_window> whole = all;
    whole.push_back({0, numbered(200, 0, 60, 72), false});
    const auto saved = save_index(whole, two_files);
    const auto index = window_index::open(saved);
    REQUIRE(index);
    CHECK(index->find(0, 0, 72) == whole.back().what);
    CHECK(index->all_of(0, 0) == std::vector<indexed_window>{whole.back()});
    const auto without = save_index(all, two_files);
    CHECK_FALSE(window_index::open(without)->find(0, 0, 72));
  }
}

TEST_CASE("a place lies in the window from its begin up to its end") {
  const auto all = some_windows();
  const auto saved = save_index(all, two_files);
  const auto index = window_index::open(saved);
  REQUIRE(index);
  for (const indexed_window& one : all) {
    CHECK(index->containing(one.file, one.what.begin) == one.what);
    CHECK(index->containing(one.file, one.what.end - 1) == one.what);
  }
  CHECK(index->containing(0, 24) == all[2].what);
  CHECK_FALSE(index->containing(0, 60));
  CHECK_FALSE(index->containing(1, 119));
  CHECK_FALSE(index->containing(1, 132));
  CHECK_FALSE(index->containing(1, 143));
  CHECK_FALSE(index->containing(1, 156));
  CHECK_FALSE(index->containing(2, 120));
}

TEST_CASE("each truncation, each addition and each changed bit of an index is an error with its place") {
  const auto saved = save_index(some_windows(), two_files);
  for (std::size_t size = 0; size < saved.size(); ++size)
    CHECK(window_index::open(byte_view(saved).first(size)).error() == trace_error{errc::truncated, size});
  auto longer = saved;
  longer.push_back(std::byte{0});
  CHECK(window_index::open(longer).error() == trace_error{errc::bad_size, saved.size()});
  constexpr std::size_t lists = 48 + 6 * 112;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      auto damaged = saved;
      damaged[i] ^= static_cast<std::byte>(1U << bit);
      const trace_error error = window_index::open(damaged).error();
      CAPTURE(i, bit);
      if (i < 8) CHECK(error == trace_error{errc::bad_magic, 0});
      else if (i < 12) CHECK(error == trace_error{errc::unsupported_version, 8});
      else if (i < 16) CHECK(error == trace_error{errc::bad_size, 12});
      else if (i < 40 || (i >= lists && i < lists + 16))
        CHECK((error.code == errc::truncated || error.code == errc::bad_size || error.code == errc::checksum));
      else CHECK(error == trace_error{errc::checksum, 40});
    }
  }
}

TEST_CASE("an index whose parts are not where they belong is refused, though its checksum fits") {
  const auto saved = save_index(some_windows(), two_files);
  constexpr std::size_t entries = 48, numbers = entries + 6 * 112 + 16, files = numbers + 6 * 8;
  const auto error_of = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    return window_index::open(forged(saved, at, value, size)).error();
  };
  CHECK_FALSE(error_of(entries, 0, 4));
  // The file of an entry, its begin behind its end, its begin in front of that of the entry before.
  CHECK(error_of(entries + 112, 1, 4) == trace_error{errc::out_of_range, entries + 112});
  CHECK(error_of(entries + 2 * 112 + 24, 37, 8) == trace_error{errc::out_of_range, entries + 2 * 112});
  CHECK(error_of(entries + 2 * 112 + 24, 11, 8) == trace_error{errc::out_of_range, entries + 2 * 112});
  CHECK_FALSE(error_of(entries + 2 * 112 + 24, 12, 8));
  CHECK_FALSE(error_of(entries + 2 * 112 + 24, 36, 8));
  // A number that is too large, that comes twice, that is out of order.
  CHECK(error_of(numbers, 6, 8) == trace_error{errc::out_of_range, numbers});
  CHECK(error_of(numbers + 8, 0, 8) == trace_error{errc::out_of_range, numbers + 8});
  CHECK(error_of(numbers + 8, 3, 8) == trace_error{errc::out_of_range, numbers + 16});
  // The entries of a file and its name.
  CHECK(error_of(files + 24, 1, 8) == trace_error{errc::out_of_range, files});
  CHECK(error_of(files + 32, 3, 8) == trace_error{errc::out_of_range, files + 56});
  CHECK(error_of(files + 32, ~std::uint64_t{0}, 8) == trace_error{errc::out_of_range, files});
  CHECK(error_of(files + 56 + 32, 1, 8) == trace_error{errc::out_of_range, entries + 5 * 112});
  const std::uint64_t text = two_files[0].folder.size() + two_files[0].name.size() + two_files[1].name.size();
  CHECK(error_of(files + 40, text - 17, 8) == trace_error{errc::out_of_range, files});
  CHECK_FALSE(error_of(files + 40, text - 18, 8));
  CHECK(error_of(files + 40, ~std::uint64_t{0}, 8) == trace_error{errc::out_of_range, files});
  CHECK(error_of(files + 48, 0xffffffffU, 4) == trace_error{errc::out_of_range, files});
}

TEST_CASE("a window of a chunked trace is read by its chunks alone, and a chunk knows its window") {
  const auto packed = test::read_file(test::data_path("memtrace/single/drmemtrace.single.10508.3099.trace.zip"));
  const auto archive = io::zip_archive::open(packed);
  REQUIRE(archive);
  REQUIRE(archive->members().size() > 2);
  const auto whole = load_trace("single/drmemtrace.single.10508.3099.trace.zip");
  std::vector<indexed_window> all;
  for (const window& one : windows_of(whole)) {
    all.push_back({0, one});
    const auto bytes = io::read_window(*archive, one);
    REQUIRE(bytes);
    CHECK(std::ranges::equal(*bytes, part_of(whole, one).bytes));
    const auto with_encodings = io::read_window(*archive, one, true);
    REQUIRE(with_encodings);
    CHECK(with_encodings->size() == one.end - one.chunk);
    // The chunk that a window begins in is where its member begins.
    CHECK(archive->members()[io::chunk_at(*archive, one.begin)].offset == one.chunk);
  }
  const auto saved = save_index(all, std::vector<indexed_file>(1));
  const auto index = window_index::open(saved);
  REQUIRE(index);
  CHECK_FALSE(index->containing(0, 0));
  for (const io::zip_member& chunk : archive->members()) {
    if (chunk.offset == 0) continue;
    const auto current = index->containing(0, chunk.offset);
    REQUIRE(current);
    CHECK(current->begin <= chunk.offset);
    CHECK(chunk.offset < current->end);
  }
  CHECK(io::read_chunks(*archive, whole.size() - 1, whole.size() + 1).error().code == errc::out_of_range);
  CHECK(io::read_chunks(*archive, 5, 5)->empty());
}
