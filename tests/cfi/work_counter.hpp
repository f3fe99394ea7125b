// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace backsight::test {

/// The number of basic blocks that were executed in sources compiled with -fsanitize-coverage=trace-pc.
[[nodiscard]] std::uint64_t work_done();

}  // namespace backsight::test
