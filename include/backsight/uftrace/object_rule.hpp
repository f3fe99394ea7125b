// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <backsight/uftrace/recording.hpp>

// The modules that rules name behind an `@`. Source: uftrace's utils/filter.c (setup_trigger) and utils/symbol.c
// (find_map_by_name).
namespace backsight::uftrace {

/// Tells which functions a rule for a module is about: those of the first mapping of a session whose file name begins
/// so; for `PLT`, in any case of the letters, the entries of the program's procedure linkage table; for `kernel` or `k`
/// those of the kernel. Remembers what it found, so it is not for several threads at once.
class object_rule {
 public:
  /// Whether a function of that module, whose symbol has that type, is meant.
  [[nodiscard]] bool is_of(const recording& from, std::string_view name, std::uint32_t object_number,
                           char symbol_type) {
    if (name.size() == 3 && text::begins_as(name, "plt")) return symbol_type == 'P' && is_program(from, object_number);
    const bool kernel = (name.size() == 6 && text::begins_as(name, "kernel")) || name == "k" || name == "K";
    if (kernel || object_number == from.kernel.object) return kernel && object_number == from.kernel.object;
    if (object_number >= from.objects.size() || !text::base_name(from.objects[object_number].path).starts_with(name))
      return false;
    const auto [at, added] = first_.try_emplace(std::string(name));
    if (added) {
      std::vector<bool>& chosen = at->second;
      chosen.resize(from.objects.size());
      for (const auto& map : from.maps) {
        for (const object_mapping& m : map) {
          if (!text::base_name(from.objects[m.object].path).starts_with(name)) continue;
          chosen[m.object] = true;
          break;
        }
      }
    }
    return at->second[object_number];
  }

 private:
  [[nodiscard]] bool is_program(const recording& from, std::uint32_t object_number) {
    if (programs_.empty()) {
      for (const session& s : from.sessions) programs_.insert(s.program);
    }
    return programs_.contains(from.objects[object_number].path);
  }

  std::unordered_map<std::string, std::vector<bool>> first_;
  std::unordered_set<std::string_view> programs_;  ///< the paths of all sessions' programs
};

}  // namespace backsight::uftrace
