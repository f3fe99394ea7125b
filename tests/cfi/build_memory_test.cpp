// SPDX-License-Identifier: Apache-2.0 Building a table takes less memory than one and a half times its section, and for
// a small section no more than 0.1 MB besides: a program of its own, which counts what is in use at a time.
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

/// A section of so many functions that push rbp, push rbx, sub; and pop at the end, as compilers have them; of several
/// sizes.
bool build(std::size_t functions, double ratio, std::size_t more) {
  using namespace backsight;
  test::frame_builder frames;
  for (std::size_t i = 0; i < functions; ++i) {
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
  if (!made) return false;
  const std::size_t peak = most - before;
  std::printf("%zu bytes, %zu at a time\n", section.bytes().size(), peak);
  return static_cast<double>(peak) < ratio * static_cast<double>(section.bytes().size()) + static_cast<double>(more);
}

int main() {
  // The list of FDEs is half of a section here: it has to be gone when the table is written. What the interpreter and
  // the learner of sequences work in does not depend on the size of the section, or stops growing: it is all that small
  // ones take.
  const bool good = build(16000, 1.5, 0);
  return build(10, 2, 65536) && build(300, 2, 100000) && build(3000, 2, 100000) && good ? 0 : 1;
}
