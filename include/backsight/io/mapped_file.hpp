// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstddef>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>

namespace backsight::io {

/// A file mapped for reading. The bytes live as long as this object; moving it keeps them in place. POSIX only.
/// A file that another process truncates while it is mapped ends this process with SIGBUS, as with any mapping.
class mapped_file {
 public:
  mapped_file() = default;
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  mapped_file(mapped_file&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  mapped_file& operator=(mapped_file&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~mapped_file() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }

  /// Maps the regular file at `path`. errc::io when it cannot be opened or mapped, with the reason in errno. An empty file
  /// gives no bytes and no error. Costs nothing per byte until the bytes are read.
  [[nodiscard]] static result<mapped_file> open(const char* path) noexcept {
    const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return {errc::io, 0};
    result<mapped_file> opened = map(descriptor);
    const int saved = errno;
    ::close(descriptor);
    errno = saved;
    return opened;
  }

  [[nodiscard]] byte_view bytes() const noexcept { return bytes_; }

 private:
  [[nodiscard]] static result<mapped_file> map(int descriptor) noexcept {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) return {errc::io, 0};
    if (S_ISDIR(status.st_mode)) {
      errno = EISDIR;
      return {errc::io, 0};
    }
    const auto size = static_cast<std::size_t>(status.st_size);
    mapped_file file;
    if (size != 0) {
      void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
      if (address == MAP_FAILED) return {errc::io, 0};
      ::madvise(address, size, MADV_SEQUENTIAL);
      file.bytes_ = {static_cast<const std::byte*>(address), size};
    }
    return file;
  }

  byte_view bytes_;
};

}  // namespace backsight::io
