// SPDX-License-Identifier: Apache-2.0
#include "output_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

#include "input_file.hpp"
#include "program.hpp"

namespace cli {

namespace {

constexpr std::size_t block_size = std::size_t{1} << 16;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

/// The descriptor of this process that a path such as /proc/self/fd/1 names, or -1.
int own_descriptor(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name.empty() || name.size() > 6 || name.find_first_not_of("0123456789") != std::string::npos) return -1;
  char* const folder = ::realpath(folder_of(path).c_str(), nullptr);
  if (folder == nullptr) return -1;
  const std::string found = folder;
  std::free(folder);
  const std::string own = "/proc/" + std::to_string(::getpid());
  const bool ours =
      found == "/dev/fd" || found == own + "/fd" || (found.starts_with(own + "/task/") && found.ends_with("/fd"));
  return ours ? std::atoi(name.c_str()) : -1;
}

/// Where a path leads through symbolic links, be it to something that is not there yet; `descriptor` is set when it is
/// one of this process. False with ELOOP.
bool follow(std::string& path, int& descriptor) {
  constexpr int most = 40;
  for (int links = 0; links < most; ++links) {
    descriptor = own_descriptor(path);
    if (descriptor >= 0) return true;
    std::array<char, PATH_MAX> to;
    const ssize_t size = ::readlink(path.c_str(), to.data(), to.size());
    if (size < 0) return true;
    const std::string target(to.data(), static_cast<std::size_t>(size));
    path = target.starts_with('/') ? target : folder_of(path) + "/" + target;
  }
  errno = ELOOP;
  return false;
}

[[noreturn]] void fail(const std::string& path) {
  (void)report_error(path, std::strerror(errno));
  throw ended{bad_input};
}

[[noreturn]] void refuse_input(const std::string& path) {
  (void)report_error(path, "is an input, and is not overwritten");
  throw ended{usage};
}

}  // namespace

output::output(const std::string& path, replaces what)
    : replaces_(what), path_(path == "-" ? "stdout" : path), buffer_(block_size) {
  struct stat status{};
  if (path == "-") {
    descriptor_ = STDOUT_FILENO;
    if (::fstat(descriptor_, &status) == 0 && is_input(status)) refuse_input(path_);
    start_pager();
    terminal_ = is_terminal(descriptor_);
    colored_ = wants_color();
    return;
  }
  std::string target = path;
  int descriptor = -1;
  if (!follow(target, descriptor)) fail(path_);
  const bool exists = descriptor >= 0 ? ::fstat(descriptor, &status) == 0 : ::stat(target.c_str(), &status) == 0;
  if (!exists && (errno != ENOENT || descriptor >= 0 || path.empty())) fail(path_);
  if (exists && what != replaces::own && is_input(status)) refuse_input(path_);
  if (descriptor >= 0) {
    descriptor_ = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    if (descriptor_ < 0) fail(path_);
    owned_ = true;
  } else if (exists && S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    fail(path_);
  } else if (exists && !S_ISREG(status.st_mode)) {
    open_in_place(target, S_ISFIFO(status.st_mode));
  } else {
    open_file(std::move(target), exists ? &status : nullptr);
  }
  terminal_ = ::isatty(descriptor_) == 1;
}

void output::open_in_place(const std::string& target, bool fifo) {
  // To open a FIFO waits for a reader, for ever if need be; one second is enough for one that starts at the same time.
  constexpr int attempts = 50;
  for (int i = 0; descriptor_ < 0; ++i) {
    descriptor_ = ::open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | (fifo ? O_NONBLOCK : 0));
    if (descriptor_ >= 0) break;
    if (!fifo || errno != ENXIO) fail(path_);
    if (i == attempts) {
      (void)report_error(path_, "no process has opened this FIFO to read within a second");
      throw ended{bad_input};
    }
    const timespec pause{0, 20'000'000};
    ::nanosleep(&pause, nullptr);
  }
  owned_ = true;
  if (fifo) (void)::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) & ~O_NONBLOCK);
}

void output::open_file(std::string target, const struct stat* before) {
  // Renaming asks for no right to the file itself.
  if (before != nullptr && ::faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0) fail(path_);
  descriptor_ = temporary_.make_file(folder_of(target));
  if (descriptor_ < 0) fail(path_);
  owned_ = true;
  target_ = std::move(target);
  if (before == nullptr) return;
  // Not everyone may give files away; the mode comes after the owner, who must not be given what was never meant.
  if (::fchown(descriptor_, before->st_uid, before->st_gid) != 0) errno = 0;
  (void)::fchmod(descriptor_, before->st_mode & 0777U);
}

output::~output() {
  if (owned_ && descriptor_ >= 0) ::close(descriptor_);
}

void output::put(std::string_view text) {
  while (!text.empty() && error_ == 0) {
    const ssize_t done = ::write(descriptor_, text.data(), text.size());
    if (done < 0 && errno != EINTR) error_ = errno;
    if (done <= 0) continue;
    written_ = true;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
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
  if (code == usage && !written_) size_ = 0;
  flush(false);
  if (owned_ && ::close(std::exchange(descriptor_, -1)) != 0 && error_ == 0) error_ = errno;
  if (error_ != 0) {
    temporary_.remove();
    // A reader that closed its end of the pipe has all it wants.
    return error_ == EPIPE ? code : report_error(path_, std::strerror(error_));
  }
  if (target_.empty()) return code;
  struct stat status{};
  if (code == usage || (code != success && !written_)) {
    temporary_.remove();
  } else if (!inputs_are_whole()) {
    temporary_.remove();
    code = bad_input;
  } else if (replaces_ != replaces::own && ::stat(target_.c_str(), &status) == 0 && is_input(status)) {
    // One that was opened only after the output.
    temporary_.remove();
    (void)report_error(path_, "is an input, and is not overwritten");
    code = usage;
  } else if (::rename(temporary_.path().c_str(), target_.c_str()) != 0) {
    code = report_error(path_, std::strerror(errno));
    temporary_.remove();
  } else {
    temporary_.keep();
  }
  return code;
}

void keep_other_files(const std::string& path, bool (*ours)(backsight::byte_view), const char* what) {
  const auto file = backsight::io::mapped_file::open_regular(path.c_str());
  if (!file && errno == ENOENT) return;
  if (file && ours(file->bytes())) return;
  (void)report_error(path, std::string("is there and is not ") + what + "; it is not overwritten");
  throw ended{usage};
}

}  // namespace cli
