// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <backsight/emit/declaration.hpp>

namespace backsight::emit {

namespace detail {

/// The types of an ImHex pattern, each behind those that it uses.
class imhex_writer {
  using word = term<language::imhex>;

 public:
  /// The type of one record of F, of whichever kind; gives its name.
  template <record_format F>
  std::string add_choice(const std::string& wish) {
    static_assert(exportable<F>::good);
    if (const std::string known = names_.of<F>(); !known.empty()) return known;
    const std::string name = names_.next_of<F>(wish);
    std::string members;
    std::size_t kind = 0;
    [&]<class... Ss>(type_list<Ss...>) {
      (
          [&] {
            std::string called = identifier(name_of_schema<Ss>());
            if (called == "record") called += "_" + std::to_string(kind);
            const std::string type = add_record<Ss, F::byte_order>(called);
            const std::string told = told_by<F, Ss>(kind);
            members += (kind == 0 ? "  if (" : "  else if (") + told + ") " + type + " " + called + ";\n";
            ++kind;
          }(),
          ...);
    }(typename F::records{});
    types_ += "struct " + name + " {\n" + members + "  else std::error(\"no record begins here\");\n};\n\n";
    return name;
  }

  template <schema S, order O>
  std::string add_record(const std::string& wish) {
    static_assert(exportable_record<S>::good);
    const std::string name = names_.next(wish);
    std::string members;
    std::size_t words = 0;
    for_each_unit<S>(
        [&]<class Unit>(type_list<Unit>, std::size_t index) { members += unit<S, O, Unit>(name, index, words, "  "); });
    if constexpr (backsight::detail::states_extent<S> && has_payload<S>) {
      members += "  u8 payload[addressof(this) + " + extent<S, O>() + " - $];\n";
    }
    types_ += "struct " + name + " {\n" + members + "};\n\n";
    return name;
  }

  [[nodiscard]] std::string file(order o, const std::string& top) const {
    const std::string imports = uses_varint_ ? "import std.core;\nimport std.mem;\nimport type.leb128;\n"
                                             : "import std.core;\nimport std.mem;\n";
    return "#pragma endian " + std::string(o == order::little ? "little" : "big") + "\n\n" + imports + "\n" + types_ +
           top;
  }

 private:
  [[nodiscard]] static std::string integer(std::size_t bytes, bool is_signed) {
    return (is_signed ? "s" : "u") + std::to_string(bytes * 8);
  }

  /// What expressions call the members of S; those of a word by the name of the word.
  template <schema S>
  [[nodiscard]] static auto described() {
    return describe<S>([]<class M>(M, std::size_t index) {
      std::string name = identifier(M::name());
      std::size_t words = 0;
      for_each_unit<S>([&]<class Unit>(type_list<Unit>, std::size_t first) {
        if (Unit::members::size < 2) return;
        if (index >= first && index < first + Unit::members::size) name = "word_" + std::to_string(words) + "." + name;
        ++words;
      });
      if constexpr (requires { M::form; }) {
        // Its value is unsigned; the sign of a protobuf number is its lowest bit.
        if (M::form == varint_form::zigzag) return word("((" + name + " >> 1) ^ -(" + name + " & 1))");
      }
      return word(name);
    });
  }
  template <schema S, order O>
  [[nodiscard]] static std::string extent() {
    return term_of_extent<S, word>(described<S>()).number();
  }

  template <record_format F, schema S>
  [[nodiscard]] static std::string told_by(std::size_t kind) {
    return told_text<language::imhex, F, S>(
        kind, [] { return std::string("std::mem::read_unsigned($, 1)"); },
        [](const auto& condition) {
          const auto read = []<class M>(M, std::size_t) { return ahead<S, M, F::byte_order>(); };
          return term_of_condition<word>(condition, describe<S>(read)).truth();
        });
  }
  template <schema S, class M, order O>
  [[nodiscard]] static word ahead() {
    constexpr order own = backsight::detail::order_of_member<M, O>;
    constexpr auto place = layout_of<S>::template place_of<layout_of<S>::members::template index_of<M>, O>;
    using access = backsight::detail::bit_access<place, size_of<S>, own>;
    const word read("std::mem::read_unsigned($ + " + std::to_string(access::bytes.first) + ", " +
                    std::to_string(access::bytes.size) +
                    ", std::mem::Endian::" + (own == order::little ? "Little" : "Big") + ")");
    constexpr bool whole = access::shift == 0 && place.bits == access::bytes.size * 8;
    return whole ? read : (read >> word(access::shift)) & word(static_cast<std::uint64_t>(access::mask));
  }

  template <schema S, order O, class Unit>
  std::string unit(const std::string& type, std::size_t index, std::size_t& words, const std::string& indent) {
    if constexpr (requires { typename Unit::unit; }) {
      const std::string condition = term_of_when<Unit::condition, word>(described<S>()).truth();
      return indent + "if (" + condition + ") {\n" +
             unit<S, O, typename Unit::unit>(type, index, words, indent + "  ") + indent + "}\n";
    } else if constexpr (backsight::detail::is_varying<Unit>) {
      return indent + varying_member<S, O, typename Unit::member>(type, index);
    } else if constexpr (Unit::members::size == 1) {
      return indent + fixed_member<O, typename Unit::members::template at<0>>(type);
    } else {
      const std::string name = names_.next(type + "_word_" + std::to_string(words));
      std::string members;
      [&]<class... Ms>(type_list<Ms...>) { ((members += "  " + bits<Ms>(type)), ...); }(typename Unit::members{});
      const bool from_lsb = (O == order::little) != backsight::detail::runs_against_bits<Unit, O>;
      types_ += "bitfield " + name + " {\n" + members + "} [[bitfield_order(std::core::BitfieldOrder::" +
                (from_lsb ? "LeastToMostSignificant, " : "MostToLeastSignificant, ") + std::to_string(Unit::bits) +
                ")]];\n\n";
      return indent + name + " word_" + std::to_string(words++) + ";\n";
    }
  }
  template <class M>
  [[nodiscard]] std::string bits(const std::string& type) {
    using value = typename M::value_type;
    const std::string width = " : " + std::to_string(M::bits) + ";\n";
    if constexpr (M::is_padding) return "padding" + width;
    else if constexpr (std::is_same_v<value, bool>) return "bool " + identifier(M::name()) + width;
    else if constexpr (std::is_integral_v<value> && std::is_signed_v<value>)
      return "signed " + identifier(M::name()) + width;
    else return enumeration<M>(type, "") + identifier(M::name()) + width;
  }
  /// The type of a number, or an enumeration of its values.
  template <class M>
  [[nodiscard]] std::string enumeration(const std::string& type, const std::string& number) {
    const auto values = enumerators_of<typename M::value_type>(M::bits);
    if (values.empty()) return number.empty() ? number : number + " ";
    const std::string name = names_.next(type + "_" + identifier(M::name()));
    types_ += "enum " + name + " : " + integer(sizeof(typename M::value_type), false) + " {\n";
    for (const auto& [value, text] : values) types_ += "  " + text + " = " + std::to_string(value) + ",\n";
    types_ += "};\n\n";
    return name + " ";
  }
  template <order O, class M>
  [[nodiscard]] std::string fixed_member(const std::string& type) {
    using value = typename M::value_type;
    if constexpr (M::is_padding) {
      return "padding[" + std::to_string(M::bits / 8) + "];\n";
    } else if constexpr (backsight::detail::byte_array_size<value> != 0) {
      return "u8 " + identifier(M::name()) + "[" + std::to_string(M::bits / 8) + "];\n";
    } else {
      constexpr order own = backsight::detail::order_of_member<M, O>;
      const std::string prefix = own == O ? "" : own == order::little ? "le " : "be ";
      constexpr bool is_signed = std::is_integral_v<value> && std::is_signed_v<value>;
      if constexpr (std::is_floating_point_v<value>)
        return prefix + (M::bits == 32 ? "float " : "double ") + identifier(M::name()) + ";\n";
      else return prefix + enumeration<M>(type, integer(M::bits / 8, is_signed)) + identifier(M::name()) + ";\n";
    }
  }

  template <schema S, order O, class M>
  [[nodiscard]] std::string varying_member(const std::string& type, std::size_t index) {
    const std::string name = identifier(M::name());
    const auto end = [&] {
      return "addressof(this) + " + extent_or_rest<S, O>() + " - " + std::to_string(bytes_behind<S>(index));
    };
    if constexpr (requires { M::form; }) {
      uses_varint_ = true;
      return (M::form == varint_form::sleb ? "type::sLEB128 " : "type::uLEB128 ") + name + ";\n";
    } else if constexpr (requires { M::alignment; }) {
      const std::string n = std::to_string(M::alignment);
      return "padding[(" + n + " - ($ - addressof(this)) % " + n + ") % " + n + "];\n";
    } else if constexpr (requires { M::is_text; }) {
      return "char " + name + "[];\n";
    } else if constexpr (requires { M::is_part; }) {
      using range = decltype(std::declval<record<S, O>>()[M{}]);
      const std::string one = add_choice<typename range::format_type>(name + "_record");
      std::string limit;
      if constexpr (M::takes_rest) limit = end();
      else limit = "$ + " + word(term_of<M::count>(described<S>())).number();
      return "u64 " + name + "_end = " + limit + ";\n  " + one + " " + name + "[while($ < " + name + "_end)];\n";
    } else if constexpr (M::takes_rest) {
      return "u8 " + name + "[" + end() + " - $];\n";
    } else {
      const std::string count = word(term_of<M::count>(described<S>())).number();
      if constexpr (requires { typename M::element; }) {
        return add_record<typename M::element, O>(type + "_" + name) + " " + name + "[" + count + "];\n";
      } else if constexpr (std::is_same_v<typename M::value_type, byte_view>) {
        return "u8 " + name + "[" + count + "];\n";
      } else {
        using value = typename M::value_type;
        const std::string number = std::is_floating_point_v<value> ? (sizeof(value) == 4 ? "float" : "double")
                                                                   : integer(sizeof(value), std::is_signed_v<value>);
        return number + " " + name + "[" + count + "];\n";
      }
    }
  }
  template <schema S, order O>
  [[nodiscard]] static std::string extent_or_rest() {
    if constexpr (backsight::detail::states_extent<S>) return extent<S, O>();
    else return "std::mem::size() - addressof(this)";
  }

  type_names names_;
  std::string types_;
  bool uses_varint_ = false;
};

}  // namespace detail

/// The records of format F as an ImHex pattern. What kaitai() asks for and leaves out holds here too; constants and
/// repeated members are shown and not checked, and a part whose terminator comes early goes on to its end.
template <record_format F>
[[nodiscard]] std::string imhex() {
  detail::imhex_writer writer;
  const std::string one = writer.add_choice<F>("any_record");
  return writer.file(F::byte_order, one + " records[while(!std::mem::eof())] @ 0x00;\n");
}

/// One record of S, at the start of the file, as an ImHex pattern.
template <schema S, order O>
[[nodiscard]] std::string imhex() {
  detail::imhex_writer writer;
  const std::string one = writer.add_record<S, O>(detail::identifier(name_of_schema<S>()));
  return writer.file(O, one + " first @ 0x00;\n");
}

}  // namespace backsight::emit
