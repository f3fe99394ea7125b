// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <backsight/core/error.hpp>
#include <backsight/core/lines.hpp>

// The files sid-*.map. Source: uftrace's libmcount/record.c (writer) and utils/session.c (reader).
namespace backsight::uftrace {

/// A mapped file: addresses from `start` up to `end`. Symbols of the file are relative to `start`.
struct mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::string_view path;
  std::string_view build_id;  ///< hexadecimal; empty in old recordings
};

/// The mappings of a session, and what else its map tells. Views into the caller's bytes.
struct memory_map {
  std::vector<mapping> mappings;  ///< in the file's order
  std::uint64_t kernel_base = 0;  ///< the first kernel address, guessed from where the stack is
  std::vector<fault> faults;      ///< bad_text for lines that are not mappings
};

/// Where the kernel's part of the address space begins, by where the stack of a process lies: as uftrace guesses it
/// (utils/symbol.c, guess_kernel_base).
[[nodiscard]] constexpr std::uint64_t kernel_base_above(std::uint64_t stack) noexcept {
  // 32-bit kernels leave 1, 2, 2.75 or 3 GB to processes; 64-bit ones 512 GB, 4 TB or 128 TB.
  for (const std::uint64_t limit : {0x40000000ULL, 0x80000000ULL, 0xb0000000ULL, 0xc0000000ULL}) {
    if (stack < limit) return limit;
  }
  for (const std::uint64_t limit : {0x8000000000ULL, 0x40000000000ULL, 0x800000000000ULL}) {
    if (stack < limit) return 0 - limit;
  }
  return 0xffff000000000000;
}

/// Reads a map file. Special mappings are left out, and the tracer's own library. Allocates.
[[nodiscard]] inline memory_map read_memory_map(byte_view bytes) {
  memory_map map;
  text::lines text(text::as_text(bytes));
  while (text.next()) {
    std::string_view rest = text.line();
    if (rest.empty()) continue;
    mapping item;
    const auto start = text::take_number(rest, 16);
    const bool dash = text::take(rest, "-");
    const auto end = text::take_number(rest, 16);
    if (!start || !dash || !end || *end <= *start || !text::take(rest, " ")) {
      map.faults.push_back({errc::bad_text, text.offset(), text.line().size() + 1});
      continue;
    }
    // Protection, offset, device and inode say nothing: the writer merges segments and writes zeros.
    std::size_t fields = 0;
    for (; fields < 4; ++fields) {
      const std::size_t blank = rest.find(' ');
      if (blank == std::string_view::npos) break;
      rest.remove_prefix(blank);
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    }
    if (fields < 4 || rest.empty()) continue;
    item.start = *start;
    item.end = *end;
    if (const std::size_t id = rest.find(" build-id:"); id != std::string_view::npos) {
      item.build_id = rest.substr(id + 10);
      rest = rest.substr(0, id);
    }
    item.path = rest;
    if (item.path == "[stack]") {
      map.kernel_base = kernel_base_above(item.start);
      continue;
    }
    if (item.path.front() == '[') continue;
    // All segments of a file that follow each other make one mapping.
    if (!map.mappings.empty() && map.mappings.back().path == item.path) map.mappings.back().end = item.end;
    else map.mappings.push_back(item);
  }
  if (const auto cut = text::cut_at(text::as_text(bytes))) map.faults.push_back({errc::truncated, *cut, 0});
  return map;
}

/// Whether symbols of that file are left out: the libraries that do the tracing.
[[nodiscard]] inline bool is_tracer_library(std::string_view path) noexcept {
  const std::string_view name = text::base_name(path);
  return name == "libmcount.so" || name == "libmcount-fast.so" || name == "libmcount-single.so" ||
         name == "libmcount-fast-single.so";
}

}  // namespace backsight::uftrace
