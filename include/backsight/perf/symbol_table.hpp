// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace backsight::perf {

/// A function, or another thing with a name, at [begin, end). The name is a view of the file that it is from.
struct named_range {
  std::uint64_t begin = 0, end = 0;
  std::string_view name;
  std::uint8_t binding = 1;  ///< As in ELF files: 0 local, 1 global, 2 weak.
  std::uint32_t number = 0;  ///< The place in the order of adding; set by symbol_table::add.
};

/// Names by address, chosen as perf chooses them where several are at one address. 40 bytes for each.
class symbol_table {
 public:
  void add(const named_range& one) {
    sorted_ = sorted_ && (all_.empty() || all_.back().begin <= one.begin);
    all_.push_back(one);
    all_.back().number = next_++;
  }
  void reserve(std::size_t count) { all_.reserve(count); }

  /// Brings what was added into order: those without a size end at the next one, and of those at one address one is
  /// left: one with a size, then not weak, then global, then the one with fewer underscores in front, then the longer
  /// name. `text(name)` gives the name as it is printed, whose length and underscores count.
  /// `gap_ends(a, b)` is true where a symbol without a size, `a`, does not go on to the next, `b`.
  template <class Text, class GapEnds>
  void finish(Text&& text, GapEnds&& gap_ends) {
    constexpr std::uint64_t page = 4096;
    sort();
    for (std::size_t i = 0; i < all_.size(); ++i) {
      named_range& one = all_[i];
      if (one.end != one.begin) continue;
      if (i + 1 == all_.size()) one.end = (one.begin + page - 1) / page * page + page;
      else if (gap_ends(one.name, all_[i + 1].name)) one.end = (one.end + page + page - 1) / page * page;
      else one.end = all_[i + 1].begin;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (kept != 0 && all_[kept - 1].begin == all_[i].begin) {
        if (!is_first_better(all_[kept - 1], all_[i], text)) all_[kept - 1] = all_[i];
      } else {
        all_[kept++] = all_[i];
      }
    }
    all_.resize(kept);
  }
  template <class Text>
  void finish(Text&& text) {
    finish(text, [](std::string_view, std::string_view) { return false; });
  }
  /// Only the order: for names that cannot be at one address.
  void sort() {
    if (!sorted_) {
      // Not std::stable_sort: Clang 19 warns of what libstdc++ 12 uses for it.
      std::sort(all_.begin(), all_.end(), [](const named_range& a, const named_range& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.number < b.number;
      });
    }
    sorted_ = true;
  }

  /// What covers an address; null when nothing does.
  [[nodiscard]] const named_range* find(std::uint64_t address) const noexcept {
    auto after = std::upper_bound(all_.begin(), all_.end(), address,
                                  [](std::uint64_t a, const named_range& b) { return a < b.begin; });
    if (after == all_.begin()) return nullptr;
    const named_range& found = *--after;
    return address < found.end ? &found : nullptr;
  }
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
  [[nodiscard]] auto end() const noexcept { return all_.end(); }

 private:
  [[nodiscard]] static std::size_t underscores(std::string_view name) noexcept {
    return std::min(name.find_first_not_of('_'), name.size());
  }
  template <class Text>
  [[nodiscard]] static bool is_first_better(const named_range& a, const named_range& b, Text& text) {
    constexpr std::uint8_t global = 1, weak = 2;
    const bool a_sized = a.end != a.begin, b_sized = b.end != b.begin;
    if (a_sized != b_sized) return a_sized;
    if ((a.binding == weak) != (b.binding == weak)) return a.binding != weak;
    if ((a.binding == global) != (b.binding == global)) return a.binding == global;
    const auto first = text(a.name), second = text(b.name);
    if (const auto x = underscores(first), y = underscores(second); x != y) return x < y;
    return first.size() >= second.size();
  }

  std::vector<named_range> all_;
  std::uint32_t next_ = 0;
  bool sorted_ = true;
};

/// Calls `f(address, type, name)` for the lines of a text as /proc/kallsyms has it. Names of modules end with their
/// module, behind a tab. Time: linear in the text.
template <class F>
void for_each_kallsyms_line(std::string_view text, F&& f) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::uint64_t address = 0;
    std::size_t i = 0;
    for (; i < line.size() && i < 16; ++i) {
      const char c = line[i];
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
      if (digit < 0) break;
      address = address << 4 | static_cast<std::uint64_t>(digit);
    }
    if (i == 0 || line.size() < i + 4 || line[i] != ' ' || line[i + 2] != ' ') continue;
    f(address, line[i + 1], line.substr(i + 3));
  }
}

/// Calls `f(begin, size, name)` for the lines of a perf map file: START SIZE NAME, hexadecimal.
template <class F>
void for_each_map_line(std::string_view text, F&& f) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::uint64_t numbers[2] = {0, 0};
    bool good = true;
    for (std::uint64_t& number : numbers) {
      if (line.starts_with("0x")) line.remove_prefix(2);
      std::size_t i = 0;
      for (; i < line.size() && i < 16; ++i) {
        const char c = line[i];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) break;
        number = number << 4 | static_cast<std::uint64_t>(digit);
      }
      good = good && i != 0 && i < line.size() && line[i] == ' ';
      if (!good) break;
      line.remove_prefix(i + 1);
    }
    if (good && !line.empty() && numbers[0] + numbers[1] >= numbers[0]) f(numbers[0], numbers[1], line);
  }
}

}  // namespace backsight::perf
