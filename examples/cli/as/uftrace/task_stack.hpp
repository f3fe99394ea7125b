// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "function_filter.hpp"

// What is known of a task while its records are consumed; call_stacks keeps one for each.
namespace cli::as_uftrace {

using namespace backsight;
using namespace backsight::uftrace;

/// One open function, or a slot that was one: slots are reused and never cleared.
struct frame {
  static constexpr std::uint32_t no_name = 0xffffffff;
  std::uint64_t total = 0;       ///< when it was entered while it is open; then how long it took
  std::uint64_t child = 0;       ///< how long the functions that it called took
  std::uint32_t name = no_name;  ///< a name of the resolver, kept by the analysis that runs
  bool valid = false;            ///< open
  bool hidden = false;           ///< beyond the depth filter
  std::int32_t credit = 0;       ///< of the depth filter when it was entered
  filter_action::kind calls = filter_action::kind::none;  ///< what the function filter does from here on
};

/// The state of one task.
struct task_stack {
  std::vector<std::uint64_t> addresses;  ///< of the frames; apart from them so that a search for one reads little
  std::vector<frame> frames;
  std::int64_t height = 0;       ///< open functions and waits, known or not
  std::int64_t user_height = 0;  ///< functions of the task file that were entered and not left
  std::int64_t shown_depth = 0;  ///< at which replay prints
  std::int64_t fork_depth = 0;   ///< shown_depth behind the last fork; where a child begins
  std::int32_t credit = 0;       ///< levels that the depth filter still lets through
  bool depth_known = true;       ///< shown_depth is right; not after lost records
  bool started = false;
  bool lost = false;  ///< records were lost just now
  bool last_was_perf = false;
  bool in_kernel = false;              ///< the last entry or exit was one of the kernel
  bool outside_program = false;        ///< the last record was the kernel's, outside of any function of the program
  std::int32_t included = 0;           ///< open functions that the function filter includes
  std::int32_t excluded = 0;           ///< open functions that it excludes
  bool outside = false;                ///< nothing is shown here, by these two
  std::uint64_t last_time = 0;         ///< of its last record in the task file; 0 behind lost ones
  std::uint64_t time_before_loss = 0;  ///< of the record before the last lost ones
  std::uint64_t consumed_time = 0;     ///< of its last record of any source

  /// A time at which the task's open functions were there, so that their addresses can be named.
  [[nodiscard]] std::uint64_t naming_time() const noexcept { return last_time != 0 ? last_time : time_before_loss; }
};

}  // namespace cli::as_uftrace
