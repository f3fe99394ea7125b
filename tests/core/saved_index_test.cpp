// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <backsight/core/saved_index.hpp>

#include <support/catch.hpp>

using namespace backsight;

namespace {

struct place {
  static constexpr const char* name = "place";
  static constexpr field<"offset", std::uint32_t> offset{};
  static constexpr field<"time", std::uint64_t> time{};
  static constexpr layout fields{offset, time};
};
struct other {
  static constexpr field<"offset", std::uint64_t> offset{};
  static constexpr layout fields{offset};
};
constexpr saved_index_kind kind{"BSTESTED", 3};
constexpr fingerprint about{77, 0x1234};

/// Two entries and three bytes behind them.
std::vector<std::byte> made() {
  std::vector<std::byte> bytes(saved_index_head::size);
  for (const unsigned i : {1U, 2U}) {
    owned_record<place, order::little> item;
    item.set(place::offset, i).set(place::time, 10 * i);
    bytes.insert(bytes.end(), item.bytes().begin(), item.bytes().end());
  }
  bytes.insert(bytes.end(), 3, std::byte{9});
  seal_saved_index<place>(bytes, kind, 2, about);
  return bytes;
}

}  // namespace

TEST_CASE("a saved index gives back its entries, what is behind them, and what it is about") {
  const auto bytes = made();
  CHECK(is_saved_index(bytes, kind));
  CHECK_FALSE(is_saved_index(bytes, saved_index_kind("BSOTHERS", 3)));
  CHECK_FALSE(is_saved_index(byte_view(bytes).first(47), kind));
  const auto opened = open_saved_index<place>(bytes, kind);
  REQUIRE(opened);
  REQUIRE(opened->entries.size() == 2);
  CHECK(opened->entries[1][place::offset] == 2);
  CHECK(opened->entries[1][place::time] == 20);
  CHECK(opened->rest.size() == 3);
  CHECK(opened->source == about);
  CHECK_FALSE(opened->verify());
  CHECK_FALSE(opened->is_about(about));
  CHECK(opened->is_about({76, 0x1234}) == trace_error{errc::bad_size, 24});
  CHECK(opened->is_about({77, 0x1235}) == trace_error{errc::bad_value, 32});
}

TEST_CASE("an index of another kind, version or entry is refused with its place") {
  const auto bytes = made();
  CHECK(open_saved_index<place>(bytes, saved_index_kind("BSOTHERS", 3)).error() == trace_error{errc::bad_magic, 0});
  CHECK(open_saved_index<place>(bytes, saved_index_kind("BSTESTED", 2)).error() ==
        trace_error{errc::unsupported_version, 8});
  CHECK(open_saved_index<other>(bytes, kind).error() == trace_error{errc::bad_size, 12});
}

TEST_CASE("each truncation and each changed bit of a saved index is seen") {
  const auto bytes = made();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto opened = open_saved_index<place>(byte_view(bytes).first(size), kind);
    if (size < bytes.size() - 3) CHECK(opened.error() == trace_error{errc::truncated, size});
    else CHECK(opened->verify() == trace_error{errc::checksum, 40});
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      CAPTURE(i, bit);
      auto damaged = bytes;
      damaged[i] ^= static_cast<std::byte>(1U << bit);
      const auto opened = open_saved_index<place>(damaged, kind);
      if (opened) CHECK(opened->verify() == trace_error{errc::checksum, 40});
    }
  }
}

TEST_CASE("the fingerprint of a file is that of its size and both ends") {
  std::vector<std::byte> file(20000);
  const fingerprint whole = fingerprint_of_ends(file);
  CHECK(whole.bytes == 20000);
  for (const std::size_t at : {std::size_t{0}, std::size_t{4095}, std::size_t{20000 - 4096}, std::size_t{19999}}) {
    auto changed = file;
    changed[at] = std::byte{1};
    CHECK(fingerprint_of_ends(changed) != whole);
  }
  auto middle = file;
  middle[4096] = std::byte{1};
  CHECK(fingerprint_of_ends(middle) == whole);
  CHECK(fingerprint_of_ends(byte_view(file).first(19999)) != whole);
  // Of a small file all of it counts.
  std::vector<std::byte> small(8192), changed = small;
  changed[5000] = std::byte{1};
  CHECK(fingerprint_of_ends(small) != fingerprint_of_ends(changed));
  for (std::size_t i = 0; i < small.size(); ++i) small[i] = static_cast<std::byte>(i % 251);
  CHECK(fingerprint_of_ends(small) == fingerprint{small.size(), checksum(small)});
  fingerprint sum{1, 2};
  sum += {10, 20};
  CHECK(sum == fingerprint{11, 22});
}
