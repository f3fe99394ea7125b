// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/schema.hpp>

namespace backsight::perf {

/// What a record says. Below 64: written by the kernel; from 64 on: by perf.
enum class record_type : std::uint32_t {
  mmap = 1,
  lost = 2,
  comm = 3,
  exit = 4,
  throttle = 5,
  unthrottle = 6,
  fork = 7,
  read = 8,
  sample = 9,
  mmap2 = 10,
  aux = 11,
  itrace_start = 12,
  lost_samples = 13,
  context_switch = 14,
  switch_cpu_wide = 15,
  namespaces = 16,
  ksymbol = 17,
  bpf_event = 18,
  cgroup = 19,
  text_poke = 20,
  aux_output_hw_id = 21,
  callchain_deferred = 22,
  header_attr = 64,
  event_type = 65,
  tracing_data = 66,
  build_id = 67,
  finished_round = 68,
  id_index = 69,
  auxtrace_info = 70,
  auxtrace = 71,
  auxtrace_error = 72,
  thread_map = 73,
  cpu_map = 74,
  stat_config = 75,
  stat = 76,
  stat_round = 77,
  event_update = 78,
  time_conv = 79,
  header_feature = 80,
  compressed = 81,
  finished_init = 82,
  compressed2 = 83,
  bpf_metadata = 84,
  schedstat_cpu = 85,
  schedstat_domain = 86,
};
/// The first type that perf itself writes.
inline constexpr std::uint32_t first_user_type = 64;
/// One more than the last type of the kernel that is known here, and of perf.
inline constexpr std::uint32_t kernel_type_end = 23, user_type_end = 87;

[[nodiscard]] constexpr const char* enumerator_name(record_type type) noexcept {
  constexpr const char* kernel[]{nullptr,
                                 "mmap",
                                 "lost",
                                 "comm",
                                 "exit",
                                 "throttle",
                                 "unthrottle",
                                 "fork",
                                 "read",
                                 "sample",
                                 "mmap2",
                                 "aux",
                                 "itrace_start",
                                 "lost_samples",
                                 "switch",
                                 "switch_cpu_wide",
                                 "namespaces",
                                 "ksymbol",
                                 "bpf_event",
                                 "cgroup",
                                 "text_poke",
                                 "aux_output_hw_id",
                                 "callchain_deferred"};
  constexpr const char* user[]{
      "header_attr",   "event_type",  "tracing_data",   "build_id",      "finished_round",  "id_index",
      "auxtrace_info", "auxtrace",    "auxtrace_error", "thread_map",    "cpu_map",         "stat_config",
      "stat",          "stat_round",  "event_update",   "time_conv",     "header_feature",  "compressed",
      "finished_init", "compressed2", "bpf_metadata",   "schedstat_cpu", "schedstat_domain"};
  static_assert(sizeof kernel / sizeof *kernel == kernel_type_end &&
                sizeof user / sizeof *user == user_type_end - first_user_type);
  const auto number = static_cast<std::uint32_t>(type);
  if (number < kernel_type_end) return kernel[number];
  return number >= first_user_type && number < user_type_end ? user[number - first_user_type] : nullptr;
}

/// A record of the kernel, which may end with the trailer that sample_type tells.
[[nodiscard]] constexpr bool is_kernel_type(record_type type) noexcept {
  return static_cast<std::uint32_t>(type) < first_user_type;
}

/// The members that every record begins with. `size` counts the whole record.
struct record_head {
  static constexpr field<"type", record_type> type{};
  static constexpr field<"misc", std::uint16_t> misc{};
  static constexpr field<"size", std::uint16_t> size{};
};

/// Where the processor was: the lowest three bits of `misc`.
enum class cpu_mode : std::uint8_t {
  unknown = 0,
  kernel = 1,
  user = 2,
  hypervisor = 3,
  guest_kernel = 4,
  guest_user = 5
};

[[nodiscard]] constexpr const char* enumerator_name(cpu_mode mode) noexcept {
  constexpr const char* names[]{"unknown", "kernel", "user", "hypervisor", "guest_kernel", "guest_user"};
  return static_cast<unsigned>(mode) < 6 ? names[static_cast<unsigned>(mode)] : nullptr;
}
[[nodiscard]] constexpr cpu_mode cpu_mode_of(std::uint16_t misc) noexcept { return static_cast<cpu_mode>(misc & 7U); }

/// The other bits of `misc`; what 13 to 15 say depends on the type.
namespace misc {
inline constexpr std::uint16_t proc_map_parse_timeout = 1U << 12;
inline constexpr std::uint16_t mmap_data = 1U << 13;           ///< mmap, mmap2: not executable.
inline constexpr std::uint16_t comm_exec = 1U << 13;           ///< comm: by an exec.
inline constexpr std::uint16_t switch_out = 1U << 13;          ///< switch, switch_cpu_wide.
inline constexpr std::uint16_t exact_ip = 1U << 14;            ///< sample.
inline constexpr std::uint16_t switch_out_preempt = 1U << 14;  ///< switch, switch_cpu_wide.
inline constexpr std::uint16_t mmap_build_id = 1U << 14;       ///< mmap2: with a build id in place of the inode.
inline constexpr std::uint16_t build_id_size = 1U << 15;       ///< build_id: the member `id_size` counts.
}  // namespace misc

}  // namespace backsight::perf
