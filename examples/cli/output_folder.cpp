// SPDX-License-Identifier: Apache-2.0
#include "output_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input_file.hpp"
#include "output_file.hpp"
#include "program.hpp"

namespace cli {

namespace {

bool is_empty_folder(const std::string& path) {
  ::DIR* const folder = ::opendir(path.c_str());
  if (folder == nullptr) return false;
  bool empty = true;
  while (const ::dirent* const entry = ::readdir(folder)) {
    empty = empty && (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0);
  }
  ::closedir(folder);
  return empty;
}

/// The newest first: what is in a folder was made after it.
template <class Parts>
void remove_all(Parts& parts) {
  for (auto at = parts.rbegin(); at != parts.rend(); ++at) at->temporary.remove();
}
template <class Parts>
void keep_all(Parts& parts) {
  for (auto& one : parts) one.temporary.keep();
}

bool write_all(int descriptor, backsight::byte_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor, bytes.data(), bytes.size());
    if (done < 0 && errno != EINTR) return false;
    if (done > 0) bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return true;
}

}  // namespace

output_folder::output_folder(const std::string& path, bool force) : path_(path), target_(path), force_(force) {
  while (target_.size() > 1 && target_.ends_with('/')) target_.pop_back();
  struct stat status{};
  if (path == "-") {
    std::fputs("backsight: a folder is written, which stdout is not\n", stderr);
    throw ended{usage};
  }
  existed_ = ::stat(target_.c_str(), &status) == 0;
  if (existed_ && is_input(status)) {
    (void)report_error(path_, "is an input, and is not overwritten");
    throw ended{usage};
  }
  if (existed_ && !S_ISDIR(status.st_mode)) errno = ENOTDIR;
  if ((existed_ && !S_ISDIR(status.st_mode)) || (!existed_ && errno != ENOENT)) throw ended{fail(path_)};
  if (existed_ && !force && !is_empty_folder(target_)) {
    (void)report_error(path_, "is not empty; --force writes into it all the same");
    throw ended{usage};
  }
  const std::size_t slash = target_.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : target_.substr(0, std::max<std::size_t>(slash, 1));
  if (!existed_ && !make_folders("", target_, parents_)) throw ended{fail(path_)};
  if (!temporary_.make_folder(existed_ ? target_ : parent)) throw ended{fail(path_)};
}

output_folder::~output_folder() {
  remove_all(files_);
  remove_all(folders_);
  temporary_.remove();
  remove_all(parents_);
}

int output_folder::fail(const std::string& path) const { return report_error(path, std::strerror(errno)); }

/// Makes the folders before the last part of `name`, below `base`, that are not there.
bool output_folder::make_folders(const std::string& base, const std::string& name, std::vector<part>& made) const {
  for (std::size_t slash = name.find('/', 1); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    const std::string folder = name.substr(0, slash);
    struct stat status{};
    if (::stat((base + folder).c_str(), &status) == 0) {
      if (S_ISDIR(status.st_mode)) continue;
      errno = ENOTDIR;
      return false;
    }
    made.push_back({folder, {}});
    if (made.back().temporary.make(base + folder, temporary_path::kind::folder) != 0) return false;
  }
  return true;
}

int output_folder::write(const std::string& name, backsight::byte_view bytes) {
  const std::string base = temporary_.path() + "/";
  bool good = make_folders(base, name, folders_);
  if (good) {
    files_.push_back({name, {}});
    names_.insert(name);
    const int descriptor = files_.back().temporary.make(base + name, temporary_path::kind::file);
    good = descriptor >= 0 && write_all(descriptor, bytes);
    const int reason = errno;
    if (descriptor >= 0 && ::close(descriptor) != 0) good = false;
    else errno = reason;
  }
  failed_ = failed_ || !good;
  return good ? success : fail(path_ + "/" + name);
}

int output_folder::move_files() {
  for (const part& one : files_) {
    struct stat status{};
    const std::string path = target_ + "/" + one.name;
    if (::stat(path.c_str(), &status) != 0) continue;
    if (is_input(status)) {
      (void)report_error(path_ + "/" + one.name, "is an input, and is not overwritten");
      return usage;
    }
    errno = S_ISDIR(status.st_mode) ? EISDIR : EEXIST;
    if (!force_ || S_ISDIR(status.st_mode)) return fail(path_ + "/" + one.name);
  }
  // What is new is removed again when the rest cannot follow.
  std::vector<part> moved;
  for (part& one : files_) {
    const std::string path = target_ + "/" + one.name;
    const bool made = make_folders(target_ + "/", one.name, moved);
    const bool fresh = ::access(path.c_str(), F_OK) != 0;
    if (!made || ::rename(one.temporary.path().c_str(), path.c_str()) != 0) {
      const int code = fail(path_ + "/" + one.name);
      remove_all(moved);
      return code;
    }
    one.temporary.keep();
    if (!fresh) continue;
    moved.push_back({one.name, {}});
    moved.back().temporary.watch(path);
  }
  keep_all(moved);
  return success;
}

int output_folder::close(int code) {
  if (failed_) return bad_input;
  if (code == usage || files_.empty()) return code;
  if (!inputs_are_whole()) return bad_input;
  if (existed_) {
    const int moved = move_files();
    return moved == success ? code : moved;
  }
  if (::rename(temporary_.path().c_str(), target_.c_str()) != 0) return fail(path_);
  temporary_.keep();
  keep_all(files_);
  keep_all(folders_);
  keep_all(parents_);
  return code;
}

}  // namespace cli
