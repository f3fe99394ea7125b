// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "demangled_size.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdlib>
#include <cstring>

#include <cxxabi.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cli {

int report_error(const std::string& file, const backsight::trace_error& error, std::string_view detail) {
  say("%s:%" PRIu64 ": %s%s%.*s\n", file.c_str(), error.offset, backsight::message(error.code),
               detail.empty() ? "" : ": ", static_cast<int>(detail.size()), detail.data());
  return bad_input;
}

int report_error(const std::string& file, std::string_view message) {
  say("%s: %.*s\n", file.c_str(), static_cast<int>(message.size()), message.data());
  return bad_input;
}

void report_fault(const std::string& file, const backsight::fault& fault) {
  say("%s:%" PRIu64 ": %s; %" PRIu64 " bytes skipped\n", file.c_str(), fault.offset,
               backsight::message(fault.code), fault.skipped);
}

progress::progress(std::uint64_t total, const char* what)
    : total_(std::max<std::uint64_t>(total, 1)), what_(what), terminal_(::isatty(STDERR_FILENO) == 1),
      next_(std::chrono::steady_clock::now() + std::chrono::milliseconds(500)) {}

progress::~progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void progress::show(std::uint64_t done) {
  const std::unique_lock lock(one_, std::try_to_lock);
  if (!lock) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  shown_ = true;
  std::fprintf(stderr, "\r%s %3.0f %%", what_, 100.0 * static_cast<double>(done) / static_cast<double>(total_));
}

std::string demangle(const std::string& name) {
  // 110 bytes can stand for gigabytes, which __cxa_demangle would make.
  constexpr std::size_t longest = 128 * 1024;
  if (!name.starts_with("_Z") || !demangles_within(name, longest)) return name;
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && std::strlen(text) <= longest ? text : name;
  std::free(text);
  return result;
}

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace cli
