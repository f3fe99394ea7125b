// SPDX-License-Identifier: Apache-2.0
// Stands for emit/declaration.hpp, emit/imhex.hpp, emit/kaitai.hpp
// Formats as declarations of other tools, and the values that we read, for kaitai_test.py:   declared
// kaitai|imhex|values|sample FORMAT [FILE]
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <backsight/core/builder.hpp>
#include <backsight/core/table.hpp>
#include <backsight/emit/imhex.hpp>
#include <backsight/emit/kaitai.hpp>
#include <backsight/uftrace/schema.hpp>
#include <backsight/xray/schema.hpp>

#include "../../examples/formats/pcapng.hpp"
#include "../../examples/formats/protobuf.hpp"
#include "../core/varying_format.hpp"

using namespace backsight;

namespace {

/// Functions of a uftrace task, told by the words of their head.
template <order O>
struct entry_record : uftrace::function_record<O> {
  static constexpr const char* name = "entry";
  static constexpr auto told_by = is(uftrace::record_head::type, uftrace::record_type::entry);
};
template <order O>
struct other_record : uftrace::function_record<O> {};
template <order O>
using task_format = tagged_format<O, entry_record<O>, other_record<O>>;

/// What the formats of real files have not: signed bits, conditions, arrays, numbers of every form.
struct odd {
  static constexpr const char* name = "odd";
  static constexpr field<"kind", std::uint8_t, 3> kind{};
  static constexpr field<"delta", std::int8_t, 5> delta{};
  static constexpr field<"flag", bool> flag{};
  static constexpr field<"mode", xray::function_action, 2> mode{};
  static constexpr field<"rest", std::uint16_t, 13> rest{};
  static constexpr must_be<"mark", std::uint8_t, 0x5a> mark{};
  static constexpr field_in<order::big, "port", std::uint16_t> port{};
  static constexpr field<"wide", std::int32_t, 24> wide{};
  static constexpr field<"tag", std::array<std::byte, 2>> tag{};
  static constexpr sleb<"balance"> number{};
  static constexpr zigzag<"zig"> zig{};
  static constexpr uleb<"count"> count{};
  static constexpr counted<"values", std::int16_t, [](const auto& r) { return r[count] * 2 - (r[kind] == 2); }>
      values{};
  static constexpr c_string<"text"> text{};
  static constexpr field<"extra", std::uint32_t> extra{};
  static constexpr counted_records<"pairs", varied::pair, count> pairs{};
  static constexpr field<"ratio", float> ratio{};
  static constexpr layout fields{word<8>(kind, delta),
                                 word_msb<16>(flag, mode, rest),
                                 mark,
                                 port,
                                 wide,
                                 tag,
                                 number,
                                 zig,
                                 count,
                                 values,
                                 text,
                                 when<is(flag, true)>(extra),
                                 align<4>{},
                                 pairs,
                                 when<[](const auto& r) { return (r[kind] > 3) && !r[flag]; }>(ratio)};
};
template <order O>
using odd_format = tagged_format<O, odd>;

template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_same_v<T, byte_view> || detail::byte_array_size<T> != 0) {
    std::string text = "x";
    text::hex_bytes(std::back_inserter(text), value);
    return text;
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<std::uint64_t>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    char text[64];
    std::snprintf(text, sizeof text, "%.6g", static_cast<double>(value));
    return text;
  } else if constexpr (requires { value.begin(); }) {
    std::string text = "[";
    for (const auto one : value) {
      if constexpr (requires { one.kind(); }) {
        text += std::to_string(one.kind()) + "{";
        visit(one, [&](const auto& typed) { text += text_of(typed); });
        text += "}";
      } else {
        text += text_of(one);
      }
      text += ";";
    }
    return text + "]";
  } else if constexpr (requires { typename T::schema_type; }) {
    std::string text;
    for_each_member<typename T::schema_type>([&]<class M>(M, auto index) {
      if constexpr (!M::is_padding) {
        if (detail::has_member<index>(value))
          text += std::string(M::name()) + "=" + text_of(value.template member_at<index>()) + " ";
      }
    });
    if constexpr (has_payload<typename T::schema_type>) text += "payload=" + text_of(value.payload()) + " ";
    return text;
  } else {
    return std::to_string(value);
  }
}

/// Three records of odd, as bytes.
template <order O>
int write_odd() {
  std::vector<std::byte> out;
  for (unsigned i = 0; i < 3; ++i) {
    const unsigned count = i == 2 ? 130 : 2 + i;
    const unsigned kind = i == 0 ? 2 : 3 + i;
    const std::vector<std::int16_t> values(count * 2 - (kind == 2 ? 1 : 0),
                                           static_cast<std::int16_t>(-300 * static_cast<int>(i) - 1));
    const std::vector<std::byte> pairs(count * size_of<varied::pair>, static_cast<std::byte>(0x80 + i));
    record_builder<odd, O> built;
    built.set(odd::kind, static_cast<std::uint8_t>(kind)).set(odd::delta, static_cast<std::int8_t>(i == 0 ? -16 : 7));
    built.set(odd::flag, i == 1)
        .set(odd::mode, xray::function_action{static_cast<std::uint8_t>(i)})
        .set(odd::rest, std::uint16_t{0x1abc});
    built.set(odd::port, std::uint16_t{8080})
        .set(odd::wide, i == 0 ? -70000 : 70000)
        .set(odd::tag, {std::byte{1}, std::byte{0xfe}});
    built.set(odd::number, i == 0   ? std::int64_t{-5}
                           : i == 1 ? INT64_MIN
                                    : INT64_MAX)
        .set(odd::zig, i == 0 ? -1 : INT64_MIN + i);
    built.set(odd::values, std::span<const std::int16_t>(values)).set(odd::text, std::as_bytes(std::span("odd", i)));
    built.set(odd::extra, 7U).set(odd::pairs, pairs).set(odd::count, count).set(odd::ratio, 1.5F);
    if (built.append_to(out) != errc::ok) return 1;
  }
  return std::fwrite(out.data(), 1, out.size(), stdout) != out.size();
}

template <record_format F>
int run(const std::string& what, const std::string& name, const char* file) {
  if (what == "kaitai") return std::fputs(emit::kaitai<F>(name).c_str(), stdout) < 0;
  if (what == "imhex") return std::fputs(emit::imhex<F>().c_str(), stdout) < 0;
  std::ifstream in(file, std::ios::binary);
  const std::string data((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const record_range<F> range(std::as_bytes(std::span(data)));
  const trace_error error = for_each(range, [](const auto& item) {
    visit(item, [&](const auto& typed) { std::printf("%u{%s}\n", item.kind(), text_of(typed).c_str()); });
  });
  if (error)
    std::fprintf(stderr, "%s:%llu: %s\n", file, static_cast<unsigned long long>(error.offset), message(error.code));
  return error ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string what = argv[1], format = argv[2];
  const char* const file = argc > 3 ? argv[3] : "";
  if (what == "sample") return format == "odd_little" ? write_odd<order::little>() : write_odd<order::big>();
  if (format == "pcapng_little") return run<pcapng::file::format<order::little>>(what, format, file);
  if (format == "pcapng_big") return run<pcapng::file::format<order::big>>(what, format, file);
  if (format == "protobuf") return run<protobuf::format>(what, format, file);
  if (format == "uftrace_little") return run<task_format<order::little>>(what, format, file);
  if (format == "uftrace_big") return run<task_format<order::big>>(what, format, file);
  if (format == "odd_little") return run<odd_format<order::little>>(what, format, file);
  if (format == "odd_big") return run<odd_format<order::big>>(what, format, file);
  return 2;
}
