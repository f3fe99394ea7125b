// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/schema.hpp>

/// perf.data files of Linux perf: the recorder `perf record` and the kernel's perf events behind it.
///
/// Sources of the layouts: tools/perf/Documentation/perf.data-file-format.txt and include/uapi/linux/perf_event.h of
/// Linux, and where files differ from them, tools/perf/util/{header,session,evsel,event}.c.
namespace backsight::perf {

/// "PERFILE2" as a number of the recorder's byte order: version 2 of the format.
inline constexpr std::uint64_t file_magic = 0x32454c4946524550;

/// A part of the file.
struct file_section {
  static constexpr const char* name = "file_section";
  static constexpr std::size_t size = 16;
  static constexpr field<"offset", std::uint64_t> offset{};
  static constexpr field<"size", std::uint64_t> section_size{};
  static constexpr layout fields{at<0>(offset), at<8>(section_size)};
};
static_assert(schema<file_section>);

/// What both forms of file begin with. `size` is that of the header: 16 in pipe mode, where records follow at once.
struct pipe_header {
  static constexpr const char* name = "pipe_header";
  static constexpr field<"magic", std::uint64_t> magic{};
  static constexpr field<"size", std::uint64_t> size{};
  static constexpr layout fields{at<0>(magic), at<8>(size)};
};
static_assert(schema<pipe_header> && size_of<pipe_header> == 16);

/// The header of a file that was written with seeks.
struct file_header {
  static constexpr const char* name = "file_header";
  static constexpr field<"magic", std::uint64_t> magic{};
  static constexpr field<"size", std::uint64_t> size{};
  /// Of one entry of the section of attributes: the attribute and the file_section of its ids.
  static constexpr field<"attr_size", std::uint64_t> attr_size{};
  static constexpr field<"attrs_offset", std::uint64_t> attrs_offset{};
  static constexpr field<"attrs_size", std::uint64_t> attrs_size{};
  static constexpr field<"data_offset", std::uint64_t> data_offset{};
  /// 0 when the recorder was killed: the records go on to the end of the file, and no feature was written.
  static constexpr field<"data_size", std::uint64_t> data_size{};
  static constexpr field<"event_types_offset", std::uint64_t> event_types_offset{};
  static constexpr field<"event_types_size", std::uint64_t> event_types_size{};
  /// Bit n % 64 of word n / 64: the feature n is there.
  static constexpr field<"features0", std::uint64_t> features0{};
  static constexpr field<"features1", std::uint64_t> features1{};
  static constexpr field<"features2", std::uint64_t> features2{};
  static constexpr field<"features3", std::uint64_t> features3{};
  static constexpr layout fields{
      at<0>(magic),        at<8>(size),       at<16>(attr_size),          at<24>(attrs_offset),     at<32>(attrs_size),
      at<40>(data_offset), at<48>(data_size), at<56>(event_types_offset), at<64>(event_types_size), at<72>(features0),
      at<80>(features1),   at<88>(features2), at<96>(features3)};
};
static_assert(schema<file_header> && size_of<file_header> == 104);

/// What a counter counts. Larger numbers are those of the machine's own sources of events (feature `pmu_mappings`).
enum class event_type : std::uint32_t {
  hardware = 0,
  software = 1,
  tracepoint = 2,
  hardware_cache = 3,
  raw = 4,
  breakpoint = 5
};

[[nodiscard]] constexpr const char* enumerator_name(event_type type) noexcept {
  constexpr const char* names[]{"hardware", "software", "tracepoint", "hardware_cache", "raw", "breakpoint"};
  return static_cast<std::uint32_t>(type) < 6 ? names[static_cast<std::uint32_t>(type)] : nullptr;
}

/// perf_event_attr: what was asked of one event. Written with the size that the recorder knew, 64 to 144 bytes; what is
/// not written is 0. The flags are bit-fields, the other masks are numbers.
struct attribute_record {
  static constexpr const char* name = "attribute";
  static constexpr field<"type", event_type> type{};
  static constexpr field<"size", std::uint32_t> size{};
  static constexpr field<"config", std::uint64_t> config{};
  /// The period, or with the flag `freq` the frequency.
  static constexpr field<"sample_period", std::uint64_t> sample_period{};
  /// Bits of sample_field: the members of samples and of the trailers of other records.
  static constexpr field<"sample_type", std::uint64_t> sample_type{};
  static constexpr field<"read_format", std::uint64_t> read_format{};

  static constexpr field<"disabled", bool> disabled{};
  static constexpr field<"inherit", bool> inherit{};
  static constexpr field<"pinned", bool> pinned{};
  static constexpr field<"exclusive", bool> exclusive{};
  static constexpr field<"exclude_user", bool> exclude_user{};
  static constexpr field<"exclude_kernel", bool> exclude_kernel{};
  static constexpr field<"exclude_hv", bool> exclude_hv{};
  static constexpr field<"exclude_idle", bool> exclude_idle{};
  static constexpr field<"mmap", bool> mmap{};
  static constexpr field<"comm", bool> comm{};
  static constexpr field<"freq", bool> freq{};
  static constexpr field<"inherit_stat", bool> inherit_stat{};
  static constexpr field<"enable_on_exec", bool> enable_on_exec{};
  static constexpr field<"task", bool> task{};
  static constexpr field<"watermark", bool> watermark{};
  static constexpr field<"precise_ip", std::uint8_t, 2> precise_ip{};
  static constexpr field<"mmap_data", bool> mmap_data{};
  /// Every record of the kernel but samples ends with the members that sample_type has of those that tell who and when.
  static constexpr field<"sample_id_all", bool> sample_id_all{};
  static constexpr field<"exclude_host", bool> exclude_host{};
  static constexpr field<"exclude_guest", bool> exclude_guest{};
  static constexpr field<"exclude_callchain_kernel", bool> exclude_callchain_kernel{};
  static constexpr field<"exclude_callchain_user", bool> exclude_callchain_user{};
  static constexpr field<"mmap2", bool> mmap2{};
  static constexpr field<"comm_exec", bool> comm_exec{};
  static constexpr field<"use_clockid", bool> use_clockid{};
  static constexpr field<"context_switch", bool> context_switch{};
  static constexpr field<"write_backward", bool> write_backward{};
  static constexpr field<"namespaces", bool> namespaces{};
  static constexpr field<"ksymbol", bool> ksymbol{};
  static constexpr field<"bpf_event", bool> bpf_event{};
  static constexpr field<"aux_output", bool> aux_output{};
  static constexpr field<"cgroup", bool> cgroup{};
  static constexpr field<"text_poke", bool> text_poke{};
  static constexpr field<"build_id", bool> build_id{};
  static constexpr field<"inherit_thread", bool> inherit_thread{};
  static constexpr field<"remove_on_exec", bool> remove_on_exec{};
  static constexpr field<"sigtrap", bool> sigtrap{};
  static constexpr field<"defer_callchain", bool> defer_callchain{};
  static constexpr field<"defer_output", bool> defer_output{};

  static constexpr field<"wakeup_events", std::uint32_t> wakeup_events{};
  static constexpr field<"bp_type", std::uint32_t> bp_type{};
  static constexpr field<"config1", std::uint64_t> config1{};
  static constexpr field<"config2", std::uint64_t> config2{};
  static constexpr field<"branch_sample_type", std::uint64_t> branch_sample_type{};
  static constexpr field<"sample_regs_user", std::uint64_t> sample_regs_user{};
  static constexpr field<"sample_stack_user", std::uint32_t> sample_stack_user{};
  static constexpr field<"clockid", std::int32_t> clockid{};
  static constexpr field<"sample_regs_intr", std::uint64_t> sample_regs_intr{};
  static constexpr field<"aux_watermark", std::uint32_t> aux_watermark{};
  static constexpr field<"sample_max_stack", std::uint16_t> sample_max_stack{};
  static constexpr field<"aux_sample_size", std::uint32_t> aux_sample_size{};
  static constexpr field<"aux_action", std::uint32_t> aux_action{};
  static constexpr field<"sig_data", std::uint64_t> sig_data{};
  static constexpr field<"config3", std::uint64_t> config3{};
  static constexpr field<"config4", std::uint64_t> config4{};
  static constexpr layout fields{
      at<0>(type),
      at<4>(size),
      at<8>(config),
      at<16>(sample_period),
      at<24>(sample_type),
      at<32>(read_format),
      at<40>(word<64>(disabled, inherit, pinned, exclusive, exclude_user, exclude_kernel, exclude_hv, exclude_idle,
                      mmap, comm, freq, inherit_stat, enable_on_exec, task, watermark, precise_ip, mmap_data,
                      sample_id_all, exclude_host, exclude_guest, exclude_callchain_kernel, exclude_callchain_user,
                      mmap2, comm_exec, use_clockid, context_switch, write_backward, namespaces, ksymbol, bpf_event,
                      aux_output, cgroup, text_poke, build_id, inherit_thread, remove_on_exec, sigtrap, defer_callchain,
                      defer_output, padding<24>{})),
      at<48>(wakeup_events),
      at<52>(bp_type),
      at<56>(config1),
      at<64>(config2),
      at<72>(branch_sample_type),
      at<80>(sample_regs_user),
      at<88>(sample_stack_user),
      at<92>(clockid),
      at<96>(sample_regs_intr),
      at<104>(aux_watermark),
      at<108>(sample_max_stack),
      padding<16>{},
      at<112>(aux_sample_size),
      at<116>(aux_action),
      at<120>(sig_data),
      at<128>(config3),
      at<136>(config4)};
};
static_assert(schema<attribute_record> && size_of<attribute_record> == 144);

/// The size of the first version of perf_event_attr: what a stated size of 0 means, and the smallest that there is.
inline constexpr std::size_t smallest_attribute = 64;

/// What a sample can hold: bits of attribute_record::sample_type.
enum class sample_field : std::uint8_t {
  ip = 0,
  tid = 1,
  time = 2,
  addr = 3,
  read = 4,
  callchain = 5,
  id = 6,
  cpu = 7,
  period = 8,
  stream_id = 9,
  raw = 10,
  branch_stack = 11,
  regs_user = 12,
  stack_user = 13,
  weight = 14,
  data_src = 15,
  identifier = 16,
  transaction = 17,
  regs_intr = 18,
  phys_addr = 19,
  aux = 20,
  cgroup = 21,
  data_page_size = 22,
  code_page_size = 23,
  weight_struct = 24,
};
inline constexpr unsigned sample_field_count = 25;

[[nodiscard]] constexpr const char* enumerator_name(sample_field field) noexcept {
  constexpr const char* names[sample_field_count]{"ip",
                                                  "tid",
                                                  "time",
                                                  "addr",
                                                  "read",
                                                  "callchain",
                                                  "id",
                                                  "cpu",
                                                  "period",
                                                  "stream_id",
                                                  "raw",
                                                  "branch_stack",
                                                  "regs_user",
                                                  "stack_user",
                                                  "weight",
                                                  "data_src",
                                                  "identifier",
                                                  "transaction",
                                                  "regs_intr",
                                                  "phys_addr",
                                                  "aux",
                                                  "cgroup",
                                                  "data_page_size",
                                                  "code_page_size",
                                                  "weight_struct"};
  return static_cast<unsigned>(field) < sample_field_count ? names[static_cast<unsigned>(field)] : nullptr;
}

/// The bits of these members, as sample_type has them.
template <class... Fields>
[[nodiscard]] constexpr std::uint64_t mask_of(Fields... fields) noexcept {
  return (std::uint64_t{0} | ... | (std::uint64_t{1} << static_cast<unsigned>(fields)));
}

/// `mask` has the bit of `field`.
template <class Field>
[[nodiscard]] constexpr bool has(std::uint64_t mask, Field field) noexcept {
  return (mask & mask_of(field)) != 0;
}

/// What the value of a counter comes with: bits of attribute_record::read_format.
enum class read_field : std::uint8_t { total_time_enabled = 0, total_time_running = 1, id = 2, group = 3, lost = 4 };
inline constexpr unsigned read_field_count = 5;

[[nodiscard]] constexpr const char* enumerator_name(read_field field) noexcept {
  constexpr const char* names[read_field_count]{"total_time_enabled", "total_time_running", "id", "group", "lost"};
  return static_cast<unsigned>(field) < read_field_count ? names[static_cast<unsigned>(field)] : nullptr;
}

/// Bits of attribute_record::branch_sample_type that add to the branch stacks of samples.
enum class branch_field : std::uint8_t { hw_index = 17, counters = 19 };

}  // namespace backsight::perf
