// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zlib.h>

#include <backsight/io/object_files.hpp>
#include <backsight/perf/symbol_table.hpp>

namespace backsight::io {

/// How names are made and packed sections unpacked.
struct symbol_options {
  /// The printed form of a symbol's name.
  std::function<std::string(std::string_view)> text = [](std::string_view name) { return std::string(name); };
  /// Unpacks xz, such as unpack_xz does; absent for data that is damaged. Null where xz cannot be read.
  std::optional<std::vector<std::byte>> (*unpack)(byte_view) = nullptr;
};

/// The names in a mapped file, by offset in it, and what they are views of.
struct object_symbols {
  perf::symbol_table table;
  std::vector<std::unique_ptr<object_file>> files;  ///< Files of debug information.
  std::deque<std::string> texts;
  std::deque<std::vector<std::byte>> unpacked;
};

namespace detail {

[[nodiscard]] inline bool has_symtab(const elf::image& file) noexcept {
  for (const elf::section s : file.sections()) {
    if (s.type == elf::section_symbols) return true;
  }
  return false;
}

struct debug_link {
  std::string name;
  std::uint32_t checksum = 0;
};
[[nodiscard]] inline std::optional<debug_link> debug_link_of(object_file& of) {
  const auto bytes = section_of(of, ".gnu_debuglink");
  if (!bytes || bytes->size() < 8) return std::nullopt;
  const std::string_view all(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  const std::size_t size = all.find('\0');
  const std::size_t at = (size + 4) / 4 * 4;
  if (size == all.npos || size == 0 || at + 4 > all.size()) return std::nullopt;
  debug_link link{std::string(all.substr(0, size)), 0};
  link.checksum =
      with_order(of.image.byte_order(), [&](auto o) { return load<std::uint32_t, o()>(bytes->data() + at); });
  return link;
}

[[nodiscard]] inline std::uint32_t crc32_of(byte_view bytes) noexcept {
  uLong sum = ::crc32(0, nullptr, 0);
  constexpr std::size_t most = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const std::size_t size = bytes.size() < most ? bytes.size() : most;
    sum = ::crc32(sum, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(size));
    bytes = bytes.subspan(size);
  }
  return static_cast<std::uint32_t>(sum);
}

}  // namespace detail

/// The file of debug information with a .symtab for a mapped file, as perf looks for it: by .gnu_debuglink, by build id, by path
/// below /usr/lib/debug; null when there is none. What does not belong to the file is told to finder.say and not used.
[[nodiscard]] inline std::unique_ptr<object_file> find_debug_file(const object_finder& finder, object_file& of,
                                                                  const std::string& name) {
  const perf::build_id id(of.image.build_id());
  const auto take = [&](const std::string& path,
                        std::optional<std::uint32_t> checksum) -> std::unique_ptr<object_file> {
    auto opened = object_finder::open(path);
    if (!opened || opened->bytes.data() == of.bytes.data() || !detail::has_symtab(opened->image)) return nullptr;
    const perf::build_id own(opened->image.build_id());
    const bool same = own.is_known() && id.is_known() ? own == id
                      : checksum                      ? detail::crc32_of(opened->bytes) == *checksum
                                                      : !own.is_known() && !id.is_known();
    if (!same) {
      finder.say(path + " does not belong to " + of.path + "; it is not used");
      return nullptr;
    }
    return opened;
  };
  if (const auto link = detail::debug_link_of(of); link && link->name.find('/') == std::string::npos) {
    const std::string folder = of.path.substr(0, of.path.rfind('/')), recorded = name.substr(0, name.rfind('/'));
    std::vector<std::string> paths{folder + "/" + link->name, folder + "/.debug/" + link->name};
    for (const std::string& root : finder.folders()) {
      paths.push_back(root + recorded + "/" + link->name);
      paths.push_back(root + recorded + "/.debug/" + link->name);
      paths.push_back(root + "/usr/lib/debug" + recorded + "/" + link->name);
    }
    for (const std::string& path : paths) {
      if (path == of.path) continue;
      if (auto found = take(path, link->checksum)) return found;
    }
  }
  for (const bool debug : {false, true}) {
    for (const std::string& root : finder.folders()) {
      for (const std::string& path : object_finder::paths_by_id(root, id, name, debug)) {
        if (auto found = take(path, std::nullopt)) return found;
      }
    }
  }
  for (const std::string& root : finder.folders()) {
    for (const char* const end : {".debug", ""}) {
      if (auto found = take(root + "/usr/lib/debug" + name + end, std::nullopt)) return found;
    }
  }
  return nullptr;
}

/// The names of a mapped file: those of its file of debug information or of its own .symtab, of .dynsym, of .gnu_debugdata where
/// there is no .symtab, and of the entries of its procedure linkage table (NAME@plt).
[[nodiscard]] inline std::unique_ptr<object_symbols> read_symbols(const object_finder& finder, object_file& of,
                                                                  const std::string& name,
                                                                  const symbol_options& options) {
  auto made = std::make_unique<object_symbols>();
  perf::symbol_table& table = made->table;
  const elf::image* full = nullptr;
  if (auto debug = find_debug_file(finder, of, name)) {
    full = &made->files.emplace_back(std::move(debug))->image;
  } else if (detail::has_symtab(of.image)) {
    full = &of.image;
  }
  if (full != nullptr) {
    if (perf::add_symbols(table, *full, of.image, elf::section_symbols) != 0) table.finish(options.text);
  } else if (const auto packed = section_of(of, ".gnu_debugdata"); packed && options.unpack != nullptr) {
    if (auto bytes = options.unpack(*packed)) {
      const auto mini = elf::open(made->unpacked.emplace_back(std::move(*bytes)));
      if (mini && perf::add_symbols(table, *mini, of.image, elf::section_symbols) != 0) table.finish(options.text);
    }
  }
  const elf::image& with_dynamic = full != nullptr ? *full : of.image;
  if (perf::add_symbols(table, with_dynamic, of.image, elf::section_dynamic_symbols) != 0) table.finish(options.text);
  perf::for_each_plt_entry(of.image, [&](std::uint64_t begin, std::uint64_t size, std::string_view symbol) {
    table.add({begin, begin + size, made->texts.emplace_back(options.text(symbol) + "@plt"), 1});
  });
  table.sort();
  return made;
}

}  // namespace backsight::io
