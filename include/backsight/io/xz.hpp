// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <lzma.h>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/io/container.hpp>

namespace backsight::io {

/// Unpacks an .xz file, such as the section .gnu_debugdata is. Needs liblzma. Errors, with the offset in the packed
/// bytes: errc::truncated, errc::bad_value for damaged data or no such file, errc::expansion, errc::io when there is no
/// memory.
[[nodiscard]] inline result<std::vector<std::byte>> unpack_xz(byte_view packed, expansion_limit limit = {}) {
  constexpr std::uint64_t most_memory = std::uint64_t{1} << 30;
  constexpr std::size_t block = std::size_t{1} << 18;
  lzma_stream stream = LZMA_STREAM_INIT;
  if (::lzma_stream_decoder(&stream, most_memory, LZMA_CONCATENATED) != LZMA_OK) return {errc::io, 0};
  std::vector<std::byte> out;
  std::size_t size = 0;
  stream.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  lzma_ret code = LZMA_OK;
  trace_error error;
  while (code == LZMA_OK) {
    if (out.size() - size < block) out.resize(out.size() * 2 < size + block ? size + block : out.size() * 2);
    stream.next_out = reinterpret_cast<std::uint8_t*>(out.data() + size);
    stream.avail_out = out.size() - size;
    code = ::lzma_code(&stream, LZMA_FINISH);
    size = out.size() - stream.avail_out;
    if (!limit.allows(packed.size() - stream.avail_in, size)) {
      error = {errc::expansion, packed.size() - stream.avail_in};
      break;
    }
  }
  const std::uint64_t at = packed.size() - stream.avail_in;
  ::lzma_end(&stream);
  if (error) return error;
  if (code == LZMA_BUF_ERROR) return {errc::truncated, at};
  if (code != LZMA_STREAM_END) return {errc::bad_value, at};
  out.resize(size);
  return out;
}

}  // namespace backsight::io
