// SPDX-License-Identifier: Apache-2.0
// The formats of examples/formats: captures, protobuf messages, line tables; every record, part and member through the
// printers.
#include "../tests/formats/walks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const backsight::byte_view bytes(reinterpret_cast<const std::byte*>(data), size);
  std::uint64_t sum = 0;
  (void)walks::walk_pcapng(bytes, &sum);
  (void)walks::walk_protobuf(bytes, &sum);
  (void)walks::walk_debug_line(bytes, &sum);
  return 0;
}
