// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace baseline {

/// What every bench of XRay logs computes, so that all must agree.
struct totals {
  std::uint64_t functions = 0;  ///< Function records.
  std::uint64_t delta_sum = 0;  ///< Of their tsc_delta.
  std::uint64_t others = 0;     ///< Metadata records.
  bool good = true;             ///< No record was refused.

  totals& operator+=(const totals& more) {
    functions += more.functions;
    delta_sum += more.delta_sum;
    others += more.others;
    good = good && more.good;
    return *this;
  }
  friend bool operator==(const totals&, const totals&) = default;
};

/// The records of a little-endian FDR log of version 5 behind its file header, read by hand with pointers, as one would
/// without a library: with all checks (bounds, discriminator, action, kind, sizes of events, and what may follow what).
inline totals xray_pointer_loop(const unsigned char* at, const unsigned char* const end) {
  enum kind : unsigned {
    new_buffer,
    end_of_buffer,
    new_cpu,
    wrap,
    wall,
    custom,
    argument,
    extents,
    typed,
    pid,
    function,
    start
  };
  constexpr auto bit = [](unsigned k) { return 1U << k; };
  constexpr unsigned body = (1U << new_cpu) | (1U << wrap) | (1U << custom) | (1U << typed) | (1U << function) |
                            (1U << extents) | (1U << new_buffer);
  constexpr std::array<unsigned, 12> follow{bit(wall),                        // new_buffer
                                            0,                                // end_of_buffer: not in version 5
                                            body,                             // new_cpu
                                            body,                             // wrap
                                            bit(pid) | bit(new_cpu),          // wall
                                            body,                             // custom
                                            body | bit(argument),             // argument
                                            bit(new_buffer),                  // extents
                                            body,                             // typed
                                            bit(new_cpu),                     // pid
                                            body | bit(argument),             // function
                                            bit(extents) | bit(new_buffer)};  // start
  constexpr unsigned last =
      bit(new_cpu) | bit(wrap) | bit(custom) | bit(argument) | bit(extents) | bit(typed) | bit(function) | bit(start);

  totals out;
  unsigned state = start;
  const auto refuse = [&] {
    out.good = false;
    return out;
  };
  while (at != end) {
    const auto left = static_cast<std::size_t>(end - at);
    if ((*at & 1) == 0) {
      if (left < 8) return refuse();
      std::uint32_t head, delta;
      std::memcpy(&head, at, 4);
      std::memcpy(&delta, at + 4, 4);
      if ((head >> 1 & 7) > 3) return refuse();
      if ((follow[state] >> function & 1) == 0) return refuse();
      state = function;
      ++out.functions;
      out.delta_sum += delta;
      at += 8;
      continue;
    }
    if (left < 16) return refuse();
    const unsigned kind = *at >> 1;
    if (kind > pid || (follow[state] >> kind & 1) == 0) return refuse();
    state = kind;
    std::size_t size = 16;
    if (kind == custom || kind == typed) {
      std::int32_t payload;
      std::memcpy(&payload, at + 1, 4);
      if (payload <= 0 || static_cast<std::uint32_t>(payload) > left - 16) return refuse();
      size += static_cast<std::uint32_t>(payload);
    }
    ++out.others;
    at += size;
  }
  if ((last >> state & 1) == 0) out.good = false;
  return out;
}

/// Adds up the bytes as 64-bit words: as fast as memory gives them.
inline std::uint64_t word_sum(const unsigned char* data, std::size_t size) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, data + i, 8);
    sum += word;
  }
  return sum;
}

}  // namespace baseline
