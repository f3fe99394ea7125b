// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <backsight/core/event.hpp>
#include <backsight/memtrace/record_follower.hpp>

namespace backsight::memtrace {

/// The entry or exit of a function: models call_event.
struct call {
  event_kind kind = event_kind::mark;
  std::uint32_t cpu = 0;  ///< As the last CPU_ID marker has it; no_cpu where that is not known.
  std::uint64_t function =
      0;  ///< Its first PC, or the number of its function markers; 0 for an exit of what was not seen to be called.
  std::uint64_t time = 0;
  std::uint64_t thread = 0;
  std::int64_t process = 0;
};
inline constexpr std::uint32_t no_cpu = 0xffffffff;
static_assert(call_event<call>);

/// What the times of calls count.
enum class call_clock : std::uint8_t {
  instructions,  ///< Instructions of the thread that were traced: exact, and without what was not traced.
  timestamps,  ///< Microseconds since 1601, of the last TIMESTAMP marker: what lies between two of them takes no time.
};

/// Makes calls of the records of one thread of a final memtrace. A call is entered at the instruction behind a call
/// instruction. A return ends the nearest call that goes on at its target; those above it were left by a jump
/// (tail_exit), and when there is none, it is the exit of a function that is not known, 0. The handler of a signal is
/// entered behind a KERNEL_EVENT marker and ends with KERNEL_XFER or its return; what the kernel calls in a traced
/// system call or context switch ends with that. With `by_markers`, for traces whose instructions were filtered,
/// FUNC_ID markers make calls instead: an entry with a return address or argument behind, an exit with a return value
/// behind. With `from_endpoint`, for windows that begin filtered, what comes before the FILTER_ENDPOINT marker only
/// counts: there the instruction behind a call is not the next one that was recorded.
/// An `f` that takes them is called as `f(call, values)`: the arguments of an entry or the value that an exit gives
/// back, as std::span<const std::uint64_t>, where function markers told them.
/// A record costs some comparisons; returns cost O(1) on average, whatever the trace holds.
class call_follower {
 public:
  call_follower() = default;
  /// `events_have_pcs`: KERNEL_EVENT markers hold the interrupted PC, as from version 3 on.
  explicit call_follower(call_clock clock, bool by_markers, bool events_have_pcs, bool from_endpoint = false)
      : clock_(clock), by_markers_(by_markers), events_have_pcs_(events_have_pcs), before_endpoint_(from_endpoint) {}

  /// Says whose records come next, and where its clock is.
  void set_thread(std::uint64_t thread, std::uint64_t instructions_before, std::uint64_t time) noexcept {
    thread_ = thread;
    instructions_ = instructions_before;
    time_ = time;
  }
  void set_process(std::uint64_t process) noexcept { process_ = static_cast<std::int64_t>(process); }

  /// Takes the next record and calls `f(call)` for what it begins or ends.
  template <class F>
  void on(trace_type type, std::uint16_t size, std::uint64_t value, F&& f) {
    if (entered_ && (type != trace_type::marker || static_cast<marker_type>(size) != marker_type::func_arg))
      tell_entered(f);
    const record_role role = records_.next(type, size, value);
    if (is_instruction(type)) {
      if (role == record_role::instruction) instruction(type, size, value, f);
    } else if (type == trace_type::marker) {
      marker(static_cast<marker_type>(size), value, f);
    } else if (type == trace_type::pid) {
      set_process(value);
    }
  }
  /// Behind the last record: tells what waited for more arguments.
  template <class F>
  void finish(F&& f) {
    if (entered_) tell_entered(f);
  }
  /// The calls that are open.
  [[nodiscard]] std::size_t depth() const noexcept { return open_.size(); }

 private:
  enum class waiting : std::uint8_t { nothing, call, back, handler };
  struct frame {
    std::uint64_t function = 0;
    std::uint64_t going_on_at = 0;  ///< Where its return goes; not of handlers.
    bool handler = false;
  };

  template <class F>
  void tell(event_kind kind, std::uint64_t function, F&& f, std::span<const std::uint64_t> values = {}) const {
    const call made{kind,    cpu_,    function, clock_ == call_clock::instructions ? instructions_ : time_,
                    thread_, process_};
    if constexpr (std::invocable<F&, const call&, std::span<const std::uint64_t>>) f(made, values);
    else f(made);
  }
  /// An entry by markers waits for its last argument.
  template <class F>
  void tell_entered(F&& f) {
    tell(event_kind::enter, *entered_, f, arguments_);
    entered_.reset();
    arguments_.clear();
  }

  template <class F>
  void instruction(trace_type type, std::uint16_t size, std::uint64_t pc, F&& f) {
    arrive(pc, f);
    ++instructions_;
    if (by_markers_ || before_endpoint_) return;
    if (type == trace_type::instr_direct_call || type == trace_type::instr_indirect_call) {
      waiting_ = waiting::call;
      going_on_at_ = pc + size;
    } else if (type == trace_type::instr_return) {
      if (const auto target = records_.branch_target()) leave(*target, f);
      else waiting_ = waiting::back;
    }
  }

  /// Control is at `pc`: what waited for that is done.
  template <class F>
  void arrive(std::uint64_t pc, F&& f) {
    switch (waiting_) {
      case waiting::nothing: return;
      case waiting::call:
        open_.push_back({pc, going_on_at_, false});
        if (counting_) ++counts_[going_on_at_];
        tell(event_kind::enter, pc, f);
        break;
      case waiting::handler:
        open_.push_back({pc, 0, true});
        ++handlers_;
        tell(event_kind::enter, pc, f);
        break;
      case waiting::back: leave(pc, f); break;
    }
    waiting_ = waiting::nothing;
  }

  template <class F>
  void leave(std::uint64_t target, F&& f) {
    const std::size_t height = find(target);
    if (height != 0) close_to(height - 1, f);
    else if (!open_.empty() && open_.back().handler) close_to(open_.size() - 1, f);
    else tell(event_kind::exit, 0, f);
  }

  /// One more than the index of the nearest open call that goes on at `target`; 0 when there is none.
  [[nodiscard]] std::size_t find(std::uint64_t target) {
    if (counting_ && !counts_.contains(target)) return 0;
    std::size_t height = open_.size();
    while (height != 0 && (open_[height - 1].handler || open_[height - 1].going_on_at != target)) --height;
    // Returns to nowhere must not each search all that is open: from here on it is counted where open calls go on.
    if (height == 0 && (steps_in_vain_ += open_.size()) > patience && !counting_) {
      counting_ = true;
      for (const frame& one : open_) {
        if (!one.handler) ++counts_[one.going_on_at];
      }
    }
    return height;
  }

  /// Ends the calls above a height, the innermost first; all but the lowest were left by a jump.
  template <class F>
  void close_to(std::size_t height, F&& f) {
    while (open_.size() > height) {
      const frame top = open_.back();
      open_.pop_back();
      if (top.handler) {
        --handlers_;
      } else if (counting_) {
        const auto at = counts_.find(top.going_on_at);
        if (--at->second == 0) counts_.erase(at);
      }
      tell(open_.size() == height ? event_kind::exit : event_kind::tail_exit, top.function, f);
    }
  }

  template <class F>
  void marker(marker_type type, std::uint64_t value, F&& f) {
    if (function_) function_marker(type, value, f);
    else if (entered_ && type == marker_type::func_arg && arguments_.size() < most_arguments)
      arguments_.push_back(value);
    switch (type) {
      case marker_type::timestamp: time_ = value; break;
      case marker_type::cpu_id: cpu_ = value < no_cpu ? static_cast<std::uint32_t>(value) : no_cpu; break;
      case marker_type::filter_endpoint: before_endpoint_ = false; break;
      case marker_type::func_id:
        if (by_markers_) function_ = value;
        break;
      case marker_type::kernel_event:
        if (events_have_pcs_ && value != 0) arrive(value, f);
        waiting_ = by_markers_ || before_endpoint_ ? waiting::nothing : waiting::handler;
        break;
      case marker_type::kernel_xfer: {
        waiting_ = waiting::nothing;
        if (handlers_ == 0) break;
        std::size_t height = open_.size();
        while (!open_[height - 1].handler) --height;
        close_to(height - 1, f);
        break;
      }
      case marker_type::syscall_trace_start:
      case marker_type::context_switch_start: borders_.push_back(open_.size()); break;
      case marker_type::syscall_trace_end:
      case marker_type::context_switch_end:
        waiting_ = waiting::nothing;
        if (borders_.empty()) break;
        close_to(borders_.back(), f);
        borders_.pop_back();
        break;
      default: break;
    }
  }
  /// The marker behind a FUNC_ID tells what it meant.
  template <class F>
  void function_marker(marker_type type, std::uint64_t value, F&& f) {
    if (type == marker_type::func_retaddr || type == marker_type::func_arg) {
      entered_ = *function_;
      if (type == marker_type::func_arg) arguments_.push_back(value);
    } else if (type == marker_type::func_retval) {
      tell(event_kind::exit, *function_, f, std::span(&value, 1));
    }
    function_.reset();
  }

  /// Functions that are recorded have few; hostile traces may tell any number.
  static constexpr std::size_t most_arguments = 64;

  /// Steps that returns to nowhere may cost before it is counted where calls go on.
  static constexpr std::size_t patience = std::size_t{1} << 16;

  record_follower records_;
  std::vector<frame> open_;
  std::uint64_t instructions_ = 0, time_ = 0, thread_ = 0, going_on_at_ = 0;
  std::int64_t process_ = 0;
  std::uint32_t cpu_ = no_cpu;
  call_clock clock_ = call_clock::instructions;
  bool by_markers_ = false, events_have_pcs_ = true, before_endpoint_ = false, counting_ = false;
  waiting waiting_ = waiting::nothing;
  std::optional<std::uint64_t> function_;  ///< of a FUNC_ID marker
  std::optional<std::uint64_t> entered_;   ///< of an entry by markers that was not told yet
  std::vector<std::uint64_t> arguments_;   ///< of that
  std::size_t handlers_ = 0, steps_in_vain_ = 0;
  std::vector<std::size_t> borders_;  ///< open calls when the kernel's records began
  std::unordered_map<std::uint64_t, std::size_t>
      counts_;  ///< how many open calls go on at a place; kept while counting_
};

}  // namespace backsight::memtrace
