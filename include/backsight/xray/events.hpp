// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include <backsight/xray/blocks.hpp>
#include <backsight/xray/event.hpp>
#include <backsight/xray/records.hpp>

namespace backsight::xray {

/// What the records of a block carry on from one to the next: whose they are and what time it is.
/// The rules are those of LLVM's FDRTraceExpander.cpp, per block.
struct fdr_state {
  std::int32_t thread = 0;
  std::int32_t process = 0;
  std::uint16_t cpu = 0;
  std::uint16_t version = 5;
  std::uint64_t time = 0;
  bool timed = false;  ///< A NewCPUId or TSCWrap has set the time.

  /// Takes in a record; true when it is an event, which is then in `to` but for arguments and offset.
  template <schema S, order O>
  constexpr bool apply(const record<S, O>& item, event& to) noexcept;
};

template <schema S, order O>
constexpr bool fdr_state::apply(const record<S, O>& item, event& to) noexcept {
  if constexpr (std::is_same_v<S, function_record>) {
    time += item[S::tsc_delta];
    to = {.kind = kind_of_action(item[S::action]),
          .with_arguments = item[S::action] == function_action::enter_args,
          .cpu = cpu,
          .function = item[S::function_id],
          .thread = thread,
          .process = process,
          .time = time};
    return true;
  } else if constexpr (std::is_same_v<S, custom_event_record_v5> || std::is_same_v<S, typed_event_record_v5>) {
    time += static_cast<std::uint64_t>(std::int64_t{item[S::tsc_delta]});
    to = {.mark = mark_kind::custom,
          .cpu = cpu,
          .thread = thread,
          .process = process,
          .time = time,
          .payload = item.payload()};
    if constexpr (std::is_same_v<S, typed_event_record_v5>) {
      to.mark = mark_kind::typed;
      to.event_type = item[S::event_type];
    }
    return true;
  } else if constexpr (has_payload<S>) {
    // Before version 5 events have a time of their own, from which later deltas do not count.
    to = {.mark = mark_kind::custom,
          .cpu = cpu,
          .thread = thread,
          .process = process,
          .time = item[S::absolute_tsc],
          .payload = item.payload()};
    if constexpr (std::is_same_v<S, custom_event_record_v4>) to.cpu = item[S::cpu_id];
    if constexpr (std::is_same_v<S, typed_event_record_v2>) {
      to.mark = mark_kind::typed;
      to.event_type = item[S::event_type];
    }
    return true;
  } else if constexpr (std::is_same_v<S, new_buffer_record>) {
    *this = {.thread = item[S::thread_id], .process = version == 2 ? item[S::thread_id] : 0, .version = version};
  } else if constexpr (std::is_same_v<S, pid_record>) {
    process = item[S::pid];
  } else if constexpr (std::is_same_v<S, new_cpu_id_record>) {
    cpu = item[S::cpu_id];
    time = item[S::absolute_tsc];
    timed = true;
  } else if constexpr (std::is_same_v<S, tsc_wrap_record>) {
    time = item[S::absolute_tsc];
    timed = true;
  }
  return false;
}

/// The events of FDR records: a forward range and a view. It ends where the records end; `iterator::error()` as theirs.
template <order O, grammar_check Check = grammar_check::enforced>
class fdr_events {
 public:
  class iterator;
  constexpr fdr_events() = default;
  constexpr explicit fdr_events(fdr_records<O, Check> records, fdr_state state) noexcept
      : records_(records), state_(state) {}

  [[nodiscard]] constexpr iterator begin() const noexcept { return iterator(records_.begin(), state_); }
  [[nodiscard]] constexpr std::default_sentinel_t end() const noexcept { return {}; }

 private:
  fdr_records<O, Check> records_;
  fdr_state state_;
};

template <order O, grammar_check Check>
class fdr_events<O, Check>::iterator {
 public:
  using value_type = event;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::forward_iterator_tag;

  constexpr iterator() = default;
  [[nodiscard]] constexpr const event& operator*() const noexcept { return event_; }
  [[nodiscard]] constexpr const event* operator->() const noexcept { return &event_; }
  constexpr iterator& operator++() noexcept {
    read();
    return *this;
  }
  constexpr iterator operator++(int) noexcept {
    iterator before = *this;
    ++*this;
    return before;
  }
  [[nodiscard]] friend constexpr bool operator==(const iterator& a, const iterator& b) noexcept {
    return a.found_ == b.found_ && a.event_.offset == b.event_.offset;
  }
  [[nodiscard]] friend constexpr bool operator==(const iterator& it, std::default_sentinel_t) noexcept {
    return !it.found_;
  }
  [[nodiscard]] constexpr trace_error error() const noexcept { return next_.error(); }
  /// Thread, time and so on behind the present event.
  [[nodiscard]] constexpr const fdr_state& state() const noexcept { return state_; }

 private:
  friend fdr_events;
  using records_iterator = typename fdr_records<O, Check>::iterator;

  constexpr iterator(records_iterator first, fdr_state state) noexcept : next_(first), state_(state) { read(); }

  constexpr void read() noexcept {
    // Function records on their own make up nearly all of a log; what else there is stays out of the caller's loop.
    if (next_ != std::default_sentinel) {
      if (const auto item = *next_; item.template is<function_record>()) [[likely]] {
        found_ = state_.apply(item.template as<function_record>(), event_);
        event_.offset = item.offset();
        ++next_;
        if (next_ != std::default_sentinel && (*next_).template is<call_argument_record>()) [[unlikely]]
          read_arguments();
        return;
      }
    }
    read_rare();
  }
  [[gnu::noinline]] constexpr void read_rare() noexcept {
    found_ = false;
    while (!found_ && next_ != std::default_sentinel) {
      const any_record<fdr_format<O>> item = *next_;
      if (item.template is<function_record>()) return read();
      visit(item, [&](const auto& typed) { found_ = state_.apply(typed, event_); });
      event_.offset = item.offset();
      ++next_;
    }
  }
  [[gnu::noinline]] constexpr void read_arguments() noexcept {
    const std::byte* const first = (*next_).bytes().data();
    std::size_t count = 0;
    for (; next_ != std::default_sentinel && (*next_).template is<call_argument_record>(); ++next_) ++count;
    // Recorders up to LLVM 7 wrote a plain enter; LLVM's reader too makes it one with arguments, whatever it was.
    event_.kind = event_kind::enter;
    event_.with_arguments = true;
    event_.arguments = detail::arguments_at<call_argument_record, O>(first, count);
  }

  records_iterator next_;
  fdr_state state_;
  event event_;
  bool found_ = false;
};

/// The events of one block, by the rules of the grammar.
template <order O>
[[nodiscard]] constexpr fdr_events<O> events_of(const block& where, std::uint16_t version) noexcept {
  return fdr_events<O>(where.records<O>(version), {.version = version});
}

namespace detail {

/// Calls `f(event)` for each event of `records`, beginning in `state`, which is left as it is behind the last one;
/// gives the error that ended the walk. The same events as fdr_events gives; state and event stay in registers.
template <order O, grammar_check Check, class Function>
constexpr trace_error walk_events(const fdr_records<O, Check>& records, fdr_state& state, Function& f) {
  fdr_state now = state;
  auto it = records.begin();
  while (it != std::default_sentinel) {
    const any_record<fdr_format<O>> item = *it;
    event found;
    bool is_event = false;
    if (item.template is<function_record>()) [[likely]] {
      is_event = now.apply(item.template as<function_record>(), found);
      ++it;
      if (it != std::default_sentinel && (*it).template is<call_argument_record>()) [[unlikely]] {
        const std::byte* const first = (*it).bytes().data();
        std::size_t count = 0;
        for (; it != std::default_sentinel && (*it).template is<call_argument_record>(); ++it) ++count;
        found.kind = event_kind::enter;
        found.with_arguments = true;
        found.arguments = detail::arguments_at<call_argument_record, O>(first, count);
      }
    } else {
      visit(item, [&](const auto& typed) { is_event = now.apply(typed, found); });
      ++it;
    }
    if (!is_event) continue;
    found.offset = item.offset();
    f(static_cast<const event&>(found));
  }
  state = now;
  return it.error();
}

}  // namespace detail

/// Calls `f(event)` for each event of a block that can be read and `on_fault(fault)` for what cannot. A record that may
/// not stand where it stands, but can be read, is reported (0 bytes skipped) and read, once thread and time are known.
/// A block that its BufferExtents counts longer than the log is reported as truncated, at the end of the log.
template <order O, class Function, class OnFault>
constexpr void for_each_event(const log& opened, const block& where, Function&& f, OnFault&& on_fault) {
  fdr_state state{.version = opened.version()};
  trace_error error = detail::walk_events(where.records<O>(opened.version()), state, f);
  const std::uint64_t end = where.offset + where.bytes.size();
  if (error.code == errc::bad_transition && state.timed) {
    on_fault(fault{error.code, error.offset, 0});
    const auto at = static_cast<std::size_t>(error.offset - where.offset);
    error = detail::walk_events(
        fdr_records<O, grammar_check::ignored>(where.bytes.subspan(at), {opened.version()}, error.offset), state, f);
  }
  if (!error && where.missing != 0) error = {errc::truncated, end};
  if (!error) return;
  if (error.code == errc::truncated && end < opened.bytes().size()) error.code = errc::record_crosses_block;
  on_fault(fault{error.code, error.offset, end - error.offset});
}

/// Calls `f(event)` for each event of a basic-mode log and `on_fault(fault)` for records that cannot be read. An
/// argument record belongs to the record before it, by function, thread and (from version 3 on) process (LLVM's
/// Trace.cpp).
template <order O, class Function, class OnFault>
constexpr void for_each_basic_event(const log& opened, Function&& f, OnFault&& on_fault) {
  const bool with_process = opened.version() >= 3;
  event pending;
  bool has_pending = false;
  const auto flush = [&] {
    if (has_pending) f(static_cast<const event&>(pending));
    has_pending = false;
  };
  const auto add_function = [&](record<basic_function_record, O> item, std::uint64_t offset) {
    flush();
    using r = basic_function_record;
    pending = {.kind = kind_of_action(item[r::action]),
               .with_arguments = item[r::action] == function_action::enter_args,
               .cpu = item[r::cpu],
               .function = static_cast<std::uint32_t>(item[r::function_id]),
               .thread = static_cast<std::int32_t>(item[r::thread_id]),
               .process = with_process ? static_cast<std::int32_t>(item[r::process_id]) : 0,
               .time = item[r::tsc],
               .offset = offset};
    has_pending = true;
  };
  const auto add_argument = [&](record<basic_argument_record, O> item, std::uint64_t offset) {
    using r = basic_argument_record;
    const bool fits = has_pending && pending.function == static_cast<std::uint32_t>(item[r::function_id]) &&
                      pending.thread == static_cast<std::int32_t>(item[r::thread_id]) &&
                      (!with_process || pending.process == static_cast<std::int32_t>(item[r::process_id]));
    if (!fits) {
      // Arguments of a call lie side by side: one behind a stray one belongs to nothing either.
      flush();
      return on_fault(fault{errc::unpaired_record, offset, r::size});
    }
    const std::byte* const first =
        pending.arguments.empty() ? item.bytes().data() : item.bytes().data() - pending.arguments.size() * r::size;
    pending.arguments = detail::arguments_at<r, O>(first, pending.arguments.size() + 1);
  };
  for_each_salvaging(
      records_of_basic<O, grammar_check::ignored>(opened),
      [&](const any_record<basic_format<O>>& item) {
        visit(item, overloaded{
                        [&](const record<basic_function_record, O>& typed) { add_function(typed, item.offset()); },
                        [&](const record<basic_argument_record, O>& typed) { add_argument(typed, item.offset()); },
                    });
      },
      [&](const fault& damage) {
        flush();
        on_fault(damage);
      });
  flush();
}

/// Calls `f(event)` for each event of a log that can be read, in file order, and `on_fault(fault)` for what cannot.
template <class Function, class OnFault>
constexpr void for_each_event(const log& opened, Function&& f, OnFault&& on_fault) {
  with_order(opened.byte_order(), [&](auto byte_order) {
    if (opened.type() == log_type::basic) return for_each_basic_event<byte_order()>(opened, f, on_fault);
    const fdr_blocks<byte_order()> blocks(opened);
    auto it = blocks.begin();
    for (; it != std::default_sentinel; ++it) for_each_event<byte_order()>(opened, *it, f, on_fault);
    if (const trace_error error = it.error())
      on_fault(fault{error.code, error.offset, opened.bytes().size() - error.offset});
  });
}

}  // namespace backsight::xray

template <backsight::order O, backsight::grammar_check Check>
inline constexpr bool std::ranges::enable_view<backsight::xray::fdr_events<O, Check>> = true;
template <backsight::order O, backsight::grammar_check Check>
inline constexpr bool std::ranges::enable_borrowed_range<backsight::xray::fdr_events<O, Check>> = true;
