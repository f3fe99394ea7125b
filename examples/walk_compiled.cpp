// SPDX-License-Identifier: Apache-2.0
// walk_compiled FOLDER walks its own stack with compiled unwinders: one for each mapped object, kept in FOLDER by
// build-id.
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <backsight/cfi/arch/x86_64.hpp>
#include <backsight/cfi/frame_sections.hpp>
#include <backsight/core/text.hpp>
#include <backsight/emit/unwinder_c/unwinder_c.hpp>
#include <backsight/io/mapped_file.hpp>

namespace cfi = backsight::cfi;
namespace unwinder_c = backsight::emit::unwinder_c;
using arch = cfi::arch::x86_64;
using slots = unwinder_c::slots<arch>;

// What the emitted runtime header declares.
struct backsight_context {
  std::uint64_t flags, r[slots::count];
  std::uint32_t error;
};
using deref_function = int (*)(void*, std::uint64_t, std::uint64_t*);
using step_function = int (*)(backsight_context*, std::uint64_t, deref_function, void*);

struct mapped {
  std::uint64_t begin, end, bias;
  std::string path;
  bool sought;
  step_function step;
};
std::string folder;
std::vector<mapped> objects;

// [compile]
step_function unwinder_of(const std::string& path) {
  const auto file = backsight::io::mapped_file::open(path.c_str());
  const auto image =
      file ? backsight::elf::open(file->bytes()) : backsight::result<backsight::elf::image>(backsight::errc::io, 0);
  const auto frames = image ? cfi::find_frame_section(*image, cfi::section_kind::eh_frame)
                            : backsight::result<cfi::frame_section>(image.error());
  if (!frames) return nullptr;
  std::string name;
  (void)backsight::text::hex_bytes(std::back_inserter(name), image->build_id());
  const std::string stem = folder + "/" + (name.empty() ? std::filesystem::path(path).filename().string() : name);
  if (!std::filesystem::exists(stem + ".so")) {
    const cfi::section<backsight::order::little> section(frames->bytes, frames->info);
    std::ofstream source(stem + ".c");
    (void)unwinder_c::write<arch>(std::ostreambuf_iterator<char>(source), std::span(&section, 1),
                                  {.registers = unwinder_c::registers::all, .deref = true});
    source.close();
    if (std::system(("cc -std=c11 -O2 -fPIC -shared -o '" + stem + ".so' '" + stem + ".c'").c_str()) != 0)
      return nullptr;
  }
  void* const handle = ::dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  return handle == nullptr ? nullptr : reinterpret_cast<step_function>(::dlsym(handle, "backsight_step"));
}
// [compile]

int add_object(dl_phdr_info* info, std::size_t, void*) {
  const std::string path = *info->dlpi_name != '\0' ? info->dlpi_name : "/proc/self/exe";
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0 || !std::filesystem::exists(path)) continue;
    const std::uint64_t begin = info->dlpi_addr + segment.p_vaddr;
    objects.push_back({begin, begin + segment.p_memsz, info->dlpi_addr, path, false, nullptr});
  }
  return 0;
}

// [walk]
int read_word(void*, std::uint64_t address, std::uint64_t* value) {
  *value = *reinterpret_cast<const std::uint64_t*>(static_cast<std::uintptr_t>(address));
  return 1;
}
std::size_t walk(backsight_context& c, std::uint64_t* pcs, std::size_t room) {
  std::size_t count = 0;
  while (count < room) {
    pcs[count++] = c.r[0];
    const std::uint64_t address = c.r[0] - ((c.flags & unwinder_c::flag_pc_is_next) != 0 ? 0 : 1);
    const auto covers = [&](const mapped& one) { return address >= one.begin && address < one.end; };
    const auto m = std::find_if(objects.begin(), objects.end(), covers);
    if (m != objects.end() && !m->sought) m->sought = true, m->step = unwinder_of(m->path);
    if (m == objects.end() || m->step == nullptr || m->step(&c, m->bias, read_word, nullptr) != 0) break;
  }
  return count;
}
// [walk]

[[gnu::noinline]] int bottom(const void*, const void*) {
  ucontext_t now;
  ::getcontext(&now);
  const auto& g = now.uc_mcontext.gregs;
  constexpr int places[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                            REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  backsight_context c{unwinder_c::flag_pc_is_next, {}, 0};
  for (std::size_t slot = 0; slot < slots::count; ++slot) {
    c.r[slot] = static_cast<std::uint64_t>(g[places[slots::numbers.register_of[slot]]]);
    c.flags |= slots::flag(slot);
  }
  std::uint64_t pcs[64];
  void* others[64];
  const std::size_t count = walk(c, pcs, 64);
  bool same = count == static_cast<std::size_t>(::backtrace(others, 64));
  // The first pcs are two instructions of this function.
  for (std::size_t i = 1; same && i < count; ++i) same = pcs[i] == reinterpret_cast<std::uintptr_t>(others[i]);
  std::printf(same ? "all frames as backtrace() finds them\n" : "the frames differ from those of backtrace()\n");
  std::exit(same && count > 3 ? 0 : 1);
}

int main(int count, char** words) {
  if (count != 2) return std::fprintf(stderr, "usage: walk_compiled FOLDER\n"), 2;
  std::filesystem::create_directories(folder = words[1]);
  ::dl_iterate_phdr(add_object, nullptr);
  int one = 1;  // Called through the C library, so that the walk goes through three objects.
  (void)std::bsearch(&one, &one, 1, sizeof one, bottom);
  return 1;
}
