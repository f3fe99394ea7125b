// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <backsight/emit/unwinder_c/detail/c_rows.hpp>
#include <backsight/emit/unwinder_c/detail/c_writer.hpp>
#include <backsight/emit/unwinder_c/detail/slots.hpp>

namespace backsight::emit::unwinder_c {

/// Whether emitted functions may have a text as the prefix of their names.
[[nodiscard]] constexpr bool is_identifier(std::string_view text) noexcept {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  for (const char c : text) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!fits) return false;
  }
  return true;
}

namespace detail {

/// The context that all emitted files of a machine share; guarded, so that several may be compiled together.
template <class Arch, class Out>
void write_context(c_writer<Out>& out) {
  using slots = unwinder_c::slots<Arch>;
  out("#ifndef BACKSIGHT_CONTEXT\n#define BACKSIGHT_CONTEXT ", Arch::elf_machine,
      "\n/* The registers of a frame. Slot 0 is the pc; flags has a bit for each slot whose value is known: bit 0 to 3 "
      "for\n",
      "   slots 0 to 3, bit slot + 4 for others. Further bits: 0x10 the pc is an instruction to be executed (the first "
      "frame,\n",
      "   or one that a signal interrupted), 0x20 the walk is at its end, 0x80 error. error: 1 outermost frame, 2 no "
      "module,\n",
      "   3 no call frame information, 4 unreadable, 5 no progress, 6 bad rule, 7 limit of frames.\n   DWARF numbers "
      "of slots:");
  for (std::size_t slot = 0; slot < slots::count; ++slot) {
    const unsigned reg = slots::numbers.register_of[slot];
    if (reg == slots::none) out(" pc");
    else out(' ', reg);
  }
  out(" */\nstruct backsight_context {\n  uint64_t flags;\n  uint64_t r[", slots::count, "];\n  uint32_t error;\n};\n",
      "/* Reads the word of ", Arch::address_size, " bytes at an address; 0 when it cannot be read. */\n",
      "typedef int (*backsight_deref)(void *memory, uint64_t address, uint64_t *value);\n",
      "/* Functions that must not become part of others: their callers are small without them. */\n",
      "#if defined(__GNUC__)\n#define BACKSIGHT_OUTLINE __attribute__((noinline))\n#else\n#define "
      "BACKSIGHT_OUTLINE\n#endif\n",
      "#elif BACKSIGHT_CONTEXT != ", Arch::elf_machine, "\n#error \"emitted code for two machines\"\n#endif\n\n");
}

template <class Arch, class Out>
void write_runtime(c_writer<Out>& out) {
  out("/* Walks stacks with emitted unwinders for ", Arch::name, ". Made by backsight; do not edit. */\n",
      "#ifndef BACKSIGHT_RUNTIME\n#define BACKSIGHT_RUNTIME\n#include <stddef.h>\n#include <stdint.h>\n\n");
  write_context<Arch>(out);
  std::uint64_t known = unwinder_c::flag_pc_is_next;
  for (std::size_t slot = 0; slot < unwinder_c::slots<Arch>::count; ++slot)
    known |= unwinder_c::slots<Arch>::flag(slot);
  out("/* The flags of a first frame whose registers are all known. */\n#define BACKSIGHT_ALL_KNOWN ", c_wide{known},
      "\n\n");
  out(R"(typedef int (*backsight_step)(struct backsight_context *c, uint64_t bias, backsight_deref deref, void *memory);

/* A mapped piece of an object's code: load addresses, load address minus emitted address, and the object's unwinder. */
struct backsight_module {
  uint64_t begin, end, bias;
  backsight_step step;
};

/* The module that covers an address, or null. Modules ascend and do not overlap. */
static inline const struct backsight_module *backsight_find_module(const struct backsight_module *modules, size_t count,
                                                                   uint64_t address) {
  size_t low = 0;
  if (count == 0) return NULL;
  while (count > 1) {
    const size_t half = count / 2;
    if (modules[low + half].begin <= address) low += half;
    count -= half;
  }
  return address >= modules[low].begin && address < modules[low].end ? &modules[low] : NULL;
}

/* Walks from a frame outwards, writes the pc of each frame, and gives their number; c->error says why it ended.
   Allocates nothing, and may be called in a signal handler when deref may. */
static inline size_t backsight_walk(struct backsight_context *c, const struct backsight_module *modules, size_t count,
                                    backsight_deref deref, void *memory, uint64_t *pcs, size_t limit) {
  size_t frames = 0;
  c->error = 0;
  while (frames < limit) {
    const struct backsight_module *found;
    pcs[frames++] = c->r[0];
    found = backsight_find_module(modules, count, c->r[0] - ((c->flags & UINT64_C(0x10)) != 0 ? 0u : 1u));
    if (found == NULL || found->step == NULL) {
      c->flags |= UINT64_C(0x80);
      c->error = 2;
      return frames;
    }
    if (found->step(c, found->bias, deref, memory) != 0) return frames;
  }
  c->flags |= UINT64_C(0x80);
  c->error = 7;
  return frames;
}

#endif
)");
}

}  // namespace detail

}  // namespace backsight::emit::unwinder_c
