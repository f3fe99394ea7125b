// SPDX-License-Identifier: Apache-2.0
#include <support/files.hpp>

#include <cstdio>
#include <cstdlib>

namespace backsight::test {

std::vector<std::byte> read_file(const std::string& path) {
  std::vector<std::byte> bytes;
  if (std::FILE* file = std::fopen(path.c_str(), "rb")) {
    std::byte block[65536];
    for (std::size_t size; (size = std::fread(block, 1, sizeof block, file)) != 0;) {
      bytes.insert(bytes.end(), block, block + size);
    }
    std::fclose(file);
  } else {
    std::fprintf(stderr, "cannot open %s\n", path.c_str());
    std::abort();
  }
  return bytes;
}

std::string data_path(const std::string& name) { return std::string(BACKSIGHT_TEST_DATA) + "/" + name; }

std::string corpus_path() {
  const char* const path = std::getenv("BACKSIGHT_CORPUS");
  return path == nullptr ? std::string() : path;
}

}  // namespace backsight::test
