// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "demangled_size.hpp"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include <cxxabi.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cli {

namespace {
constexpr std::size_t block_size = std::size_t{1} << 16;
}

output::output(const std::string& path) : path_(path == "-" ? "stdout" : path), buffer_(block_size) {
  file_ = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  if (file_ == nullptr) failed_ = true;
  else terminal_ = ::isatty(::fileno(file_)) == 1;
}

output::~output() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
}

void output::put(std::string_view text) {
  if (!text.empty() && !failed_ && std::fwrite(text.data(), 1, text.size(), file_) != text.size()) failed_ = true;
}

void output::flush(bool goes_on) {
  std::size_t done = size_;
  if (terminal_) {
    std::string shown;
    done = show_on_terminal(shown, {buffer_.data(), size_}, goes_on);
    put(shown);
  } else {
    put({buffer_.data(), size_});
  }
  std::memmove(buffer_.data(), buffer_.data() + done, size_ - done);
  size_ -= done;
}

void output::control(std::string_view sequence) {
  flush(false);
  put(sequence);
}

char* output::room(std::size_t size) {
  if (buffer_.size() - size_ < size) {
    flush(true);
    if (buffer_.size() - size_ < size) buffer_.resize(size_ + size);
  }
  return buffer_.data() + size_;
}

void output::write(std::string_view text) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, block_size);
    char* at = room(part.size());
    std::memcpy(at, part.data(), part.size());
    used(at + part.size());
    text.remove_prefix(part.size());
  }
}

void output::print(const char* format, ...) {
  std::va_list list, again;
  va_start(list, format);
  va_copy(again, list);
  const int size = std::vsnprintf(nullptr, 0, format, list);
  va_end(list);
  if (size > 0) {
    char* at = room(static_cast<std::size_t>(size) + 1);
    std::vsnprintf(at, static_cast<std::size_t>(size) + 1, format, again);
    used(at + size);
  }
  va_end(again);
}

int output::close(int code) {
  if (file_ != nullptr) {
    flush(false);
    if (std::fflush(file_) != 0) failed_ = true;
  }
  if (!failed_) return code;
  // A reader that closed its end of the pipe has all it wants.
  if (errno == EPIPE) return code;
  return report_error(path_, std::strerror(errno));
}

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

bool input::open(const std::string& path) {
  if (path != "-") {
    auto opened = backsight::io::mapped_file::open(path.c_str());
    if (!opened) return report_error(path, std::strerror(errno)), false;
    mapped_ = std::move(opened).value();
    return true;
  }
  read_ = head_of_stdin();
  for (std::size_t size = read_.size();;) {
    read_.resize(size + block_size);
    const std::size_t more = std::fread(read_.data() + size, 1, block_size, stdin);
    read_.resize(size += more);
    if (more == 0) break;
  }
  if (std::ferror(stdin) != 0) return report_error(path, std::strerror(errno)), false;
  return true;
}

std::vector<std::byte>& head_of_stdin() {
  static std::vector<std::byte> head;
  return head;
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
