// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <support/files.hpp>

namespace backsight::test {

/// The rows of a table of tests/data/memtrace/expected, by tid and window: the fields behind those two.
[[nodiscard]] inline std::map<std::pair<std::string, std::string>, std::vector<std::string>> table(
    const std::string& name) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> rows;
  std::ifstream file(data_path("memtrace/expected/" + name));
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> fields;
    std::istringstream words(line);
    for (std::string field; std::getline(words, field, '\t');) fields.push_back(field);
    rows[{fields.at(0), fields.at(1)}] = {fields.begin() + 2, fields.end()};
  }
  return rows;
}

/// The threads of the set `yield` of tests/data/memtrace, as their files are named.
inline const std::vector<std::string> yield_files{"24335.3353", "24336.5587", "24337.8675",
                                                  "24338.6180", "24339.0887", "24340.6622"};

}  // namespace backsight::test
