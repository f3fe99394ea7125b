// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>

namespace cli {

/// Commands that do not start from a trace.
void add_cfi_commands(CLI::App& app, int& code);
/// emit-c and compile, below `cfi`.
void add_c_source_commands(CLI::App& cfi_app, int& code);
void add_sframe_command(CLI::App& cfi_app, int& code);
void add_unwind_command(CLI::App& app, int& code);

}  // namespace cli
