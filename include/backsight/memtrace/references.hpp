// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <unordered_map>

#include <backsight/memtrace/final.hpp>

namespace backsight::memtrace {

/// A record as DynamoRIO's tools see it: encodings and branch targets joined to their instruction, each data reference with
/// the PC that made it.
struct reference {
  trace_type type = trace_type::marker;
  std::uint16_t size = 0;             ///< Bytes of the access or instruction; the marker type of a marker.
  std::uint64_t address = 0;          ///< Data address, PC, tid or marker value.
  std::uint64_t pc = 0;               ///< Of an instruction and of the data references behind it.
  std::uint64_t tid = 0;
  std::uint64_t offset = 0;           ///< Of the record itself, in the bytes of all feeds.
  std::optional<std::uint64_t> branch_target;  ///< Of an indirect branch.
  const std::byte* encoding = nullptr;  ///< The bytes of an instruction, null when the trace does not have them. Valid
                                        ///< until the next record is asked for.
  std::uint8_t encoding_size = 0;
  bool encoding_is_new = false;       ///< This PC is seen for the first time, or its bytes may have changed.

  [[nodiscard]] constexpr marker_type marker() const noexcept { return static_cast<marker_type>(size); }
  [[nodiscard]] constexpr bool is_marker(marker_type wanted) const noexcept { return type == trace_type::marker && marker() == wanted; }
};

/// Makes references of the records of one final file, one record after the other. Costs a hash look-up for each
/// instruction; memory grows with the code. The window and time that are current are kept too.
template <class Address>
class basic_reference_builder {
 public:
  using any = basic_entry<Address>;

  /// Takes the next record and gives its reference; none for a record that tools do not see (HEADER, FOOTER, THREAD, PID,
  /// ENCODING, BRANCH_TARGET, RECORD_ORDINAL, the repeated time of a chunk, the PC-only records of filtered traces), and none
  /// for one of unknown type.
  [[nodiscard]] std::optional<reference> next(const record<any, order::little>& item) {
    const trace_type type = item[any::type];
    const std::uint16_t size = item[any::size];
    const std::uint64_t value = item[any::addr];
    const std::uint64_t offset = offset_;
    offset_ += size_of<any>;
    reference made{type, size, value, pc_, tid_, offset, {}, nullptr, 0, false};
    if (is_instruction(type) || type == trace_type::instr_no_fetch) return instruction(made);
    switch (type) {
      case trace_type::encoding: collect(item); return {};
      case trace_type::thread: tid_ = value; return {};
      case trace_type::pid: pid_ = value; return {};
      case trace_type::header:
      case trace_type::footer:
      case trace_type::instr_bundle:
      case trace_type::instr_maybe_fetch: return {};
      case trace_type::marker: return marker(made);
      default: break;
    }
    if (static_cast<std::uint16_t>(type) >= trace_type_count) return {};
    return made;
  }

  /// Says whose records come next: for who begins behind the THREAD record that tells.
  void set_thread(std::uint64_t tid) noexcept { tid_ = tid; }

  [[nodiscard]] std::uint64_t tid() const noexcept { return tid_; }
  [[nodiscard]] std::uint64_t pid() const noexcept { return pid_; }
  /// The value of the last WINDOW_ID marker.
  [[nodiscard]] std::optional<std::uint64_t> window() const noexcept { return window_; }
  /// The value of the last TIMESTAMP marker, microseconds since 1601; 0 before the first.
  [[nodiscard]] std::uint64_t time() const noexcept { return time_; }
  /// The place of the next record.
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

 private:
  struct stored_encoding {
    std::array<std::byte, 16> bytes{};
    std::uint8_t size = 0;
  };

  void collect(const record<any, order::little>& item) {
    const std::size_t most = sizeof(Address), stated = item[any::size];
    const std::size_t size = stated < most ? stated : most;
    for (std::size_t i = 0; i < size && pending_.size < pending_.bytes.size(); ++i) {
      pending_.bytes[pending_.size++] = item.bytes()[4 + i];
    }
    has_pending_ = true;
  }

  std::optional<reference> instruction(reference& made) {
    pc_ = made.pc = made.address;
    if (made.size == 0) return {};
    stored_encoding& stored = encodings_[made.address];
    if (has_pending_) {
      stored = pending_;
      made.encoding_is_new = true;
      pending_ = {};
      has_pending_ = false;
    }
    if (stored.size != 0) {
      made.encoding = stored.bytes.data();
      made.encoding_size = stored.size;
    }
    made.branch_target = target_;
    target_.reset();
    return made;
  }

  std::optional<reference> marker(reference& made) {
    switch (made.marker()) {
      case marker_type::branch_target: target_ = made.address; return {};
      case marker_type::record_ordinal: chunk_head_ = 2; return {};
      case marker_type::timestamp:
        time_ = made.address;
        if (chunk_head_ != 0) return chunk_head_ = 1, std::nullopt;
        break;
      case marker_type::cpu_id:
        if (chunk_head_ != 0) return chunk_head_ = 0, std::nullopt;
        break;
      case marker_type::window_id: window_ = made.address; break;
      default: break;
    }
    return made;
  }

  std::unordered_map<std::uint64_t, stored_encoding> encodings_;
  stored_encoding pending_;
  bool has_pending_ = false;
  std::optional<std::uint64_t> target_, window_;
  std::uint64_t pc_ = 0, tid_ = 0, pid_ = 0, time_ = 0, offset_ = 0;
  unsigned chunk_head_ = 0;
};

using reference_builder = basic_reference_builder<std::uint64_t>;

}  // namespace backsight::memtrace
