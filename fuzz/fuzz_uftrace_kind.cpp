// SPDX-License-Identifier: Apache-2.0
// The target of one kind of file of a uftrace directory: the function of fuzz_uftrace_file.cpp that BACKSIGHT_FUZZ_KIND
// names.
#include <cstddef>
#include <cstdint>

#include <backsight/core/bytes.hpp>

namespace kinds {
std::size_t BACKSIGHT_FUZZ_KIND(backsight::byte_view bytes);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const backsight::byte_view bytes(reinterpret_cast<const std::byte*>(data), size);
  return kinds::BACKSIGHT_FUZZ_KIND(bytes) == static_cast<std::size_t>(-2) ? 1 : 0;
}
