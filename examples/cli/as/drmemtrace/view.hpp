// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <backsight/memtrace/references.hpp>

#include "../../disassembler.hpp"
#include "../../output_file.hpp"

namespace cli::as_drmemtrace {

using namespace backsight;
using namespace backsight::memtrace;

/// Prints what `drmemtrace -tool view` prints. Source: DynamoRIO's clients/drcachesim/tools/view.cpp.
class viewer {
 public:
  viewer(output& out, std::uint64_t type) : out_(out), disassembler_(type) {
    out_.write("Output format:\n<--record#-> <--instr#->: <Wrkld.Tid> <record details>\n");
  }

  /// Counts a record that is not shown.
  void pass(const reference& item) {
    count(item);
    if (item.is_marker(marker_type::version)) version_ = static_cast<std::int64_t>(item.address);
  }

  void show(const reference& item) {
    count(item);
    if (item.type == trace_type::marker) {
      if (item.marker() == marker_type::version) {
        version_ = static_cast<std::int64_t>(item.address);
        version_record_ = records_;
        return;
      }
      if (item.marker() == marker_type::filetype) {
        type_ = item.address;
        type_record_ = records_;
        return;
      }
      if (item.marker() == marker_type::timestamp) {
        time_ = item.address;
        time_record_ = records_;
        return;
      }
      head(item);
      before_marker(item);
      prefix(item, records_);
      if (item.marker() != marker_type::window_id) marker(item);
      return;
    }
    prefix(item, records_);
    if (is_instruction(item.type) || item.type == trace_type::instr_no_fetch) return instruction(item);
    data(item);
  }

  void finish() { out_.print("View tool results:\n%15" PRIu64 " : total instructions\n", shown_instructions_); }

 private:
  static constexpr const char* line = "------------------------------------------------------------\n";

  void count(const reference& item) {
    ++records_;
    if (is_instruction(item.type)) ++instructions_;
  }

  /// A line goes before the first record, at a change of threads, and where the record before was not shown.
  void prefix(const reference& item, std::uint64_t ordinal) {
    if (last_tid_ != item.tid || ordinal > last_record_ + 1) out_.write(line);
    last_tid_ = item.tid;
    last_record_ = ordinal;
    const std::string thread = "W0.T" + std::to_string(item.tid);
    out_.print("%12" PRIu64 "%12" PRIu64 ": %11s ", ordinal, instructions_, thread.c_str());
  }

  /// VERSION and FILETYPE wait until the thread is known.
  void head(const reference& item) {
    if (item.tid == 0 || !headed_.insert(item.tid).second) return;
    if (version_ >= 0 && version_record_ != 0) {
      prefix(item, version_record_);
      out_.print("<marker: version %" PRId64 ">\n", version_);
    }
    if (type_) {
      prefix(item, type_record_);
      out_.print("<marker: filetype 0x%" PRIx64 ">\n", *type_);
    }
  }

  void before_marker(const reference& item) {
    if (item.marker() == marker_type::window_id) {
      // The tool has not printed the TIMESTAMP in front yet, and prints the pieces of the two records out of order.
      if (windows_[item.tid] != item.address) {
        out_.write(line);
        prefix(item, records_);
      }
      if (time_ > 0) {
        out_.print("<marker: timestamp %" PRIu64 ">\n", time_);
        time_ = 0;
        prefix(item, records_);
      }
      out_.print("<marker: window %" PRIu64 ">\n", item.address);
      windows_[item.tid] = item.address;
    }
    if (time_ > 0) {
      prefix(item, time_record_);
      out_.print("<marker: timestamp %" PRIu64 ">\n", time_);
      time_ = 0;
    }
  }

  void marker(const reference& item) {
    const std::uint64_t v = item.address;
    const std::string thread = "W0.T" + std::to_string(item.tid);
    const bool offsets = version_ >= 0 && version_ <= 2;
    switch (item.marker()) {
      case marker_type::cpu_id: out_.print("<marker: %s on core %" PRIu64 ">\n", thread.c_str(), v); break;
      case marker_type::kernel_event:
        if (offsets) out_.print("<marker: kernel xfer from module offset +0x%" PRIx64 " to handler>\n", v);
        else out_.print("<marker: kernel xfer from 0x%" PRIx64 " to handler>\n", v);
        break;
      case marker_type::kernel_xfer:
        if (offsets) out_.print("<marker: syscall xfer from module offset +0x%" PRIx64 ">\n", v);
        else out_.print("<marker: syscall xfer from 0x%" PRIx64 ">\n", v);
        break;
      case marker_type::rseq_abort: out_.print("<marker: rseq abort from 0x%" PRIx64 " to handler>\n", v); break;
      case marker_type::rseq_entry: out_.print("<marker: rseq entry with end at 0x%" PRIx64 ">\n", v); break;
      case marker_type::instruction_count: out_.print("<marker: instruction count %" PRIu64 ">\n", v); break;
      case marker_type::cache_line_size: out_.print("<marker: cache line size %" PRIu64 ">\n", v); break;
      case marker_type::page_size: out_.print("<marker: page size %" PRIu64 ">\n", v); break;
      case marker_type::chunk_instr_count: out_.print("<marker: chunk instruction count %" PRIu64 ">\n", v); break;
      case marker_type::chunk_footer: out_.print("<marker: chunk footer #%" PRIu64 ">\n", v); break;
      case marker_type::filter_endpoint: out_.print("<marker: filter endpoint>\n"); break;
      case marker_type::physical_address:
        out_.print("<marker: physical address for following virtual: 0x%" PRIx64 ">\n", v);
        break;
      case marker_type::virtual_address:
        out_.print("<marker: virtual address for prior physical: 0x%" PRIx64 ">\n", v);
        break;
      case marker_type::physical_address_not_available:
        out_.print("<marker: physical address not available for 0x%" PRIx64 ">\n", v);
        break;
      case marker_type::func_id:
        if (v >= 0x100000000) out_.print("<marker: function==syscall #%" PRIu64 ">\n", v - 0x100000000);
        else out_.print("<marker: function #%" PRIu64 ">\n", v);
        break;
      case marker_type::func_retaddr: out_.print("<marker: function return address 0x%" PRIx64 ">\n", v); break;
      case marker_type::func_arg: out_.print("<marker: function argument 0x%" PRIx64 ">\n", v); break;
      case marker_type::func_retval: out_.print("<marker: function return value 0x%" PRIx64 ">\n", v); break;
      case marker_type::syscall_failed: out_.print("<marker: system call failed: %" PRIu64 ">\n", v); break;
      case marker_type::syscall: out_.print("<marker: system call %" PRIu64 ">\n", v); break;
      case marker_type::maybe_blocking_syscall: out_.print("<marker: maybe-blocking system call>\n"); break;
      case marker_type::direct_thread_switch: out_.print("<marker: direct switch to thread %" PRIu64 ">\n", v); break;
      case marker_type::syscall_trace_start:
        out_.print("<marker: trace start for system call number %" PRIu64 ">\n", v);
        break;
      case marker_type::syscall_trace_end:
        out_.print("<marker: trace end for system call number %" PRIu64 ">\n", v);
        break;
      case marker_type::context_switch_start:
        out_.print("<marker: trace start for context switch type %" PRIu64 ">\n", v);
        break;
      case marker_type::context_switch_end:
        out_.print("<marker: trace end for context switch type %" PRIu64 ">\n", v);
        break;
      case marker_type::core_wait: out_.print("<marker: wait for another core>\n"); break;
      case marker_type::core_idle: out_.print("<marker: core is idle>\n"); break;
      case marker_type::vector_length: out_.print("<marker: vector length %" PRIu64 " bytes>\n", v); break;
      case marker_type::signal_number: out_.print("<marker: signal #%" PRIu64 ">\n", v); break;
      case marker_type::uncompleted_instruction:
        out_.print("<marker: uncompleted instruction, encoding 0x%" PRIx64 ">\n", v);
        break;
      default: out_.print("<marker: type %u; value %" PRIu64 ">\n", static_cast<unsigned>(item.marker()), v); break;
    }
  }

  void data(const reference& item) {
    const char* name = nullptr;
    switch (item.type) {
      case trace_type::thread_exit: out_.print("<thread W0.T%" PRIu64 " exited>\n", item.address); return;
      case trace_type::read: name = "read"; break;
      case trace_type::write: name = "write"; break;
      case trace_type::instr_flush: name = "iflush"; break;
      case trace_type::data_flush: name = "dflush"; break;
      case trace_type::prefetch: name = "pref"; break;
      case trace_type::prefetch_read_l1: name = "pref-r-L1"; break;
      case trace_type::prefetch_read_l2: name = "pref-r-L2"; break;
      case trace_type::prefetch_read_l3: name = "pref-r-L3"; break;
      case trace_type::prefetch_nta: name = "pref-NTA"; break;
      case trace_type::prefetch_read: name = "pref-r"; break;
      case trace_type::prefetch_write: name = "pref-w"; break;
      case trace_type::prefetch_instr: name = "pref-i"; break;
      case trace_type::prefetch_read_l1_nt: name = "pref-r-L1-NT"; break;
      case trace_type::prefetch_read_l2_nt: name = "pref-r-L2-NT"; break;
      case trace_type::prefetch_read_l3_nt: name = "pref-r-L3-NT"; break;
      case trace_type::prefetch_instr_l1: name = "pref-i-L1"; break;
      case trace_type::prefetch_instr_l1_nt: name = "pref-i-L1-NT"; break;
      case trace_type::prefetch_instr_l2: name = "pref-i-L2"; break;
      case trace_type::prefetch_instr_l2_nt: name = "pref-i-L2-NT"; break;
      case trace_type::prefetch_instr_l3: name = "pref-i-L3"; break;
      case trace_type::prefetch_instr_l3_nt: name = "pref-i-L3-NT"; break;
      case trace_type::prefetch_write_l1: name = "pref-w-L1"; break;
      case trace_type::prefetch_write_l1_nt: name = "pref-w-L1-NT"; break;
      case trace_type::prefetch_write_l2: name = "pref-w-L2"; break;
      case trace_type::prefetch_write_l2_nt: name = "pref-w-L2-NT"; break;
      case trace_type::prefetch_write_l3: name = "pref-w-L3"; break;
      case trace_type::prefetch_write_l3_nt: name = "pref-w-L3-NT"; break;
      case trace_type::hardware_prefetch: name = "pref-HW"; break;
      default: out_.print("<entry type %u>\n", static_cast<unsigned>(item.type)); return;
    }
    out_.print("%-12s%2u byte(s) @ 0x%016" PRIx64 " by PC 0x%016" PRIx64 "\n", name, unsigned{item.size}, item.address,
               item.pc);
  }

  void instruction(const reference& item) {
    ++shown_instructions_;
    out_.print("%-12s%2u byte(s) @ 0x%016" PRIx64, item.type == trace_type::instr_no_fetch ? "non-fetched" : "ifetch",
               unsigned{item.size}, item.pc);
    if (item.encoding == nullptr) {
      out_.print(" %s\n", kind(item.type));
      return;
    }
    // The tool puts seven bytes on a line, and the rest on a second one.
    std::string bytes, rest;
    for (std::size_t i = 0; i < item.encoding_size; ++i) {
      char digits[4];
      std::snprintf(digits, sizeof digits, "%02x ", std::to_integer<unsigned>(item.encoding[i]));
      (i < 7 ? bytes : rest) += digits;
    }
    std::string text = disassembler_.text({item.encoding, item.encoding_size}, item.pc);
    if (item.type == trace_type::instr_taken_jump) text += " (taken)";
    else if (item.type == trace_type::instr_untaken_jump) text += " (untaken)";
    else if (version_ >= 5 && is_indirect_branch(item.type)) {
      char target[40];
      std::snprintf(target, sizeof target, " (target 0x%" PRIx64 ")", item.branch_target.value_or(0));
      text += target;
    }
    out_.print(" %-21s%s\n", bytes.c_str(), text.c_str());
    if (rest.empty()) return;
    rest.pop_back();
    prefix(item, records_);
    out_.print("%44s%s\n", "", rest.c_str());
  }

  static const char* kind(trace_type type) {
    switch (type) {
      case trace_type::instr: return "non-branch";
      case trace_type::instr_direct_jump: return "jump";
      case trace_type::instr_indirect_jump: return "indirect jump";
      case trace_type::instr_conditional_jump: return "conditional jump";
      case trace_type::instr_taken_jump: return "taken conditional jump";
      case trace_type::instr_untaken_jump: return "untaken conditional jump";
      case trace_type::instr_direct_call: return "call";
      case trace_type::instr_indirect_call: return "indirect call";
      case trace_type::instr_return: return "return";
      case trace_type::instr_no_fetch: return "non-fetched instruction";
      default: return "sysenter";
    }
  }

  output& out_;
  cli::memtrace::disassembler disassembler_;
  std::uint64_t records_ = 0, instructions_ = 0, shown_instructions_ = 0;
  std::int64_t version_ = -1;
  std::optional<std::uint64_t> type_, last_tid_;
  std::uint64_t last_record_ = 0, version_record_ = 0, type_record_ = 0, time_ = 0, time_record_ = 0;
  std::set<std::uint64_t> headed_;
  std::map<std::uint64_t, std::uint64_t> windows_;
};

}  // namespace cli::as_drmemtrace
