// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <backsight/cfi/bucket_layout.hpp>
#include <backsight/cfi/table.hpp>
#include <backsight/cfi/table_format.hpp>
#include <backsight/emit/unwinder_c/detail/c_names.hpp>
#include <backsight/emit/unwinder_c/detail/c_rows.hpp>
#include <backsight/emit/unwinder_c/detail/c_rules.hpp>
#include <backsight/emit/unwinder_c/detail/c_writer.hpp>

namespace backsight::emit::unwinder_c::detail {

/// The form of arrays: blocks of one-byte starts and rule numbers for every 256 granules of code, as tables have them.
template <class Arch, class Out>
class c_table_form {
 public:
  static constexpr unsigned aligned_gap = cfi::id_aligned_gap, gap = cfi::id_gap, exception = cfi::id_rarest;

  c_table_form(c_writer<Out>& out, const c_rows<Arch>& rows, c_rule_writer<Arch, Out>& rules, std::uint64_t base)
      : out_(out), rows_(rows), rules_(rules), base_(base) {}

  void write(std::span<const function> functions) {
    const auto p = out_.prefix();
    rank();
    std::vector<std::uint32_t> index;
    std::vector<std::uint32_t> positions;
    std::vector<std::uint32_t> numbers;
    struct run {
      std::uint64_t begin;
      std::size_t first, count;
    };
    std::vector<run> runs;
    c_names<Out> names(out_, functions);
    const std::vector<c_row>& rows = rows_.rows();
    std::uint64_t bits = 0;
    for (const c_row& r : rows) bits |= r.begin;
    const auto shift = static_cast<unsigned>(cfi::granule_bits_of(bits));
    const std::uint64_t bucket_bytes = std::uint64_t{256} << shift;
    constexpr std::uint64_t longest_hole = 1024;  // Buckets without a row that are worth an index to keep a run whole.

    out_("static const uint8_t ", p, "_blocks[] = {\n  ", gap, ",\n");
    std::size_t bytes = 1;
    const auto write_bucket = [&](window& at, std::uint64_t begin) {
      index.push_back(static_cast<std::uint32_t>(bytes));
      ++runs.back().count;
      if (at.now.start - begin >= bucket_bytes) return;
      if (!functions.empty()) names.below(begin + bucket_bytes);
      read_bucket_rows(at, begin, shift);
      for (const pending& e : pending_) {
        positions.push_back(static_cast<std::uint32_t>(bytes + starts_.size() + e.place));
        numbers.push_back(e.rule);
      }
      out_("  ");
      for (const std::uint32_t start : starts_) out_(start, ',');
      out_(' ');
      for (const std::uint32_t id : ids_) out_(id, ',');
      out_('\n');
      bytes += 2 * starts_.size();
    };
    window at{reader(rows)};
    (void)cfi::for_each_unit(
        at, bucket_bytes, longest_hole, [&](std::uint64_t begin) { runs.push_back({begin, index.size(), 0}); },
        [&](std::uint64_t begin) {
          write_bucket(at, begin);
          return true;
        });
    out_("};\n\n");
    index.push_back(static_cast<std::uint32_t>(bytes));
    write_numbers(bytes < 65536 ? "uint16_t" : "uint32_t", "_index", index);
    if (!positions.empty()) {
      write_numbers("uint32_t", "_exception_at", positions);
      write_numbers("uint16_t", "_exception_rule", numbers);
    }
    write_rules();
    if (runs.size() > 1) {
      out_("static const struct { uint64_t begin; uint32_t first, count; } ", p, "_runs[] = {\n");
      for (const run& r : runs) out_("  {", c_wide{r.begin - base_}, ", ", r.first, "u, ", r.count, "u},\n");
      out_("};\n\n");
    }

    out_("/* The number of the rule for an address; -1 where there is none. */\nstatic int ", p,
         "_find(uint64_t address) {\n",
         "  const uint8_t *block;\n  uint64_t granule;\n  uint32_t at, count, low, bucket;\n  uint8_t key, id;\n");
    if (runs.size() > 1) {
      out_("  uint32_t run = 0, n = ", runs.size(),
           "u;\n  while (n > 1u) {\n    const uint32_t half = n / 2u;\n    if (", p,
           "_runs[run + half].begin <= address) run += half;\n    n -= half;\n  }\n", "  if (address < ", p,
           "_runs[run].begin) return -1;\n  granule = (address - ", p, "_runs[run].begin) >> ", shift,
           ";\n  if (granule >= (uint64_t)", p, "_runs[run].count * 256u) granule = (uint64_t)", p,
           "_runs[run].count * 256u - 1u;\n", "  bucket = ", p, "_runs[run].first + (uint32_t)(granule >> 8);\n");
    } else {
      const std::uint64_t begin = runs.front().begin - base_;
      if (begin != 0) out_("  if (address < ", c_wide{begin}, ") return -1;\n");
      out_("  granule = (address - ", c_wide{begin}, ") >> ", shift,
           ";\n  if (granule >= ", c_wide{runs.front().count * 256},
           ") granule = ", c_wide{runs.front().count * 256 - 1}, ";\n  bucket = (uint32_t)(granule >> 8);\n");
    }
    out_("  key = (uint8_t)(granule & 255u);\n  at = ", p, "_index[bucket];\n  count = (", p,
         "_index[bucket + 1u] - at) / 2u;\n", "  block = ", p, "_blocks + at;\n  low = 0;\n",
         "  if (count == 0 || block[0] > key) {\n    /* The last row of the bucket before is in force. */\n    at -= "
         "1u;\n    count = 0;\n  } else {\n",
         "    uint32_t left = count;\n    while (left > 1u) {\n      const uint32_t half = left / 2u;\n",
         "      low = block[low + half] <= key ? low + half : low;\n      left -= half;\n    }\n    at += count + "
         "low;\n  }\n",
         "  id = ", p, "_blocks[at];\n");
    if (!positions.empty()) {
      out_("  if (id == ", exception, "u) {\n    uint32_t first = 0, left = ", positions.size(),
           "u;\n    while (left > 1u) {\n", "      const uint32_t half = left / 2u;\n      if (", p,
           "_exception_at[first + half] <= at) first += half;\n", "      left -= half;\n    }\n    return ", p,
           "_exception_rule[first];\n  }\n");
    }
    const auto mask = static_cast<std::uint8_t>(~((16U >> shift) - 1U));
    out_("  if (id == ", gap, "u) return -1;\n  if (id == ", aligned_gap, "u) return count != 0 && (key & ",
         unsigned{mask}, "u) <= block[low] ? -1 : 0;\n  return id;\n}\n\n");
  }

  void write_step_body() {
    const auto p = out_.prefix();
    out_("  number = ", p, "_find(address);\n  if (number < 0) return ", p, "_stop(c, 3);\n  rule = &", p,
         "_rules[number];\n", "  if (rule->slot != 255u) return ", p, "_frame(c", out_.memory_arguments(),
         ", rule->slot, rule->offset, rule->ra");
    for (const std::size_t i : rules_.packed().columns()) out_(", rule->r", unsigned{Arch::saved[i]});
    out_(");\n  switch (rule->offset) {\n");
    for (std::size_t i = 0; i < rows_.rules().size(); ++i) {
      if (rules_.packed().rule(i)) continue;
      out_("    case ", i, ": return "), rules_.call(i), out_(";\n");
    }
    out_("    default: return ", p, "_stop(c, 6);\n  }\n");
  }
  void write_step_variables() { out_("  const struct ", out_.prefix(), "_rule *rule;\n  int number;\n"); }

 private:
  struct pending {
    std::uint32_t place = 0, rule = 0;
  };
  /// The rows one after the other, for row_window.
  class reader {
   public:
    struct row {
      std::uint64_t start = 0;
      std::uint32_t rule = cfi::table_view::no_rule;
    };
    static constexpr std::uint32_t no_rule = cfi::table_view::no_rule;

    explicit reader(const std::vector<c_row>& rows) noexcept : rows_(rows) {}
    [[nodiscard]] bool done() const noexcept { return rows_.empty(); }
    [[nodiscard]] row current() const noexcept { return done() ? row{} : row{rows_.front().begin, rows_.front().rule}; }
    void advance() noexcept {
      if (!done()) rows_ = rows_.subspan(1);
    }

   private:
    std::span<const c_row> rows_;
  };
  using window = cfi::row_window<reader>;

  /// Reads the rows of a bucket. Rules without an id of their own are pending: their places are known once the number
  /// of starts is.
  void read_bucket_rows(window& at, std::uint64_t begin, unsigned shift) {
    starts_.clear();
    ids_.clear();
    pending_.clear();
    const std::uint64_t bucket_bytes = std::uint64_t{256} << shift;
    const auto add = [&](std::uint64_t start, unsigned id) {
      starts_.push_back(static_cast<std::uint32_t>(start >> shift));
      ids_.push_back(id);
    };
    cfi::read_bucket(
        at, begin, bucket_bytes, ranking_.entry(), [&](std::uint64_t behind) { return behind - begin < bucket_bytes; },
        add,
        [&](std::uint64_t start, std::uint32_t rule) {
          const unsigned order = ranking_.order_of(rule);
          add(start, order < aligned_gap ? order : exception);
          if (order >= aligned_gap) pending_.push_back({static_cast<std::uint32_t>(ids_.size() - 1), order});
        });
  }
  void rank() {
    const std::vector<c_row>& rows = rows_.rows();
    ranking_ = cfi::rule_ranking(rows_.rules().size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].rule == cfi::table_view::no_rule) continue;
      ranking_.count(rows[i].rule);
      if (i > 0 && rows[i - 1].rule == cfi::table_view::no_rule) ranking_.count_entry(rows[i].rule);
    }
    ranking_.rank();
  }
  void write_numbers(const char* type, const char* name, const std::vector<std::uint32_t>& numbers) {
    out_("static const ", type, ' ', out_.prefix(), name, "[] = {");
    for (std::size_t i = 0; i < numbers.size(); ++i) out_(i % 24 == 0 ? "\n  " : "", numbers[i], ',');
    out_("\n};\n\n");
  }
  void write_rules() {
    const auto p = out_.prefix();
    out_(
        "/* cfa = r[slot] + offset, and the words from it where registers are saved; slot 255: the rule numbered "
        "offset. */\n",
        "static const struct ", p, "_rule {\n  int32_t offset;\n  uint8_t slot;\n  int8_t ra");
    for (const std::size_t i : rules_.packed().columns()) out_(", r", unsigned{Arch::saved[i]});
    out_(";\n} ", p, "_rules[] = {\n");
    for (const std::uint32_t number : ranking_.ranked()) {
      const auto& rule = rules_.packed().rule(number);
      if (rule) {
        out_("  {", rule->offset, ", ", unsigned{rule->slot}, ", ", int{rule->return_address});
        for (const std::size_t i : rules_.packed().columns()) out_(", ", int{rule->saved[i]});
      } else {
        out_("  {", number, ", 255, 0");
        for (std::size_t i = 0; i < rules_.packed().columns().size(); ++i) out_(", 0");
      }
      out_("}, /* "), rules_.describe(number), out_(" */\n");
    }
    out_("};\n\n");
  }

  c_writer<Out>& out_;
  const c_rows<Arch>& rows_;
  c_rule_writer<Arch, Out>& rules_;
  std::uint64_t base_;
  cfi::rule_ranking ranking_;
  std::vector<std::uint32_t> starts_, ids_;
  std::vector<pending> pending_;
};

}  // namespace backsight::emit::unwinder_c::detail
