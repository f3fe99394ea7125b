// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include <backsight/memtrace/findings.hpp>
#include <backsight/memtrace/references.hpp>
#include <backsight/memtrace/windows.hpp>

namespace backsight::memtrace {

/// Where an instruction goes when it is a direct branch of x86-64, told from its bytes; none for others.
[[nodiscard]] constexpr std::optional<std::uint64_t> direct_target(std::uint64_t pc, const std::byte* bytes,
                                                                   std::size_t size) noexcept {
  std::size_t i = 0;
  const auto at = [&](std::size_t index) { return index < size ? std::to_integer<unsigned>(bytes[index]) : 0U; };
  // Prefixes: branch hints, operand size, BND, REX.
  while (i < size &&
         (at(i) == 0x2e || at(i) == 0x3e || at(i) == 0x66 || at(i) == 0xf2 || at(i) == 0xf3 || (at(i) & 0xf0U) == 0x40))
    ++i;
  std::size_t displacement = 0;
  if (at(i) == 0xeb || (at(i) & 0xf0U) == 0x70 || (at(i) >= 0xe0 && at(i) <= 0xe3)) displacement = 1, i += 1;
  else if (at(i) == 0xe8 || at(i) == 0xe9) displacement = 4, i += 1;
  else if (at(i) == 0x0f && (at(i + 1) & 0xf0U) == 0x80) displacement = 4, i += 2;
  else return {};
  if (i + displacement != size) return {};
  const std::int64_t offset =
      displacement == 1 ? load<std::int8_t, order::little>(bytes + i) : load<std::int32_t, order::little>(bytes + i);
  return pc + size + static_cast<std::uint64_t>(offset);
}

/// Checks the invariants of a final trace of one thread, 64-bit layout, that hold inside of windows and across them.
/// Calls `f(check_result)` for each finding, a straggler included. One pass, after one that finds the windows.
class trace_checker {
 public:
  explicit trace_checker(const final_trace& trace) : trace_(trace), head_(trace.header()) {}

  template <class F>
  void for_each_finding(F&& f) {
    report_.clear();
    for (const window& one : trace_.windows()) windows_.push_back(one);
    check_header();
    const entry_span all = trace_.entries();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const entry_view item = all[i];
      const trace_type type = item[entry_record::type];
      if (static_cast<std::uint16_t>(type) >= trace_type_count) add(finding::unreadable, i);
      else step(item, type, i);
      for (const check_result& one : report_) f(one);
      report_.clear();
    }
    if (all.bytes().size() != trace_.bytes().size()) add(finding::unreadable, all.size());
    const bool core_sharded = (head_.file_type & file_type::core_sharded) != 0;
    const bool exits = all.size() >= 2 && all[all.size() - 1][entry_record::type] == trace_type::footer &&
                       (core_sharded || all[all.size() - 2][entry_record::type] == trace_type::thread_exit);
    if (!exits) add(finding::missing_exit, all.size());
    for (const check_result& one : report_) f(one);
  }

 private:
  static constexpr std::size_t step_size = size_of<entry_record>;

  void add(finding what, std::size_t index) {
    check_result made{what, index * step_size, instructions_, builder_.window()};
    report_.push_back(made);
  }

  [[nodiscard]] bool has(std::uint64_t bits) const noexcept { return (head_.file_type & bits) != 0; }
  [[nodiscard]] bool filtered() const noexcept {
    return has(file_type::filtered | file_type::ifiltered | file_type::dfiltered | file_type::bimodal_filtered_warmup);
  }

  void check_header() {
    // The order of the reference page; members that a version does not have may be absent, others not.
    const entry_span all = trace_.entries();
    std::size_t i = 1;
    const auto next_is = [&](marker_type type) { return i < all.size() && is_marker(all[i], type); };
    if (head_.version >= 2) {
      for (const marker_type type : {marker_type::version, marker_type::filetype}) {
        if (next_is(type)) ++i;
        else add(finding::header_order, i);
      }
    }
    for (const trace_type type : {trace_type::thread, trace_type::pid}) {
      if (i < all.size() && all[i][entry_record::type] == type) ++i;
      else add(finding::header_order, i);
    }
    if (head_.version >= 2) {
      if (next_is(marker_type::cache_line_size)) ++i;
      else add(finding::header_order, i);
    }
  }

  void step(const entry_view& item, trace_type type, std::size_t index) {
    if (is_marker(item, marker_type::record_ordinal)) on_record_ordinal(item, index);
    if (is_marker(item, marker_type::window_id)) on_window(item[entry_record::addr], index);
    if (type == trace_type::thread && builder_.tid() != 0 && item[entry_record::addr] != builder_.tid()) forget_code();
    const bool pc_only = is_instruction(type) && item[entry_record::size] == 0;
    if (pc_only) any_pc_ = true;
    const std::optional<reference> seen = builder_.next(item);
    if (!seen) return;
    ++visible_;
    if (seen->type == trace_type::marker) return on_marker(*seen, index);
    if (is_instruction(seen->type)) return on_instruction(*seen, index);
    if (seen->type == trace_type::instr_no_fetch) {
      any_pc_ = true;
      if (last_ && last_->pc != seen->pc && !filtered()) add(finding::pc_discontinuity, index);
      return;
    }
    if (is_data(seen->type) && !any_pc_) add(finding::orphan_data, index);
    if (seen->type == trace_type::thread_exit) forget_code();
  }

  /// What came before says nothing about the next instruction.
  void forget_code() {
    last_.reset();
    expected_.reset();
    after_return_ = after_event_ = false;
  }

  void on_record_ordinal(const entry_view& item, std::size_t index) {
    if (item[entry_record::addr] != visible_) add(finding::record_ordinal, index);
    chunk_start_ = index * step_size;
    ++chunk_number_;
  }

  void on_window(std::uint64_t ordinal, std::size_t index) {
    if (builder_.window() == ordinal) return;
    if (builder_.window() && ordinal < *builder_.window()) add(finding::window_reversed, index);
    forget_code();
    // Handlers and calls that were cut by the edge leave no trace of how they ended.
    events_.erase(builder_.tid());
  }

  void on_marker(const reference& item, std::size_t index) {
    const marker_type before = last_marker_;
    const bool adjacent = marker_index_ == visible_ - 1;
    last_marker_ = item.marker();
    marker_index_ = visible_;
    switch (item.marker()) {
      case marker_type::timestamp: on_time(item, index); break;
      case marker_type::chunk_footer:
        if (item.address != chunk_number_) add(finding::chunk_order, index);
        if (head_.chunk_instr_count != 0 && instructions_ != (chunk_number_ + 1) * head_.chunk_instr_count)
          add(finding::chunk_size, index);
        break;
      case marker_type::kernel_event:
        // Another signal may come before the code that the last one interrupted has gone on.
        if (after_return_) on_return(item.tid, item.address, index);
        after_return_ = false;
        // siglongjmp leaves events open for good, so the oldest are forgotten.
        if (auto& open = events_[item.tid]; open.size() < 1024) open.push_back(item.address);
        else std::rotate(open.begin(), open.begin() + 1, open.end()), open.back() = item.address;
        after_event_ = true;
        last_.reset();
        expected_.reset();
        break;
      case marker_type::kernel_xfer:
        after_return_ = true;
        last_.reset();
        expected_.reset();
        break;
      case marker_type::signal_number:
        if (!adjacent || before != marker_type::kernel_event) add(finding::signal_marker, index);
        break;
      case marker_type::syscall:
        // Times are around it in recordings since version 6, and it is directly behind the instruction's records.
        if (head_.version >= 6 && !(adjacent && before == marker_type::cpu_id)) add(finding::syscall_marker, index);
        else if (head_.version >= 6 && has(file_type::x86_64) && last_is_x86_ && !last_is_syscall_ && !filtered())
          add(finding::syscall_marker, index);
        break;
      case marker_type::maybe_blocking_syscall:
        if (!adjacent || before != marker_type::syscall) add(finding::syscall_marker, index);
        break;
      case marker_type::virtual_address:
        if (!adjacent || before != marker_type::physical_address) add(finding::physical_pair, index);
        break;
      case marker_type::rseq_abort:
      case marker_type::rseq_entry:
      case marker_type::syscall_trace_start:
      case marker_type::syscall_trace_end:
      case marker_type::context_switch_start:
      case marker_type::context_switch_end:
      case marker_type::hardware_event:
      case marker_type::hardware_context_return:
      case marker_type::uncompleted_instruction:
      case marker_type::filter_endpoint: forget_code(); break;
      default: break;
    }
  }

  void on_time(const reference& item, std::size_t index) {
    // The time of a unit header is clamped up to its window's opening: what follows inside may be earlier, but is
    // ordered among itself, as are the headers.
    const entry_span all = trace_.entries();
    bool unit = false;
    for (std::size_t i = index + 1; i < all.size() && i < index + 12; ++i) {
      const trace_type type = all[i][entry_record::type];
      if (is_marker(all[i], marker_type::window_id)) unit = true;
      if (unit || is_marker(all[i], marker_type::timestamp) || type == trace_type::thread_exit) break;
    }
    std::uint64_t& last = unit ? header_time_ : true_time_;
    if (item.address < last && head_.version >= 6) add(finding::time_reversed, index);
    last = item.address;
  }

  void on_instruction(const reference& item, std::size_t index) {
    any_pc_ = true;
    check_encoding(item, index);
    if (item.type == trace_type::instr_conditional_jump && head_.version >= 5 && !filtered())
      add(finding::branch_type, index);
    const bool needs_target = head_.version >= 5 && is_indirect_branch(item.type);
    if (!filtered() && needs_target != item.branch_target.has_value()) add(finding::branch_target, index);
    check_flow(item, index);
    last_ = item;
    set_expected(item);
    last_is_x86_ = item.encoding != nullptr;
    last_is_syscall_ = item.encoding_size >= 2 && item.encoding[0] == std::byte{0x0f} &&
                       (item.encoding[1] == std::byte{0x05} || item.encoding[1] == std::byte{0x34});
    last_is_syscall_ = last_is_syscall_ || (item.encoding_size == 2 && item.encoding[0] == std::byte{0xcd} &&
                                            item.encoding[1] == std::byte{0x80});
    last_->encoding = nullptr;
    ++instructions_;
    after_event_ = after_return_ = false;
  }

  void check_encoding(const reference& item, std::size_t index) {
    if (!has(file_type::encodings)) return;
    std::uint64_t& since = encoded_since_[item.pc];
    if (item.encoding_is_new) {
      since = chunk_start_ + 1;
      if (item.encoding_size != item.size && !has(file_type::arch_regdeps)) add(finding::encoding_size, index);
    } else if (since != chunk_start_ + 1) {
      add(finding::missing_encoding, index);
      since = chunk_start_ + 1;
    }
  }

  void check_flow(const reference& item, std::size_t index) {
    if (after_return_) {
      on_return(item.tid, item.pc, index);
      return;
    }
    if (after_event_ || !last_ || filtered()) return;
    // A string instruction may be listed as several, and an instruction that faulted is run again.
    if (item.pc == last_->pc) return;
    if (!expected_ || *expected_ == item.pc) return;
    add(is_straggler(index) ? finding::straggler : finding::pc_discontinuity, index);
  }

  void on_return(std::uint64_t tid, std::uint64_t pc, std::size_t index) {
    // siglongjmp leaves events behind: any of those that are open may be the one that the code goes back to.
    std::vector<std::uint64_t>& open = events_[tid];
    if (head_.version < 3 || open.empty()) return;
    for (std::size_t i = open.size(); i-- != 0;) {
      // An interrupted system call is either done or made again: two bytes before.
      if (open[i] != pc && open[i] != pc + 2 && open[i] != 0) continue;
      open.resize(i);
      return;
    }
    add(finding::signal_return, index);
    open.pop_back();
  }

  void set_expected(const reference& item) {
    expected_ = item.pc + item.size;
    if (is_indirect_branch(item.type)) {
      expected_ = item.branch_target;
    } else if (item.type == trace_type::instr_direct_jump || item.type == trace_type::instr_direct_call ||
               item.type == trace_type::instr_taken_jump) {
      expected_.reset();
      if (has(file_type::x86_64) && item.encoding != nullptr)
        expected_ = direct_target(item.pc, item.encoding, item.encoding_size);
    } else if (item.type == trace_type::instr_conditional_jump || item.type == trace_type::instr_sysenter) {
      expected_.reset();
    }
  }

  /// From the record at `index` to the end of its window there is one block and nothing else: no branch but at its end.
  [[nodiscard]] bool is_straggler(std::size_t index) {
    while (window_ < windows_.size() && windows_[window_].end <= index * step_size) ++window_;
    if (window_ >= windows_.size() || !windows_[window_].ordinal) return false;
    const entry_span all = trace_.entries();
    const std::size_t end = static_cast<std::size_t>(windows_[window_].end / step_size);
    std::uint64_t next = 0;
    bool branched = false;
    for (std::size_t i = index; i < end; ++i) {
      const trace_type type = all[i][entry_record::type];
      if (!is_instruction(type)) continue;
      const std::uint64_t pc = all[i][entry_record::addr];
      if (branched || (next != 0 && pc != next)) return false;
      next = pc + all[i][entry_record::size];
      branched = is_branch(type);
    }
    return true;
  }

  const final_trace& trace_;
  final_header head_;
  reference_builder builder_;
  std::vector<window> windows_;
  std::vector<check_result> report_;
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> events_;  // open ones of each thread
  std::unordered_map<std::uint64_t, std::uint64_t> encoded_since_;
  std::optional<reference> last_;
  std::optional<std::uint64_t> expected_;
  std::uint64_t instructions_ = 0, visible_ = 0, marker_index_ = ~std::uint64_t{0};
  std::uint64_t chunk_start_ = 0, chunk_number_ = 0, header_time_ = 0, true_time_ = 0;
  std::size_t window_ = 0;
  marker_type last_marker_ = marker_type::split_value;
  bool any_pc_ = false, after_event_ = false, after_return_ = false, last_is_syscall_ = false, last_is_x86_ = false;
};

}  // namespace backsight::memtrace
