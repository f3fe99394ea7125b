// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/schema.hpp>

/// LLVM XRay profiles, the logs of the profiling mode: calls and times of each call path, added up while the program
/// ran.
///
/// Sources of the layouts: compiler-rt/lib/xray/xray_profile_collector.cpp, which writes them, and
/// llvm/lib/XRay/Profile.cpp, which reads the paths (and no file header).
namespace backsight::xray {

/// The first 32 bytes of a profile.
struct profile_header {
  static constexpr const char* name = "profile_header";
  /// `xrayprof` as a number.
  static constexpr field<"magic", std::uint64_t> magic{};
  static constexpr field<"version", std::uint64_t> version{};
  /// When the profile was written, in nanoseconds of the system's clock.
  static constexpr field<"timestamp", std::uint64_t> timestamp{};
  static constexpr field<"pid", std::uint64_t> pid{};
  static constexpr layout fields{magic, version, timestamp, pid};
};
static_assert(schema<profile_header>);

inline constexpr std::uint64_t profile_magic = 0x7872617970726f66;
inline constexpr std::uint64_t profile_version = 0x20180424;

/// The begin of what one thread gathered; paths follow up to `size` bytes from here.
struct profile_block {
  static constexpr const char* name = "profile_block";
  static constexpr field<"size", std::uint32_t> size{};
  static constexpr field<"number", std::uint32_t> number{};
  static constexpr field<"thread_id", std::uint64_t> thread_id{};
  static constexpr layout fields{size, number, thread_id};
};
static_assert(schema<profile_block>);

/// A function of a path. The innermost comes first, and 0 ends the path.
struct profile_function {
  static constexpr const char* name = "profile_function";
  static constexpr field<"func_id", std::int32_t> func_id{};
  static constexpr layout fields{func_id};
};
static_assert(schema<profile_function>);

/// What follows the functions of a path.
struct profile_data {
  static constexpr const char* name = "profile_data";
  static constexpr field<"call_count", std::uint64_t> call_count{};
  /// Ticks in the innermost function of the path, without those in functions that it called.
  static constexpr field<"cumulative_local_time", std::uint64_t> cumulative_local_time{};
  static constexpr layout fields{call_count, cumulative_local_time};
};
static_assert(schema<profile_data>);

}  // namespace backsight::xray
