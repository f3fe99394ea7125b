// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <backsight/perf/perf.hpp>

#include <support/byte_builder.hpp>

namespace backsight::test {

/// The number of a type of record.
constexpr unsigned number_of(perf::record_type type) { return static_cast<unsigned>(type); }

/// A record: its head and what follows it.
inline std::vector<std::byte> record_bytes(order o, unsigned type, unsigned misc, const byte_builder& body) {
  byte_builder out(o);
  out.u32(type).u16(misc).u16(8 + body.size()).append(body.view());
  return out.vector();
}

/// An attribute of `size` bytes: software event 0, `sample_type`, with sample_id_all.
inline std::vector<std::byte> attribute_bytes(order o, std::uint64_t sample_type, std::size_t size = 128,
                                              std::uint64_t read_format = 0, std::uint64_t registers = 0) {
  byte_builder out(o);
  out.u32(1).u32(size).u64(0).u64(1000).u64(sample_type).u64(read_format);
  // Bit 18 of the flags; a big-endian compiler puts bit n of a byte at 7 - n.
  out.u8(0).u8(0).u8(o == order::little ? 0x04 : 0x20).fill(5);
  out.fill(80 - 48);
  if (size > 80) out.u64(registers).fill(size - 88);
  else out.vector().resize(size);
  return out.vector();
}

/// A file with events of one id each (100, 101, ...), these records, and features of one text each.
inline std::vector<std::byte> file_bytes(order o, const std::vector<std::vector<std::byte>>& attributes,
                                         byte_view records, bool hostname = true, bool interrupted = false) {
  const std::size_t entry = attributes.empty() ? 144 : attributes[0].size() + 16;
  const std::size_t ids = 104, attrs = ids + attributes.size() * 8, data = attrs + attributes.size() * entry;
  byte_builder out(o);
  out.u64(perf::file_magic).u64(104).u64(entry).u64(attrs).u64(attributes.size() * entry).u64(data);
  out.u64(interrupted ? 0 : records.size()).u64(0).u64(0).u64(hostname ? 1U << 3 : 0).u64(0).u64(0).u64(0);
  for (std::size_t i = 0; i < attributes.size(); ++i) out.u64(100 + i);
  for (std::size_t i = 0; i < attributes.size(); ++i) out.append(attributes[i]).u64(ids + i * 8).u64(8);
  out.append(records);
  if (hostname && !interrupted) {
    const std::size_t text = out.size() + 16;
    out.u64(text).u64(4 + 8).u32(8).text("host").fill(4);
  }
  return out.vector();
}

/// A file that was written to a pipe.
inline std::vector<std::byte> pipe_bytes(order o, byte_view records) {
  byte_builder out(o);
  out.u64(perf::file_magic).u64(16).append(records);
  return out.vector();
}

inline std::vector<std::byte> joined(const std::vector<std::vector<std::byte>>& parts) {
  std::vector<std::byte> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace backsight::test
