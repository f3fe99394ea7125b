// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dirent.h>

#include <backsight/io/mapped_file.hpp>
#include <backsight/uftrace/trace.hpp>

namespace backsight::io {

/// A uftrace data directory with all its files mapped. Moving it keeps the bytes in place. POSIX only.
class uftrace_directory {
 public:
  /// Maps the files of `path` and reads the text ones. With `opens_objects` programs and libraries whose symbols are
  /// not in the folder are opened where they were when they ran, as uftrace does; another build of one is not used.
  /// `patterns` serves recordings whose specifications are regular expressions; without it they are listed in
  /// recording::faults. Errors: io, with the reason in errno, when the folder or its file `info` cannot be read; other
  /// files that cannot are among the faults; those of uftrace::open, whose offsets count in the file `info`.
  [[nodiscard]] static result<uftrace_directory> open(const std::string& path, bool opens_objects = false,
                                                      names::pattern_engine patterns = {}) {
    ::DIR* const folder = ::opendir(path.c_str());
    if (folder == nullptr) return {errc::io, 0};
    uftrace_directory opened;
    std::vector<uftrace::file_fault> unread;
    while (const ::dirent* const entry = ::readdir(folder)) {
      std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      // A pipe might never answer, and what cannot be read is not the end of all the rest.
      auto file = mapped_file::open_regular((path + "/" + name).c_str());
      if (!file && name == "info") {
        const int saved = errno;
        ::closedir(folder);
        errno = saved;
        return file.error();
      }
      if (!file) {
        if (uftrace::is_recording_file(name)) unread.push_back({std::move(name), {errc::io, 0, 0}});
        else opened.passed_by_.push_back(std::move(name));
        continue;
      }
      opened.files_.push_back({std::move(name), file->bytes()});
      opened.maps_.push_back(std::move(file).value());
    }
    ::closedir(folder);
    const uftrace::object_opener opener{&opened.objects_, opens_objects ? &open_object : nullptr};
    auto recording = uftrace::open(opened.files_, patterns, opener);
    if (!recording) return recording.error();
    opened.recording_ = std::move(recording).value();
    std::move(unread.begin(), unread.end(), std::back_inserter(opened.recording_.faults));
    return opened;
  }

  [[nodiscard]] const uftrace::recording& recording() const noexcept { return recording_; }
  /// For changes before the reading, such as leaving out tasks.
  [[nodiscard]] uftrace::recording& recording() noexcept { return recording_; }
  [[nodiscard]] const std::vector<uftrace::directory_file>& files() const noexcept { return files_; }
  /// Entries of the folder that are no files or cannot be read, and that no recording has: what they are is not known.
  [[nodiscard]] const std::vector<std::string>& passed_by() const noexcept { return passed_by_; }
  /// The programs and libraries that were opened, by their paths.
  [[nodiscard]] const std::vector<uftrace::directory_file>& objects() const noexcept { return objects_.files; }

 private:
  struct opened_objects {
    std::vector<uftrace::directory_file> files;
    std::vector<mapped_file> maps;
  };

  [[nodiscard]] static byte_view open_object(void* owner, std::string_view path) {
    auto& objects = *static_cast<opened_objects*>(owner);
    std::string name(path);
    if (!name.starts_with('/')) return {};
    // A device or pipe of that name might never answer.
    auto file = mapped_file::open_regular(name.c_str());
    if (!file) return {};
    objects.files.push_back({std::move(name), file->bytes()});
    objects.maps.push_back(std::move(file).value());
    return objects.files.back().bytes;
  }

  std::vector<mapped_file> maps_;
  opened_objects objects_;
  std::vector<std::string> passed_by_;
  std::vector<uftrace::directory_file> files_;
  uftrace::recording recording_;
};

}  // namespace backsight::io
