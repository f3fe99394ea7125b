// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <backsight/core/print.hpp>
#include <backsight/core/record_range.hpp>

// A schema as a table, and whole ranges as tables.
namespace backsight {

/// One member of a schema, as its declaration has it.
struct member_info {
  const char* name = nullptr;
  std::size_t first_bit = 0;  ///< From the start of the record; without meaning where the place is not fixed.
  std::size_t bits = 0;       ///< Of the value; 0 where the bytes of the record tell it.
  bool has_fixed_place = true;
  bool is_padding = false;
};

/// The members of S in wire order, padding included.
template <schema S>
inline constexpr auto members_of = [] {
  using fields = detail::layout_of<S>;
  std::array<member_info, fields::member_count> table{};
  for_each_member<S>([&]<class M>(M, auto index) {
    constexpr bool fixed = index < fields::fixed_members;
    table[index] = {M::name(), fixed ? fields::template place_of<index>.first_bit : 0, M::bits, fixed, M::is_padding};
  });
  return table;
}();

/// How print calls the kind of that index: of `any_record::kind()`, of a kind_result.
template <record_format F>
[[nodiscard]] constexpr const char* kind_name(std::size_t kind) noexcept {
  constexpr auto names = []<class... Ss>(detail::type_list<Ss...>) {
    return std::array<const char*, sizeof...(Ss)>{name_of_schema<Ss>()...};
  }(typename F::records{});
  return kind < names.size() ? names[kind] : nullptr;
}
template <record_format F>
[[nodiscard]] constexpr const char* kind_name(const any_record<F>& item) noexcept {
  return kind_name<F>(item.kind());
}

/// Writes all records of a range as one CSV table, its head first; `error` tells what ended the walk.
template <class Out, record_format F, grammar_check Check>
constexpr Out csv_table(Out out, const record_range<F, Check>& range, trace_error& error, char separator = ',') {
  out = csv_header_of_format<F>(out, separator);
  *out++ = '\n';
  error = for_each(range, [&](const any_record<F>& item) {
    out = csv_line(out, item, separator);
    *out++ = '\n';
  });
  return out;
}

/// Writes all records of a range as JSON, an object a line; `error` tells what ended the walk.
template <class Out, record_format F, grammar_check Check>
constexpr Out json_lines(Out out, const record_range<F, Check>& range, trace_error& error) {
  error = for_each(range, [&](const any_record<F>& item) {
    out = json_line(out, item);
    *out++ = '\n';
  });
  return out;
}

/// Writes all records of a range as text, `offset: record` a line; `error` tells what ended the walk.
template <class Out, record_format F, grammar_check Check>
constexpr Out print_lines(Out out, const record_range<F, Check>& range, trace_error& error) {
  error = for_each(range, [&](const any_record<F>& item) {
    out = print(text::literal(text::decimal(out, item.offset()), ": "), item);
    *out++ = '\n';
  });
  return out;
}

}  // namespace backsight
