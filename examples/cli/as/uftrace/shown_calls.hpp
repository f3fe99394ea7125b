// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include <backsight/uftrace/events.hpp>

#include "call_stacks.hpp"

namespace cli::as_uftrace {

using namespace backsight;
using namespace backsight::uftrace;

/// As stack_options::depth: no level is left out.
inline constexpr std::int32_t every_level = std::numeric_limits<std::int32_t>::max();

/// The calls that uftrace shows with these options; for uftrace::for_each_call.
class shown_calls {
 public:
  shown_calls(const recording& from, const stack_options& options)
      : stacks_(from, options), everything_(options.depth == every_level && options.functions == nullptr) {}

  void consume(const merged_record& r) {
    if (!everything_) stacks_.consume(r);
  }
  /// Whether an entry or exit that was just consumed is shown.
  [[nodiscard]] bool shows(const merged_record& r, const resolver& names, const function& found) {
    if (everything_) return true;
    task_stack& t = stacks_.of(r);
    if (r.type == record_type::exit) return stacks_.show_exit(t);
    stacks_.note(t, found.special);
    if (!stacks_.show_entry(t, names, found)) return false;
    stacks_.apply(t, found.special);
    return true;
  }

 private:
  call_stacks stacks_;
  bool everything_;
};
static_assert(call_choice<shown_calls>);

}  // namespace cli::as_uftrace
