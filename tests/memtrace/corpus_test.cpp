// SPDX-License-Identifier: Apache-2.0
// Every memtrace of the corpus that BACKSIGHT_CORPUS names, where it is set.
#include <cstdio>
#include <filesystem>

#include <backsight/memtrace/check.hpp>
#include <backsight/memtrace/split.hpp>

#include "trace_builder.hpp"

#include <support/catch.hpp>
#include <support/skip.hpp>

using namespace backsight;
using namespace backsight::memtrace;

namespace {

template <class Range>
bool encodes_to_itself(const Range& range) {
  std::vector<std::byte> written(range.bytes().size());
  std::size_t at = 0;
  const trace_error error = for_each(range, [&](const auto& item) {
    visit(item, [&](const auto& typed) {
      encode<order::little>(typed, written.data() + at);
      at += typed.bytes().size();
    });
  });
  return !error && at == written.size() && std::equal(written.begin(), written.end(), range.bytes().begin());
}

}  // namespace

TEST_CASE("every memtrace of the corpus encodes to itself, splits and merges, and has nothing but stragglers to find",
          "[corpus]") {
  const std::string root = test::corpus_path();
  if (root.empty()) return test::skip("BACKSIGHT_CORPUS is not set");
  std::size_t raws = 0, finals = 0, windows = 0, stragglers = 0, in_parts = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root + "/memtrace")) {
    const std::string name = entry.path().filename().string(), folder = entry.path().parent_path().filename().string();
    if (!entry.is_regular_file() || folder == "expected" || folder == "big") continue;
    if (name.find("schedule") != std::string::npos ||
        (name.rfind("drmemtrace.", 0) != 0 && name.rfind("mock_", 0) != 0))
      continue;
    CAPTURE(entry.path().string());
    const auto file = test::unpack(test::read_file(entry.path().string()), 1 << 16);
    REQUIRE(file);
    if (const auto head = read_raw_header(*file)) {
      CHECK(encodes_to_itself(raw_range(*file, head->context())));
      ++raws;
      continue;
    }
    const auto trace = final_trace::open(*file);
    REQUIRE(trace);
    ++finals;
    CHECK(encodes_to_itself(trace->records()));
    // Kernel templates have neither windows nor the thread exits of a recording.
    if (name.rfind("mock_", 0) == 0) continue;
    trace_checker checker(*trace);
    checker.for_each_finding([&](const check_result& one) {
      CHECK(message(one.what) == message(finding::straggler));
      ++stragglers;
    });
    if ((trace->header().file_type & file_type::core_sharded) != 0 || trace->header().version == 1) continue;
    const auto merge_parts = [&](byte_view bytes, bool check) {
      window_merger merger;
      CHECK_FALSE(split_windows(bytes, [&](const window&, byte_view part) {
        CHECK_FALSE(merger.add(part));
        if (!check) return;
        ++windows;
        const auto alone = final_trace::open(part);
        REQUIRE(alone);
        trace_checker(*alone).for_each_finding([&](const check_result& one) {
          CHECK(message(one.what) == message(finding::straggler));
          ++in_parts;
        });
      }));
      return merger.finish();
    };
    const auto merged = merge_parts(*file, true);
    // Chunks are left out, so that a chunked file becomes the plain one, and a plain one itself.
    CHECK(merge_parts(merged, false) == merged);
    if (name.size() > 6 && name.compare(name.size() - 6, 6, ".trace") == 0) CHECK(merged == *file);
  }
  std::printf(
      "corpus: %zu raw and %zu final memtraces, %zu windows split off, %zu stragglers in whole files and %zu in "
      "parts\n",
      raws, finals, windows, stragglers, in_parts);
  CHECK(raws > 0);
  CHECK(finals > 0);
}
