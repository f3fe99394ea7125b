// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <backsight/memtrace/raw_records.hpp>

namespace backsight::memtrace {

/// Numbers of entries of a raw file in one window. Raw entries alone do not tell loads from stores.
struct raw_window_counts {
  std::optional<std::uint64_t> window;  ///< Empty before the first WINDOW_ID marker.
  std::uint64_t entries = 0;            ///< Words of 8 bytes.
  std::uint64_t blocks = 0;
  std::uint64_t instructions = 0;  ///< The sum of instr_count over the blocks.
  std::uint64_t memrefs = 0;
  std::uint64_t timestamps = 0;
  std::uint64_t window_markers = 0;
  std::uint64_t footers = 0;
  [[nodiscard]] friend constexpr bool operator==(const raw_window_counts&, const raw_window_counts&) = default;
  /// Adds the counts of another window; `window` stays.
  constexpr raw_window_counts& operator+=(const raw_window_counts& other) noexcept {
    entries += other.entries;
    blocks += other.blocks;
    instructions += other.instructions;
    memrefs += other.memrefs;
    timestamps += other.timestamps;
    window_markers += other.window_markers;
    footers += other.footers;
    return *this;
  }
};

/// Counts the entries of one raw file window by window, from pieces of any number of whole entries. An entry belongs to
/// the window of the last WINDOW_ID marker at or before it, but a TIMESTAMP to that of the entry behind it, so that a
/// unit header is not torn apart. Memory grows with the windows only.
class raw_counter {
 public:
  /// Counts the entries in `bytes`, of which an incomplete one at the end is left out. Gives errc::unknown_record for
  /// an entry of no known kind, errc::unpaired_record for one that needs a second one behind it and has none, with its
  /// offset in the bytes of all feeds; those before it are counted, and of a pair the first.
  trace_error feed(byte_view bytes) {
    const raw_span all(bytes);
    const raw_marker_span markers(bytes);
    raw_window_counts* now = &windows_.back();
    for (std::size_t i = 0; i < all.size(); ++i, offset_ += step) {
      const raw_type type = all[i][raw_entry::type];
      if (pair_ != pair::none && !completes_pair(markers[i])) return {errc::unpaired_record, offset_ - step};
      if (time_waits_ && !is_marker(markers[i], marker_type::window_id)) {
        now->entries += 1;
        now->timestamps += 1;
        time_waits_ = false;
      }
      switch (type) {
        case raw_type::memref:
        case raw_type::memref_high: ++now->memrefs; break;
        case raw_type::pc_top_bit_or_iflush:
          if (context_.arm32) {
            pair_ = pair_ == pair::flush ? pair::none : pair::flush;
            break;
          }
          [[fallthrough]];
        case raw_type::pc:
          ++now->blocks;
          now->instructions += record<raw_block, order::little>(all[i].bytes().data())[raw_block::instr_count];
          break;
        case raw_type::timestamp: time_waits_ = true; continue;
        case raw_type::thread: tid_ = all[i][raw_entry::value]; break;
        case raw_type::pid: break;
        case raw_type::extended: {
          if (static_cast<std::uint8_t>(markers[i][raw_marker::ext]) >= raw_extension_count) {
            return {errc::unknown_record, offset_};
          }
          pair_ = is_marker(markers[i], marker_type::split_value) ? pair::value : pair::none;
          if (is_marker(markers[i], marker_type::window_id)) now = enter(markers[i][raw_marker::value]);
          extended(markers[i], *now);
          break;
        }
      }
      ++now->entries;
    }
    return {};
  }

  /// To be called once behind the last feed, before the results are read. Gives errc::truncated and the place of an
  /// entry whose second one is missing.
  trace_error finish() {
    if (time_waits_) {
      ++windows_.back().entries;
      ++windows_.back().timestamps;
      time_waits_ = false;
    }
    return pair_ != pair::none ? trace_error{errc::truncated, offset_ - step} : trace_error{};
  }

  [[nodiscard]] const std::vector<raw_window_counts>& windows() const noexcept { return windows_; }
  [[nodiscard]] std::uint64_t tid() const noexcept { return tid_; }

 private:
  using marker_view = record<raw_marker, order::little>;
  static constexpr std::size_t step = size_of<raw_entry>;
  /// What the last entry needs behind it: the other half of a marker's value, the end of a flushed range of code.
  enum class pair : std::uint8_t { none, value, flush };

  [[nodiscard]] bool completes_pair(const marker_view& entry) const noexcept {
    if (pair_ == pair::flush) return entry[raw_marker::type] == raw_type::pc_top_bit_or_iflush;
    return is_marker(entry) && !is_marker(entry, marker_type::split_value);
  }

  raw_window_counts* enter(std::uint64_t ordinal) {
    if (windows_.back().window != ordinal) {
      windows_.push_back({});
      windows_.back().window = ordinal;
    }
    raw_window_counts& now = windows_.back();
    ++now.window_markers;
    if (time_waits_) {
      ++now.entries;
      ++now.timestamps;
      time_waits_ = false;
    }
    return &now;
  }

  void extended(const marker_view& entry, raw_window_counts& now) {
    if (entry[raw_marker::ext] == raw_extension::footer) ++now.footers;
    const std::byte* const at = entry.bytes().data();
    if (entry[raw_marker::ext] == raw_extension::header)
      raw_format::advance(context_, record<raw_header, order::little>(at));
    else if (entry[raw_marker::ext] == raw_extension::header_deprecated)
      raw_format::advance(context_, record<raw_header_deprecated, order::little>(at));
  }

  std::vector<raw_window_counts> windows_{1};
  std::uint64_t tid_ = 0, offset_ = 0;
  pair pair_ = pair::none;
  raw_context context_;
  bool time_waits_ = false;  ///< A TIMESTAMP whose window is told by the next entry.
};

}  // namespace backsight::memtrace
