// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include <backsight/cfi/interpreter.hpp>
#include <backsight/cfi/section.hpp>
#include <backsight/cfi/table.hpp>
#include <backsight/cfi/table_encoder.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>

namespace backsight::cfi {

/// A table and the bytes that it lies in. Immutable once built; movable; write bytes() to a file to save it.
class table {
 public:
  table() = default;
  explicit table(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {
    if (const auto opened = table_view::open(bytes_)) view_ = *opened;
  }
  table(table&& other) noexcept : bytes_(std::move(other.bytes_)), view_(std::exchange(other.view_, {})) {}
  table& operator=(table&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    view_ = std::exchange(other.view_, {});
    return *this;
  }
  table(const table&) = delete;
  table& operator=(const table&) = delete;

  /// Valid as long as this object.
  [[nodiscard]] const table_view& view() const noexcept { return view_; }
  [[nodiscard]] byte_view bytes() const noexcept { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  table_view view_;
};

/// What a table is to hold, and the build-id to store in it.
struct table_options {
  table_profile profile = table_profile::callee_saved;
  byte_view build_id;
};

namespace detail {

/// An FDE of one of the sections of a table, as small as sorting wants it.
struct table_entry {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;
  std::uint32_t section = 0;
};

/// The FDEs of a section that cover something.
template <order O, class Report>
void collect_entries(const section<O>& from, std::uint32_t number, std::vector<table_entry>& out, Report& report) {
  result<cie> last{errc::not_found, 0};
  std::uint64_t last_offset = ~std::uint64_t{0};
  auto at = from.entries().begin();
  for (; at != std::default_sentinel; ++at) {
    if (at->is_cie) continue;
    if (at->error != errc::ok) {
      report(trace_error{at->error, at->offset}, number);
      continue;
    }
    if (at->cie_offset != last_offset) {
      last = from.cie_at(at->cie_offset);
      last_offset = at->cie_offset;
    }
    if (!last) {
      report(last.error(), number);
      continue;
    }
    const auto f = from.parse_fde(*at, *last);
    if (!f) {
      report(f.error(), number);
      continue;
    }
    // Section garbage collection leaves discarded functions at address 0.
    if (f->begin >= f->end || (f->begin == 0 && !from.info().code_at_zero)) continue;
    out.push_back({f->begin, f->end, f->offset, number});
  }
  if (at.error()) report(at.error(), number);
}

}  // namespace detail

/// Builds a table from one or two sections; where both have an answer, the first counts. Where FDEs overlap, the one
/// with the nearest start counts, and of those with the same start the first in its section. An FDE in error is left
/// out and reported: `report(trace_error, section_number)`. Time is about that of interpreting the sections once;
/// memory is 12 bytes for each row besides the table. Errors: errc::capacity (more than 65,535 distinct rules, or 256
/// rows in 256 granules of code).
template <class Arch, order O, class Report>
[[nodiscard]] result<table> build_table(std::span<const section<O>> sections, const table_options& options,
                                        Report&& report) {
  std::vector<detail::table_entry> entries;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    detail::collect_entries(sections[i], static_cast<std::uint32_t>(i), entries, report);
  }
  const auto before = [](const detail::table_entry& a, const detail::table_entry& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    if (a.section != b.section) return a.section < b.section;
    return a.offset < b.offset;
  };
  if (!std::is_sorted(entries.begin(), entries.end(), before)) std::sort(entries.begin(), entries.end(), before);

  detail::table_encoder<Arch> encoder(options.profile);
  std::vector<context<>> memory(1);
  std::uint64_t covered = 0, first_section_covered = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const detail::table_entry& e = entries[i];
    if (i > 0 && entries[i - 1].begin == e.begin) continue;
    if (e.section != 0 && e.begin < first_section_covered) continue;
    std::size_t next = i + 1;
    while (next < entries.size() && (entries[next].begin == e.begin || (e.section == 0 && entries[next].section != 0 && entries[next].begin < e.end))) ++next;
    const std::uint64_t end = next < entries.size() ? std::min(e.end, entries[next].begin) : e.end;
    const section<O>& from = sections[e.section];
    row_machine<Arch, O> machine(from, memory[0]);
    const auto at = from.entry_at(e.offset);
    trace_error error = machine.load_cie(at->cie_offset);
    const std::size_t kept = encoder.size();
    if (!error) {
      const auto f = from.parse_fde(*at, machine.current_cie());
      machine.begin(*f);
      if (covered < e.begin) encoder.add(covered, encoder.no_rule);
      while (machine.next()) {
        const row& r = machine.current();
        if (r.end <= r.begin || r.begin < e.begin || r.begin >= end) continue;
        encoder.add(r.begin, encoder.rule_number(r, machine.current_cie(), from.bytes()));
      }
      error = machine.error();
    }
    if (error) {
      encoder.truncate(kept);
      report(error, e.section);
      continue;
    }
    covered = end;
    if (e.section == 0) first_section_covered = std::max(first_section_covered, e.end);
  }
  encoder.add(covered, encoder.no_rule);
  auto bytes = encoder.encode(options.build_id);
  if (!bytes) return bytes.error();
  return table(std::move(*bytes));
}

/// As above, for one section and without a report of what is left out.
template <class Arch, order O>
[[nodiscard]] result<table> build_table(const section<O>& from, const table_options& options = {}) {
  return build_table<Arch>(std::span<const section<O>>(&from, 1), options, [](const trace_error&, std::uint32_t) {});
}

}  // namespace backsight::cfi
