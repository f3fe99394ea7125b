// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/cfi/apple/mach_o.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/offset_of.hpp>
#include <backsight/core/record_span.hpp>

// The section __TEXT,__unwind_info. Source: Apple's compact_unwind_encoding.h. Offsets count from the start of the
// section, functions from the image's base.
namespace backsight::cfi::apple {

struct unwind_info_header {
  static constexpr const char* name = "unwind_info_section_header";
  static constexpr field<"version", std::uint32_t> version{};  ///< 1
  static constexpr field<"common_encodings_offset", std::uint32_t> encodings_at{};
  static constexpr field<"common_encodings_count", std::uint32_t> encodings{};
  static constexpr field<"personality_offset", std::uint32_t> personalities_at{};
  static constexpr field<"personality_count", std::uint32_t> personalities{};
  static constexpr field<"index_offset", std::uint32_t> index_at{};
  static constexpr field<"index_count", std::uint32_t> index_count{};
  static constexpr layout fields{version,       encodings_at, encodings,  personalities_at,
                                 personalities, index_at,     index_count};
};

/// Where the functions from `function` on are told of; the last one, without a page, ends them.
struct unwind_info_index {
  static constexpr const char* name = "unwind_info_section_header_index_entry";
  static constexpr field<"function", std::uint32_t> function{};
  static constexpr field<"page_offset", std::uint32_t> page_at{};
  static constexpr field<"lsda_offset", std::uint32_t> lsda_at{};
  static constexpr layout fields{function, page_at, lsda_at};
};

/// The head of a page of entries that have an encoding each.
struct regular_page {
  static constexpr const char* name = "unwind_info_regular_second_level_page_header";
  static constexpr field<"kind", std::uint32_t> kind{};  ///< 2
  static constexpr field<"entries_offset", std::uint16_t> entries_at{};
  static constexpr field<"entries_count", std::uint16_t> count{};
  static constexpr layout fields{kind, entries_at, count};
};
struct regular_entry {
  static constexpr const char* name = "unwind_info_regular_second_level_entry";
  static constexpr field<"function", std::uint32_t> function{};
  static constexpr field<"encoding", std::uint32_t> encoding{};
  static constexpr layout fields{function, encoding};
};

/// The head of a page of entries that name an encoding by its number: of the common ones first, then of the page's.
struct compressed_page {
  static constexpr const char* name = "unwind_info_compressed_second_level_page_header";
  static constexpr field<"kind", std::uint32_t> kind{};  ///< 3
  static constexpr field<"entries_offset", std::uint16_t> entries_at{};
  static constexpr field<"entries_count", std::uint16_t> count{};
  static constexpr field<"encodings_offset", std::uint16_t> encodings_at{};
  static constexpr field<"encodings_count", std::uint16_t> encodings{};
  static constexpr layout fields{kind, entries_at, count, encodings_at, encodings};
};
struct compressed_entry {
  static constexpr const char* name = "compressed_entry";
  static constexpr field<"function", std::uint32_t, 24> function{};  ///< from the function of the page's index entry on
  static constexpr field<"encoding", std::uint8_t, 8> encoding{};
  static constexpr layout fields{word<32>(function, encoding)};
};
static_assert(schema<unwind_info_header> && size_of<unwind_info_header> == 28);
static_assert(schema<unwind_info_index> && size_of<unwind_info_index> == 12);
static_assert(schema<regular_page> && schema<regular_entry> && schema<compressed_page> && schema<compressed_entry>);

/// How to unwind through the functions from `begin` to `end`, of which there may be several.
struct unwind_entry {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t encoding = 0;
  std::uint64_t offset = 0;  ///< Of the entry in the section.
};

/// The section. A view; trivially copyable, the bytes must outlive it.
class unwind_info {
 public:
  /// `base` is the image's. Errors: truncated, unsupported_version.
  [[nodiscard]] static constexpr result<unwind_info> open(byte_view bytes, std::uint64_t base) noexcept {
    if (bytes.size() < size_of<unwind_info_header>) return {errc::truncated, bytes.size()};
    const record<unwind_info_header, mach_o_order> head(bytes.data());
    if (head[unwind_info_header::version] != 1) return {errc::unsupported_version, 0};
    unwind_info made;
    made.bytes_ = bytes;
    made.base_ = base;
    const auto index =
        made.items<unwind_info_index>(head[unwind_info_header::index_at], head[unwind_info_header::index_count]);
    const auto common =
        made.items<encoding_word>(head[unwind_info_header::encodings_at], head[unwind_info_header::encodings]);
    if (!index) return {errc::truncated, offset_of<unwind_info_header>(unwind_info_header::index_at)};
    if (!common) return {errc::truncated, offset_of<unwind_info_header>(unwind_info_header::encodings_at)};
    made.index_ = *index;
    made.common_ = *common;
    return made;
  }

  [[nodiscard]] constexpr byte_view bytes() const noexcept { return bytes_; }
  [[nodiscard]] constexpr std::uint64_t base() const noexcept { return base_; }

  /// Calls `f(unwind_entry)` for each entry, ascending by address. What is broken is left out, and
  /// `report(trace_error)` called with its offset in the section: truncated (a page outside), unknown_record (kind of
  /// page), out_of_range (functions that do not ascend, or an encoding that is not there), capacity (pages that
  /// overlap: it ends there, so that the time is linear in the section's size).
  template <class F, class Report>
  constexpr void for_each(F&& f, Report&& report) const {
    std::uint32_t covered = 0;
    std::size_t left = bytes_.size();
    for (std::size_t i = 0; i + 1 < index_.size(); ++i) {
      const std::uint64_t at = offset_of_index(i);
      const std::uint32_t begin = index_[i][unwind_info_index::function],
                          end = index_[i + 1][unwind_info_index::function];
      const std::uint32_t page = index_[i][unwind_info_index::page_at];
      if (begin > end || begin < covered) {
        report(trace_error{errc::out_of_range, at});
        continue;
      }
      covered = end;
      if (page == 0) continue;
      if (page > bytes_.size() || bytes_.size() - page < size_of<regular_page>) {
        report(trace_error{errc::truncated, at + offset_of<unwind_info_index>(unwind_info_index::page_at)});
        continue;
      }
      const record<regular_page, mach_o_order> head(bytes_.data() + page);
      const std::uint32_t kind = head[regular_page::kind];
      const std::size_t size =
          head[regular_page::count] * (kind == 2 ? size_of<regular_entry> : size_of<compressed_entry>);
      if (size > left) return report(trace_error{errc::capacity, page});
      left -= size;
      if (kind == 2) regular(page, begin, end, f, report);
      else if (kind == 3) compressed(page, begin, end, f, report);
      else report(trace_error{errc::unknown_record, page});
    }
  }

 private:
  struct encoding_word {
    static constexpr field<"encoding", std::uint32_t> encoding{};
    static constexpr layout fields{encoding};
  };
  template <class S>
  using span_of = record_span<S, mach_o_order>;

  template <class S>
  [[nodiscard]] constexpr result<span_of<S>> items(std::uint64_t at, std::uint64_t count) const noexcept {
    if (at > bytes_.size() || count > (bytes_.size() - at) / size_of<S>) return {errc::truncated, at};
    return span_of<S>(bytes_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count) * size_of<S>));
  }
  [[nodiscard]] constexpr std::uint64_t offset_of_index(std::size_t i) const noexcept {
    const record<unwind_info_header, mach_o_order> head(bytes_.data());
    return head[unwind_info_header::index_at] + i * size_of<unwind_info_index>;
  }

  /// Gives the entries of a page, each with the encoding that `encoding_of(i)` finds, and the function that
  /// `function_of(i)` does.
  template <class Entries, class Function, class Encoding, class F, class Report>
  constexpr void entries_of(const Entries& entries, std::uint64_t at, std::uint32_t begin, std::uint32_t end,
                            Function&& function_of, Encoding&& encoding_of, F&& f, Report&& report) const {
    std::uint64_t covered = begin;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::uint64_t here = at + i * (entries.bytes().size() / entries.size());
      const std::uint64_t first = function_of(i), behind = i + 1 < entries.size() ? function_of(i + 1) : end;
      const result<std::uint32_t> encoding = encoding_of(i);
      if (first < covered || first > behind || behind > end) {
        report(trace_error{errc::out_of_range, here});
        continue;
      }
      covered = behind;
      if (!encoding) report(trace_error{errc::out_of_range, here});
      else if (first != behind) f(unwind_entry{base_ + first, base_ + behind, *encoding, here});
    }
  }
  template <class F, class Report>
  constexpr void regular(std::uint32_t page, std::uint32_t begin, std::uint32_t end, F&& f, Report&& report) const {
    const record<regular_page, mach_o_order> head(bytes_.data() + page);
    const std::uint64_t at = std::uint64_t{page} + head[regular_page::entries_at];
    const auto entries = items<regular_entry>(at, head[regular_page::count]);
    if (!entries) return report(trace_error{errc::truncated, page});
    entries_of(
        *entries, at, begin, end,
        [&](std::size_t i) -> std::uint64_t { return (*entries)[i][regular_entry::function]; },
        [&](std::size_t i) { return result<std::uint32_t>((*entries)[i][regular_entry::encoding]); }, f, report);
  }
  template <class F, class Report>
  constexpr void compressed(std::uint32_t page, std::uint32_t begin, std::uint32_t end, F&& f, Report&& report) const {
    if (bytes_.size() - page < size_of<compressed_page>) return report(trace_error{errc::truncated, page});
    const record<compressed_page, mach_o_order> head(bytes_.data() + page);
    const std::uint64_t at = std::uint64_t{page} + head[compressed_page::entries_at];
    const auto entries = items<compressed_entry>(at, head[compressed_page::count]);
    const auto own = items<encoding_word>(std::uint64_t{page} + head[compressed_page::encodings_at],
                                          head[compressed_page::encodings]);
    if (!entries || !own) return report(trace_error{errc::truncated, page});
    const auto encoding_of = [&](std::size_t i) -> result<std::uint32_t> {
      const std::size_t number = (*entries)[i][compressed_entry::encoding];
      if (number < common_.size()) return common_[number][encoding_word::encoding];
      if (number - common_.size() < own->size()) return (*own)[number - common_.size()][encoding_word::encoding];
      return {errc::out_of_range, 0};
    };
    entries_of(
        *entries, at, begin, end,
        [&](std::size_t i) -> std::uint64_t {
          return std::uint64_t{begin} + (*entries)[i][compressed_entry::function];
        },
        encoding_of, f, report);
  }

  byte_view bytes_;
  std::uint64_t base_ = 0;
  span_of<unwind_info_index> index_;
  span_of<encoding_word> common_;
};

}  // namespace backsight::cfi::apple
