// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <backsight/emit/declaration.hpp>

namespace backsight::emit {

namespace detail {

/// The types of a .ksy file, as they are found.
class kaitai_writer {
  using word = term<language::kaitai>;

 public:
  kaitai_writer() {
    // The types that are the same in every file.
    for (const char* const name : {"seven_bit_number", "seven_bit_group"}) (void)names_.next(name);
  }

  /// The type of the records of F, one after the other; gives its name.
  template <record_format F>
  std::string add_stream(const std::string& wish) {
    static_assert(exportable<F>::good);
    if (const std::string known = names_.of<F>(); !known.empty()) return known;
    const std::string name = names_.next_of<F>(wish + "_records"), one = names_.next(wish + "_record");
    std::string seq = "    seq:\n      - id: records\n        type: " + one + "\n";
    if constexpr (requires { typename F::terminator; }) {
      constexpr std::size_t last = F::records::template index_of<typename F::terminator>;
      // The first is read before its end is asked for.
      seq += "        if: not _io.eof\n        repeat: until\n        repeat-until: '_io.eof or _.kind == " +
             std::to_string(last) + "'\n";
    } else {
      seq += "        repeat: eos\n";
    }
    types_ += "  " + name + ":\n" + seq;
    add_choice<F>(one);
    return name;
  }

  /// The type of records of S; gives its name.
  template <schema S, order O>
  std::string add_record(const std::string& wish) {
    static_assert(exportable_record<S>::good);
    const std::string name = names_.next(wish);
    parts<S> at{S{}, name, "", ""};
    add_members<S, O>(at);
    const std::string body_of = backsight::detail::states_extent<S> ? names_.next(name + "_body") : name;
    if constexpr (backsight::detail::states_extent<S>) {
      std::string peeks;
      const auto told = describe<S>([&]<class M>(M, std::size_t) { return peek<S, M, O>(peeks); });
      const word size = term_of_extent<S, word>(told);
      types_ += "  " + name + ":\n    seq:\n      - id: body\n        size: '" + size.number() +
                "'\n        type: " + body_of + "\n    instances:\n" + peeks;
      if constexpr (has_payload<S>) at.seq += "      - id: payload\n        size-eos: true\n";
    }
    types_ += "  " + body_of + ":\n" + (at.seq.empty() ? "    seq: []\n" : "    seq:\n" + at.seq);
    if (!at.instances.empty()) types_ += "    instances:\n" + at.instances;
    return name;
  }

  /// The whole file. `top` is the name of the type that the file is.
  [[nodiscard]] std::string file(const std::string& id, order o, const std::string& top) const {
    const std::string end = o == order::little ? "le" : "be";
    std::string text =
        "meta:\n  id: " + id + "\n  endian: " + end + "\n  bit-endian: " + end + "\n  ks-version: '0.10'\n";
    text += "seq:\n  - id: content\n    type: " + top + "\ntypes:\n" + types_ + (uses_varint_ ? varint_type : "");
    if (!enums_.empty()) text += "enums:\n" + enums_;
    return text;
  }

 private:
  /// The halves of a type.
  template <class S>
  struct parts {
    S schema;
    std::string type;
    std::string seq;
    std::string instances;
  };

  static constexpr const char* varint_type =
      "  seven_bit_number:\n    seq:\n      - id: groups\n        type: seven_bit_group\n        repeat: until\n       "
      " repeat-until: not _.more\n"
      "    instances:\n      bits:\n        value: >-\n          groups[0].digits\n"
      "          + (groups.size > 1 ? groups[1].digits << 7 : 0) + (groups.size > 2 ? groups[2].digits << 14 : 0)\n"
      "          + (groups.size > 3 ? groups[3].digits << 21 : 0) + (groups.size > 4 ? groups[4].digits << 28 : 0)\n"
      "          + (groups.size > 5 ? groups[5].digits << 35 : 0) + (groups.size > 6 ? groups[6].digits << 42 : 0)\n"
      "          + (groups.size > 7 ? groups[7].digits << 49 : 0) + (groups.size > 8 ? groups[8].digits << 56 : 0)\n"
      "          + (groups.size > 9 ? (groups[9].digits & 1) << 63 : 0)\n"
      "      sign:\n        value: 'groups.size < 10 ? 1 << (groups.size * 7 - 1) : 1 << 63'\n"
      "      signed_bits:\n        value: '(bits ^ sign) - sign'\n"
      "      zigzag:\n        value: '(bits & 1) == 0 ? bits >> 1 : -(bits >> 1) - 1'\n"
      "  seven_bit_group:\n    seq:\n      - id: more\n        type: b1be\n      - id: digits\n        type: b7be\n";

  template <record_format F>
  void add_choice(const std::string& name) {
    std::string cases, peeks, kinds;
    std::size_t kind = 0;
    [&]<class... Ss>(type_list<Ss...>) {
      (
          [&] {
            const std::string called = name_of<Ss>(kind);
            cases += "            " + std::to_string(kind) + ": " + add_record<Ss, F::byte_order>(called) + "\n";
            kinds += "(" + told<F, Ss>(kind, peeks) + " ? " + std::to_string(kind) + " : ";
            ++kind;
          }(),
          ...);
    }(typename F::records{});
    types_ += "  " + name +
              ":\n    seq:\n      - id: is_known\n        size: 0\n        if: kind < 0\n        valid:\n          "
              "expr: kind >= 0\n";
    types_ += "      - id: body\n        type:\n          switch-on: kind\n          cases:\n" + cases +
              "    instances:\n" + peeks;
    types_ += "      kind:\n        value: '" + kinds + "-1" + std::string(kind, ')') + "'\n";
  }
  template <schema S>
  [[nodiscard]] static std::string name_of(std::size_t kind) {
    const std::string name = identifier(name_of_schema<S>());
    return name == "record" ? name + "_" + std::to_string(kind) : name;
  }

  /// Whether a record of S begins, as text; the bytes that it looks at are added to `peeks`.
  template <record_format F, schema S>
  [[nodiscard]] static std::string told(std::size_t kind, std::string& peeks) {
    return told_text<language::kaitai, F, S>(
        kind, [&] { return first_byte(peeks); },
        [&](const auto& condition) {
          constexpr std::size_t needed = backsight::detail::tag_end<S>;
          const auto record = describe<S>([&]<class M>(M, std::size_t) { return peek<S, M, F::byte_order>(peeks); });
          add_start(peeks);
          return "(_io.size - record_start >= " + std::to_string(needed) + " and " +
                 term_of_condition<word>(condition, record).truth() + ")";
        });
  }

  static void add_once(std::string& text, const std::string& line, const std::string& name) {
    if (text.find("      " + name + ":\n") == std::string::npos) text += line;
  }
  static void add_start(std::string& peeks) {
    add_once(peeks, "      record_start:\n        value: _io.pos\n", "record_start");
  }
  static std::string first_byte(std::string& peeks) {
    add_once(peeks, "      first_byte:\n        pos: _io.pos\n        type: u1\n", "first_byte");
    return "first_byte";
  }
  /// A member of the fixed part, read ahead.
  template <schema S, class M, order O>
  static word peek(std::string& peeks) {
    constexpr order own = backsight::detail::order_of_member<M, O>;
    constexpr auto place = layout_of<S>::template place_of<layout_of<S>::members::template index_of<M>, O>;
    using access = backsight::detail::bit_access<place, size_of<S>, own>;
    static_assert(access::power_of_two,
                  "backsight: the member that is read ahead lies in a word of 24 bits or the like");
    const std::string first = std::to_string(access::bytes.first), type = integer(access::bytes.size, false, own);
    const std::string at = "ahead_" + first + "_" + type;
    add_once(peeks, "      " + at + ":\n        pos: _io.pos + " + first + "\n        type: " + type + "\n", at);
    constexpr bool whole = access::shift == 0 && place.bits == access::bytes.size * 8;
    return whole ? word(at) : (word(at) >> word(access::shift)) & word(static_cast<std::uint64_t>(access::mask));
  }

  [[nodiscard]] static std::string integer(std::size_t bytes, bool is_signed, order o) {
    return (is_signed ? "s" : "u") + std::to_string(bytes) + (bytes == 1 ? "" : o == order::little ? "le" : "be");
  }

  /// The text by which expressions call a member of S.
  template <schema S>
  [[nodiscard]] static auto described() {
    return describe<S>([]<class M>(M, std::size_t) {
      const std::string name = identifier(M::name());
      if constexpr (requires { M::form; }) {
        return word(name + (M::form == varint_form::sleb     ? ".signed_bits"
                            : M::form == varint_form::zigzag ? ".zigzag"
                                                             : ".bits"));
      } else if constexpr (std::is_same_v<typename M::value_type, bool>) {
        return word(name, true);
      } else {
        return word(enumerators_of<typename M::value_type>(M::bits).empty() ? name : name + ".to_i");
      }
    });
  }

  template <schema S, order O>
  void add_members(parts<S>& at) {
    for_each_unit<S>([&]<class Unit>(type_list<Unit>, std::size_t index) { add_unit<S, O, Unit>(at, index, ""); });
  }
  template <schema S, order O, class Unit>
  void add_unit(parts<S>& at, std::size_t index, std::string conditions) {
    if constexpr (requires { typename Unit::unit; }) {
      const std::string condition = term_of_when<Unit::condition, word>(described<S>()).truth();
      add_unit<S, O, typename Unit::unit>(at, index, conditions.empty() ? condition : conditions + " and " + condition);
    } else {
      const std::string when = conditions.empty() ? "" : "        if: '" + conditions + "'\n";
      if constexpr (backsight::detail::is_varying<Unit>) add_varying<S, O, typename Unit::member>(at, index, when);
      else if constexpr (Unit::members::size == 1)
        add_fixed<O, typename Unit::members::template at<0>, false>(at, when);
      else add_word<O, Unit>(at, when);
    }
  }
  /// Bit members, in the order of their bits.
  template <order O, class Unit, class S>
  void add_word(parts<S>& at, const std::string& when) {
    const std::string before = at.seq;
    [&]<class... Ms>(type_list<Ms...>) {
      (
          [&] {
            parts<S> one{S{}, at.type, "", ""};
            add_fixed<O, Ms, true>(one, when);
            if (backsight::detail::runs_against_bits<Unit, O>) at.seq.insert(before.size(), one.seq);
            else at.seq += one.seq;
            at.instances += one.instances;
          }(),
          ...);
    }(typename Unit::members{});
  }
  template <order O, class M, bool InWord, class S>
  void add_fixed(parts<S>& at, const std::string& when) {
    using value = typename M::value_type;
    constexpr order own = backsight::detail::order_of_member<M, O>;
    constexpr bool whole = !InWord && (M::bits == 8 || M::bits == 16 || M::bits == 32 || M::bits == 64);
    constexpr bool is_signed = std::is_integral_v<value> && std::is_signed_v<value>;
    const std::string name = identifier(M::name());
    const bool turned_sign = is_signed && !whole;
    const std::string head =
        M::is_padding ? "      - " : "      - id: " + name + (turned_sign ? "_bits" : "") + "\n        ";
    if constexpr (backsight::detail::byte_array_size<value> != 0) {
      at.seq += head + (requires {
                  M::verify(S{});
                  M::value;
                } ? contents<M>() : "size: " + std::to_string(M::bits / 8)) + "\n" + when;
      return;
    } else if constexpr (std::is_floating_point_v<value>) {
      at.seq += head + "type: f" + std::to_string(M::bits / 8) + (own == order::little ? "le" : "be") + "\n" + when;
    } else {
      at.seq += head + "type: " + (whole ? integer(M::bits / 8, is_signed, own) : "b" + std::to_string(M::bits)) +
                "\n" + when;
      if constexpr (std::is_enum_v<value> && !requires { M::value; }) add_enumeration<M>(at);
    }
    if constexpr (requires { M::value; } && !std::is_floating_point_v<value>) {
      at.seq += "        valid: " + term<language::kaitai>(M::value).number() + "\n";
    } else if constexpr (requires { M::repeats; }) {
      at.seq += "        valid:\n          expr: '_ == " + described<S>()[M::repeats].number() + "'\n";
    }
    if (turned_sign) {
      const word bits(name + "_bits"), sign(std::uint64_t{1} << (M::bits - 1));
      at.instances += "      " + name + ":\n        value: '" + ((bits ^ sign) - sign).number() + "'\n" + when;
    }
  }
  template <class M>
  [[nodiscard]] static std::string contents() {
    std::string text = "contents: [";
    if constexpr (requires { M::value; }) {
      for (const std::byte one : M::value) text += std::to_string(std::to_integer<unsigned>(one)) + ", ";
      text.resize(text.size() - 2);
    }
    return text + "]";
  }
  template <class M, class S>
  void add_enumeration(parts<S>& at) {
    const auto values = enumerators_of<typename M::value_type>(M::bits);
    if (values.empty()) return;
    const std::string name = at.type + "_" + identifier(M::name());
    at.seq += "        enum: " + name + "\n";
    enums_ += "  " + name + ":\n";
    for (const auto& [value, text] : values) enums_ += "    " + std::to_string(value) + ": " + text + "\n";
  }

  template <schema S, order O, class M>
  void add_varying(parts<S>& at, std::size_t index, const std::string& when) {
    const std::string head = M::is_padding ? "      - " : "      - id: " + identifier(M::name()) + "\n        ";
    const auto rest = [&] {
      const std::size_t behind = bytes_behind<S>(index);
      return behind == 0 ? std::string("size-eos: true") : "size: _io.size - _io.pos - " + std::to_string(behind);
    };
    if constexpr (requires { M::form; }) {
      uses_varint_ = true;
      at.seq += head + "type: seven_bit_number\n" + when;
    } else if constexpr (requires { M::alignment; }) {
      const std::string n = std::to_string(M::alignment);
      if constexpr (backsight::detail::states_extent<S>) {
        at.seq += head + "size: '(" + n + " - _io.pos % " + n + ") % " + n + "'\n" + when;
      } else {
        // The place of the record is asked for before its first byte is read.
        if (at.instances.find("      record_start:\n") == std::string::npos) {
          add_start(at.instances);
          at.seq = "      - size: 0\n        if: record_start >= 0\n" + at.seq;
        }
        at.seq += head + "size: '(" + n + " - (_io.pos - record_start) % " + n + ") % " + n + "'\n" + when;
      }
    } else if constexpr (requires { M::is_text; }) {
      at.seq += head + "terminator: 0\n" + when;
    } else if constexpr (M::takes_rest) {
      at.seq += head + rest() + "\n" + type_of_part<S, O, M>() + when;
    } else {
      const std::string count = word(term_of<M::count>(described<S>())).number();
      if constexpr (requires { typename M::element; }) {
        const std::string type = add_record<typename M::element, O>(at.type + "_" + identifier(M::name()));
        at.seq += head + "type: " + type + "\n        repeat: expr\n        repeat-expr: '" + count + "'\n" + when;
      } else if constexpr (std::is_same_v<typename M::value_type, byte_view>) {
        at.seq += head + "size: '" + count + "'\n" + type_of_part<S, O, M>() + when;
      } else {
        using value = typename M::value_type;
        const std::string type = std::is_floating_point_v<value>
                                     ? "f" + std::to_string(sizeof(value)) + (O == order::little ? "le" : "be")
                                     : integer(sizeof(value), std::is_signed_v<value>, O);
        at.seq += head + "type: " + type + "\n        repeat: expr\n        repeat-expr: '" + count + "'\n" + when;
      }
    }
  }
  template <schema S, order O, class M>
  [[nodiscard]] std::string type_of_part() {
    if constexpr (requires { M::is_part; }) {
      using range = decltype(std::declval<record<S, O>>()[M{}]);
      return "        type: " + add_stream<typename range::format_type>(identifier(M::name())) + "\n";
    } else {
      return "";
    }
  }

  type_names names_;
  std::string types_, enums_;
  bool uses_varint_ = false;
};

}  // namespace detail

/// The records of format F as a Kaitai Struct declaration, the text of `id`.ksy. Counts, sizes and conditions that are
/// functions of a record are said in its expressions, as far as they are made of + - * / % & | ^ << >> comparisons &&
/// || and !. What only a hook knows is an error of the compiler: kinds told by several bytes without told_by, a
/// context, the size of a payload. Left out: what may follow what, the hook check, and whether a checksum is right.
template <record_format F>
[[nodiscard]] std::string kaitai(const std::string& id) {
  detail::kaitai_writer writer;
  const std::string top = writer.add_stream<F>(detail::identifier(id.c_str()));
  return writer.file(id, F::byte_order, top);
}

/// One record of S as a Kaitai Struct declaration.
template <schema S, order O>
[[nodiscard]] std::string kaitai(const std::string& id) {
  detail::kaitai_writer writer;
  const std::string top = writer.add_record<S, O>(detail::identifier(id.c_str()) + "_record");
  return writer.file(id, O, top);
}

}  // namespace backsight::emit
