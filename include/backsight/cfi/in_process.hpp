// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <link.h>

#include <backsight/cfi/address_space.hpp>
#include <backsight/cfi/arch/aarch64.hpp>
#include <backsight/cfi/arch/x86_64.hpp>
#include <backsight/cfi/header_table.hpp>
#include <backsight/cfi/lookup.hpp>
#include <backsight/cfi/table_builder.hpp>
#include <backsight/cfi/unwind.hpp>
#include <backsight/core/bytes.hpp>

// Unwinding the own process: x86-64 and AArch64, ELF, GCC or Clang.

namespace backsight::cfi {

#if defined(__x86_64__)
using native_arch = arch::x86_64;
#elif defined(__aarch64__)
using native_arch = arch::aarch64;
#else
#error "backsight: in_process.hpp knows x86-64 and AArch64"
#endif

/// Reads words of the own memory. Trusts call frame information as libgcc does, but for addresses outside of its bounds
/// and unaligned ones: give the bounds of the stack where they are known. Safe in a signal handler.
class own_memory {
 public:
  /// Everything but the first page.
  own_memory() noexcept : own_memory(4096, ~std::uint64_t{0}) {}
  /// The aligned words in [low, high).
  own_memory(std::uint64_t low, std::uint64_t high) noexcept {
    const std::uint64_t first = low / 8 + (low % 8 != 0 ? 1 : 0);
    low_ = first * 8;
    words_ = high / 8 > first ? high / 8 - first : 0;
  }

  // Frames lie between what AddressSanitizer has put on the stack.
  [[gnu::no_sanitize_address]] std::optional<std::uint64_t> operator()(std::uint64_t address) const noexcept {
    // The number of the word; rotating makes a huge one of an unaligned address.
    if (std::rotr(address - low_, 3) >= words_) [[unlikely]]
      return std::nullopt;
    return *reinterpret_cast<const volatile std::uint64_t*>(address);
  }

 private:
  std::uint64_t low_;
  std::uint64_t words_;
};

/// Takes the registers that a callee preserves, the stack pointer and the pc, all at the same instruction of the
/// function that calls this.
// Inline always: the registers are those of the function that calls it.
[[gnu::always_inline]] inline void capture(frame<native_arch>& f) noexcept {
#if defined(__x86_64__)
  std::uint64_t saved[8];
  asm volatile(
      "leaq 0f(%%rip), %%rax\n0:\n\t"
      "movq %%rax, (%0)\n\tmovq %%rsp, 8(%0)\n\tmovq %%rbp, 16(%0)\n\tmovq %%rbx, 24(%0)\n\t"
      "movq %%r12, 32(%0)\n\tmovq %%r13, 40(%0)\n\tmovq %%r14, 48(%0)\n\tmovq %%r15, 56(%0)"
      :
      : "r"(saved)
      : "rax", "memory");
  f.pc = f.value[16] = saved[0];
  f.value[7] = saved[1];
  f.value[6] = saved[2];
  f.value[3] = saved[3];
  for (std::size_t i = 0; i < 4; ++i) f.value[12 + i] = saved[4 + i];
#else
  std::uint64_t saved[22];
  asm volatile(
      "adr x16, 0f\n0:\n\tmov x17, sp\n\tstp x16, x17, [%0]\n\tstp x19, x20, [%0, #16]\n\tstp x21, x22, [%0, #32]\n\t"
      "stp x23, x24, [%0, #48]\n\tstp x25, x26, [%0, #64]\n\tstp x27, x28, [%0, #80]\n\tstp x29, x30, [%0, #96]\n\t"
      "stp d8, d9, [%0, #112]\n\tstp d10, d11, [%0, #128]\n\tstp d12, d13, [%0, #144]\n\tstp d14, d15, [%0, #160]"
      :
      : "r"(saved)
      : "x16", "x17", "memory");
  f.pc = f.value[32] = saved[0];
  f.value[31] = saved[1];
  for (std::size_t i = 0; i < 12; ++i) f.value[19 + i] = saved[2 + i];
  for (std::size_t i = 0; i < 8; ++i) f.value[72 + i] = saved[14 + i];
#endif
}

/// The call frame information of a loaded object, in its own mapped segments: for programs that keep tables of their
/// own process otherwise than own_process does. Valid while the object is loaded.
class loaded_frames {
 public:
  /// Absent for an object without .eh_frame_hdr.
  [[nodiscard]] static std::optional<loaded_frames> of(const dl_phdr_info& info) noexcept {
    loaded_frames found;
    found.base_ = info.dlpi_addr;
    for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
      const auto& segment = info.dlpi_phdr[i];
      if (segment.p_type != PT_GNU_EH_FRAME) continue;
      found.header_address_ = info.dlpi_addr + segment.p_vaddr;
      found.header_ = bytes_at(found.header_address_, segment.p_memsz);
    }
    if (found.header_.empty()) return std::nullopt;
    const auto table = header_table<order::little>::open(found.header_, found.header_address_, 8);
    found.eh_frame_ = table.partial().eh_frame_address();
    for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
      const auto& segment = info.dlpi_phdr[i];
      const std::uint64_t begin = info.dlpi_addr + segment.p_vaddr;
      if (segment.p_type != PT_LOAD || found.eh_frame_ < begin || found.eh_frame_ - begin >= segment.p_memsz) continue;
      found.to_segment_end_ = bytes_at(found.eh_frame_, segment.p_memsz - (found.eh_frame_ - begin));
    }
    if (found.to_segment_end_.empty()) return std::nullopt;
    return found;
  }

  /// Where .eh_frame_hdr lies, which tells objects apart that are loaded at one time.
  [[nodiscard]] std::uint64_t header_address() const noexcept { return header_address_; }
  /// Tells objects apart that lie at the same place, one after the other: by the bytes of .eh_frame_hdr.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const std::byte b : header_) hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3U;
    return hash;
  }
  /// The object's table, for its link-time addresses: by the header's list of FDEs, or without one by a look at all of
  /// them. Allocates. Errors: those of build_table.
  [[nodiscard]] result<table> build_table() const {
    section_info about;
    about.address = eh_frame_ - base_;
    about.code_at_zero = false;
    const section<order::little> in(to_segment_end_, about);
    const auto listed = header_table<order::little>::open(header_, header_address_ - base_, 8);
    if (listed.partial().has_table()) return cfi::build_table<native_arch>(in, listed.partial());
    const auto bytes = in.bytes().first(static_cast<std::size_t>(eh_frame_extent(in, listed.partial())));
    return cfi::build_table<native_arch>(section<order::little>(bytes, in.info()));
  }

 private:
  [[nodiscard]] static byte_view bytes_at(std::uint64_t address, std::uint64_t size) noexcept {
    return {reinterpret_cast<const std::byte*>(address), static_cast<std::size_t>(size)};
  }

  byte_view header_, to_segment_end_;
  std::uint64_t base_ = 0, header_address_ = 0, eh_frame_ = 0;
};

/// The objects of the own process and a table for each. Construct it, or call refresh() after dlopen and dlclose,
/// outside of signal handlers: both allocate. Reading is safe for any thread and in signal handlers.
class own_process {
 public:
  own_process() { refresh(); }
  own_process(const own_process&) = delete;
  own_process& operator=(const own_process&) = delete;

  /// Takes up the mapped objects that the dynamic loader has now; keeps the tables of those that stay. Nobody may read
  /// meanwhile.
  void refresh() {
    std::vector<object> before = std::move(objects_);
    objects_.clear();
    space_ = {};
    state now{this, &before};
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* context) {
          auto& s = *static_cast<state*>(context);
          s.owner->add_module(*info, *s.before);
          return 0;
        },
        &now);
  }

  [[nodiscard]] const address_space<native_arch>& space() const noexcept { return space_; }
  /// Bytes of all tables.
  [[nodiscard]] std::size_t table_bytes() const noexcept {
    std::size_t sum = 0;
    for (const object& o : objects_) sum += o.compiled.bytes().size();
    return sum;
  }

 private:
  struct object {
    std::uint64_t base = 0;
    std::uint64_t header = 0;
    std::uint64_t print = 0;
    table compiled;
  };
  struct state {
    own_process* owner;
    std::vector<object>* before;
  };

  void add_module(const dl_phdr_info& info, std::vector<object>& before) {
    const auto found = loaded_frames::of(info);
    if (!found) return;
    object o;
    o.base = info.dlpi_addr;
    o.header = found->header_address();
    o.print = found->fingerprint();
    for (object& old : before) {
      if (old.base == o.base && old.header == o.header && old.print == o.print) o.compiled = std::move(old.compiled);
    }
    if (o.compiled.view().empty()) {
      auto built = found->build_table();
      if (!built) return;
      o.compiled = std::move(built.value());
    }
    for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
      const auto& segment = info.dlpi_phdr[i];
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
      const std::uint64_t begin = info.dlpi_addr + segment.p_vaddr;
      (void)space_.add({begin, begin + segment.p_memsz, info.dlpi_addr, o.compiled.view(),
                        static_cast<std::uint32_t>(objects_.size())});
    }
    objects_.push_back(std::move(o));
  }

  address_space<native_arch> space_;
  std::vector<object> objects_;
};

/// Where a loaded object lies, found without a table: by _dl_find_object where glibc has it (no lock, safe in signal
/// handlers), else by dl_iterate_phdr.
struct own_object {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t eh_frame_hdr = 0;
};

/// The loaded object that covers an address of code; absent when none does.
[[nodiscard]] inline std::optional<own_object> find_own_object(std::uint64_t address) noexcept {
#if defined(DLFO_STRUCT_HAS_EH_DBASE)
  dl_find_object found{};
  if (::_dl_find_object(reinterpret_cast<void*>(address), &found) != 0) return std::nullopt;
  return own_object{reinterpret_cast<std::uint64_t>(found.dlfo_map_start),
                    reinterpret_cast<std::uint64_t>(found.dlfo_map_end),
                    reinterpret_cast<std::uint64_t>(found.dlfo_eh_frame)};
#else
  struct search {
    std::uint64_t address;
    std::optional<own_object> found;
  } s{address, std::nullopt};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* context) {
        auto& wanted = *static_cast<search*>(context);
        own_object here;
        bool covers = false;
        for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          const std::uint64_t begin = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_GNU_EH_FRAME) here.eh_frame_hdr = begin;
          if (segment.p_type != PT_LOAD) continue;
          if (here.end == 0) here.begin = begin;
          here.end = begin + segment.p_memsz;
          covers = covers || wanted.address - begin < segment.p_memsz;
        }
        if (covers) wanted.found = here;
        return covers ? 1 : 0;
      },
      &s);
  return s.found;
#endif
}

/// Writes the pcs of the calling thread's frames, the calling function's first. Allocates nothing, takes no lock, and
/// may be called in a signal handler. Modules that `process` does not know end the walk.
// Inline always, as `capture`: the first frame is that of the calling function.
template <class Cache = const no_cache>
[[gnu::always_inline]] inline walk_result unwind_here(std::span<std::uint64_t> pcs, const own_process& process,
                                                      Cache&& cache = no_cache{},
                                                      const own_memory& memory = {}) noexcept {
  frame<native_arch> f;
  capture(f);
  return walk(f, process.space(), memory, pcs, cache);
}

}  // namespace backsight::cfi
