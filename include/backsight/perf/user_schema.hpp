// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <backsight/perf/record_head.hpp>

/// Records that perf itself writes. Source: tools/lib/perf/include/perf/event.h, enum perf_user_event_type.
namespace backsight::perf {

/// An attribute, of the size that it states, and ids to the end of the record: the payload.
struct header_attr_record : record_head {
  static constexpr const char* name = "header_attr";
  static constexpr bool has_payload = true;
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size)};
};
static_assert(schema<header_attr_record>);

/// The name of an event in files of old recorders.
struct event_type_record : record_head {
  static constexpr const char* name = "event_type";
  static constexpr bool has_payload = true;
  static constexpr field<"event_id", std::uint64_t> event_id{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(event_id)};
};
static_assert(schema<event_type_record>);

/// The formats of tracepoints: `data_size` bytes, rounded up to 8, that stand behind the record. They are the end of
/// the payload.
struct tracing_data_record : record_head {
  static constexpr const char* name = "tracing_data";
  static constexpr bool has_payload = true;
  static constexpr field<"data_size", std::uint32_t> data_size{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(data_size)};
};
static_assert(schema<tracing_data_record>);

/// The build id of a file, of `id_size` bytes when `misc` has misc::build_id_size, else 20; the payload is the name.
struct build_id_record : record_head {
  static constexpr const char* name = "build_id";
  static constexpr bool has_payload = true;
  static constexpr field<"pid", std::int32_t> pid{};
  static constexpr field<"build_id", std::array<std::byte, 20>> build_id{};
  static constexpr field<"id_size", std::uint8_t> id_size{};
  static constexpr layout fields{at<0>(type),      at<4>(misc),     at<6>(size),  at<8>(pid),
                                 at<12>(build_id), at<32>(id_size), padding<24>{}};
};
static_assert(schema<build_id_record>);

/// The recorder has read each cpu's buffer once.
struct finished_round_record : record_head {
  static constexpr const char* name = "finished_round";
  static constexpr bool has_payload = true;
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size)};
};
static_assert(schema<finished_round_record>);

/// The payload is `nr` times id, index, cpu and tid, each 8 bytes; and for guests `nr` times process of the machine and
/// its cpu.
struct id_index_record : record_head {
  static constexpr const char* name = "id_index";
  static constexpr bool has_payload = true;
  static constexpr field<"nr", std::uint64_t> nr{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(nr)};
};
static_assert(schema<id_index_record>);

/// What the AUX data is; the payload is private to that type.
struct auxtrace_info_record : record_head {
  static constexpr const char* name = "auxtrace_info";
  static constexpr bool has_payload = true;
  static constexpr field<"auxtrace_type", std::uint32_t> auxtrace_type{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(auxtrace_type), padding<32>{}};
};
static_assert(schema<auxtrace_info_record>);

/// AUX data: `data_size` bytes behind the record. They are the end of the payload.
struct auxtrace_record : record_head {
  static constexpr const char* name = "auxtrace";
  static constexpr bool has_payload = true;
  static constexpr field<"data_size", std::uint64_t> data_size{};
  static constexpr field<"offset", std::uint64_t> offset{};
  static constexpr field<"reference", std::uint64_t> reference{};
  static constexpr field<"idx", std::uint32_t> idx{};
  static constexpr field<"tid", std::uint32_t> tid{};
  static constexpr field<"cpu", std::uint32_t> cpu{};
  static constexpr layout fields{at<0>(type),       at<4>(misc), at<6>(size), at<8>(data_size), at<16>(offset),
                                 at<24>(reference), at<32>(idx), at<36>(tid), at<40>(cpu),      padding<32>{}};
};
static_assert(schema<auxtrace_record>);

/// AUX data that could not be decoded; the payload is the message, and from `fmt` 2 on the guest.
struct auxtrace_error_record : record_head {
  static constexpr const char* name = "auxtrace_error";
  static constexpr bool has_payload = true;
  static constexpr field<"error_type", std::uint32_t> error_type{};
  static constexpr field<"code", std::uint32_t> code{};
  static constexpr field<"cpu", std::uint32_t> cpu{};
  static constexpr field<"pid", std::uint32_t> pid{};
  static constexpr field<"tid", std::uint32_t> tid{};
  static constexpr field<"fmt", std::uint32_t> fmt{};
  static constexpr field<"ip", std::uint64_t> ip{};
  static constexpr field<"time", std::uint64_t> time{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(error_type), at<12>(code), at<16>(cpu),
                                 at<20>(pid), at<24>(tid), at<28>(fmt), at<32>(ip),        at<40>(time)};
};
static_assert(schema<auxtrace_error_record>);

/// The threads that were recorded; the payload is `nr` times thread id (8 bytes) and name (16 bytes).
struct thread_map_record : record_head {
  static constexpr const char* name = "thread_map";
  static constexpr bool has_payload = true;
  static constexpr field<"nr", std::uint64_t> nr{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(nr)};
};
static_assert(schema<thread_map_record>);

/// The cpus that were recorded: 0, a list; 1, a mask; 2, a range. The payload is it.
struct cpu_map_record : record_head {
  static constexpr const char* name = "cpu_map";
  static constexpr bool has_payload = true;
  static constexpr field<"kind", std::uint16_t> kind{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(kind)};
};
static_assert(schema<cpu_map_record>);

/// How `perf stat` was called; the payload is `nr` pairs of tag and value.
struct stat_config_record : record_head {
  static constexpr const char* name = "stat_config";
  static constexpr bool has_payload = true;
  static constexpr field<"nr", std::uint64_t> nr{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(nr)};
};
static_assert(schema<stat_config_record>);

/// A value of `perf stat`.
struct stat_record : record_head {
  static constexpr const char* name = "stat";
  static constexpr bool has_payload = true;
  static constexpr field<"id", std::uint64_t> id{};
  static constexpr field<"cpu", std::uint32_t> cpu{};
  static constexpr field<"thread", std::uint32_t> thread{};
  static constexpr field<"value", std::uint64_t> value{};
  static constexpr field<"enabled", std::uint64_t> enabled{};
  static constexpr field<"running", std::uint64_t> running{};
  static constexpr layout fields{at<0>(type),    at<4>(misc),   at<6>(size),     at<8>(id),      at<16>(cpu),
                                 at<20>(thread), at<24>(value), at<32>(enabled), at<40>(running)};
};
static_assert(schema<stat_record>);

/// `perf stat` has written all values of a moment.
struct stat_round_record : record_head {
  static constexpr const char* name = "stat_round";
  static constexpr bool has_payload = true;
  static constexpr field<"round_type", std::uint64_t> round_type{};
  static constexpr field<"time", std::uint64_t> time{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(round_type), at<16>(time)};
};
static_assert(schema<stat_round_record>);

/// More about an event: the payload is its unit (0), scale (1), name (2) or cpus (3).
struct event_update_record : record_head {
  static constexpr const char* name = "event_update";
  static constexpr bool has_payload = true;
  static constexpr field<"update_type", std::uint64_t> update_type{};
  static constexpr field<"id", std::uint64_t> id{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(update_type), at<16>(id)};
};
static_assert(schema<event_update_record>);

/// How ticks of the processor become times; the payload, where it is there, is cycles, mask and two flags.
struct time_conv_record : record_head {
  static constexpr const char* name = "time_conv";
  static constexpr bool has_payload = true;
  static constexpr field<"time_shift", std::uint64_t> time_shift{};
  static constexpr field<"time_mult", std::uint64_t> time_mult{};
  static constexpr field<"time_zero", std::uint64_t> time_zero{};
  static constexpr layout fields{at<0>(type),       at<4>(misc),       at<6>(size),
                                 at<8>(time_shift), at<16>(time_mult), at<24>(time_zero)};
};
static_assert(schema<time_conv_record>);

/// A feature of the header, in pipe mode; the payload is as the section in a file.
struct header_feature_record : record_head {
  static constexpr const char* name = "header_feature";
  static constexpr bool has_payload = true;
  static constexpr field<"feature", std::uint64_t> feature{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(feature)};
};
static_assert(schema<header_feature_record>);

/// The payload is a piece of a Zstandard stream of records, which goes on in the next of its kind.
struct compressed_record : record_head {
  static constexpr const char* name = "compressed";
  static constexpr bool has_payload = true;
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size)};
};
static_assert(schema<compressed_record>);

/// The records before it describe what was there before the recording.
struct finished_init_record : record_head {
  static constexpr const char* name = "finished_init";
  static constexpr bool has_payload = true;
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size)};
};
static_assert(schema<finished_init_record>);

/// The same, of `data_size` bytes and padding. A record that states more data than its own size is as long as the data.
struct compressed2_record : record_head {
  static constexpr const char* name = "compressed2";
  static constexpr bool has_payload = true;
  static constexpr field<"data_size", std::uint64_t> data_size{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(data_size)};
};
static_assert(schema<compressed2_record>);

/// A record of another type. The payload is unknown.
struct other_record : record_head {
  static constexpr const char* name = "other";
  static constexpr bool has_payload = true;
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size)};
};
static_assert(schema<other_record>);

}  // namespace backsight::perf
