// SPDX-License-Identifier: Apache-2.0
#include "input_file.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <unistd.h>

#include "program.hpp"

namespace cli {

namespace {

namespace fs = std::filesystem;
using backsight::byte_view;
using backsight::io::mapped_file;

/// A mapping of an input, for the handler of SIGBUS.
struct mapping {
  std::string path;
  std::uintptr_t begin = 0;
  std::atomic<std::uintptr_t> end{0};
  mapping* next = nullptr;
};
std::atomic<mapping*> mappings{nullptr};

mapping* add_mapping(const std::string& path, byte_view bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  auto* const added = new mapping{path, begin, {begin + bytes.size()}, mappings.load()};
  while (!mappings.compare_exchange_weak(added->next, added)) {
  }
  return added;
}

struct known_file {
  std::string path;
  off_t size = 0;
};

/// What the program reads. Threads may open inputs.
struct known_inputs {
  std::mutex one;
  std::map<std::pair<dev_t, ino_t>, known_file> files;
  std::vector<std::string> folders;
  std::map<std::string, mapped_file> streams;
};
known_inputs& known() {
  static known_inputs all;
  return all;
}

bool status_of(const std::string& path, struct stat& status) {
  return path == "-" ? ::fstat(STDIN_FILENO, &status) == 0 : ::stat(path.c_str(), &status) == 0;
}

bool is_in_folder(const std::string& folder, const struct stat& file) {
  constexpr int deepest = 4;
  std::error_code error;
  fs::recursive_directory_iterator it(
      folder, fs::directory_options::follow_directory_symlink | fs::directory_options::skip_permission_denied, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (it.depth() >= deepest) it.disable_recursion_pending();
    struct stat status{};
    if (::stat(it->path().c_str(), &status) == 0 && status.st_dev == file.st_dev && status.st_ino == file.st_ino)
      return true;
  }
  return false;
}

}  // namespace

input::input(input&& other) noexcept
    : file_(std::move(other.file_)),
      bytes_(std::exchange(other.bytes_, {})),
      mapping_(std::exchange(other.mapping_, nullptr)) {}

input& input::operator=(input&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapping_, other.mapping_);
  return *this;
}

input::~input() {
  if (mapping_ != nullptr) static_cast<mapping*>(mapping_)->end = 0;
}

bool input::take(const std::string& path, backsight::result<mapped_file>&& opened) {
  if (!opened) return false;
  *this = input();
  if (opened->copied()) {
    const std::lock_guard lock(known().one);
    bytes_ = known().streams.insert_or_assign(path, std::move(opened).value()).first->second.bytes();
    return true;
  }
  file_ = std::move(opened).value();
  bytes_ = file_.bytes();
  if (!bytes_.empty()) mapping_ = add_mapping(path, bytes_);
  return true;
}

bool input::try_open(const std::string& path, mapped_file::head_check wanted) {
  {
    const std::lock_guard lock(known().one);
    if (const auto at = known().streams.find(path); at != known().streams.end()) {
      *this = input();
      bytes_ = at->second.bytes();
      return true;
    }
  }
  note_input(path);
  return take(
      path, path == "-" ? mapped_file::from_descriptor(STDIN_FILENO, wanted) : mapped_file::open(path.c_str(), wanted));
}

bool input::open(const std::string& path, mapped_file::head_check wanted) {
  if (try_open(path, wanted)) return true;
  return report_error(path, why_not_read(errno)), false;
}

std::string why_not_read(int reason) {
  switch (reason) {
    case ENOTSUP: return "neither a file nor a stream";
    case ETIMEDOUT: return "no process has opened this FIFO to write within a second";
    case EFBIG: return "the file is larger than the address space of this program";
    case ENOMEM: return "more than fits in memory; streams are read whole, files are not";
    default: return std::strerror(reason);
  }
}

void note_input(const std::string& path) {
  struct stat status{};
  if (!status_of(path, status)) return;
  known_inputs& all = known();
  const std::lock_guard lock(all.one);
  if (S_ISDIR(status.st_mode)) all.folders.push_back(path);
  else if (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode))
    all.files.emplace(std::pair(status.st_dev, status.st_ino), known_file{path, status.st_size});
}

void note_mapping(const std::string& path, byte_view bytes) {
  if (!bytes.empty()) add_mapping(path, bytes);
  note_input(path);
  // It may have become shorter between the mapping and now.
  struct stat status{};
  if (!status_of(path, status)) return;
  const std::lock_guard lock(known().one);
  const auto at = known().files.find({status.st_dev, status.st_ino});
  if (at != known().files.end()) at->second.size = std::max(at->second.size, static_cast<off_t>(bytes.size()));
}

const char* mapped_input_at(std::uintptr_t address) noexcept {
  for (const mapping* one = mappings.load(); one != nullptr; one = one->next) {
    if (one->begin <= address && address < one->end) return one->path.c_str();
  }
  return nullptr;
}

bool is_input(const struct stat& status) {
  if (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode)) return false;
  known_inputs& all = known();
  const std::lock_guard lock(all.one);
  if (all.files.contains({status.st_dev, status.st_ino})) return true;
  for (const std::string& folder : all.folders) {
    if (is_in_folder(folder, status)) return true;
  }
  return false;
}

bool inputs_are_whole() {
  known_inputs& all = known();
  const std::lock_guard lock(all.one);
  static bool whole = true;
  for (auto& [id, file] : all.files) {
    struct stat status{};
    if (!status_of(file.path, status) || std::pair(status.st_dev, status.st_ino) != id || status.st_size >= file.size)
      continue;
    (void)report_error(file.path, "changed while it was read");
    file.size = status.st_size;
    whole = false;
  }
  return whole;
}

}  // namespace cli
