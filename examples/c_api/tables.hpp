// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "modules.hpp"

namespace bsu {

/// The table of an ELF file, of its bytes, or of a .eh_frame section at an address; one of enum bsu_error.
[[nodiscard]] int build_from_file(const char* path, shared_table& made);
[[nodiscard]] int build_from_image(bs::byte_view bytes, shared_table& made);
[[nodiscard]] int build_from_section(bs::byte_view bytes, std::uint64_t address, shared_table& made);

}  // namespace bsu
