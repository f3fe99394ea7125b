// SPDX-License-Identifier: Apache-2.0
// Registers and walks of the C interface.
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <ucontext.h>

#include <backsight/cfi/batch.hpp>
#include <backsight/cfi/unwind.hpp>

#include "modules.hpp"
#include "remote.hpp"

struct bsu_cache {
  backsight::cfi::rule_cache<bsu::arch> rules;
};

namespace bsu {
namespace {

/// Behind those of the interface are none but AArch64's vector registers, whose halves a frame can hold too: which the
/// interface does not tell.
constexpr std::size_t vector_registers = 64;
static_assert(arch::register_count <= BSU_REGISTERS || arch::elf_machine == cfi::arch::aarch64::elf_machine);

[[nodiscard]] cfi::frame<arch> frame_of(const bsu_registers& from) noexcept {
  cfi::frame<arch> f;
  f.pc = from.pc;
  f.pc_is_next = from.is_return_address == 0;
  for (std::size_t i = 0; i < f.value.size() && i < BSU_REGISTERS; ++i) f.value[i] = from.value[i];
  for (std::size_t i = vector_registers / 64; i < f.undefined.size(); ++i) f.undefined[i] = ~std::uint64_t{0};
  return f;
}

[[nodiscard]] int stop_of(cfi::stop why) noexcept {
  switch (why) {
    case cfi::stop::none: return 0;
    case cfi::stop::outermost: return BSU_OUTERMOST;
    case cfi::stop::no_object: return BSU_NO_MODULE;
    case cfi::stop::no_information: return BSU_NO_INFORMATION;
    case cfi::stop::unreadable: return BSU_UNREADABLE;
    case cfi::stop::no_progress: return BSU_NO_PROGRESS;
    case cfi::stop::bad_rule: return BSU_BAD_RULE;
    case cfi::stop::limit: return BSU_LIMIT;
  }
  return BSU_BAD_RULE;
}

/// Reads words of a snapshot.
class snapshot_memory {
 public:
  snapshot_memory() = default;
  snapshot_memory(const void* bytes, std::uint64_t address, std::uint64_t size) noexcept
      : bytes_(static_cast<const std::byte*>(bytes)), address_(address), size_(size) {}
  [[nodiscard]] std::optional<std::uint64_t> operator()(std::uint64_t address) const noexcept {
    const std::uint64_t at = address - address_;
    if (size_ < 8 || at > size_ - 8) return std::nullopt;
    return bs::load<std::uint64_t, bs::order::little>(bytes_ + at);
  }
  void prefetch(std::uint64_t address) const noexcept {
    if (address - address_ < size_) __builtin_prefetch(bytes_ + (address - address_));
  }

 private:
  const std::byte* bytes_ = nullptr;
  std::uint64_t address_ = 0, size_ = 0;
};

struct remote_memory {
  bsu_remote* from;
  [[nodiscard]] std::optional<std::uint64_t> operator()(std::uint64_t address) const noexcept {
    return (*from)(address);
  }
};

struct reader_memory {
  int (*read)(void*, std::uint64_t, std::uint64_t*);
  void* user;
  [[nodiscard]] std::optional<std::uint64_t> operator()(std::uint64_t address) const noexcept {
    std::uint64_t word = 0;
    return read(user, address, &word) == 0 ? std::optional<std::uint64_t>(word) : std::nullopt;
  }
};

template <class Memory>
[[nodiscard]] cfi::walk_result walk_with(const state& at, bsu_cache* cache, const bsu_registers& registers,
                                         std::uint32_t flags, Memory&& memory, std::span<std::uint64_t> pcs) noexcept {
  cfi::frame<arch> f = frame_of(registers);
  cfi::fallback way;
  way.frame_pointer = (flags & BSU_FRAME_POINTERS) != 0;
  if (cache != nullptr) return cfi::walk(f, at.space, memory, pcs, cache->rules, way);
  return cfi::walk(f, at.space, memory, pcs, cfi::no_cache{}, way);
}

}  // namespace
}  // namespace bsu

const char* bsu_stop_text(int why) {
  switch (why) {
    case BSU_OUTERMOST: return "outermost frame";
    case BSU_NO_MODULE: return "no module at this address";
    case BSU_NO_INFORMATION: return "no call frame information at this address";
    case BSU_UNREADABLE: return "memory cannot be read";
    case BSU_NO_PROGRESS: return "no progress";
    case BSU_BAD_RULE: return "rule cannot be evaluated";
    case BSU_LIMIT: return "too many frames";
    default: return "unknown reason";
  }
}

// What the caller has when it goes on behind its call: nothing but the return address and the stack pointer differs.
#if defined(__x86_64__)
asm(R"(
  .text
  .globl bsu_capture
  .type bsu_capture, @function
bsu_capture:
  .cfi_startproc
  movq (%rsp), %rax
  movq %rax, (%rdi)
  movl $1, 8(%rdi)
  movl $0, 12(%rdi)
  movq %rbx, 40(%rdi)
  movq %rbp, 64(%rdi)
  leaq 8(%rsp), %rdx
  movq %rdx, 72(%rdi)
  movq %r12, 112(%rdi)
  movq %r13, 120(%rdi)
  movq %r14, 128(%rdi)
  movq %r15, 136(%rdi)
  movq %rax, 144(%rdi)
  ret
  .cfi_endproc
  .size bsu_capture, .-bsu_capture
)");
#else
asm(R"(
  .text
  .globl bsu_capture
  .type bsu_capture, %function
bsu_capture:
  .cfi_startproc
  str x30, [x0]
  mov w1, 1
  stp w1, wzr, [x0, 8]
  stp x19, x20, [x0, 168]
  stp x21, x22, [x0, 184]
  stp x23, x24, [x0, 200]
  stp x25, x26, [x0, 216]
  stp x27, x28, [x0, 232]
  stp x29, x30, [x0, 248]
  mov x2, sp
  stp x2, x30, [x0, 264]
  ret
  .cfi_endproc
  .size bsu_capture, .-bsu_capture
)");
#endif

void bsu_capture_signal(bsu_registers* registers, const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  // By the numbers of DWARF.
  constexpr std::array<int, 17> places{REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                       REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  for (std::size_t i = 0; i < places.size(); ++i)
    registers->value[i] = static_cast<std::uint64_t>(machine.gregs[places[i]]);
  registers->pc = registers->value[16];
#else
  for (std::size_t i = 0; i < 31; ++i) registers->value[i] = machine.regs[i];
  registers->value[31] = machine.sp;
  registers->value[32] = registers->pc = machine.pc;
#endif
  registers->is_return_address = 0;
  registers->reserved = 0;
}

int bsu_capture_thread(bsu_registers* registers, int tid) {
  if (registers == nullptr) return BSU_BAD_ARGUMENT;
  user_regs_struct all;
  iovec where{&all, sizeof all};
  if (::ptrace(PTRACE_GETREGSET, tid, reinterpret_cast<void*>(NT_PRSTATUS), &where) != 0) return BSU_SYSTEM;
#if defined(__x86_64__)
  const std::array<unsigned long long, 17> values{all.rax, all.rdx, all.rcx, all.rbx, all.rsi, all.rdi,
                                                  all.rbp, all.rsp, all.r8,  all.r9,  all.r10, all.r11,
                                                  all.r12, all.r13, all.r14, all.r15, all.rip};
  for (std::size_t i = 0; i < values.size(); ++i) registers->value[i] = values[i];
  registers->pc = all.rip;
#else
  for (std::size_t i = 0; i < 31; ++i) registers->value[i] = all.regs[i];
  registers->value[31] = all.sp;
  registers->value[32] = registers->pc = all.pc;
#endif
  registers->is_return_address = 0;
  registers->reserved = 0;
  return BSU_OK;
}

int bsu_cache_new(bsu_cache** made) {
  if (made == nullptr) return BSU_BAD_ARGUMENT;
  return bsu::guarded([&] {
    *made = new bsu_cache;
    return BSU_OK;
  });
}

void bsu_cache_free(bsu_cache* cache) { delete cache; }

size_t bsu_walk(const bsu_process* process, bsu_cache* cache, const bsu_registers* registers, const bsu_memory* memory,
                uint64_t* pcs, size_t capacity, int* why) {
  backsight::cfi::walk_result result;
  result.why = backsight::cfi::stop::unreadable;
  if (process != nullptr && registers != nullptr && memory != nullptr && pcs != nullptr) {
    const backsight::cfi::published<bsu::state>::reader at(process->state);
    const std::span<std::uint64_t> room(pcs, capacity);
    const auto walk = [&](auto&& reader) {
      result = bsu::walk_with(*at, cache, *registers, memory->flags, reader, room);
    };
    switch (memory->kind) {
      case BSU_OWN: walk(backsight::cfi::own_memory(memory->low, memory->high)); break;
      case BSU_SNAPSHOT: walk(bsu::snapshot_memory(memory->bytes, memory->low, memory->high - memory->low)); break;
      case BSU_REMOTE:
        if (memory->remote != nullptr) walk(bsu::remote_memory{memory->remote});
        break;
      case BSU_READER:
        if (memory->read != nullptr) walk(bsu::reader_memory{memory->read, memory->user});
        break;
      default: break;
    }
  }
  if (why != nullptr) *why = bsu::stop_of(result.why);
  return result.count;
}

int bsu_walk_batch(const bsu_process* process, bsu_cache* cache, bsu_sample* samples, size_t count) {
  if (process == nullptr || (samples == nullptr && count != 0)) return BSU_BAD_ARGUMENT;
  using namespace backsight::cfi;
  const published<bsu::state>::reader at(process->state);
  std::size_t next = 0;
  using item = batch_item<bsu::arch, bsu::snapshot_memory>;
  const auto fill = [&](item& i) {
    if (next == count) return false;
    const bsu_sample& s = samples[next];
    i.start = bsu::frame_of(s.registers);
    i.space = &at->space;
    i.memory = bsu::snapshot_memory(s.stack, s.stack_address, s.stack_size);
    i.pcs = std::span<std::uint64_t>(s.pcs, s.capacity);
    i.user = next++;
    return true;
  };
  const auto done = [&](const item& i) {
    samples[i.user].count = i.result.count;
    samples[i.user].why = bsu::stop_of(i.result.why);
  };
  if (cache != nullptr) walk_batch<16, bsu::arch, bsu::snapshot_memory>(cache->rules, fill, done);
  else walk_batch<16, bsu::arch, bsu::snapshot_memory>(no_cache{}, fill, done);
  return BSU_OK;
}
