// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <backsight/core/checksum.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/offset_of.hpp>
#include <backsight/core/record_span.hpp>

// Files of our own that keep what was found in a trace.
namespace backsight {

/// What tells the file that an index is about from others, or all files together.
struct fingerprint {
  std::uint64_t bytes = 0;
  std::uint64_t content = 0;  ///< A checksum().

  constexpr fingerprint& operator+=(const fingerprint& other) noexcept {
    bytes += other.bytes;
    content += other.content;
    return *this;
  }
  [[nodiscard]] friend constexpr bool operator==(const fingerprint&, const fingerprint&) = default;
};

/// The fingerprint of a file by its size and the 4096 bytes at each of its ends: costs the same for a file of any size.
/// Changes in the middle that leave the size as it was are not seen.
[[nodiscard]] constexpr fingerprint fingerprint_of_ends(byte_view file) noexcept {
  constexpr std::size_t most = 4096;
  if (file.size() <= 2 * most) return {file.size(), checksum(file)};
  return {file.size(), checksum(file.first(most)) + checksum(file.last(most))};
}

/// The head of every saved index: 48 bytes, little-endian. `count` entries of `entry_bytes` bytes follow, and what else
/// the kind of index has.
struct saved_index_head {
  static constexpr const char* name = "saved_index_head";
  static constexpr std::size_t size = 48;
  static constexpr field<"magic", std::array<std::byte, 8>> magic{};  ///< of the kind of index
  static constexpr field<"version", std::uint32_t> version{};
  static constexpr field<"entry_bytes", std::uint32_t> entry_bytes{};
  static constexpr field<"count", std::uint64_t> count{};
  static constexpr field<"source_bytes", std::uint64_t> source_bytes{};  ///< the fingerprint of what it is about
  static constexpr field<"source_content", std::uint64_t> source_content{};
  static constexpr field<"checksum", std::uint64_t> checksum{};  ///< the sum of those of what is before and behind it
  static constexpr layout fields{magic, version, entry_bytes, count, source_bytes, source_content, checksum};
};
static_assert(schema<saved_index_head>);

/// What an index of one kind begins with.
struct saved_index_kind {
  std::array<std::byte, 8> magic{};
  std::uint32_t version = 0;

  /// `text` has eight characters.
  consteval saved_index_kind(const char (&text)[9], std::uint32_t now) : version(now) {
    for (std::size_t i = 0; i < magic.size(); ++i) magic[i] = static_cast<std::byte>(text[i]);
  }
};

namespace detail {

/// Precondition: `bytes` begin with a head.
[[nodiscard]] constexpr std::uint64_t saved_checksum(byte_view bytes) noexcept {
  return checksum(bytes.first(offset_of<saved_index_head>(saved_index_head::checksum))) +
         checksum(bytes.subspan(saved_index_head::size));
}

}  // namespace detail

/// Writes the head at the start of an index that is complete but for it. Precondition: `index` begins with room for the
/// head, which `count` records of schema Entry follow.
template <schema Entry>
constexpr void seal_saved_index(std::span<std::byte> index, const saved_index_kind& kind, std::uint64_t count,
                                const fingerprint& source) noexcept {
  BACKSIGHT_ASSERT(index.size() >= saved_index_head::size &&
                   count <= (index.size() - saved_index_head::size) / size_of<Entry>);
  const mutable_record<saved_index_head, order::little> head(index.data());
  head.set(saved_index_head::magic, kind.magic).set(saved_index_head::version, kind.version);
  head.set(saved_index_head::entry_bytes, static_cast<std::uint32_t>(size_of<Entry>));
  head.set(saved_index_head::count, count);
  head.set(saved_index_head::source_bytes, source.bytes).set(saved_index_head::source_content, source.content);
  head.set(saved_index_head::checksum, detail::saved_checksum(index));
}

/// An index whose head is good. A view over its bytes.
template <schema Entry>
struct saved_index {
  byte_view bytes;
  fingerprint source;  ///< of what it is about
  record_span<Entry, order::little> entries;
  byte_view rest;  ///< behind the entries

  /// Reads all bytes: errc::checksum where they are not those that were saved.
  [[nodiscard]] constexpr trace_error verify() const noexcept {
    const record<saved_index_head, order::little> head(bytes.data());
    if (head[saved_index_head::checksum] == detail::saved_checksum(bytes)) return {};
    return {errc::checksum, offset_of<saved_index_head>(saved_index_head::checksum)};
  }
  /// Whether it is about this: errc::bad_size or errc::bad_value where it is about something else.
  [[nodiscard]] constexpr trace_error is_about(const fingerprint& file) const noexcept {
    if (source.bytes != file.bytes)
      return {errc::bad_size, offset_of<saved_index_head>(saved_index_head::source_bytes)};
    if (source.content == file.content) return {};
    return {errc::bad_value, offset_of<saved_index_head>(saved_index_head::source_content)};
  }
};

/// Reads the head of an index. Errors: errc::bad_magic, errc::unsupported_version, errc::bad_size for entries of
/// another size, errc::truncated. The checksum is checked by verify().
template <schema Entry>
[[nodiscard]] constexpr result<saved_index<Entry>> open_saved_index(byte_view bytes,
                                                                    const saved_index_kind& kind) noexcept {
  using head_type = saved_index_head;
  if (bytes.size() < head_type::size) return {errc::truncated, bytes.size()};
  const record<head_type, order::little> head(bytes.data());
  if (head[head_type::magic] != kind.magic) return {errc::bad_magic, offset_of<head_type>(head_type::magic)};
  if (head[head_type::version] != kind.version)
    return {errc::unsupported_version, offset_of<head_type>(head_type::version)};
  if (head[head_type::entry_bytes] != size_of<Entry>)
    return {errc::bad_size, offset_of<head_type>(head_type::entry_bytes)};
  const byte_view body = bytes.subspan(head_type::size);
  if (head[head_type::count] > body.size() / size_of<Entry>) return {errc::truncated, bytes.size()};
  const std::size_t size = static_cast<std::size_t>(head[head_type::count]) * size_of<Entry>;
  return saved_index<Entry>{bytes,
                            {head[head_type::source_bytes], head[head_type::source_content]},
                            record_span<Entry, order::little>(body.first(size)),
                            body.subspan(size)};
}

/// The bytes begin as an index of that kind, of any version.
[[nodiscard]] constexpr bool is_saved_index(byte_view bytes, const saved_index_kind& kind) noexcept {
  return bytes.size() >= saved_index_head::size &&
         record<saved_index_head, order::little>(bytes.data())[saved_index_head::magic] == kind.magic;
}

}  // namespace backsight
