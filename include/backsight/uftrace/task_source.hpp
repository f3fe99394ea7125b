// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include <backsight/uftrace/index.hpp>
#include <backsight/uftrace/merged_record.hpp>
#include <backsight/uftrace/resolver.hpp>

// Source: uftrace's utils/fstack.c (get_task_ustack, read_task_ustack).
namespace backsight::uftrace {

namespace detail {

/// The head of a function with values, whatever they are.
template <order O>
inline constexpr auto function_values =
    common_when<function_record<O>, O, std::uint64_t>(is(record_head::magic, record_magic), is(record_head::more, true),
                                                      is(record_head::type, record_type::entry, record_type::exit));

}  // namespace detail

/// The records of one task file with a look-ahead of one, and the time filter.
class task_source {
 public:
  task_source(resolver& names, std::uint32_t index, const merge_options& options)
      : options_(&options), index_(index), little_(names.source().info.byte_order == order::little) {
    if (little_) little_at_ = open<order::little>(little_range_, names);
    else big_at_ = open<order::big>(big_range_, names);
    has_ = advance();
  }

  [[nodiscard]] bool has() const noexcept { return has_; }
  [[nodiscard]] merged_record& current() noexcept { return current_; }
  void next() { has_ = advance(); }

  /// Gives the plain records from the current one on to `f` until it gives false, their time passes `bound` (or reaches
  /// it, when not `inclusive`) or another kind of record comes. Gives the number of those that `f` took.
  template <order O, class F>
  [[gnu::always_inline]] std::size_t take_run(std::uint64_t bound, bool inclusive, F&& f) {
    if constexpr (O == order::little) return take_run_in<O>(little_range_, little_at_, bound, inclusive, f);
    else return take_run_in<O>(big_range_, big_at_, bound, inclusive, f);
  }

  /// The faults met so far.
  [[nodiscard]] const std::vector<fault>& faults() const noexcept { return faults_; }
  /// What uftrace takes for the time of the last record after damage, where it differs.
  [[nodiscard]] std::optional<std::uint64_t> damaged_time() const noexcept { return damaged_time_; }

 private:
  /// Sets the range to the part of the file that options.from and options.until leave, as far as that can be told;
  /// decode() leaves out what is outside of them all the same.
  template <order O>
  [[nodiscard]] typename task_records<O>::iterator open(task_records<O>& range, resolver& names) const {
    const bool chosen = options_->tasks == nullptr || (*options_->tasks)[index_];
    const byte_view bytes = chosen ? names.source().data[index_].bytes : byte_view{};
    range = task_records<O>(bytes, names.sizes_for(index_));
    const bool has_index = options_->indices != nullptr && index_ < options_->indices->size();
    const file_part part = part_between(range, names.source().info, has_index ? &(*options_->indices)[index_] : nullptr,
                                        options_->from, options_->until);
    range = task_records<O>(bytes.first(part.end), range.context());
    return range.at(part.begin, range.context());
  }

  bool advance() {
    if (options_->shorter_than == 0) return decode();
    while (held_.empty() || !released_) {
      if (!decode()) {
        released_ = true;
        break;
      }
      hold();
    }
    if (held_.empty()) return false;
    current_ = held_.front();
    held_.pop_front();
    if (held_.empty()) released_ = false;
    return true;
  }

  /// Entries wait until it is known how long they took.
  void hold() {
    if (current_.type == record_type::exit) {
      const auto entry = std::find_if(held_.rbegin(), held_.rend(),
                                      [](const merged_record& r) { return r.type == record_type::entry; });
      if (entry != held_.rend() && current_.time - entry->time < options_->shorter_than) {
        held_.erase(entry.base() - 1, held_.end());
        return;
      }
      released_ = true;
    } else if (current_.type == record_type::lost ||
               (current_.type == record_type::event && current_.address >= first_user_event)) {
      released_ = true;
    }
    held_.push_back(current_);
  }

  bool decode() {
    for (;;) {
      if (!decode_any()) return false;
      if (current_.time >= options_->from && current_.time <= options_->until) [[likely]]
        return true;
    }
  }

  bool decode_any() {
    return little_ ? decode_from<order::little>(little_range_, little_at_)
                   : decode_from<order::big>(big_range_, big_at_);
  }

  template <order O, class F>
  [[gnu::always_inline]] std::size_t take_run_in(task_records<O>& range, typename task_records<O>::iterator& at,
                                                 std::uint64_t bound, bool inclusive, F& f) {
    using common = backsight::detail::common_of<task_format<O>>;
    const std::byte* const first = range.bytes().data() + current_.offset;
    const std::byte* const end = range.bytes().data() + range.bytes().size();
    const std::uint64_t past = std::min(inclusive ? bound : bound - 1, options_->until);
    if (!has_ || (!inclusive && bound == 0)) return 0;
    const std::byte* here = first;
    for (; static_cast<std::size_t>(end - here) >= common::size && common::difference(here) == 0;
         here += common::size) {
      const record<function_record<O>, O> item(here);
      if (item[record_head::time] > past || !f(item)) break;
    }
    if (here == first) return 0;
    take<O>({here - common::size, common::size},
            current_.offset + static_cast<std::uint64_t>(here - first) - common::size);
    at = range.at(static_cast<std::size_t>(here - range.bytes().data()), at.context());
    has_ = advance();
    return static_cast<std::size_t>(here - first) / common::size;
  }

  template <order O>
  [[gnu::always_inline]] bool decode_from(task_records<O>& range, typename task_records<O>::iterator& at) {
    if (at == std::default_sentinel) [[unlikely]] {
      if (!end<O>(range, at)) return false;
      if (at == std::default_sentinel) return true;
    }
    const auto item = *at;
    take<O>(item.bytes(), item.offset());
    if (item.kind() != 0) [[unlikely]] {
      if (item.template is<function_with_values<O>>())
        current_.payload = item.template as<function_with_values<O>>().payload();
      else if (item.template is<event_with_data<O>>())
        current_.payload = event_data<O>(item.template as<event_with_data<O>>());
    }
    ++at;
    return true;
  }

  template <order O>
  [[gnu::always_inline]] void take(byte_view bytes, std::uint64_t offset) {
    const record<function_record<O>, O> head(bytes.data());
    current_.time = head[record_head::time];
    current_.address = head[record_head::address];
    current_.depth = head[record_head::depth];
    current_.type = head[record_head::type];
    current_.more = head[record_head::more];
    current_.data_index = index_;
    current_.offset = offset;
    current_.payload = {};
  }

  /// At the end or at damage: true when there is one more record, either at `at` behind the damage or, with `at` at the
  /// end, as current().
  template <order O>
  [[gnu::noinline]] bool end(task_records<O>& range, typename task_records<O>::iterator& at) {
    const trace_error error = at.error();
    if (!error || ended_) return false;
    const byte_view bytes = range.bytes();
    const auto position = static_cast<std::size_t>(error.offset);
    // Reading overwrites the time of the last record even when the new one turns out to be broken.
    if (current_.type == record_type::exit || current_.type == record_type::lost) {
      std::array<std::byte, 8> raw{};
      store<O>(raw.data(), current_.time);
      for (std::size_t i = 0; i < raw.size() && position + i < bytes.size(); ++i) raw[i] = bytes[position + i];
      damaged_time_ = load<std::uint64_t, O>(raw.data());
    }
    const bool whole_head = bytes.size() - position >= size_of<function_record<O>>;
    const bool cut_values = error.code == errc::truncated && whole_head &&
                            bytes.size() - position > size_of<function_record<O>> &&
                            holds<O>(detail::function_values<O>, bytes.data() + position);
    std::size_t next = bytes.size();
    auto context = at.context();
    if (options_->salvage && !cut_values) next = task_format<O>::resync(bytes, position + 1, context);
    faults_.push_back({error.code, error.offset, next - position});
    if (cut_values) {
      // The function is known, its values are not whole: what is there is given.
      ended_ = true;
      take<O>(bytes.subspan(position), error.offset);
      current_.payload = bytes.subspan(position + size_of<function_record<O>>);
      return true;
    }
    if (next >= bytes.size()) {
      ended_ = true;
      return false;
    }
    at = range.at(next, context);
    return at != std::default_sentinel;
  }

  const merge_options* options_;
  std::uint32_t index_;
  bool little_;
  bool has_ = false;
  bool ended_ = false;
  bool released_ = false;
  merged_record current_;
  task_records<order::little> little_range_;
  task_records<order::big> big_range_;
  task_records<order::little>::iterator little_at_;
  task_records<order::big>::iterator big_at_;
  std::deque<merged_record> held_;
  std::vector<fault> faults_;
  std::optional<std::uint64_t> damaged_time_;
};

}  // namespace backsight::uftrace
