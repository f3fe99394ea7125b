// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <backsight/core/schema.hpp>

/// LLVM XRay logs: flight data recorder mode (FDR) versions 1 to 5 and basic mode versions 1 to 3.
///
/// Sources of the layouts: LLVM's "XRay Flight Data Recorder Trace Format" (version 1), and where the runtime differs
/// from it or goes further, compiler-rt/include/xray/xray_records.h, compiler-rt/lib/xray/xray_fdr_log_records.h and
/// llvm/lib/XRay/RecordInitializer.cpp.
namespace backsight::xray {

/// Which recorder wrote a log.
enum class log_type : std::uint16_t { basic = 0, fdr = 1 };

[[nodiscard]] constexpr const char* enumerator_name(log_type type) noexcept {
  switch (type) {
    case log_type::basic: return "basic";
    case log_type::fdr: return "fdr";
  }
  return nullptr;
}

/// The first 32 bytes of every log.
struct file_header {
  static constexpr const char* name = "file_header";
  static constexpr std::size_t size = 32;
  static constexpr field<"version", std::uint16_t> version{};
  static constexpr field<"type", log_type> type{};
  static constexpr field<"constant_tsc", bool> constant_tsc{};
  static constexpr field<"nonstop_tsc", bool> nonstop_tsc{};
  /// Ticks per second of the clock; 0 when unknown.
  static constexpr field<"cycle_frequency", std::uint64_t> cycle_frequency{};
  /// FDR: the size of one thread's buffer (not of the data); only version 1 needs it. Basic: without meaning.
  static constexpr field<"buffer_size", std::uint64_t> buffer_size{};
  static constexpr layout fields{
      at<0>(version),         at<2>(type),         at<4>(word<32>(constant_tsc, nonstop_tsc, padding<30>{})),
      at<8>(cycle_frequency), at<16>(buffer_size), padding<64>{}};
};
static_assert(schema<file_header>);

/// What a function record says. Values above 3 do not occur.
enum class function_action : std::uint8_t { enter = 0, exit = 1, tail_exit = 2, enter_args = 3 };

[[nodiscard]] constexpr const char* enumerator_name(function_action action) noexcept {
  switch (action) {
    case function_action::enter: return "enter";
    case function_action::exit: return "exit";
    case function_action::tail_exit: return "tail_exit";
    case function_action::enter_args: return "enter_args";
  }
  return nullptr;
}

/// FDR function record, 8 bytes, versions 1 to 5. The time is `tsc_delta` ticks after the last absolute or relative
/// time.
struct function_record {
  static constexpr const char* name = "function";
  static constexpr std::size_t size = 8;
  static constexpr field<"discriminant", bool> discriminant{};
  static constexpr field<"action", function_action, 3> action{};
  static constexpr field<"function_id", std::uint32_t, 28> function_id{};
  static constexpr field<"tsc_delta", std::uint32_t> tsc_delta{};
  static constexpr layout fields{word<32>(discriminant, action, function_id), tsc_delta};
};
static_assert(schema<function_record>);

/// What a metadata record is: the seven bits behind the discriminant.
enum class metadata_kind : std::uint8_t {
  new_buffer = 0,
  end_of_buffer = 1,
  new_cpu_id = 2,
  tsc_wrap = 3,
  wall_clock_time = 4,
  custom_event = 5,
  call_argument = 6,
  buffer_extents = 7,
  typed_event = 8,
  pid = 9,
};

[[nodiscard]] constexpr const char* enumerator_name(metadata_kind kind) noexcept {
  constexpr std::array<const char*, 10> names{
      "new_buffer",   "end_of_buffer", "new_cpu_id",     "tsc_wrap",    "wall_clock_time",
      "custom_event", "call_argument", "buffer_extents", "typed_event", "pid"};
  return static_cast<std::size_t>(kind) < names.size() ? names[static_cast<std::size_t>(kind)] : nullptr;
}

/// The members that every FDR metadata record begins with; all are 16 bytes.
struct metadata_head {
  static constexpr field<"discriminant", bool> discriminant{};
  static constexpr field<"record_kind", metadata_kind, 7> record_kind{};
  static constexpr auto head = word<8>(discriminant, record_kind);
  static constexpr std::size_t size = 16;
};
/// The first byte of any FDR record: whether it is a metadata record, and then of which kind.
struct record_head : metadata_head {
  static constexpr const char* name = "head";
  static constexpr std::size_t size = 1;
  static constexpr layout fields{head};
};
static_assert(schema<record_head>);

/// FDR: a thread begins to fill a buffer. The thread id has 4 bytes in every version that was shipped (the format page
/// says 2).
struct new_buffer_record : metadata_head {
  static constexpr const char* name = "new_buffer";
  static constexpr field<"thread_id", std::int32_t> thread_id{};
  static constexpr layout fields{head, at<1>(thread_id), padding<88>{}};
};
static_assert(schema<new_buffer_record>);

/// FDR version 1: no more records in this buffer.
struct end_of_buffer_record : metadata_head {
  static constexpr const char* name = "end_of_buffer";
  static constexpr layout fields{head, padding<120>{}};
};
static_assert(schema<end_of_buffer_record>);

/// FDR: the thread runs on another cpu from here on; sets the time.
struct new_cpu_id_record : metadata_head {
  static constexpr const char* name = "new_cpu_id";
  static constexpr field<"cpu_id", std::uint16_t> cpu_id{};
  static constexpr field<"absolute_tsc", std::uint64_t> absolute_tsc{};
  static constexpr layout fields{head, at<1>(cpu_id), at<3>(absolute_tsc), padding<40>{}};
};
static_assert(schema<new_cpu_id_record>);

/// FDR: sets the time, where a delta would not fit or the clock went back.
struct tsc_wrap_record : metadata_head {
  static constexpr const char* name = "tsc_wrap";
  static constexpr field<"absolute_tsc", std::uint64_t> absolute_tsc{};
  static constexpr layout fields{head, at<1>(absolute_tsc), padding<56>{}};
};
static_assert(schema<tsc_wrap_record>);

/// FDR: when the buffer was begun, by CLOCK_MONOTONIC.
struct wall_clock_time_record : metadata_head {
  static constexpr const char* name = "wall_clock_time";
  static constexpr field<"seconds", std::uint64_t> seconds{};
  static constexpr field<"microseconds", std::uint32_t> microseconds{};
  static constexpr layout fields{head, at<1>(seconds), at<9>(microseconds), padding<24>{}};
};
static_assert(schema<wall_clock_time_record>);

/// FDR versions 1 to 3: an event of the program's own, with a time of its own and `event_size` payload bytes.
struct custom_event_record_v1 : metadata_head {
  static constexpr const char* name = "custom_event";
  static constexpr bool has_payload = true;
  static constexpr field<"event_size", std::int32_t> event_size{};
  static constexpr field<"absolute_tsc", std::uint64_t> absolute_tsc{};
  static constexpr layout fields{head, at<1>(event_size), at<5>(absolute_tsc), padding<24>{}};
};
static_assert(schema<custom_event_record_v1>);

/// FDR version 4: with the cpu.
struct custom_event_record_v4 : metadata_head {
  static constexpr const char* name = "custom_event";
  static constexpr bool has_payload = true;
  static constexpr field<"event_size", std::int32_t> event_size{};
  static constexpr field<"absolute_tsc", std::uint64_t> absolute_tsc{};
  static constexpr field<"cpu_id", std::uint16_t> cpu_id{};
  static constexpr layout fields{head, at<1>(event_size), at<5>(absolute_tsc), at<13>(cpu_id), padding<8>{}};
};
static_assert(schema<custom_event_record_v4>);

/// FDR version 5: relative to the time before it.
struct custom_event_record_v5 : metadata_head {
  static constexpr const char* name = "custom_event";
  static constexpr bool has_payload = true;
  static constexpr field<"event_size", std::int32_t> event_size{};
  static constexpr field<"tsc_delta", std::int32_t> tsc_delta{};
  static constexpr layout fields{head, at<1>(event_size), at<5>(tsc_delta), padding<56>{}};
};
static_assert(schema<custom_event_record_v5>);

/// FDR: an argument of the function that the record before it enters.
struct call_argument_record : metadata_head {
  static constexpr const char* name = "call_argument";
  static constexpr field<"argument", std::uint64_t> argument{};
  static constexpr layout fields{head, at<1>(argument), padding<56>{}};
};
static_assert(schema<call_argument_record>);

/// FDR versions 2 to 5: begins a block; `extents` bytes of records follow this one.
struct buffer_extents_record : metadata_head {
  static constexpr const char* name = "buffer_extents";
  static constexpr field<"extents", std::uint64_t> extents{};
  static constexpr layout fields{head, at<1>(extents), padding<56>{}};
};
static_assert(schema<buffer_extents_record>);

/// FDR versions 2 to 4, as the runtime wrote it: an event with a type number and `event_size` payload bytes.
struct typed_event_record_v2 : metadata_head {
  static constexpr const char* name = "typed_event";
  static constexpr bool has_payload = true;
  static constexpr field<"event_size", std::int32_t> event_size{};
  static constexpr field<"absolute_tsc", std::uint64_t> absolute_tsc{};
  static constexpr field<"event_type", std::uint16_t> event_type{};
  static constexpr layout fields{head, at<1>(event_size), at<5>(absolute_tsc), at<13>(event_type), padding<8>{}};
};
static_assert(schema<typed_event_record_v2>);

/// FDR version 5: relative to the time before it.
struct typed_event_record_v5 : metadata_head {
  static constexpr const char* name = "typed_event";
  static constexpr bool has_payload = true;
  static constexpr field<"event_size", std::int32_t> event_size{};
  static constexpr field<"tsc_delta", std::int32_t> tsc_delta{};
  static constexpr field<"event_type", std::uint16_t> event_type{};
  static constexpr layout fields{head, at<1>(event_size), at<5>(tsc_delta), at<9>(event_type), padding<40>{}};
};
static_assert(schema<typed_event_record_v5>);

/// FDR versions 3 to 5: the process that the thread belongs to.
struct pid_record : metadata_head {
  static constexpr const char* name = "pid";
  static constexpr field<"pid", std::int32_t> pid{};
  static constexpr layout fields{head, at<1>(pid), padding<88>{}};
};
static_assert(schema<pid_record>);

/// `record_type` of the records of basic mode.
inline constexpr std::uint16_t basic_function = 0, basic_argument = 1;

/// Basic mode: a function is entered or left. 32 bytes. `process_id` has a meaning from version 3 on.
struct basic_function_record {
  static constexpr const char* name = "function";
  static constexpr std::size_t size = 32;
  static constexpr field<"record_type", std::uint16_t> record_type{};
  static constexpr field<"cpu", std::uint8_t> cpu{};
  static constexpr field<"action", function_action> action{};
  static constexpr field<"function_id", std::int32_t> function_id{};
  static constexpr field<"tsc", std::uint64_t> tsc{};
  static constexpr field<"thread_id", std::uint32_t> thread_id{};
  static constexpr field<"process_id", std::uint32_t> process_id{};
  static constexpr layout fields{
      record_type, cpu, action, at<4>(function_id), at<8>(tsc), at<16>(thread_id), at<20>(process_id), padding<64>{}};
};
static_assert(schema<basic_function_record>);

/// Basic mode, versions 2 and 3: an argument of the function that the record before it enters. 32 bytes.
struct basic_argument_record {
  static constexpr const char* name = "argument";
  static constexpr std::size_t size = 32;
  static constexpr field<"record_type", std::uint16_t> record_type{};
  static constexpr field<"function_id", std::int32_t> function_id{};
  static constexpr field<"thread_id", std::uint32_t> thread_id{};
  static constexpr field<"process_id", std::uint32_t> process_id{};
  static constexpr field<"argument", std::uint64_t> argument{};
  static constexpr layout fields{record_type,        padding<16>{},    at<4>(function_id), at<8>(thread_id),
                                 at<12>(process_id), at<16>(argument), padding<64>{}};
};
static_assert(schema<basic_argument_record>);

}  // namespace backsight::xray
