// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <backsight/cfi/general_rule.hpp>
#include <backsight/cfi/numbering.hpp>
#include <backsight/cfi/packed_rows.hpp>
#include <backsight/cfi/placed_rule.hpp>
#include <backsight/cfi/rule.hpp>
#include <backsight/cfi/section.hpp>
#include <backsight/cfi/table_writer.hpp>
#include <backsight/cfi/unwind_rule.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/record.hpp>

namespace backsight::cfi::detail {

/// Turns rows of the interpreter into rules of a table, and writes the table.
template <class Arch>
class table_encoder {
 public:
  static constexpr std::size_t rule_bytes = rule_size<Arch>;

  explicit table_encoder(table_profile profile) : profile_(profile) {
    columns_.fill(column_other);
    columns_[Arch::stack_pointer] = column_stack_pointer;
    for (std::size_t i = 0; i < Arch::saved.size(); ++i) columns_[Arch::saved[i]] = static_cast<std::uint8_t>(i);
  }

  /// The number of the rule that a row stands for. Identical rules have the same number. All rows are of one context.
  // Inline always, and number() too: calls are 1 % more instructions of building a table (GCC 12).
  [[nodiscard, gnu::always_inline]] std::uint32_t rule_number(const row& r, const cie& c, byte_view section) {
    // Most rows change the CFA alone.
    if (registers_.changes != r.rules.changes() && !pack_one(r, c)) pack_registers(r, c);
    std::uint64_t key = registers_.key | std::uint64_t{r.return_address_signed} << key_signed;
    if (registers_.shape == rule_shape::common && r.cfa.kind == cfa_kind::register_offset &&
        r.cfa.reg < Arch::register_count && r.cfa.offset == static_cast<std::int32_t>(r.cfa.offset)) [[likely]] {
      key |= std::uint64_t{r.cfa.reg} << key_register | static_cast<std::uint32_t>(r.cfa.offset);
    } else if (registers_.shape != rule_shape::outermost) {
      return general_number(r, c, section);
    }
    return number(key, registers_.words);
  }

  /// Nothing more fits, and encode will refuse what there is.
  [[nodiscard]] bool is_full() const noexcept { return full_ || rule_count_ > most_rules; }
  /// Writes rows whose rules have the numbers that rule_number gave. Errors: errc::capacity.
  [[nodiscard]] result<std::vector<std::byte>> encode(const packed_rows& rows, const table_options& options,
                                                      const fingerprint& source) const {
    if (is_full()) return {errc::capacity, 0};
    const table_contents contents{Arch::elf_machine,
                                  static_cast<std::uint8_t>(Arch::address_size),
                                  static_cast<std::uint8_t>(rule_bytes),
                                  profile_,
                                  options.build_id,
                                  images_,
                                  general_,
                                  options.find_sequences,
                                  source};
    return table_writer(contents, rows).write();
  }

 private:
  // Where the return address is saved, the place of the CFA and whether it is read from there; then the registers, a
  // byte each, all in words of the machine.
  using packed_words = typename numbering<rule_bytes / 8>::words;
  static constexpr unsigned key_register = 32, key_signed = 40, key_shape = 42, key_signal = 45, key_registers = 46;
  static constexpr unsigned word_cfa = 8, word_cfa_saved = 16;
  static constexpr std::size_t most_rules = packed_rows::no_rule;
  static constexpr std::size_t longest_key = 64;
  [[nodiscard]] static constexpr std::size_t most_expansion(std::size_t section_bytes) noexcept {
    return std::min<std::size_t>(0x7fffffff, 65536 + section_bytes * 16);
  }
  static constexpr std::uint8_t column_other = 0xff;
  static constexpr std::uint8_t column_stack_pointer = 0xfe;
  static constexpr std::uint8_t column_return_address = 0xfd;

  [[nodiscard]] std::uint8_t column(std::uint32_t reg, const cie& c) const noexcept {
    if (reg == c.return_address_register) return column_return_address;
    return reg < columns_.size() ? columns_[reg] : column_other;
  }
  /// The number of a rule by its key, which tells it from others: from bit 0 on the offset of the CFA or of the general
  /// rule's text, then the register of the CFA, whether return addresses are signed, the shape, whether it is a signal
  /// frame's, the number of its packed registers.
  [[nodiscard, gnu::always_inline]] std::uint32_t number(std::uint64_t key, const packed_words& words) {
    const std::uint32_t found = keys_.number({key});
    if (found >= rule_count_) append_image(key, words);
    return found;
  }
  void append_image(std::uint64_t key, const packed_words& words) {
    if (rule_count_ > most_rules) return;  // encode refuses them.
    ++rule_count_;
    images_.resize(images_.size() + rule_bytes);
    std::byte* const image = images_.data() + images_.size() - rule_bytes;
    mutable_record<unwind_rule, order::little>(image)
        .set(unwind_rule::shape, static_cast<rule_shape>(key >> key_shape & 7U))
        .set(unwind_rule::signal_frame, (key >> key_signal & 1U) != 0)
        .set(unwind_rule::return_address_signed, static_cast<std::uint8_t>(key >> key_signed & 3U))
        .set(unwind_rule::cfa_saved, (words[0] >> word_cfa_saved & 1U) != 0)
        .set(unwind_rule::return_address_word, static_cast<std::int8_t>(words[0]))
        .set(unwind_rule::cfa_word, static_cast<std::int8_t>(words[0] >> word_cfa))
        .set(unwind_rule::cfa_register, static_cast<std::uint8_t>(key >> key_register))
        .set(unwind_rule::cfa_offset, static_cast<std::int32_t>(static_cast<std::uint32_t>(key)));
    for (std::size_t i = 1; i < words.size(); ++i) store<order::little>(image + i * 8, words[i]);
  }
  [[nodiscard]] static std::uint64_t key_of(rule_shape shape, const cie& c) noexcept {
    return static_cast<std::uint64_t>(shape) << key_shape | std::uint64_t{c.signal_frame ? 1U : 0U} << key_signal;
  }
  /// Packs what a row says of registers, for a common or an outermost rule; general when they are neither.
  void pack_registers(const row& r, const cie& c) {
    registers_.changes = r.rules.changes();
    registers_.shape = rule_shape::general;
    registers_.key = 0;
    packed_words words{};
    bool outermost = false, has_return_address = false;
    for (const register_rule& rule : r.rules) {
      const std::uint8_t to = column(rule.reg, c);
      if (to == column_return_address) {
        if (rule.kind == rule_kind::undefined) outermost = true;
        else if (rule.kind != rule_kind::at_cfa_offset || !put(words, 0, rule.value)) return;
        has_return_address = true;
      } else if (to == column_stack_pointer) {
        if (rule.kind != rule_kind::is_cfa_offset || rule.value != 0) return;
      } else if (to == column_other) {
        if (profile_ == table_profile::all || c.signal_frame) {
          if (rule.kind != rule_kind::same_value) return;
        }
      } else if (rule.kind == rule_kind::at_cfa_offset) {
        if (!put(words, 8 + std::size_t{to}, rule.value)) return;
      } else if (rule.kind != rule_kind::same_value && !outermost) {
        return;
      }
    }
    // An unspecified return address stays in the architecture's own register only.
    if (!has_return_address && c.return_address_register != Arch::return_address) return;
    if (outermost) words = {};
    keep_packed(outermost ? rule_shape::outermost : rule_shape::common, words, c);
  }
  /// The same when nothing changed but where one register is saved; false when more did.
  [[nodiscard]] bool pack_one(const row& r, const cie& c) {
    if (registers_.shape != rule_shape::common || registers_.changes + 1 != r.rules.changes()) return false;
    const register_rule* rule = r.rules.last_set();
    if (rule == nullptr || rule->kind != rule_kind::at_cfa_offset) return false;
    const std::uint8_t to = column(rule->reg, c);
    packed_words words = registers_.words;
    if (to >= Arch::saved.size() || !put(words, 8 + std::size_t{to}, rule->value)) return false;
    registers_.changes = r.rules.changes();
    keep_packed(rule_shape::common, words, c);
    return true;
  }
  /// Puts an offset from the CFA into a lane, in words of the machine. In words of 64 bits, not bytes in memory: to
  /// load what was stored in pieces takes longer than all the rest.
  [[nodiscard]] static bool put(packed_words& words, std::size_t lane, std::int64_t offset) noexcept {
    constexpr unsigned word_bits = std::countr_zero(std::uint64_t{Arch::address_size});
    const auto word = static_cast<std::int8_t>(offset >> word_bits);
    if (word == 0 || std::int64_t{word} * Arch::address_size != offset) return false;
    std::uint64_t& to = words[lane / 8];
    to = (to & ~(std::uint64_t{0xff} << lane % 8 * 8)) | std::uint64_t{static_cast<std::uint8_t>(word)} << lane % 8 * 8;
    return true;
  }
  void keep_packed(rule_shape shape, const packed_words& words, const cie& c) {
    registers_.words = words;
    registers_.shape = shape;
    registers_.key = key_of(shape, c) | std::uint64_t{known_registers_.number(words)} << key_registers;
  }
  [[nodiscard]] std::uint32_t general_number(const row& r, const cie& c, byte_view section) {
    const auto keep = [&](std::uint32_t reg) {
      return profile_ == table_profile::all || c.signal_frame || column(reg, c) != column_other;
    };
    // A long expression stands for itself in the key: writing it for every row of a function would take more than
    // linear time.
    text_.clear();
    const auto push = [&](std::byte b) { text_.push_back(b); };
    std::size_t long_bytes = 0;
    write_rule_with(
        r, c.return_address_register,
        [&](const expression_ref& e) {
          put_uleb(push, e.size);
          const byte_view code = section.subspan(static_cast<std::size_t>(e.offset), e.size);
          if (e.size <= longest_key) {
            text_.insert(text_.end(), code.begin(), code.end());
          } else {
            put_uleb(push, reinterpret_cast<std::uintptr_t>(code.data()));
            long_bytes += e.size;
          }
        },
        keep, push);
    auto known = general_texts_.find(text_);
    if (known == general_texts_.end()) {
      // More than any real file comes near to: rows that repeat long expressions.
      full_ = full_ || general_.size() + long_bytes > most_expansion(section.size());
      if (is_full()) return 0;
      known = general_texts_.emplace(text_, text_place{}).first;
      text_place& place = known->second;
      if (long_bytes == 0) work_out(place);
      place.offset = general_.size();
      if (place.shape != rule_shape::general) {
        general_.push_back(static_cast<std::byte>(others_.size() / 2));
        general_.insert(general_.end(), others_.begin(), others_.end());
      }
      if (long_bytes == 0) general_.insert(general_.end(), text_.begin(), text_.end());
      else write_general_rule(r, c.return_address_register, section, keep, [&](std::byte b) { general_.push_back(b); });
    }
    const text_place& place = known->second;
    return number(key_of(place.shape, c) | std::uint64_t{r.return_address_signed} << key_signed |
                      std::uint64_t{place.reg} << key_register | place.offset,
                  place.words);
  }
  /// A text among the general rules, and what was worked out from it.
  struct text_place {
    std::size_t offset = 0;
    rule_shape shape = rule_shape::general;
    std::uint8_t reg = 0;
    packed_words words{};
  };
  /// Works out the text of aligned and signal frames: the lanes go to `place`, other registers to `others_`.
  void work_out(text_place& place) {
    others_.clear();
    packed_words words{};
    const auto placed =
        place_rule(text_, Arch::address_size, Arch::stack_pointer, [&](std::uint32_t reg, std::int8_t word) {
          if (word == 0) return false;
          const std::uint8_t lane = reg < columns_.size() ? columns_[reg] : column_other;
          if (lane < Arch::saved.size())
            return put(words, 8 + std::size_t{lane}, std::int64_t{word} * Arch::address_size);
          if (reg >= Arch::register_count) return true;  // Frames do not hold it.
          others_.push_back(static_cast<std::byte>(reg));
          others_.push_back(static_cast<std::byte>(word));
          return others_.size() / 2 < 256;
        });
    // Expressions read the return address column as the pc, and not as a register.
    if (!placed || placed->reg >= Arch::register_count || placed->reg == Arch::return_address) return;
    words[0] = static_cast<std::uint8_t>(placed->return_address_word) |
               std::uint64_t{static_cast<std::uint8_t>(placed->cfa_word)} << word_cfa |
               std::uint64_t{placed->cfa_saved ? 1U : 0U} << word_cfa_saved;
    place.shape = placed->shape;
    place.reg = placed->reg;
    place.words = words;
  }
  /// The registers of the last row.
  struct packed_registers {
    std::uint64_t changes = ~std::uint64_t{0};  // rule_list::changes of the row.
    std::uint64_t key = 0;
    rule_shape shape = rule_shape::general;
    packed_words words{};
  };

  table_profile profile_;
  std::array<std::uint8_t, 128> columns_{};
  packed_registers registers_;
  numbering<rule_bytes / 8> known_registers_;
  numbering<1> keys_;
  std::vector<std::byte> images_;  // Of the rules, by number.
  std::size_t rule_count_ = 0;
  std::vector<std::byte> general_;
  std::map<std::vector<std::byte>, text_place, rule_text_order> general_texts_;  // Where each lies in general_.
  std::vector<std::byte> text_;
  std::vector<std::byte> others_;  // Registers and words that a text has besides lanes.
  bool full_ = false;
};

}  // namespace backsight::cfi::detail
