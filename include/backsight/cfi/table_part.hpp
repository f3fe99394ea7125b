// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <backsight/cfi/header_table.hpp>
#include <backsight/cfi/table.hpp>
#include <backsight/cfi/table_builder.hpp>

namespace backsight::cfi {

/// A table of the functions that begin in [begin, end), link-time addresses.
struct table_part {
  table rules;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

namespace detail {

[[nodiscard]] constexpr table_options options_of_parts() noexcept {
  table_options options;
  options.find_sequences = false;
  return options;
}

}  // namespace detail

/// Builds the table of the functions around an address, about `count` of them, as `listed` finds them: for programs
/// that look few addresses up in large files. Parts of one file do not overlap, whatever their addresses were, and give
/// the same rules as a table of the whole section. Time and memory are those of the functions in it. Errors:
/// errc::not_found (no list, or nothing in it), errc::bad_transition (the list is not in order), errc::out_of_range (it
/// names what is no FDE of the section, or of other code); then a table of the whole section is the way. Those of
/// build_table.
template <class Arch, order O>
[[nodiscard]] result<table_part> build_table_part(const section<O>& from, const header_table<O>& listed,
                                                  std::uint64_t address, std::size_t count = 64,
                                                  const table_options& options = detail::options_of_parts()) {
  const std::size_t size = listed.size();
  if (size == 0 || listed.eh_frame_address() != from.info().address) return {errc::not_found, 0};
  const std::size_t found = listed.find(address);
  const std::size_t at = found == size ? 0 : found;
  // Functions at one address are in one part.
  const auto boundary = [&](std::size_t index) {
    while (index > 0 && index < size && listed.location(index) == listed.location(index - 1)) --index;
    return std::min(index, size);
  };
  const std::size_t first = boundary(at / count * count), last = boundary((at / count + 1) * count);
  if (first >= last) return {errc::not_found, 0};
  table_part part;
  part.begin = first == 0 ? 0 : listed.location(first);
  part.end = last == size ? ~std::uint64_t{0} : listed.location(last);
  std::vector<detail::table_entry> entries;
  entries.reserve(last - first);
  detail::entry_reader<O> reader(from, 0, entries);
  for (std::size_t i = first; i < last; ++i) {
    if (i + 1 < size && listed.location(i + 1) < listed.location(i)) return {errc::bad_transition, 0};
    const std::uint64_t offset = listed.fde_address(i) - from.info().address;
    if (offset > from.bytes().size() || from.bytes().size() - offset < 4) return {errc::out_of_range, 0};
    const auto entry = from.entry_at(offset);
    if (!entry || entry->is_cie || entry->error != errc::ok) return {errc::out_of_range, offset};
    const std::size_t before = entries.size();
    if (reader.add(*entry)) continue;
    if (entries.size() != before && entries.back().begin != listed.location(i)) return {errc::out_of_range, offset};
  }
  // One that is cut off by the next part's first function.
  for (detail::table_entry& one : entries) one.end = std::min(one.end, part.end);
  const auto ignore = [](const trace_error&, std::uint32_t) {};
  const section<O> sections[]{from};
  auto built =
      detail::build_from_entries<Arch>(std::span<const section<O>>(sections), std::move(entries), options, {}, ignore);
  if (!built) return built.error();
  part.rules = std::move(built.value());
  return part;
}

}  // namespace backsight::cfi
