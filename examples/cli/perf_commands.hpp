// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "perf_stacks.hpp"
#include "program.hpp"

namespace cli::perf_data {

/// Prints each sample with its stack as `perf script -F fields --no-inline --ns` does.
[[nodiscard]] int print_as_perf_script(const std::string& path, const stack_options& options,
                                       const std::string& fields);
/// The same in a form of our own.
[[nodiscard]] int print_stacks(const std::string& path, const stack_options& options);

}  // namespace cli::perf_data
