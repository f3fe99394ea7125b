// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <backsight/core/text.hpp>
#include <backsight/uftrace/debug_file.hpp>
#include <backsight/uftrace/elf_symbols.hpp>
#include <backsight/uftrace/enumerations.hpp>
#include <backsight/uftrace/symbols.hpp>

// Which files tell the symbols of a program or library. Source: uftrace's utils/symbol.c (load_module_symtab).
namespace backsight::uftrace {

/// A file of the directory: its name without the folder, and its bytes, which the caller keeps alive.
struct directory_file {
  std::string name;
  byte_view bytes;
};

/// A problem in one of the text files that did not stop the reading.
struct file_fault {
  std::string file;
  backsight::fault fault;
};

/// A library or program with symbols.
struct object_file {
  std::string_view path;
  symbol_table symbols;
  debug_file debug;
  std::vector<enumeration> enumerations;  ///< of its .dbg file; filled when the recording needs them
};

/// Opens programs and libraries by the paths that the recording tells, on the machine that reads it. `open` gives the bytes
/// of the file, which must stay alive as long as the recording, or none. A null member: none is opened.
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

/// The file of that object and kind: `NAME.sym`, or, where that belongs to another object of the same name, the one with
/// the first digits of the build-id or of the sum of the path's bytes.
[[nodiscard]] inline const directory_file* file_of_object(const directory_index& files, std::string_view path,
                                                          std::string_view build_id, const char* extension) {
  const std::string base(base_name(path));
  const directory_file* const plain = files.find(base + extension);
  if (plain != nullptr) {
    const object_identity identity = read_object_identity(plain->bytes);
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
  const directory_file* const other = files.find(base + "-" + suffix + extension);
  return other != nullptr || !build_id.empty() || plain == nullptr ? other : plain;
}

/// An object file with its symbols, of the directory or else of the file itself; `with_values` with what its values look like.
[[nodiscard]] inline object_file load_object_file(const directory_index& files, std::string_view path,
                                                  std::string_view build_id, bool with_values,
                                                  const object_opener& opener, std::vector<file_fault>& faults) {
  object_file m;
  m.path = path;
  const auto note = [&](const directory_file& file, const std::vector<fault>& found) {
    for (const fault& f : found) faults.push_back({file.name, f});
  };
  if (const directory_file* const file = file_of_object(files, path, build_id, ".sym")) {
    m.symbols = read_symbols(file->bytes);
    note(*file, m.symbols.faults());
  } else if (opener.open != nullptr) {
    m.symbols = read_elf_symbols(opener.open(opener.owner, path), build_id);
  }
  if (const directory_file* const file = with_values ? file_of_object(files, path, build_id, ".dbg") : nullptr) {
    m.debug = read_debug_file(file->bytes);
    note(*file, m.debug.faults);
    for (const std::string_view text : m.debug.enumerations) read_enumerations(text, m.enumerations);
  }
  return m;
}

}  // namespace detail

}  // namespace backsight::uftrace
