// SPDX-License-Identifier: Apache-2.0
// Short recipes for schemas, each a format of its own over bytes that are written out here:   cookbook
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <backsight/core/builder.hpp>
#include <backsight/core/context_view.hpp>
#include <backsight/core/hex_dump.hpp>
#include <backsight/core/layout_set.hpp>
#include <backsight/core/mutable_span.hpp>
#include <backsight/core/record_span.hpp>
#include <backsight/core/schemas.hpp>
#include <backsight/core/split.hpp>
#include <backsight/core/table.hpp>
#include <backsight/emit/kaitai.hpp>

using namespace backsight;

namespace {

template <unsigned char... Bytes>
constexpr std::array<std::byte, sizeof...(Bytes)> bytes{std::byte{Bytes}...};

void show(const std::string& text) { std::fputs(text.c_str(), stdout); }

}  // namespace

// [shared]
/// What all messages begin with is written once, and added to what each has of its own.
struct message_head {
  static constexpr field<"kind", std::uint8_t> kind{};
  static constexpr field<"size", std::uint8_t> size{};  // of the whole message
  static constexpr layout head{kind, size};
  using extent = sized_by<size>;
};
// [shared]

// [tlv]
/// A tag, a length and a value.
struct attribute {
  static constexpr const char* name = "attribute";
  static constexpr field<"tag", std::uint8_t> tag{};
  static constexpr field<"length", std::uint8_t> length{};
  static constexpr counted_bytes<"value", length> value{};
  static constexpr layout fields{tag, length, value};
};
template <order O>
using attributes = tagged_format<O, attribute>;

/// Attributes take what the members around them leave of the message.
struct described : message_head {
  static constexpr const char* name = "described";
  static constexpr auto told_by = is(kind, 1);
  static constexpr part<"attributes", attributes> list{};
  static constexpr same_as<"size_again", std::uint8_t, size> size_again{};
  static constexpr layout fields = head + layout{list, size_again};
};
// [tlv]

// [varying]
/// Numbers of seven bits a byte, a text, and as many numbers as an earlier member says.
struct measured : message_head {
  static constexpr const char* name = "measured";
  static constexpr auto told_by = is(kind, 2);
  static constexpr uleb<"id"> id{};
  static constexpr c_string<"unit"> unit{};
  static constexpr field<"count", std::uint8_t> count{};
  static constexpr counted<"values", std::int16_t, count> values{};
  static constexpr layout fields = head + layout{id, unit, count, values};
};
// [varying]

// [depends]
/// Members that are there where another one says so: a union told by a tag.
struct addressed : message_head {
  static constexpr const char* name = "addressed";
  static constexpr auto told_by = is(kind, 3);
  static constexpr field<"family", std::uint8_t> family{};
  static constexpr field_in<order::big, "port", std::uint16_t> port{};
  static constexpr field<"ipv4", std::array<std::byte, 4>> ipv4{};
  static constexpr field<"ipv6", std::array<std::byte, 16>> ipv6{};
  static constexpr layout fields = head + layout{family, port, when<is(family, 4)>(ipv4), when<is(family, 6)>(ipv6)};
};
// [depends]

// [file]
/// A header with a magic number that tells the byte order; then messages.
struct message_header {
  static constexpr must_be<"magic", std::uint16_t, 0xb516> magic{};
  static constexpr must_be<"version", std::uint16_t, 1> version{};
  static constexpr layout fields{magic, version};
};
struct message_file {
  template <order O>
  using format = tagged_format<O, described, measured, addressed>;
  using magic = magic_at<0, std::uint16_t, 0xb516>;
  using header = message_header;
};
static_assert(file_format<message_file>);
// [file]

// [context]
/// The width of a value is what the last `width` record said: state in the context.
struct width_state {
  std::uint8_t width = 1;
};
struct width_record {
  static constexpr const char* name = "width";
  static constexpr must_be<"kind", std::uint8_t, 0> kind{};
  static constexpr auto told_by = is(kind, 0);
  static constexpr field<"width", std::uint8_t> width{};
  static constexpr layout fields{kind, width};
};
struct value_record {
  static constexpr const char* name = "value";
  static constexpr bool has_payload = true;
  static constexpr field<"kind", std::uint8_t> kind{};
  static constexpr layout fields{kind};
};
struct width_format : tagged_format<order::little, width_record, value_record> {
  using context = width_state;
  static constexpr void advance(context& in, const record<width_record, byte_order>& item) noexcept {
    in.width = item[width_record::width];
  }
  static constexpr payload_result payload_size(const record<value_record, byte_order>&, const context& in) noexcept {
    return std::size_t{in.width};
  }
};
// [context]

// [common]
/// Ticks make up most of the stream; runs of them have no checks left.
struct tick {
  static constexpr const char* name = "tick";
  static constexpr field<"is_mark", bool> is_mark{};
  static constexpr field<"value", std::uint8_t, 7> value{};
  static constexpr auto told_by = is(is_mark, false);
  static constexpr layout fields{word<8>(is_mark, value)};
};
struct mark {
  static constexpr const char* name = "mark";
  static constexpr field<"is_mark", bool> is_mark{};
  static constexpr field<"number", std::uint8_t, 7> number{};
  static constexpr layout fields{word<8>(is_mark, number)};
};
struct tick_format : tagged_format<order::little, tick, mark> {
  static constexpr auto common = common_when<tick, order::little, std::uint8_t>(is(tick::is_mark, false));
};
// [common]

// [checked]
/// The writer packs this word by shifts, so that `kind` has its lowest bits in either byte order; a CRC follows the
/// data that it covers.
struct sealed {
  static constexpr const char* name = "sealed";
  static constexpr field<"kind", std::uint16_t, 4> kind{};
  static constexpr field<"length", std::uint16_t, 12> length{};
  static constexpr counted_bytes<"data", length> data{};
  static constexpr checksum_over<"crc", std::uint32_t, crc32, kind, data> crc{};
  static constexpr layout fields{word_lsb<16>(kind, length), data, crc};
};
// [checked]

// [set]
/// A header says by bits which members all records have.
struct reading {
  static constexpr field<"time", std::uint32_t> time{};
  static constexpr field<"cpu", std::uint16_t> cpu{};
  static constexpr field<"value", std::int16_t> value{};
};
inline constexpr layout_set readings{select<1>(reading::time), select<2>(reading::cpu), select<4>(reading::value)};
// [set]

// [words]
// The words of declarations by a name of their own; nothing else of the library is in it.
namespace own {
namespace s = backsight::schemas;
struct message {
  static constexpr s::field<"id", std::uint16_t> id{};
  static constexpr s::field<"at", std::uint16_t> at{};
  static constexpr s::layout fields{id, s::at<2>(at)};
};
using messages = s::tagged_format<s::order::little, message>;
}  // namespace own
// [words]

int main() {
  // [write]
  // Counts, sizes, constants and repeated members follow from what is set.
  std::vector<std::byte> list, file;
  const std::int16_t values[] = {-1, 300};
  errc code = record_builder<attribute, order::big>{}
                  .set(attribute::tag, 7)
                  .set(attribute::value, bytes<'o', 'n', 'e'>)
                  .append_to(list);
  const auto append = [&](auto&& builder) {
    if (code == errc::ok) code = builder.append_to(file);
  };
  append(record_builder<message_header, order::big>{});
  append(record_builder<described, order::big>{}.set(message_head::kind, 1).set(described::list, list));
  append(record_builder<measured, order::big>{}
             .set(message_head::kind, 2)
             .set(measured::id, 300)
             .set(measured::unit, bytes<'m', 's'>)
             .set(measured::values, std::span<const std::int16_t>(values)));
  append(record_builder<addressed, order::big>{}
             .set(message_head::kind, 3)
             .set(addressed::family, 4)
             .set(addressed::port, 80)
             .set(addressed::ipv4, bytes<10, 0, 0, 1>));
  if (code != errc::ok) return 1;
  // [write]

  // [open]
  // Nothing but the bytes is needed: the magic number tells the byte order.
  std::string text;
  const trace_error error = for_each_in_file<message_file>(file, [&](const auto& item) {
    print(std::back_inserter(text), item);
    text += '\n';
  });
  show(text);
  if (error) return 1;
  // [open]

  // [table]
  // A whole range as one table; faults inside of parts count too.
  const auto opened = open_file<message_file>(file);
  trace_error end;
  text.clear();
  opened->visit_records([&](const auto& records) {
    csv_table(std::back_inserter(text), records, end);
    if (!end) end = validate_with_parts(records);
  });
  show(text);
  // [table]

  // [state]
  // The function is given the context as it is before the record.
  const record_range<width_format> widths(bytes<1, 'a', 0, 3, 1, 'b', 'c', 'd'>);
  for_each(widths, [](const auto& item, const width_state& before) {
    std::printf("%s, %zu bytes, width %u\n", kind_name(item), item.bytes().size(), unsigned{before.width});
  });
  // [state]

  // [runs]
  unsigned sum = 0, marks = 0;
  for_each_run(
      record_range<tick_format>(bytes<2, 4, 6, 1, 8>),
      [&](const record_span<tick, order::little>& ticks) {
        for (const auto item : ticks) sum += item[tick::value];
      },
      [&](const auto&) { ++marks; });
  std::printf("ticks %u, marks %u\n", sum, marks);
  // [runs]

  // [states]
  // As a view, with the context before or after each record.
  for (const auto& [item, after] : with_context<context_is::after_record>(widths))
    std::printf("behind %s the width is %u\n", kind_name(item), unsigned{after.width});
  // [states]

  // [seal]
  // The builder fills in the checksum; a record in which it differs is refused.
  std::vector<std::byte> sealed_bytes;
  code = record_builder<sealed, order::big>{}
             .set(sealed::kind, 1)
             .set(sealed::data, bytes<'d', 'a', 't', 'a'>)
             .append_to(sealed_bytes);
  sealed_bytes[3] ^= std::byte{1};
  const trace_error broken = record_range<tagged_format<order::big, sealed>>(sealed_bytes).validate();
  std::printf("%s at %u\n", message(broken.code), static_cast<unsigned>(broken.offset));
  // [seal]

  // [sort]
  // Records of one size are sorted where they lie; a member is a projection, of whole ranges too where a format has one
  // kind.
  std::array<std::byte, 12> stored = bytes<2, 0, 30, 0, 1, 0, 20, 0, 3, 0, 10, 0>;
  std::ranges::sort(mutable_record_span<own::message, order::little>(stored), {}, own::message::at);
  const record_range<own::messages> messages(stored);
  std::printf("first %d, greatest %d\n", (*messages.begin())[own::message::id],
              std::ranges::max(messages, {}, own::message::id)[own::message::at]);
  // [sort]

  // [parallel]
  // Parts for threads. Where all records have one size, split() does it without a walk; split_by_walk() serves every
  // format.
  std::vector<record_part<width_format>> parts;
  split_by_walk(widths, 2, std::back_inserter(parts));
  std::vector<std::size_t> counts(parts.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < parts.size(); ++i)
    threads.emplace_back([&, i] { for_each(parts[i], [&](const auto&) { ++counts[i]; }); });
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < parts.size(); ++i)
    std::printf("part from %u: %zu records\n", static_cast<unsigned>(parts[i].offset()), counts[i]);
  // [parallel]

  // [choose]
  // Compiled for 5 and 7; a loop over many records stands inside. Any other number takes the general walk.
  const auto print_reading = [](unsigned bits, byte_view data) {
    with_layout<readings, order::little, 5, 7>(bits, [&](auto item) {
      if (item.find(data)) return;
      std::printf("time %u, cpu %s, value %d\n", item[reading::time], item.has(reading::cpu) ? "there" : "not there",
                  item[reading::value]);
    });
  };
  print_reading(5, bytes<9, 0, 0, 0, 0xfe, 0xff>);
  print_reading(6, bytes<3, 0, 0xfe, 0xff>);
  // [choose]

  // [export]
  // The same declaration for Kaitai Struct; emit::imhex<F>() gives a pattern for ImHex.
  show(emit::kaitai<attributes<order::big>>("attributes"));
  // [export]
  return end ? 1 : 0;
}
