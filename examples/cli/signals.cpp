// SPDX-License-Identifier: Apache-2.0
#include "signals.hpp"

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "input_file.hpp"
#include "temporary_path.hpp"
#include "terminal.hpp"

// Only what POSIX allows in signal handlers is called from here on.
namespace cli {

namespace {

constexpr int bad_input_code = 1;

void write_error(const char* text, std::size_t size) noexcept {
  if (::write(STDERR_FILENO, text, size) < 0) return;
}
void write_error(const char* text) noexcept { write_error(text, std::strlen(text)); }

/// Control characters and bytes above those of ASCII may mean anything to a terminal.
void write_path(const char* path) noexcept {
  if (::isatty(STDERR_FILENO) != 1) return write_error(path);
  for (; *path != '\0'; ++path) {
    constexpr char digits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(*path);
    const char shown[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    if (byte < 0x20 || byte >= 0x7f) write_error(shown, sizeof shown);
    else write_error(path, 1);
  }
}

void end_as_usual(int signal) noexcept {
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  ::sigaction(signal, &usual, nullptr);
  ::raise(signal);
}

void on_end(int signal) {
  temporary_path::remove_all();
  end_pager();
  end_as_usual(signal);
}

/// The line of /proc/self/maps about an address, cut to what fits; gives the part with the path, or an empty text. It
/// finds what the library and the dynamic linker have mapped.
const char* path_of_mapping(std::uintptr_t address, std::array<char, 4096>& line) noexcept {
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return "";
  std::size_t size = 0;
  const char* found = "";
  std::array<char, 1024> block;
  for (bool done = false; !done;) {
    const ssize_t got = ::read(maps, block.data(), block.size());
    if (got <= 0) break;
    for (std::size_t i = 0; i < static_cast<std::size_t>(got) && !done; ++i) {
      if (block[i] != '\n') {
        if (size + 1 < line.size()) line[size++] = block[i];
        continue;
      }
      line[size] = '\0';
      size = 0;
      std::uintptr_t bounds[2] = {0, 0};
      const char* at = line.data();
      for (std::uintptr_t& bound : bounds) {
        for (;; ++at) {
          if (*at >= '0' && *at <= '9') bound = bound * 16 + static_cast<unsigned>(*at - '0');
          else if (*at >= 'a' && *at <= 'f') bound = bound * 16 + static_cast<unsigned>(*at - 'a') + 10;
          else break;
        }
        if (*at != '\0') ++at;
      }
      if (address < bounds[0] || address >= bounds[1]) continue;
      const char* const path = std::strchr(at, '/');
      found = path != nullptr ? path : "";
      done = true;
    }
  }
  ::close(maps);
  return found;
}

void on_bus_error(int signal, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  std::array<char, 4096> line;
  const char* path = mapped_input_at(address);
  if (path == nullptr) path = path_of_mapping(address, line);
  temporary_path::remove_all();
  // A fault outside of files is one of the program itself.
  if (*path == '\0') return end_as_usual(signal);
  write_path(path);
  write_error(": changed while it was read\n");
  ::_exit(bad_input_code);
}

}  // namespace

void handle_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT}) {
    struct sigaction before{}, ours{};
    ours.sa_handler = on_end;
    ::sigfillset(&ours.sa_mask);
    // What is ignored, as under nohup, stays so.
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) ::sigaction(signal, &ours, nullptr);
  }
  struct sigaction fault{};
  fault.sa_sigaction = on_bus_error;
  fault.sa_flags = SA_SIGINFO;
  ::sigfillset(&fault.sa_mask);
  ::sigaction(SIGBUS, &fault, nullptr);
  // Writing to a closed pipe, or beyond the limit on the size of files, is an error of write() instead.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace cli
