// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <lz4frame.h>

#include <backsight/io/container.hpp>

namespace backsight::io {

/// Unfolds LZ4 frames, one or several, piece by piece. Needs liblz4. The compressed bytes must outlive the reader.
/// Memory does not grow with the data.
class lz4_reader {
 public:
  [[nodiscard]] static constexpr bool reads(container kind) noexcept { return kind == container::lz4; }
  explicit lz4_reader(byte_view packed, expansion_limit limit = {}) : packed_(packed), limit_(limit) {
    LZ4F_dctx* made = nullptr;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION)) != 0) error_ = {errc::io, 0};
    context_.reset(made);
  }

  /// Fills `out` as far as there is data; gives the number of bytes, less than out.size() only at the end or before an
  /// error. Errors, with the offset in the compressed bytes: errc::truncated, errc::bad_value, errc::expansion.
  [[nodiscard]] result<std::size_t> read(std::span<std::byte> out) {
    std::size_t filled = 0;
    while (filled < out.size() && !done_ && !error_) {
      std::size_t room = out.size() - filled, taken = packed_.size() - position_;
      const std::size_t hint =
          LZ4F_decompress(context_.get(), out.data() + filled, &room, packed_.data() + position_, &taken, nullptr);
      if (LZ4F_isError(hint) != 0) {
        error_ = {errc::bad_value, position_};
        break;
      }
      filled += room;
      position_ += taken;
      unfolded_ += room;
      if (!limit_.allows(position_, unfolded_)) {
        error_ = {errc::expansion, position_};
      } else if (position_ == packed_.size()) {
        if (hint == 0) done_ = true;
        else if (room == 0) error_ = {errc::truncated, position_};
      }
    }
    return {filled, error_};
  }

 private:
  struct closer {
    void operator()(LZ4F_dctx* context) const { LZ4F_freeDecompressionContext(context); }
  };

  byte_view packed_;
  expansion_limit limit_;
  std::unique_ptr<LZ4F_dctx, closer> context_;
  std::size_t position_ = 0;
  std::uint64_t unfolded_ = 0;
  trace_error error_;
  bool done_ = false;
};

}  // namespace backsight::io
