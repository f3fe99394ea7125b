// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <backsight/perf/record_head.hpp>
#include <backsight/perf/samples.hpp>
#include <backsight/perf/words.hpp>

namespace backsight::perf {

/// One address of a stack and where it belongs.
struct stack_entry {
  std::uint64_t address = 0;
  cpu_mode mode = cpu_mode::user;
  /// The instruction that was to be executed, and not the return address of a call.
  bool is_exact = false;
  /// Found by unwinding: a return address less one, so that it lies in the call.
  bool is_unwound = false;

  friend constexpr bool operator==(const stack_entry&, const stack_entry&) = default;
};

/// The mode that a context in a call chain sets; unknown for numbers that are none.
[[nodiscard]] constexpr cpu_mode mode_of(std::uint64_t context) noexcept {
  switch (static_cast<chain_context>(context)) {
    case chain_context::hypervisor: return cpu_mode::hypervisor;
    case chain_context::kernel: return cpu_mode::kernel;
    case chain_context::user:
    case chain_context::user_deferred: return cpu_mode::user;
    case chain_context::guest:
    case chain_context::guest_kernel: return cpu_mode::guest_kernel;
    case chain_context::guest_user: return cpu_mode::guest_user;
  }
  return cpu_mode::unknown;
}

/// The cookie of a chain whose user part comes later; absent when it is whole.
[[nodiscard]] constexpr std::optional<std::uint64_t> cookie_of(const word_list& chain) noexcept {
  const std::size_t size = chain.size();
  if (size < 2 || chain[size - 2] != static_cast<std::uint64_t>(chain_context::user_deferred)) return std::nullopt;
  return chain[size - 1];
}

/// Calls `f(stack_entry)` for the addresses of a call chain, at most `limit` of them, from the innermost on. `mode` is
/// that of the sample, for chains that begin without a context. Of a chain whose user part comes later, `deferred` is
/// that part. False when a number is neither an address nor a context that is known: then what follows belongs nowhere.
template <class F>
constexpr bool for_each_address(const word_list& chain, const word_list& deferred, cpu_mode mode, std::size_t limit,
                                F&& f) {
  const std::size_t own = cookie_of(chain) ? chain.size() - 1 : chain.size();
  const std::size_t all = own + (own != chain.size() ? deferred.size() : 0);
  bool first = true;
  for (std::size_t i = 0, count = 0; i < all && count < limit; ++i) {
    const std::uint64_t word = i < own ? chain[i] : deferred[i - own];
    if (is_context(word)) {
      const cpu_mode next = mode_of(word);
      if (next == cpu_mode::unknown) return false;
      mode = next;
      first = true;
      continue;
    }
    // What is behind a context begins with an instruction of its own: the one interrupted, or that entered the kernel.
    f(stack_entry{word, mode, first, false});
    first = false;
    ++count;
  }
  return true;
}

/// Holds samples back whose user call chain comes later, by thread. `Item` is what the caller keeps of a sample.
/// Memory: the samples of each thread between two of its returns to user mode; at most `limit` of all.
template <class Item>
class deferred_samples {
 public:
  explicit deferred_samples(std::size_t limit = std::size_t{1} << 20) noexcept : limit_(limit) {}

  /// False when there is no room for more: the sample goes on as it is.
  [[nodiscard]] bool hold(std::uint32_t tid, std::uint64_t cookie, Item item) {
    if (count_ == limit_) return false;
    waiting_[tid].push_back({cookie, number_++, std::move(item)});
    ++count_;
    return true;
  }
  /// A chain has come: calls `f(Item&, bool matches)` for the thread's samples in their order.
  template <class F>
  void deliver(std::uint32_t tid, std::uint64_t cookie, F&& f) {
    const auto found = waiting_.find(tid);
    if (found == waiting_.end()) return;
    std::vector<waiting> all = std::move(found->second);
    waiting_.erase(found);
    count_ -= all.size();
    for (waiting& one : all) f(one.item, one.cookie == cookie);
  }
  /// The end of all: calls `f(Item&)` for what still waits, in the order of hold.
  template <class F>
  void finish(F&& f) {
    std::vector<waiting*> all;
    all.reserve(count_);
    for (auto& [tid, list] : waiting_) {
      for (waiting& one : list) all.push_back(&one);
    }
    std::sort(all.begin(), all.end(), [](const waiting* a, const waiting* b) { return a->number < b->number; });
    for (waiting* one : all) f(one->item);
    waiting_.clear();
    count_ = 0;
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

 private:
  struct waiting {
    std::uint64_t cookie;
    std::uint64_t number;
    Item item;
  };
  std::unordered_map<std::uint32_t, std::vector<waiting>> waiting_;
  std::size_t limit_;
  std::size_t count_ = 0;
  std::uint64_t number_ = 0;
};

/// The addresses and the cookie of a callchain_deferred record. Error: errc::truncated where it counts more than it
/// holds.
struct deferred_chain {
  std::uint64_t cookie = 0;
  word_list addresses;
};
[[nodiscard]] constexpr result<deferred_chain> read_deferred_chain(const stored_record& item,
                                                                   const sample_layout& layout) noexcept {
  const byte_view body = without_trailer(item, layout);
  if (body.size() < size_of<callchain_deferred_record>) return {errc::truncated, item.offset};
  const byte_view words = body.subspan(size_of<callchain_deferred_record>);
  const auto count = item.get<callchain_deferred_record>(callchain_deferred_record::nr);
  if (count > words.size() / 8) return {errc::truncated, item.offset};
  return deferred_chain{item.get<callchain_deferred_record>(callchain_deferred_record::cookie),
                        word_list(words.first(static_cast<std::size_t>(count) * 8), item.byte_order)};
}

}  // namespace backsight::perf
