// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace backsight::test {

/// All bytes of a file; ends the program with a message when it cannot be opened.
[[nodiscard]] std::vector<std::byte> read_file(const std::string& path);

/// The path of a file of tests/data.
[[nodiscard]] std::string data_path(const std::string& name);

/// The folder named by BACKSIGHT_CORPUS; empty when the variable is not set.
[[nodiscard]] std::string corpus_path();

}  // namespace backsight::test
