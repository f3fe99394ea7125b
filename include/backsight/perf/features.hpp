// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <backsight/core/cursor.hpp>
#include <backsight/perf/samples.hpp>
#include <backsight/perf/user_schema.hpp>

namespace backsight::perf {

/// What a recorder tells about the machine and itself; the numbers are bits of the file header.
enum class feature : std::uint8_t {
  tracing_data = 1,
  build_id = 2,
  hostname = 3,
  osrelease = 4,
  version = 5,
  arch = 6,
  nrcpus = 7,
  cpudesc = 8,
  cpuid = 9,
  total_mem = 10,
  cmdline = 11,
  event_desc = 12,
  cpu_topology = 13,
  numa_topology = 14,
  branch_stack = 15,
  pmu_mappings = 16,
  group_desc = 17,
  auxtrace = 18,
  stat = 19,
  cache = 20,
  sample_time = 21,
  mem_topology = 22,
  clockid = 23,
  dir_format = 24,
  bpf_prog_info = 25,
  bpf_btf = 26,
  compressed = 27,
  cpu_pmu_caps = 28,
  clock_data = 29,
  hybrid_topology = 30,
  pmu_caps = 31,
  cpu_domain_info = 32,
  e_machine = 33,
  cln_size = 34,
};

[[nodiscard]] constexpr const char* enumerator_name(feature bit) noexcept {
  constexpr const char* names[]{
      nullptr,         "tracing_data", "build_id",        "hostname",   "osrelease",       "version",    "arch",
      "nrcpus",        "cpudesc",      "cpuid",           "total_mem",  "cmdline",         "event_desc", "cpu_topology",
      "numa_topology", "branch_stack", "pmu_mappings",    "group_desc", "auxtrace",        "stat",       "cache",
      "sample_time",   "mem_topology", "clockid",         "dir_format", "bpf_prog_info",   "bpf_btf",    "compressed",
      "cpu_pmu_caps",  "clock_data",   "hybrid_topology", "pmu_caps",   "cpu_domain_info", "e_machine",  "cln_size"};
  return static_cast<unsigned>(bit) < 35 ? names[static_cast<unsigned>(bit)] : nullptr;
}

/// The content of one feature, where its section or record was found. A view.
struct feature_section {
  std::uint8_t bit = 0;      ///< Its number; enumerators of `feature` for those known here.
  std::uint64_t offset = 0;  ///< In the file.
  byte_view bytes;
};

/// Reads the contents of features: texts have a length, which counts zeros behind them too. After an error everything
/// is empty or zero; error() says where.
template <order O>
class feature_reader {
 public:
  constexpr explicit feature_reader(const feature_section& from) noexcept : in_(from.bytes, from.offset) {}

  template <class T>
  [[nodiscard]] constexpr T number() noexcept {
    return in_.template read<T>();
  }
  [[nodiscard]] std::string_view text() noexcept { return text_of(in_.take(number<std::uint32_t>())); }
  [[nodiscard]] constexpr byte_view take(std::uint64_t size) noexcept { return in_.take(size); }
  constexpr void skip(std::uint64_t size) noexcept { in_.skip(size); }
  /// Calls `f(index)` as often as the number in front says, as long as there are bytes.
  template <class F>
  constexpr void list(F&& f) {
    const auto count = number<std::uint32_t>();
    for (std::uint32_t i = 0; i < count && !in_.failed() && !in_.at_end(); ++i) f(i);
  }
  [[nodiscard]] constexpr bool at_end() const noexcept { return in_.at_end(); }
  [[nodiscard]] constexpr std::size_t remaining() const noexcept { return in_.remaining(); }
  [[nodiscard]] constexpr bool failed() const noexcept { return in_.failed(); }
  [[nodiscard]] constexpr const trace_error& error() const noexcept { return in_.error(); }

 private:
  cursor<O> in_;
};

/// One text: hostname, osrelease, version, arch, cpudesc, cpuid.
[[nodiscard]] inline result<std::string_view> read_text(const feature_section& from, order byte_order) noexcept {
  return with_order(byte_order, [&](auto o) -> result<std::string_view> {
    feature_reader<o()> in(from);
    const std::string_view text = in.text();
    return in.failed() ? result<std::string_view>(in.error()) : result<std::string_view>(text);
  });
}

/// Texts: cmdline. Calls `f(std::string_view)` for each.
template <class F>
[[nodiscard]] trace_error for_each_text(const feature_section& from, order byte_order, F&& f) {
  return with_order(byte_order, [&](auto o) {
    feature_reader<o()> in(from);
    in.list([&](std::uint32_t) {
      const std::string_view text = in.text();
      if (!in.failed()) f(text);
    });
    return in.error();
  });
}

/// Numbers of eight or four bytes from the start of a feature: nrcpus (available, online; 4 bytes), total_mem (kB),
/// sample_time (first, last), clockid (resolution in ns), clock_data (version and clock: 4 bytes each; wall clock,
/// clock: 8 bytes).
template <class T, std::size_t Count>
[[nodiscard]] constexpr result<std::array<T, Count>> read_numbers(const feature_section& from, order byte_order,
                                                                  std::size_t at = 0) noexcept {
  return with_order(byte_order, [&](auto o) -> result<std::array<T, Count>> {
    feature_reader<o()> in(from);
    in.skip(at);
    std::array<T, Count> numbers{};
    for (T& number : numbers) number = in.template number<T>();
    return in.failed() ? result<std::array<T, Count>>(in.error()) : result<std::array<T, Count>>(numbers);
  });
}

/// The wall clock and the recording's clock at the same moment.
struct clock_pair {
  std::uint32_t clockid = 0;
  std::uint64_t wall_clock_ns = 0, clock_ns = 0;
};
[[nodiscard]] constexpr result<clock_pair> read_clock_data(const feature_section& from, order byte_order) noexcept {
  const auto head = read_numbers<std::uint32_t, 2>(from, byte_order);
  if (!head) return head.error();
  if ((*head)[0] != 1) return {errc::unsupported_version, from.offset};
  const auto times = read_numbers<std::uint64_t, 2>(from, byte_order, 8);
  if (!times) return times.error();
  return clock_pair{(*head)[1], (*times)[0], (*times)[1]};
}

/// How the records were compressed.
struct compression {
  std::uint32_t version = 0, type = 0, level = 0, ratio = 0, mmap_len = 0;  ///< Type 1: Zstandard.
};
[[nodiscard]] constexpr result<compression> read_compression(const feature_section& from, order byte_order) noexcept {
  const auto numbers = read_numbers<std::uint32_t, 5>(from, byte_order);
  if (!numbers) return numbers.error();
  const auto& n = *numbers;
  return compression{n[0], n[1], n[2], n[3], n[4]};
}

/// Pairs of number and text: pmu_mappings. Calls `f(std::uint32_t, std::string_view)`.
template <class F>
[[nodiscard]] trace_error for_each_pmu(const feature_section& from, order byte_order, F&& f) {
  return with_order(byte_order, [&](auto o) {
    feature_reader<o()> in(from);
    in.list([&](std::uint32_t) {
      const auto type = in.template number<std::uint32_t>();
      const std::string_view text = in.text();
      if (!in.failed()) f(type, text);
    });
    return in.error();
  });
}

/// Pairs of texts: cpu_pmu_caps; hybrid_topology. Calls `f(std::string_view, std::string_view)`.
template <class F>
[[nodiscard]] trace_error for_each_pair(const feature_section& from, order byte_order, F&& f) {
  return with_order(byte_order, [&](auto o) {
    feature_reader<o()> in(from);
    in.list([&](std::uint32_t) {
      const std::string_view key = in.text(), value = in.text();
      if (!in.failed()) f(key, value);
    });
    return in.error();
  });
}

/// Groups of events: group_desc. Calls `f(name, index of the leader, members)`.
template <class F>
[[nodiscard]] trace_error for_each_group(const feature_section& from, order byte_order, F&& f) {
  return with_order(byte_order, [&](auto o) {
    feature_reader<o()> in(from);
    in.list([&](std::uint32_t) {
      const std::string_view name = in.text();
      const auto leader = in.template number<std::uint32_t>(), members = in.template number<std::uint32_t>();
      if (!in.failed()) f(name, leader, members);
    });
    return in.error();
  });
}

/// Which cpus share a package or a core, and where each cpu is.
struct cpu_place {
  std::uint32_t cpu = 0, core = 0, socket = 0, die = 0;
};
/// The cpu_topology of `cpus` cpus, the available ones of the feature nrcpus. Calls `on_siblings(kind, text)` with 0
/// for packages, 1 for cores, 2 for dies, then `on_cpu(cpu_place)`.
template <class OnSiblings, class OnCpu>
[[nodiscard]] trace_error read_cpu_topology(const feature_section& from, order byte_order, std::uint32_t cpus,
                                            OnSiblings&& on_siblings, OnCpu&& on_cpu) {
  return with_order(byte_order, [&](auto o) {
    feature_reader<o()> in(from);
    for (const int kind : {0, 1}) {
      in.list([&](std::uint32_t) {
        if (const std::string_view text = in.text(); !in.failed()) on_siblings(kind, text);
      });
    }
    if (cpus > in.remaining() / 8) return trace_error{errc::truncated, from.offset + from.bytes.size()};
    const word_list places(in.take(std::uint64_t{cpus} * 8), o());
    const bool with_dies = !in.at_end();
    if (with_dies) {
      in.list([&](std::uint32_t) {
        if (const std::string_view text = in.text(); !in.failed()) on_siblings(2, text);
      });
    }
    for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) {
      // Two numbers of four bytes in the word, the core first.
      const std::uint64_t pair = places[cpu];
      const auto low = static_cast<std::uint32_t>(pair), high = static_cast<std::uint32_t>(pair >> 32);
      cpu_place place{cpu, o() == order::little ? low : high, o() == order::little ? high : low, 0};
      if (with_dies) place.die = in.template number<std::uint32_t>();
      if (in.failed()) break;
      on_cpu(place);
    }
    return in.error();
  });
}

/// The build id of a file.
struct build_id_entry {
  std::int32_t pid = 0;  ///< -1: of this machine; else of a guest.
  std::uint16_t misc = 0;
  byte_view id;
  std::string_view name;
};

/// The entry that a build_id_record is. Error: errc::bad_size at the record.
template <order O>
[[nodiscard]] inline result<build_id_entry> read_build_id(const record<build_id_record, O>& item,
                                                          std::uint64_t offset) noexcept {
  build_id_entry entry{item[build_id_record::pid], item[build_id_record::misc], {}, text_of(item.payload())};
  constexpr std::size_t longest = decltype(build_id_record::build_id)::bits / 8;
  const std::size_t size = (entry.misc & misc::build_id_size) != 0 ? item[build_id_record::id_size] : longest;
  if (size > longest) return {errc::bad_size, offset};
  entry.id = item.bytes().subspan(size_of<build_id_record> - longest - 4, size);
  return entry;
}

/// The build ids of files that samples lie in: feature build_id. Calls `f(build_id_entry)`.
template <class F>
[[nodiscard]] trace_error for_each_build_id(const feature_section& from, order byte_order, F&& f) {
  return with_order(byte_order, [&](auto o) {
    byte_view rest = from.bytes;
    while (!rest.empty()) {
      const std::uint64_t at = from.offset + (from.bytes.size() - rest.size());
      if (rest.size() < size_of<build_id_record>) return trace_error{errc::truncated, at};
      const std::size_t size = record<build_id_record, o()>(rest.data())[build_id_record::size];
      if (size < size_of<build_id_record>) return trace_error{errc::bad_size, at};
      if (size > rest.size()) return trace_error{errc::truncated, at};
      const auto entry = read_build_id(record<build_id_record, o()>(rest.data(), size - size_of<build_id_record>), at);
      if (!entry) return entry.error();
      f(*entry);
      rest = rest.subspan(size);
    }
    return trace_error{};
  });
}

}  // namespace backsight::perf
