// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <backsight/perf/record_head.hpp>

/// Records that the kernel writes. Behind the members and the payload stands the trailer: read_sample_id().
/// Source: include/uapi/linux/perf_event.h, enum perf_event_type.
namespace backsight::perf {

/// A mapping of a file; the payload is its name, and the trailer. `pid` -1: the kernel or a module of it.
struct mmap_record : record_head {
  static constexpr const char* name = "mmap";
  static constexpr bool has_payload = true;
  static constexpr field<"pid", std::int32_t> pid{};
  static constexpr field<"tid", std::int32_t> tid{};
  static constexpr field<"addr", std::uint64_t> addr{};
  static constexpr field<"len", std::uint64_t> len{};
  static constexpr field<"pgoff", std::uint64_t> pgoff{};
  static constexpr layout fields{at<0>(type), at<4>(misc),  at<6>(size), at<8>(pid),
                                 at<12>(tid), at<16>(addr), at<24>(len), at<32>(pgoff)};
};
static_assert(schema<mmap_record>);

/// Records that did not fit the kernel's buffer.
struct lost_record : record_head {
  static constexpr const char* name = "lost";
  static constexpr bool has_payload = true;
  static constexpr field<"id", std::uint64_t> id{};
  static constexpr field<"lost", std::uint64_t> lost{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(id), at<16>(lost)};
};
static_assert(schema<lost_record>);

/// The name of a thread from here on; the payload is the name, and the trailer.
struct comm_record : record_head {
  static constexpr const char* name = "comm";
  static constexpr bool has_payload = true;
  static constexpr field<"pid", std::int32_t> pid{};
  static constexpr field<"tid", std::int32_t> tid{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(pid), at<12>(tid)};
};
static_assert(schema<comm_record>);

/// A thread has ended.
struct exit_record : record_head {
  static constexpr const char* name = "exit";
  static constexpr bool has_payload = true;
  static constexpr field<"pid", std::int32_t> pid{};
  static constexpr field<"ppid", std::int32_t> ppid{};
  static constexpr field<"tid", std::int32_t> tid{};
  static constexpr field<"ptid", std::int32_t> ptid{};
  static constexpr field<"time", std::uint64_t> time{};
  static constexpr layout fields{at<0>(type),  at<4>(misc), at<6>(size),  at<8>(pid),
                                 at<12>(ppid), at<16>(tid), at<20>(ptid), at<24>(time)};
};
static_assert(schema<exit_record>);

/// The event was too frequent and is held back from here on.
struct throttle_record : record_head {
  static constexpr const char* name = "throttle";
  static constexpr bool has_payload = true;
  static constexpr field<"time", std::uint64_t> time{};
  static constexpr field<"id", std::uint64_t> id{};
  static constexpr field<"stream_id", std::uint64_t> stream_id{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(time), at<16>(id), at<24>(stream_id)};
};
static_assert(schema<throttle_record>);

/// The event is no longer held back.
struct unthrottle_record : throttle_record {
  static constexpr const char* name = "unthrottle";
};
static_assert(schema<unthrottle_record>);

/// A thread has begun; `ppid` and `ptid` are those that started it.
struct fork_record : exit_record {
  static constexpr const char* name = "fork";
};
static_assert(schema<fork_record>);

/// The values of counters when a thread ended; the payload is as read_format has it, and the trailer.
struct read_record : record_head {
  static constexpr const char* name = "read";
  static constexpr bool has_payload = true;
  static constexpr field<"pid", std::int32_t> pid{};
  static constexpr field<"tid", std::int32_t> tid{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(pid), at<12>(tid)};
};
static_assert(schema<read_record>);

/// One sample; the payload is as sample_type has it: read_sample().
struct sample_record : record_head {
  static constexpr const char* name = "sample";
  static constexpr bool has_payload = true;
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size)};
};
static_assert(schema<sample_record>);

/// A mapping of a file with its inode; the payload is its name, and the trailer.
struct mmap2_record : record_head {
  static constexpr const char* name = "mmap2";
  static constexpr bool has_payload = true;
  static constexpr field<"pid", std::int32_t> pid{};
  static constexpr field<"tid", std::int32_t> tid{};
  static constexpr field<"addr", std::uint64_t> addr{};
  static constexpr field<"len", std::uint64_t> len{};
  static constexpr field<"pgoff", std::uint64_t> pgoff{};
  static constexpr field<"maj", std::uint32_t> maj{};
  static constexpr field<"min", std::uint32_t> min{};
  static constexpr field<"ino", std::uint64_t> ino{};
  static constexpr field<"ino_generation", std::uint64_t> ino_generation{};
  static constexpr field<"prot", std::uint32_t> prot{};
  static constexpr field<"flags", std::uint32_t> flags{};
  static constexpr layout fields{at<0>(type),  at<4>(misc),  at<6>(size), at<8>(pid),
                                 at<12>(tid),  at<16>(addr), at<24>(len), at<32>(pgoff),
                                 at<40>(maj),  at<44>(min),  at<48>(ino), at<56>(ino_generation),
                                 at<64>(prot), at<68>(flags)};
};
static_assert(schema<mmap2_record>);

/// The same with the file's build id, of `build_id_size` bytes: `misc` has misc::mmap_build_id.
struct mmap2_build_id_record : record_head {
  static constexpr const char* name = "mmap2_build_id";
  static constexpr bool has_payload = true;
  static constexpr field<"pid", std::int32_t> pid{};
  static constexpr field<"tid", std::int32_t> tid{};
  static constexpr field<"addr", std::uint64_t> addr{};
  static constexpr field<"len", std::uint64_t> len{};
  static constexpr field<"pgoff", std::uint64_t> pgoff{};
  static constexpr field<"build_id_size", std::uint8_t> build_id_size{};
  static constexpr field<"build_id", std::array<std::byte, 20>> build_id{};
  static constexpr field<"prot", std::uint32_t> prot{};
  static constexpr field<"flags", std::uint32_t> flags{};
  static constexpr layout fields{
      at<0>(type),   at<4>(misc),           at<6>(size),   at<8>(pid),       at<12>(tid),  at<16>(addr), at<24>(len),
      at<32>(pgoff), at<40>(build_id_size), padding<24>{}, at<44>(build_id), at<64>(prot), at<68>(flags)};
};
static_assert(schema<mmap2_build_id_record>);

/// A part of the area of AUX data was written.
struct aux_record : record_head {
  static constexpr const char* name = "aux";
  static constexpr bool has_payload = true;
  static constexpr field<"aux_offset", std::uint64_t> aux_offset{};
  static constexpr field<"aux_size", std::uint64_t> aux_size{};
  static constexpr field<"flags", std::uint64_t> flags{};
  static constexpr layout fields{at<0>(type),       at<4>(misc),      at<6>(size),
                                 at<8>(aux_offset), at<16>(aux_size), at<24>(flags)};
};
static_assert(schema<aux_record>);

/// Tracing of instructions begins for a thread.
struct itrace_start_record : record_head {
  static constexpr const char* name = "itrace_start";
  static constexpr bool has_payload = true;
  static constexpr field<"pid", std::int32_t> pid{};
  static constexpr field<"tid", std::int32_t> tid{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(pid), at<12>(tid)};
};
static_assert(schema<itrace_start_record>);

/// Samples that were lost, or dropped by a filter.
struct lost_samples_record : record_head {
  static constexpr const char* name = "lost_samples";
  static constexpr bool has_payload = true;
  static constexpr field<"lost", std::uint64_t> lost{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(lost)};
};
static_assert(schema<lost_samples_record>);

/// The thread of the trailer begins to run, or with misc::switch_out ceases to.
struct context_switch_record : record_head {
  static constexpr const char* name = "switch";
  static constexpr bool has_payload = true;
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size)};
};
static_assert(schema<context_switch_record>);

/// The same, recorded for a whole cpu: with the thread that comes next or was before.
struct switch_cpu_wide_record : record_head {
  static constexpr const char* name = "switch_cpu_wide";
  static constexpr bool has_payload = true;
  static constexpr field<"next_prev_pid", std::int32_t> next_prev_pid{};
  static constexpr field<"next_prev_tid", std::int32_t> next_prev_tid{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(next_prev_pid), at<12>(next_prev_tid)};
};
static_assert(schema<switch_cpu_wide_record>);

/// The namespaces of a thread; the payload is `nr_namespaces` pairs of device and inode: net, uts, ipc, pid, user, mnt,
/// cgroup.
struct namespaces_record : record_head {
  static constexpr const char* name = "namespaces";
  static constexpr bool has_payload = true;
  static constexpr field<"pid", std::int32_t> pid{};
  static constexpr field<"tid", std::int32_t> tid{};
  static constexpr field<"nr_namespaces", std::uint64_t> nr_namespaces{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(pid), at<12>(tid), at<16>(nr_namespaces)};
};
static_assert(schema<namespaces_record>);

/// Code of the kernel that came, or with bit 0 of `flags` went; the payload is its name, and the trailer.
struct ksymbol_record : record_head {
  static constexpr const char* name = "ksymbol";
  static constexpr bool has_payload = true;
  static constexpr field<"addr", std::uint64_t> addr{};
  static constexpr field<"len", std::uint32_t> len{};
  static constexpr field<"ksym_type", std::uint16_t> ksym_type{};
  static constexpr field<"flags", std::uint16_t> flags{};
  static constexpr layout fields{at<0>(type), at<4>(misc),       at<6>(size),  at<8>(addr),
                                 at<16>(len), at<20>(ksym_type), at<22>(flags)};
};
static_assert(schema<ksymbol_record>);

/// A BPF program was loaded (1) or unloaded (2).
struct bpf_event_record : record_head {
  static constexpr const char* name = "bpf_event";
  static constexpr bool has_payload = true;
  static constexpr field<"bpf_type", std::uint16_t> bpf_type{};
  static constexpr field<"flags", std::uint16_t> flags{};
  static constexpr field<"id", std::uint32_t> id{};
  static constexpr field<"tag", std::array<std::byte, 8>> tag{};
  static constexpr layout fields{at<0>(type),   at<4>(misc), at<6>(size), at<8>(bpf_type),
                                 at<10>(flags), at<12>(id),  at<16>(tag)};
};
static_assert(schema<bpf_event_record>);

/// A control group; the payload is its path, and the trailer.
struct cgroup_record : record_head {
  static constexpr const char* name = "cgroup";
  static constexpr bool has_payload = true;
  static constexpr field<"id", std::uint64_t> id{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(id)};
};
static_assert(schema<cgroup_record>);

/// The kernel changed its code; the payload is `old_len` bytes as they were, `new_len` as they are, and the trailer.
struct text_poke_record : record_head {
  static constexpr const char* name = "text_poke";
  static constexpr bool has_payload = true;
  static constexpr field<"addr", std::uint64_t> addr{};
  static constexpr field<"old_len", std::uint16_t> old_len{};
  static constexpr field<"new_len", std::uint16_t> new_len{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(addr), at<16>(old_len), at<18>(new_len)};
};
static_assert(schema<text_poke_record>);

/// The number that AUX data has for the event.
struct aux_output_hw_id_record : record_head {
  static constexpr const char* name = "aux_output_hw_id";
  static constexpr bool has_payload = true;
  static constexpr field<"hw_id", std::uint64_t> hw_id{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(hw_id)};
};
static_assert(schema<aux_output_hw_id_record>);

/// The user part of call chains that end in the context user_deferred and this cookie; the payload is `nr` addresses,
/// and the trailer.
struct callchain_deferred_record : record_head {
  static constexpr const char* name = "callchain_deferred";
  static constexpr bool has_payload = true;
  static constexpr field<"cookie", std::uint64_t> cookie{};
  static constexpr field<"nr", std::uint64_t> nr{};
  static constexpr layout fields{at<0>(type), at<4>(misc), at<6>(size), at<8>(cookie), at<16>(nr)};
};
static_assert(schema<callchain_deferred_record>);

}  // namespace backsight::perf
