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
#include <backsight/cfi/rule.hpp>
#include <backsight/cfi/section.hpp>
#include <backsight/cfi/table.hpp>
#include <backsight/cfi/unwind_rule.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/record.hpp>

namespace backsight::cfi::detail {

/// Collects rows in ascending order of their addresses and encodes them.
template <class Arch>
class table_encoder {
 public:
  static constexpr std::size_t rule_bytes = rule_size<Arch>;
  static constexpr std::uint32_t no_rule = 0xffff;  // One more than a table has.
  using rule_image = std::array<std::byte, rule_bytes>;

  explicit table_encoder(table_profile profile) : profile_(profile) {
    columns_.fill(column_other);
    columns_[Arch::stack_pointer] = column_stack_pointer;
    for (std::size_t i = 0; i < Arch::saved.size(); ++i) columns_[Arch::saved[i]] = static_cast<std::uint8_t>(i);
  }

  /// The number of the rule that a row stands for. Identical rules have the same number. All rows are of one context.
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

  /// From `address` on this rule is in force; no_rule for none. Addresses do not descend.
  [[gnu::always_inline]] void add(std::uint64_t address, std::uint32_t rule) {
    if (address == last_start_ && !starts_.empty()) [[unlikely]]
      truncate(starts_.size() - 1);
    if (rule == last_rule_) return;
    starts_.push_back(address);
    rules_of_.push_back(static_cast<std::uint16_t>(rule));
    last_start_ = address;
    last_rule_ = rule;
  }
  [[nodiscard]] std::size_t size() const noexcept { return starts_.size(); }
  /// Nothing more fits, and encode will refuse what there is.
  [[nodiscard]] bool is_full() const noexcept { return full_ || images_.size() > most_rules; }
  /// Makes room for a number of rows.
  void reserve(std::size_t rows) {
    starts_.reserve(rows);
    rules_of_.reserve(rows);
  }
  /// Takes back what was added since size() was `count`.
  void truncate(std::size_t count) {
    starts_.resize(count);
    rules_of_.resize(count);
    last_start_ = count == 0 ? 0 : starts_.back();
    last_rule_ = count == 0 ? no_rule : rules_of_.back();
  }
  [[nodiscard]] result<std::vector<std::byte>> encode(byte_view build_id);

 private:
  // Where the return address is saved, then the registers, a byte each, all in words of the machine.
  using packed_words = typename numbering<rule_bytes / 8>::words;
  static constexpr unsigned key_register = 32, key_signed = 40, key_shape = 42, key_signal = 45, key_registers = 46;
  static constexpr std::size_t most_rules = 0xffff;
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
    if (found >= images_.size()) append_image(key, words);
    return found;
  }
  [[gnu::noinline]] void append_image(std::uint64_t key, const packed_words& words) {
    if (images_.size() > most_rules) return;  // encode refuses them.
    rule_image& image = images_.emplace_back();
    mutable_record<unwind_rule, order::little>(image.data())
        .set(unwind_rule::shape, static_cast<rule_shape>(key >> key_shape & 7U))
        .set(unwind_rule::signal_frame, (key >> key_signal & 1U) != 0)
        .set(unwind_rule::return_address_signed, static_cast<std::uint8_t>(key >> key_signed & 3U))
        .set(unwind_rule::return_address_word, static_cast<std::int8_t>(words[0]))
        .set(unwind_rule::cfa_register, static_cast<std::uint8_t>(key >> key_register))
        .set(unwind_rule::cfa_offset, static_cast<std::int32_t>(static_cast<std::uint32_t>(key)));
    for (std::size_t i = 1; i < words.size(); ++i) store<order::little>(image.data() + i * 8, words[i]);
  }
  [[nodiscard]] static std::uint64_t key_of(rule_shape shape, const cie& c) noexcept {
    return static_cast<std::uint64_t>(shape) << key_shape | std::uint64_t{c.signal_frame ? 1U : 0U} << key_signal;
  }
  /// Packs what a row says of registers, for a common or an outermost rule; general when they are neither.
  [[gnu::noinline]] void pack_registers(const row& r, const cie& c) {
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
  /// Puts an offset from the CFA into a lane, in words of the machine. In words of 64 bits, not bytes in memory: to load
  /// what was stored in pieces takes longer than all the rest.
  [[nodiscard]] static bool put(packed_words& words, std::size_t lane, std::int64_t offset) noexcept {
    constexpr std::int64_t word = Arch::address_size;
    if (offset % word != 0 || offset == 0 || offset / word > 127 || offset / word < -128) return false;
    std::uint64_t& to = words[lane / 8];
    to = (to & ~(std::uint64_t{0xff} << lane % 8 * 8)) | std::uint64_t{static_cast<std::uint8_t>(offset / word)}
                                                             << lane % 8 * 8;
    return true;
  }
  void keep_packed(rule_shape shape, const packed_words& words, const cie& c) {
    registers_.words = words;
    registers_.shape = shape;
    registers_.key = key_of(shape, c) | std::uint64_t{known_registers_.number(words)} << key_registers;
  }
  [[nodiscard, gnu::noinline]] std::uint32_t general_number(const row& r, const cie& c, byte_view section) {
    const auto keep = [&](std::uint32_t reg) {
      return profile_ == table_profile::all || c.signal_frame || column(reg, c) != column_other;
    };
    // A long expression stands for itself in the key: writing it for every row of a function would take more than linear
    // time.
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
    const auto known = general_texts_.find(text_);
    std::size_t offset = known != general_texts_.end() ? known->second : general_.size();
    if (known == general_texts_.end()) {
      // More than any real file comes near to: rows that repeat long expressions.
      full_ = full_ || general_.size() + long_bytes > most_expansion(section.size());
      if (is_full()) return 0;
      general_texts_.emplace(text_, offset);
      if (long_bytes == 0) general_.insert(general_.end(), text_.begin(), text_.end());
      else write_general_rule(r, c.return_address_register, section, keep, [&](std::byte b) { general_.push_back(b); });
    }
    return number(key_of(rule_shape::general, c) | std::uint64_t{r.return_address_signed} << key_signed | offset, {});
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
  std::vector<rule_image> images_;  // Of the rules, by number.
  std::vector<std::byte> general_;
  std::map<std::vector<std::byte>, std::size_t> general_texts_;  // Where each lies in general_.
  std::vector<std::byte> text_;
  bool full_ = false;
  std::vector<std::uint64_t> starts_;
  std::vector<std::uint16_t> rules_of_;
  std::uint64_t last_start_ = 0;
  std::uint32_t last_rule_ = no_rule;
};

template <class Arch>
result<std::vector<std::byte>> table_encoder<Arch>::encode(byte_view build_id) {
  if (is_full()) return {errc::capacity, 0};
  const std::size_t rows = starts_.size();
  // Granules: what all addresses are multiples of, at most 16 bytes.
  std::uint64_t bits = 16;
  for (const std::uint64_t start : starts_) bits |= start;
  const auto granule_bits = static_cast<unsigned>(std::countr_zero(bits));
  const std::uint64_t bucket_bytes = std::uint64_t{256} << granule_bits;
  const std::uint64_t page_bytes = bucket_bytes * buckets_per_page;

  // A gap up to the next multiple of 16 and the rule that most functions begin with are one row.
  const auto aligned_gap = [&](std::size_t i) {
    return rules_of_[i] == no_rule && i + 1 < rows && starts_[i] % 16 != 0 && starts_[i + 1] == (starts_[i] | 15) + 1 &&
           (starts_[i + 1] & (page_bytes - 1)) != 0;
  };
  std::vector<std::uint32_t> uses(images_.size()), uses_behind_gaps(images_.size()), order_of(images_.size());
  for (std::size_t i = 0; i < rows; ++i) {
    if (rules_of_[i] != no_rule) ++uses[rules_of_[i]];
    else if (aligned_gap(i)) ++uses_behind_gaps[rules_of_[i + 1]];
  }
  const auto most_used = static_cast<std::uint32_t>(std::max_element(uses_behind_gaps.begin(), uses_behind_gaps.end()) -
                                                    uses_behind_gaps.begin());
  // The most frequent rules have one-byte ids; the entry rule is among them.
  std::vector<std::uint32_t> ranked(images_.size());
  for (std::size_t i = 0; i < ranked.size(); ++i) ranked[i] = static_cast<std::uint32_t>(i);
  std::sort(ranked.begin(), ranked.end(), [&](std::uint32_t a, std::uint32_t b) {
    if ((a == most_used) != (b == most_used)) return a == most_used;
    return uses[a] != uses[b] ? uses[a] > uses[b] : a < b;
  });
  for (std::size_t i = 0; i < ranked.size(); ++i) order_of[ranked[i]] = static_cast<std::uint32_t>(i);

  std::vector<std::byte> runs, pages, blocks(1 + 2 * rows + block_slack);
  blocks[0] = std::byte{id_gap};
  std::size_t blocks_end = 1;
  std::vector<std::uint32_t> exception_positions;
  std::vector<std::uint16_t> exception_rules;
  std::uint32_t run_count = 0, page_count = 0;
  const auto append = [](std::vector<std::byte>& to, const auto& bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
  };

  // Outside of the loop over buckets: clearing them there takes as long as all the rest.
  std::array<std::uint32_t, 256> ids{};
  constexpr std::uint64_t longest_hole = 64;  // Pages without a row that are worth storing to keep a run whole.
  for (std::size_t i = 0; i < rows;) {
    const std::uint64_t run_begin = starts_[i] / page_bytes * page_bytes;
    const std::uint32_t first_page = page_count;
    std::uint64_t page_begin = run_begin;
    while (i < rows && starts_[i] - page_begin < page_bytes * (longest_hole + 1)) {
      std::array<std::byte, 16> counts{};
      if (blocks_end > 0xffffffffU - 16 * 512) return {errc::capacity, 0};
      const auto block = static_cast<std::uint32_t>(blocks_end);
      for (std::size_t bucket = 0; bucket < buckets_per_page; ++bucket) {
        const std::uint64_t begin = page_begin + bucket * bucket_bytes;
        std::size_t count = 0;
        while (i < rows && starts_[i] - begin < bucket_bytes) {
          blocks[blocks_end + count] = static_cast<std::byte>((starts_[i] - begin) >> granule_bits);
          if (rules_of_[i] == no_rule) {
            const bool both = aligned_gap(i) && rules_of_[i + 1] == most_used;
            ids[count] = both ? 0x10000U + id_aligned_gap : 0x10000U + id_gap;
            // The second row may lie in the next bucket, where the last id of this one stands for it.
            i += both ? 2 : 1;
          } else {
            ids[count] = order_of[rules_of_[i++]];
          }
          ++count;
        }
        if (count > 255) return {errc::capacity, 0};
        counts[bucket] = static_cast<std::byte>(count);
        blocks_end += count;
        for (std::size_t k = 0; k < count; ++k, ++blocks_end) {
          const bool own_byte = ids[k] < id_aligned_gap || ids[k] >= 0x10000U;
          blocks[blocks_end] = own_byte ? static_cast<std::byte>(ids[k] & 0xffU) : std::byte{id_exception};
          if (own_byte) continue;
          exception_positions.push_back(static_cast<std::uint32_t>(blocks_end));
          exception_rules.push_back(static_cast<std::uint16_t>(ids[k]));
        }
      }
      append(pages, owned_record<table_page, order::little>{}
                        .set(table_page::block, block)
                        .set(table_page::counts, counts)
                        .bytes());
      ++page_count;
      page_begin += page_bytes;
    }
    append(runs, owned_record<table_run, order::little>{}
                     .set(table_run::begin, run_begin)
                     .set(table_run::first_page, first_page)
                     .set(table_run::page_count, page_count - first_page)
                     .bytes());
    ++run_count;
  }
  blocks.resize(blocks_end + block_slack);

  const std::size_t total = size_of<table_header> + runs.size() + pages.size() + images_.size() * rule_bytes +
                            exception_positions.size() * 6 + general_.size() + blocks.size();
  std::array<std::byte, 32> id{};
  const std::size_t id_bytes = std::min(build_id.size(), id.size());
  std::copy_n(build_id.begin(), id_bytes, id.begin());
  owned_record<table_header, order::little> header;
  header.set(table_header::magic, table_magic)
      .set(table_header::file_bytes, total)
      .set(table_header::version, table_version)
      .set(table_header::machine, Arch::elf_machine)
      .set(table_header::address_size, static_cast<std::uint8_t>(Arch::address_size))
      .set(table_header::granule_bits, static_cast<std::uint8_t>(granule_bits))
      .set(table_header::rule_bytes, static_cast<std::uint8_t>(rule_bytes))
      .set(table_header::profile, profile_)
      .set(table_header::run_count, run_count)
      .set(table_header::page_count, page_count)
      .set(table_header::rule_count, static_cast<std::uint32_t>(images_.size()))
      .set(table_header::exception_count, static_cast<std::uint32_t>(exception_positions.size()))
      .set(table_header::general_bytes, static_cast<std::uint32_t>(general_.size()))
      .set(table_header::block_bytes, static_cast<std::uint32_t>(blocks.size()))
      .set(table_header::build_id_bytes, static_cast<std::uint8_t>(id_bytes))
      .set(table_header::build_id, id)
      .set(table_header::row_count, rows);
  std::vector<std::byte> out;
  out.reserve(total);
  append(out, header.bytes());
  append(out, runs);
  append(out, pages);
  for (const std::uint32_t rule : ranked) append(out, images_[rule]);
  for (const std::uint32_t position : exception_positions) {
    out.resize(out.size() + 4);
    store<order::little>(out.data() + out.size() - 4, position);
  }
  for (const std::uint16_t rule : exception_rules) {
    out.resize(out.size() + 2);
    store<order::little>(out.data() + out.size() - 2, rule);
  }
  append(out, general_);
  append(out, blocks);
  mutable_record<table_header, order::little>(out.data())
      .set(table_header::checksum, checksum(byte_view(out).subspan(16)));
  return out;
}

}  // namespace backsight::cfi::detail
