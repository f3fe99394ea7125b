// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <backsight/core/text.hpp>
#include <backsight/uftrace/enumerations.hpp>
#include <backsight/uftrace/files/debug_file.hpp>
#include <backsight/uftrace/files/elf_symbols.hpp>
#include <backsight/uftrace/files/symbols.hpp>

// Which files tell the symbols of a program or library. Source: uftrace's utils/symbol.c (load_module_symtab).
namespace backsight::uftrace {

/// A file of the directory: its name without the folder, and its bytes, which the caller keeps alive.
struct directory_file {
  std::string name;
  byte_view bytes;
};

/// Whether a file of that name belongs to a recording.
[[nodiscard]] inline bool is_recording_file(std::string_view name) noexcept {
  for (const std::string_view whole : {"info", "task.txt", "task", "default.opts", "events.txt", "extern.dat",
                                       "note.txt", "kernel_header", "kallsyms"}) {
    if (name == whole) return true;
  }
  const bool number = !name.empty() && name.find_first_not_of("0123456789") == name.find('.');
  if (name.ends_with(".dat")) return number || name.starts_with("perf-cpu") || name.starts_with("kernel-cpu");
  return (name.starts_with("sid-") && name.ends_with(".map")) || name.ends_with(".sym") || name.ends_with(".dbg");
}

/// A problem in one of the text files that did not stop the reading.
struct file_fault {
  std::string file;
  backsight::fault fault;
};

/// What a .dbg file tells, with its enumerations.
struct object_debug {
  debug_file file;
  enumeration_set enumerations;
};

/// A library or program with symbols. Modules of one file share what it tells.
struct object_file {
  std::string_view path;
  symbol_table symbols;
  std::shared_ptr<const object_debug> debug;  ///< null without a .dbg file, and when the recording has no values
};

/// Opens programs and libraries by the paths that the recording tells, on the machine that reads it. `open` gives the
/// bytes of the file, which must stay alive as long as the recording, or none. A null member: none is opened.
struct object_opener {
  void* owner = nullptr;
  byte_view (*open)(void* owner, std::string_view path) = nullptr;
};

namespace detail {

/// The files of a directory by name.
class directory_index {
 public:
  explicit directory_index(const std::vector<directory_file>& files) : files_(&files) {
    for (std::size_t i = 0; i < files.size(); ++i) by_name_.emplace(files[i].name, i);
  }
  [[nodiscard]] const directory_file* find(const std::string& name) const {
    const auto at = by_name_.find(name);
    return at == by_name_.end() ? nullptr : &(*files_)[at->second];
  }
  [[nodiscard]] const std::vector<directory_file>& all() const noexcept { return *files_; }

 private:
  const std::vector<directory_file>* files_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

/// Makes object files from the files of a directory. Each file is read once, however many object files of its name
/// there are.
class object_loader {
 public:
  /// `with_values`: also what the values of functions look like. All must outlive it.
  object_loader(const directory_index& files, bool with_values, const object_opener& opener,
                std::vector<file_fault>& faults)
      : files_(&files), with_values_(with_values), opener_(&opener), faults_(&faults) {}

  /// An object file with its symbols, of the directory or else of the file itself.
  [[nodiscard]] object_file load(std::string_view path, std::string_view build_id) {
    object_file m;
    m.path = path;
    if (const directory_file* const file = choose(path, build_id, ".sym")) {
      read_file& known = read_[file];
      if (!known.has_symbols) {
        known.has_symbols = true;
        known.symbols = read_symbols(file->bytes);
        note(*file, known.symbols.faults());
      }
      m.symbols = known.symbols;
    } else if (opener_->open != nullptr) {
      m.symbols = read_elf_symbols(opener_->open(opener_->owner, path), build_id);
    }
    if (const directory_file* const file = with_values_ ? choose(path, build_id, ".dbg") : nullptr) {
      read_file& known = read_[file];
      if (known.debug == nullptr) {
        auto made = std::make_shared<object_debug>();
        made->file = read_debug_file(file->bytes);
        note(*file, made->file.faults);
        for (const std::string_view text : made->file.enumerations) read_enumerations(text, made->enumerations.all);
        made->enumerations.index();
        known.debug = std::move(made);
      }
      m.debug = known.debug;
    }
    return m;
  }

 private:
  struct read_file {
    bool has_identity = false, has_symbols = false;
    object_identity identity;
    symbol_table symbols;
    std::shared_ptr<const object_debug> debug;
  };

  void note(const directory_file& file, const std::vector<fault>& found) {
    for (const fault& f : found) faults_->push_back({file.name, f});
  }

  /// The file of that object and kind: `NAME.sym`, or, where that belongs to another object of the same name, the one
  /// with the first digits of the build-id or of the sum of the path's bytes.
  [[nodiscard]] const directory_file* choose(std::string_view path, std::string_view build_id, const char* extension) {
    const std::string base(text::base_name(path));
    const directory_file* const plain = files_->find(base + extension);
    if (plain != nullptr) {
      read_file& known = read_[plain];
      if (!known.has_identity) known.identity = read_object_identity(plain->bytes);
      known.has_identity = true;
      const object_identity& identity = known.identity;
      const bool other_path = !identity.path.empty() && identity.path != path;
      const bool other_id = !identity.build_id.empty() && !build_id.empty() && identity.build_id != build_id;
      const bool same_id = !identity.build_id.empty() && identity.build_id == build_id;
      if (!other_id && (!other_path || same_id)) return plain;
    }
    std::string suffix(build_id.substr(0, 4));
    if (suffix.empty()) {
      unsigned sum = 0;
      for (const char c : path) sum += static_cast<unsigned char>(c);
      (void)text::hexadecimal(std::back_inserter(suffix), sum & 0xffff, 4);
    }
    const directory_file* const other = files_->find(base + "-" + suffix + extension);
    return other != nullptr || !build_id.empty() || plain == nullptr ? other : plain;
  }

  const directory_index* files_;
  bool with_values_;
  const object_opener* opener_;
  std::vector<file_fault>* faults_;
  std::unordered_map<const directory_file*, read_file> read_;
};

}  // namespace detail

}  // namespace backsight::uftrace
