// SPDX-License-Identifier: Apache-2.0
// Tables and modules of the C interface.
#include "modules.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include <link.h>
#include <unistd.h>

#include <backsight/cfi/frame_sections.hpp>
#include <backsight/elf/sections.hpp>

#include "tables.hpp"

namespace bsu {

int error_of(bs::errc code) noexcept {
  switch (code) {
    case bs::errc::ok: return BSU_OK;
    case bs::errc::io: return BSU_NO_FILE;
    case bs::errc::missing_section: return BSU_NO_FRAMES;
    case bs::errc::unsupported_type:
    case bs::errc::unsupported_version: return BSU_UNSUPPORTED;
    default: return BSU_BAD_FILE;
  }
}

int publish(bsu_process& process, std::vector<code_module> modules) {
  std::stable_sort(modules.begin(), modules.end(),
                   [](const code_module& a, const code_module& b) { return a.begin < b.begin; });
  state next;
  for (const code_module& m : modules) {
    const cfi::table_view view = m.table ? m.table->view : cfi::table_view{};
    const auto error = next.space.add({m.begin, m.end, m.bias, view, 0});
    if (error) return error.code == bs::errc::bad_value ? BSU_OVERLAP : BSU_UNSUPPORTED;
  }
  next.modules = std::move(modules);
  process.state.publish(std::move(next));
  return BSU_OK;
}

int build_from_file(const char* path, shared_table& made) {
  auto file = bs::io::mapped_file::open_regular(path);
  return file ? build_from_image(file->bytes(), made) : static_cast<int>(BSU_NO_FILE);
}

int build_from_image(bs::byte_view bytes, shared_table& made) {
  const auto image = bs::elf::open(bytes);
  if (!image) return error_of(image.error().code);
  if (static_cast<std::uint16_t>(image->machine()) != arch::elf_machine) return BSU_UNSUPPORTED;
  std::vector<cfi::section<bs::order::little>> sections;
  for (const auto kind : {cfi::section_kind::eh_frame, cfi::section_kind::debug_frame}) {
    const auto found = cfi::find_frame_section(*image, kind);
    if (found) sections.emplace_back(found->bytes, found->info);
  }
  if (sections.empty()) return BSU_NO_FRAMES;
  auto built = cfi::build_table<arch>(std::span<const cfi::section<bs::order::little>>(sections),
                                      {cfi::table_profile::callee_saved, image->build_id()},
                                      [](const bs::trace_error&, std::uint32_t) {});
  if (!built) return error_of(built.error().code);
  made = share(std::move(built.value()));
  return BSU_OK;
}

int build_from_section(bs::byte_view bytes, std::uint64_t address, shared_table& made) {
  cfi::section_info about;
  about.address = address;
  about.code_at_zero = true;
  auto built = cfi::build_table<arch>(cfi::section<bs::order::little>(bytes, about));
  if (!built) return error_of(built.error().code);
  if (built->view().row_count() == 0) return BSU_NO_FRAMES;
  made = share(std::move(built.value()));
  return BSU_OK;
}

namespace {

int hand_out(shared_table data, bsu_table** made) {
  *made = new bsu_table{std::move(data)};
  return BSU_OK;
}
int open_view(bs::byte_view bytes, table_data& data) {
  const auto view = cfi::table_view::open(bytes);
  if (!view) return error_of(view.error().code);
  if (view->machine() != arch::elf_machine || view->rule_bytes() != cfi::rule_size<arch>) return BSU_UNSUPPORTED;
  data.view = *view;
  return BSU_OK;
}

/// The modules that the dynamic loader has, with the tables of those that were there before.
struct own_modules {
  const std::vector<code_module>& before;
  std::vector<code_module> found;

  void take(const dl_phdr_info& info) {
    const auto object = cfi::loaded_frames::of(info);
    if (!object) return;
    const std::uint64_t print = object->fingerprint();
    shared_table table;
    for (const code_module& old : before) {
      if (old.origin == origin::own && old.key == object->header_address() && old.print == print) table = old.table;
    }
    if (!table) {
      auto built = object->build_table();
      if (!built) return;
      table = share(std::move(built.value()));
    }
    for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
      const auto& segment = info.dlpi_phdr[i];
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
      const std::uint64_t begin = info.dlpi_addr + segment.p_vaddr;
      code_module m;
      m.begin = begin;
      m.end = begin + segment.p_memsz;
      m.bias = info.dlpi_addr;
      m.table = table;
      m.origin = origin::own;
      m.key = object->header_address();
      m.print = print;
      found.push_back(std::move(m));
    }
  }
};

}  // namespace

}  // namespace bsu

using bsu::guarded;

const char* bsu_error_text(int error) {
  switch (error) {
    case BSU_OK: return "no error";
    case BSU_BAD_ARGUMENT: return "an argument is not valid";
    case BSU_NO_FILE: return "the file cannot be opened";
    case BSU_BAD_FILE: return "the file is damaged or of another kind";
    case BSU_NO_FRAMES: return "there is no call frame information";
    case BSU_UNSUPPORTED: return "for another machine or a newer version";
    case BSU_OVERLAP: return "the module overlaps another one";
    case BSU_NOT_FOUND: return "there is none";
    case BSU_NO_MEMORY: return "out of memory";
    case BSU_SYSTEM: return "a call of the system failed";
    default: return "unknown error";
  }
}

int bsu_version(void) { return BSU_VERSION; }

int bsu_table_build(const char* path, bsu_table** made) {
  if (path == nullptr || made == nullptr) return BSU_BAD_ARGUMENT;
  return guarded([&] {
    bsu::shared_table table;
    const int code = bsu::build_from_file(path, table);
    return code != BSU_OK ? code : bsu::hand_out(std::move(table), made);
  });
}

int bsu_table_build_section(const void* eh_frame, size_t size, uint64_t address, bsu_table** made) {
  if (eh_frame == nullptr || made == nullptr) return BSU_BAD_ARGUMENT;
  return guarded([&] {
    bsu::shared_table table;
    const int code = bsu::build_from_section({static_cast<const std::byte*>(eh_frame), size}, address, table);
    return code != BSU_OK ? code : bsu::hand_out(std::move(table), made);
  });
}

int bsu_table_open(const char* path, bsu_table** made) {
  if (path == nullptr || made == nullptr) return BSU_BAD_ARGUMENT;
  return guarded([&] {
    auto file = backsight::io::mapped_file::open_regular(path);
    if (!file) return static_cast<int>(BSU_NO_FILE);
    auto data = std::make_shared<bsu::table_data>();
    data->file = std::move(file.value());
    const int code = bsu::open_view(data->file.bytes(), *data);
    return code != BSU_OK ? code : bsu::hand_out(std::move(data), made);
  });
}

int bsu_table_open_bytes(const void* bytes, size_t size, bsu_table** made) {
  if (bytes == nullptr || made == nullptr) return BSU_BAD_ARGUMENT;
  return guarded([&] {
    auto data = std::make_shared<bsu::table_data>();
    const int code = bsu::open_view({static_cast<const std::byte*>(bytes), size}, *data);
    return code != BSU_OK ? code : bsu::hand_out(std::move(data), made);
  });
}

int bsu_table_save(const bsu_table* table, const char* path) {
  if (table == nullptr || path == nullptr) return BSU_BAD_ARGUMENT;
  return guarded([&] {
    const std::string beside = std::string(path) + "." + std::to_string(::getpid()) + ".new";
    std::FILE* const out = std::fopen(beside.c_str(), "wbx");
    if (out == nullptr) return BSU_NO_FILE;
    const auto bytes = table->data->view.bytes();
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
    const bool closed = std::fclose(out) == 0;
    if (written && closed && std::rename(beside.c_str(), path) == 0) return BSU_OK;
    const int why = errno;
    (void)std::remove(beside.c_str());
    errno = why;
    return BSU_SYSTEM;
  });
}

const void* bsu_table_bytes(const bsu_table* table, size_t* size) {
  if (table == nullptr) return nullptr;
  const auto bytes = table->data->view.bytes();
  if (size != nullptr) *size = bytes.size();
  return bytes.data();
}

void bsu_table_free(bsu_table* table) { delete table; }

int bsu_process_new(bsu_process** made) {
  if (made == nullptr) return BSU_BAD_ARGUMENT;
  return guarded([&] {
    *made = new bsu_process;
    return BSU_OK;
  });
}

void bsu_process_free(bsu_process* process) { delete process; }

int bsu_process_add(bsu_process* process, uint64_t begin, uint64_t end, uint64_t bias, const bsu_table* table) {
  if (begin >= end) return BSU_BAD_ARGUMENT;
  return bsu::change(process, [&](std::vector<bsu::code_module>& modules) {
    bsu::code_module& m = modules.emplace_back();
    m.begin = begin;
    m.end = end;
    m.bias = bias;
    if (table != nullptr) m.table = table->data;
    return BSU_OK;
  });
}

int bsu_process_remove(bsu_process* process, uint64_t begin) {
  return bsu::change(process, [&](std::vector<bsu::code_module>& modules) {
    return std::erase_if(modules, [&](const bsu::code_module& m) { return m.begin == begin; }) != 0 ? BSU_OK
                                                                                                    : BSU_NOT_FOUND;
  });
}

size_t bsu_process_modules(const bsu_process* process) {
  if (process == nullptr) return 0;
  const backsight::cfi::published<bsu::state>::reader state(process->state);
  return state->modules.size();
}

int bsu_process_refresh_own(bsu_process* process) {
  return bsu::change(process, [](std::vector<bsu::code_module>& modules) {
    bsu::own_modules own{modules, {}};
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
          static_cast<bsu::own_modules*>(to)->take(*info);
          return 0;
        },
        &own);
    std::erase_if(modules, [](const bsu::code_module& m) { return m.origin == bsu::origin::own; });
    for (bsu::code_module& m : own.found) modules.push_back(std::move(m));
    return BSU_OK;
  });
}
