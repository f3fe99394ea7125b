// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <backsight/cfi/arch/x86_64.hpp>
#include <backsight/cfi/general_rule.hpp>
#include <backsight/cfi/rule.hpp>
#include <backsight/cfi/table.hpp>
#include <backsight/cfi/table_format.hpp>
#include <backsight/cfi/table_parts.hpp>
#include <backsight/cfi/unwind_rule.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/record.hpp>
#include <backsight/core/schema.hpp>
#include <backsight/dwarf/constants.hpp>

namespace backsight::cfi {

/// The first bytes of a table's form for the kernel's BPF. All numbers are little-endian; places count bytes from its
/// begin, and pages are 4096 bytes.
struct bpf_header {
  static constexpr const char* name = "bpf_header";
  static constexpr std::size_t size = 64;
  static constexpr field<"magic", std::uint64_t> magic{};
  static constexpr field<"version", std::uint16_t> version{};
  static constexpr field<"machine", std::uint16_t> machine{};
  static constexpr field<"page_count", std::uint32_t> page_count{};
  static constexpr field<"base", std::uint64_t> base{};
  static constexpr field<"leaf_count", std::uint32_t> leaf_count{};
  static constexpr field<"first_leaf", std::uint32_t> first_leaf{};
  static constexpr field<"leaf_place", std::uint16_t> leaf_place{};
  static constexpr padding<16> reserved{};
  static constexpr field<"first_sequence", std::uint8_t> first_sequence{};
  static constexpr field<"first_rare", std::uint8_t> first_rare{};
  static constexpr field<"shift_up", std::uint8_t> shift_up{};
  static constexpr field<"shift_down", std::uint8_t> shift_down{};
  static constexpr field<"sequences", std::uint32_t> sequences{};
  static constexpr field<"rules", std::uint32_t> rules{};
  static constexpr field<"keys", std::uint32_t> keys{};
  static constexpr field<"second_keys", std::uint32_t> second_keys{};
  static constexpr padding<64> reserved_end{};
  static constexpr layout fields{magic,      version,    machine,  page_count,     base,        leaf_count,
                                 first_leaf, leaf_place, reserved, first_sequence, first_rare,  shift_up,
                                 shift_down, sequences,  rules,    keys,           second_keys, reserved_end};
};
static_assert(schema<bpf_header>);

/// A table in pages for the kernel's BPF, and how many of its rules are left to other unwinders.
struct bpf_pages {
  static constexpr std::size_t page_bytes = 4096;
  std::vector<std::byte> bytes;   ///< Whole pages.
  std::size_t general_rules = 0;  ///< Rules that need expressions: a step by them ends with stop::bad_rule.
};

namespace detail {

inline constexpr std::uint64_t bpf_magic = 0x3153454741504642U;  // "BFPAGES1"

/// The number in the rule of a PLT's entries, cfa = rsp + 8 + (((rip & 15) >= n) << 3); absent for another text.
[[nodiscard]] inline std::optional<std::uint8_t> plt_number(byte_view text) noexcept {
  using machine = arch::x86_64;
  using dwarf::operation;
  const auto op = [](operation code, unsigned n = 0) {
    return static_cast<std::byte>(static_cast<unsigned>(code) + n);
  };
  std::optional<std::uint8_t> number;
  std::size_t rules = 0;
  bool good = true;
  const trace_error error = walk_general_rule(
      text,
      [&](const cfa_rule& cfa, std::uint64_t column) {
        if (cfa.kind != cfa_kind::expression || cfa.expression.size != 11 || column != machine::return_address)
          return good = false;
        const byte_view code = text.subspan(static_cast<std::size_t>(cfa.expression.offset), 11);
        const unsigned n = std::to_integer<unsigned>(code[6]) - static_cast<unsigned>(operation::lit0);
        const std::byte expected[11]{op(operation::breg0, machine::stack_pointer),
                                     std::byte{8},
                                     op(operation::breg0, machine::return_address),
                                     std::byte{0},
                                     op(operation::lit0, 15),
                                     op(operation::and_),
                                     code[6],
                                     op(operation::ge),
                                     op(operation::lit0, 3),
                                     op(operation::shl),
                                     op(operation::plus)};
        good = n < 32 && std::equal(code.begin(), code.end(), expected);
        if (good) number = static_cast<std::uint8_t>(n);
        return good;
      },
      [&](const register_rule& rule) {
        ++rules;
        return good = rule.reg == machine::return_address && rule.kind == rule_kind::at_cfa_offset && rule.value == -8;
      });
  return !error && good && rules == 1 ? number : std::nullopt;
}

/// Cuts the blocks of a table into pages.
class bpf_page_writer : table_parts {
 public:
  explicit bpf_page_writer(const table_parts& from, std::int8_t granule_bits) noexcept
      : table_parts(from), granule_bits_(granule_bits) {}

  [[nodiscard]] result<bpf_pages> write() {
    write_rules();
    for (std::size_t i = 0; i < run_count_; ++i) add_run(runs_ + i * size_of<table_run>);
    if (buckets_.size() > 1) end_leaf();
    if (too_far_) return {errc::capacity, 0};
    write_keys();
    made_.bytes.resize((made_.bytes.size() + page - 1) / page * page);
    header_.set(bpf_header::magic, bpf_magic)
        .set(bpf_header::version, std::uint16_t{1})
        .set(bpf_header::machine, header()[table_header::machine])
        .set(bpf_header::page_count, static_cast<std::uint32_t>(made_.bytes.size() / page))
        .set(bpf_header::leaf_count, static_cast<std::uint32_t>(leaf_keys_.size()))
        .set(bpf_header::first_sequence, first_sequence_)
        .set(bpf_header::first_rare, first_rare_)
        .set(bpf_header::shift_up, static_cast<std::uint8_t>(granule_bits_ < 0 ? -granule_bits_ : 0))
        .set(bpf_header::shift_down, static_cast<std::uint8_t>(granule_bits_ > 0 ? granule_bits_ : 0));
    std::copy(header_.bytes().begin(), header_.bytes().end(), made_.bytes.begin());
    return std::move(made_);
  }

 private:
  static constexpr std::size_t page = bpf_pages::page_bytes;
  static constexpr std::size_t keys_per_page = page / 4;
  static constexpr std::size_t least_leaf =
      1024;  // A leaf begins behind other parts where so much is left of the page.
  static constexpr std::size_t list_bytes = 32;
  static constexpr unsigned key_bits = 6;  // Leaves begin at multiples of 64 bytes from the first.
  static constexpr std::uint8_t shape_plt = 6;

  [[nodiscard]] std::uint32_t place() const noexcept { return static_cast<std::uint32_t>(made_.bytes.size()); }
  void append(const std::byte* from, std::size_t size) { made_.bytes.insert(made_.bytes.end(), from, from + size); }
  void align(std::size_t to) { made_.bytes.resize((made_.bytes.size() + to - 1) / to * to); }

  void write_rules() {
    made_.bytes.resize(size_of<bpf_header>);
    header_.set(bpf_header::sequences, place());
    append(sequences_,
           std::size_t{first_rare_} * size_of<table_sequence> - std::size_t{first_sequence_} * size_of<table_sequence>);
    const std::uint32_t rules = place();
    header_.set(bpf_header::rules, rules);
    append(rules_, rule_count_ * rule_bytes_);
    align(list_bytes);
    for (std::size_t i = 0; i < rule_count_; ++i) {
      const byte_view text = general_at(any_rule(rules_ + i * rule_bytes_));
      const rule_shape shape = any_rule(rules_ + i * rule_bytes_)[unwind_rule::shape];
      std::byte* const rule = made_.bytes.data() + rules + i * rule_bytes_;
      if (shape == rule_shape::general) {
        const auto number = plt_number(text);
        made_.general_rules += number ? 0U : 1U;
        if (!number) continue;
        rule[0] = std::byte{shape_plt};
        rule[1] = std::byte{arch::x86_64::stack_pointer};
        rule[2] = std::byte{0xff};  // The return address lies one word below the CFA.
        rule[3] = std::byte{*number};
      } else if (has_text(shape)) {
        // A count and pairs, and no more of them than the machine has registers.
        const std::size_t size = 1 + 2 * std::to_integer<std::size_t>(text[0]);
        store<order::little>(rule + 4, size == 1 ? std::uint32_t{0} : place());
        if (size == 1) continue;
        if (size > list_bytes) {
          rule[0] = std::byte{static_cast<std::uint8_t>(rule_shape::general)};
          ++made_.general_rules;
          continue;
        }
        append(text.data(), size);
        align(list_bytes);
      }
    }
  }

  void add_run(const std::byte* run) {
    const record<table_run, order::little> r(run);
    std::uint64_t begin = r[table_run::begin];
    for (std::uint32_t p = 0; p < r[table_run::page_count]; ++p) {
      const std::byte* counts = pages_ + (r[table_run::first_page] + std::size_t{p}) * size_of<table_page>;
      const std::byte* block = blocks_ + load<std::uint32_t, order::little>(counts);
      for (std::size_t bucket = 0; bucket < buckets_per_page; ++bucket, begin += granule_.bytes(256)) {
        const auto size = 2 * std::to_integer<std::size_t>(counts[4 + bucket]);
        if (size != 0) add_bucket(begin, block, size);
        block += size;
      }
    }
  }
  void add_bucket(std::uint64_t begin, const std::byte* block, std::size_t size) {
    const std::uint64_t number = buckets_.size() > 1 ? (begin - leaf_begin_) / granule_.bytes(256) : 0;
    // The count of buckets, a place for each and one for the end, ids in front of the first.
    if (buckets_.size() > 1 && 2 + 2 * (number + 2) + ids_.size() + size > room_) end_leaf();
    if (buckets_.size() == 1) begin_leaf(begin, block);
    while (buckets_.size() <= (begin - leaf_begin_) / granule_.bytes(256)) buckets_.push_back(ids_.size());
    ids_.insert(ids_.end(), block, block + size);
    buckets_.push_back(ids_.size());
  }
  void begin_leaf(std::uint64_t begin, const std::byte* block) {
    const std::size_t used = made_.bytes.size() % page;
    if (leaf_keys_.empty()) {
      base_ = begin;
      header_.set(bpf_header::base, begin);
    }
    if (!leaf_keys_.empty() || page - used < least_leaf) align(page);
    if (leaf_keys_.empty()) {
      header_.set(bpf_header::first_leaf, static_cast<std::uint32_t>(made_.bytes.size() / page))
          .set(bpf_header::leaf_place, static_cast<std::uint16_t>(made_.bytes.size() % page));
    }
    const std::uint64_t key = (begin - base_) >> key_bits;
    too_far_ = too_far_ || key > 0xffffffffU || made_.bytes.size() / page >= keys_per_page * (keys_per_page - 4);
    leaf_keys_.push_back(static_cast<std::uint32_t>(key));
    leaf_begin_ = begin;
    room_ = page - made_.bytes.size() % page;
    // What is in force where the leaf begins: the last id, and those in front of it that a rare rule has.
    ids_.assign(3, std::byte{0});
    const auto before = std::min<std::ptrdiff_t>(3, block - blocks_);
    std::copy_n(block - before, before, ids_.end() - before);
    buckets_.assign(1, ids_.size());
  }
  void end_leaf() {
    const std::size_t start = made_.bytes.size() % page + 2 + 2 * buckets_.size();
    append_number(buckets_.size() - 1);
    for (const std::size_t at : buckets_) append_number(start + at);
    append(ids_.data(), ids_.size());
    buckets_.assign(1, 0);
  }
  void append_number(std::size_t value) {
    std::byte bytes[2];
    store<order::little>(bytes, static_cast<std::uint16_t>(value));
    append(bytes, 2);
  }
  /// One list of the leaves' begins where it fits a page, else a list of such lists.
  void write_keys() {
    if (leaf_keys_.size() < 2) return;
    const std::size_t lists = (leaf_keys_.size() + keys_per_page - 1) / keys_per_page;
    const std::size_t size = 4 * (lists == 1 ? leaf_keys_.size() : lists);
    align(4);
    if (page - made_.bytes.size() % page < size) align(page);
    header_.set(bpf_header::keys, place());
    if (lists > 1) {
      for (std::size_t i = 0; i < leaf_keys_.size(); i += keys_per_page) append_key(leaf_keys_[i]);
      align(page);
      header_.set(bpf_header::second_keys, static_cast<std::uint32_t>(made_.bytes.size() / page));
    }
    for (const std::uint32_t key : leaf_keys_) append_key(key);
  }
  void append_key(std::uint32_t key) {
    std::byte bytes[4];
    store<order::little>(bytes, key);
    append(bytes, 4);
  }

  std::int8_t granule_bits_;
  bpf_pages made_;
  owned_record<bpf_header, order::little> header_{};
  std::vector<std::uint32_t> leaf_keys_;
  std::uint64_t base_ = 0;
  bool too_far_ = false;
  // The leaf that is being made.
  std::uint64_t leaf_begin_ = 0;
  std::size_t room_ = 0;
  std::vector<std::size_t> buckets_ =
      std::vector<std::size_t>(1);  // Where each begins in ids_, and where the last ends.
  std::vector<std::byte> ids_;
};

}  // namespace detail

/// Turns a table for x86-64 into pages of 4096 bytes for the kernel's BPF, which examples/bpf/backsight_step.h searches
/// with loops of fixed length; docs/formats/bpf-pages.md. The same rows, but for rules that need expressions. Time and
/// memory are those of the table, but that a page is the least. Errors: errc::unsupported_type (another machine),
/// errc::capacity (its code spans more than 256 GiB).
[[nodiscard]] inline result<bpf_pages> make_bpf_pages(const table_view& from) {
  if (from.empty()) return {errc::missing_section, 0};
  if (from.machine() != arch::x86_64::elf_machine || from.rule_bytes() != rule_size<arch::x86_64>)
    return {errc::unsupported_type, 0};
  const auto parts = detail::table_parts::find_parts(from.bytes());
  if (!parts) return parts.error();
  return detail::bpf_page_writer(*parts, from.header()[table_header::granule_bits]).write();
}

}  // namespace backsight::cfi
