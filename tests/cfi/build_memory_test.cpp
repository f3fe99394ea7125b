// SPDX-License-Identifier: Apache-2.0
// Building a table takes less memory than one and a half times its section: a program of its own, which counts what is in use at a time.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

#include <backsight/cfi/arch/x86_64.hpp>
#include <backsight/cfi/table_builder.hpp>

#include "frame_builder.hpp"

namespace {
std::size_t in_use = 0, most = 0;
constexpr std::size_t head = alignof(std::max_align_t);
}  // namespace

void* operator new(std::size_t size) {
  auto* const memory = static_cast<std::byte*>(std::malloc(size + head));
  if (memory == nullptr) std::abort();
  *reinterpret_cast<std::size_t*>(memory) = size;
  most = std::max(most, in_use += size);
  return memory + head;
}
void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  std::byte* const begin = static_cast<std::byte*>(memory) - head;
  in_use -= *reinterpret_cast<const std::size_t*>(begin);
  std::free(begin);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

int main() {
  using namespace backsight;
  test::frame_builder frames;
  // push rbp, push rbx, sub; pops at the end, as compilers have them; of several sizes.
  for (std::size_t i = 0; i < 16000; ++i) {
    const auto size = static_cast<std::byte>(8 * (4 + i % 13));
    const std::byte code[]{std::byte{0x41},
                           std::byte{0x0e},
                           std::byte{16},
                           std::byte{0x86},
                           std::byte{2},
                           std::byte{0x42},
                           std::byte{0x0e},
                           std::byte{24},
                           std::byte{0x83},
                           std::byte{3},
                           std::byte{0x44},
                           std::byte{0x0e},
                           size,
                           std::byte{0x7f},
                           std::byte{0x0e},
                           std::byte{24},
                           std::byte{0x41},
                           std::byte{0x0e},
                           std::byte{16},
                           std::byte{0x41},
                           std::byte{0x0e},
                           std::byte{8}};
    frames.fde(code, 0x80);
  }
  const auto section = frames.section();
  const std::size_t before = in_use;
  most = in_use;
  const auto made = cfi::build_table<cfi::arch::x86_64>(section);
  if (!made) return 1;
  const double ratio = static_cast<double>(most - before) / static_cast<double>(section.bytes().size());
  std::printf("%zu bytes, %zu at a time: %.2f\n", section.bytes().size(), most - before, ratio);
  // The list of FDEs is half of the section here: it has to be gone when the table is written.
  return ratio < 1.5 ? 0 : 1;
}
