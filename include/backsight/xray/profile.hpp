// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/offset_of.hpp>
#include <backsight/core/record.hpp>
#include <backsight/xray/profile_schema.hpp>

namespace backsight::xray {

/// A call path of a thread with its sums; a view of the profile's bytes.
class profile_path {
 public:
  constexpr profile_path() = default;
  constexpr profile_path(byte_view functions, order byte_order) noexcept : functions_(functions), order_(byte_order) {}

  /// The number of functions; at least one.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return functions_.size() / size_of<profile_function>; }
  /// The function id at a level: 0 is the innermost function, size() - 1 the outermost. Precondition: level < size().
  [[nodiscard]] constexpr std::uint32_t function(std::size_t level) const noexcept {
    BACKSIGHT_ASSERT(level < size());
    return with_order(order_, [&](auto o) {
      const record<profile_function, o()> at(functions_.data() + level * size_of<profile_function>);
      return static_cast<std::uint32_t>(at[profile_function::func_id]);
    });
  }

  std::uint64_t thread = 0;
  std::uint64_t calls = 0;
  std::uint64_t self_ticks = 0;  ///< without the time in functions that the innermost one called
  std::uint64_t offset = 0;      ///< of the path in the profile

 private:
  byte_view functions_;
  order order_ = order::little;
};

/// An opened profile: the decoded file header and a view of the whole file, which must outlive it. Trivially copyable.
class profile {
 public:
  constexpr profile() = default;

  [[nodiscard]] constexpr byte_view bytes() const noexcept { return bytes_; }
  [[nodiscard]] constexpr order byte_order() const noexcept { return order_; }
  /// When the profile was written, in nanoseconds of the system's clock.
  [[nodiscard]] constexpr std::uint64_t timestamp_ns() const noexcept { return timestamp_ns_; }
  [[nodiscard]] constexpr std::uint64_t process() const noexcept { return process_; }

 private:
  template <order O>
  friend constexpr bool decode_profile(byte_view bytes, profile& to) noexcept;

  byte_view bytes_;
  std::uint64_t timestamp_ns_ = 0;
  std::uint64_t process_ = 0;
  order order_ = order::little;
};

/// The bytes begin as a profile does, in one of the byte orders. Eight bytes are enough.
[[nodiscard]] constexpr bool is_profile(byte_view head) noexcept {
  constexpr std::size_t at = offset_of<profile_header>(profile_header::magic);
  return head.size() >= at + sizeof profile_magic &&
         (load<std::uint64_t, order::little>(head.data() + at) == profile_magic ||
          load<std::uint64_t, order::big>(head.data() + at) == profile_magic);
}

template <order O>
[[nodiscard]] constexpr bool decode_profile(byte_view bytes, profile& to) noexcept {
  const record<profile_header, O> header(bytes.data());
  to.bytes_ = bytes;
  to.order_ = O;
  to.timestamp_ns_ = header[profile_header::timestamp];
  to.process_ = header[profile_header::pid];
  return header[profile_header::version] == profile_version;
}

/// Opens an XRay profile. Errors: errc::truncated (fewer than 32 bytes) and errc::bad_magic at offset 0,
/// errc::unsupported_version at offset 8. A profile of nothing but a header is an empty one.
[[nodiscard]] constexpr result<profile> open_profile(byte_view bytes) noexcept {
  if (bytes.size() >= sizeof profile_magic && !is_profile(bytes)) return {errc::bad_magic, 0};
  if (bytes.size() < size_of<profile_header>) return {errc::truncated, 0};
  profile opened;
  const bool little = record<profile_header, order::little>(bytes.data())[profile_header::magic] == profile_magic;
  const bool known = little ? decode_profile<order::little>(bytes, opened) : decode_profile<order::big>(bytes, opened);
  if (!known) return {errc::unsupported_version, offset_of<profile_header>(profile_header::version)};
  return opened;
}

namespace detail {

/// The paths from `at` up to `end`; false when one of them could not be read.
template <order O, class Function, class OnFault>
constexpr bool for_each_path_between(byte_view bytes, std::size_t at, std::size_t end, errc at_end,
                                     std::uint64_t thread, Function& f, OnFault& on_fault) {
  constexpr std::size_t id_size = size_of<profile_function>;
  while (at != end) {
    std::size_t last = at;
    std::int32_t id = 1;
    while (end - last >= id_size && (id = load<std::int32_t, O>(bytes.data() + last)) > 0) last += id_size;
    const bool is_path = id == 0 && last != at;
    if (!is_path || end - last < id_size + size_of<profile_data>) {
      on_fault(fault{id < 0 || (id == 0 && last == at) ? errc::bad_value : at_end, at, end - at});
      return false;
    }
    const record<profile_data, O> data(bytes.data() + last + id_size);
    profile_path path(bytes.subspan(at, last - at), O);
    path.thread = thread;
    path.calls = data[profile_data::call_count];
    path.self_ticks = data[profile_data::cumulative_local_time];
    path.offset = at;
    f(static_cast<const profile_path&>(path));
    at = last + id_size + size_of<profile_data>;
  }
  return true;
}

template <order O, class Function, class OnFault>
constexpr void for_each_path(byte_view bytes, Function& f, OnFault& on_fault) {
  for (std::size_t at = size_of<profile_header>; at != bytes.size();) {
    const std::size_t left = bytes.size() - at;
    if (left < size_of<profile_block>) return on_fault(fault{errc::truncated, at, left});
    const record<profile_block, O> head(bytes.data() + at);
    const std::size_t size = head[profile_block::size];
    // Without the size of this block the next one cannot be found.
    if (size < size_of<profile_block>) return on_fault(fault{errc::bad_size, at, left});
    const bool is_whole = size <= left;
    const std::size_t end = is_whole ? at + size : bytes.size();
    const bool good = for_each_path_between<O>(bytes, at + size_of<profile_block>, end,
                                               is_whole ? errc::record_crosses_block : errc::truncated,
                                               head[profile_block::thread_id], f, on_fault);
    // Cut just behind a path.
    if (good && !is_whole) on_fault(fault{errc::truncated, end, 0});
    at = end;
  }
}

}  // namespace detail

/// Calls `f(const profile_path&)` for each path, block by block, in the order of the file. What cannot be read is told
/// as `on_fault(fault)`: a path that is not well formed (with it the rest of its block), a block whose size cannot be,
/// the end of a file that was cut. Costs one pass over the bytes and allocates nothing.
template <class Function, class OnFault>
constexpr void for_each_path(const profile& opened, Function&& f, OnFault&& on_fault) {
  with_order(opened.byte_order(), [&](auto o) { detail::for_each_path<o()>(opened.bytes(), f, on_fault); });
}

}  // namespace backsight::xray
