// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include <backsight/io/container.hpp>

namespace backsight::io {

/// What unfolds the bytes of some packings, piece by piece: inflate_reader, lz4_reader, snappy_reader, zip_reader and
/// plain_reader, each behind the header of its own library.
template <class T>
concept packing_reader = requires(T reader, std::span<std::byte> out, container kind) {
  { T::reads(kind) } -> std::same_as<bool>;
  { reader.read(out) } -> std::same_as<result<std::size_t>>;
};

/// Gives the bytes of a file that is not packed.
class plain_reader {
 public:
  explicit plain_reader(byte_view bytes, expansion_limit = {}) noexcept : rest_(bytes) {}
  [[nodiscard]] static constexpr bool reads(container kind) noexcept { return kind == container::plain; }

  /// Fills `out` as far as there is data; gives the number of bytes.
  [[nodiscard]] result<std::size_t> read(std::span<std::byte> out) noexcept {
    const std::size_t size = std::min(out.size(), rest_.size());
    std::copy_n(rest_.begin(), size, out.begin());
    rest_ = rest_.subspan(size);
    return size;
  }

 private:
  byte_view rest_;
};
static_assert(packing_reader<plain_reader>);

/// A file in whatever packing one of the readers knows: `packed_file<inflate_reader, zip_reader, plain_reader>(bytes)`.
/// The bytes must outlive it.
template <packing_reader... Readers>
class packed_file {
 public:
  explicit packed_file(byte_view packed, expansion_limit limit = {}) : kind_(container_of(packed)) {
    (void)((Readers::reads(kind_) && (reader_.template emplace<Readers>(packed, limit), true)) || ...);
  }

  [[nodiscard]] container kind() const noexcept { return kind_; }
  /// One of the readers knows the packing.
  [[nodiscard]] bool readable() const noexcept { return reader_.index() != 0; }
  /// Fills `out` as far as there is data; gives the number of bytes, less than out.size() only at the end or before an
  /// error. Errors: those of the reader, errc::compressed when there is none for this packing.
  [[nodiscard]] result<std::size_t> read(std::span<std::byte> out) {
    return std::visit(
        [out]<class T>(T& reader) -> result<std::size_t> {
          if constexpr (std::same_as<T, std::monostate>) return {std::size_t{0}, {errc::compressed, 0}};
          else return reader.read(out);
        },
        reader_);
  }

 private:
  container kind_;
  std::variant<std::monostate, Readers...> reader_;
};

/// Calls `f(byte_view block, std::uint64_t offset)` for the bytes that a reader gives, as many at a time as `buffer`
/// holds; `f` gives an error, with an offset within the block, to stop. Errors: that of the reader, before
/// errc::truncated of `f`, which follows from it; that of `f` with its offset in all bytes.
template <class Reader, class F>
[[nodiscard]] trace_error for_each_block(Reader& reader, std::span<std::byte> buffer, F&& f) {
  for (std::uint64_t offset = 0;;) {
    const result<std::size_t> got = reader.read(buffer);
    const byte_view block = byte_view(buffer).first(got.partial());
    const trace_error error = block.empty() ? trace_error{} : f(block, offset);
    if (!got && (!error || error.code == errc::truncated)) return got.error();
    if (error) return {error.code, error.offset + offset};
    offset += block.size();
    if (block.size() < buffer.size()) return {};
  }
}

}  // namespace backsight::io
