// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zlib.h>

#include <backsight/io/object_files.hpp>
#include <backsight/perf/symbol_places.hpp>
#include <backsight/perf/symbol_table.hpp>

namespace backsight::io {

/// How names are made and packed sections unpacked.
struct symbol_options {
  /// The printed form of a symbol's name.
  std::function<std::string(std::string_view)> text = [](std::string_view name) { return std::string(name); };
  /// Unpacks xz, such as unpack_xz does; absent for data that is damaged. Null where xz cannot be read.
  std::optional<std::vector<std::byte>> (*unpack)(byte_view) = nullptr;
};

/// The names in a mapped file, by offset in it. Only what is asked for is read of them, and kept. The mapped file must
/// outlive it.
class object_symbols {
 public:
  struct name {
    std::string_view text;     ///< The printed form. Stays valid.
    std::uint64_t offset = 0;  ///< Of what was asked for, from where it begins.
  };

  /// The name that covers an offset in the mapped file. Any number of threads may ask.
  [[nodiscard]] std::optional<name> find(std::uint64_t offset) {
    const std::lock_guard lock(mutex_);
    auto after = kept_.upper_bound(offset);
    if (after == kept_.begin() || offset >= std::prev(after)->second.next) {
      if (!keep(offset)) return std::nullopt;
      after = kept_.upper_bound(offset);
    }
    const auto& [begin, found] = *std::prev(after);
    if (offset >= found.end) return std::nullopt;
    return name{found.text, offset - begin};
  }

 private:
  friend std::unique_ptr<object_symbols> read_symbols(const object_finder& finder, object_file& of,
                                                      const std::string& name, const symbol_options& options);
  struct kept {
    std::uint64_t end = 0;
    std::string text;
    std::uint64_t next = 0;  ///< Where the next name begins.
  };

  /// Keeps what begins last at or before an offset; false when nothing does.
  [[nodiscard]] bool keep(std::uint64_t offset) {
    const auto a = full_.at_or_before(offset), b = dynamic_.at_or_before(offset);
    const auto plt = plt_.at_or_before(offset);
    if (!a && !b && !plt) return false;
    const std::uint64_t symbols_begin = std::max(a.value_or(0), b.value_or(0));
    // Of a symbol and an entry at one place the entry is taken.
    const bool of_plt = plt && ((!a && !b) || plt->begin >= symbols_begin);
    const std::uint64_t begin = of_plt ? plt->begin : symbols_begin;
    kept found = of_plt ? kept{plt->end, options_.text(plt->symbol) + "@plt", 0} : choose(begin);
    found.next = ~std::uint64_t{0};
    for (const auto& next : {full_.behind(begin), dynamic_.behind(begin), plt_.behind(begin)}) {
      if (next) found.next = std::min(found.next, *next);
    }
    kept_.insert_or_assign(begin, std::move(found));
    return true;
  }

  /// The best of the symbols at a place; those without a size end where the next one begins.
  [[nodiscard]] kept choose(std::uint64_t begin) const {
    perf::symbol_table near;
    for (const perf::symbol_places* const table : {&full_, &dynamic_}) {
      table->add_those_at(begin, near);
      if (const auto next = table->behind(begin)) near.add({*next, *next + 1, {}, 1});
      near.finish(options_.text);
    }
    const perf::named_range* const best = near.find(begin);
    return best == nullptr ? kept{} : kept{best->end, options_.text(best->name), 0};
  }

  symbol_options options_;
  perf::symbol_places full_, dynamic_;
  perf::plt_places plt_;
  std::unique_ptr<object_file> debug_;
  std::vector<std::byte> unpacked_;
  std::mutex mutex_;
  std::map<std::uint64_t, kept> kept_;  // By where they begin.
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

/// The file of debug information with a .symtab for a mapped file, as perf looks for it: by .gnu_debuglink, by build
/// id, by path below /usr/lib/debug; null when there is none. What does not belong to the file is told to finder.say
/// and not used.
[[nodiscard]] inline std::unique_ptr<object_file> find_debug_file(const object_finder& finder, object_file& of,
                                                                  const std::string& name) {
  const perf::build_id id(of.image.build_id());
  std::vector<std::string> tried{of.path};
  const auto take = [&](const std::string& path,
                        std::optional<std::uint32_t> checksum) -> std::unique_ptr<object_file> {
    // Several rules lead to one place.
    if (std::find(tried.begin(), tried.end(), path) != tried.end()) return nullptr;
    tried.push_back(path);
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

/// The names of a mapped file: those of its file of debug information or of its own .symtab, of .dynsym, of
/// .gnu_debugdata where there is no .symtab, and of the entries of its procedure linkage table (NAME@plt).
[[nodiscard]] inline std::unique_ptr<object_symbols> read_symbols(const object_finder& finder, object_file& of,
                                                                  const std::string& name,
                                                                  const symbol_options& options) {
  auto made = std::make_unique<object_symbols>();
  made->options_ = options;
  const elf::image* full = nullptr;
  elf::image mini;
  made->debug_ = find_debug_file(finder, of, name);
  if (made->debug_ != nullptr) {
    full = &made->debug_->image;
  } else if (detail::has_symtab(of.image)) {
    full = &of.image;
  } else if (const auto packed = section_of(of, ".gnu_debugdata"); packed && options.unpack != nullptr) {
    if (auto bytes = options.unpack(*packed)) {
      made->unpacked_ = std::move(*bytes);
      if (const auto opened = elf::open(made->unpacked_)) mini = *opened;
      made->full_ = perf::symbol_places(mini, of.image, elf::section_symbols);
    }
  }
  if (full != nullptr) made->full_ = perf::symbol_places(*full, of.image, elf::section_symbols);
  made->dynamic_ = perf::symbol_places(full != nullptr ? *full : of.image, of.image, elf::section_dynamic_symbols);
  made->plt_ = perf::plt_places(of.image);
  // The tables of symbols were read from end to end, and of that little is needed again.
  of.give_back();
  if (made->debug_ != nullptr) made->debug_->give_back();
  return made;
}

}  // namespace backsight::io
