// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include <backsight/analysis/call_stack.hpp>
#include <backsight/analysis/filtered_trace.hpp>
#include <backsight/analysis/long_calls.hpp>
#include <backsight/core/call_trace.hpp>

namespace backsight::analysis {

/// Which calls of a trace to show, by all choices at once: those by functions look at the whole stack, `levels` counts
/// what these leave, and `at_least` measures that. For another order choose of what was chosen. Times are ticks of the
/// trace.
struct call_choice {
  /// Threads to show; all when empty.
  std::function<bool(std::int64_t process, std::uint64_t thread)> threads{};
  /// The span of time to show: calls that are open at its begin begin there, those that are open at its end end there,
  /// so that paths are whole and the times of a thread add up to the span.
  std::uint64_t begin = 0;
  std::uint64_t end = std::numeric_limits<std::uint64_t>::max();
  /// Functions to show with what they call; all when empty.
  std::function<bool(std::uint64_t function)> only{};
  /// Functions to leave out with what they call.
  std::function<bool(std::uint64_t function)> without{};
  /// Functions to leave out, but not what they call.
  std::function<bool(std::uint64_t function)> hidden{};
  /// How many levels to show, of those that the other choices leave.
  std::size_t levels = std::numeric_limits<std::size_t>::max();
  /// Leave out calls that take less.
  std::uint64_t at_least = 0;

  [[nodiscard]] bool all() const {
    return !threads && begin == 0 && end == std::numeric_limits<std::uint64_t>::max() && !only && !without && !hidden &&
           levels == std::numeric_limits<std::size_t>::max() && at_least == 0;
  }
};

namespace detail {

/// What a predicate said of a function, asked once.
class remembered {
 public:
  [[nodiscard]] bool operator()(const std::function<bool(std::uint64_t)>& asked, std::uint64_t function) {
    const auto [at, inserted] = known_.try_emplace(function, false);
    if (inserted) at->second = asked(function);
    return at->second;
  }

 private:
  std::unordered_map<std::uint64_t, bool> known_;
};

template <call_event Event>
class chosen_calls {
 public:
  explicit chosen_calls(const call_choice& choice) : choice_(&choice), long_ones_(choice.at_least) {}

  template <class Next>
  void on(const Event& event, Next&& next) {
    if (choice_->at_least == 0) return choose(event, next);
    choose(event, [&](const Event& chosen) { long_ones_.on(chosen, next); });
  }
  template <class Next>
  void finish(Next&& next) {
    if (choice_->at_least != 0) long_ones_.finish(next);
  }

 private:
  /// The tag of a frame: whether it is shown, whether what it calls may be, and on how many levels that is.
  static constexpr std::uint64_t shown = 1, left_out = 2, inside = 4, one_level = 8;
  enum class when : std::uint8_t { before, within, behind };
  struct thread {
    call_stack stack;
    std::vector<Event> entries;  ///< Of the frames, where times are cut.
    when at = when::before;
    bool wanted = true;
  };

  [[nodiscard]] bool cuts() const noexcept {
    return choice_->begin != 0 || choice_->end != std::numeric_limits<std::uint64_t>::max();
  }
  [[nodiscard]] thread& of(const Event& event) {
    const std::pair key{static_cast<std::int64_t>(event.process), static_cast<std::uint64_t>(event.thread)};
    if (last_ != nullptr && key == last_key_) return *last_;
    const auto [at, inserted] = threads_.try_emplace(key);
    if (inserted && choice_->threads) at->second.wanted = choice_->threads(key.first, key.second);
    last_key_ = key;
    return *(last_ = &at->second);
  }
  [[nodiscard]] std::uint64_t tag_of(std::uint64_t function, std::uint64_t caller) {
    std::uint64_t tag = caller & ~shown;
    // Asked of every function, wherever it is called: who asks may count what matched.
    if (choice_->only && is_only_(choice_->only, function)) tag |= inside;
    if (choice_->without && is_without_(choice_->without, function)) tag |= left_out;
    const bool is_hidden = choice_->hidden && is_hidden_(choice_->hidden, function);
    if ((tag & (inside | left_out)) != inside || is_hidden) return tag;
    if (tag / one_level < choice_->levels) tag |= shown;
    return tag + one_level;
  }
  [[nodiscard]] std::uint64_t caller_of(const thread& in, std::size_t depth) const {
    return depth == 0 ? (choice_->only ? 0 : inside) : in.stack.frames()[depth - 1].tag;
  }

  template <class Next>
  void choose(const Event& event, Next&& next) {
    thread& in = of(event);
    if (!in.wanted) return;
    const bool cut = cuts();
    if (cut && in.at == when::before && event.time >= choice_->begin) {
      in.at = when::within;
      give_open(in, event_kind::enter, choice_->begin, next);
    }
    if (cut && in.at == when::within && event.time >= choice_->end) {
      give_open(in, event_kind::exit, choice_->end, next);
      in.at = when::behind;
    }
    if (in.at == when::behind) return;
    const bool gives = !cut || in.at == when::within;
    if (event.kind == event_kind::mark) {
      const std::uint64_t caller = caller_of(in, in.stack.frames().size());
      if (gives && (caller & (inside | left_out)) == inside && caller / one_level <= choice_->levels) next(event);
      return;
    }
    bool is_shown = false, matched = false;
    in.stack.on(
        event,
        [&](call_stack::frame& frame, std::size_t depth) {
          frame.tag = tag_of(frame.function, caller_of(in, depth));
          matched = true;
          is_shown = (frame.tag & shown) != 0;
          if (cut) in.entries.push_back(event);
        },
        [&](const finished_call& call, const call_stack::frame& frame) {
          if (cut) in.entries.pop_back();
          if (!call.has_exit) return;
          matched = true;
          is_shown = (frame.tag & shown) != 0;
        });
    // An exit that ends nothing stays where a call of its function would: it tells that something is missing.
    if (!matched) is_shown = (tag_of(event.function, caller_of(in, in.stack.frames().size())) & shown) != 0;
    if (gives && is_shown) next(event);
  }

  /// Begins or ends what is open and shown at an edge of the span, the outermost or the innermost first.
  template <class Next>
  void give_open(thread& in, event_kind kind, std::uint64_t time, Next&& next) {
    const std::size_t count = in.entries.size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = kind == event_kind::enter ? i : count - 1 - i;
      if ((in.stack.frames()[at].tag & shown) == 0) continue;
      Event made = in.entries[at];
      made.kind = kind;
      made.time = time;
      next(static_cast<const Event&>(made));
    }
  }

  const call_choice* choice_;
  long_calls<Event> long_ones_;
  remembered is_only_, is_without_, is_hidden_;
  std::map<std::pair<std::int64_t, std::uint64_t>, thread> threads_;
  std::pair<std::int64_t, std::uint64_t> last_key_{};
  thread* last_ = nullptr;
};

}  // namespace detail

/// The calls of a trace that `choice` leaves, as a call_trace; the trace must outlive it. The predicates are asked
/// while parts are walked.
template <call_trace T>
[[nodiscard]] auto chosen(const T& trace, call_choice choice) {
  auto make = [kept = std::move(choice)] { return detail::chosen_calls<typename T::event_type>(kept); };
  return filtered_trace<T, decltype(make)>(trace, std::move(make));
}

/// The first tick of a trace's clock at which to_ns() gives `ns` or more: the largest tick when there is none.
template <call_trace T>
[[nodiscard]] std::uint64_t first_tick_at(const T& trace, std::uint64_t ns) {
  std::uint64_t low = 0, high = std::numeric_limits<std::uint64_t>::max();
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (trace.to_ns(middle) >= ns) high = middle;
    else low = middle + 1;
  }
  return low;
}

}  // namespace backsight::analysis
