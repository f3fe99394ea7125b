// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/offset_of.hpp>
#include <backsight/core/record_range.hpp>

// The events of a page of the kernel's trace ring buffer, as trace_pipe_raw gives them. Source: Linux,
// include/linux/ring_buffer.h and kernel/trace/ring_buffer.c (struct ring_buffer_event).
namespace backsight::ftrace {

/// Values of `type_len` that are no number of words. Source: ring_buffer.h, enum ring_buffer_type.
enum class ring_type : std::uint8_t { long_data = 0, padding = 29, time_extend = 30, time_stamp = 31 };

/// The first word of every event. Bit-fields fill it as on the machine that wrote it, so one layout serves both byte
/// orders.
struct ring_event_head {
  static constexpr field<"type_len", std::uint8_t, 5>
      type_len{};  ///< 1 to 28: words of data; 0 and 29 to 31: see below
  static constexpr field<"time_delta", std::uint32_t, 27>
      time_delta{};  ///< nanoseconds since the event before, its low bits
};

/// An event with 4 to 112 bytes of data: type_len words.
struct ring_data : ring_event_head {
  static constexpr const char* name = "data";
  static constexpr std::size_t size = 4;
  static constexpr bool has_payload = true;
  static constexpr layout fields{word<32>(ring_event_head::type_len, ring_event_head::time_delta)};
};
/// An event with more data (type_len 0): `length` counts itself and the data, which is padded to words.
struct ring_long_data : ring_event_head {
  static constexpr const char* name = "long_data";
  static constexpr std::size_t size = 8;
  static constexpr bool has_payload = true;
  static constexpr field<"length", std::uint32_t> length{};
  static constexpr layout fields{word<32>(ring_event_head::type_len, ring_event_head::time_delta), length};
};
/// No event (type_len 29): with time_delta 0 the rest of the page is unused; else an event was discarded, and the first
/// word of the payload tells how many bytes follow the head.
struct ring_padding : ring_event_head {
  static constexpr const char* name = "padding";
  static constexpr std::size_t size = 4;
  static constexpr bool has_payload = true;
  static constexpr layout fields{word<32>(ring_event_head::type_len, ring_event_head::time_delta)};
};
/// A delta that needs more bits than time_delta has (type_len 30): it belongs to the next event and adds to that one's
/// own.
struct ring_time_extend : ring_event_head {
  static constexpr const char* name = "time_extend";
  static constexpr std::size_t size = 8;
  static constexpr field<"upper", std::uint32_t> upper{};  ///< the bits above those of time_delta
  static constexpr layout fields{word<32>(ring_event_head::type_len, ring_event_head::time_delta), upper};
};
/// The absolute time of the next event (type_len 31), its low 59 bits: time_delta and `upper`.
struct ring_time_stamp : ring_event_head {
  static constexpr const char* name = "time_stamp";
  static constexpr std::size_t size = 8;
  static constexpr field<"upper", std::uint32_t> upper{};  ///< the bits above those of time_delta
  static constexpr layout fields{word<32>(ring_event_head::type_len, ring_event_head::time_delta), upper};
};
static_assert(schema<ring_data> && schema<ring_long_data> && schema<ring_padding> && schema<ring_time_extend> &&
              schema<ring_time_stamp>);

/// The time that both members of a time_extend or time_stamp make.
template <schema S, order O>
[[nodiscard]] constexpr std::uint64_t whole_time(const record<S, O>& item) noexcept {
  return item[S::time_delta] | std::uint64_t{item[S::upper]} << S::time_delta.bits;
}

/// The events of one page behind its header.
template <order O>
struct ring_format {
  using records = record_list<ring_data, ring_long_data, ring_padding, ring_time_extend, ring_time_stamp>;
  using context = no_context;
  static constexpr order byte_order = O;
  static constexpr std::size_t head_bytes = size_of<ring_data>;

  [[nodiscard]] static constexpr kind_result kind_of(const std::byte* at, const context&) noexcept {
    switch (static_cast<ring_type>(record<ring_data, O>(at)[ring_event_head::type_len])) {
      case ring_type::long_data: return records::template kind<ring_long_data>;
      case ring_type::padding: return records::template kind<ring_padding>;
      case ring_type::time_extend: return records::template kind<ring_time_extend>;
      case ring_type::time_stamp: return records::template kind<ring_time_stamp>;
    }
    return records::template kind<ring_data>;
  }
  [[nodiscard]] static constexpr payload_result payload_size(const record<ring_data, O>& item,
                                                             const context&) noexcept {
    return std::size_t{item[ring_event_head::type_len]} * 4;
  }
  [[nodiscard]] static constexpr payload_result payload_size(const record<ring_long_data, O>& item,
                                                             const context&) noexcept {
    const std::size_t length = item[ring_long_data::length];
    constexpr std::size_t own = bytes_of(ring_long_data::length);
    if (length < own) return errc::bad_size;
    return (length - own + 3) / 4 * 4;
  }
  [[nodiscard]] static constexpr payload_result payload_size(const record<ring_padding, O>& item, byte_view rest,
                                                             const context&) noexcept {
    if (item[ring_event_head::time_delta] == 0) return rest.size();
    if (rest.size() < 4) return errc::truncated;
    const std::size_t length = load<std::uint32_t, O>(rest.data());
    return length < 4 ? payload_result(errc::bad_size) : payload_result(length);
  }
};
static_assert(record_format<ring_format<order::little>> && record_format<ring_format<order::big>>);

/// The events of one page.
template <order O>
using ring_records = record_range<ring_format<O>, grammar_check::ignored>;

}  // namespace backsight::ftrace
