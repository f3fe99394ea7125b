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
int working_sets(const arguments& asked);
int hot(const arguments& asked);
int reuse(const arguments& asked);
int opcodes(const arguments& asked);
int syscalls(const arguments& asked);

/// The calls and returns of final memtraces.
int with_calls(const arguments& asked, const call_task& task);

}  // namespace cli::memtrace
