// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <backsight/core/cursor.hpp>
#include <backsight/core/record.hpp>
#include <backsight/perf/records.hpp>
#include <backsight/perf/schema.hpp>

// Which members an event asked for, and what of them can be read of a record without reading all: the trailers of
// records of the kernel, times and ids.
namespace backsight::perf {

/// An attribute of its own, whatever size and byte order it was written in.
using attribute = owned_record<attribute_record, order::little>;

/// What the members of samples and trailers depend on, taken from an attribute.
struct sample_layout {
  std::uint64_t sample_type = 0;
  std::uint64_t read_format = 0;
  std::uint64_t branch_sample_type = 0;
  std::uint64_t regs_user = 0;
  std::uint64_t regs_intr = 0;
  std::uint64_t period = 0;  ///< Of samples that do not have it; 0 where only the frequency is known.
  bool sample_id_all = false;

  constexpr sample_layout() = default;
  constexpr explicit sample_layout(const attribute& from) noexcept
      : sample_type(from[attribute_record::sample_type]),
        read_format(from[attribute_record::read_format]),
        branch_sample_type(from[attribute_record::branch_sample_type]),
        regs_user(from[attribute_record::sample_regs_user]),
        regs_intr(from[attribute_record::sample_regs_intr]),
        period(from[attribute_record::freq] ? 0 : from[attribute_record::sample_period]),
        sample_id_all(from[attribute_record::sample_id_all]) {}

  /// Every bit is one that is known here, so that it is known where each member lies.
  [[nodiscard]] constexpr bool is_known() const noexcept {
    constexpr std::uint64_t branches = (std::uint64_t{1} << 20) - 1;
    return sample_type >> sample_field_count == 0 && read_format >> read_field_count == 0 &&
           (!has(sample_type, sample_field::branch_stack) || (branch_sample_type & ~branches) == 0);
  }

  static constexpr std::uint64_t trailer_fields =
      mask_of(sample_field::tid, sample_field::time, sample_field::id, sample_field::stream_id, sample_field::cpu,
              sample_field::identifier);
  /// Bytes of the trailer of a record of the kernel that is no sample.
  [[nodiscard]] constexpr std::size_t trailer_size() const noexcept {
    return sample_id_all ? static_cast<std::size_t>(std::popcount(sample_type & trailer_fields)) * 8 : 0;
  }
};

/// The cpu of what was recorded without one, as perf has it.
inline constexpr std::uint32_t no_cpu = 0xffffffff;

/// Who and when: the trailer of records of the kernel. What the layout does not have is 0, or no_cpu.
struct sample_id {
  std::uint32_t pid = 0, tid = 0;
  std::uint64_t time = 0, id = 0, stream_id = 0, identifier = 0;
  std::uint32_t cpu = no_cpu;
};

/// The trailer of a record; all zero where the layout has none, the record is a sample or of perf itself, or is too
/// short.
template <order O>
[[nodiscard]] constexpr sample_id read_sample_id(byte_view record_bytes, record_type type,
                                                 const sample_layout& layout) noexcept {
  sample_id found;
  const std::size_t size = layout.trailer_size();
  if (!is_kernel_type(type) || type == record_type::sample || record_bytes.size() < size + size_of<other_record>)
    return found;
  cursor<O> in(record_bytes.last(size));
  if (size == 0) return found;
  const std::uint64_t type_mask = layout.sample_type;
  if (has(type_mask, sample_field::tid))
    found.pid = in.template read<std::uint32_t>(), found.tid = in.template read<std::uint32_t>();
  if (has(type_mask, sample_field::time)) found.time = in.template read<std::uint64_t>();
  if (has(type_mask, sample_field::id)) found.id = in.template read<std::uint64_t>();
  if (has(type_mask, sample_field::stream_id)) found.stream_id = in.template read<std::uint64_t>();
  if (has(type_mask, sample_field::cpu)) found.cpu = in.template read<std::uint32_t>(), in.skip(4);
  if (has(type_mask, sample_field::identifier)) found.identifier = in.template read<std::uint64_t>();
  return found;
}

/// The same for a record whose byte order is known at run time.
[[nodiscard]] constexpr sample_id read_sample_id(const stored_record& item, const sample_layout& layout) noexcept {
  return with_order(item.byte_order, [&](auto o) { return read_sample_id<o()>(item.bytes, item.type, layout); });
}

/// A record of the kernel without its trailer: what ends with a list or a text.
[[nodiscard]] constexpr byte_view without_trailer(const stored_record& item, const sample_layout& layout) noexcept {
  const std::size_t size = layout.trailer_size();
  if (!is_kernel_type(item.type) || item.type == record_type::sample || item.bytes.size() < size) return item.bytes;
  return item.bytes.first(item.bytes.size() - size);
}

/// The time of a record by which perf orders them; 0 where it has none.
template <order O>
[[nodiscard]] constexpr std::uint64_t time_of(byte_view record_bytes, record_type type,
                                              const sample_layout& layout) noexcept {
  if (!is_kernel_type(type) || !has(layout.sample_type, sample_field::time)) return 0;
  std::size_t at = 0;
  if (type == record_type::sample) {
    constexpr std::uint64_t before = mask_of(sample_field::identifier, sample_field::ip, sample_field::tid);
    at = size_of<sample_record> + static_cast<std::size_t>(std::popcount(layout.sample_type & before)) * 8;
  } else {
    constexpr std::uint64_t behind = sample_layout::trailer_fields & ~mask_of(sample_field::tid, sample_field::time);
    const std::size_t from_end = 8 + static_cast<std::size_t>(std::popcount(layout.sample_type & behind)) * 8;
    if (!layout.sample_id_all || record_bytes.size() < layout.trailer_size() + size_of<other_record>) return 0;
    at = record_bytes.size() - from_end;
  }
  return at + 8 <= record_bytes.size() ? load<std::uint64_t, O>(record_bytes.data() + at) : 0;
}

/// Where the id of the event stands.
template <order O>
[[nodiscard]] constexpr std::uint64_t id_of(byte_view record_bytes, record_type type,
                                            const sample_layout& layout) noexcept {
  using enum sample_field;
  const std::uint64_t asked = layout.sample_type;
  if (!is_kernel_type(type)) return 0;
  std::size_t at = 0;
  if (type == record_type::sample) {
    if (has(asked, identifier)) at = size_of<sample_record>;
    else if (has(asked, sample_field::id))
      at = size_of<sample_record> + static_cast<std::size_t>(std::popcount(asked & mask_of(ip, tid, time, addr))) * 8;
    else return 0;
  } else {
    if (!layout.sample_id_all || record_bytes.size() < layout.trailer_size() + size_of<other_record>) return 0;
    if (has(asked, identifier)) at = record_bytes.size() - 8;
    else if (has(asked, sample_field::id))
      at = record_bytes.size() - 8 - static_cast<std::size_t>(std::popcount(asked & mask_of(stream_id, cpu))) * 8;
    else return 0;
  }
  return at + 8 <= record_bytes.size() ? load<std::uint64_t, O>(record_bytes.data() + at) : 0;
}

}  // namespace backsight::perf
