// SPDX-License-Identifier: Apache-2.0
#include <backsight/io/zip.hpp>

#include <algorithm>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

#include "packed.hpp"
#include "zip_builder.hpp"

using namespace backsight;
using io::zip_archive;
using test::drain;
using test::joined;
using test::noise;
using test::zip_of;

namespace {

const std::vector<std::vector<std::byte>> contents{noise(5000), {}, noise(1, 6), noise(300, 7)};

/// Adds `more` to the stated size of member `index`, where the archive and where the member states it (PKWARE APPNOTE
/// 4.3.7, 4.3.12).
std::vector<std::byte> with_other_size(std::vector<std::byte> archive, std::size_t index, std::int64_t more) {
  std::size_t changed = 0;
  for (const auto& [signature, offset] : {std::pair{0x04034b50U, 22}, std::pair{0x02014b50U, 24}}) {
    std::size_t seen = 0;
    for (std::size_t at = 0; at + 46 <= archive.size(); ++at) {
      if (load<std::uint32_t, order::little>(archive.data() + at) != signature || seen++ != index) continue;
      std::byte* const size = archive.data() + at + offset;
      store<order::little>(size, static_cast<std::uint32_t>(load<std::uint32_t, order::little>(size) + more));
      ++changed;
    }
  }
  REQUIRE(changed == 2);
  return archive;
}

}  // namespace

TEST_CASE("members of a zip archive are listed with their sizes and places") {
  const auto bytes = zip_of(contents);
  const auto archive = zip_archive::open(bytes);
  REQUIRE(archive);
  REQUIRE(archive->members().size() == 4);
  const std::uint64_t sizes[]{5000, 0, 1, 300}, offsets[]{0, 5000, 5000, 5001};
  std::uint64_t packed = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& member = archive->members()[i];
    CHECK(member.name == "m" + std::to_string(i));
    CHECK(member.size == sizes[i]);
    CHECK(member.offset == offsets[i]);
    packed += member.packed_size;
  }
  CHECK(archive->members()[0].packed_size > 4900);
  CHECK(packed < bytes.size());
  const auto stored = zip_of(contents, true);
  const auto same = zip_archive::open(stored);
  REQUIRE(same);
  for (std::size_t i = 0; i < 4; ++i) CHECK(same->members()[i].packed_size == sizes[i]);
}

TEST_CASE("members of a zip archive are read one after the other, from any of them, as many as are wanted") {
  const auto bytes = zip_of(contents);
  const auto archive = zip_archive::open(bytes);
  REQUIRE(archive);
  for (std::size_t first = 0; first <= 4; ++first) {
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{5}, ~std::size_t{0}}) {
      CAPTURE(first, count);
      std::vector<std::byte> wanted;
      for (std::size_t i = first; i < 4 && i - first < count; ++i) wanted = joined(wanted, contents[i]);
      for (const std::size_t piece : {std::size_t{1}, std::size_t{299}, std::size_t{5000}, std::size_t{9000}}) {
        const auto got = drain(archive->read_from(first, count), piece);
        REQUIRE(got);
        CHECK((*got == wanted));
      }
    }
  }
}

TEST_CASE("a zip archive that is cut is none") {
  const auto bytes = zip_of(contents);
  for (std::size_t size = 0; size < bytes.size(); size += size < 100 || size + 200 > bytes.size() ? 1U : 97U) {
    CAPTURE(size);
    const auto part = test::first_bytes(bytes, size);
    CHECK(zip_archive::open(part).error() == trace_error{errc::bad_value, 0});
  }
}

TEST_CASE("a damaged member of a zip archive is an error inside it, behind the members before") {
  auto bytes = zip_of({noise(1000), noise(200, 6), noise(300, 7)}, true);
  // The content of the second member lies in the file as it is.
  const auto second = noise(200, 6);
  const auto at = std::search(bytes.begin(), bytes.end(), second.begin(), second.end());
  REQUIRE(at != bytes.end());
  *at ^= std::byte{1};
  const auto archive = zip_archive::open(bytes);
  REQUIRE(archive);
  for (const std::size_t piece : {std::size_t{10}, std::size_t{1000}, std::size_t{3000}}) {
    const auto got = drain(archive->read_from(0), piece);
    CHECK(got.error().code == errc::checksum);
    CHECK(got.error().offset >= 1000);
    CHECK(got.error().offset <= 1200);
    CHECK(got.partial().size() >= 1000);
    CHECK(got.partial().size() <= 1200);
    CHECK(test::begins(got.partial(), noise(1000)));
  }
  CHECK((*drain(archive->read_from(2)) == noise(300, 7)));
}

TEST_CASE("a member of another size than the directory states is an error") {
  for (const bool stored : {false, true}) {
    const auto bytes = zip_of({noise(1000), noise(200, 6), noise(300, 7)}, stored);
    for (const std::int64_t more : {-1, 1, 50, -200}) {
      CAPTURE(stored, more);
      const auto other = with_other_size(bytes, 1, more);
      const auto archive = zip_archive::open(other);
      if (!archive) {
        CHECK(archive.error() == trace_error{errc::bad_value, 0});
        continue;
      }
      CHECK(archive->members()[1].size == static_cast<std::uint64_t>(200 + more));
      CHECK(archive->members()[2].offset == static_cast<std::uint64_t>(1200 + more));
      const auto got = drain(archive->read_from(0));
      REQUIRE_FALSE(got);
      CHECK((got.error().code == errc::bad_size || got.error().code == errc::bad_value ||
             got.error().code == errc::checksum));
      CHECK(got.error().offset >= 1000);
      CHECK(got.error().offset <= 1200);
      CHECK((*drain(archive->read_from(0, 1)) == noise(1000)));
    }
  }
}

TEST_CASE("a zip archive unfolds as much as its limit allows, all members together") {
  const std::vector<std::byte> zeros(10000);
  const auto bytes = zip_of({zeros, zeros, zeros});
  const auto code = [&](io::expansion_limit limit) { return zip_archive::open(bytes, limit).error().code; };
  CHECK(code({.bytes = 30000}) == errc::ok);
  CHECK(code({.bytes = 29999}) == errc::expansion);
  CHECK(code({.ratio = 1, .free_bytes = 30000}) == errc::ok);
  CHECK(code({.ratio = 1, .free_bytes = 29999}) == errc::expansion);
  const std::uint64_t packed = zip_archive::open(bytes)->members()[0].packed_size;
  CHECK(code({.ratio = 10000 / packed, .free_bytes = 0}) == errc::ok);
  CHECK(code({.ratio = 10000 / (packed + 1), .free_bytes = 0}) == errc::expansion);
}
