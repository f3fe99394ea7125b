// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace backsight::test {

/// For a test case that cannot run here: `if (corpus.empty()) return test::skip("BACKSIGHT_CORPUS is not set");`.
/// Prints its name and the reason; the program then ends with 77. Such a test case has a tag, `[corpus]` or `[gcc]`,
/// and its folder names the tag behind NEEDS in `backsight_add_tests`, so that ctest shows these cases as an entry of
/// their own. One that skips without is a failure of its folder.
void skip(std::string_view reason);

/// How many test cases were skipped so far.
[[nodiscard]] std::size_t skipped() noexcept;

}  // namespace backsight::test
