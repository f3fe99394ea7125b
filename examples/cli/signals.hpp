// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cli {

/// From now on the signals that end programs remove temporary files first, and a fault in a mapped input, which has
/// become shorter, ends the program with a message and exit code 1. To be called once, at the start.
void handle_signals();

}  // namespace cli
