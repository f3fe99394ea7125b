// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <backsight/core/record_span.hpp>
#include <backsight/core/varying.hpp>

// What lies inside of a record: records of another format, and arrays of records.
namespace backsight {

namespace detail {

/// A part whose records follow a format. Context, unless null, makes the context of its range from the record around
/// it.
template <template <order> class Format, auto Context>
struct part_member : bytes_member {
  static constexpr bool is_part = true;
  template <class Record>
  [[nodiscard]] static constexpr auto get(const Record& record, slot at) noexcept {
    using format = Format<Record::byte_order>;
    const byte_view bytes(record.data() + at.begin, static_cast<std::size_t>(at.value));
    if constexpr (std::is_same_v<decltype(Context), std::nullptr_t>) {
      return record_range<format>(bytes, {}, record.offset() + at.begin);
    } else {
      return record_range<format>(bytes, Context(record), record.offset() + at.begin);
    }
  }
};

}  // namespace detail

/// Records of a format that take all bytes up to the members behind them, such as the options of a packet:
/// `part<"options", option_format>`. The value is a record_range, whose offsets count as those around it do. The format
/// is a template over the byte order, which is that of the record.
template <fixed_string Name, template <order> class Format, auto Context = nullptr>
struct part : detail::part_member<Format, Context> {
  static constexpr bool takes_rest = true;
  [[nodiscard]] static constexpr const char* name() noexcept { return Name.c_str(); }
  template <class Record>
  [[nodiscard]] constexpr auto operator()(const Record& record) const noexcept {
    return record[part{}];
  }
  template <class Record>
  [[nodiscard]] static constexpr const std::byte* pass(const Record&, const std::byte* at, const std::byte* end,
                                                       std::uint64_t& value, errc&) noexcept {
    value = static_cast<std::uint64_t>(end - at);
    return end;
  }
};

/// Records of a format in as many bytes as an earlier member tells.
template <fixed_string Name, template <order> class Format, auto Count, auto Context = nullptr>
struct counted_part : detail::part_member<Format, Context> {
  static constexpr auto count = Count;
  [[nodiscard]] static constexpr const char* name() noexcept { return Name.c_str(); }
  template <class Record>
  [[nodiscard]] constexpr auto operator()(const Record& record) const noexcept {
    return record[counted_part{}];
  }
  template <class Record>
  [[nodiscard]] static constexpr const std::byte* pass(const Record& record, const std::byte* at, const std::byte* end,
                                                       std::uint64_t& value, errc& code) noexcept {
    return detail::pass_counted(at, end, detail::count_of<Count>(record), 1, value, code);
  }
};

/// Records of one schema and fixed size, as many as an earlier member tells; the value is a record_span.
template <fixed_string Name, class S, auto Count>
struct counted_records : detail::bytes_member {
  static_assert(schema<S> && !detail::varying<S> && !has_payload<S> && size_of<S> != 0,
                "backsight: counted_records<> lists records of one fixed size; others are a part<>");
  static constexpr auto count = Count;
  using element = S;
  [[nodiscard]] static constexpr const char* name() noexcept { return Name.c_str(); }
  template <class Record>
  [[nodiscard]] constexpr auto operator()(const Record& record) const noexcept {
    return record[counted_records{}];
  }
  template <class Record>
  [[nodiscard]] static constexpr const std::byte* pass(const Record& record, const std::byte* at, const std::byte* end,
                                                       std::uint64_t& value, errc& code) noexcept {
    return detail::pass_counted(at, end, detail::count_of<Count>(record), size_of<S>, value, code);
  }
  template <class Record>
  [[nodiscard]] static constexpr auto get(const Record& record, detail::slot at) noexcept {
    return record_span<S, Record::byte_order>(
        byte_view(record.data() + at.begin, static_cast<std::size_t>(at.value) * size_of<S>));
  }
};

/// Walks the parts of a record, and the parts of the records in them, and gives the first error, or none.
template <schema S, order O>
[[nodiscard]] constexpr trace_error validate_parts(const record<S, O>& item) noexcept {
  trace_error found;
  for_each_member<S>([&]<class M>(M, auto index) {
    // Not a question to the value: Clang 16 answers no in here.
    if constexpr (requires { M::is_part; }) {
      if (found) return;
      const auto inner = item.template member_at<index>();
      auto it = inner.begin();
      for (; it != std::default_sentinel && !found; ++it) {
        found = visit(*it, [](const auto& typed) { return validate_parts(typed); });
      }
      if (!found) found = it.error();
    }
  });
  return found;
}

/// validate of a range, with that of all parts of its records.
template <record_format F, grammar_check Check>
[[nodiscard]] constexpr trace_error validate_with_parts(const record_range<F, Check>& range) noexcept {
  auto it = range.begin();
  for (; it != std::default_sentinel; ++it) {
    if (const trace_error found = visit(*it, [](const auto& typed) { return validate_parts(typed); })) return found;
  }
  return it.error();
}

}  // namespace backsight
