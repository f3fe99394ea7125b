// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <backsight/cfi/table_format.hpp>
#include <backsight/core/saved_index.hpp>

namespace backsight::test {

/// Makes the head of a table that was changed fit again.
inline void seal_table(std::vector<std::byte>& bytes) {
  seal_saved_index<cfi::table_header>(bytes, cfi::unwind_table_kind, 1, {});
}

}  // namespace backsight::test
