// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <backsight/cfi/halving.hpp>
#include <backsight/cfi/table.hpp>
#include <backsight/cfi/unwind_rule.hpp>
#include <backsight/core/error.hpp>

namespace backsight::cfi {

/// A mapped piece of a file's code, and the table for it.
struct mapped_object {
  std::uint64_t begin = 0;  ///< Load address of its first byte.
  std::uint64_t end = 0;    ///< Load address behind its last byte.
  std::uint64_t bias = 0;   ///< Load address minus link-time address; wraps.
  table_view table;
  std::uint32_t id = 0;  ///< The caller's own number for it.
};

/// A rule and whether there is a mapped object for the address at all.
template <class Arch>
struct found_rule {
  rule_view<Arch> rule;                        ///< None: no call frame information.
  const cfi::mapped_object* object = nullptr;  ///< Null: no mapped object.
};

/// The mapped objects of a process, found by address. Reading is safe for any number of threads while nobody adds or
/// removes; only add and remove allocate.
template <class Arch>
class address_space {
 public:
  address_space() = default;

  /// Adds a mapped object. Errors: errc::bad_value (it overlaps another, or is empty), errc::unsupported_type (its
  /// table is for another machine), both at offset 0.
  [[nodiscard]] trace_error add(const mapped_object& m) {
    if (m.begin >= m.end) return {errc::bad_value, 0};
    if (!m.table.empty() && (m.table.machine() != Arch::elf_machine || m.table.rule_bytes() != rule_size<Arch>)) {
      return {errc::unsupported_type, 0};
    }
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), m.begin);
    const auto at = after - begins_.begin();
    const auto index = static_cast<std::size_t>(at);
    if ((index > 0 && objects_[index - 1].end > m.begin) ||
        (index < objects_.size() && objects_[index].begin < m.end)) {
      return {errc::bad_value, 0};
    }
    objects_.insert(objects_.begin() + at, m);
    begins_.insert(begins_.begin() + at, m.begin);
    stamp_ = next_stamp();
    return {};
  }
  /// Removes the mapped object that begins at `begin`; false when there is none.
  bool remove(std::uint64_t begin) {
    std::size_t index = 0;
    while (index < begins_.size() && begins_[index] != begin) ++index;
    if (index == begins_.size()) return false;
    objects_.erase(objects_.begin() + static_cast<std::ptrdiff_t>(index));
    begins_.erase(begins_.begin() + static_cast<std::ptrdiff_t>(index));
    stamp_ = next_stamp();
    return true;
  }

  /// The mapped object that covers a load address; null when none does. A binary search without branches.
  [[nodiscard]] const mapped_object* find(std::uint64_t address) const noexcept {
    if (begins_.empty()) return nullptr;
    const std::uint64_t* const begins = begins_.data();
    const mapped_object& m =
        objects_[detail::last_at_most(begins_.size(), [&](std::size_t i) { return begins[i] <= address; })];
    return address >= m.begin && address < m.end ? &m : nullptr;
  }
  /// The rule for a load address.
  [[nodiscard]] found_rule<Arch> find_rule(std::uint64_t address) const noexcept {
    const mapped_object* m = find(address);
    if (m == nullptr) return {};
    return {rule_view<Arch>(m->table.find(address - m->bias)), m};
  }

  [[nodiscard]] const std::vector<mapped_object>& objects() const noexcept { return objects_; }
  /// Changes whenever mapped objects come or go, and differs between all address spaces of the program.
  [[nodiscard]] std::uint64_t stamp() const noexcept { return stamp_; }

 private:
  [[nodiscard]] static std::uint64_t next_stamp() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }
  std::vector<std::uint64_t> begins_;
  std::vector<mapped_object> objects_;
  std::uint64_t stamp_ = 0;
};

}  // namespace backsight::cfi
