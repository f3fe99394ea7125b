// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>

namespace backsight::io {

/// The bytes of a file, which live as long as this object; moving it keeps them in place. POSIX only.
///
/// A regular file is mapped, and a mapping shows the file as it is at each moment, not as it was when it was opened.
/// While only new bytes are added behind its end, or another file is renamed to its name, the bytes stay what they
/// were. When its bytes are overwritten, the new ones may be seen. When it is made shorter, reading what was cut off
/// ends the process with SIGBUS, as does a device that fails; what remains of its last page reads as zeros. Whoever
/// cannot rule that out installs a handler for SIGBUS, as the program `backsight` does, or reads a copy.
///
/// A pipe, a FIFO, a terminal, and a file whose size the system does not tell (as in /proc), are read to their end into
/// memory: up to half of the machine's memory, where whoever opens it does not look at its first bytes and say that it
/// is not wanted.
class mapped_file {
 public:
  /// Whether a stream that begins so is wanted. `head` is its first 65,536 bytes; shorter ones are read without being
  /// asked for.
  using head_check = bool (*)(byte_view head);

  mapped_file() = default;
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  mapped_file(mapped_file&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})), copied_(std::exchange(other.copied_, false)) {}
  mapped_file& operator=(mapped_file&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(copied_, other.copied_);
    return *this;
  }
  ~mapped_file() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }

  /// The bytes of what is at `path`. An empty file gives no bytes and no error. A mapped file costs nothing per byte
  /// until the bytes are read. Error: errc::io with the reason in errno; EISDIR for a folder, ENOTSUP for a device that
  /// is no terminal, ETIMEDOUT for a FIFO into which no process has begun to write within a second, EFBIG for a file
  /// that is larger than the address space, ENOMEM for a stream that is larger than the memory. Of a stream that
  /// `wanted` gives false for, the bytes that it saw are what there is: one without end costs no more.
  [[nodiscard]] static result<mapped_file> open(const char* path, head_check wanted = nullptr) noexcept {
    return open(path, true, wanted);
  }

  /// As open(), but anything other than a regular file is an error (ENOTSUP, EISDIR): this never waits.
  [[nodiscard]] static result<mapped_file> open_regular(const char* path) noexcept {
    return open(path, false, nullptr);
  }

  /// The bytes of an open file from its position on, as open() gives them. The descriptor stays open; where its
  /// position is afterwards is not told.
  [[nodiscard]] static result<mapped_file> from_descriptor(int descriptor, head_check wanted = nullptr) noexcept {
    return load(descriptor, true, wanted);
  }

  [[nodiscard]] byte_view bytes() const noexcept { return bytes_; }
  /// The bytes are a copy in memory rather than a mapping of a file.
  [[nodiscard]] bool copied() const noexcept { return copied_; }

 private:
  [[nodiscard]] static result<mapped_file> open(const char* path, bool streams, head_check wanted) noexcept {
    // To open a device can do something by itself.
    struct stat status{};
    if (!streams && ::stat(path, &status) == 0 && !S_ISREG(status.st_mode))
      return fail(S_ISDIR(status.st_mode) ? EISDIR : ENOTSUP);
    // Without O_NONBLOCK opening a FIFO waits for a writer, for ever if need be.
    const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0) return {errc::io, 0};
    result<mapped_file> opened = load(descriptor, streams, wanted);
    const int saved = errno;
    ::close(descriptor);
    errno = saved;
    return opened;
  }

  [[nodiscard]] static result<mapped_file> fail(int reason) noexcept {
    errno = reason;
    return {errc::io, 0};
  }

  [[nodiscard]] static result<mapped_file> load(int descriptor, bool streams, head_check wanted) noexcept {
    struct stat status{};
    if (::fstat(descriptor, &status) != 0) return {errc::io, 0};
    if (S_ISREG(status.st_mode)) {
      if (status.st_size <= 0 || ::lseek(descriptor, 0, SEEK_CUR) > 0) return copy(descriptor);
      return map(descriptor, static_cast<std::uint64_t>(status.st_size));
    }
    if (S_ISDIR(status.st_mode)) return fail(EISDIR);
    const bool stream = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || ::isatty(descriptor) == 1;
    if (!streams || !stream) return fail(ENOTSUP);
    pollfd first{descriptor, POLLIN, 0};
    constexpr int one_second = 1000;
    // A pipe whose writer has gone is at its end at once; only a FIFO that never had one makes this wait in vain.
    if (S_ISFIFO(status.st_mode) && is_nonblocking(descriptor) && ::poll(&first, 1, one_second) == 0)
      return fail(ETIMEDOUT);
    if (::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK) != 0) return {errc::io, 0};
    return copy(descriptor, wanted);
  }

  [[nodiscard]] static bool is_nonblocking(int descriptor) noexcept {
    return (::fcntl(descriptor, F_GETFL) & O_NONBLOCK) != 0;
  }

  [[nodiscard]] static result<mapped_file> map(int descriptor, std::uint64_t size) noexcept {
    // Views measure distances in ptrdiff_t.
    if (size > static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max())) return fail(EFBIG);
    const auto length = static_cast<std::size_t>(size);
    void* const address = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, descriptor, 0);
    // The files of sysfs have a size that means nothing, and cannot be mapped.
    if (address == MAP_FAILED) return errno == ENODEV ? copy(descriptor) : result<mapped_file>(errc::io, 0);
    ::madvise(address, length, MADV_SEQUENTIAL);
    mapped_file file;
    file.bytes_ = {static_cast<const std::byte*>(address), length};
    return file;
  }

  /// Address space for up to `room` bytes, of which only the pages that are written take memory.
  [[nodiscard]] static void* reserve(std::size_t room) noexcept {
#ifdef MAP_NORESERVE
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#else
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#endif
    return ::mmap(nullptr, room, PROT_READ | PROT_WRITE, flags, -1, 0);
  }

  [[nodiscard]] static result<mapped_file> copy(int descriptor, head_check wanted = nullptr) noexcept {
    constexpr std::size_t head_size = 65536;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t half = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) / 2;
    std::size_t room = std::numeric_limits<std::size_t>::max() / 4 / page * page;
    if (half != 0 && half < room / page) room = static_cast<std::size_t>(half) * page;
    void* address = reserve(room);
    // There may be limits on address space.
    while (address == MAP_FAILED && room / 2 >= page) address = reserve(room = room / 2 / page * page);
    if (address == MAP_FAILED) return fail(ENOMEM);
    auto* const begin = static_cast<std::byte*>(address);
    std::size_t size = 0;
    int failed = 0;
    while (failed == 0) {
      std::byte beyond{};
      const std::size_t most = (wanted != nullptr ? std::min(head_size, room) : room) - size;
      const ssize_t got = most != 0 ? ::read(descriptor, begin + size, most) : ::read(descriptor, &beyond, 1);
      if (got == 0) break;
      if (got < 0 && errno != EINTR) failed = errno;
      if (got > 0 && size == room) failed = ENOMEM;
      if (got > 0 && failed == 0) size += static_cast<std::size_t>(got);
      if (size < head_size || wanted == nullptr) continue;
      if (!std::exchange(wanted, nullptr)({begin, size})) break;
    }
    const std::size_t kept = failed != 0 ? 0 : (size + page - 1) / page * page;
    if (kept < room) ::munmap(begin + kept, room - kept);
    if (failed != 0) return fail(failed);
    mapped_file file;
    if (size != 0) file.bytes_ = {begin, size};
    file.copied_ = true;
    return file;
  }

  byte_view bytes_;
  bool copied_ = false;
};

}  // namespace backsight::io
