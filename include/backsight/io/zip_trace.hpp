// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <backsight/io/zip.hpp>
#include <backsight/memtrace/windows.hpp>

namespace backsight::io {

/// The number of the chunk, a member of the archive, that holds the byte at `offset` of the unpacked trace; the number
/// of members when none does.
[[nodiscard]] inline std::size_t chunk_at(const zip_archive& archive, std::uint64_t offset) {
  const auto& members = archive.members();
  const auto behind = std::upper_bound(members.begin(), members.end(), offset,
                                       [](std::uint64_t at, const zip_member& one) { return at < one.offset; });
  if (behind == members.begin()) return members.size();
  const auto index = static_cast<std::size_t>(behind - members.begin()) - 1;
  return offset - members[index].offset < members[index].size ? index : members.size();
}

/// The bytes from `begin` up to `end` of the unpacked trace. Only the chunks that hold them are unpacked, so that a
/// late window costs no more than an early one. Errors: errc::out_of_range, and those of the reader.
[[nodiscard]] inline result<std::vector<std::byte>> read_chunks(const zip_archive& archive, std::uint64_t begin,
                                                                std::uint64_t end) {
  if (begin >= end) return std::vector<std::byte>{};
  const auto& members = archive.members();
  const std::size_t first = chunk_at(archive, begin), last = chunk_at(archive, end - 1);
  if (first == members.size() || last == members.size()) return {errc::out_of_range, begin};
  auto reader = archive.read_from(first, last - first + 1);
  std::vector<std::byte> bytes, block(std::size_t{1} << 16);
  std::uint64_t at = members[first].offset;
  while (at < end) {
    const auto got = reader.read(std::span(block));
    const std::uint64_t size = got.partial();
    const std::uint64_t from = at < begin ? std::min(begin - at, size) : 0, to = std::min(size, end - at);
    if (to > from)
      bytes.insert(bytes.end(), block.begin() + static_cast<std::ptrdiff_t>(from),
                   block.begin() + static_cast<std::ptrdiff_t>(to));
    at += size;
    if (!got) return {std::move(bytes), got.error()};
    if (size == 0) return {std::move(bytes), {errc::truncated, at}};
  }
  return bytes;
}

/// The bytes of a window of a chunked trace, found by a window_index or a scan before. With `encodings` they begin at
/// the chunk in which the window begins, where the encodings are repeated; else with the window.
[[nodiscard]] inline result<std::vector<std::byte>> read_window(const zip_archive& archive,
                                                                const memtrace::window& which, bool encodings = false) {
  return read_chunks(archive, encodings ? which.chunk : which.begin, which.end);
}

}  // namespace backsight::io
