// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <backsight/cfi/frame.hpp>
#include <backsight/cfi/unwind_rule.hpp>
#include <backsight/core/bytes.hpp>

namespace backsight::cfi::detail {

template <class Arch>
inline constexpr std::int64_t word_bytes = Arch::address_size;

/// Changes the place of a saved register where the frame of a common rule saves it anew.
template <class Arch>
inline void update_place(std::uint64_t& where, lanes_view<Arch> lanes, std::size_t lane, std::uint64_t cfa) noexcept {
  const std::int64_t word = load<std::int8_t, order::little>(lanes.data() + lane);
  const std::uint64_t place = cfa + static_cast<std::uint64_t>(word * word_bytes<Arch>);
  where = word != 0 ? place : where;
}

/// The same for all registers of a rule.
template <class Arch>
inline void update_places(frame<Arch>& f, lanes_view<Arch> lanes, std::uint64_t cfa) noexcept {
  for (std::size_t i = 0; i < Arch::saved.size(); ++i) update_place<Arch>(f.where[i], lanes, i, cfa);
}

/// Where the frames of a walk saved registers, in the order of the walk. A walk needs few of the places: of the frame
/// pointer, and those of its last frame. So what rules say of them is kept as it is, and looked at when it is needed.
template <class Arch>
class saved_notes {
 public:
  /// So many frames can be noted before they are settled.
  static constexpr std::size_t capacity = 64;

  /// Notes what a common rule says of frame `i`, counted from the last that was settled.
  void note(std::size_t i, rule_view<Arch> rule, std::uint64_t cfa) noexcept {
    notes_[i].cfa = cfa;
    std::memcpy(notes_[i].lanes.data(), rule.lanes().data(), rule_lanes<Arch>);
  }
  /// Brings a frame's places up to date with the first `count` notes: of each register the newest counts.
  void settle(frame<Arch>& f, std::size_t count) const noexcept {
    for (std::size_t first = 0; first < rule_lanes<Arch>; first += 8) {
      // Eight lanes at once: most frames save nothing that frames behind them have not saved anew.
      constexpr std::size_t lanes = Arch::saved.size();
      std::uint64_t missing = lanes - first < 8 ? (std::uint64_t{1} << (lanes - first) * 8) - 1 : ~std::uint64_t{0};
      for (std::size_t i = count; i-- > 0 && missing != 0;) {
        const lanes_view<Arch> noted = notes_[i].lanes;
        std::uint64_t wanted = load<std::uint64_t, order::little>(noted.data() + first) & missing;
        while (wanted != 0) {
          const auto lane = static_cast<std::size_t>(std::countr_zero(wanted)) / 8;
          const std::uint64_t others = ~(std::uint64_t{0xff} << (lane * 8));
          update_place<Arch>(f.where[first + lane], noted, first + lane, notes_[i].cfa);
          missing &= others;
          wanted &= others;
        }
      }
    }
  }

 private:
  struct one {
    std::uint64_t cfa;
    std::array<std::byte, rule_lanes<Arch>> lanes;
  };
  std::array<one, capacity> notes_;
};

}  // namespace backsight::cfi::detail
