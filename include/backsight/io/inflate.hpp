// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>

#include <zlib.h>

#include <backsight/io/container.hpp>

namespace backsight::io {

/// Unfolds gzip files, of one or several members, and zlib streams, piece by piece. Needs zlib. The compressed bytes
/// must outlive the reader. Memory does not grow with the data.
class inflate_reader {
 public:
  [[nodiscard]] static constexpr bool reads(container kind) noexcept {
    return kind == container::gzip || kind == container::zlib;
  }
  explicit inflate_reader(byte_view packed, expansion_limit limit = {})
      : packed_(packed), limit_(limit), stream_(new z_stream{}) {
    // 32: the header tells gzip from zlib.
    if (::inflateInit2(stream_.get(), 15 + 32) != Z_OK) error_ = {errc::io, 0};
  }

  /// Fills `out` as far as there is data; gives the number of bytes, less than out.size() only at the end or before an
  /// error. Errors, with the offset in the compressed bytes: errc::truncated, errc::bad_value for damaged data,
  /// errc::checksum, errc::expansion.
  [[nodiscard]] result<std::size_t> read(std::span<std::byte> out) {
    std::size_t filled = 0;
    while (filled < out.size() && !done_ && !error_) filled += some(out.subspan(filled));
    return {filled, error_};
  }

 private:
  struct closer {
    void operator()(z_stream* stream) const {
      ::inflateEnd(stream);
      delete stream;
    }
  };

  std::size_t some(std::span<std::byte> out) {
    constexpr std::size_t most = std::numeric_limits<uInt>::max() / 2;
    const byte_view rest = packed_.subspan(position_);
    stream_->next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(rest.data()));
    const std::size_t offered = rest.size() < most ? rest.size() : most, room = out.size() < most ? out.size() : most;
    stream_->avail_in = static_cast<uInt>(offered);
    stream_->next_out = reinterpret_cast<Bytef*>(out.data());
    stream_->avail_out = static_cast<uInt>(room);
    const int status = ::inflate(stream_.get(), Z_NO_FLUSH);
    const std::size_t written = room - stream_->avail_out;
    position_ += offered - stream_->avail_in;
    unfolded_ += written;
    if (status == Z_STREAM_END) {
      // Another gzip member may follow.
      if (position_ == packed_.size()) done_ = true;
      else if (::inflateReset(stream_.get()) != Z_OK) error_ = {errc::io, position_};
    } else if (status == Z_BUF_ERROR || (status == Z_OK && written == 0)) {
      if (position_ == packed_.size()) error_ = {errc::truncated, position_};
    } else if (status != Z_OK) {
      // zlib tells a wrong checksum apart by its text only.
      const bool checksum = stream_->msg != nullptr && std::strcmp(stream_->msg, "incorrect data check") == 0;
      error_ = {checksum ? errc::checksum : errc::bad_value, position_};
    }
    if (!error_ && !limit_.allows(position_, unfolded_)) error_ = {errc::expansion, position_};
    return written;
  }

  byte_view packed_;
  expansion_limit limit_;
  std::unique_ptr<z_stream, closer> stream_;
  std::size_t position_ = 0;
  std::uint64_t unfolded_ = 0;
  trace_error error_;
  bool done_ = false;
};

}  // namespace backsight::io
