// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <backsight/core/offset_of.hpp>
#include <backsight/core/record_span.hpp>
#include <backsight/core/saved_index.hpp>
#include <backsight/uftrace/depth_repair.hpp>
#include <backsight/uftrace/files/info.hpp>
#include <backsight/uftrace/records.hpp>

// From a time to the place in a task file.
namespace backsight::uftrace {

/// A place in a task file: the first record at or after some time, lost records left out, since they have no time.
struct time_position {
  std::uint64_t offset = 0;  ///< of the record; the size of the file when there is none
  std::uint64_t time = 0;    ///< of the record, in nanoseconds; 0 when there is none
  std::uint64_t depth = 0;   ///< functions that are open in front of it, as the next entry or exit tells; 0 at the end
  bool found = false;

  [[nodiscard]] friend constexpr bool operator==(const time_position&, const time_position&) = default;
};

/// Whether the header of a recording lets expect records without payload, so that every 16 bytes of a task file begin
/// one: then find_by_bisection() may serve, else a time_index. Watched variables and read triggers are not told by the
/// header.
[[nodiscard]] inline bool has_plain_records(const info& about) noexcept {
  return !about.has(feature::argument) && !about.has(feature::retval) && !about.has(feature::event);
}

/// Finds the first record at or after `time` among records without payload, by bisection: reads about log2(records) of
/// them and keeps nothing. The depth is that of the records: modulo 1024, which is the true one unless the recorder ran
/// with --max-stack beyond 1024. Errors, wherever a place is met that contradicts plain records in the order of time:
/// truncated when the size is no multiple of 16, bad_value at damage or a payload, time_reversed. Damage elsewhere is
/// not seen.
template <order O>
[[nodiscard]] constexpr result<time_position> find_by_bisection(byte_view bytes, std::uint64_t time) noexcept {
  constexpr std::size_t size = size_of<function_record<O>>;
  constexpr auto plain = common_when<function_record<O>, O, std::uint64_t>(is(record_head::magic, record_magic),
                                                                           is(record_head::more, false));
  if (bytes.size() % size != 0) return {errc::truncated, bytes.size()};
  const auto at = [&](std::size_t i) { return record<function_record<O>, O>(bytes.data() + i * size); };
  const auto time_of = [&](std::size_t i) { return at(i)[record_head::time]; };
  const auto type_of = [&](std::size_t i) { return at(i)[record_head::type]; };
  const auto is_plain = [&](std::size_t i) { return holds<O>(plain, bytes.data() + i * size); };
  const std::size_t count = bytes.size() / size;
  // Records between `low` and `high` have times between the two below. What lies in a payload hardly looks like that.
  std::size_t low = 0, high = count;
  std::uint64_t earliest = 0, latest = ~std::uint64_t{0};
  if (count != 0 && is_plain(0) && type_of(0) != record_type::lost) earliest = time_of(0);
  if (count != 0 && is_plain(count - 1) && type_of(count - 1) != record_type::lost) latest = time_of(count - 1);
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    std::size_t timed = middle;
    while (timed < high && is_plain(timed) && type_of(timed) == record_type::lost) ++timed;
    if (timed == high) {
      high = middle;
      continue;
    }
    if (!is_plain(timed)) return {errc::bad_value, timed * size};
    const std::uint64_t here = time_of(timed);
    if (here < earliest || here > latest) return {errc::time_reversed, timed * size};
    (here < time ? earliest : latest) = here;
    if (here < time) low = timed + 1;
    else high = middle;
  }
  while (low < count && is_plain(low) && type_of(low) == record_type::lost) ++low;
  if (low == count) return time_position{bytes.size(), 0, 0, false};
  time_position found{low * size, time_of(low), 0, true};
  for (; low < count; ++low) {
    if (!is_plain(low)) return {errc::bad_value, low * size};
    const record_type type = type_of(low);
    if (type != record_type::entry && type != record_type::exit) continue;
    found.depth = at(low)[record_head::depth] + (type == record_type::exit ? 1U : 0U);
    break;
  }
  return found;
}

/// A saved time index, version 2: the head and the entries, of which the last stands for the end of the file. The
/// fingerprint is that of the task file's ends.
inline constexpr saved_index_kind time_index_kind{"BSUFTIME", 2};

/// A record that is kept: reading may begin there.
struct time_index_entry {
  static constexpr const char* name = "time_index_entry";
  static constexpr std::size_t size = 24;
  static constexpr field<"offset", std::uint64_t> offset{};
  static constexpr field<"time_before", std::uint64_t> time_before{};  ///< the latest time in front of it
  static constexpr field<"depth", std::uint64_t> depth{};              ///< functions that are open in front of it
  static constexpr layout fields{offset, time_before, depth};
};
static_assert(schema<time_index_entry>);

/// Every n-th record of a task file with its time and depth. Finds the first record at or after a time in any task
/// file, also in one with payloads, damage or times that go back, by a binary search and a walk over at most n records.
/// 24 bytes for each record kept. Made by one pass; it can be saved and opened again.
class time_index {
 public:
  struct entry {
    std::uint64_t offset = 0, time_before = 0, depth = 0;
    [[nodiscard]] friend constexpr bool operator==(const entry&, const entry&) = default;
  };

  /// Reads all records of a task file, damage passed over, and keeps every `step`-th. `step` is not 0.
  template <order O>
  [[nodiscard]] static time_index build(const task_records<O>& records, std::size_t step = 256) {
    time_index made;
    made.source_ = fingerprint_of_ends(records.bytes());
    depth_repair repair;
    std::uint64_t latest = 0;
    std::size_t until_next = 0;
    (void)for_each_salvaging(
        records,
        [&](const auto& item) {
          const record<function_record<O>, O> head(item.bytes().data());
          const record_type type = head[record_head::type];
          const bool is_function = type == record_type::entry || type == record_type::exit;
          // A function tells its depth; other records are kept only where there is nothing to go on from.
          if (until_next == 0 && (is_function || !repair.is_known())) {
            depth_repair ahead = repair;
            if (is_function) (void)ahead(type, head[record_head::depth], head[record_head::address]);
            made.entries_.push_back({item.offset(), latest, is_function ? ahead.height_before(type) : 0});
            until_next = step;
          }
          if (until_next != 0) --until_next;
          if (type != record_type::lost) latest = std::max(latest, head[record_head::time]);
          follow<O>(repair, head);
        },
        [&](const fault&) {
          repair.forget();
          until_next = 0;
        });
    made.last_time_ = latest;
    return made;
  }

  /// The first record at or after `time`, with the true depth. `records` is what the index was built from.
  template <order O>
  [[nodiscard]] time_position find(const task_records<O>& records, std::uint64_t time) const {
    if (time > last_time_ || entries_.empty()) return {file_bytes(), 0, 0, false};
    const auto behind =
        std::partition_point(entries_.begin(), entries_.end(), [&](const entry& e) { return e.time_before < time; });
    time_position found{file_bytes(), 0, 0, false};
    // One stretch, from a kept record to the next one, has the record; only for time 0 it may be a later one than the
    // first.
    for (auto start = behind == entries_.begin() ? behind : behind - 1; !found.found && start != entries_.end();
         ++start) {
      const std::uint64_t end = start + 1 == entries_.end() ? file_bytes() : (start + 1)->offset;
      depth_repair repair(start->depth);
      auto at = records.at(static_cast<std::size_t>(start->offset), records.context());
      for (; at != std::default_sentinel && (found.found || (*at).offset() < end); ++at) {
        const record<function_record<O>, O> head((*at).bytes().data());
        const record_type type = head[record_head::type];
        if (!found.found && type != record_type::lost && head[record_head::time] >= time) {
          found = {(*at).offset(), head[record_head::time], 0, true};
        }
        follow<O>(repair, head);
        if (found.found && (type == record_type::entry || type == record_type::exit)) {
          found.depth = repair.height_before(type);
          break;
        }
      }
    }
    return found;
  }

  [[nodiscard]] const std::vector<entry>& entries() const noexcept { return entries_; }
  /// The size of the task file that it is about.
  [[nodiscard]] std::uint64_t file_bytes() const noexcept { return source_.bytes; }

  /// The bytes to keep in a file.
  [[nodiscard]] std::vector<std::byte> save() const {
    std::vector<std::byte> bytes(saved_index_head::size);
    bytes.reserve(bytes.size() + (entries_.size() + 1) * time_index_entry::size);
    const auto put = [&](const entry& e) {
      owned_record<time_index_entry, order::little> item;
      item.set(time_index_entry::offset, e.offset)
          .set(time_index_entry::time_before, e.time_before)
          .set(time_index_entry::depth, e.depth);
      bytes.insert(bytes.end(), item.bytes().begin(), item.bytes().end());
    };
    for (const entry& e : entries_) put(e);
    put({file_bytes(), last_time_, 0});
    seal_saved_index<time_index_entry>(bytes, time_index_kind, entries_.size() + 1, source_);
    return bytes;
  }

  /// A saved index of the task file that has this fingerprint_of_ends(). Errors: bad_magic, unsupported_version,
  /// truncated, bad_size and bad_value (also when it is about another file), checksum, out_of_range (an entry points
  /// behind the one after it or outside the file).
  [[nodiscard]] static result<time_index> open(byte_view bytes, const fingerprint& file) {
    const auto saved = open_saved_index<time_index_entry>(bytes, time_index_kind);
    if (!saved) return saved.error();
    // The last entry is that of the end.
    if (saved->entries.empty() || !saved->rest.empty())
      return {errc::bad_size, offset_of<saved_index_head>(saved_index_head::count)};
    if (const trace_error other = saved->is_about(file)) return other;
    if (const trace_error changed = saved->verify()) return changed;
    time_index opened;
    opened.source_ = file;
    for (std::size_t i = 0; i < saved->entries.size(); ++i) {
      const auto item = saved->entries[i];
      const entry e{item[time_index_entry::offset], item[time_index_entry::time_before], item[time_index_entry::depth]};
      const bool is_last = i + 1 == saved->entries.size();
      const bool follows = opened.entries_.empty() || (opened.entries_.back().offset < e.offset &&
                                                       opened.entries_.back().time_before <= e.time_before);
      if (!follows || (is_last ? e.offset != file.bytes : e.offset >= file.bytes))
        return {errc::out_of_range, saved_index_head::size + i * time_index_entry::size};
      if (is_last) opened.last_time_ = e.time_before;
      else opened.entries_.push_back(e);
    }
    return opened;
  }

 private:
  template <order O>
  static void follow(depth_repair& repair, const record<function_record<O>, O>& head) {
    const record_type type = head[record_head::type];
    if (type == record_type::lost) repair.forget();
    else if (type != record_type::event) (void)repair(type, head[record_head::depth], head[record_head::address]);
  }

  fingerprint source_;
  std::uint64_t last_time_ = 0;
  std::vector<entry> entries_;
};

/// Positions in a task file.
struct file_part {
  std::size_t begin = 0, end = 0;
};

/// The part of a task file that has all records from `from` up to `until`, as far as that can be told without reading
/// all of them: by bisection, or with `kept`, an index of the file, unless it is null. Else the whole file.
template <order O>
[[nodiscard]] file_part part_between(const task_records<O>& records, const info& about, const time_index* kept,
                                     std::uint64_t from, std::uint64_t until) {
  const std::size_t size = records.bytes().size();
  const auto place_of = [&](std::uint64_t time, std::size_t unknown) {
    if (has_plain_records(about)) {
      if (const auto found = find_by_bisection<O>(records.bytes(), time))
        return static_cast<std::size_t>(found->offset);
    }
    if (kept == nullptr || kept->file_bytes() != size) return unknown;
    return static_cast<std::size_t>(kept->find(records, time).offset);
  };
  file_part part{0, size};
  if (until != ~std::uint64_t{0}) part.end = place_of(until + 1, size);
  if (from != 0) part.begin = std::min(place_of(from, 0), part.end);
  return part;
}

}  // namespace backsight::uftrace
