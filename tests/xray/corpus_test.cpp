// SPDX-License-Identifier: Apache-2.0
// Every sample log of tests/data/xray, and of the corpus that BACKSIGHT_CORPUS names.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <backsight/core/hex_dump.hpp>
#include <backsight/xray/index.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>
#include <support/skip.hpp>

#include "compare_with_oracle.hpp"

using namespace backsight;
using namespace backsight::xray;

namespace {

std::vector<std::string> logs_in(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".xray") found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// The sample logs of the repository.
std::vector<std::string> sample_logs() {
  auto found = logs_in(test::data_path("xray"));
  REQUIRE(found.size() > 80);
  return found;
}

/// Calls `f(any_record)` for every record that can be read, of either type of log.
template <order O, class F>
void for_each_record(const xray::log& opened, F f) {
  if (opened.type() == log_type::basic) {
    for_each_salvaging(records_of_basic<O, grammar_check::ignored>(opened), f, [](const fault&) {});
    return;
  }
  for (const block& where : fdr_blocks<O>(opened)) {
    for_each(where.records<O, grammar_check::ignored>(opened.version()), f);
  }
}

/// Written again in its own byte order and there and back in the other one it has the same bytes.
template <order O, schema S>
bool survives_encoding(const record<S, O>& typed) {
  constexpr order other = O == order::little ? order::big : order::little;
  std::vector<std::byte> again(typed.bytes().size()), swapped(again.size()), back(again.size());
  encode<O>(typed, again.data());
  encode<other>(typed, swapped.data());
  if constexpr (has_payload<S>) encode<O>(record<S, other>(swapped.data(), typed.payload().size()), back.data());
  else encode<O>(record<S, other>(swapped.data()), back.data());
  return std::ranges::equal(typed.bytes(), again) && std::ranges::equal(typed.bytes(), back);
}

bool contains(const std::string& path, const char* part) { return path.find(part) != std::string::npos; }

void records_survive_encoding(const std::vector<std::string>& logs) {
  for (const auto& path : logs) {
    const auto bytes = test::read_file(path);
    const auto opened = xray::open(bytes);
    if (!opened) continue;
    std::size_t records = 0, different = 0;
    with_order(opened->byte_order(), [&](auto o) {
      for_each_record<o()>(*opened, [&](const auto& item) {
        visit(item, [&](const auto& typed) {
          ++records;
          if (!survives_encoding(typed)) ++different;
        });
      });
    });
    INFO(path);
    CHECK(different == 0);
    if (!contains(path, "bad-") && !contains(path, "empty")) CHECK(records > 0);
  }
}

void decoders_agree(const std::vector<std::string>& logs) {
  for (const auto& path : logs) {
    INFO(path);
    CHECK(test::difference(test::read_file(path)) == "");
  }
}

void ranges_agree(const std::vector<std::string>& logs) {
  for (const auto& path : logs) {
    const auto bytes = test::read_file(path);
    const auto opened = xray::open(bytes);
    if (!opened || opened->type() != log_type::fdr) continue;
    std::size_t different = 0;
    with_order(opened->byte_order(), [&](auto o) {
      for (const block& where : fdr_blocks<o()>(*opened)) {
        std::vector<test::oracle_event> called;
        for_each_event<o()>(
            *opened, where, [&](const event& e) { called.push_back(test::in_words(e)); }, [](const fault&) {});
        std::size_t index = 0;
        const auto events = events_of<o()>(where, opened->version());
        auto it = events.begin();
        for (; it != events.end(); ++it, ++index) {
          if (index >= called.size() || !(test::in_words(*it) == called[index])) ++different;
        }
        // Behind a record in the wrong place only for_each_event goes on.
        if (it.error().code != errc::bad_transition && index != called.size()) ++different;
      }
    });
    INFO(path);
    CHECK(different == 0);
  }
}

void faults_are_where_they_belong(const std::vector<std::string>& logs) {
  for (const auto& path : logs) {
    INFO(path);
    const auto found = test::read_by_library(test::read_file(path));
    const bool empty = contains(path, "header-only");
    // What cuts end at a record's border cannot be noticed in basic mode; the recorder's own fault in typed events can.
    const bool broken = (contains(path, "bad-") && !empty) ||
                        (contains(path, "cut-") && !contains(path, "cut-basic-aligned")) || contains(path, "fdr-typed");
    CHECK(found.faults.empty() == !broken);
  }
}

void index_agrees(const std::vector<std::string>& logs) {
  for (const auto& path : logs) {
    const auto bytes = test::read_file(path);
    const auto opened = xray::open(bytes);
    if (!opened || opened->type() != log_type::fdr || contains(path, "nested")) continue;
    const auto index = index_blocks(*opened);
    std::size_t wrong = 0;
    with_order(opened->byte_order(), [&](auto o) {
      for (const auto& info : index.partial()) {
        for_each_event<o()>(
            *opened, info.where,
            [&](const event& e) {
              if (e.thread != info.thread_id || e.process != info.process_id || !info.complete) ++wrong;
            },
            [](const fault&) {});
      }
    });
    INFO(path);
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("every record of every sample decodes and encodes to the same bytes") {
  records_survive_encoding(sample_logs());
}

TEST_CASE("the library and the second decoder find the same in every sample") { decoders_agree(sample_logs()); }

TEST_CASE("the range of a block's events and for_each_event give the same") { ranges_agree(sample_logs()); }

TEST_CASE("good samples have no fault, broken ones have one") { faults_are_where_they_belong(sample_logs()); }

TEST_CASE("big-endian twins hold what the little-endian ones hold") {
  std::size_t twins = 0;
  for (const auto& path : logs_in(test::data_path("xray/syn"))) {
    const auto at = path.find("-be.xray");
    if (at == path.npos) continue;
    const auto big = test::read_by_library(test::read_file(path));
    const auto little = test::read_by_library(test::read_file(path.substr(0, at) + "-le.xray"));
    INFO(path);
    CHECK(big.events == little.events);
    CHECK(!big.events.empty());
    ++twins;
  }
  CHECK(twins == 8);
}

TEST_CASE("what lies behind EndOfBuffer in version 1 does not matter") {
  const auto clean = test::read_by_library(test::read_file(test::data_path("xray/syn/syn-fdr-v1-le.xray")));
  const auto dirty = test::read_by_library(test::read_file(test::data_path("xray/syn/syn-fdr-v1-dirty-tail-le.xray")));
  CHECK(clean.events == dirty.events);
  CHECK(clean.faults.empty());
  CHECK(dirty.faults.empty());
}

TEST_CASE("the index of blocks names the threads that the events have") { index_agrees(sample_logs()); }

TEST_CASE("the hex dump of every record covers each of its bytes once") {
  for (const auto& path : logs_in(test::data_path("xray/syn"))) {
    const auto bytes = test::read_file(path);
    const auto opened = xray::open(bytes);
    if (!opened) continue;
    std::size_t wrong = 0;
    with_order(opened->byte_order(), [&](auto o) {
      for_each_record<o()>(*opened, [&](const auto& item) {
        std::string text;
        hex_dump(std::back_inserter(text), item);
        // Lines begin with the offset; those of the same byte (bit-fields) repeat it, none goes back or beyond the
        // record.
        std::uint64_t last = item.offset();
        for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
          const std::uint64_t offset = std::stoull(text.substr(at, 8), nullptr, 16);
          if (offset < last || offset >= item.offset() + item.bytes().size()) ++wrong;
          last = offset;
        }
      });
    });
    INFO(path);
    CHECK(wrong == 0);
  }
}

TEST_CASE("corpus: what holds for the samples holds for every log", "[corpus]") {
  const std::string corpus = test::corpus_path();
  if (corpus.empty()) return test::skip("BACKSIGHT_CORPUS is not set");
  const auto logs = logs_in(corpus + "/xray");
  REQUIRE(logs.size() > 100);
  SECTION("every record of every sample decodes and encodes to the same bytes") { records_survive_encoding(logs); }
  SECTION("the library and the second decoder find the same in every sample") { decoders_agree(logs); }
  SECTION("the range of a block's events and for_each_event give the same") { ranges_agree(logs); }
  SECTION("good samples have no fault, broken ones have one") { faults_are_where_they_belong(logs); }
  SECTION("the index of blocks names the threads that the events have") { index_agrees(logs); }
}
