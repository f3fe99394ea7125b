// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <backsight/cfi/general_rule.hpp>
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
  static constexpr std::uint32_t no_rule = 0xffffffffU;
  using rule_image = std::array<std::byte, rule_bytes>;

  explicit table_encoder(table_profile profile) : profile_(profile) {
    columns_.fill(column_other);
    columns_[Arch::stack_pointer] = column_stack_pointer;
    for (std::size_t i = 0; i < Arch::saved.size(); ++i) columns_[Arch::saved[i]] = static_cast<std::uint8_t>(i);
    slots_.assign(1024, 0);
  }

  /// The number of the rule that a row stands for. Identical rules have the same number.
  [[nodiscard]] std::uint32_t rule_number(const row& r, const cie& c, byte_view section) {
    rule_image image{};
    if (!pack(r, c, image)) general_image(r, c, section, image);
    return intern(image);
  }

  /// From `address` on this rule is in force; no_rule for none. Addresses do not descend.
  void add(std::uint64_t address, std::uint32_t rule) {
    if (!starts_.empty()) {
      if (starts_.back() == address) {
        starts_.pop_back();
        rules_of_.pop_back();
        return add(address, rule);
      }
      if (rules_of_.back() == rule) return;
    } else if (rule == no_rule) {
      return;
    }
    starts_.push_back(address);
    rules_of_.push_back(rule);
  }
  [[nodiscard]] std::size_t size() const noexcept { return starts_.size(); }
  /// Takes back what was added since size() was `count`.
  void truncate(std::size_t count) {
    starts_.resize(count);
    rules_of_.resize(count);
  }
  [[nodiscard]] result<std::vector<std::byte>> encode(byte_view build_id);

 private:
  struct general_text {
    std::uint64_t hash = 0;
    std::size_t offset = 0;
    std::size_t size = 0;
  };
  static constexpr std::uint8_t column_other = 0xff;
  static constexpr std::uint8_t column_stack_pointer = 0xfe;
  static constexpr std::uint8_t column_return_address = 0xfd;

  [[nodiscard]] std::uint8_t column(std::uint32_t reg, const cie& c) const noexcept {
    if (reg == c.return_address_register) return column_return_address;
    return reg < columns_.size() ? columns_[reg] : column_other;
  }
  static void set_head(rule_image& image, rule_shape shape, const row& r, const cie& c) {
    mutable_record<unwind_rule, order::little>(image.data())
        .set(unwind_rule::shape, shape)
        .set(unwind_rule::signal_frame, c.signal_frame)
        .set(unwind_rule::return_address_signed, r.return_address_signed);
  }
  /// Packs a row as a common or outermost rule; false when it is neither.
  [[nodiscard]] bool pack(const row& r, const cie& c, rule_image& image) const {
    constexpr std::int64_t word = Arch::address_size;
    if (r.cfa.kind != cfa_kind::register_offset || r.cfa.reg >= Arch::register_count || r.cfa.offset > 0x7fffffff ||
        r.cfa.offset < -0x7fffffff - 1) {
      return false;
    }
    const auto in_words = [](std::int64_t offset, std::byte& to) {
      if (offset % word != 0 || offset == 0 || offset / word > 127 || offset / word < -128) return false;
      to = static_cast<std::byte>(static_cast<std::int8_t>(offset / word));
      return true;
    };
    bool outermost = false, has_return_address = false;
    for (const register_rule& rule : r.rules) {
      const std::uint8_t to = column(rule.reg, c);
      if (to == column_return_address) {
        if (rule.kind == rule_kind::undefined) outermost = true;
        else if (rule.kind != rule_kind::at_cfa_offset || !in_words(rule.value, image[2])) return false;
        has_return_address = true;
      } else if (to == column_stack_pointer) {
        if (rule.kind != rule_kind::is_cfa_offset || rule.value != 0) return false;
      } else if (to == column_other) {
        if (profile_ == table_profile::all || c.signal_frame) {
          if (rule.kind != rule_kind::same_value) return false;
        }
      } else if (rule.kind == rule_kind::at_cfa_offset) {
        if (!in_words(rule.value, image[unwind_rule::size + to])) return false;
      } else if (rule.kind != rule_kind::same_value && !outermost) {
        return false;
      }
    }
    // An unspecified return address stays in the architecture's own register only.
    if (!has_return_address && c.return_address_register != Arch::return_address) return false;
    if (outermost) image = {};
    set_head(image, outermost ? rule_shape::outermost : rule_shape::common, r, c);
    if (!outermost) {
      mutable_record<unwind_rule, order::little>(image.data())
          .set(unwind_rule::cfa_register, static_cast<std::uint8_t>(r.cfa.reg))
          .set(unwind_rule::cfa_offset, static_cast<std::int32_t>(r.cfa.offset));
    }
    return true;
  }
  void general_image(const row& r, const cie& c, byte_view section, rule_image& image) {
    image = {};
    std::vector<std::byte> text;
    write_general_rule(
        r, c.return_address_register, section,
        [&](std::uint32_t reg) {
          return profile_ == table_profile::all || c.signal_frame || column(reg, c) != column_other;
        },
        [&](std::byte b) { text.push_back(b); });
    set_head(image, rule_shape::general, r, c);
    mutable_record<unwind_rule, order::little>(image.data())
        .set(unwind_rule::cfa_offset, static_cast<std::int32_t>(general_offset(text)));
  }
  /// Where a text lies among the general rules; it is appended when it is new.
  [[nodiscard]] std::size_t general_offset(const std::vector<std::byte>& text) {
    const std::uint64_t hash = checksum(text);
    const auto known = std::lower_bound(general_texts_.begin(), general_texts_.end(), hash,
                                        [](const general_text& t, std::uint64_t h) { return t.hash < h; });
    for (auto at = known; at != general_texts_.end() && at->hash == hash; ++at) {
      if (at->size == text.size() &&
          std::equal(text.begin(), text.end(), general_.begin() + static_cast<std::ptrdiff_t>(at->offset))) {
        return at->offset;
      }
    }
    const std::size_t offset = general_.size();
    general_.insert(general_.end(), text.begin(), text.end());
    general_texts_.insert(known, {hash, offset, text.size()});
    return offset;
  }
  [[nodiscard]] std::uint32_t intern(const rule_image& image) {
    std::uint64_t hash = 0x9e3779b97f4a7c15U;
    for (std::size_t i = 0; i < rule_bytes; i += 8) {
      hash = (hash ^ load<std::uint64_t, order::little>(image.data() + i)) * 0xff51afd7ed558ccdU;
      hash ^= hash >> 32;
    }
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
      if (slots_[at] == 0) {
        images_.push_back(image);
        slots_[at] = static_cast<std::uint32_t>(images_.size());
        if (images_.size() * 2 > slots_.size()) grow();
        return static_cast<std::uint32_t>(images_.size() - 1);
      }
      if (std::memcmp(images_[slots_[at] - 1].data(), image.data(), rule_bytes) == 0) return slots_[at] - 1;
    }
  }
  void grow() {
    const std::vector<rule_image> images = std::move(images_);
    images_.clear();
    slots_.assign(slots_.size() * 2, 0);
    for (const rule_image& image : images) (void)intern(image);
  }

  table_profile profile_;
  std::array<std::uint8_t, 128> columns_{};
  std::vector<rule_image> images_;
  std::vector<std::uint32_t> slots_;
  std::vector<std::byte> general_;
  std::vector<general_text> general_texts_;
  std::vector<std::uint64_t> starts_;
  std::vector<std::uint32_t> rules_of_;
};

template <class Arch>
result<std::vector<std::byte>> table_encoder<Arch>::encode(byte_view build_id) {
  if (images_.size() > 0xffff || general_.size() > 0x7fffffff) return {errc::capacity, 0};
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
           starts_[i + 1] % page_bytes != 0;
  };
  std::vector<std::uint32_t> uses(images_.size()), order_of(images_.size());
  for (std::size_t i = 0; i < rows; ++i) {
    if (aligned_gap(i)) ++uses[rules_of_[i + 1]];
  }
  const auto most_used = static_cast<std::uint32_t>(std::max_element(uses.begin(), uses.end()) - uses.begin());
  std::fill(uses.begin(), uses.end(), 0);
  for (std::size_t i = 0; i < rows; ++i) {
    if (rules_of_[i] == no_rule) continue;
    ++uses[rules_of_[i]];
  }
  // The most frequent rules have one-byte ids; the entry rule is among them.
  std::vector<std::uint32_t> ranked(images_.size());
  for (std::size_t i = 0; i < ranked.size(); ++i) ranked[i] = static_cast<std::uint32_t>(i);
  std::sort(ranked.begin(), ranked.end(), [&](std::uint32_t a, std::uint32_t b) {
    if ((a == most_used) != (b == most_used)) return a == most_used;
    return uses[a] != uses[b] ? uses[a] > uses[b] : a < b;
  });
  for (std::size_t i = 0; i < ranked.size(); ++i) order_of[ranked[i]] = static_cast<std::uint32_t>(i);

  std::vector<std::byte> runs, pages, blocks{std::byte{id_gap}};
  std::vector<std::uint32_t> exception_positions;
  std::vector<std::uint16_t> exception_rules;
  std::uint32_t run_count = 0, page_count = 0;
  const auto append = [](std::vector<std::byte>& to, const auto& bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
  };

  // Outside of the loop over buckets: clearing them there takes as long as all the rest.
  std::array<std::byte, 256> keys{};
  std::array<std::uint32_t, 256> ids{};
  constexpr std::uint64_t longest_hole = 64;  // Pages without a row that are worth storing to keep a run whole.
  for (std::size_t i = 0; i < rows;) {
    const std::uint64_t run_begin = starts_[i] / page_bytes * page_bytes;
    const std::uint32_t first_page = page_count;
    std::uint64_t page_begin = run_begin;
    while (i < rows && starts_[i] - page_begin < page_bytes * (longest_hole + 1)) {
      std::array<std::byte, 16> counts{};
      if (blocks.size() > 0xffffffffU - 16 * 512) return {errc::capacity, 0};
      const auto block = static_cast<std::uint32_t>(blocks.size());
      for (std::size_t bucket = 0; bucket < buckets_per_page; ++bucket) {
        const std::uint64_t begin = page_begin + bucket * bucket_bytes;
        std::size_t count = 0;
        while (i < rows && starts_[i] - begin < bucket_bytes) {
          keys[count] = static_cast<std::byte>((starts_[i] - begin) >> granule_bits);
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
        blocks.insert(blocks.end(), keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(count));
        for (std::size_t k = 0; k < count; ++k) {
          if (ids[k] < id_aligned_gap || ids[k] >= 0x10000U) {
            blocks.push_back(static_cast<std::byte>(ids[k] & 0xffU));
          } else {
            exception_positions.push_back(static_cast<std::uint32_t>(blocks.size()));
            exception_rules.push_back(static_cast<std::uint16_t>(ids[k]));
            blocks.push_back(std::byte{id_exception});
          }
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
  blocks.insert(blocks.end(), block_slack, std::byte{0});

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
