// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include <backsight/xray/records.hpp>
#include <backsight/xray/trace.hpp>

namespace backsight::xray {

/// One buffer of one thread in an FDR log.
struct block {
  std::uint64_t offset = 0;   ///< Of its first byte in the log.
  byte_view bytes;            ///< Its records: BufferExtents (from version 2 on), NewBuffer and so on.
  std::uint64_t skipped = 0;  ///< Bytes between the block before and this one that belong to none.
  std::uint64_t missing = 0;  ///< Bytes that its BufferExtents counts beyond the end of the log.

  /// The records of the block; offsets count from the start of the log. `version` is that of the log.
  template <order O, grammar_check Check = grammar_check::enforced>
  [[nodiscard]] constexpr fdr_records<O, Check> records(std::uint16_t version) const noexcept {
    return fdr_records<O, Check>(bytes, {version}, offset);
  }
};

/// The blocks of an FDR log, in file order, found by reading only their first records: version 1 by the size of a
/// buffer in the file header, later ones by their BufferExtents. Rubbish between blocks is skipped. A forward range and
/// a view.
template <order O>
class fdr_blocks {
 public:
  class iterator;
  constexpr fdr_blocks() = default;
  constexpr explicit fdr_blocks(const log& opened) noexcept : log_(opened) {}

  [[nodiscard]] constexpr iterator begin() const noexcept { return iterator(log_); }
  [[nodiscard]] constexpr std::default_sentinel_t end() const noexcept { return {}; }

 private:
  log log_;
};

template <order O>
class fdr_blocks<O>::iterator {
 public:
  using value_type = block;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::forward_iterator_tag;

  constexpr iterator() = default;
  [[nodiscard]] constexpr const block& operator*() const noexcept { return block_; }
  [[nodiscard]] constexpr const block* operator->() const noexcept { return &block_; }
  constexpr iterator& operator++() noexcept {
    find_from(next_);
    return *this;
  }
  constexpr iterator operator++(int) noexcept {
    iterator before = *this;
    ++*this;
    return before;
  }
  [[nodiscard]] friend constexpr bool operator==(const iterator& a, const iterator& b) noexcept {
    return a.block_.offset == b.block_.offset && a.block_.bytes.size() == b.block_.bytes.size();
  }
  [[nodiscard]] friend constexpr bool operator==(const iterator& it, std::default_sentinel_t) noexcept {
    return it.block_.bytes.empty();
  }
  /// At the end: errc::trailing_bytes where bytes that begin no block follow the last one, errc::truncated where they
  /// are the beginning of one.
  [[nodiscard]] constexpr trace_error error() const noexcept { return error_; }

 private:
  friend fdr_blocks;
  using format = fdr_format<O>;
  static constexpr std::size_t metadata_size = metadata_head::size;

  constexpr explicit iterator(const log& opened) noexcept : log_(opened) { find_from(size_of<file_header>); }

  [[nodiscard]] constexpr bool is_head(std::size_t at, metadata_kind kind) const noexcept {
    return at < log_.bytes().size() && log_.bytes()[at] == format::head_of(kind);
  }

  constexpr void set(std::size_t begin, std::size_t end, std::size_t next, std::size_t skipped) noexcept {
    block_ = {begin, log_.bytes().subspan(begin, end - begin), skipped};
    next_ = next;
  }

  constexpr void find_from(std::size_t at) noexcept {
    const std::size_t size = log_.bytes().size();
    block_ = {at, {}, 0};
    if (at >= size) return;
    if (log_.version() == 1) return find_buffer(at);
    std::size_t begin = at;
    if (!is_head(begin, metadata_kind::buffer_extents) && !is_head(begin, metadata_kind::new_buffer)) {
      fdr_context context{log_.version()};
      begin = format::resync(log_.bytes(), at, context);
    }
    if (begin == size) {
      error_ = {errc::trailing_bytes, at};
      return;
    }
    if (size - begin < metadata_size) {
      error_ = {errc::truncated, begin};
      return;
    }
    if (is_head(begin, metadata_kind::new_buffer)) {
      const std::size_t end = end_of_undeclared(begin);
      return set(begin, end, end, begin - at);
    }
    const record<buffer_extents_record, O> extents(log_.bytes().data() + begin);
    const std::size_t first = begin + metadata_size;
    const std::uint64_t counted = extents[buffer_extents_record::extents];
    const std::size_t end = counted < size - first ? first + static_cast<std::size_t>(counted) : size;
    set(begin, end, end, begin - at);
    block_.missing = counted - (end - first);
  }

  /// Version 1: buffers of a fixed size, of which only the part up to EndOfBuffer is written.
  constexpr void find_buffer(std::size_t at) noexcept {
    const std::size_t size = log_.bytes().size();
    const std::uint64_t declared = log_.buffer_size();
    if (declared < metadata_size) {
      const std::size_t end = end_of_undeclared(at);
      return set(at, end, end, 0);
    }
    const std::size_t end = declared < size - at ? at + static_cast<std::size_t>(declared) : size;
    set(at, end, end, 0);
  }

  /// The end of a block whose size nothing tells: at the next block, or at what cannot be decoded.
  [[nodiscard]] constexpr std::size_t end_of_undeclared(std::size_t begin) const noexcept {
    const fdr_records<O, grammar_check::ignored> rest(log_.bytes().subspan(begin), {log_.version()}, begin);
    auto it = rest.begin();
    std::size_t end = begin;
    for (; it != std::default_sentinel; ++it) {
      const any_record<format> item = *it;
      const bool next = item.template is<buffer_extents_record>() || item.template is<new_buffer_record>();
      if (next && end != begin) return end;
      end = static_cast<std::size_t>(item.offset()) + item.bytes().size();
    }
    // A record that cannot be decoded stays part of the block, so that its records report it.
    return it.error() ? log_.bytes().size() : end;
  }

  log log_;
  block block_;
  std::size_t next_ = 0;
  trace_error error_{};
};

/// What the first records of a block say.
struct block_info {
  block where;
  std::int32_t thread_id = 0;
  std::int32_t process_id = 0;  ///< Version 2: the thread id, as LLVM has it; version 1: 0.
  std::uint64_t seconds = 0;    ///< CLOCK_MONOTONIC when the buffer was begun.
  std::uint32_t microseconds = 0;
  std::uint64_t first_tsc = 0;
  std::uint16_t cpu_id = 0;
  bool complete = false;  ///< All of the above were there.
};

/// Reads the first records of a block, up to its NewCPUId.
template <order O>
[[nodiscard]] constexpr block_info read_block_info(const block& where, std::uint16_t version) noexcept {
  block_info info{.where = where};
  for (const auto item : where.records<O>(version)) {
    if (const auto buffer = get_if<new_buffer_record>(item)) {
      info.thread_id = buffer[new_buffer_record::thread_id];
      if (version == 2) info.process_id = info.thread_id;
    } else if (const auto clock = get_if<wall_clock_time_record>(item)) {
      info.seconds = clock[wall_clock_time_record::seconds];
      info.microseconds = clock[wall_clock_time_record::microseconds];
    } else if (const auto pid = get_if<pid_record>(item)) {
      info.process_id = pid[pid_record::pid];
    } else if (const auto cpu = get_if<new_cpu_id_record>(item)) {
      info.cpu_id = cpu[new_cpu_id_record::cpu_id];
      info.first_tsc = cpu[new_cpu_id_record::absolute_tsc];
      info.complete = true;
      break;
    } else if (!item.template is<buffer_extents_record>()) {
      break;
    }
  }
  return info;
}

}  // namespace backsight::xray

template <backsight::order O>
inline constexpr bool std::ranges::enable_view<backsight::xray::fdr_blocks<O>> = true;
template <backsight::order O>
inline constexpr bool std::ranges::enable_borrowed_range<backsight::xray::fdr_blocks<O>> = true;
