// SPDX-License-Identifier: Apache-2.0
// Each record of each version in both byte orders: bytes in, values out, and back.
#include <algorithm>
#include <array>
#include <cstring>

#include <backsight/core/record.hpp>
#include <backsight/xray/schema.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::xray;
using test::bytes;

namespace {

/// Decoding and encoding gives the bytes again, in the same and through the other byte order.
template <order O, schema S, std::size_t N>
constexpr bool round_trips(const std::array<std::byte, N>& from) {
  static_assert(N == size_of<S>);
  std::array<std::byte, N> same{}, other{}, back{};
  constexpr order swapped = O == order::little ? order::big : order::little;
  encode<O>(record<S, O>(from.data()), same.data());
  encode<swapped>(record<S, O>(from.data()), other.data());
  encode<O>(record<S, swapped>(other.data()), back.data());
  return same == from && back == from;
}

constexpr auto header_le = bytes<5, 0, 1, 0, 3, 0, 0, 0, 0x00, 0x5e, 0xd0, 0xb2, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0,
                                 1, 2, 3, 4, 5, 6, 7, 8>;
constexpr auto header_be = bytes<0, 5, 0, 1, 0x80, 0, 0, 0, 0, 0, 0, 0, 0xb2, 0xd0, 0x5e, 0, 0, 0, 0, 0, 0, 0, 0x10, 0,
                                 1, 2, 3, 4, 5, 6, 7, 8>;

constexpr bool check_header() {
  const record<file_header, order::little> le(header_le.data());
  const record<file_header, order::big> be(header_be.data());
  return le[file_header::version] == 5 && le[file_header::type] == log_type::fdr && le[file_header::constant_tsc] &&
         le[file_header::nonstop_tsc] && le[file_header::cycle_frequency] == 3000000000 &&
         le[file_header::buffer_size] == 4096 && be[file_header::version] == 5 &&
         be[file_header::type] == log_type::fdr && be[file_header::constant_tsc] && !be[file_header::nonstop_tsc] &&
         be[file_header::cycle_frequency] == 3000000000 && be[file_header::buffer_size] == 4096 &&
         round_trips<order::little, file_header>(header_le) && round_trips<order::big, file_header>(header_be);
}

// Tail exit of function 0x0abcdef with a delta that would be negative if it were signed.
constexpr auto function_le = bytes<0xf4, 0xde, 0xbc, 0x0a, 0xff, 0xff, 0xff, 0xff>;
constexpr auto function_be = bytes<0x20, 0xab, 0xcd, 0xef, 0xff, 0xff, 0xff, 0xff>;

template <order O, std::size_t N>
constexpr bool is_that_function(const std::array<std::byte, N>& data) {
  const record<function_record, O> item(data.data());
  return !item[function_record::discriminant] && item[function_record::action] == function_action::tail_exit &&
         item[function_record::function_id] == 0xabcdef && item[function_record::tsc_delta] == 0xffffffff &&
         round_trips<O, function_record>(data);
}
constexpr bool check_function() {
  return is_that_function<order::little>(function_le) && is_that_function<order::big>(function_be);
}
static_assert(check_header() && check_function());

/// A metadata record of that kind whose bytes behind the first are 1, 2, ... 15.
template <order O>
constexpr std::array<std::byte, 16> counted(unsigned kind) {
  std::array<std::byte, 16> data{};
  data[0] = static_cast<std::byte>(O == order::little ? kind << 1 | 1U : kind | 0x80U);
  for (unsigned i = 1; i < 16; ++i) data[i] = static_cast<std::byte>(i);
  return data;
}
/// The number that `size` bytes from `at` of such a record mean.
template <order O>
constexpr std::uint64_t expected(unsigned at, unsigned size) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < size; ++i) value = value << 8 | (O == order::little ? at + size - 1 - i : at + i);
  return value;
}

template <order O, schema S>
constexpr bool head_is(metadata_kind kind) {
  const auto data = counted<O>(static_cast<unsigned>(kind));
  const record<S, O> item(data.data());
  return item[S::discriminant] && item[S::record_kind] == kind && round_trips<O, S>(data);
}
template <order O, schema S, class F>
constexpr bool member_is(metadata_kind kind, F member, unsigned at, unsigned size) {
  const auto data = counted<O>(static_cast<unsigned>(kind));
  return static_cast<std::uint64_t>(record<S, O>(data.data())[member]) == expected<O>(at, size) && head_is<O, S>(kind);
}

/// Every metadata record and member, with the offsets and widths of the format's description.
template <order O>
constexpr bool check_metadata() {
  using k = metadata_kind;
  return member_is<O, new_buffer_record>(k::new_buffer, new_buffer_record::thread_id, 1, 4) &&
         head_is<O, end_of_buffer_record>(k::end_of_buffer) &&
         member_is<O, new_cpu_id_record>(k::new_cpu_id, new_cpu_id_record::cpu_id, 1, 2) &&
         member_is<O, new_cpu_id_record>(k::new_cpu_id, new_cpu_id_record::absolute_tsc, 3, 8) &&
         member_is<O, tsc_wrap_record>(k::tsc_wrap, tsc_wrap_record::absolute_tsc, 1, 8) &&
         member_is<O, wall_clock_time_record>(k::wall_clock_time, wall_clock_time_record::seconds, 1, 8) &&
         member_is<O, wall_clock_time_record>(k::wall_clock_time, wall_clock_time_record::microseconds, 9, 4) &&
         member_is<O, custom_event_record_v1>(k::custom_event, custom_event_record_v1::event_size, 1, 4) &&
         member_is<O, custom_event_record_v1>(k::custom_event, custom_event_record_v1::absolute_tsc, 5, 8) &&
         member_is<O, custom_event_record_v4>(k::custom_event, custom_event_record_v4::event_size, 1, 4) &&
         member_is<O, custom_event_record_v4>(k::custom_event, custom_event_record_v4::absolute_tsc, 5, 8) &&
         member_is<O, custom_event_record_v4>(k::custom_event, custom_event_record_v4::cpu_id, 13, 2) &&
         member_is<O, custom_event_record_v5>(k::custom_event, custom_event_record_v5::event_size, 1, 4) &&
         member_is<O, custom_event_record_v5>(k::custom_event, custom_event_record_v5::tsc_delta, 5, 4) &&
         member_is<O, call_argument_record>(k::call_argument, call_argument_record::argument, 1, 8) &&
         member_is<O, buffer_extents_record>(k::buffer_extents, buffer_extents_record::extents, 1, 8) &&
         member_is<O, typed_event_record_v2>(k::typed_event, typed_event_record_v2::event_size, 1, 4) &&
         member_is<O, typed_event_record_v2>(k::typed_event, typed_event_record_v2::absolute_tsc, 5, 8) &&
         member_is<O, typed_event_record_v2>(k::typed_event, typed_event_record_v2::event_type, 13, 2) &&
         member_is<O, typed_event_record_v5>(k::typed_event, typed_event_record_v5::event_size, 1, 4) &&
         member_is<O, typed_event_record_v5>(k::typed_event, typed_event_record_v5::tsc_delta, 5, 4) &&
         member_is<O, typed_event_record_v5>(k::typed_event, typed_event_record_v5::event_type, 9, 2) &&
         member_is<O, pid_record>(k::pid, pid_record::pid, 1, 4);
}
static_assert(check_metadata<order::little>() && check_metadata<order::big>());

constexpr auto basic_le = bytes<0, 0, 7, 3, 0xfd, 0xff, 0xff, 0x7f, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 10, 0, 0, 0,
                                0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa>;
constexpr auto argument_be = bytes<0, 1, 0xaa, 0xaa, 0x80, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 10, 1, 2, 3, 4, 5, 6, 7, 8,
                                   0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa>;

constexpr bool check_basic() {
  const record<basic_function_record, order::little> item(basic_le.data());
  const record<basic_argument_record, order::big> argument(argument_be.data());
  using f = basic_function_record;
  using a = basic_argument_record;
  return item[f::record_type] == 0 && item[f::cpu] == 7 && item[f::action] == function_action::enter_args &&
         item[f::function_id] == 0x7ffffffd && item[f::tsc] == 0x0807060504030201 && item[f::thread_id] == 9 &&
         item[f::process_id] == 10 && round_trips<order::little, f>(basic_le) && argument[a::record_type] == 1 &&
         argument[a::function_id] == std::int32_t{-0x7fffffff - 1} && argument[a::thread_id] == 9 &&
         argument[a::process_id] == 10 && argument[a::argument] == 0x0102030405060708 &&
         round_trips<order::big, a>(argument_be);
}
static_assert(check_basic());

}  // namespace

TEST_CASE("the file header is read in both byte orders") { CHECK(check_header()); }
TEST_CASE("a function record is read in both byte orders") { CHECK(check_function()); }
TEST_CASE("each metadata record has its members where the format says") {
  CHECK(check_metadata<order::little>());
  CHECK(check_metadata<order::big>());
}
TEST_CASE("basic mode records are read in both byte orders") { CHECK(check_basic()); }

TEST_CASE("signed members keep their sign") {
  auto data = counted<order::little>(0);
  std::fill(data.begin() + 1, data.end(), std::byte{0xff});
  CHECK(record<new_buffer_record, order::little>(data.data())[new_buffer_record::thread_id] == -1);
  CHECK(record<pid_record, order::big>(data.data())[pid_record::pid] == -1);
  CHECK(record<custom_event_record_v5, order::little>(data.data())[custom_event_record_v5::tsc_delta] == -1);
  CHECK(record<custom_event_record_v5, order::little>(data.data())[custom_event_record_v5::event_size] == -1);
}

TEST_CASE("every record kind, action and log type has a name, and no other number has one") {
  for (unsigned i = 0; i < 128; ++i) CHECK((enumerator_name(static_cast<metadata_kind>(i)) != nullptr) == (i < 10));
  for (unsigned i = 0; i < 8; ++i) CHECK((enumerator_name(static_cast<function_action>(i)) != nullptr) == (i < 4));
  CHECK(std::strcmp(enumerator_name(log_type::basic), "basic") == 0);
  CHECK(std::strcmp(enumerator_name(log_type::fdr), "fdr") == 0);
  CHECK(enumerator_name(static_cast<log_type>(2)) == nullptr);
  CHECK(std::strcmp(enumerator_name(metadata_kind::pid), "pid") == 0);
}
