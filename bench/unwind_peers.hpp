// SPDX-License-Identifier: Apache-2.0
#pragma once

// The same samples through GNU libunwind (remote accessors, search in .eh_frame_hdr) and elfutils libdw, where
// installed, and through framehop and gimli, from the library that bench/peers/build.sh makes.

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../examples/cli/sample_corpus.hpp"

#if defined(BACKSIGHT_HAS_LIBUNWIND)
#include <libunwind.h>
extern "C" int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t, unw_word_t, unw_dyn_info_t*, unw_proc_info_t*, int,
                                                  void*);
#endif
#if defined(BACKSIGHT_HAS_LIBDW)
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#endif

namespace peers {

using backsight::cli::sample_corpus;
using backsight::cli::stack_samples;

/// The file bytes of a process by load address, sorted: the read-only data that holds .eh_frame is not part of the
/// maps.
struct mapped_bytes {
  std::uint64_t begin = 0;
  backsight::byte_view bytes;
};

[[nodiscard]] inline std::vector<std::vector<mapped_bytes>> map_files(const sample_corpus& corpus) {
  std::vector<std::vector<mapped_bytes>> all;
  for (const auto& space : corpus.spaces) {
    auto& list = all.emplace_back();
    for (const auto& m : space.objects()) {
      for (const auto segment : corpus.images[m.id].segments()) {
        if (segment.type != backsight::elf::segment_load) continue;
        const auto bytes = corpus.images[m.id].slice(segment.offset, segment.file_size);
        if (bytes) list.push_back({segment.address + m.bias, *bytes});
      }
    }
    std::sort(list.begin(), list.end(), [](const auto& x, const auto& y) { return x.begin < y.begin; });
  }
  return all;
}

/// What the callbacks read from: a sample, and the files of its process.
struct target {
  const sample_corpus* corpus = nullptr;
  const stack_samples::sample* sample = nullptr;
  std::vector<std::vector<mapped_bytes>> files;

  explicit target(const sample_corpus& from) : corpus(&from), files(map_files(from)) {}

  [[nodiscard]] bool read(std::uint64_t address, std::uint64_t& value) const {
    const std::uint64_t offset = address - sample->stack_base;
    if (offset < sample->stack.size() && sample->stack.size() - offset >= 8) {
      std::memcpy(&value, sample->stack.data() + offset, 8);
      return true;
    }
    const auto& list = files[sample->map_set];
    auto at =
        std::upper_bound(list.begin(), list.end(), address, [](std::uint64_t x, const auto& y) { return x < y.begin; });
    if (at == list.begin()) return false;
    --at;
    const std::uint64_t inside = address - at->begin;
    if (inside >= at->bytes.size() || at->bytes.size() - inside < 8) return false;
    std::memcpy(&value, at->bytes.data() + inside, 8);
    return true;
  }
};

/// framehop and gimli, by the C functions of bench/peers/src/lib.rs.
class rust_peers {
 public:
  rust_peers(const char* library, const sample_corpus& corpus) : handle_(::dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) return;
    find(make_, "peers_new"), find(free_, "peers_free"), find(process_, "peers_process");
    find(framehop_, "peers_walk_framehop"), find(gimli_, "peers_walk_gimli");
    if (make_ == nullptr || free_ == nullptr || process_ == nullptr || framehop_ == nullptr || gimli_ == nullptr)
      return;
    peers_ = make_();
    for (const auto& space : corpus.spaces) {
      std::vector<module_of> modules;
      for (const auto& m : space.objects()) {
        module_of one{m.begin, m.end, m.bias, {}, {}};
        if (const auto found =
                backsight::cfi::find_frame_section(corpus.images[m.id], backsight::cfi::section_kind::eh_frame))
          one.eh_frame = {found->bytes.data(), found->bytes.size(), found->info.address};
        if (const auto found = backsight::cfi::find_frame_header(corpus.images[m.id]))
          one.header = {found->bytes.data(), found->bytes.size(), found->info.address};
        modules.push_back(one);
      }
      process_(peers_, modules.data(), modules.size());
    }
  }
  ~rust_peers() {
    if (peers_ != nullptr) free_(peers_);
  }
  rust_peers(const rust_peers&) = delete;
  rust_peers& operator=(const rust_peers&) = delete;

  [[nodiscard]] bool loaded() const noexcept { return peers_ != nullptr; }
  std::size_t walk_framehop(const stack_samples::sample& sample, std::uint64_t* pcs, std::size_t room) {
    return walk(framehop_, sample, pcs, room);
  }
  std::size_t walk_gimli(const stack_samples::sample& sample, std::uint64_t* pcs, std::size_t room) {
    return walk(gimli_, sample, pcs, room);
  }

 private:
  struct bytes_of {
    const void* bytes = nullptr;
    std::uint64_t size = 0, address = 0;
  };
  struct module_of {
    std::uint64_t begin, end, bias;
    bytes_of eh_frame, header;
  };
  struct sample_of {
    std::uint64_t registers[17];
    std::uint64_t stack_base;
    const void* stack;
    std::uint64_t stack_size;
  };
  using walk_function = std::uint64_t (*)(void*, std::uint64_t, const sample_of*, std::uint64_t*, std::uint64_t);

  template <class F>
  void find(F*& function, const char* name) {
    function = reinterpret_cast<F*>(::dlsym(handle_, name));
  }
  std::size_t walk(walk_function by, const stack_samples::sample& s, std::uint64_t* pcs, std::size_t room) {
    sample_of one{};
    std::copy(s.registers.begin(), s.registers.end(), one.registers);
    one.stack_base = s.stack_base;
    one.stack = s.stack.data();
    one.stack_size = s.stack.size();
    return static_cast<std::size_t>(by(peers_, s.map_set, &one, pcs, room));
  }

  void* handle_;
  void* peers_ = nullptr;
  void* (*make_)() = nullptr;
  void (*free_)(void*) = nullptr;
  void (*process_)(void*, const module_of*, std::uint64_t) = nullptr;
  walk_function framehop_ = nullptr, gimli_ = nullptr;
};

#if defined(BACKSIGHT_HAS_LIBUNWIND)
class libunwind {
 public:
  libunwind(const sample_corpus& corpus, unw_caching_policy_t policy) : target_(corpus) {
    for (std::size_t i = 0; i < corpus.spaces.size(); ++i) {
      spaces_.push_back(unw_create_addr_space(&accessors(), 0));
      unw_set_caching_policy(spaces_.back(), policy);
    }
  }
  ~libunwind() {
    for (unw_addr_space_t space : spaces_) unw_destroy_addr_space(space);
  }
  libunwind(const libunwind&) = delete;
  libunwind& operator=(const libunwind&) = delete;

  std::size_t walk(const stack_samples::sample& sample, std::uint64_t* pcs, std::size_t room) {
    target_.sample = &sample;
    unw_cursor_t cursor;
    if (unw_init_remote(&cursor, spaces_[sample.map_set], &target_) != 0) return 0;
    std::size_t count = 0;
    do {
      unw_word_t pc = 0;
      if (unw_get_reg(&cursor, UNW_REG_IP, &pc) < 0 || pc == 0) break;
      pcs[count++] = pc;
    } while (count < room && unw_step(&cursor) > 0);
    return count;
  }

 private:
  static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t* info, int need, void* context) {
    const auto& t = *static_cast<const target*>(context);
    const auto* object = t.corpus->spaces[t.sample->map_set].find(ip);
    if (object == nullptr) return -UNW_ENOINFO;
    const auto header = backsight::cfi::find_frame_header(t.corpus->images[object->id]);
    if (!header || header->bytes.size() < 12) return -UNW_ENOINFO;
    std::uint32_t count = 0;
    std::memcpy(&count, header->bytes.data() + 8, 4);
    unw_dyn_info_t table{};
    table.start_ip = object->begin;
    table.end_ip = object->end;
    table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
    table.u.rti.segbase = header->info.address + object->bias;
    table.u.rti.table_data = table.u.rti.segbase + 12;
    table.u.rti.table_len = std::uint64_t{count} * 8 / sizeof(unw_word_t);
    return _Ux86_64_dwarf_search_unwind_table(space, ip, &table, info, need, context);
  }
  static unw_accessors_t& accessors() {
    static unw_accessors_t all = [] {
      unw_accessors_t a{};
      a.find_proc_info = find_proc_info;
      a.put_unwind_info = [](unw_addr_space_t, unw_proc_info_t*, void*) {};
      a.get_dyn_info_list_addr = [](unw_addr_space_t, unw_word_t*, void*) -> int { return -UNW_ENOINFO; };
      a.access_mem = [](unw_addr_space_t, unw_word_t address, unw_word_t* value, int write, void* context) -> int {
        std::uint64_t read = 0;
        if (write != 0 || !static_cast<const target*>(context)->read(address, read)) return -UNW_EINVAL;
        *value = read;
        return 0;
      };
      a.access_reg = [](unw_addr_space_t, unw_regnum_t reg, unw_word_t* value, int write, void* context) -> int {
        if (write != 0 || reg < 0 || reg > 16) return -UNW_EINVAL;
        *value = static_cast<const target*>(context)->sample->registers[static_cast<std::size_t>(reg)];
        return 0;
      };
      a.access_fpreg = [](unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) -> int { return -UNW_EINVAL; };
      a.resume = [](unw_addr_space_t, unw_cursor_t*, void*) -> int { return -UNW_EINVAL; };
      a.get_proc_name = [](unw_addr_space_t, unw_word_t, char*, std::size_t, unw_word_t*, void*) -> int {
        return -UNW_EINVAL;
      };
      return a;
    }();
    return all;
  }
  target target_;
  std::vector<unw_addr_space_t> spaces_;
};
#endif

#if defined(BACKSIGHT_HAS_LIBDW)
class libdw {
 public:
  libdw(const sample_corpus& corpus, const std::string& folder) : target_(corpus) {
    static const Dwfl_Callbacks files{[](Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) { return -1; },
                                      dwfl_standard_find_debuginfo, nullptr, nullptr};
    static const Dwfl_Thread_Callbacks threads{next_thread,           nullptr, memory_read,
                                               set_initial_registers, nullptr, nullptr};
    for (const auto& space : corpus.spaces) {
      Dwfl* const dwfl = dwfl_begin(&files);
      dwfl_report_begin(dwfl);
      for (const auto& m : space.objects()) {
        const auto& object = corpus.samples.objects[m.id];
        dwfl_report_elf(dwfl, object.path.c_str(), (folder + "/" + object.build_id + ".elf").c_str(), -1, m.bias, true);
      }
      dwfl_report_end(dwfl, nullptr, nullptr);
      dwfl_attach_state(dwfl, nullptr, 1, &threads, &target_);
      processes_.push_back(dwfl);
    }
  }
  ~libdw() {
    for (Dwfl* dwfl : processes_) dwfl_end(dwfl);
  }
  libdw(const libdw&) = delete;
  libdw& operator=(const libdw&) = delete;

  std::size_t walk(const stack_samples::sample& sample, std::uint64_t* pcs, std::size_t room) {
    target_.sample = &sample;
    frames out{pcs, 0, room};
    dwfl_getthread_frames(
        processes_[sample.map_set], 1,
        [](Dwfl_Frame* frame, void* context) -> int {
          auto& to = *static_cast<frames*>(context);
          Dwarf_Addr pc = 0;
          if (to.count == to.room || !dwfl_frame_pc(frame, &pc, nullptr) || pc == 0) return DWARF_CB_ABORT;
          to.pcs[to.count++] = pc;
          return DWARF_CB_OK;
        },
        &out);
    return out.count;
  }

 private:
  struct frames {
    std::uint64_t* pcs;
    std::size_t count, room;
  };
  static pid_t next_thread(Dwfl*, void* dwfl_context, void** thread_context) {
    if (*thread_context != nullptr) return 0;
    *thread_context = dwfl_context;
    return 1;
  }
  static bool memory_read(Dwfl*, Dwarf_Addr address, Dwarf_Word* value, void* context) {
    std::uint64_t read = 0;
    if (!static_cast<const target*>(context)->read(address, read)) return false;
    *value = read;
    return true;
  }
  static bool set_initial_registers(Dwfl_Thread* thread, void* context) {
    const auto& registers = static_cast<const target*>(context)->sample->registers;
    return dwfl_thread_state_registers(thread, 0, 17, reinterpret_cast<const Dwarf_Word*>(registers.data()));
  }
  target target_;
  std::vector<Dwfl*> processes_;
};

/// The rows of a file's .eh_frame as libdw hands them out, one call for each.
class libdw_rows {
 public:
  explicit libdw_rows(backsight::byte_view file) {
    elf_version(EV_CURRENT);
    elf_ = elf_memory(const_cast<char*>(reinterpret_cast<const char*>(file.data())), file.size());
    cfi_ = elf_ == nullptr ? nullptr : dwarf_getcfi_elf(elf_);
  }
  ~libdw_rows() {
    if (cfi_ != nullptr) dwarf_cfi_end(cfi_);
    elf_end(elf_);
  }
  libdw_rows(const libdw_rows&) = delete;
  libdw_rows& operator=(const libdw_rows&) = delete;

  /// Calls `f(Dwarf_Frame*, begin)` for each row from `begin` on, an address where a function begins, up to `end`.
  template <class F>
  void walk(std::uint64_t begin, std::uint64_t end, F&& f) const {
    while (begin < end) {
      Dwarf_Frame* frame = nullptr;
      if (dwarf_cfi_addrframe(cfi_, begin, &frame) != 0) return;
      Dwarf_Addr first = 0, behind = 0;
      bool signal = false;
      dwarf_frame_info(frame, &first, &behind, &signal);
      f(frame, begin);
      std::free(frame);
      if (behind <= begin) return;
      begin = behind;
    }
  }

 private:
  Elf* elf_ = nullptr;
  Dwarf_CFI* cfi_ = nullptr;
};
#endif

}  // namespace peers
