// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/elf/relocation_kinds.hpp>
#include <backsight/elf/sections.hpp>
#include <backsight/elf/symbols.hpp>

namespace backsight::elf {

/// A place in a relocated section that got the address of something, and the section that this lies in.
struct relocated_place {
  std::uint64_t offset = 0;
  std::uint16_t section = 0;  ///< As the symbol says: 0 when it is undefined, section_absolute when it has none.
};

/// The type of the relocation whose record lies at an offset of the file, as errors of relocate() give it.
[[nodiscard]] inline std::uint32_t relocation_type_at(const image& file, std::uint64_t offset) noexcept {
  for (const section r : file.sections()) {
    if ((r.type != section_rela && r.type != section_rel) || offset < r.offset || offset - r.offset >= r.size) continue;
    const auto relocations = relocations_of(file, r);
    if (!relocations || relocations->empty()) continue;
    const std::uint64_t index = (offset - r.offset) / (r.size / relocations->size());
    if (index < relocations->size()) return (*relocations)[static_cast<std::size_t>(index)].type;
  }
  return 0;
}

namespace detail {

/// Applies relocations one after the other to the bytes of a section.
template <order O>
class relocator {
 public:
  relocator(const image& file, const section& target, std::span<std::byte> bytes) noexcept
      : file_(file), bytes_(bytes), address_(target.address), address_size_(file.address_size()) {}

  /// Errors: errc::out_of_range (the place or the symbol), unknown_relocation, number_too_large (the value does not fit
  /// its place), unpaired_record (half of a pair), bad_value (the number at the place).
  [[nodiscard]] errc apply(const relocation& r, const symbol& s) noexcept {
    const relocation_kind kind = kind_of(file_.machine(), r.type);
    if (kind.what == relocation_kind::action::unknown) return errc::unknown_relocation;
    if (const bool second = kind.what == relocation_kind::action::subtract_uleb; second != set_uleb_.has_value())
      return errc::unpaired_record;
    if (kind.what == relocation_kind::action::none) return errc::ok;
    if (r.offset > bytes_.size() || bytes_.size() - r.offset < kind.bytes) return errc::out_of_range;
    const std::uint64_t at = r.offset;
    std::uint64_t value = s.value + (s.section < section_reserved ? base_of(s.section) : 0);
    if (r.has_addend) value += static_cast<std::uint64_t>(r.addend);
    else value += signed_at(at, kind.bytes);
    switch (kind.what) {
      case relocation_kind::action::absolute: return put(at, kind.bytes, value);
      case relocation_kind::action::relative: return put(at, kind.bytes, value - (address_ + at));
      case relocation_kind::action::add: return store_cut(at, kind.bytes, read(at, kind.bytes) + value);
      case relocation_kind::action::subtract: return store_cut(at, kind.bytes, read(at, kind.bytes) - value);
      case relocation_kind::action::set: return store_cut(at, kind.bytes, value);
      case relocation_kind::action::set6: return put6(at, value);
      case relocation_kind::action::subtract6: return put6(at, read(at, 1) - value);
      case relocation_kind::action::set_uleb:
        set_uleb_ = value;
        set_uleb_at_ = at;
        return errc::ok;
      case relocation_kind::action::subtract_uleb:
        if (at != set_uleb_at_) return errc::unpaired_record;
        value = *set_uleb_ - value;
        set_uleb_.reset();
        return put_uleb(at, value);
      default: return errc::ok;
    }
  }
  /// No half of a pair is left.
  [[nodiscard]] bool complete() const noexcept { return !set_uleb_; }

 private:
  [[nodiscard]] std::uint64_t base_of(std::uint16_t index) const noexcept {
    return index != 0 && index < file_.sections().size() ? file_.sections()[index].address : 0;
  }
  [[nodiscard]] std::uint64_t read(std::uint64_t at, unsigned size) const noexcept {
    const std::byte* from = bytes_.data() + at;
    switch (size) {
      case 1: return load<std::uint8_t, O>(from);
      case 2: return load<std::uint16_t, O>(from);
      case 4: return load<std::uint32_t, O>(from);
      default: return load<std::uint64_t, O>(from);
    }
  }
  [[nodiscard]] std::uint64_t signed_at(std::uint64_t at, unsigned size) const noexcept {
    const std::uint64_t sign = std::uint64_t{1} << (size * 8 - 1);
    return (read(at, size) ^ sign) - sign;
  }
  errc store_cut(std::uint64_t at, unsigned size, std::uint64_t value) noexcept {
    std::byte* to = bytes_.data() + at;
    switch (size) {
      case 1: store<O>(to, static_cast<std::uint8_t>(value)); break;
      case 2: store<O>(to, static_cast<std::uint16_t>(value)); break;
      case 4: store<O>(to, static_cast<std::uint32_t>(value)); break;
      default: store<O>(to, value); break;
    }
    return errc::ok;
  }
  /// Stores a value that must be there afterwards, as signed or as unsigned; addresses of 32 bits wrap.
  errc put(std::uint64_t at, unsigned size, std::uint64_t value) noexcept {
    if (size < address_size_) {
      const unsigned bits = size * 8;
      const auto rest = static_cast<std::uint64_t>(static_cast<std::int64_t>(value) >> (bits - 1));
      if (value >> bits != 0 && rest != ~std::uint64_t{0}) return errc::number_too_large;
    }
    return store_cut(at, size, value);
  }
  /// The lower six bits: the operand of an advance in its opcode.
  errc put6(std::uint64_t at, std::uint64_t value) noexcept {
    return store_cut(at, 1, (read(at, 1) & 0xc0U) | (value & 0x3fU));
  }
  /// A number in as many bytes as the one that is there.
  errc put_uleb(std::uint64_t at, std::uint64_t value) noexcept {
    for (;; ++at, value >>= 7) {
      if (at == bytes_.size()) return errc::bad_value;
      const std::uint64_t more = read(at, 1) & 0x80U;
      store_cut(at, 1, (value & 0x7fU) | more);
      if (more == 0) return value < 0x80 ? errc::ok : errc::number_too_large;
    }
  }

  const image& file_;
  std::span<std::byte> bytes_;
  std::uint64_t address_;
  std::uint64_t address_size_;
  std::optional<std::uint64_t> set_uleb_;
  std::uint64_t set_uleb_at_ = 0;
};

}  // namespace detail

/// Applies the relocations of an object file (ET_REL) to `bytes`, a copy of the bytes of its section `target`, inflated
/// when it is compressed. Every section counts as lying at its own address, which is 0 in object files; what is not
/// defined in the file counts as 0. For x86-64, i386, AArch64, ARM and RISC-V, the kinds that assemblers use in call
/// frame and debugging information, with and without addends, in files of any class and byte order. Gives the places
/// that got an address, ascending. Errors, at the offset of the relocation's record in the file:
/// errc::unknown_relocation, out_of_range (its place or its symbol), number_too_large (the value does not fit),
/// unpaired_record (half of a pair), bad_value; and those of relocations_of and symbols_of. `bytes` are of no use then.
[[nodiscard]] inline result<std::vector<relocated_place>> relocate(const image& file, const section& target,
                                                                   std::span<std::byte> bytes) {
  std::vector<relocated_place> places;
  for (const section r : file.sections()) {
    if ((r.type != section_rela && r.type != section_rel) || r.info != target.index) continue;
    const auto relocations = relocations_of(file, r);
    if (!relocations) return relocations.error();
    if (r.link >= file.sections().size()) return {errc::out_of_range, r.offset};
    const auto symbols = symbols_of(file, file.sections()[r.link]);
    if (!symbols) return symbols.error();
    const trace_error error = with_order(file.byte_order(), [&](auto o) -> trace_error {
      detail::relocator<o()> apply(file, target, bytes);
      const std::uint64_t stride = r.size / (relocations->empty() ? 1 : relocations->size());
      for (std::size_t i = 0; i < relocations->size(); ++i) {
        const relocation one = (*relocations)[i];
        const std::uint64_t here = r.offset + i * stride;
        if (one.symbol >= symbols->size() && one.symbol != 0) return {errc::out_of_range, here};
        const symbol s = one.symbol == 0 ? symbol{} : (*symbols)[one.symbol];
        if (const errc code = apply.apply(one, s); code != errc::ok) return {code, here};
        const auto what = kind_of(file.machine(), one.type).what;
        if (what == relocation_kind::action::absolute || what == relocation_kind::action::relative ||
            what == relocation_kind::action::add) {
          places.push_back({one.offset, s.section});
        }
      }
      if (!apply.complete()) return {errc::unpaired_record, r.offset + r.size};
      return {};
    });
    if (error) return error;
  }
  const auto before = [](const relocated_place& a, const relocated_place& b) { return a.offset < b.offset; };
  if (!std::is_sorted(places.begin(), places.end(), before)) std::sort(places.begin(), places.end(), before);
  return places;
}

}  // namespace backsight::elf
