// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "program.hpp"

namespace cli::memtrace {

int counts(const arguments& asked);
int view(const arguments& asked);

}  // namespace cli::memtrace
