// SPDX-License-Identifier: Apache-2.0
// The canonical dump of every sample, against hashes of an independent decoder.

#include <filesystem>

#include <backsight/cfi/arch/generic.hpp>
#include <backsight/cfi/row_text.hpp>

#include <support/catch.hpp>
#include <support/sha256.hpp>
#include <support/skip.hpp>

#include "fixtures.hpp"

using namespace backsight;

namespace {

std::string dump(const test::loaded_section& s, bool merged, std::size_t& errors) {
  std::string text;
  with_order(s.image.byte_order(), [&](auto o) {
    const cfi::section<o()> section(s.section.bytes, s.section.info);
    cfi::with_arch(s.image.machine(), [&](auto arch) {
      cfi::print_rows<decltype(arch)>(
          section, merged, [&](std::string_view t) { text += t; }, [&](const trace_error&) { ++errors; });
    });
  });
  return text;
}

/// The value of a text member of a line of JSON without escapes.
std::string member_of_line(const std::string& line, const std::string& name) {
  const std::string key = "\"" + name + "\": \"";
  const auto at = line.find(key);
  return at == std::string::npos ? "" : line.substr(at + key.size(), line.find('"', at + key.size()) - at - key.size());
}

}  // namespace

TEST_CASE("SHA-256 of a known text") {
  CHECK(test::sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("all rows of well-formed samples equal the expected ones, full and merged") {
  std::size_t compared = 0;
  for (const test::expectation& e : test::expectations()) {
    if (e.kind != "ok") continue;
    INFO(e.file << ' ' << e.section);
    std::size_t errors = 0;
    const test::loaded_section s(test::data_path("cfi/" + e.file), e.section);
    REQUIRE(s.found);
    CHECK(test::sha256(dump(s, false, errors)) == e.full);
    CHECK(test::sha256(dump(s, true, errors)) == e.merged);
    CHECK(errors == 0);
    ++compared;
  }
  CHECK(compared > 55);
}

TEST_CASE("malformed samples keep their other FDEs and report the bad ones") {
  std::size_t seen = 0, equal = 0;
  for (const test::expectation& e : test::expectations()) {
    if (e.kind != "bad") continue;
    INFO(e.file);
    std::size_t errors = 0;
    const test::loaded_section s(test::data_path("cfi/" + e.file), e.section);
    if (!s.found) continue;
    const std::string text = dump(s, false, errors);
    ++seen;
    equal += test::sha256(text) == e.full ? 1U : 0U;
    // Problems of .eh_frame_hdr, of factors that are zero and of ranges do not concern the rows.
    const bool of_rows = e.file.find("bad-hdr") == std::string::npos && e.file.find("factors") == std::string::npos &&
                         e.file.find("range") == std::string::npos && e.file.find("unterminated") == std::string::npos;
    if (of_rows) CHECK(errors > 0);
  }
  CHECK(seen > 15);
  // Where the independent decoder reads on and this one refuses: versions, augmentations and numbers nobody defines.
  CHECK(equal + 6 >= seen);
}

TEST_CASE("corpus: all rows of the fixtures equal the expected ones", "[corpus]") {
  const std::string corpus = test::corpus_path();
  if (corpus.empty()) return test::skip("BACKSIGHT_CORPUS is not set");
  std::ifstream lines(corpus + "/cfi/fixtures.jsonl");
  std::size_t compared = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string file = member_of_line(line, "file");
    if (member_of_line(line, "section").empty() || file.find("bad-") != std::string::npos) continue;
    INFO(file);
    std::size_t errors = 0;
    const test::loaded_section s(corpus + "/cfi/" + file, member_of_line(line, "section"));
    REQUIRE(s.found);
    CHECK(test::sha256(dump(s, false, errors)) == member_of_line(line, "sha256_full"));
    CHECK(test::sha256(dump(s, true, errors)) == member_of_line(line, "sha256_merged"));
    ++compared;
  }
  CHECK(compared > 70);
}
