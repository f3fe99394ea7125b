// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <backsight/core/bytes.hpp>
#include <backsight/io/container.hpp>

namespace backsight::io {

/// What a file is, as far as its first bytes tell. XRay logs, their profiles and memtraces are other here: they are
/// told by more than that.
enum class file_kind : std::uint8_t {
  other,
  empty,
  gzip,
  zlib,
  lz4,
  snappy,
  zip,
  zstd,
  xz,
  bzip2,
  elf,
  core,  ///< an ELF file with the memory of a process
  perf_data,
  jit_dump,
  uftrace_info,   ///< the file `info` of a uftrace directory
  stack_samples,  ///< for `backsight unwind`
  unwind_table,   ///< cfi::table
  window_index,   ///< memtrace::window_index
  time_index,     ///< uftrace::time_index
  trace_events,   ///< JSON
  yaml,
};

/// In words, as in "it is ...".
[[nodiscard]] constexpr const char* enumerator_name(file_kind kind) noexcept {
  constexpr const char* names[]{"no known kind of file",
                                "an empty file",
                                "a file packed with gzip",
                                "a file packed with zlib",
                                "a file packed with lz4",
                                "a file packed with snappy",
                                "a zip archive",
                                "a file packed with zstd",
                                "a file packed with xz",
                                "a file packed with bzip2",
                                "an ELF file",
                                "a core file",
                                "a perf.data recording",
                                "a jitdump file",
                                "the info file of a uftrace directory",
                                "a file of stack samples",
                                "an unwind table",
                                "an index of windows",
                                "an index of times",
                                "JSON",
                                "YAML"};
  return names[static_cast<unsigned>(kind) % 21];
}

/// The kind of a file whose first bytes these are: 64 are enough, and all that there are where it has fewer.
[[nodiscard]] inline file_kind file_kind_of(byte_view head) noexcept {
  if (head.empty()) return file_kind::empty;
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  struct magic {
    std::string_view begins;
    file_kind kind;
  };
  using namespace std::string_view_literals;
  if (text.starts_with("\x7f"
                       "ELF"sv)) {
    // e_type is the 17th byte, or the 18th in the other byte order; ET_CORE is 4.
    const bool big = head.size() > 5 && head[5] == std::byte{2};
    return head.size() > 17 && head[big ? 17 : 16] == std::byte{4} && head[big ? 16 : 17] == std::byte{0}
               ? file_kind::core
               : file_kind::elf;
  }
  for (const magic& one : {magic{"\x28\xb5\x2f\xfd"sv, file_kind::zstd},
                           {"\xfd"
                            "7zXZ\0"sv,
                            file_kind::xz},
                           {"BZh"sv, file_kind::bzip2},
                           {"PERFILE"sv, file_kind::perf_data},
                           {"2ELIFREP"sv, file_kind::perf_data},
                           {"DTiJ"sv, file_kind::jit_dump},
                           {"JiTD"sv, file_kind::jit_dump},
                           {"Ftrace!"sv, file_kind::uftrace_info},
                           {"STKSMP01"sv, file_kind::stack_samples},
                           {"BSUWNTAB"sv, file_kind::unwind_table},
                           {"BSWINDEX"sv, file_kind::window_index},
                           {"BSUFTIME"sv, file_kind::time_index},
                           {"{\"traceEvents\""sv, file_kind::trace_events},
                           {"{\n"sv, file_kind::trace_events},
                           {"{\""sv, file_kind::trace_events},
                           {"---\n"sv, file_kind::yaml}}) {
    if (text.starts_with(one.begins)) return one.kind;
  }
  switch (container_of(head)) {
    case container::gzip: return file_kind::gzip;
    case container::zlib: return file_kind::zlib;
    case container::lz4: return file_kind::lz4;
    case container::snappy: return file_kind::snappy;
    case container::zip: return file_kind::zip;
    case container::plain: break;
  }
  return file_kind::other;
}

}  // namespace backsight::io
