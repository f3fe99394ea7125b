// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <backsight/io/uftrace_directory.hpp>
#include <backsight/uftrace/merge.hpp>
#include <backsight/uftrace/time_index.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>
#include <support/skip.hpp>

using namespace backsight;
using namespace backsight::uftrace;

namespace {

/// A record as the linear scan sees it.
struct seen {
  std::uint64_t offset = 0, time = 0;
  record_type type = record_type::entry;
  std::uint64_t depth = 0;  ///< in front of an entry or exit
};

template <order O>
std::vector<seen> scan(const task_records<O>& records) {
  std::vector<seen> all;
  depth_repair repair;
  (void)for_each_salvaging(
      records,
      [&](const auto& item) {
        const record<function_record<O>, O> head(item.bytes().data());
        seen one{item.offset(), head[record_head::time], head[record_head::type], 0};
        if (one.type == record_type::lost) repair.forget();
        if (one.type == record_type::entry || one.type == record_type::exit) {
          (void)repair(one.type, head[record_head::depth], head[record_head::address]);
          one.depth = repair.height_before(one.type);
        }
        all.push_back(one);
      },
      [&](const fault&) { repair.forget(); });
  return all;
}

time_position find_linear(const std::vector<seen>& all, std::uint64_t time, std::uint64_t file_bytes) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].type == record_type::lost || all[i].time < time) continue;
    time_position found{all[i].offset, all[i].time, 0, true};
    for (std::size_t k = i; k < all.size(); ++k) {
      if (all[k].type != record_type::entry && all[k].type != record_type::exit) continue;
      found.depth = all[k].depth;
      break;
    }
    return found;
  }
  return {file_bytes, 0, 0, false};
}

/// The times worth asking for: around each record.
std::vector<std::uint64_t> times_of(const std::vector<seen>& all) {
  std::vector<std::uint64_t> times{0, 1, ~std::uint64_t{0}};
  const std::size_t stride = all.size() / 200 + 1;
  for (std::size_t i = 0; i < all.size(); i += stride) {
    for (const std::uint64_t t : {all[i].time - 1, all[i].time, all[i].time + 1}) times.push_back(t);
  }
  return times;
}

struct compared {
  std::size_t by_bisection = 0, by_index = 0;
};

template <order O>
void compare(const recording& from, compared& count) {
  resolver names(from);
  for (std::uint32_t i = 0; i < from.data.size(); ++i) {
    CAPTURE(from.data[i].file);
    const task_records<O> records(from.data[i].bytes, names.sizes_for(i));
    const auto all = scan<O>(records);
    const bool whole = !records.validate();
    const bool ordered = std::is_sorted(all.begin(), all.end(), [](const seen& a, const seen& b) {
      return a.type != record_type::lost && b.type != record_type::lost && a.time < b.time;
    });
    std::vector<time_index> indices;
    for (const std::size_t step : {1U, 7U, 256U}) indices.push_back(time_index::build<O>(records, step));
    const auto saved = indices[1].save();
    const auto opened = time_index::open(saved, from.data[i].bytes.size());
    REQUIRE(opened);
    CHECK(opened->entries() == indices[1].entries());
    indices.push_back(*opened);
    for (const std::uint64_t time : times_of(all)) {
      const time_position expected = find_linear(all, time, from.data[i].bytes.size());
      for (const time_index& index : indices) {
        if (index.find(records, time) == expected) continue;
        const auto got = index.find(records, time);
        CAPTURE(time, index.entries().size(), got.offset, got.depth, expected.offset, expected.depth);
        FAIL("the index differs from a linear scan");
      }
      ++count.by_index;
      if (!has_plain_records(from.info) || !whole || !ordered) continue;
      const auto got = find_by_bisection<O>(from.data[i].bytes, time);
      const bool has_events_with_data = records.bytes().size() != all.size() * 16;
      if (!got && has_events_with_data) continue;
      REQUIRE(got);
      time_position wanted = expected;
      if (from.info.max_stack > 1024) wanted.depth %= 1024;
      if (wanted.depth == 0 && got->depth == 1024) wanted.depth = 1024;  // an exit at level 1023
      CHECK(*got == wanted);
      ++count.by_bisection;
    }
  }
}

/// The directories below a folder.
std::vector<std::string> directories_in(const std::filesystem::path& folder) {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (std::filesystem::exists(entry.path() / "uftrace.data")) all.push_back((entry.path() / "uftrace.data").string());
  }
  return all;
}

void times_are_found(const std::vector<std::string>& directories) {
  compared count;
  for (const std::string& path : directories) {
    CAPTURE(path);
    const auto directory = io::uftrace_directory::open(path);
    REQUIRE(directory);
    const recording& from = directory->recording();
    with_order(from.info.byte_order, [&](auto o) { compare<o()>(from, count); });
  }
  CHECK(count.by_index > 2000);
  CHECK(count.by_bisection > 1000);
}

void parts_equal_the_whole(const std::vector<std::string>& directories) {
  for (const std::string& path : directories) {
    CAPTURE(path);
    const auto directory = io::uftrace_directory::open(path);
    REQUIRE(directory);
    const recording& from = directory->recording();
    if (from.info.has(feature::estimate_return)) continue;  // its times change while it is merged
    resolver names(from);
    std::vector<merged_record> all;
    merge whole(names, {.scheduler = false, .salvage = true});
    for (merged_record r; whole.next(r);) all.push_back(r);
    if (all.size() < 8) continue;
    std::vector<time_index> indices;
    for (std::uint32_t i = 0; i < from.data.size(); ++i) {
      indices.push_back(with_order(from.info.byte_order, [&](auto o) {
        return time_index::build<o()>(task_records<o()>(from.data[i].bytes, names.sizes_for(i)), 16);
      }));
    }
    for (const auto& [first, last] :
         {std::pair{all.size() / 4, all.size() / 2}, std::pair{all.size() / 2, all.size() - 1},
          std::pair<std::size_t, std::size_t>{0, all.size() / 3}}) {
      const std::uint64_t begin = all[first].time, end = all[last].time;
      for (const auto* kept : {static_cast<const std::vector<time_index>*>(nullptr), &std::as_const(indices)}) {
        merge part(names, {.scheduler = false, .salvage = true, .from = begin, .until = end, .indices = kept});
        merged_record r;
        std::size_t at = 0;
        while (part.next(r)) {
          if (r.type == record_type::lost && r.source == record_source::kernel_file) continue;  // Those have no time.
          while (at < all.size() && (all[at].time < begin || all[at].time > end)) ++at;
          REQUIRE(at < all.size());
          CHECK((all[at].offset == r.offset && all[at].data_index == r.data_index && all[at].time == r.time));
          ++at;
        }
        while (at < all.size() && (all[at].time < begin || all[at].time > end)) ++at;
        CHECK(at == all.size());
      }
    }
  }
}

}  // namespace

TEST_CASE("a time is found where a linear scan finds it, in every directory") { times_are_found(directories_in(test::data_path("uftrace"))); }

TEST_CASE("a merge between two times gives what a whole merge gives between them") { parts_equal_the_whole(directories_in(test::data_path("uftrace"))); }

TEST_CASE("corpus: times are found and parts equal the whole in every directory", "[corpus]") {
  const std::string corpus = test::corpus_path();
  if (corpus.empty()) return test::skip("BACKSIGHT_CORPUS is not set");
  const auto directories = directories_in(std::filesystem::path(corpus) / "uftrace");
  times_are_found(directories);
  parts_equal_the_whole(directories);
}

TEST_CASE("bisection says where a record has a payload") {
  const auto directory = io::uftrace_directory::open(test::data_path("uftrace/args-spec/uftrace.data"));
  REQUIRE(directory);
  CHECK_FALSE(has_plain_records(directory->recording().info));
  const auto found = find_by_bisection<order::little>(directory->recording().data.front().bytes, 1);
  REQUIRE_FALSE(found);
  CHECK(found.error().code == errc::bad_value);
}

TEST_CASE("a saved index is checked before it is used") {
  const auto directory = io::uftrace_directory::open(test::data_path("uftrace/single-pg/uftrace.data"));
  REQUIRE(directory);
  resolver names(directory->recording());
  const byte_view file = directory->recording().data.front().bytes;
  const auto good = time_index::build<order::little>(task_records<order::little>(file, names.sizes_for(0)), 8).save();
  REQUIRE(time_index::open(good, file.size()));
  CHECK(time_index::open(good, file.size() + 16).error() == trace_error{errc::bad_size, 24});
  for (std::size_t size = 0; size < good.size(); ++size)
    CHECK_FALSE(time_index::open(byte_view(good).first(size), file.size()));
  const auto with = [&](std::size_t at, unsigned value) {
    auto bytes = good;
    bytes[at] ^= static_cast<std::byte>(value);
    return time_index::open(bytes, file.size()).error().code;
  };
  CHECK(with(0, 1) == errc::bad_magic);
  CHECK(with(8, 2) == errc::unsupported_version);
  CHECK(with(12, 1) == errc::bad_size);
  for (std::size_t at = 32; at < good.size(); ++at) CHECK(with(at, 0x10) == errc::checksum);
}
