// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <backsight/elf/sections.hpp>
#include <backsight/io/inflate_section.hpp>
#include <backsight/io/mapped_file.hpp>
#include <backsight/perf/mappings.hpp>

namespace backsight::io {

/// An ELF file that was mapped, found again.
struct object_file {
  std::string path;
  std::string root;  ///< The folder below which it was found.
  mapped_file file;
  byte_view bytes;
  elf::image image;
  /// Sections that were packed; they do not move.
  std::deque<std::vector<std::byte>> unpacked;

  /// Gives the pages back that were read so far: they count as memory of the process. What is read again comes again.
  void give_back() const noexcept {
    const byte_view all = file.bytes();
    if (!file.copied() && !all.empty()) ::madvise(const_cast<std::byte*>(all.data()), all.size(), MADV_DONTNEED);
  }
};

/// Finds the files of a recording again, below folders that hold copies of the recorded machine's files: by path, by
/// build id as in perf's cache (.build-id/xx/yyyy) and among debug files. A file with another build id than the
/// recorded one is never given. Needs zlib.
class object_finder {
 public:
  /// `folders` in the order in which they are searched; `beside` is the folder of the recording, where only what
  /// profilers leave beside recordings is looked for (jitted-*.so). `say(std::string)` is told of files that are not
  /// what was recorded.
  object_finder(std::vector<std::string> folders, std::string beside, std::function<void(const std::string&)> say)
      : folders_(std::move(folders)), beside_(std::move(beside)), say_(std::move(say)) {
    for (std::string& folder : folders_) {
      while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
      if (folder == "/") folder.clear();
    }
  }

  [[nodiscard]] const std::vector<std::string>& folders() const noexcept { return folders_; }
  [[nodiscard]] const std::string& beside() const noexcept { return beside_; }
  void say(const std::string& message) const { say_(message); }

  /// The mapped file; null when there is none, or only others of its name.
  [[nodiscard]] std::unique_ptr<object_file> find(const perf::mapped_file& wanted) const {
    std::vector<std::string> others;
    const auto take = [&](const std::string& root, const std::string& path) -> std::unique_ptr<object_file> {
      auto opened = open(path);
      if (!opened) return nullptr;
      if (!matches(opened->image, wanted.id)) {
        others.push_back(path + " has the build id " + text_of(opened->image));
        return nullptr;
      }
      opened->root = root;
      return opened;
    };
    for (const std::string& root : folders_) {
      for (const std::string& path : paths_of(root, wanted)) {
        if (auto found = take(root, path)) return found;
      }
    }
    for (const std::string& root : folders_) {
      for (const std::string& path : paths_by_id(root, wanted.id, wanted.name, false)) {
        if (auto found = take(root, path)) return found;
      }
    }
    if (wanted.kind == perf::file_kind::vdso) {
      if (auto own = own_vdso(); own && wanted.id.is_known() && matches(own->image, wanted.id)) return own;
    }
    const std::string_view base = std::string_view(wanted.name).substr(wanted.name.rfind('/') + 1);
    if (base.starts_with("jitted-") && base.ends_with(".so")) {
      if (auto found = take(beside_, beside_ + "/" + std::string(base))) return found;
    }
    for (const std::string& other : others) {
      say_(wanted.name + ": " + other + ", the recording has " + wanted.id.text() + "; it is not used");
    }
    return nullptr;
  }

  /// Opens an ELF file; null when it cannot be read or is none.
  [[nodiscard]] static std::unique_ptr<object_file> open(const std::string& path) {
    // Most places that are looked at have no file.
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) return nullptr;
    auto mapped = mapped_file::open_regular(path.c_str());
    if (!mapped) return nullptr;
    auto made = std::make_unique<object_file>();
    made->path = path;
    made->file = std::move(mapped.value());
    made->bytes = made->file.bytes();
    const auto image = elf::open(made->bytes);
    if (!image) return nullptr;
    made->image = *image;
    return made;
  }

  /// Opens bytes that are there already, and must stay, as an ELF file; null when they are none.
  [[nodiscard]] static std::unique_ptr<object_file> open_bytes(std::string path, byte_view bytes) {
    const auto image = elf::open(bytes);
    if (!image) return nullptr;
    auto made = std::make_unique<object_file>();
    made->path = std::move(path);
    made->bytes = bytes;
    made->image = *image;
    return made;
  }

  /// The file has that build id, or one of them is not known.
  [[nodiscard]] static bool matches(const elf::image& file, const perf::build_id& id) noexcept {
    const perf::build_id own(file.build_id());
    return !id.is_known() || own == id;
  }

  /// Where a file of that build id may lie below a folder: in perf's cache, then, with `debug`, among files of debug
  /// information.
  [[nodiscard]] static std::vector<std::string> paths_by_id(const std::string& root, const perf::build_id& id,
                                                            const std::string& name, bool debug) {
    std::vector<std::string> all;
    if (id.size < 2) return all;
    const std::string text = id.text(), split = text.substr(0, 2) + "/" + text.substr(2);
    if (debug) {
      for (const char* const folder : {"/.build-id/", "/.debug/.build-id/"})
        all.push_back(root + folder + split + "/debug");
      for (const char* const folder : {"/usr/lib/debug/.build-id/", "/.build-id/"})
        all.push_back(root + folder + split + ".debug");
      return all;
    }
    for (const char* const folder :
         {"/.build-id/", "/.debug/.build-id/", "/usr/lib/.build-id/", "/usr/lib/debug/.build-id/"}) {
      all.push_back(root + folder + split + "/elf");
      all.push_back(root + folder + split + "/vdso");
      all.push_back(root + folder + split);
    }
    const std::string folder = root + (name.starts_with("/") ? "" : "/") + name + "/" + text;
    all.push_back(folder + "/elf");
    all.push_back(folder + "/vdso");
    all.push_back(root + "/" + text + ".elf");
    all.push_back(root + "/" + text);
    return all;
  }

 private:
  [[nodiscard]] static std::vector<std::string> paths_of(const std::string& root, const perf::mapped_file& wanted) {
    std::vector<std::string> all;
    if (wanted.kind == perf::file_kind::vdso) {
      for (const char* const name : {"/[vdso]", "/vdso.so", "/vdso"}) all.push_back(root + name);
      return all;
    }
    const std::string& name = wanted.name;
    if (!name.starts_with("/") || name.ends_with(" (deleted)")) return all;
    all.push_back(root + name);
    // /lib and /usr/lib are the same folder on most machines, but not in every copy of one.
    if (name.starts_with("/usr/")) all.push_back(root + name.substr(4));
    else if (name.starts_with("/lib") || name.starts_with("/bin/") || name.starts_with("/sbin/"))
      all.push_back(root + "/usr" + name);
    return all;
  }

  [[nodiscard]] static std::string text_of(const elf::image& file) {
    const perf::build_id id(file.build_id());
    return id.is_known() ? id.text() : std::string("(none)");
  }

  /// The vdso of this process.
  [[nodiscard]] static std::unique_ptr<object_file> own_vdso() {
    const auto* const at = reinterpret_cast<const std::byte*>(::getauxval(AT_SYSINFO_EHDR));
    if (at == nullptr) return nullptr;
    constexpr std::size_t page = 4096;
    const auto head = elf::open(byte_view(at, page), elf::image_layout::memory);
    if (!head) return nullptr;
    // It is mapped as it lies in its file, and its section headers stand behind its segments.
    std::uint64_t end = 0;
    for (const elf::segment s : head->segments()) end = s.offset + s.file_size > end ? s.offset + s.file_size : end;
    return open_bytes("[vdso]", byte_view(at, static_cast<std::size_t>((end + page - 1) / page * page)));
  }

  std::vector<std::string> folders_;
  std::string beside_;
  std::function<void(const std::string&)> say_;
};

/// The bytes of a section, unpacked when they are packed; absent when there is no such section or it cannot be read.
[[nodiscard]] inline std::optional<byte_view> section_of(object_file& file, std::string_view name) {
  const auto found = file.image.find_section(name);
  if (!found || found->type == elf::section_no_bits) return std::nullopt;
  const auto bytes = file.image.section_bytes(*found);
  if (bytes) return *bytes;
  auto inflated = inflate_section(file.image, *found);
  if (!inflated) return std::nullopt;
  return byte_view(file.unpacked.emplace_back(std::move(inflated).value()));
}

}  // namespace backsight::io
