// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <backsight/core/event.hpp>
#include <backsight/uftrace/merge.hpp>

namespace backsight::uftrace {

/// A record as an event of a call trace, for the analyzers and exporters that know no format. `function` is the name's
/// number in the resolver; `time` counts nanoseconds of the trace clock.
struct call_event {
  event_kind kind = event_kind::mark;
  std::uint64_t function = 0;
  std::uint64_t time = 0;
  std::uint64_t thread = 0;  ///< tid
  std::uint64_t depth = 0;   ///< the true one: also beyond 1023 levels
  bool ambiguous = false;    ///< libraries were loaded over one another there: the name is that of the newest
};
static_assert(backsight::call_event<call_event>);

/// Gives back depth and address beyond 1023 levels. The recorder adds the part of the depth that does not fit its ten bits
/// to the address; from one record of a task to the next the depth changes by little, which tells how often it has wrapped.
/// One object for each task; costs a few instructions for each record.
class depth_repair {
 public:
  struct result {
    std::uint64_t depth = 0;
    std::uint64_t address = 0;
  };
  /// Takes the entries and exits of a task in their order.
  [[nodiscard]] constexpr result operator()(record_type type, std::uint16_t stored_depth, std::uint64_t stored_address) noexcept {
    const std::uint64_t depth = stored_depth;
    if (started_) {
      // The next entry lies where the last record left the stack, the next exit one below; longjmp and exceptions leave
      // levels but never more than half of the range at once without an exit of their own.
      const std::uint64_t expected = type == record_type::entry ? height_ : (height_ == 0 ? 0 : height_ - 1);
      const std::uint64_t base = expected / 1024 * 1024;
      std::uint64_t best = base + depth;
      for (const std::uint64_t candidate : {base + depth + 1024, base >= 1024 ? base + depth - 1024 : base + depth}) {
        if (distance(candidate, expected) < distance(best, expected)) best = candidate;
      }
      level_ = best;
    } else {
      level_ = depth;
      started_ = true;
    }
    height_ = type == record_type::entry ? level_ + 1 : level_;
    return {level_, stored_address - level_ / 1024};
  }
  /// The next record may be at any depth: behind lost records or an exec.
  constexpr void forget() noexcept { started_ = false; }
  /// How many functions are open behind the last record.
  [[nodiscard]] constexpr std::uint64_t height() const noexcept { return height_; }

 private:
  static constexpr std::uint64_t distance(std::uint64_t a, std::uint64_t b) noexcept { return a > b ? a - b : b - a; }
  std::uint64_t level_ = 0, height_ = 0;
  bool started_ = false;
};

/// Calls `f(call_event)` for all entries and exits of a recording in the order of time, with true depths and addresses.
/// Damage is passed over. Gives the faults. The resolver gives the names of the functions.
template <class F>
std::vector<task_fault> for_each_call(resolver& names, F&& f) {
  merge records(names, {.scheduler = false, .salvage = true});
  std::vector<depth_repair> repair(names.source().data.size());
  merged_record r;
  while (records.next(r)) {
    if (r.type == record_type::lost && r.source == record_source::task_file) repair[r.data_index].forget();
    if (r.type != record_type::entry && r.type != record_type::exit) continue;
    // The kernel counts its own levels, on top of those of the program, and its addresses are whole.
    const auto [depth, address] = r.source == record_source::kernel_file
                                      ? depth_repair::result{repair[r.data_index].height() + r.depth, r.address}
                                      : repair[r.data_index](r.type, r.depth, r.address);
    const function& found = names.find(r.data_index, r.time, address);
    if (found.special == special_function::exec) repair[r.data_index].forget();
    const bool ambiguous = !names.is_lasting(r.data_index, r.time) && names.candidates(r.data_index, r.time, address) > 1;
    f(call_event{r.type == record_type::entry ? event_kind::enter : event_kind::exit, found.name, r.time,
                 names.source().data[r.data_index].tid, depth, ambiguous});
  }
  return records.faults();
}

}  // namespace backsight::uftrace
