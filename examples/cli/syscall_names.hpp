// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace cli {

enum class syscall_table { none, x86_64, aarch64 };

/// The name of a Linux system call; empty for a number without one.
[[nodiscard]] std::string_view syscall_name(syscall_table of, std::uint64_t number) noexcept;

}  // namespace cli
