// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <unordered_map>

#include <backsight/perf/jitdump.hpp>

namespace backsight::perf::jitdump {

/// Code that lies at a place from a time on, as a dump tells it. Views of the dump.
struct function {
  std::uint64_t time = 0;  ///< Of the recording's clock, or ticks; see dump::times_are_ticks.
  std::int32_t pid = 0;
  std::uint64_t begin = 0, size = 0;
  std::uint64_t number = 0;  ///< That of its code_load; one that was moved keeps it.
  std::string_view name;
  byte_view eh_frame;  ///< Empty where the dump has none for it.

  /// Where its .eh_frame counts its addresses from: it is made to lie behind the code, at the next multiple of eight.
  [[nodiscard]] constexpr std::uint64_t eh_frame_address() const noexcept { return begin + (size + 7) / 8 * 8; }
};

/// Calls `f(const function&)` for every function that was loaded or moved, in the order of the dump, and
/// `on_fault(fault)` where a record cannot be read; a move of what was never loaded is left out. Memory: an entry for
/// each function.
template <order O, class F, class OnFault>
void for_each_function(const dump& from, F&& f, OnFault&& on_fault) {
  std::unordered_map<std::uint64_t, function> known;
  byte_view eh_frame;
  const auto give = [&](const function& one) {
    if (one.size != 0 && one.size <= std::numeric_limits<std::uint64_t>::max() - one.begin - 8) f(one);
  };
  for_each_salvaging(
      from.records<O>(),
      [&](const any_record<jitdump_format<O>>& item) {
        if (const auto load = get_if<code_load_record>(item)) {
          function& made = known[load[code_load_record::code_index]];
          made = {load[code_load_record::timestamp],
                  static_cast<std::int32_t>(load[code_load_record::pid]),
                  load[code_load_record::code_addr],
                  load[code_load_record::code_size],
                  load[code_load_record::code_index],
                  name_of(load),
                  eh_frame};
          eh_frame = {};
          give(made);
        } else if (const auto move = get_if<code_move_record>(item)) {
          const auto found = known.find(move[code_move_record::code_index]);
          if (found == known.end()) return;
          found->second.time = move[code_move_record::timestamp];
          found->second.begin = move[code_move_record::new_code_addr];
          give(found->second);
        } else if (const auto unwinding = get_if<unwinding_info_record>(item)) {
          eh_frame = eh_frame_of(unwinding);
        }
      },
      on_fault);
}

}  // namespace backsight::perf::jitdump
