// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "program.hpp"

namespace cli::memtrace {

int counts(const arguments& asked);
int view(const arguments& asked);
int windows(const arguments& asked);
int split(const arguments& asked);
int merge(const arguments& asked);
int check(const arguments& asked);

// What every trace of calls has, for the calls and returns of final memtraces.
int report(const arguments& asked);
int stacks(const arguments& asked);
int graph(const arguments& asked);
int export_to(const arguments& asked);

}  // namespace cli::memtrace
