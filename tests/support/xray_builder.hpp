// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <support/byte_builder.hpp>

namespace backsight::test {

/// Writes XRay logs byte by byte, from the format's description and without the library's schemas.
class xray_builder {
 public:
  enum kind : unsigned { new_buffer_, end_of_buffer_, cpu_, wrap_, wall_, custom_, argument_, extents_, typed_, pid_ };
  enum action : unsigned { enter, exit, tail_exit, enter_args };

  constexpr explicit xray_builder(order byte_order, unsigned version = 5)
      : out_(byte_order), order_(byte_order), version_(version) {}

  constexpr xray_builder& header(std::uint64_t buffer_size = 4096, unsigned type = 1,
                                 std::uint64_t frequency = 1000000000) {
    out_.u16(version_).u16(type);
    out_.u8(order_ == order::little ? 0x03 : 0xc0).fill(3);
    out_.u64(frequency).u64(buffer_size).u64(0);
    return *this;
  }
  constexpr xray_builder& function(unsigned what, std::uint32_t id, std::uint32_t delta) {
    out_.u32(order_ == order::little ? id << 4 | what << 1 : what << 28 | id).u32(delta);
    return *this;
  }
  /// The first byte of a metadata record.
  [[nodiscard]] constexpr unsigned head(unsigned number) const {
    return order_ == order::little ? number << 1 | 1U : number | 0x80U;
  }

  constexpr xray_builder& new_buffer(std::int32_t thread) { return begin(new_buffer_), out_.u32(bits(thread)), pad(4); }
  constexpr xray_builder& end_of_buffer() { return begin(end_of_buffer_), pad(0); }
  constexpr xray_builder& cpu(std::uint16_t id, std::uint64_t tsc) {
    return begin(cpu_), out_.u16(id).u64(tsc), pad(10);
  }
  constexpr xray_builder& wrap(std::uint64_t tsc) { return begin(wrap_), out_.u64(tsc), pad(8); }
  constexpr xray_builder& wall(std::uint64_t seconds, std::uint32_t microseconds) {
    return begin(wall_), out_.u64(seconds).u32(microseconds), pad(12);
  }
  constexpr xray_builder& argument(std::uint64_t value) { return begin(argument_), out_.u64(value), pad(8); }
  constexpr xray_builder& extents(std::uint64_t size) { return begin(extents_), out_.u64(size), pad(8); }
  constexpr xray_builder& pid(std::int32_t process) { return begin(pid_), out_.u32(bits(process)), pad(4); }
  /// Versions 1 to 4 take `tsc`, version 5 `delta`; version 4 `cpu`.
  constexpr xray_builder& custom(std::string_view payload, std::int32_t delta, std::uint64_t tsc = 0,
                                 std::uint16_t cpu = 0) {
    begin(custom_);
    out_.u32(payload.size());
    if (version_ >= 5) return out_.u32(bits(delta)), pad(8).text(payload);
    out_.u64(tsc);
    if (version_ < 4) return pad(12).text(payload);
    out_.u16(cpu);
    return pad(14).text(payload);
  }
  constexpr xray_builder& typed(std::string_view payload, std::uint16_t type, std::int32_t delta,
                                std::uint64_t tsc = 0) {
    begin(typed_);
    out_.u32(payload.size());
    if (version_ >= 5) return out_.u32(bits(delta)).u16(type), pad(10).text(payload);
    out_.u64(tsc).u16(type);
    return pad(14).text(payload);
  }
  /// What a block of this version begins with, behind its BufferExtents.
  constexpr xray_builder& preamble(std::int32_t thread = 11, std::int32_t process = 10, std::uint64_t seconds = 1,
                                   std::uint32_t microseconds = 2) {
    new_buffer(thread).wall(seconds, microseconds);
    return version_ >= 3 ? pid(process) : *this;
  }
  /// The records of `body` as a block: with BufferExtents from version 2 on; in version 1 with EndOfBuffer, and `rest`
  /// bytes behind it up to `buffer_size`.
  constexpr xray_builder& block(const xray_builder& body, std::size_t buffer_size = 4096, unsigned rest = 0) {
    if (version_ >= 2) {
      extents(body.size());
      return append(body.view());
    }
    append(body.view());
    end_of_buffer();
    out_.fill(buffer_size - body.size() - 16, rest);
    return *this;
  }
  constexpr xray_builder& basic_function(unsigned cpu, unsigned what, std::int32_t id, std::uint64_t tsc,
                                         std::uint32_t thread, std::uint32_t process) {
    out_.u16(0).u8(cpu).u8(what).u32(bits(id)).u64(tsc).u32(thread).u32(process).u64(0);
    return *this;
  }
  constexpr xray_builder& basic_argument(std::int32_t id, std::uint32_t thread, std::uint32_t process,
                                         std::uint64_t value) {
    out_.u16(1).u16(0).u32(bits(id)).u32(thread).u32(process).u64(value).u64(0);
    return *this;
  }
  constexpr xray_builder& append(byte_view more) {
    out_.append(more);
    return *this;
  }
  constexpr xray_builder& fill(std::size_t count, unsigned value = 0) {
    out_.fill(count, value);
    return *this;
  }
  constexpr xray_builder& text(std::string_view characters) {
    out_.text(characters);
    return *this;
  }

  [[nodiscard]] constexpr std::size_t size() const { return out_.size(); }
  [[nodiscard]] constexpr byte_view view() const { return out_.view(); }
  [[nodiscard]] constexpr unsigned version() const { return version_; }
  [[nodiscard]] constexpr order byte_order() const { return order_; }

 private:
  static constexpr std::uint32_t bits(std::int32_t value) { return static_cast<std::uint32_t>(value); }
  constexpr void begin(unsigned number) { out_.u8(head(number)); }
  /// Ends a metadata record that has `used` bytes behind its first; unused bytes are not zero in real logs either.
  constexpr xray_builder& pad(std::size_t used) {
    out_.fill(15 - used, 0xaa);
    return *this;
  }

  byte_builder out_;
  order order_;
  unsigned version_;
};

}  // namespace backsight::test
