// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <backsight/core/bytes.hpp>
#include <backsight/core/cursor.hpp>
#include <backsight/core/error.hpp>

namespace backsight::cli {

/// A file of stack samples (STKSMP01): registers and stack bytes of a thread at one moment, the maps of its process,
/// and the pcs that other unwinders found. A reader for the program and the tests; the bytes must outlive it.
class stack_samples {
 public:
  struct object {
    std::string path;
    std::string build_id;  ///< In hexadecimal.
    std::uint64_t file_size = 0;
  };
  struct map {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t file_offset = 0;
    std::uint32_t object = 0;
  };
  struct sample {
    std::uint32_t thread = 0;
    std::uint32_t map_set = 0;
    std::uint32_t source = 0;
    std::uint64_t time_ns = 0;
    std::uint64_t stack_base = 0;
    std::array<std::uint64_t, 17> registers{};
    std::vector<std::vector<std::uint64_t>> expected;
    std::vector<std::uint32_t> expected_status;  ///< For each list: 0 outermost, 1 an error, 2 its limit of frames.
    byte_view stack;
  };

  /// Reads all of a file. With an error in a sample, the samples before it are there. Time and memory are linear in the
  /// file: samples do not overlap, and names are at most `longest_path` bytes long.
  static constexpr std::size_t longest_path = 4096;
  [[nodiscard]] static result<stack_samples> open(byte_view bytes) {
    stack_samples out;
    cursor<order::little> from(bytes);
    const byte_view magic = from.take(8);
    constexpr char text[] = "STKSMP01";
    if (from.failed()) return from.error();
    if (std::memcmp(magic.data(), text, 8) != 0) return {errc::bad_magic, 0};
    const auto header_size = from.read<std::uint32_t>();
    const auto machine = from.read<std::uint32_t>();
    const auto registers = from.read<std::uint32_t>();
    const auto objects = from.read<std::uint32_t>();
    const auto map_sets = from.read<std::uint32_t>();
    const auto samples = from.read<std::uint32_t>();
    const auto objects_at = from.read<std::uint64_t>();
    const auto maps_at = from.read<std::uint64_t>();
    const auto strings_at = from.read<std::uint64_t>();
    const auto samples_at = from.read<std::uint64_t>();
    if (from.failed()) return from.error();
    if (machine != 62 || registers != 17 || header_size < 72) return {errc::unsupported_type, 12};

    for (std::uint32_t i = 0; i < objects; ++i) {
      cursor<order::little> at(bytes);
      at.seek(objects_at);
      at.skip(std::uint64_t{40} * i);
      const auto path = at.read<std::uint32_t>();
      const auto id_size = at.read<std::uint32_t>();
      const byte_view id = at.take(20);
      at.skip(4);
      object o;
      o.file_size = at.read<std::uint64_t>();
      cursor<order::little> name(bytes);
      name.seek(strings_at);
      name.skip(path);
      if (at.failed()) return at.error();
      if (name.failed()) return name.error();
      const std::uint64_t name_at = name.position();
      name = cursor<order::little>(name.rest().first(std::min(name.remaining(), longest_path + 1)), name_at);
      const byte_view characters = name.c_string();
      if (name.failed()) return name.error();
      o.path.assign(reinterpret_cast<const char*>(characters.data()), characters.size());
      for (const std::byte b : id.first(id_size < 20 ? id_size : 20)) {
        o.build_id += "0123456789abcdef"[std::to_integer<unsigned>(b) >> 4];
        o.build_id += "0123456789abcdef"[std::to_integer<unsigned>(b) & 15U];
      }
      out.objects.push_back(std::move(o));
    }
    cursor<order::little> at(bytes);
    at.seek(maps_at);
    for (std::uint32_t i = 0; i < map_sets && !at.failed(); ++i) {
      const auto count = at.read<std::uint32_t>();
      at.skip(4);
      auto& set = out.map_sets.emplace_back();
      for (std::uint32_t k = 0; k < count && !at.failed(); ++k) {
        map m;
        m.begin = at.read<std::uint64_t>();
        m.end = at.read<std::uint64_t>();
        m.file_offset = at.read<std::uint64_t>();
        m.object = at.read<std::uint32_t>();
        at.skip(4);
        if (!at.failed() && m.object >= out.objects.size()) return {errc::out_of_range, at.offset() - 8};
        set.push_back(m);
      }
    }
    if (at.failed()) return at.error();

    std::uint64_t position = samples_at;
    for (std::uint32_t i = 0; i < samples; ++i) {
      cursor<order::little> rec(bytes);
      rec.seek(position);
      sample s;
      const auto size = rec.read<std::uint32_t>();
      if (rec.failed()) return {out, rec.error()};
      // What a sample holds lies inside its record.
      if (size < 4) return {out, trace_error{errc::bad_size, position}};
      if (size > rec.remaining() + 4) return {out, trace_error{errc::truncated, bytes.size()}};
      rec = cursor<order::little>(rec.rest().first(size - 4), position + 4);
      s.thread = rec.read<std::uint32_t>();
      s.map_set = rec.read<std::uint32_t>();
      s.source = rec.read<std::uint32_t>();
      const auto stack_bytes = rec.read<std::uint32_t>();
      const auto lists = rec.read<std::uint32_t>();
      s.time_ns = rec.read<std::uint64_t>();
      s.stack_base = rec.read<std::uint64_t>();
      for (auto& value : s.registers) value = rec.read<std::uint64_t>();
      for (std::uint32_t list = 0; list < lists && !rec.failed(); ++list) {
        const auto count = rec.read<std::uint32_t>();
        s.expected_status.push_back(rec.read<std::uint32_t>());
        auto& pcs = s.expected.emplace_back();
        for (std::uint32_t k = 0; k < count && !rec.failed(); ++k) pcs.push_back(rec.read<std::uint64_t>());
      }
      s.stack = rec.take(stack_bytes);
      if (rec.failed()) return {out, rec.error()};
      if (s.map_set >= out.map_sets.size()) return {out, trace_error{errc::out_of_range, position + 8}};
      position += size;
      out.samples.push_back(std::move(s));
    }
    return out;
  }

  std::vector<object> objects;
  std::vector<std::vector<map>> map_sets;
  std::vector<sample> samples;
};

/// Reads words of a stack snapshot; absent outside of it.
struct snapshot_reader {
  const std::byte* bytes = nullptr;
  std::uint64_t base = 0;
  std::uint64_t size = 0;

  [[nodiscard]] std::optional<std::uint64_t> operator()(std::uint64_t address) const noexcept {
    const std::uint64_t offset = address - base;
    if (offset + 8 > size || offset > size) return std::nullopt;
    return load<std::uint64_t, order::little>(bytes + offset);
  }
  void prefetch(std::uint64_t address) const noexcept {
#if defined(__GNUC__)
    // Outside of the snapshot too: fetching ahead never faults.
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(bytes) + (address - base)));
#else
    (void)address;
#endif
  }
};

}  // namespace backsight::cli
