// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <backsight/core/kind_table.hpp>
#include <backsight/core/record_range.hpp>
#include <backsight/perf/kernel_schema.hpp>
#include <backsight/perf/user_schema.hpp>

namespace backsight::perf {

/// The records of a perf.data file, or of a file of a directory that `perf record --threads` wrote. Every record states
/// its size, so that a type that is not known here is an other_record and is passed over.
template <order O>
struct perf_format {
  using records =
      record_list<sample_record, mmap_record, lost_record, comm_record, exit_record, throttle_record, unthrottle_record,
                  fork_record, read_record, mmap2_record, mmap2_build_id_record, aux_record, itrace_start_record,
                  lost_samples_record, context_switch_record, switch_cpu_wide_record, namespaces_record, ksymbol_record,
                  bpf_event_record, cgroup_record, text_poke_record, aux_output_hw_id_record, callchain_deferred_record,
                  header_attr_record, event_type_record, tracing_data_record, build_id_record, finished_round_record,
                  id_index_record, auxtrace_info_record, auxtrace_record, auxtrace_error_record, thread_map_record,
                  cpu_map_record, stat_config_record, stat_record, stat_round_record, event_update_record,
                  time_conv_record, header_feature_record, compressed_record, finished_init_record, compressed2_record,
                  other_record>;
  using context = no_context;
  static constexpr order byte_order = O;
  static constexpr std::size_t head_bytes = size_of<other_record>;

  [[nodiscard]] static constexpr kind_result kind_of(const std::byte* at, const context&) noexcept {
    const record<other_record, O> head(at);
    const auto type = static_cast<std::uint32_t>(head[other_record::type]);
    // Most records are samples: the test spares them the table and the choice by it.
    if (type == static_cast<std::uint32_t>(record_type::sample)) [[likely]]
      return kind<sample_record>;
    if (type == static_cast<std::uint32_t>(record_type::mmap2) &&
        (head[other_record::misc] & misc::mmap_build_id) != 0) {
      return kind<mmap2_build_id_record>;
    }
    return type < kinds.size() ? kinds[type] : kind<other_record>;
  }

  /// errc::bad_size where the record is smaller than its members.
  template <schema S>
  [[nodiscard]] static constexpr payload_result payload_size(record<S, O> item, const context&) noexcept {
    const std::size_t size = item[S::size];
    if constexpr (std::is_same_v<S, compressed2_record>) {
      // The size has 16 bits, and wraps where perf wrote several pieces at once; then nothing is padded.
      const std::uint64_t data = item[S::data_size];
      if (data > ~std::uint64_t{0} - 64) return errc::bad_size;
      if ((size_of<S> + data + 7) / 8 * 8 > size) return static_cast<std::size_t>(data);
    }
    if (size < size_of<S>) return errc::bad_size;
    std::uint64_t behind = 0;
    if constexpr (std::is_same_v<S, tracing_data_record>) behind = (std::uint64_t{item[S::data_size]} + 7) / 8 * 8;
    if constexpr (std::is_same_v<S, auxtrace_record>) behind = item[S::data_size];
    if (behind > ~std::size_t{0} / 2) return errc::bad_size;
    return size - size_of<S> + static_cast<std::size_t>(behind);
  }

  /// Where a record is smaller than its members: behind it. A record of less than its head leads nowhere.
  [[nodiscard]] static constexpr std::size_t resync(byte_view all, std::size_t from, context&) noexcept {
    const std::size_t at = from - 1;
    if (all.size() - at < size_of<other_record>) return all.size();
    const std::size_t size = record<other_record, O>(all.data() + at)[other_record::size];
    return size < size_of<other_record> || size > all.size() - at ? all.size() : at + size;
  }

 private:
  template <class S>
  static constexpr kind_result kind = records::template kind<S>;

  static constexpr auto kinds = [] {
    kind_table<records, user_type_end> table(kind<other_record>);
    const auto set = [&](record_type type, kind_result of) { table.set(static_cast<std::uint32_t>(type), of); };
    set(record_type::mmap, kind<mmap_record>);
    set(record_type::lost, kind<lost_record>);
    set(record_type::comm, kind<comm_record>);
    set(record_type::exit, kind<exit_record>);
    set(record_type::throttle, kind<throttle_record>);
    set(record_type::unthrottle, kind<unthrottle_record>);
    set(record_type::fork, kind<fork_record>);
    set(record_type::read, kind<read_record>);
    set(record_type::sample, kind<sample_record>);
    set(record_type::mmap2, kind<mmap2_record>);
    set(record_type::aux, kind<aux_record>);
    set(record_type::itrace_start, kind<itrace_start_record>);
    set(record_type::lost_samples, kind<lost_samples_record>);
    set(record_type::context_switch, kind<context_switch_record>);
    set(record_type::switch_cpu_wide, kind<switch_cpu_wide_record>);
    set(record_type::namespaces, kind<namespaces_record>);
    set(record_type::ksymbol, kind<ksymbol_record>);
    set(record_type::bpf_event, kind<bpf_event_record>);
    set(record_type::cgroup, kind<cgroup_record>);
    set(record_type::text_poke, kind<text_poke_record>);
    set(record_type::aux_output_hw_id, kind<aux_output_hw_id_record>);
    set(record_type::callchain_deferred, kind<callchain_deferred_record>);
    set(record_type::header_attr, kind<header_attr_record>);
    set(record_type::event_type, kind<event_type_record>);
    set(record_type::tracing_data, kind<tracing_data_record>);
    set(record_type::build_id, kind<build_id_record>);
    set(record_type::finished_round, kind<finished_round_record>);
    set(record_type::id_index, kind<id_index_record>);
    set(record_type::auxtrace_info, kind<auxtrace_info_record>);
    set(record_type::auxtrace, kind<auxtrace_record>);
    set(record_type::auxtrace_error, kind<auxtrace_error_record>);
    set(record_type::thread_map, kind<thread_map_record>);
    set(record_type::cpu_map, kind<cpu_map_record>);
    set(record_type::stat_config, kind<stat_config_record>);
    set(record_type::stat, kind<stat_record>);
    set(record_type::stat_round, kind<stat_round_record>);
    set(record_type::event_update, kind<event_update_record>);
    set(record_type::time_conv, kind<time_conv_record>);
    set(record_type::header_feature, kind<header_feature_record>);
    set(record_type::compressed, kind<compressed_record>);
    set(record_type::finished_init, kind<finished_init_record>);
    set(record_type::compressed2, kind<compressed2_record>);
    return table;
  }();
};

/// A range over the records of a stream; any_record<perf_format<O>> each.
template <order O>
using perf_records = record_range<perf_format<O>>;

/// One record, its byte order known at run time. A view; trivially copyable.
struct stored_record {
  record_type type{};
  std::uint16_t misc = 0;
  order byte_order = order::little;
  byte_view bytes;  ///< All of it, with what stands behind it (tracing_data, auxtrace).
  std::uint64_t offset =
      0;  ///< Of its first byte in the file; of a record that was compressed, of the record it was in.

  constexpr stored_record() = default;
  template <order O>
  constexpr explicit stored_record(const any_record<perf_format<O>>& item) noexcept
      : byte_order(O), bytes(item.bytes()), offset(item.offset()) {
    const record<other_record, O> head(bytes.data());
    type = head[other_record::type];
    misc = head[other_record::misc];
  }

  /// A member of it, read as a record of schema S. Precondition: it is one, as the range found it.
  template <schema S, class F>
  [[nodiscard]] constexpr typename F::value_type get(F member) const noexcept {
    BACKSIGHT_ASSERT(bytes.size() >= size_of<S>);
    return with_order(byte_order,
                      [&](auto o) { return record<S, o()>(bytes.data(), bytes.size() - size_of<S>)[member]; });
  }
  /// The bytes behind the members of schema S. Precondition: it is one.
  template <schema S>
  [[nodiscard]] constexpr byte_view payload() const noexcept {
    BACKSIGHT_ASSERT(bytes.size() >= size_of<S>);
    return bytes.subspan(size_of<S>);
  }
  /// mmap2 with a build id in place of the inode.
  [[nodiscard]] constexpr bool has_build_id() const noexcept {
    return type == record_type::mmap2 && (misc & misc::mmap_build_id) != 0;
  }
};

/// The characters in front of the first zero: a name at the start of a payload, which a trailer may follow. A view.
[[nodiscard]] inline std::string_view text_of(byte_view bytes) noexcept {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return all.substr(0, all.find('\0'));
}

/// The bytes that belong to a tracing_data or auxtrace record but stand behind it, without padding; empty for others.
[[nodiscard]] constexpr byte_view data_behind(const stored_record& item) noexcept {
  std::uint64_t size = 0, padded = 0;
  if (item.type == record_type::tracing_data) {
    size = item.get<tracing_data_record>(tracing_data_record::data_size);
    padded = (size + 7) / 8 * 8;
  } else if (item.type == record_type::auxtrace) {
    size = padded = item.get<auxtrace_record>(auxtrace_record::data_size);
  }
  if (size == 0) return {};
  return item.bytes.last(static_cast<std::size_t>(padded)).first(static_cast<std::size_t>(size));
}

}  // namespace backsight::perf
