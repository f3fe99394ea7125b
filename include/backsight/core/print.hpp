// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <backsight/core/any_record.hpp>
#include <backsight/core/escape.hpp>
#include <backsight/core/print_value.hpp>
#include <backsight/core/text.hpp>

namespace backsight {

/// How print calls a record of schema S: its `name`, or "record" where it declares none.
template <schema S>
[[nodiscard]] constexpr const char* name_of_schema() noexcept {
  if constexpr (requires {
                  { S::name } -> std::convertible_to<const char*>;
                })
    return S::name;
  else return "record";
}

/// Writes a record on one line, without its end: `name member=value ...`, and `payload="..."` where it has one.
/// Padding and members that it has not are left out.
template <class Out, schema S, order O>
constexpr Out print(Out out, const record<S, O>& item) {
  out = text::literal(out, name_of_schema<S>());
  for_each_member<S>([&]<class M>(M, auto index) {
    if constexpr (!M::is_padding) {
      if (!detail::has_member<index>(item)) return;
      *out++ = ' ';
      out = text::literal(out, M::name());
      *out++ = '=';
      out = print_value(out, item.template member_at<index>());
    }
  });
  if constexpr (has_payload<S>) out = text::quoted(text::literal(out, " payload="), item.payload());
  return out;
}

/// Writes the names of the members, separated by `separator`: the head of a CSV table of this record. Names that need
/// it are quoted (text::cell).
template <schema S, class Out>
constexpr Out csv_header(Out out, char separator = ',') {
  bool first = true;
  for_each_member<S>([&]<class M>(M, auto) {
    if constexpr (!M::is_padding) {
      if (!first) *out++ = separator;
      first = false;
      out = text::cell(out, text::characters_of(M::name()), separator);
    }
  });
  if constexpr (has_payload<S>) {
    if (!first) *out++ = separator;
    out = text::literal(out, "payload");
  }
  return out;
}

/// Writes the values of the members, separated by `separator`, in the order of csv_header; a payload as hexadecimal
/// digits.
template <class Out, schema S, order O>
constexpr Out csv_line(Out out, const record<S, O>& item, char separator = ',') {
  bool first = true;
  for_each_member<S>([&]<class M>(M, auto index) {
    if constexpr (!M::is_padding) {
      if (!first) *out++ = separator;
      first = false;
      if (detail::has_member<index>(item))
        out = detail::print_cell<M>(out, item.template member_at<index>(), separator);
    }
  });
  if constexpr (has_payload<S>) {
    if (!first) *out++ = separator;
    out = text::hex_bytes(out, item.payload());
  }
  return out;
}

namespace detail {

/// `"record":"name","member":value,...`; `"offset":N` in front of the members where there is one.
template <class Out, schema S, order O>
constexpr Out json_members(Out out, const record<S, O>& item, const std::uint64_t* offset) {
  out = text::quoted(text::literal(out, "\"record\":"), text::characters_of(name_of_schema<S>()));
  if (offset != nullptr) out = text::decimal(text::literal(out, ",\"offset\":"), *offset);
  for_each_member<S>([&]<class M>(M, auto index) {
    if constexpr (!M::is_padding) {
      if (!has_member<index>(item)) return;
      *out++ = ',';
      out = text::quoted(out, text::characters_of(M::name()));
      *out++ = ':';
      out = print_json(out, item.template member_at<index>());
    }
  });
  if constexpr (has_payload<S>) out = text::quoted(text::literal(out, ",\"payload\":"), item.payload());
  return out;
}
template <class Out, schema S, order O>
constexpr Out json_members(Out out, const record<S, O>& item) {
  return json_members(out, item, nullptr);
}

}  // namespace detail

/// Writes a record as one JSON object, `{"record":"name","offset":N,"member":value,...}`: integers as numbers, a NaN
/// as null, several values as an array, the records of parts as objects, the rest as texts; names and a payload as
/// text::quoted has them.
template <class Out, schema S, order O>
constexpr Out json_line(Out out, const record<S, O>& item, std::uint64_t offset) {
  *out++ = '{';
  out = detail::json_members(out, item, &offset);
  *out++ = '}';
  return out;
}

namespace detail {

/// The columns of a table that holds records of several kinds: every member name of any of them, once.
template <record_format F>
struct format_columns {
  static constexpr std::size_t capacity = []<class... Ss>(type_list<Ss...>) {
    return (std::size_t{0} + ... + layout_of<Ss>::member_count);
  }(typename F::records{});
  std::array<const char*, capacity> names{};
  std::size_t count = 0;
  bool payload = false;

  [[nodiscard]] constexpr std::size_t find(const char* name) const noexcept {
    std::size_t i = 0;
    while (i < count && !same_text(names[i], name)) ++i;
    return i;
  }
};

template <record_format F>
inline constexpr format_columns<F> columns_of = [] {
  format_columns<F> columns;
  const auto add = [&]<class S>(type_list<S>) {
    columns.payload = columns.payload || has_payload<S>;
    for_each_member<S>([&]<class M>(M, auto) {
      if (!M::is_padding && columns.find(M::name()) == columns.count) columns.names[columns.count++] = M::name();
    });
  };
  [&]<class... Ss>(type_list<Ss...>) { (add(type_list<Ss>{}), ...); }(typename F::records{});
  return columns;
}();

}  // namespace detail

/// Writes the head of one CSV table for all records of a format: offset, record, the names of all members, payload.
template <record_format F, class Out>
constexpr Out csv_header_of_format(Out out, char separator = ',') {
  out = text::literal(out, "offset");
  *out++ = separator;
  out = text::literal(out, "record");
  constexpr auto& columns = detail::columns_of<F>;
  for (std::size_t i = 0; i < columns.count; ++i) {
    *out++ = separator;
    out = text::cell(out, text::characters_of(columns.names[i]), separator);
  }
  if (columns.payload) {
    *out++ = separator;
    out = text::literal(out, "payload");
  }
  return out;
}

/// Writes a record as a line of the table of csv_header_of_format; columns that its kind lacks stay empty.
template <class Out, record_format F>
constexpr Out csv_line(Out out, const any_record<F>& item, char separator = ',') {
  constexpr auto& columns = detail::columns_of<F>;
  out = text::decimal(out, item.offset());
  *out++ = separator;
  visit(item, [&]<schema S, order O>(const record<S, O>& typed) {
    out = text::cell(out, text::characters_of(name_of_schema<S>()), separator);
    for (std::size_t column = 0; column < columns.count; ++column) {
      *out++ = separator;
      for_each_member<S>([&]<class M>(M, auto index) {
        if constexpr (!M::is_padding) {
          constexpr std::size_t own = columns.find(M::name());
          if (own == column && detail::has_member<index>(typed)) {
            out = detail::print_cell<M>(out, typed.template member_at<index>(), separator);
          }
        }
      });
    }
    if constexpr (columns.payload) {
      *out++ = separator;
      if constexpr (has_payload<S>) out = text::hex_bytes(out, typed.payload());
    }
  });
  return out;
}

/// print of a record whose kind is known at run time.
template <class Out, record_format F>
constexpr Out print(Out out, const any_record<F>& item) {
  visit(item, [&](const auto& typed) { out = print(out, typed); });
  return out;
}

/// json_line of a record whose kind is known at run time.
template <class Out, record_format F>
constexpr Out json_line(Out out, const any_record<F>& item) {
  visit(item, [&](const auto& typed) { out = json_line(out, typed, item.offset()); });
  return out;
}

}  // namespace backsight
