// SPDX-License-Identifier: Apache-2.0
// Another process: its memory and its modules.
#include "remote.hpp"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/uio.h>

#include <backsight/elf/sections.hpp>

#include "tables.hpp"

std::optional<std::uint64_t> bsu_remote::operator()(std::uint64_t address) noexcept {
  std::uint64_t word = 0;
  auto* const to = reinterpret_cast<std::byte*>(&word);
  for (std::size_t done = 0; done < sizeof word;) {
    const std::uint64_t at = address + done;
    const std::uint64_t begin = at / page * page;
    kept& one = pages[static_cast<std::size_t>(begin / page % pages.size())];
    if (one.address != begin) {
      iovec local{one.bytes.data(), page};
      iovec remote{reinterpret_cast<void*>(begin), page};
      one.address = no_page;
      if (::process_vm_readv(pid, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(page)) return std::nullopt;
      one.address = begin;
    }
    const auto inside = static_cast<std::size_t>(at - begin);
    const std::size_t size = std::min(sizeof word - done, page - inside);
    std::memcpy(to + done, one.bytes.data() + inside, size);
    done += size;
  }
  return word;
}

int bsu_remote_new(int pid, bsu_remote** made) {
  if (made == nullptr || pid <= 0) return BSU_BAD_ARGUMENT;
  if (::kill(pid, 0) != 0 && errno != EPERM) return BSU_SYSTEM;
  return bsu::guarded([&] {
    *made = new bsu_remote(pid);
    return BSU_OK;
  });
}

void bsu_remote_forget(bsu_remote* remote) {
  if (remote != nullptr) remote->forget();
}

void bsu_remote_free(bsu_remote* remote) { delete remote; }

namespace {

/// A line of /proc/PID/maps about code.
struct mapping {
  std::uint64_t begin = 0, end = 0, offset = 0;
  std::string path;
};

/// The pieces of another process that hold code, and their tables.
class process_code {
 public:
  process_code(int pid, std::vector<bsu::code_module>& modules)
      : pid_(pid), folder_("/proc/" + std::to_string(pid)), modules_(modules) {}

  [[nodiscard]] int take_all() {
    std::FILE* const maps = std::fopen((folder_ + "/maps").c_str(), "r");
    if (maps == nullptr) return BSU_NO_FILE;
    char line[4608];
    while (std::fgets(line, sizeof line, maps) != nullptr) {
      mapping at;
      char rights[5] = {}, path[4097] = {};
      if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %4096[^\n]", &at.begin, &at.end, rights,
                      &at.offset, path) != 5)
        continue;
      if (rights[2] != 'x') continue;
      at.path = path;
      if (at.path.front() == '/') take_file(at);
      if (at.path == "[vdso]") take_vdso(at);
      if (at.path == "[vsyscall]") take_vsyscall(at);
    }
    (void)std::fclose(maps);
    return BSU_OK;
  }

 private:
  void add(const mapping& at, std::uint64_t bias, bsu::shared_table table) {
    bsu::code_module& m = modules_.emplace_back();
    m.begin = at.begin;
    m.end = at.end;
    m.bias = bias;
    m.table = std::move(table);
  }
  /// As the segment of the image lies that the mapping is of.
  void add(const mapping& at, const backsight::elf::image& image, const bsu::shared_table& table) {
    for (const backsight::elf::segment s : image.segments()) {
      constexpr std::uint64_t page = 4096;
      if (s.type != backsight::elf::segment_load || (s.flags & backsight::elf::segment_executable) == 0 ||
          at.offset < s.offset / page * page || at.offset >= s.offset + s.file_size)
        continue;
      add(at, at.begin - at.offset + s.offset - s.address, table);
      return;
    }
  }
  void take_file(const mapping& at) {
    // As the process sees its files, also where another lies at the path by now.
    char range[64];
    std::snprintf(range, sizeof range, "/map_files/%" PRIx64 "-%" PRIx64, at.begin, at.end);
    std::string file = folder_ + range;
    auto mapped = backsight::io::mapped_file::open_regular(file.c_str());
    if (!mapped) {
      file = folder_ + "/root" + at.path;
      mapped = backsight::io::mapped_file::open_regular(file.c_str());
    }
    if (!mapped) return;
    const auto image = backsight::elf::open(mapped->bytes());
    if (!image) return;
    const auto [table, is_new] = known_.emplace(at.path, nullptr);
    if (is_new) (void)bsu::build_from_file(file.c_str(), table->second);
    add(at, *image, table->second);
  }
  /// No file has it: its bytes are those that the process has.
  void take_vdso(const mapping& at) {
    constexpr std::uint64_t most = 1U << 20;
    std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(at.end - at.begin, most)));
    iovec local{bytes.data(), bytes.size()};
    iovec remote{reinterpret_cast<void*>(at.begin), bytes.size()};
    if (::process_vm_readv(pid_, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(bytes.size())) return;
    const auto image = backsight::elf::open(backsight::byte_view(bytes));
    if (!image) return;
    bsu::shared_table table;
    (void)bsu::build_from_image(bytes, table);
    add(at, *image, table);
  }
  /// Its functions are `mov $number,%rax; syscall; ret` (arch/x86/entry/vsyscall/vsyscall_emu_64.S of Linux), which
  /// mostly nobody may read.
  void take_vsyscall(const mapping& at) {
#if defined(__x86_64__)
    // CIE: cfa = rsp + 8; return address = *(cfa - 8). FDE: 4096 bytes from 0, which are absolute.
    static constexpr unsigned char frames[] = {
        20, 0, 0, 0, 0,  0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0, 0x0c, 7, 8, 0x90, 1, 0, 0,  //
        28, 0, 0, 0, 28, 0, 0, 0, 0, 0,   0,   0, 0, 0,    0,  0, 0, 0x10, 0, 0, 0,    0, 0, 0,  //
        0,  0, 0, 0, 0,  0, 0, 0, 0, 0,   0,   0};
    bsu::shared_table table;
    (void)bsu::build_from_section(std::as_bytes(std::span(frames)), 0, table);
    add(at, at.begin, table);
#else
    (void)at;
#endif
  }

  int pid_;
  std::string folder_;
  std::vector<bsu::code_module>& modules_;
  std::map<std::string, bsu::shared_table> known_;
};

}  // namespace

int bsu_process_load(bsu_process* process, int pid) {
  return bsu::change(process,
                     [&](std::vector<bsu::code_module>& modules) { return process_code(pid, modules).take_all(); });
}
