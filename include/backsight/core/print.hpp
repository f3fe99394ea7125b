// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <backsight/core/any_record.hpp>
#include <backsight/core/escape.hpp>
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

namespace detail {

/// The shortest decimal form that reads back the same; in a constant expression, where there is none, the bits.
template <class Out, std::floating_point T>
constexpr Out print_floating(Out out, T value) {
  if (std::is_constant_evaluated()) {
    return text::hexadecimal(text::literal(out, "0x"), std::bit_cast<unsigned_of_size<sizeof(T)>>(value),
                             sizeof(T) * 2);
  }
  char characters[32];
  const auto written = std::to_chars(characters, characters + sizeof characters, value);
  for (const char* c = characters; c != written.ptr; ++c) *out++ = *c;
  return out;
}

}  // namespace detail

namespace detail {

/// Several values or records: numbers, the records of a part.
template <class T>
concept sequence = requires(const T& value) { value.begin() == value.end(); } && byte_array_size<T> == 0;

/// The member of that index is there.
template <std::size_t Index, class Record>
[[nodiscard]] constexpr bool has_member(const Record& item) noexcept {
  if constexpr (requires { item.template has_at<Index>(); }) return item.template has_at<Index>();
  else return true;
}

}  // namespace detail

/// Writes one value as text: bytes in quotes, several values in brackets. An enumeration that has a `constexpr const
/// char* enumerator_name(E)` found by argument-dependent look-up prints that name, or its number where the function
/// gives null.
template <class Out, class T>
constexpr Out print_value(Out out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    *out++ = value ? '1' : '0';
    return out;
  } else if constexpr (std::is_enum_v<T>) {
    if constexpr (requires { enumerator_name(value); }) {
      if (const char* name = enumerator_name(value)) return text::literal(out, name);
    }
    return text::decimal(out, static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return detail::print_floating(out, value);
  } else if constexpr (detail::byte_array_size<T> != 0) {
    return text::hex_bytes(out, value);
  } else if constexpr (std::is_same_v<T, byte_view>) {
    return text::quoted(out, value);
  } else if constexpr (detail::sequence<T>) {
    *out++ = '[';
    bool first = true;
    for (const auto& one : value) {
      if (!first) *out++ = ',';
      first = false;
      if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(one)>> ||
                    std::is_enum_v<std::remove_cvref_t<decltype(one)>>) {
        out = print_value(out, one);
      } else {
        *out++ = '{';
        out = print(out, one);
        *out++ = '}';
      }
    }
    *out++ = ']';
    return out;
  } else {
    return text::decimal(out, value);
  }
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

namespace detail {

/// The name of an enumerator as print_value has it; null for other values.
template <class T>
[[nodiscard]] constexpr const char* name_of_value([[maybe_unused]] const T& value) noexcept {
  if constexpr (std::is_enum_v<T>) {
    if constexpr (requires { enumerator_name(value); }) return enumerator_name(value);
  }
  return nullptr;
}

/// print_value as a cell of a table. Only names and texts can need quotes: the rest is digits, letters, `.`, `+` and
/// `-`. Several numbers stand side by side, other bytes and records as hexadecimal digits.
template <class M, class Out, class T>
constexpr Out print_cell(Out out, const T& value, char separator) {
  if constexpr (requires { M::is_text; }) {
    return text::cell(out, value, separator);
  } else if constexpr (std::is_same_v<T, byte_view>) {
    return text::hex_bytes(out, value);
  } else if constexpr (sequence<T>) {
    if constexpr (std::is_arithmetic_v<typename T::value_type> || std::is_enum_v<typename T::value_type>) {
      bool first = true;
      for (const auto one : value) {
        if (!first) *out++ = ' ';
        first = false;
        out = print_value(out, one);
      }
      return out;
    } else {
      return text::hex_bytes(out, value.bytes());
    }
  } else {
    if (const char* name = name_of_value(value)) return text::cell(out, text::characters_of(name), separator);
    return print_value(out, value);
  }
}

template <class Out, schema S, order O>
constexpr Out json_members(Out out, const record<S, O>& item);

/// print_value as JSON has it: integers as numbers, a NaN as null, the rest as texts.
template <class Out, class T>
constexpr Out print_json(Out out, const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (value != value) return text::literal(out, "null");
  }
  if constexpr (std::is_integral_v<T>) {
    return print_value(out, value);
  } else if constexpr (std::is_same_v<T, byte_view>) {
    return text::quoted(out, value);
  } else if constexpr (sequence<T>) {
    *out++ = '[';
    bool first = true;
    for (const auto& one : value) {
      if (!first) *out++ = ',';
      first = false;
      if constexpr (requires { one.kind(); }) {
        out = json_line(out, one);
      } else if constexpr (requires { one.bytes(); }) {
        *out++ = '{';
        out = json_members(out, one);
        *out++ = '}';
      } else {
        out = print_json(out, one);
      }
    }
    *out++ = ']';
    return out;
  } else {
    if (const char* name = name_of_value(value)) return text::quoted(out, text::characters_of(name));
    *out++ = '"';
    out = print_value(out, value);
    *out++ = '"';
    return out;
  }
}

}  // namespace detail

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
