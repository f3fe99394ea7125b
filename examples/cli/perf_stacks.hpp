// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <backsight/cfi/frame.hpp>
#include <backsight/perf/processes.hpp>
#include <backsight/perf/stacks.hpp>

#include "perf_input.hpp"
#include "perf_objects.hpp"

namespace cli::perf_data {

struct stack_options {
  std::vector<std::string> sysroots;
  unsigned jobs = 1;
  unsigned longest = 127;  ///< addresses of a recorded chain, and of what is unwound
  /// Read stacks as perf does, which never uses the last word of one.
  bool as_perf = false;
};

/// A sample with its stack. Valid during the call that it is given to.
struct sampled_stack {
  backsight::perf::sample members;
  std::uint32_t event = 0;
  std::uint16_t misc = 0;
  std::uint32_t name = 0;  ///< of the thread, see process_list::name
  const backsight::perf::process* owner = nullptr;
  backsight::perf::word_list deferred;       ///< the user part of the call chain where that came later
  bool is_unwound = false;                   ///< registers and stack were recorded and walked
  std::span<const std::uint64_t> addresses;  ///< what was unwound: the pc, then the places of calls
  backsight::cfi::stop why{};                ///< why the walk ended
  bool ends_with_zero = false;               ///< it ended at a return address of 0, not at a frame without one
  std::uint64_t stack_pointer = 0;           ///< where the recorded stack begins

  /// Calls `f(stack_entry)` for each address, the innermost first.
  template <class F>
  void for_each(unsigned longest, F&& f) const {
    using namespace backsight::perf;
    (void)for_each_address(members.callchain, deferred, cpu_mode_of(misc), longest, f);
    for (const std::uint64_t address : addresses)
      f(stack_entry{address, cpu_mode::user, &address == addresses.data(), true});
  }
  /// The stack's user part goes on behind what was recorded of it.
  [[nodiscard]] bool is_cut() const { return is_unwound && why == backsight::cfi::stop::unreadable; }
};

/// Takes samples in the order of time; each worker those of a part of a batch.
class stack_worker {
 public:
  virtual ~stack_worker() = default;
  virtual void take(const sampled_stack& one) = 0;
};
class stack_consumer {
 public:
  virtual ~stack_consumer() = default;
  [[nodiscard]] virtual std::unique_ptr<stack_worker> make_worker() = 0;
  /// A batch is done: the workers in the order of their parts.
  virtual void done(std::span<const std::unique_ptr<stack_worker>> workers) = 0;
};

/// What addresses are named by.
struct address_context {
  const backsight::perf::process_list& processes;
  objects& files;

  /// Where an address lies; null when nothing is mapped there.
  [[nodiscard]] const backsight::perf::mapping* find(const backsight::perf::process& owner, std::uint64_t address,
                                                     backsight::perf::cpu_mode mode) const {
    using backsight::perf::cpu_mode;
    if (mode == cpu_mode::kernel) return processes.kernel().find(address);
    return mode == cpu_mode::user ? owner.maps->find(address) : nullptr;
  }
};

/// What a consumer needs to know of the recording while samples come.
struct stack_context : address_context {
  const recording_input& recording;
  const stack_options& options;
};

/// What did not reach the recording, as its own records say.
struct lost_counts {
  std::uint64_t records = 0;   ///< of any kind, for which the kernel's buffer had no room
  std::uint64_t samples = 0;   ///< that an event could not deliver, as the recorder counted them at its end
  std::uint64_t filtered = 0;  ///< samples that its filter left out, as it was asked to
  [[nodiscard]] bool any() const { return records != 0 || samples != 0; }

  void take(const backsight::perf::stored_record& record);
};
/// Says what was lost, and that samples were left out.
void say_what_is_lost(const std::string& path, const lost_counts& lost);

/// Counts of a whole recording.
struct stack_counts {
  std::uint64_t samples = 0, unwound = 0, frames = 0, without_event = 0, damaged = 0;
  lost_counts lost;
};

/// Reads all samples of a recording; `make(context)` makes the consumer. Faults are reported, and what was lost. Gives
/// bad_input when there were faults.
[[nodiscard]] int for_each_stack(const recording_input& recording, const stack_options& options,
                                 const std::function<std::unique_ptr<stack_consumer>(const stack_context&)>& make,
                                 stack_counts& counts);

}  // namespace cli::perf_data
