// SPDX-License-Identifier: Apache-2.0
// Another process: its memory and its modules.
#include "remote.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

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

int bsu_process_load(bsu_process* process, int pid) {
  return bsu::change(process, [&](std::vector<bsu::code_module>& modules) -> int {
    const std::string folder = "/proc/" + std::to_string(pid);
    std::FILE* const maps = std::fopen((folder + "/maps").c_str(), "r");
    if (maps == nullptr) return BSU_NO_FILE;
    std::map<std::string, bsu::shared_table> known;
    char line[4608];
    while (std::fgets(line, sizeof line, maps) != nullptr) {
      std::uint64_t begin = 0, end = 0, offset = 0;
      char rights[5] = {}, path[4097] = {};
      if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %4096[^\n]", &begin, &end, rights, &offset,
                      path) != 5)
        continue;
      if (rights[2] != 'x' || path[0] != '/') continue;
      // As the process sees its files, also where another lies at the path by now.
      char range[64];
      std::snprintf(range, sizeof range, "/map_files/%" PRIx64 "-%" PRIx64, begin, end);
      std::string file = folder + range;
      auto mapped = backsight::io::mapped_file::open_regular(file.c_str());
      if (!mapped) {
        file = folder + "/root" + path;
        mapped = backsight::io::mapped_file::open_regular(file.c_str());
      }
      const auto image = mapped ? backsight::elf::open(mapped->bytes())
                                : backsight::result<backsight::elf::image>(backsight::errc::io, 0);
      if (!image) continue;
      const auto [at, is_new] = known.emplace(path, nullptr);
      if (is_new) (void)bsu::build_from_file(file.c_str(), at->second);
      for (const backsight::elf::segment s : image->segments()) {
        constexpr std::uint64_t page = 4096;
        const bool holds = s.type == backsight::elf::segment_load &&
                           (s.flags & backsight::elf::segment_executable) != 0 && offset >= s.offset / page * page &&
                           offset < s.offset + s.file_size;
        if (!holds) continue;
        bsu::code_module& m = modules.emplace_back();
        m.begin = begin;
        m.end = end;
        m.bias = begin - offset + s.offset - s.address;
        m.table = at->second;
        break;
      }
    }
    (void)std::fclose(maps);
    return BSU_OK;
  });
}
