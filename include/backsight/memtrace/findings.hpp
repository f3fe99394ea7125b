// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace backsight::memtrace {

/// What a check of a final trace can find. Known stragglers are no failures.
enum class finding : std::uint8_t {
  unreadable,        ///< A record cannot be decoded.
  header_order,      ///< A record of the file's header is missing or not in its place.
  missing_exit,      ///< The file does not end with THREAD_EXIT and FOOTER.
  time_reversed,     ///< A TIMESTAMP lies before the one before it.
  window_reversed,   ///< A WINDOW_ID is smaller than the one before it.
  chunk_order,       ///< A CHUNK_FOOTER does not carry the next chunk's number.
  chunk_size,        ///< A chunk has not as many instructions as the header says.
  record_ordinal,    ///< A RECORD_ORDINAL does not equal the number of visible records.
  missing_encoding,  ///< An instruction whose bytes were not given since the start of its chunk.
  encoding_size,     ///< The bytes of an instruction are not as many as its size.
  pc_discontinuity,  ///< An instruction that does not follow from the one before, inside of a window.
  branch_target,     ///< An indirect branch without target, or another instruction with one.
  branch_type,       ///< A conditional jump without direction, in a version that has one.
  orphan_data,       ///< A data reference without an instruction.
  syscall_marker,    ///< A SYSCALL marker that is not behind a system call, or without the times around it.
  signal_marker,     ///< A SIGNAL_NUMBER that is not behind a KERNEL_EVENT.
  signal_return,     ///< The code goes on elsewhere than where a signal or kernel event interrupted it.
  physical_pair,     ///< A VIRTUAL_ADDRESS without its PHYSICAL_ADDRESS.
  straggler,         ///< No failure: a block that ran after its window, behind a gap without a marker.
};
inline constexpr std::uint8_t finding_count = static_cast<std::uint8_t>(finding::straggler) + 1;

[[nodiscard]] constexpr const char* message(finding what) noexcept {
  constexpr const char* texts[]{
      "a record cannot be decoded",
      "a record of the header is missing or not in its place",
      "the file does not end with a thread exit and a footer",
      "a timestamp lies before the one before it",
      "a window ordinal is smaller than the one before it",
      "a chunk footer does not carry the next number",
      "a chunk has not as many instructions as the header says",
      "a record ordinal is not the number of visible records",
      "an instruction without encoding since the start of its chunk",
      "an encoding is not as long as its instruction",
      "an instruction does not follow from the one before",
      "an indirect branch without target, or another instruction with one",
      "a conditional jump without direction",
      "a data reference without an instruction",
      "a system call marker without system call or times",
      "a signal number without a kernel event",
      "code goes on elsewhere than where an event interrupted it",
      "a virtual address without its physical address",
      "a block that ran after its window",
  };
  return texts[static_cast<unsigned>(what) % finding_count];
}

/// A finding and the record that it is about.
struct check_result {
  finding what = finding::unreadable;
  std::uint64_t offset = 0;
  std::uint64_t instruction = 0;  ///< How many instructions came before it.
  std::optional<std::uint64_t> window;
  [[nodiscard]] friend constexpr bool operator==(const check_result&, const check_result&) = default;
};

}  // namespace backsight::memtrace
