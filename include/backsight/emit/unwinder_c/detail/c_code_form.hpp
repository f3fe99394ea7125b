// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <backsight/cfi/table.hpp>
#include <backsight/emit/unwinder_c/detail/c_names.hpp>
#include <backsight/emit/unwinder_c/detail/c_rows.hpp>
#include <backsight/emit/unwinder_c/detail/c_rules.hpp>
#include <backsight/emit/unwinder_c/detail/c_writer.hpp>

namespace backsight::emit::unwinder_c::detail {

/// The forms of code: an if/else tree or a switch over the rows, and each distinct rule once a function behind a label.
template <class Arch, class Out>
class c_code_form {
 public:
  c_code_form(c_writer<Out>& out, const c_rows<Arch>& rows, c_rule_writer<Arch, Out>& rules, std::uint64_t base)
      : out_(out), rows_(rows), rules_(rules), base_(base) {}

  /// The tree, or the switch, is cut into functions of a few thousand rows: GCC takes much more than twice as long for
  /// twice the code.
  void write_parts(std::span<const function> functions, bool cases) {
    constexpr std::size_t rows_in_part = 2048;
    c_names<Out> names(out_, functions);
    find_windows();
    for (std::size_t first = 0; first + 1 < windows_.size();) {
      std::size_t last = first + 1;
      while (last + 1 < windows_.size() && windows_[last + 1] - windows_[first] <= rows_in_part) ++last;
      // Numbers in the function count from a little below its first row: so the place is not the argument itself but
      // computed, in a register that GCC compares with shorter instructions.
      const std::uint64_t begin = rows_.rows()[windows_[first]].begin;
      out_("static BACKSIGHT_OUTLINE int ", out_.prefix(), "_part_", parts_.size(), "(struct backsight_context *c, ",
           narrow() ? "int32_t place" : "uint64_t place", out_.memory_parameters(), ") {\n");
      if (narrow()) {
        origin_ = begin - 16;
        const auto less = static_cast<std::int64_t>(origin_ - rows_.rows().front().begin);
        out_("  const int32_t at = place ", less < 0 ? "+ " : "- ", less < 0 ? -less : less, ";\n");
      } else {
        origin_ = base_;
        out_("  const uint64_t at = place;\n");
      }
      out_(cases ? "" : "  int8_t key;\n  (void)key;\n", "  (void)at;\n");
      if (out_.has_deref()) out_("  (void)deref;\n  (void)memory;\n");
      used_.assign(rows_.rules().size() + 1, false);
      if (cases) switch_over(windows_[first], windows_[last], names);
      else tree(first, last, names, 1);
      write_labels();
      out_("}\n\n");
      parts_.push_back(first);
      first = last;
    }
  }
  /// The body of the step: goes to the function for an address.
  void write_body() {
    const auto& rows = rows_.rows();
    // A comparison with zero would be a warning.
    if (rows.front().begin != base_) {
      out_("  if (address < ", c_wide{rows.front().begin - base_}, ") return ", out_.prefix(), "_stop(c, 3);\n");
    }
    // Places within the code are small numbers, so comparing them takes short instructions.
    if (narrow())
      out_("  distance = address - ", c_wide{rows.front().begin - base_},
           ";\n  at = distance > 0x7fffff00u ? 0x7fffff00 : (int32_t)distance;\n");
    else out_("  at = address;\n");
    origin_ = narrow() ? rows.front().begin : base_;
    tree_of_parts(0, parts_.size(), 1);
  }
  void write_variables() { out_(narrow() ? "  uint64_t distance;\n  int32_t at;\n" : "  uint64_t at;\n"); }

 private:
  [[nodiscard]] bool narrow() const noexcept {
    // Below the largest number, as functions count from a little before their first row.
    return rows_.rows().back().begin - rows_.rows().front().begin < 0x7fffff00;
  }
  void go(const c_row& r) {
    if (r.rule == cfi::table_view::no_rule) out_("goto none;\n");
    else out_("goto row_", r.rule, ";\n");
    used_[r.rule == cfi::table_view::no_rule ? rows_.rules().size() : r.rule] = true;
  }
  /// Cuts the rows into windows of at most 256 bytes: inside one, comparing a single byte is enough, which takes
  /// instructions of half the size. A row that is longer is alone.
  void find_windows() {
    const auto& rows = rows_.rows();
    for (std::size_t i = 0; i < rows.size();) {
      windows_.push_back(i);
      const std::uint64_t begin = rows[i++].begin;
      while (i + 1 < rows.size() && rows[i + 1].begin - begin <= 256) ++i;
    }
    windows_.push_back(rows.size());
  }
  void indent(std::size_t depth) {
    for (std::size_t i = 0; i < depth; ++i) out_(' ');
  }
  void tree(std::size_t low, std::size_t high, c_names<Out>& names, std::size_t depth) {
    const auto& rows = rows_.rows();
    if (high - low == 1) {
      const c_row& first = rows[windows_[low]];
      if (windows_[high] - windows_[low] > 1) {
        // The lowest byte of an address, signed, ascends in the window from -128 on; where it already does so by
        // itself, nothing is subtracted.
        const std::uint64_t place = first.begin - origin_;
        const std::uint64_t last = place + (rows[windows_[high]].begin - first.begin) - 1;
        const bool ascends = (place + 128) / 256 == (last + 128) / 256;
        key_zero_ = first.begin - (ascends ? (place + 128) % 256 - 128 : static_cast<std::uint64_t>(-128));
        const std::uint64_t less = ascends ? 0 : (place + 128) % 256;
        indent(depth);
        out_("key = (int8_t)(at");
        if (less != 0) out_(" - ", less, narrow() ? "" : "u");
        out_(");\n");
      }
      window(windows_[low], windows_[high], names, depth);
      return;
    }
    const std::size_t middle = low + (high - low) / 2;
    if_below(rows[windows_[middle]].begin, depth);
    tree(low, middle, names, depth + 1);
    indent(depth);
    out_("} else {\n");
    tree(middle, high, names, depth + 1);
    indent(depth);
    out_("}\n");
  }
  void switch_over(std::size_t low, std::size_t high, c_names<Out>& names) {
    const auto& rows = rows_.rows();
    out_("  switch (at) {\n");
    for (std::size_t i = low; i < high; ++i) {
      if (rows[i].rule == cfi::table_view::no_rule) continue;
      names.below(rows[i].begin + 1);
      out_("    case ");
      put_place(rows[i].begin - origin_);
      out_(" ... ");
      // The last row that is no gap reaches to the end of addresses.
      put_place(i + 1 < rows.size() ? rows[i + 1].begin - 1 - origin_ : narrow() ? 0x7fffffff : ~std::uint64_t{0});
      out_(": ");
      go(rows[i]);
    }
    out_("    default: goto none;\n  }\n");
    used_.back() = true;
  }
  void tree_of_parts(std::size_t low, std::size_t high, std::size_t depth) {
    if (high - low == 1) {
      indent(depth);
      out_("return ", out_.prefix(), "_part_", low, "(c, at", out_.memory_arguments(), ");\n");
      return;
    }
    const std::size_t middle = low + (high - low) / 2;
    if_below(rows_.rows()[windows_[parts_[middle]]].begin, depth);
    tree_of_parts(low, middle, depth + 1);
    indent(depth);
    out_("} else {\n");
    tree_of_parts(middle, high, depth + 1);
    indent(depth);
    out_("}\n");
  }
  void if_below(std::uint64_t begin, std::size_t depth) {
    indent(depth);
    out_("if (at < ");
    put_place(begin - origin_);
    out_(") {\n");
  }
  void put_place(std::uint64_t place) {
    if (narrow()) out_(place);
    else out_(c_wide{place});
  }
  void window(std::size_t low, std::size_t high, c_names<Out>& names, std::size_t depth) {
    const auto& rows = rows_.rows();
    if (high - low == 1) {
      names.below(rows[low].begin + 1);
      indent(depth);
      go(rows[low]);
      return;
    }
    const std::size_t middle = low + (high - low) / 2;
    indent(depth);
    out_("if (key < ", static_cast<std::int64_t>(rows[middle].begin - key_zero_), ") {\n");
    window(low, middle, names, depth + 1);
    indent(depth);
    out_("} else {\n");
    window(middle, high, names, depth + 1);
    indent(depth);
    out_("}\n");
  }
  void write_labels() {
    for (std::size_t i = 0; i < rows_.rules().size(); ++i) {
      if (used_[i]) out_("row_", i, ": /* "), rules_.describe(i), out_(" */\n  return "), rules_.call(i), out_(";\n");
    }
    if (used_.back()) out_("none:\n  return ", out_.prefix(), "_stop(c, 3);\n");
  }

  c_writer<Out>& out_;
  const c_rows<Arch>& rows_;
  c_rule_writer<Arch, Out>& rules_;
  std::uint64_t base_;
  std::vector<bool> used_;          // The rules that the function at hand goes to; the last says that it goes to none.
  std::vector<std::size_t> parts_;  // The first window of each function.
  std::vector<std::size_t> windows_;  // The first row of each, and the number of rows.
  std::uint64_t origin_ = 0;          // What `at` counts from in the function at hand.
  std::uint64_t key_zero_ = 0;        // The address whose key in the window at hand is 0.
};

}  // namespace backsight::emit::unwinder_c::detail
