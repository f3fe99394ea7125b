// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <backsight/core/bytes.hpp>

namespace cli {

struct core_options {
  std::vector<std::string> folders;  ///< with copies of the machine's files; / when there are none
  std::string format = "text";       ///< text, json or folded
  unsigned longest = 1024;           ///< frames of a stack
};

/// The first bytes are those of an ELF core file.
[[nodiscard]] bool is_core_file(backsight::byte_view head);

/// Prints the stack of each thread of a core file. Gives the exit code.
[[nodiscard]] int unwind_core(const std::string& path, const core_options& options);

}  // namespace cli
