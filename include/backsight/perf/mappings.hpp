// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <backsight/core/bytes.hpp>

namespace backsight::perf {

/// The identification of a file's content, as linkers write it and perf records it; of size 0 when it is not known.
struct build_id {
  std::array<std::byte, 20> bytes{};
  std::uint8_t size = 0;

  constexpr build_id() = default;
  /// Of more than 20 bytes the first count, as for perf. Zeros at the end of one with 20 bytes that was recorded
  /// without its size are part of it.
  constexpr explicit build_id(byte_view from) noexcept
      : size(static_cast<std::uint8_t>(from.size() < 20 ? from.size() : 20)) {
    for (std::size_t i = 0; i < size; ++i) bytes[i] = from[i];
  }
  [[nodiscard]] constexpr bool is_known() const noexcept { return size != 0; }
  [[nodiscard]] constexpr byte_view view() const noexcept { return byte_view(bytes).first(size); }
  /// In hexadecimal.
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const std::byte b : view()) {
      out += "0123456789abcdef"[std::to_integer<unsigned>(b) >> 4];
      out += "0123456789abcdef"[std::to_integer<unsigned>(b) & 15U];
    }
    return out;
  }
  friend constexpr bool operator==(const build_id&, const build_id&) = default;
};

/// What is mapped under a name.
enum class file_kind : std::uint8_t {
  file,       ///< A file at that path.
  anonymous,  ///< Memory without a file, which code may have been written to.
  special,    ///< [heap], [stack] and System V memory.
  vdso,
  // clang-format off: a line that begins with this name could be a directive of C++20.
  kernel, module,  ///< A module of the kernel, or another part of it with its own mapping.
  // clang-format on
  symbol,  ///< Code that the kernel named when it made it: BPF programs.
  code,    ///< Code that the process made, as its jitdump tells.
};

/// A file that was mapped, by the name that the recorder gave it.
struct mapped_file {
  std::string name;
  build_id id;
  file_kind kind = file_kind::file;
};

/// What the name of a mapping says of it.
[[nodiscard]] inline file_kind kind_of_file(std::string_view name, bool is_huge) noexcept {
  if (name == "[vdso]") return file_kind::vdso;
  if (is_huge || name == "//anon" || name.starts_with("/dev/zero") || name.starts_with("/anon_hugepage"))
    return file_kind::anonymous;
  if (name.starts_with("[stack") || name.starts_with("/SYSV") || name == "[heap]") return file_kind::special;
  return file_kind::file;
}

/// The files of a recording, each once; numbers count from 0 in the order of their first mapping.
class file_list {
 public:
  [[nodiscard]] std::uint32_t add(std::string_view name, const build_id& id, file_kind kind) {
    std::string key(name);
    key += '\0';
    key.append(reinterpret_cast<const char*>(id.bytes.data()), id.size);
    key += static_cast<char>('0' + static_cast<int>(kind));
    const auto [at, is_new] = numbers_.try_emplace(std::move(key), static_cast<std::uint32_t>(files_.size()));
    if (is_new) files_.push_back({std::string(name), id, kind});
    return at->second;
  }
  [[nodiscard]] std::size_t size() const noexcept { return files_.size(); }
  [[nodiscard]] const mapped_file& operator[](std::uint32_t number) const noexcept { return files_[number]; }

 private:
  std::vector<mapped_file> files_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

/// A piece of an address space: [begin, end) shows the file from `file_offset` on.
struct mapping {
  std::uint64_t begin = 0, end = 0, file_offset = 0;
  std::uint32_t file = 0;  ///< Number in the file_list.
  std::uint32_t protection = 0, flags = 0;
  file_kind kind = file_kind::file;

  [[nodiscard]] constexpr bool is_executable() const noexcept { return (protection & 4U) != 0; }
  /// Where an address lies in the file; the address itself where there is none.
  [[nodiscard]] constexpr std::uint64_t file_address(std::uint64_t address) const noexcept {
    return kind == file_kind::file || kind == file_kind::vdso ? address - begin + file_offset : address;
  }
};

/// The mappings of one address space, which do not overlap. Cost of everything: the logarithm of their number.
class mapping_set {
 public:
  /// Adds a mapping; what lies under it is cut away, as the kernel does. Empty ones, and those that wrap, are left out.
  void add(const mapping& added) {
    if (added.begin >= added.end) return;
    remove(added.begin, added.end);
    all_.emplace(added.begin, added);
    stamp_ = next_stamp();
  }
  /// Cuts [begin, end) out of what there is.
  void remove(std::uint64_t begin, std::uint64_t end) {
    stamp_ = next_stamp();
    auto at = all_.lower_bound(begin);
    if (at != all_.begin()) {
      mapping& before = std::prev(at)->second;
      if (before.end > begin) {
        const mapping whole = before;
        before.end = begin;
        if (whole.end > end) at = all_.emplace(end, tail_of(whole, end)).first;
      }
    }
    while (at != all_.end() && at->first < end) {
      const mapping old = at->second;
      at = all_.erase(at);
      if (old.end > end) all_.emplace(end, tail_of(old, end));
    }
  }
  /// The mapping that covers an address; null when there is none.
  [[nodiscard]] const mapping* find(std::uint64_t address) const noexcept {
    auto after = all_.upper_bound(address);
    if (after == all_.begin()) return nullptr;
    const mapping& found = std::prev(after)->second;
    return address < found.end ? &found : nullptr;
  }
  /// Changes with every change; sets of one stamp have the same mappings.
  [[nodiscard]] std::uint64_t stamp() const noexcept { return stamp_; }
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
  [[nodiscard]] auto end() const noexcept { return all_.end(); }

 private:
  [[nodiscard]] static mapping tail_of(const mapping& whole, std::uint64_t from) noexcept {
    mapping tail = whole;
    tail.begin = from;
    tail.file_offset += from - whole.begin;
    return tail;
  }
  [[nodiscard]] static std::uint64_t next_stamp() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }
  std::map<std::uint64_t, mapping> all_;
  std::uint64_t stamp_ = 0;
};

}  // namespace backsight::perf
