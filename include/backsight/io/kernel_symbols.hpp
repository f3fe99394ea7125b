// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <backsight/io/mapped_file.hpp>
#include <backsight/perf/symbol_table.hpp>

namespace backsight::io {

namespace detail {

/// A text of which parts are read: a file, or memory.
class text_parts {
 public:
  text_parts() = default;
  text_parts(const text_parts&) = delete;
  text_parts& operator=(const text_parts&) = delete;
  ~text_parts() { close(); }

  /// Opens a file. One whose size the system does not tell, as in /proc, is read whole.
  [[nodiscard]] bool open(const char* path) {
    close();
    descriptor_ = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status{};
    if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return close(), false;
    size_ = static_cast<std::uint64_t>(status.st_size);
    if (size_ != 0) return true;
    auto all = mapped_file::from_descriptor(descriptor_);
    close();
    if (!all || all->bytes().empty()) return false;
    whole_ = std::move(all.value());
    memory_ = view(whole_.bytes());
    size_ = memory_.size();
    return true;
  }
  void keep(std::vector<std::byte> bytes) {
    close();
    owned_ = std::move(bytes);
    memory_ = view(owned_);
    size_ = memory_.size();
  }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// [offset, offset + count), or what there is of it; a view of the text or of `buffer`.
  [[nodiscard]] std::string_view read(std::uint64_t offset, std::size_t count, std::string& buffer) const {
    if (offset >= size_) return {};
    count = static_cast<std::size_t>(std::min<std::uint64_t>(count, size_ - offset));
    if (descriptor_ < 0) return memory_.substr(static_cast<std::size_t>(offset), count);
    buffer.resize(count);
    std::size_t got = 0;
    while (got < count) {
      const ssize_t now = ::pread(descriptor_, buffer.data() + got, count - got, static_cast<off_t>(offset + got));
      if (now <= 0) break;
      got += static_cast<std::size_t>(now);
    }
    return std::string_view(buffer).substr(0, got);
  }

 private:
  [[nodiscard]] static std::string_view view(byte_view bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  mapped_file whole_;
  std::vector<std::byte> owned_;
  std::string_view memory_;
};

}  // namespace detail

/// The names of a kernel, from a text as /proc/kallsyms has it.
///
/// The kernel writes its own symbols in the order of their addresses, and then those of its modules. An address between
/// the former is looked for by halving the text, and only what lies around it is read; other addresses have the whole
/// text read and sorted, once. Memory: the names that were found; with the whole text, 40 bytes for each symbol and the
/// text.
class kernel_symbols {
 public:
  enum class fit : std::uint8_t {
    good,
    no_addresses,  ///< The text has only zeros, as it has for those who may not see addresses.
    other_kernel,  ///< The known function lies where the recorded kernel cannot have it.
  };
  struct name {
    std::string_view text;     ///< Of a symbol of a module with the module, behind a tab. Stays valid.
    std::uint64_t offset = 0;  ///< Of the address in the function.
  };

  [[nodiscard]] bool open(const std::string& path) { return reset(), text_.open(path.c_str()); }
  void keep(std::vector<std::byte> text) { reset(), text_.keep(std::move(text)); }

  /// Tells where a function of that name lay in the recorded kernel, so that addresses can be moved; an empty name
  /// moves none.
  [[nodiscard]] fit place(std::string_view function, std::uint64_t address) {
    bool usable = false, is_known = function.empty();
    std::uint64_t found = 0;
    for (std::uint64_t at = 0; at < text_.size() && !(usable && is_known);) {
      std::string buffer;
      const std::string_view part = lines(at, block * 64, buffer);
      if (part.empty()) break;
      at += part.size();
      perf::for_each_kallsyms_line(part, [&](std::uint64_t value, char, std::string_view text) {
        usable = usable || value != 0;
        if (!is_known && text == function) is_known = true, found = value;
      });
    }
    if (!usable) return fit::no_addresses;
    shift_ = is_known && !function.empty() ? address - found : 0;
    // The kernel is moved by whole pages.
    return shift_ % 0x1000 == 0 ? fit::good : fit::other_kernel;
  }

  /// The name for an address of the kernel, of a module's code where `of_module`.
  [[nodiscard]] std::optional<name> find(std::uint64_t address, bool of_module) {
    if (!whole_read_ && !of_module) {
      if (const auto kept = find_kept(address)) return kept;
      for (const std::uint64_t blocks : {std::uint64_t{1}, std::uint64_t{16}}) {
        if (keep_around(address - shift_, blocks)) return find_kept(address);
      }
    }
    if (!whole_read_) read_whole();
    const perf::named_range* const range = all_.find(address);
    if (range == nullptr) return std::nullopt;
    return name{range->name, address - range->begin};
  }

 private:
  static constexpr std::size_t block = 1024;
  static constexpr std::size_t longest_line = 1024;

  struct kept_name {
    std::uint64_t end = 0;
    std::string text;
  };

  void reset() {
    kept_.clear();
    marks_.clear();
    all_ = {};
    shift_ = 0;
    core_blocks_.reset();
    whole_read_ = false;
  }

  /// Whole lines from `offset`, where a line begins, about `count` bytes of them and at least one.
  [[nodiscard]] std::string_view lines(std::uint64_t offset, std::size_t count, std::string& buffer) const {
    std::string_view part = text_.read(offset, count + longest_line, buffer);
    if (offset + part.size() == text_.size()) return part;
    const std::size_t end = part.find('\n', std::min(count, part.size()));
    return part.substr(0, end == part.npos ? part.size() : end + 1);
  }

  /// The first line that begins in a block or behind it.
  struct mark {
    std::uint64_t offset = 0, address = 0;
    bool of_module = false;
  };
  [[nodiscard]] std::optional<mark> mark_of(std::uint64_t number) {
    if (const auto known = marks_.find(number); known != marks_.end()) return known->second;
    return marks_.try_emplace(number, read_mark(number)).first->second;
  }
  [[nodiscard]] std::optional<mark> read_mark(std::uint64_t number) const {
    std::string buffer;
    const std::uint64_t at = number * block;
    const std::string_view part = text_.read(at == 0 ? 0 : at - 1, longest_line, buffer);
    std::size_t begin = 0;
    if (at != 0) begin = part.find('\n') == part.npos ? part.size() : part.find('\n') + 1;
    const std::size_t end = std::min(part.find('\n', begin), part.size());
    std::optional<mark> found;
    perf::for_each_kallsyms_line(part.substr(begin, end - begin),
                                 [&](std::uint64_t value, char, std::string_view text) {
                                   found = mark{at + begin - (at == 0 ? 0 : 1), value, text.find('\t') != text.npos};
                                 });
    return found;
  }

  /// How many blocks begin with symbols of the kernel itself.
  [[nodiscard]] std::uint64_t core_blocks() {
    if (core_blocks_) return *core_blocks_;
    std::uint64_t first = 0, last = (text_.size() + block - 1) / block;
    while (first < last) {
      const std::uint64_t middle = first + (last - first) / 2;
      const auto here = mark_of(middle);
      if (here && !here->of_module) first = middle + 1;
      else last = middle;
    }
    core_blocks_ = first;
    return first;
  }

  /// Reads the names around an address of the text, so many blocks to each side, and keeps the one that covers it;
  /// false where that cannot be told from them alone.
  [[nodiscard]] bool keep_around(std::uint64_t address, std::uint64_t blocks) {
    std::uint64_t first = 0, last = core_blocks();
    std::uint64_t low = 0, high = ~std::uint64_t{0};
    // The last block that begins at or before the address.
    while (first < last) {
      const std::uint64_t middle = first + (last - first) / 2;
      const auto here = mark_of(middle);
      if (!here || here->address < low || here->address > high) return false;  // Not in order.
      if (here->address <= address) first = middle + 1, low = here->address;
      else last = middle, high = here->address;
    }
    // Behind the last block modules may follow.
    if (first < 1 || first + blocks >= core_blocks()) return false;
    const auto begin = mark_of(first < blocks + 1 ? 0 : first - blocks - 1), end = mark_of(first + blocks);
    if (!begin || !end || end->offset <= begin->offset) return false;
    std::string buffer;
    const auto size = static_cast<std::size_t>(end->offset - begin->offset);
    const std::string_view part = text_.read(begin->offset, size, buffer);
    perf::symbol_table around;
    bool in_order = part.size() == size;
    std::uint64_t before = 0;
    perf::for_each_kallsyms_line(part, [&](std::uint64_t value, char type, std::string_view text) {
      in_order = in_order && value >= before && text.find('\t') == text.npos;
      before = value;
      add(around, value, type, text);
    });
    if (!in_order || around.empty()) return false;
    const std::uint64_t first_begin = around.begin()->begin, last_begin = std::prev(around.end())->begin;
    finish(around);
    const perf::named_range* const found = around.find(address);
    // Of the first and the last there may be more outside of what was read.
    if (found == nullptr || found->begin == first_begin || found->begin == last_begin) return false;
    kept_.try_emplace(found->begin + shift_, kept_name{found->end + shift_, std::string(found->name)});
    return true;
  }

  [[nodiscard]] std::optional<name> find_kept(std::uint64_t address) const {
    auto after = kept_.upper_bound(address);
    if (after == kept_.begin()) return std::nullopt;
    const auto& [begin, found] = *--after;
    if (address >= found.end) return std::nullopt;
    return name{found.text, address - begin};
  }

  void read_whole() {
    whole_read_ = true;
    const std::string_view all = text_.read(0, static_cast<std::size_t>(text_.size()), buffer_);
    all_.reserve(static_cast<std::size_t>(std::count(all.begin(), all.end(), '\n')));
    perf::for_each_kallsyms_line(
        all, [&](std::uint64_t value, char type, std::string_view text) { add(all_, value + shift_, type, text); });
    finish(all_);
  }

  static void add(perf::symbol_table& to, std::uint64_t address, char type, std::string_view text) {
    const char upper = type >= 'a' && type <= 'z' ? static_cast<char>(type - 'a' + 'A') : type;
    if (upper != 'T' && upper != 'W' && upper != 'D' && upper != 'B') return;
    const std::uint8_t binding = upper == 'W' ? 2 : type == upper ? 1 : 0;
    to.add({address, address, text, binding});
  }
  static void finish(perf::symbol_table& table) {
    // A gap between two modules, or a module and the kernel, belongs to neither.
    table.finish(
        [](std::string_view text) { return text; },
        [](std::string_view a, std::string_view b) { return (a.find('[') != a.npos) != (b.find('[') != b.npos); });
  }

  detail::text_parts text_;
  std::string buffer_;
  perf::symbol_table all_;
  std::map<std::uint64_t, kept_name> kept_;
  std::unordered_map<std::uint64_t, std::optional<mark>> marks_;  // by the number of their block
  std::uint64_t shift_ = 0;
  std::optional<std::uint64_t> core_blocks_;
  bool whole_read_ = false;
};

}  // namespace backsight::io
