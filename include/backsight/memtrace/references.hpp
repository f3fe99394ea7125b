// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include <backsight/memtrace/record_follower.hpp>

namespace backsight::memtrace {

/// A record as DynamoRIO's tools see it: encodings and branch targets joined to their instruction, each data reference
/// with the PC that made it.
struct reference {
  trace_type type = trace_type::marker;
  std::uint16_t size = 0;     ///< Bytes of the access or instruction; the marker type of a marker.
  std::uint64_t address = 0;  ///< Data address, PC, tid or marker value.
  std::uint64_t pc = 0;       ///< Of an instruction and of the data references behind it.
  std::uint64_t tid = 0;
  std::uint64_t offset = 0;                    ///< Of the record itself, in the bytes of all feeds.
  std::optional<std::uint64_t> branch_target;  ///< Of an indirect branch.
  const std::byte* encoding = nullptr;  ///< The bytes of an instruction, null when the trace does not have them. Valid
                                        ///< until the next record is asked for.
  std::uint8_t encoding_size = 0;
  bool encoding_is_new = false;  ///< This PC is seen for the first time, or its bytes may have changed.

  [[nodiscard]] constexpr marker_type marker() const noexcept { return static_cast<marker_type>(size); }
  [[nodiscard]] constexpr bool is_marker(marker_type wanted) const noexcept {
    return type == trace_type::marker && marker() == wanted;
  }
};

/// Makes references of the records of one final file, one record after the other. Costs a hash look-up for each
/// instruction; memory grows with the code. What a record_follower knows is kept too.
template <class Address>
class basic_reference_builder {
 public:
  using any = basic_entry<Address>;

  /// Takes the next record and gives its reference; none for a record that tools do not see (HEADER, FOOTER, THREAD,
  /// PID, what is in front of an instruction, what a chunk repeats, the PC-only records of filtered traces), and none
  /// for one of unknown type.
  [[nodiscard]] std::optional<reference> next(const record<any, order::little>& item) {
    const trace_type type = item[any::type];
    const record_role role = follower_.next(item);
    const std::uint64_t offset = std::exchange(offset_, offset_ + size_of<any>);
    if (role == record_role::in_front && type == trace_type::encoding) collect(item);
    const bool is_shown = role == record_role::instruction || (role == record_role::other && !is_hidden(type));
    if (!is_shown) return {};
    reference made{type, item[any::size], item[any::addr], follower_.pc(), tid(), offset, {}, nullptr, 0, false};
    if (role == record_role::instruction) give_encoding(made);
    return made;
  }

  /// Says whose records come next: for who begins behind the THREAD record that tells.
  void set_thread(std::uint64_t tid) noexcept { follower_.set_thread(tid); }

  [[nodiscard]] std::uint64_t tid() const noexcept { return follower_.tid(); }
  [[nodiscard]] std::uint64_t pid() const noexcept { return follower_.pid(); }
  [[nodiscard]] const std::optional<std::uint64_t>& window() const noexcept { return follower_.window(); }
  [[nodiscard]] std::uint64_t time() const noexcept { return follower_.time(); }
  /// The place of the next record.
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

 private:
  struct stored_encoding {
    std::array<std::byte, 16> bytes{};
    std::uint8_t size = 0;
  };

  [[nodiscard]] static bool is_hidden(trace_type type) noexcept {
    constexpr std::uint64_t hidden =
        detail::types(trace_type::thread, trace_type::pid, trace_type::header, trace_type::footer,
                      trace_type::instr_bundle, trace_type::instr_maybe_fetch);
    return static_cast<std::uint16_t>(type) >= trace_type_count || detail::among(type, hidden);
  }

  void collect(const record<any, order::little>& item) {
    using encoding = basic_encoding<Address>;
    const auto bytes = record<encoding, order::little>(item.bytes().data())[encoding::bytes];
    const std::size_t most = bytes.size(), stated = item[any::size];
    const std::size_t size = stated < most ? stated : most;
    for (std::size_t i = 0; i < size && pending_.size < pending_.bytes.size(); ++i) {
      pending_.bytes[pending_.size++] = bytes[i];
    }
    has_pending_ = true;
  }

  void give_encoding(reference& to) {
    stored_encoding& stored = encodings_[to.pc];
    if (has_pending_) {
      stored = pending_;
      to.encoding_is_new = true;
      pending_ = {};
      has_pending_ = false;
    }
    if (stored.size != 0) {
      to.encoding = stored.bytes.data();
      to.encoding_size = stored.size;
    }
    to.branch_target = follower_.branch_target();
  }

  record_follower follower_;
  std::unordered_map<std::uint64_t, stored_encoding> encodings_;
  stored_encoding pending_;
  bool has_pending_ = false;
  std::uint64_t offset_ = 0;
};

using reference_builder = basic_reference_builder<std::uint64_t>;

}  // namespace backsight::memtrace
