// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include <backsight/cfi/cie_reader.hpp>
#include <backsight/cfi/header_table.hpp>
#include <backsight/cfi/interpreter.hpp>
#include <backsight/cfi/section.hpp>
#include <backsight/cfi/table.hpp>
#include <backsight/cfi/table_encoder.hpp>
#include <backsight/cfi/table_format.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/saved_index.hpp>

namespace backsight::cfi {

/// A table and the bytes that it lies in. Immutable once built; movable; write bytes() to a file to save it.
class table {
 public:
  table() = default;
  table(table&& other) noexcept : bytes_(std::move(other.bytes_)), view_(std::exchange(other.view_, {})) {}
  table& operator=(table&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    view_ = std::exchange(other.view_, {});
    return *this;
  }
  table(const table&) = delete;
  table& operator=(const table&) = delete;

  /// Takes bytes that the encoder made, which are not checked again; table_view::open is for all others.
  [[nodiscard]] static table of_encoder(std::vector<std::byte> bytes) {
    table made;
    made.bytes_ = std::move(bytes);
    if (const auto found = table_view::find_parts(made.bytes_)) made.view_ = table_view(*found);
    return made;
  }

  /// Valid as long as this object.
  [[nodiscard]] const table_view& view() const noexcept { return view_; }
  [[nodiscard]] byte_view bytes() const noexcept { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  table_view view_;
};

namespace detail {

/// An FDE of one of the sections of a table, as small as sorting and memory want it.
struct table_entry {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t offset : 40 = 0;
  std::uint64_t section : 8 = 0;
  std::uint64_t instructions : 16 = 0;  // From `offset` on; 0 when that is too far.

  static constexpr std::uint64_t most_offset = (std::uint64_t{1} << 40) - 1;
  static constexpr std::uint64_t most_instructions = 0xffff;
};
static_assert(sizeof(table_entry) == 24);

/// Reads FDEs into a list.
template <order O>
class entry_reader {
 public:
  entry_reader(const section<O>& from, std::uint32_t number, std::vector<table_entry>& out) noexcept
      : section_(from), number_(number), out_(out), cies_(from) {}

  /// Adds an FDE when it covers something.
  [[nodiscard]] trace_error add(const entry& e) {
    if (e.error != errc::ok) return {e.error, e.offset};
    const result<cie>& c = cies_.at(e.cie_offset);
    if (!c) return c.error();
    const auto f = section_.parse_fde(e, *c);
    if (!f) return f.error();
    // Section garbage collection leaves discarded functions at address 0.
    if (f->begin >= f->end || (f->begin == 0 && !section_.info().code_at_zero)) return {};
    if (f->offset > table_entry::most_offset || number_ > 255) return {errc::capacity, e.offset};
    const std::uint64_t instructions = f->instructions - f->offset;
    table_entry& one = out_.emplace_back();
    one.begin = f->begin;
    one.end = f->end;
    one.offset = f->offset & table_entry::most_offset;
    one.section = number_ & 0xffU;
    one.instructions = instructions <= table_entry::most_instructions ? instructions & 0xffffU : 0;
    return {};
  }

 private:
  section<O> section_;
  std::uint32_t number_;
  std::vector<table_entry>& out_;
  cie_reader<O> cies_;
};

/// The FDEs of a section by a walk over its entries.
template <order O, class Report>
void collect_entries(const section<O>& from, std::uint32_t number, std::vector<table_entry>& out, Report& report) {
  out.reserve(out.size() + from.bytes().size() / 40);  // Most FDEs are somewhat larger.
  entry_reader<O> reader(from, number, out);
  auto at = from.entries().begin();
  for (; at != std::default_sentinel; ++at) {
    if (at->is_cie) continue;
    if (const trace_error error = reader.add(*at)) report(error, number);
  }
  if (at.error()) report(at.error(), number);
}

}  // namespace detail

namespace detail {

/// The rows of FDEs, with rules numbered by the encoder. What reading them takes is given back with the end.
template <class Arch, order O, class Report>
[[nodiscard]] packed_rows read_rows(std::span<const section<O>> sections, std::vector<table_entry> entries,
                                    table_encoder<Arch>& encoder, Report& report) {
  const auto before = [](const table_entry& a, const table_entry& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    if (a.section != b.section) return a.section < b.section;
    return a.offset < b.offset;
  };
  if (!std::is_sorted(entries.begin(), entries.end(), before)) std::sort(entries.begin(), entries.end(), before);

  packed_rows rows;
  std::vector<context<>> memory(1);
  std::vector<cie_loader<Arch, O>> cies(sections.begin(), sections.end());
  std::uint64_t covered = 0, first_section_covered = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const table_entry& e = entries[i];
    if (i > 0 && entries[i - 1].begin == e.begin) continue;
    // Where the first section has an answer, the others have none.
    if (e.section != 0 && e.begin < first_section_covered) continue;
    const auto hides = [&](const table_entry& next) {
      return next.begin != e.begin && (next.section <= e.section || next.begin >= e.end);
    };
    std::size_t next = i + 1;
    while (next < entries.size() && !hides(entries[next])) ++next;
    const std::uint64_t end = next < entries.size() ? std::min(e.end, entries[next].begin) : e.end;
    const auto number = static_cast<std::uint32_t>(e.section);
    const section<O>& from = sections[number];
    row_machine<Arch, O> machine(from, memory[0]);
    const auto at = from.entry_at(e.offset);
    const packed_rows::mark kept = rows.here();
    trace_error error = cies[number].load(machine, at->cie_offset);
    if (!error) {
      std::uint64_t instructions = e.offset + e.instructions;
      if (e.instructions == 0) [[unlikely]]
        instructions = from.parse_fde(*at, machine.current_cie()).partial().instructions;
      machine.begin({e.offset, at->cie_offset, e.begin, e.end, instructions, at->end, {}});
      if (covered < e.begin) rows.add(covered, rows.no_rule);
      machine.for_each([&](const row& r) {
        if (r.end <= r.begin || r.begin < e.begin || r.begin >= end) return;
        rows.add(r.begin, encoder.rule_number(r, machine.current_cie(), from.bytes()));
      });
      error = machine.error();
    }
    if (error) {
      rows.restore(kept);
      report(error, number);
      continue;
    }
    if (encoder.is_full()) break;
    covered = end;
    if (e.section == 0) first_section_covered = std::max(first_section_covered, e.end);
  }
  rows.add(covered, rows.no_rule);
  rows.close();
  return rows;
}

template <class Arch, order O, class Report>
[[nodiscard]] result<table> build_from_entries(std::span<const section<O>> sections, std::vector<table_entry> entries,
                                               const table_options& options, const fingerprint& source,
                                               Report& report) {
  table_encoder<Arch> encoder(options.profile);
  const packed_rows rows = read_rows<Arch>(sections, std::move(entries), encoder, report);
  auto bytes = encoder.encode(rows, options, source);
  if (!bytes) return bytes.error();
  return table::of_encoder(std::move(*bytes));
}

}  // namespace detail

/// Builds a table from one or two sections; where both have an answer, the first counts. Where FDEs overlap, the one
/// with the nearest start counts, and of those with the same start the first in its section. An FDE in error is left
/// out and reported: `report(trace_error, section_number)`. Time is about that of interpreting the sections once;
/// memory is about 2 bytes for each row and either 24 for each FDE or the table twice, less than the sections. Errors:
/// errc::capacity (more than 65,535 distinct rules, rows at all of 256 addresses, or rules much longer than what they
/// are made of).
template <class Arch, order O, class Report>
[[nodiscard]] result<table> build_table(std::span<const section<O>> sections, const table_options& options,
                                        Report&& report) {
  std::vector<detail::table_entry> entries;
  fingerprint source;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    detail::collect_entries(sections[i], static_cast<std::uint32_t>(i), entries, report);
    source += fingerprint_of_ends(sections[i].bytes());
  }
  return detail::build_from_entries<Arch>(sections, std::move(entries), options, source, report);
}

/// As above, for one section and without a report of what is left out.
template <class Arch, order O>
[[nodiscard]] result<table> build_table(const section<O>& from, const table_options& options = {}) {
  return build_table<Arch>(std::span<const section<O>>(&from, 1), options, [](const trace_error&, std::uint32_t) {});
}

/// As above, for the FDEs that a .eh_frame_hdr lists: for an image in memory, where the end of .eh_frame is not known.
/// Pairs that lead to no FDE are left out. A header without a table lists none: see eh_frame_extent. Also
/// errc::capacity for pairs that lead to FDEs which overlap.
template <class Arch, order O>
[[nodiscard]] result<table> build_table(const section<O>& from, const header_table<O>& listed,
                                        const table_options& options = {}) {
  std::vector<detail::table_entry> entries;
  detail::entry_reader<O> reader(from, 0, entries);
  std::uint64_t left = from.bytes().size();
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const std::uint64_t offset = listed.fde_address(i) - from.info().address;
    if (offset > from.bytes().size() || from.bytes().size() - offset < 4) continue;
    const auto e = from.entry_at(offset);
    if (!e || e->is_cie || e->is_terminator()) continue;
    // FDEs that overlap are no FDEs, and reading them all would take more than linear time.
    if (e->end - e->offset > left) return {errc::capacity, offset};
    left -= e->end - e->offset;
    (void)reader.add(*e);
  }
  const auto ignore = [](const trace_error&, std::uint32_t) {};
  // The section may end anywhere, so nothing tells it from others.
  return detail::build_from_entries<Arch>(std::span<const section<O>>(&from, 1), std::move(entries), options, {},
                                          ignore);
}

}  // namespace backsight::cfi
