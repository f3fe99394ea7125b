// SPDX-License-Identifier: Apache-2.0
// Code made at run time, for the C interface.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <dlfcn.h>

#include <backsight/cfi/frame_sections.hpp>
#include <backsight/cfi/section.hpp>
#include <backsight/elf/sections.hpp>
#include <backsight/perf/jitdump.hpp>

#include "tables.hpp"

namespace bsu {
namespace {

/// Where the entries of a section that ends with an entry of length 0 end.
[[nodiscard]] std::size_t size_of_entries(const std::byte* at) noexcept {
  std::size_t size = 0;
  for (;;) {
    std::uint32_t length = 0;
    std::memcpy(&length, at + size, sizeof length);
    if (length == 0) return size + 4;
    if (length == 0xffffffffU) {
      std::uint64_t wide = 0;
      std::memcpy(&wide, at + size + 4, sizeof wide);
      size += 12 + static_cast<std::size_t>(wide);
    } else {
      size += 4 + std::size_t{length};
    }
  }
}

/// The addresses that the FDEs of a section cover.
[[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> code_of(
    const cfi::section<bs::order::little>& in) noexcept {
  std::uint64_t low = ~std::uint64_t{0}, high = 0;
  for (const cfi::entry& e : in.entries()) {
    if (e.is_cie || e.error != bs::errc::ok || e.is_terminator()) continue;
    const auto c = in.cie_at(e.cie_offset);
    const auto f = c ? in.parse_fde(e, *c) : bs::result<cfi::fde>(bs::errc::not_found, 0);
    if (!f || f->begin >= f->end) continue;
    low = std::min(low, f->begin);
    high = std::max(high, f->end);
  }
  if (low >= high) return std::nullopt;
  return std::pair(low, high);
}

/// A module of the bytes of .eh_frame at an address, whose code is what it covers.
[[nodiscard]] int module_of(bs::byte_view bytes, std::uint64_t address, code_module& made) {
  cfi::section_info about;
  about.address = address;
  about.code_at_zero = true;
  const auto code = code_of(cfi::section<bs::order::little>(bytes, about));
  if (!code) return BSU_NO_FRAMES;
  made.begin = code->first;
  made.end = code->second;
  return build_from_section(bytes, address, made.table);
}

// Source: "JIT Compilation Interface" in the manual of GDB.
struct gdb_code_entry {
  const gdb_code_entry* next;
  const gdb_code_entry* previous;
  const char* image;
  std::uint64_t size;
};
struct gdb_descriptor {
  std::uint32_t version;
  std::uint32_t action;
  const gdb_code_entry* relevant;
  const gdb_code_entry* first;
};

[[nodiscard]] int take_image(const gdb_code_entry& entry, std::vector<code_module>& modules) {
  const bs::byte_view bytes(reinterpret_cast<const std::byte*>(entry.image), static_cast<std::size_t>(entry.size));
  const auto image = bs::elf::open(bytes);
  if (!image) return error_of(image.error().code);
  // The image of an object file has the addresses of the code in its section headers, and needs no relocations.
  const auto header = image->find_section(".eh_frame");
  if (!header) return BSU_NO_FRAMES;
  const auto section = image->section_bytes(*header);
  if (!section) return error_of(section.error().code);
  code_module m;
  if (const int code = module_of(*section, header->address, m); code != BSU_OK) return code;
  m.origin = origin::gdb;
  m.key = reinterpret_cast<std::uint64_t>(&entry);
  m.print = reinterpret_cast<std::uint64_t>(entry.image) ^ entry.size << 48;
  modules.push_back(std::move(m));
  return BSU_OK;
}

void forget_file(std::vector<code_module>& modules, const char* path) {
  std::erase_if(modules, [&](const code_module& m) { return m.origin == origin::file && m.from && *m.from == path; });
}

/// Adds code; what was told of the same addresses before is gone.
void replace(std::vector<code_module>& modules, std::map<std::uint64_t, code_module>& found) {
  std::erase_if(modules, [&](const code_module& m) {
    if (m.origin != origin::file) return false;
    const auto after = found.upper_bound(m.begin);
    return (after != found.end() && after->first < m.end) ||
           (after != found.begin() && std::prev(after)->second.end > m.begin);
  });
  for (auto& [begin, m] : found) modules.push_back(std::move(m));
}
/// Of code at the same addresses the last counts.
void put(std::map<std::uint64_t, code_module>& found, code_module m) {
  auto at = found.lower_bound(m.begin);
  if (at != found.begin() && std::prev(at)->second.end > m.begin) --at;
  while (at != found.end() && at->second.begin < m.end) at = found.erase(at);
  found.emplace(m.begin, std::move(m));
}

template <bs::order O>
[[nodiscard]] int take_dump(bs::byte_view bytes, const std::shared_ptr<const std::string>& from,
                            std::map<std::uint64_t, code_module>& found) {
  namespace jitdump = bs::perf::jitdump;
  const bs::record<jitdump::file_header, O> head(bytes.data());
  if (head[jitdump::file_header::elf_mach] != arch::elf_machine) return BSU_UNSUPPORTED;
  bs::byte_view frames;  // Of the code that comes next.
  std::size_t at = head[jitdump::file_header::total_size];
  // A file that is being written ends anywhere.
  while (at <= bytes.size() && bytes.size() - at >= bs::size_of<jitdump::other_record>) {
    const std::byte* const here = bytes.data() + at;
    const bs::record<jitdump::other_record, O> any(here);
    const std::uint64_t size = any[jitdump::other_record::total_size];
    if (size < bs::size_of<jitdump::other_record> || size > bytes.size() - at) break;
    const auto has = [&](std::size_t needed) { return size >= needed; };
    const auto id = any[jitdump::other_record::id];
    if (id == jitdump::record_id::unwinding_info && has(bs::size_of<jitdump::unwinding_info_record>)) {
      const bs::record<jitdump::unwinding_info_record, O> r(here);
      const std::uint64_t all = r[jitdump::unwinding_info_record::unwind_data_size];
      const std::uint64_t header = r[jitdump::unwinding_info_record::eh_frame_hdr_size];
      if (all <= size - bs::size_of<jitdump::unwinding_info_record> && header <= all)
        frames = {here + bs::size_of<jitdump::unwinding_info_record>, static_cast<std::size_t>(all - header)};
    } else if (id == jitdump::record_id::code_load && has(bs::size_of<jitdump::code_load_record>)) {
      const bs::record<jitdump::code_load_record, O> r(here);
      code_module m;
      m.begin = r[jitdump::code_load_record::code_addr];
      const std::uint64_t bytes_of_code = r[jitdump::code_load_record::code_size];
      m.end = m.begin + bytes_of_code;
      m.origin = origin::file;
      m.from = from;
      m.key = r[jitdump::code_load_record::code_index];
      const auto* const name = reinterpret_cast<const char*>(here + bs::size_of<jitdump::code_load_record>);
      m.name = std::make_shared<const std::string>(
          name, ::strnlen(name, static_cast<std::size_t>(size - bs::size_of<jitdump::code_load_record>)));
      // The unwinding information counts from behind the code, as if it lay there.
      if (!frames.empty() && m.begin < m.end)
        (void)build_from_section(frames, m.begin + (bytes_of_code + 7) / 8 * 8, m.table);
      frames = {};
      if (m.begin < m.end) put(found, std::move(m));
    } else if (id == jitdump::record_id::code_move && has(bs::size_of<jitdump::code_move_record>)) {
      const bs::record<jitdump::code_move_record, O> r(here);
      const auto old = found.find(r[jitdump::code_move_record::old_code_addr]);
      if (old != found.end()) {
        code_module m = std::move(old->second);
        found.erase(old);
        const std::uint64_t to = r[jitdump::code_move_record::new_code_addr];
        m.bias += to - m.begin;
        m.end = to + (m.end - m.begin);
        m.begin = to;
        if (m.begin < m.end) put(found, std::move(m));
      }
    }
    at += static_cast<std::size_t>(size);
  }
  return BSU_OK;
}

}  // namespace
}  // namespace bsu

int bsu_jit_register_frame(bsu_process* process, const void* eh_frame) {
  if (eh_frame == nullptr) return BSU_BAD_ARGUMENT;
  return bsu::change(process, [&](std::vector<bsu::code_module>& modules) {
    const auto* const at = static_cast<const std::byte*>(eh_frame);
    const auto address = reinterpret_cast<std::uint64_t>(eh_frame);
    bsu::code_module m;
    if (const int code = bsu::module_of({at, bsu::size_of_entries(at)}, address, m); code != BSU_OK) return code;
    m.origin = bsu::origin::frame;
    m.key = address;
    modules.push_back(std::move(m));
    return static_cast<int>(BSU_OK);
  });
}

int bsu_jit_forget_frame(bsu_process* process, const void* eh_frame) {
  return bsu::change(process, [&](std::vector<bsu::code_module>& modules) {
    const auto is = [&](const bsu::code_module& m) {
      return m.origin == bsu::origin::frame && m.key == reinterpret_cast<std::uint64_t>(eh_frame);
    };
    return std::erase_if(modules, is) != 0 ? BSU_OK : BSU_NOT_FOUND;
  });
}

int bsu_jit_refresh_gdb(bsu_process* process, const void* descriptor) {
  if (descriptor == nullptr) descriptor = ::dlsym(RTLD_DEFAULT, "__jit_debug_descriptor");
  if (descriptor == nullptr) return BSU_NOT_FOUND;
  return bsu::change(process, [&](std::vector<bsu::code_module>& modules) {
    const auto* const from = static_cast<const bsu::gdb_descriptor*>(descriptor);
    if (from->version != 1) return static_cast<int>(BSU_UNSUPPORTED);
    std::vector<bsu::code_module> before;
    for (bsu::code_module& m : modules) {
      if (m.origin == bsu::origin::gdb) before.push_back(std::move(m));
    }
    std::erase_if(modules, [](const bsu::code_module& m) { return m.origin == bsu::origin::gdb; });
    for (const bsu::gdb_code_entry* e = from->first; e != nullptr; e = e->next) {
      const auto known = std::find_if(before.begin(), before.end(), [&](const bsu::code_module& m) {
        return m.key == reinterpret_cast<std::uint64_t>(e) &&
               m.print == (reinterpret_cast<std::uint64_t>(e->image) ^ e->size << 48);
      });
      if (known != before.end()) modules.push_back(*known);
      else (void)bsu::take_image(*e, modules);  // One without call frame information is no error.
    }
    return static_cast<int>(BSU_OK);
  });
}

int bsu_jit_load_dump(bsu_process* process, const char* path) {
  if (path == nullptr) return BSU_BAD_ARGUMENT;
  return bsu::change(process, [&](std::vector<bsu::code_module>& modules) -> int {
    const auto file = backsight::io::mapped_file::open_regular(path);
    if (!file) return BSU_NO_FILE;
    namespace jitdump = backsight::perf::jitdump;
    const auto bytes = file->bytes();
    if (bytes.size() < backsight::size_of<jitdump::file_header>) return BSU_BAD_FILE;
    if (backsight::load<std::uint32_t, backsight::order::little>(bytes.data()) != jitdump::file_magic)
      return BSU_BAD_FILE;
    std::map<std::uint64_t, bsu::code_module> found;
    const int code = bsu::take_dump<backsight::order::little>(bytes, std::make_shared<const std::string>(path), found);
    if (code != BSU_OK) return code;
    bsu::forget_file(modules, path);
    bsu::replace(modules, found);
    return BSU_OK;
  });
}

int bsu_jit_load_map(bsu_process* process, const char* path) {
  if (path == nullptr) return BSU_BAD_ARGUMENT;
  return bsu::change(process, [&](std::vector<bsu::code_module>& modules) -> int {
    std::FILE* const file = std::fopen(path, "r");
    if (file == nullptr) return BSU_NO_FILE;
    const auto from = std::make_shared<const std::string>(path);
    std::map<std::uint64_t, bsu::code_module> found;
    char* line = nullptr;
    std::size_t room = 0;
    // START SIZE NAME, in hexadecimal; other lines are passed over, as perf does.
    while (::getline(&line, &room, file) > 0) {
      char* end = nullptr;
      bsu::code_module m;
      m.begin = std::strtoull(line, &end, 16);
      if (end == line || *end != ' ') continue;
      const char* const size_text = end + 1;
      const std::uint64_t size = std::strtoull(size_text, &end, 16);
      if (end == size_text || *end != ' ' || size == 0 || m.begin + size < m.begin) continue;
      m.end = m.begin + size;
      std::string name(end + 1);
      while (!name.empty() && (name.back() == '\n' || name.back() == '\r')) name.pop_back();
      m.origin = bsu::origin::file;
      m.from = from;
      m.name = std::make_shared<const std::string>(std::move(name));
      bsu::put(found, std::move(m));
    }
    std::free(line);
    (void)std::fclose(file);
    bsu::forget_file(modules, path);
    bsu::replace(modules, found);
    return BSU_OK;
  });
}

int bsu_jit_forget_file(bsu_process* process, const char* path) {
  if (path == nullptr) return BSU_BAD_ARGUMENT;
  return bsu::change(process, [&](std::vector<bsu::code_module>& modules) {
    const std::size_t before = modules.size();
    bsu::forget_file(modules, path);
    return modules.size() != before ? BSU_OK : BSU_NOT_FOUND;
  });
}

int bsu_jit_name(const bsu_process* process, uint64_t pc, char* name, size_t size) {
  if (process == nullptr || name == nullptr || size == 0) return BSU_BAD_ARGUMENT;
  const backsight::cfi::published<bsu::state>::reader at(process->state);
  const auto after =
      std::upper_bound(at->modules.begin(), at->modules.end(), pc,
                       [](std::uint64_t address, const bsu::code_module& m) { return address < m.begin; });
  if (after == at->modules.begin()) return BSU_NOT_FOUND;
  const bsu::code_module& m = *std::prev(after);
  if (pc >= m.end || !m.name) return BSU_NOT_FOUND;
  const std::size_t length = std::min(m.name->size(), size - 1);
  std::memcpy(name, m.name->data(), length);
  name[length] = '\0';
  return BSU_OK;
}
