// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <backsight/core/any_record.hpp>

namespace backsight {

/// Whether a range stops where a record follows one that it may not follow.
enum class grammar_check : std::uint8_t { enforced, ignored };

/// The records of a format, one after the other, over bytes that somebody else keeps alive. A cheap view; its iterators
/// may outlive it. Iteration is total: it ends, never throws, never reads outside, and stops at the first byte that it
/// cannot decode; `iterator::error()` then says where and why. Nothing is allocated or copied.
/// Forward iteration costs a load, a mask test and a grammar test for the format's common kind.
template <record_format F, grammar_check Check = grammar_check::enforced>
class record_range {
 public:
  using format_type = F;
  using context_type = typename F::context;
  using value_type = any_record<F>;
  class iterator;

  constexpr record_range() = default;
  /// The records in `bytes`, which lie at `base` in the caller's view: offsets count from there.
  constexpr explicit record_range(byte_view bytes, context_type context = {}, std::uint64_t base = 0) noexcept
      : bytes_(bytes), base_(base), context_(context) {}

  [[nodiscard]] constexpr iterator begin() const noexcept { return iterator(bytes_, 0, base_, context_); }
  [[nodiscard]] constexpr std::default_sentinel_t end() const noexcept { return {}; }

  /// An iterator that starts at `position` of bytes(), as if the records before it were not there.
  [[nodiscard]] constexpr iterator at(std::size_t position, context_type context) const noexcept {
    BACKSIGHT_ASSERT(position <= bytes_.size());
    return iterator(bytes_, position, base_, context);
  }

  [[nodiscard]] constexpr byte_view bytes() const noexcept { return bytes_; }
  [[nodiscard]] constexpr std::uint64_t base() const noexcept { return base_; }
  [[nodiscard]] constexpr const context_type& context() const noexcept { return context_; }

  /// Walks all records and gives the error that ends the walk, or none.
  [[nodiscard]] constexpr trace_error validate() const noexcept {
    auto it = begin();
    while (it != std::default_sentinel) ++it;
    return it.error();
  }

 private:
  byte_view bytes_;
  std::uint64_t base_ = 0;
  [[no_unique_address]] context_type context_{};
};

template <record_format F, grammar_check Check>
class record_range<F, Check>::iterator {
 public:
  using value_type = any_record<F>;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::forward_iterator_tag;

  constexpr iterator() = default;

  [[nodiscard]] constexpr any_record<F> operator*() const noexcept {
    BACKSIGHT_ASSERT(kind_ != detail::no_kind);
    return {position_, size(), kind_, offset(), found_};
  }

  // All of it inlined by force: an iterator whose address were taken would live in memory, and a call in the loop would
  // put what the caller adds up there; either makes the loop three times slower (GCC 12, Clang 19).
  [[gnu::always_inline]] constexpr iterator& operator++() noexcept {
    BACKSIGHT_ASSERT(kind_ != detail::no_kind);
    const std::uint32_t previous = kind_;
    if constexpr (detail::has_common<F>) {
      using common = detail::common_of<F>;
      if (previous == common::kind) {
        // A common record may follow itself and leaves the context alone: only the position changes.
        position_ += common::size;
        if (static_cast<std::size_t>(end_ - position_) >= common::size && common::difference(position_) == 0)
          return *this;
      } else {
        advance_context();
        position_ = next_;
      }
    } else {
      advance_context();
      if constexpr (detail::size_of_every_record<F> != 0) position_ += detail::size_of_every_record<F>;
      else position_ = next_;
    }
    set(decode_here(position_, static_cast<std::size_t>(end_ - position_), previous, context_));
    return *this;
  }
  constexpr iterator operator++(int) noexcept {
    iterator before = *this;
    ++*this;
    return before;
  }

  [[nodiscard]] friend constexpr bool operator==(const iterator& a, const iterator& b) noexcept {
    return a.position_ == b.position_ && a.kind_ == b.kind_;
  }
  [[nodiscard]] friend constexpr bool operator==(const iterator& it, std::default_sentinel_t) noexcept {
    return it.kind_ == detail::no_kind;
  }

  /// Why iteration ended, and where; no error at the end of good data or before the end.
  [[nodiscard]] constexpr trace_error error() const noexcept {
    return code_ == errc::ok ? trace_error{} : trace_error{code_, offset()};
  }
  /// The byte offset of the present record, or of where iteration ended, in the caller's view.
  [[nodiscard]] constexpr std::uint64_t offset() const noexcept {
    return base_ + static_cast<std::uint64_t>(position_ - first_);
  }
  [[nodiscard]] constexpr const context_type& context() const noexcept { return context_; }

  /// Skips the common records from here on, all at once, and gives their bytes; empty when the present record is of
  /// another kind. Tests eight records at a time. Costs no more than reading one word of each.
  [[nodiscard]] constexpr byte_view take_run() noexcept
    requires detail::has_common<F>
  {
    using common = detail::common_of<F>;
    if (kind_ != common::kind) return {};
    const std::byte* const run = position_;
    const std::byte* at = position_ + common::size;
    constexpr std::size_t stride = 8 * common::size;
    while (static_cast<std::size_t>(end_ - at) >= stride) {
      typename common::word_type difference = 0;
      for (std::size_t i = 0; i < stride; i += common::size) difference |= common::difference(at + i);
      if (difference != 0) break;
      at += stride;
    }
    while (static_cast<std::size_t>(end_ - at) >= common::size && common::difference(at) == 0) at += common::size;
    position_ = at;
    set(decode_out_of_line(position_, static_cast<std::size_t>(end_ - position_), common::kind, context_));
    return {run, static_cast<std::size_t>(at - run)};
  }

 private:
  friend record_range;
  static constexpr auto rules = detail::transitions_of<F>;
  static constexpr std::uint32_t start = decltype(rules)::start_state;

  constexpr iterator(byte_view bytes, std::size_t position, std::uint64_t base, const context_type& context) noexcept
      : first_(bytes.data()),
        position_(bytes.data() + position),
        end_(bytes.data() + bytes.size()),
        base_(base),
        context_(context) {
    set(decode_out_of_line(position_, static_cast<std::size_t>(end_ - position_), start, context_));
  }

  /// Of the present record. A constant where it can be, which Clang 19 does not find out: it halves the cost of such a
  /// walk.
  [[nodiscard]] constexpr std::size_t size() const noexcept {
    if constexpr (detail::size_of_every_record<F> != 0) return detail::size_of_every_record<F>;
    if constexpr (detail::has_common<F>) {
      // Where common records follow each other, next_ is that of the first.
      if (kind_ == detail::common_of<F>::kind) return detail::common_of<F>::size;
    }
    return static_cast<std::size_t>(next_ - position_);
  }
  constexpr void set(const detail::step<F>& found) noexcept {
    kind_ = found.kind;
    next_ = found.end;
    code_ = found.code;
    found_ = found.found;
  }

  constexpr void advance_context() noexcept {
    if constexpr (detail::has_advance<F>) {
      const any_record<F> item = **this;
      visit(item, [this](const auto& typed) {
        if constexpr (requires { F::advance(context_, typed); }) F::advance(context_, typed);
      });
    }
  }

  /// The end of the bytes, after a record of kind `previous`.
  [[nodiscard]] static constexpr detail::step<F> ended_behind(std::uint32_t previous) noexcept {
    const bool complete = Check == grammar_check::ignored || rules.may_finish(previous);
    return {nullptr, detail::no_kind, complete ? errc::ok : errc::bad_end};
  }
  /// What begins at `at`, after a record of kind `previous` (`start`: none).
  [[nodiscard, gnu::always_inline]] static constexpr detail::step<F> decode_here(const std::byte* at,
                                                                                 std::size_t available,
                                                                                 std::uint32_t previous,
                                                                                 context_type context) noexcept {
    if (previous == detail::terminator_of<F> && previous != detail::no_kind) return {};
    // Told to be rare, GCC 12 walks in two thirds of the time; but where a format has a common record, its test then
    // leaves the loop (1.25 of the time, Clang 19: 1.66).
    if constexpr (detail::has_common<F>) {
      if (available == 0) return ended_behind(previous);
    } else {
      if (available == 0) [[unlikely]]
        return ended_behind(previous);
    }
    const detail::step<F> next = detail::decode<F>(at, available, context);
    if (next.code == errc::ok && Check == grammar_check::enforced && !rules.may_follow(previous, next.kind)) {
      return {nullptr, detail::no_kind, errc::bad_transition};
    }
    return next;
  }

  /// The same for places outside of loops over single records.
  [[nodiscard, gnu::noinline]] static constexpr detail::step<F> decode_out_of_line(const std::byte* at,
                                                                                   std::size_t available,
                                                                                   std::uint32_t previous,
                                                                                   context_type context) noexcept {
    return decode_here(at, available, previous, context);
  }

  const std::byte* first_ = nullptr;
  const std::byte* position_ = nullptr;
  const std::byte* end_ = nullptr;
  std::uint64_t base_ = 0;
  const std::byte* next_ = nullptr;
  std::uint32_t kind_ = detail::no_kind;
  errc code_ = errc::ok;
  [[no_unique_address]] detail::tail_of<F> found_{};
  [[no_unique_address]] context_type context_{};
};

/// Calls `f(any_record)`, or `f(any_record, context)` with the context before the record, for each record and gives the
/// error that ended the walk, or none.
template <record_format F, grammar_check Check, class Function>
constexpr trace_error for_each(const record_range<F, Check>& range, Function&& f) {
  auto it = range.begin();
  for (; it != std::default_sentinel; ++it) {
    if constexpr (std::invocable<Function&, any_record<F>>) f(*it);
    else f(*it, it.context());
  }
  return it.error();
}

/// Calls `f(any_record)` for each record that can be read, also behind damage: where a record cannot be decoded,
/// `on_fault(fault)` is told and reading goes on at the next place that the format makes safe (F::resync). Gives the
/// number of faults.
template <record_format F, grammar_check Check, class Function, class OnFault>
constexpr std::size_t for_each_salvaging(const record_range<F, Check>& range, Function&& f, OnFault&& on_fault) {
  std::size_t faults = 0;
  for (auto it = range.begin();;) {
    for (; it != std::default_sentinel; ++it) f(*it);
    const trace_error error = it.error();
    if (!error) return faults;
    ++faults;
    const std::size_t at = static_cast<std::size_t>(error.offset - range.base());
    std::size_t next = range.bytes().size();
    auto context = it.context();
    if constexpr (requires { F::resync(range.bytes(), at, context); }) {
      if (at < next) next = F::resync(range.bytes(), at + 1, context);
    }
    // A format whose resync stays where it was, or leaves the bytes, does not get another chance to.
    if (next <= at || next > range.bytes().size()) next = range.bytes().size();
    on_fault(fault{error.code, error.offset, next - at});
    if (next >= range.bytes().size()) return faults;
    it = range.at(next, context);
  }
}

}  // namespace backsight

template <backsight::record_format F, backsight::grammar_check Check>
inline constexpr bool std::ranges::enable_view<backsight::record_range<F, Check>> = true;
template <backsight::record_format F, backsight::grammar_check Check>
inline constexpr bool std::ranges::enable_borrowed_range<backsight::record_range<F, Check>> = true;
