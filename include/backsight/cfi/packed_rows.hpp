// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <backsight/core/bytes.hpp>

namespace backsight::cfi::detail {

/// Rows on their way into a table, in ascending order of their addresses: most take two bytes, the distance from the
/// row before and the number of the rule. So a table is built in less memory than its section takes.
class packed_rows {
 public:
  static constexpr std::uint32_t no_rule = 0xffff;  ///< One more than a table has.

  struct row {
    std::uint64_t start = 0;
    std::uint32_t rule = no_rule;
  };

  /// From `address` on this rule is in force, no_rule for none: up to the next row, which begins no earlier. Of rows
  /// that begin together the last counts, and a row that says the same as the one before is none.
  void add(std::uint64_t address, std::uint32_t rule) {
    if (address == last_.start && pending_) [[unlikely]]
      drop_last();
    if (rule == last_.rule) return;
    if (pending_) write();
    last_ = {address, rule};
    pending_ = true;
  }
  /// Ends the rows: a reader needs that.
  void close() {
    if (pending_) write();
    pending_ = false;
  }
  [[nodiscard]] std::size_t size() const noexcept { return written_count_ + (pending_ ? 1 : 0); }

  /// A state to go back to.
  struct mark {
    std::size_t chunks, used, written_count;
    row written, last;
    bool pending;
  };
  [[nodiscard]] mark here() const noexcept {
    return {chunks_.size(), used(), written_count_, written_, last_, pending_};
  }
  /// Takes back all that was added since.
  void restore(const mark& to) {
    chunks_.resize(to.chunks);
    at_ = chunks_.empty() ? nullptr : chunks_.back().bytes.data() + to.used;
    end_ = chunks_.empty() ? nullptr : chunks_.back().bytes.data() + chunks_.back().bytes.size();
    written_ = to.written;
    written_count_ = to.written_count;
    last_ = to.last;
    pending_ = to.pending;
  }

  /// Reads the rows one after the other; rows must be closed.
  class reader {
   public:
    using row = packed_rows::row;
    static constexpr std::uint32_t no_rule = packed_rows::no_rule;

    reader() = default;
    explicit reader(const packed_rows& of) noexcept : of_(&of) { advance(); }
    [[nodiscard]] bool done() const noexcept { return done_; }
    [[nodiscard]] const row& current() const noexcept { return current_; }
    /// Goes to the next row.
    void advance() noexcept {
      if (at_ == end_) [[unlikely]]
        next_chunk();
      if (done_) [[unlikely]]
        return;
      auto byte = std::to_integer<std::uint8_t>(*at_++);
      if (byte < long_distance) [[likely]] {
        current_.start += byte;
      } else if (byte == long_distance) {
        current_.start += load<std::uint16_t, order::little>(at_);
        at_ += 2;
      } else {
        current_.start += load<std::uint64_t, order::little>(at_);
        at_ += 8;
      }
      byte = std::to_integer<std::uint8_t>(*at_++);
      current_.rule = byte;
      if (byte == long_rule) [[unlikely]] {
        current_.rule = load<std::uint16_t, order::little>(at_);
        at_ += 2;
      }
    }

   private:
    void next_chunk() noexcept {
      if (chunk_ == of_->chunks_.size()) {
        done_ = true;
        return;
      }
      const chunk& next = of_->chunks_[chunk_++];
      at_ = next.bytes.data();
      end_ = at_ + (chunk_ == of_->chunks_.size() ? of_->used() : next.used);
    }
    const packed_rows* of_ = nullptr;
    std::size_t chunk_ = 0;
    const std::byte* at_ = nullptr;
    const std::byte* end_ = nullptr;
    row current_;
    bool done_ = false;
  };

 private:
  static constexpr std::uint8_t long_distance = 0xfe, longest_distance = 0xff, long_rule = 0xff;
  static constexpr std::size_t longest_row = 12, first_chunk = 1024, longest_chunk = 65536;

  struct chunk {
    std::vector<std::byte> bytes;
    std::size_t used = 0;  // Once there is another one behind it.
  };

  [[nodiscard]] std::size_t used() const noexcept {
    return chunks_.empty() ? 0 : static_cast<std::size_t>(at_ - chunks_.back().bytes.data());
  }
  // Inline always: a call of it, one for each row, is 3 % more instructions of building a table (GCC 12).
  [[gnu::always_inline]] void write() {
    if (end_ - at_ < static_cast<std::ptrdiff_t>(longest_row)) [[unlikely]]
      append_chunk();
    const std::uint64_t distance = last_.start - written_.start;
    if (distance < long_distance) [[likely]] {
      *at_++ = static_cast<std::byte>(distance);
    } else {
      write_long(distance);
    }
    if (last_.rule < long_rule) [[likely]] {
      *at_++ = static_cast<std::byte>(last_.rule);
    } else {
      *at_ = std::byte{long_rule};
      store<order::little>(at_ + 1, static_cast<std::uint16_t>(last_.rule));
      at_ += 3;
    }
    written_ = last_;
    ++written_count_;
  }
  void write_long(std::uint64_t distance) {
    const bool fits = distance <= 0xffff;
    *at_ = fits ? std::byte{long_distance} : std::byte{longest_distance};
    if (fits) store<order::little>(at_ + 1, static_cast<std::uint16_t>(distance));
    else store<order::little>(at_ + 1, distance);
    at_ += fits ? 3 : 9;
  }
  void append_chunk() {
    const std::size_t size = chunks_.empty() ? first_chunk : std::min(longest_chunk, chunks_.back().bytes.size() * 2);
    if (!chunks_.empty()) chunks_.back().used = used();
    at_ = chunks_.emplace_back(chunk{std::vector<std::byte>(size), 0}).bytes.data();
    end_ = at_ + size;
  }
  void drop_last() noexcept {
    last_ = written_;
    pending_ = false;
  }

  std::vector<chunk> chunks_;
  std::byte* at_ = nullptr;
  std::byte* end_ = nullptr;
  row written_, last_;
  std::size_t written_count_ = 0;
  bool pending_ = false;
};

}  // namespace backsight::cfi::detail
