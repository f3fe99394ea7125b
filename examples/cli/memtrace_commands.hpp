// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "program.hpp"

namespace CLI {
class App;
}

namespace cli::memtrace {

/// What the commands of memtraces take beside the common arguments.
struct options : arguments {
  std::optional<std::uint64_t> window;  ///< The one window to show.
  std::string index;                    ///< A saved window index, used when it exists, else made.
  bool per_window = false;
  bool force = false;                   ///< Write into a folder that is not empty.
};

int counts(const options& asked);
int view(const options& asked);
int windows(const options& asked);
int split(const options& asked);
int merge(const options& asked);
int check(const options& asked);

// What every trace of calls has, for the calls and returns of final memtraces.
int report(const arguments& asked);
int stacks(const arguments& asked);
int graph(const arguments& asked);
int export_to(const arguments& asked);

/// Adds the commands that only memtraces have.
void add_commands(CLI::App& app, int& code);

}  // namespace cli::memtrace
