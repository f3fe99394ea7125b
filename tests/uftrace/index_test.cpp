// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <backsight/io/uftrace_directory.hpp>
#include <backsight/uftrace/index.hpp>
#include <backsight/uftrace/merged_records.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>
#include <support/skip.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;

namespace {

/// A record as the linear scan sees it.
struct scanned_record {
  std::uint64_t offset = 0, time = 0;
  record_type type = record_type::entry;
  std::uint64_t depth = 0;  ///< in front of an entry or exit
};

template <order O>
std::vector<scanned_record> scan(const task_records<O>& records) {
  std::vector<scanned_record> all;
  depth_repair repair;
  (void)for_each_salvaging(
      records,
      [&](const auto& item) {
        const record<function_record<O>, O> head(item.bytes().data());
        scanned_record one{item.offset(), head[record_head::time], head[record_head::type], 0};
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

time_position find_linear(const std::vector<scanned_record>& all, std::uint64_t time, std::uint64_t file_bytes) {
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
std::vector<std::uint64_t> times_of(const std::vector<scanned_record>& all) {
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
    const bool ordered = std::is_sorted(all.begin(), all.end(), [](const scanned_record& a, const scanned_record& b) {
      return a.type != record_type::lost && b.type != record_type::lost && a.time < b.time;
    });
    std::vector<time_index> indices;
    for (const std::size_t step : {1U, 7U, 256U}) indices.push_back(time_index::build<O>(records, step));
    const auto saved = indices[1].save();
    const auto opened = time_index::open(saved, fingerprint_of_ends(from.data[i].bytes));
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
    merged_records whole(names, {.scheduler = false, .salvage = true});
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
        merged_records part(names, {.scheduler = false, .salvage = true, .from = begin, .until = end, .indices = kept});
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

TEST_CASE("a time is found where a linear scan finds it, in every directory") {
  times_are_found(directories_in(test::data_path("uftrace")));
}

TEST_CASE("a merge between two times gives what a whole merge gives between them") {
  parts_equal_the_whole(directories_in(test::data_path("uftrace")));
}

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
  const fingerprint about = fingerprint_of_ends(file);
  REQUIRE(time_index::open(good, about));
  CHECK(time_index::open(good, {about.bytes + 16, about.content}).error() == trace_error{errc::bad_size, 24});
  // A file of the same size that holds something else.
  CHECK(time_index::open(good, {about.bytes, about.content + 1}).error() == trace_error{errc::bad_value, 32});
  for (std::size_t size = 0; size < good.size(); ++size)
    CHECK_FALSE(time_index::open(byte_view(good).first(size), about));
  const auto with = [&](std::size_t at, unsigned value) {
    auto bytes = good;
    bytes[at] ^= static_cast<std::byte>(value);
    return time_index::open(bytes, about).error().code;
  };
  CHECK(with(0, 1) == errc::bad_magic);
  CHECK(with(8, 2) == errc::unsupported_version);
  CHECK(with(12, 1) == errc::bad_size);
  CHECK(with(32, 1) == errc::bad_value);
  for (std::size_t at = 40; at < good.size(); ++at) CHECK(with(at, 0x10) == errc::checksum);
}

namespace {

using records_of = test::uftrace_records;

time_position by_bisection(const records_of& data, std::uint64_t time) {
  const auto found = find_by_bisection<order::little>(data.view(), time);
  REQUIRE(found);
  return *found;
}
trace_error bisection_error(const records_of& data, std::uint64_t time) {
  return find_by_bisection<order::little>(data.view(), time).error();
}
/// The fingerprint of a task file of that size, if all its bytes were zero.
fingerprint zeros(std::size_t size) { return fingerprint_of_ends(std::vector<std::byte>(size)); }
/// An index of these entries, saved with the right checksum, for a file of that size.
std::vector<std::byte> made_index(std::vector<time_index::entry> entries, std::uint64_t file_bytes) {
  entries.push_back({file_bytes, 900, 0});
  test::byte_builder bytes;
  for (std::size_t i = 0; i < saved_index_head::size / 8; ++i) bytes.u64(0);
  for (const auto& e : entries) bytes.u64(e.offset).u64(e.time_before).u64(e.depth);
  seal_saved_index<time_index_entry>(bytes.vector(), time_index_kind, entries.size(), zeros(file_bytes));
  return bytes.vector();
}

}  // namespace

TEST_CASE("bisection finds the first of equal times, and what is open in front of it") {
  records_of data;
  data.entry(100, 0, 0x400).entry(200, 1, 0x400).entry(200, 2, 0x400).exit(200, 2, 0x400).exit(300, 1, 0x400);
  CHECK(by_bisection(data, 0) == time_position{0, 100, 0, true});
  CHECK(by_bisection(data, 100) == time_position{0, 100, 0, true});
  CHECK(by_bisection(data, 101) == time_position{16, 200, 1, true});
  CHECK(by_bisection(data, 200) == time_position{16, 200, 1, true});
  CHECK(by_bisection(data, 201) == time_position{64, 300, 2, true});
  CHECK(by_bisection(data, 300) == time_position{64, 300, 2, true});
  CHECK(by_bisection(data, 301) == time_position{80, 0, 0, false});
  CHECK(by_bisection(records_of(), 0) == time_position{0, 0, 0, false});
}

TEST_CASE("bisection passes lost records by, wherever they are") {
  records_of data;
  data.lost(1).entry(100, 0, 0x400).lost(2).lost(3).event(200, 1000000).exit(300, 0, 0x400).lost(4);
  CHECK(by_bisection(data, 0) == time_position{16, 100, 0, true});
  CHECK(by_bisection(data, 101) == time_position{64, 200, 1, true});  // the next function tells the depth
  CHECK(by_bisection(data, 201) == time_position{80, 300, 1, true});
  CHECK(by_bisection(data, 301) == time_position{112, 0, 0, false});
  records_of lost;
  lost.lost(1).lost(2);
  CHECK(by_bisection(lost, 0) == time_position{32, 0, 0, false});
}

TEST_CASE("bisection says where records are not plain or not in order") {
  records_of cut;
  cut.entry(100, 0, 0x400).fill(5, 0);
  CHECK(bisection_error(cut, 1) == trace_error{errc::truncated, 21});
  records_of payload;
  payload.entry(100, 0, 0x400)
      .entry(110, 1, 0x400, test::bytes<1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16>)
      .exit(120, 1, 0x400);
  CHECK(bisection_error(payload, 100) == trace_error{errc::bad_value, 32});
  records_of back;
  back.entry(100, 0, 0x400).entry(99, 1, 0x400).exit(300, 1, 0x400);
  CHECK(bisection_error(back, 100) == trace_error{errc::time_reversed, 16});
  records_of ahead;
  ahead.entry(100, 0, 0x400).entry(301, 1, 0x400).exit(300, 1, 0x400);
  CHECK(bisection_error(ahead, 100) == trace_error{errc::time_reversed, 16});
  records_of equal;
  equal.entry(100, 0, 0x400).entry(100, 1, 0x400).exit(100, 1, 0x400);
  CHECK(by_bisection(equal, 100) == time_position{0, 100, 0, true});
}

TEST_CASE("entries of a saved index grow and lie in the file") {
  const auto error_of = [](const std::vector<time_index::entry>& entries) {
    return time_index::open(made_index(entries, 160), zeros(160)).error();
  };
  CHECK(error_of({}) == trace_error{});
  CHECK(error_of({{0, 0, 0}, {144, 500, 3}}) == trace_error{});
  CHECK(error_of({{0, 0, 0}, {159, 500, 3}}) == trace_error{});
  CHECK(error_of({{0, 0, 0}, {160, 500, 3}}) == trace_error{errc::out_of_range, 72});
  CHECK(error_of({{161, 0, 0}}) == trace_error{errc::out_of_range, 48});
  CHECK(error_of({{0, 0, 0}, {16, 500, 3}, {16, 600, 3}}) == trace_error{errc::out_of_range, 96});
  CHECK(error_of({{0, 0, 0}, {16, 500, 3}, {32, 500, 3}}) == trace_error{});
  CHECK(error_of({{0, 0, 0}, {16, 500, 3}, {32, 499, 3}}) == trace_error{errc::out_of_range, 96});
  // As many as the header says.
  auto few = made_index({{0, 0, 0}}, 160);
  few.resize(few.size() - 1);
  CHECK(time_index::open(few, zeros(160)).error() == trace_error{errc::truncated, 95});
  auto many = made_index({{0, 0, 0}}, 160);
  many.resize(many.size() + 24);
  CHECK(time_index::open(many, zeros(160)).error() == trace_error{errc::bad_size, 16});
  // None for the end of the file.
  auto none = made_index({}, 160);
  none.resize(saved_index_head::size);
  seal_saved_index<time_index_entry>(none, time_index_kind, 0, zeros(160));
  CHECK(time_index::open(none, zeros(160)).error() == trace_error{errc::bad_size, 16});
  CHECK(time_index::open(byte_view(few).first(47), zeros(160)).error() == trace_error{errc::truncated, 47});
  CHECK(time_index::open(made_index({}, 160), zeros(161)).error() == trace_error{errc::bad_size, 24});
}

TEST_CASE("an index of another file is not used for a part of this one") {
  test::uftrace_builder directory;
  directory.with(feature::event);
  records_of data;
  data.entry(100, 0, 0x400).entry(200, 1, 0x400).exit(300, 1, 0x400).exit(400, 0, 0x400);
  directory.data(7, data);
  const recording from = directory.open();
  resolver names(from);
  const task_records<order::little> whole(from.data[0].bytes, names.sizes_for(0));
  const time_index good = time_index::build<order::little>(whole, 1);
  const auto part = [&](const time_index* kept, std::uint64_t begin, std::uint64_t end) {
    const file_part p = part_between(whole, from.info, kept, begin, end);
    return std::pair(p.begin, p.end);
  };
  using range = std::pair<std::size_t, std::size_t>;
  CHECK(part(&good, 200, 300) == range{16, 48});
  CHECK(part(&good, 201, 299) == range{32, 32});
  CHECK(part(&good, 0, ~std::uint64_t{0}) == range{0, 64});
  CHECK(part(&good, 401, 500) == range{64, 64});
  CHECK(part(&good, 300, 100) == range{16, 16});
  CHECK(part(nullptr, 200, 300) == range{0, 64});
  const time_index other = time_index::build<order::little>(
      task_records<order::little>(from.data[0].bytes.first(48), names.sizes_for(0)), 1);
  CHECK(part(&other, 200, 300) == range{0, 64});
  info plain = from.info;
  plain.feat_mask = 0;
  const file_part found = part_between(whole, plain, nullptr, 200, 300);
  CHECK((found.begin == 16 && found.end == 48));
}
