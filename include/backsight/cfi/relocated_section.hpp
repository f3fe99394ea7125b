// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <backsight/cfi/frame_sections.hpp>
#include <backsight/cfi/section.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/elf/relocate.hpp>
#include <backsight/elf/sections.hpp>

namespace backsight::cfi {

/// The call frame information of an object file with its relocations applied. Each section of an object file begins at
/// address 0, so that an address means nothing without the section of code that it counts from: FDEs of several
/// sections may cover the same addresses. `keep_code_of` leaves those of one section.
class relocated_section {
 public:
  relocated_section() = default;

  /// Relocates a copy of `bytes`, which are those of the section that find_frame_section reports as errc::unrelocated,
  /// or what was inflated of it. Errors: those of elf::relocate, at their offset in the file.
  [[nodiscard]] static result<relocated_section> make(const elf::image& file, section_kind kind, byte_view bytes) {
    relocated_section made;
    const auto target = detail::frame_section_header(file, kind);
    if (!target) return {errc::missing_section, 0};
    made.bytes_.assign(bytes.begin(), bytes.end());
    made.info_ = detail::describe(file, kind, target->address);
    made.order_ = file.byte_order();
    auto places = elf::relocate(file, *target, made.bytes_);
    if (!places) return places.error();
    made.places_ = std::move(places.value());
    return made;
  }

  /// Valid as long as this object.
  [[nodiscard]] frame_section section() const noexcept { return {made_of(bytes_), info_}; }

  /// The sections of code that FDEs belong to, by their index in the file, ascending.
  [[nodiscard]] std::vector<std::uint32_t> code_sections() const {
    std::vector<std::uint32_t> found;
    with_order(order_,
               [&](auto o) { for_each_fde<o()>([&](const entry&, std::uint32_t code) { found.push_back(code); }); });
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  /// Takes away the FDEs that belong to other sections of code than this one; gives their number. Their bytes become
  /// those of CIEs that no FDE has.
  std::size_t keep_code_of(std::uint32_t code) {
    std::size_t taken = 0;
    with_order(order_, [&](auto o) {
      std::vector<entry> others;
      for_each_fde<o()>([&](const entry& e, std::uint32_t of) {
        if (of != code) others.push_back(e);
      });
      for (const entry& e : others) {
        const std::size_t mark = info_.kind == section_kind::debug_frame && e.wide ? 8 : 4;
        const auto value = std::byte{info_.kind == section_kind::debug_frame ? std::uint8_t{0xff} : std::uint8_t{0}};
        std::fill_n(bytes_.begin() + static_cast<std::ptrdiff_t>(e.body - mark), mark, value);
      }
      taken = others.size();
    });
    return taken;
  }

 private:
  [[nodiscard]] static byte_view made_of(const std::vector<std::byte>& bytes) noexcept { return bytes; }

  /// Calls `f(entry, section of code)` for each FDE whose start was relocated.
  template <order O, class F>
  void for_each_fde(F&& f) const {
    const cfi::section<O> from(bytes_, info_);
    auto at = places_.begin();
    for (const entry& e : from.entries()) {
      if (e.is_cie || e.error != errc::ok) continue;
      // The first address behind the pointer to the CIE is the start of the FDE's code.
      while (at != places_.end() && at->offset < e.body) ++at;
      if (at != places_.end() && at->offset < e.end) f(e, at->section);
    }
  }

  std::vector<std::byte> bytes_;
  section_info info_;
  order order_ = order::little;
  std::vector<elf::relocated_place> places_;
};

}  // namespace backsight::cfi
