// SPDX-License-Identifier: Apache-2.0
#include <backsight/io/file_kind.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <backsight/cfi/table_format.hpp>
#include <backsight/memtrace/index.hpp>

#include <support/catch.hpp>

using namespace backsight;
using io::file_kind;

namespace {

file_kind kind_of(std::string_view text) {
  return io::file_kind_of(std::as_bytes(std::span(text.data(), text.size())));
}

std::string elf(char byte_order, char low, char high) {
  std::string head(
      "\x7f"
      "ELF",
      4);
  head += '\2';
  head += byte_order;
  head.resize(16);
  return head + low + high;
}

}  // namespace

TEST_CASE("files are told by their first bytes") {
  CHECK(kind_of("") == file_kind::empty);
  CHECK(kind_of("\x1f\x8b") == file_kind::gzip);
  CHECK(kind_of("PK\3\4") == file_kind::zip);
  CHECK(kind_of("\x28\xb5\x2f\xfd") == file_kind::zstd);
  CHECK(kind_of(std::string_view("\xfd"
                                 "7zXZ\0",
                                 6)) == file_kind::xz);
  CHECK(kind_of("BZh9") == file_kind::bzip2);
  CHECK(kind_of("PERFILE2") == file_kind::perf_data);
  CHECK(kind_of("2ELIFREP") == file_kind::perf_data);
  CHECK(kind_of("DTiJ") == file_kind::jit_dump);
  CHECK(kind_of("Ftrace!") == file_kind::uftrace_info);
  CHECK(kind_of("STKSMP01") == file_kind::stack_samples);
  CHECK(kind_of("BSUWNTAB") == file_kind::unwind_table);
  CHECK(kind_of("BSWINDEX") == file_kind::window_index);
  CHECK(kind_of("BSUFTIME") == file_kind::time_index);
  CHECK(kind_of("{\"traceEvents\":[") == file_kind::trace_events);
  CHECK(kind_of("---\n") == file_kind::yaml);
  CHECK(kind_of("anything else") == file_kind::other);
  CHECK(kind_of("B") == file_kind::other);
}

TEST_CASE("core files are told from other ELF files in both byte orders") {
  CHECK(kind_of(elf(1, 4, 0)) == file_kind::core);
  CHECK(kind_of(elf(2, 0, 4)) == file_kind::core);
  CHECK(kind_of(elf(1, 2, 0)) == file_kind::elf);
  CHECK(kind_of(elf(1, 0, 4)) == file_kind::elf);
  CHECK(kind_of(elf(2, 0, 3)) == file_kind::elf);
  CHECK(kind_of("\x7f"
                "ELF") == file_kind::elf);
}

TEST_CASE("the magic numbers of our own files are those that are written") {
  CHECK(io::file_kind_of(cfi::unwind_table_kind.magic) == file_kind::unwind_table);
  CHECK(io::file_kind_of(memtrace::window_index_kind.magic) == file_kind::window_index);
}

TEST_CASE("every kind has a text of its own") {
  std::vector<std::string> texts;
  for (unsigned i = 0; i <= static_cast<unsigned>(file_kind::yaml); ++i) {
    const std::string text = enumerator_name(static_cast<file_kind>(i));
    for (const std::string& other : texts) CHECK(other != text);
    texts.push_back(text);
  }
  CHECK(texts.back() == "YAML");
}
