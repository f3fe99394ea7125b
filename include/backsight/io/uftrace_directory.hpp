// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dirent.h>
#include <regex.h>
#include <sys/stat.h>

#include <backsight/io/mapped_file.hpp>
#include <backsight/uftrace/recording.hpp>

namespace backsight::io {

namespace detail {

inline void* compile_pattern(const char* pattern) {
  auto* const compiled = new ::regex_t;
  if (::regcomp(compiled, pattern, REG_EXTENDED | REG_NOSUB) == 0) return compiled;
  delete compiled;
  return nullptr;
}
inline bool search_pattern(const void* compiled, const char* text) {
  return ::regexec(static_cast<const ::regex_t*>(compiled), text, 0, nullptr, 0) == 0;
}
inline void release_pattern(void* compiled) {
  auto* const pattern = static_cast<::regex_t*>(compiled);
  ::regfree(pattern);
  delete pattern;
}

}  // namespace detail

/// The regular expressions of POSIX, which are those of uftrace.
[[nodiscard]] inline uftrace::pattern_engine posix_patterns() noexcept {
  return {&detail::compile_pattern, &detail::search_pattern, &detail::release_pattern};
}

/// A uftrace data directory with all its files mapped. Moving it keeps the bytes in place. POSIX only.
class uftrace_directory {
 public:
  /// Maps the files of `path` and reads the text ones. With `opens_objects` programs and libraries whose symbols are not in
  /// the folder are opened where they were when they ran, as uftrace does; another build of one is not used. Errors: io, with the reason in errno, when the folder or one of its
  /// files cannot be read; those of uftrace::open, whose offsets count in the file `info`.
  [[nodiscard]] static result<uftrace_directory> open(const std::string& path, bool opens_objects = false) {
    ::DIR* const folder = ::opendir(path.c_str());
    if (folder == nullptr) return {errc::io, 0};
    uftrace_directory opened;
    while (const ::dirent* const entry = ::readdir(folder)) {
      std::string name = entry->d_name;
      if (name == "." || name == ".." || entry->d_type == DT_DIR) continue;
      auto file = mapped_file::open((path + "/" + name).c_str());
      if (!file) {
        const int saved = errno;
        ::closedir(folder);
        errno = saved;
        return file.error();
      }
      opened.files_.push_back({std::move(name), file->bytes()});
      opened.maps_.push_back(std::move(file).value());
    }
    ::closedir(folder);
    const uftrace::object_opener opener{&opened.objects_, opens_objects ? &open_object : nullptr};
    auto recording = uftrace::open(opened.files_, posix_patterns(), opener);
    if (!recording) return recording.error();
    opened.recording_ = std::move(recording).value();
    return opened;
  }

  [[nodiscard]] const uftrace::recording& recording() const noexcept { return recording_; }
  /// For changes before the reading, such as leaving out tasks.
  [[nodiscard]] uftrace::recording& recording() noexcept { return recording_; }
  [[nodiscard]] const std::vector<uftrace::directory_file>& files() const noexcept { return files_; }

 private:
  [[nodiscard]] static byte_view open_object(void* owner, std::string_view path) {
    auto& objects = *static_cast<std::vector<mapped_file>*>(owner);
    const std::string name(path);
    // A device or pipe of that name might never answer.
    struct stat status {};
    if (!name.starts_with('/') || ::stat(name.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    auto file = mapped_file::open(name.c_str());
    if (!file) return {};
    objects.push_back(std::move(file).value());
    return objects.back().bytes();
  }

  std::vector<mapped_file> maps_, objects_;
  std::vector<uftrace::directory_file> files_;
  uftrace::recording recording_;
};

}  // namespace backsight::io
