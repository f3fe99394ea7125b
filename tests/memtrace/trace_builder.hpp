// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <backsight/io/inflate.hpp>
#include <backsight/io/lz4_frame.hpp>
#include <backsight/io/snappy_frame.hpp>
#include <backsight/io/zip.hpp>
#include <backsight/memtrace/raw_records.hpp>
#include <backsight/memtrace/records.hpp>
#include <backsight/memtrace/windows.hpp>

#include <support/catch.hpp>
#include <support/drain.hpp>
#include <support/files.hpp>

namespace backsight::test {

/// Puts small final traces together, record by record.
class trace_builder {
 public:
  trace_builder& put(memtrace::trace_type type, std::uint16_t size, std::uint64_t value) {
    owned_record<memtrace::entry_record, order::little> item;
    item.set(memtrace::entry_record::type, type)
        .set(memtrace::entry_record::size, size)
        .set(memtrace::entry_record::addr, value);
    bytes_.insert(bytes_.end(), item.bytes().begin(), item.bytes().end());
    return *this;
  }
  trace_builder& marker(memtrace::marker_type type, std::uint64_t value) {
    return put(memtrace::trace_type::marker, static_cast<std::uint16_t>(type), value);
  }
  /// The header of raw2trace's files: x86-64, with encodings.
  trace_builder& header(std::uint64_t tid = 7, std::uint64_t version = 7, std::uint64_t type = 0xe40) {
    using kind = memtrace::marker_type;
    put(memtrace::trace_type::header, 0, version).marker(kind::version, version).marker(kind::filetype, type);
    put(memtrace::trace_type::thread, 4, tid).put(memtrace::trace_type::pid, 4, tid);
    return marker(kind::cache_line_size, 64).marker(kind::chunk_instr_count, 1000).marker(kind::page_size, 4096);
  }
  /// A unit header.
  trace_builder& unit(std::uint64_t microseconds, std::uint64_t window) {
    using kind = memtrace::marker_type;
    return marker(kind::timestamp, microseconds).marker(kind::window_id, window).marker(kind::cpu_id, 0);
  }
  trace_builder& time(std::uint64_t microseconds) {
    return marker(memtrace::marker_type::timestamp, microseconds).marker(memtrace::marker_type::cpu_id, 0);
  }
  /// An instruction without its bytes.
  trace_builder& instruction(std::uint64_t pc, std::uint16_t size,
                             memtrace::trace_type type = memtrace::trace_type::instr) {
    return put(type, size, pc);
  }
  /// An instruction with its bytes in front.
  trace_builder& encoded(std::uint64_t pc, std::vector<unsigned> code,
                         memtrace::trace_type type = memtrace::trace_type::instr) {
    std::uint64_t word = 0;
    for (std::size_t i = code.size(); i-- != 0;) word = word << 8 | code[i];
    return put(memtrace::trace_type::encoding, static_cast<std::uint16_t>(code.size()), word)
        .put(type, static_cast<std::uint16_t>(code.size()), pc);
  }
  trace_builder& exit(std::uint64_t tid = 7) {
    return put(memtrace::trace_type::thread_exit, 4, tid).put(memtrace::trace_type::footer, 0, 0);
  }
  /// The beginning of a chunk: what it repeats.
  trace_builder& chunk(std::uint64_t ordinal, std::uint64_t microseconds) {
    return marker(memtrace::marker_type::record_ordinal, ordinal).time(microseconds);
  }
  /// A change of threads inside of a file, as core-sharded traces have it.
  trace_builder& thread(std::uint64_t tid) {
    return put(memtrace::trace_type::thread, 0, tid).put(memtrace::trace_type::pid, 0, 1);
  }
  /// Where the next record comes.
  [[nodiscard]] std::uint64_t here() const { return bytes_.size(); }
  [[nodiscard]] byte_view view() const { return bytes_; }
  [[nodiscard]] std::vector<std::byte>& vector() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Puts small raw traces together, entry by entry.
class raw_builder {
 public:
  /// HEADER, THREAD and PID.
  raw_builder& header(std::uint64_t tid = 7, std::uint64_t type = 0xc40, std::uint64_t version = 8) {
    owned_record<memtrace::raw_header, order::little> item;
    item.set(memtrace::raw_header::type, memtrace::raw_type::extended)
        .set(memtrace::raw_header::ext, memtrace::raw_extension::header);
    item.set(memtrace::raw_header::version, static_cast<std::uint8_t>(version))
        .set(memtrace::raw_header::file_type, type);
    return append(item.bytes()).entry(memtrace::raw_type::thread, tid).entry(memtrace::raw_type::pid, tid);
  }
  raw_builder& entry(memtrace::raw_type type, std::uint64_t value) {
    owned_record<memtrace::raw_entry, order::little> item;
    item.set(memtrace::raw_entry::type, type).set(memtrace::raw_entry::value, value);
    return append(item.bytes());
  }
  raw_builder& marker(memtrace::marker_type type, std::uint64_t value,
                      memtrace::raw_extension extension = memtrace::raw_extension::marker) {
    owned_record<memtrace::raw_marker, order::little> item;
    item.set(memtrace::raw_marker::type, memtrace::raw_type::extended).set(memtrace::raw_marker::ext, extension);
    item.set(memtrace::raw_marker::marker_type, type).set(memtrace::raw_marker::value, value);
    return append(item.bytes());
  }
  raw_builder& time(std::uint64_t microseconds) {
    return entry(memtrace::raw_type::timestamp, microseconds).marker(memtrace::marker_type::cpu_id, 3);
  }
  raw_builder& unit(std::uint64_t microseconds, std::uint64_t window) {
    return entry(memtrace::raw_type::timestamp, microseconds)
        .marker(memtrace::marker_type::window_id, window)
        .marker(memtrace::marker_type::cpu_id, 3);
  }
  raw_builder& block(std::uint16_t instructions, memtrace::raw_type type = memtrace::raw_type::pc) {
    owned_record<memtrace::raw_block, order::little> item;
    item.set(memtrace::raw_block::type, type)
        .set(memtrace::raw_block::instr_count, instructions)
        .set(memtrace::raw_block::modoffs, 0x1000U);
    return append(item.bytes());
  }
  raw_builder& memref(std::uint64_t address) { return entry(memtrace::raw_type::memref, address); }
  raw_builder& footer() { return marker(memtrace::marker_type{}, 0, memtrace::raw_extension::footer); }
  [[nodiscard]] std::uint64_t here() const { return bytes_.size(); }
  [[nodiscard]] byte_view view() const { return bytes_; }

 private:
  raw_builder& append(byte_view more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
    return *this;
  }
  std::vector<std::byte> bytes_;
};

/// The unpacked bytes of a file, told by its first bytes.
[[nodiscard]] inline result<std::vector<std::byte>> unpack(const std::vector<std::byte>& packed,
                                                           std::size_t piece = 4096) {
  switch (io::container_of(packed)) {
    case io::container::gzip:
    case io::container::zlib: return drain(io::inflate_reader(packed), piece);
    case io::container::lz4: return drain(io::lz4_reader(packed), piece);
    case io::container::snappy: return drain(io::snappy_reader(packed), piece);
    case io::container::zip: {
      const auto archive = io::zip_archive::open(packed);
      if (!archive) return archive.error();
      return drain(archive->read_from(0), piece);
    }
    case io::container::plain: break;
  }
  return packed;
}

/// The unpacked bytes of a file of tests/data/memtrace.
[[nodiscard]] inline std::vector<std::byte> load_trace(const std::string& name) {
  return unpack(read_file(data_path("memtrace/" + name))).partial();
}

/// The windows of a final file.
[[nodiscard]] inline std::vector<memtrace::window> windows_of(byte_view file) {
  const auto trace = memtrace::final_trace::open(file);
  REQUIRE(trace);
  std::vector<memtrace::window> all;
  for (const memtrace::window& one : trace->windows()) all.push_back(one);
  return all;
}

}  // namespace backsight::test
