// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <backsight/io/zip.hpp>

#include <support/catch.hpp>

namespace backsight::test {

/// A zip archive of members with these contents, called m0, m1, ...
[[nodiscard]] inline std::vector<std::byte> zip_of(const std::vector<std::vector<std::byte>>& contents,
                                                   bool stored = false) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* const archive = zip_source_buffer_create(nullptr, 0, 0, &error);
  REQUIRE(archive != nullptr);
  zip_source_keep(archive);
  zip_t* const zip = zip_open_from_source(archive, ZIP_TRUNCATE, &error);
  REQUIRE(zip != nullptr);
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const auto name = "m" + std::to_string(i);
    const zip_int64_t index =
        zip_file_add(zip, name.c_str(), zip_source_buffer(zip, contents[i].data(), contents[i].size(), 0), 0);
    REQUIRE(index >= 0);
    REQUIRE(zip_set_file_compression(zip, static_cast<zip_uint64_t>(index), stored ? ZIP_CM_STORE : ZIP_CM_DEFLATE,
                                     9) == 0);
  }
  REQUIRE(zip_close(zip) == 0);
  REQUIRE(zip_source_open(archive) == 0);
  std::vector<std::byte> bytes(std::size_t{1} << 20);
  const zip_int64_t size = zip_source_read(archive, bytes.data(), bytes.size());
  REQUIRE(size > 0);
  bytes.resize(static_cast<std::size_t>(size));
  zip_source_close(archive);
  zip_source_free(archive);
  return bytes;
}

}  // namespace backsight::test
