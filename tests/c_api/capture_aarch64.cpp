// SPDX-License-Identifier: Apache-2.0
// Takes the own registers on AArch64, those of the vector unit that callees preserve too, and walks from there. Prints
// what fails; exit code 0 when nothing does.
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>

#include <backsight/cfi/in_process.hpp>

namespace {

using backsight::cfi::native_arch;

/// Sets d8 to d15, takes the registers, and gives what they are then.
[[gnu::noinline]] std::array<std::uint64_t, 8> taken() {
  backsight::cfi::frame<native_arch> f;
  asm volatile(
      "mov x9, 0x1108\n\tfmov d8, x9\n\tmov x9, 0x1109\n\tfmov d9, x9\n\tmov x9, 0x110a\n\tfmov d10, x9\n\t"
      "mov x9, 0x110b\n\tfmov d11, x9\n\tmov x9, 0x110c\n\tfmov d12, x9\n\tmov x9, 0x110d\n\tfmov d13, x9\n\t"
      "mov x9, 0x110e\n\tfmov d14, x9\n\tmov x9, 0x110f\n\tfmov d15, x9"
      :
      :
      : "x9", "d8", "d9", "d10", "d11", "d12", "d13", "d14", "d15");
  backsight::cfi::capture(f);
  std::array<std::uint64_t, 8> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = f.value[72 + i];
  return values;
}

}  // namespace

int main() {
  const std::array<std::uint64_t, 8> values = taken();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0x1108 + i) continue;
    std::fprintf(stderr, "d%zu is %#llx\n", 8 + i, static_cast<unsigned long long>(values[i]));
    return 1;
  }
  const backsight::cfi::own_process process;
  std::array<std::uint64_t, 64> pcs{};
  const auto walked = backsight::cfi::unwind_here(std::span<std::uint64_t>(pcs), process);
  if (walked.why == backsight::cfi::stop::outermost && walked.count >= 3) return 0;
  std::fprintf(stderr, "%zu frames\n", walked.count);
  return 1;
}
