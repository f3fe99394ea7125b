// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include <backsight/core/hex_dump.hpp>
#include <backsight/core/print.hpp>

#include "xray_trace.hpp"

namespace cli {

using namespace backsight;

namespace {

/// One line of `llvm-xray fdr-dump` for each kind of record (llvm/lib/XRay/RecordPrinter.cpp).
struct llvm_printer {
  output& out;

  static char* put(char* to, std::string_view text) {
    std::memcpy(to, text.data(), text.size());
    return to + text.size();
  }
  template <order O>
  void operator()(const record<xray::function_record, O>& item) {
    using r = xray::function_record;
    constexpr std::array<std::string_view, 4> names{"<Function Enter: #", "<Function Exit: #", "<Function Tail Exit: #",
                                                    "<Function Enter With Arg: #"};
    char* to = put(out.room(80), names[static_cast<std::size_t>(item[r::action]) & 3U]);
    to = put(text::decimal(to, item[r::function_id]), " delta = +");
    out.used(put(text::decimal(to, item[r::tsc_delta]), ">\n"));
  }
  template <order O>
  void operator()(const record<xray::new_buffer_record, O>& item) {
    out.print("<Thread ID: %d>\n", item[xray::new_buffer_record::thread_id]);
  }
  template <order O>
  void operator()(const record<xray::end_of_buffer_record, O>&) {
    out.write("<End of Buffer>\n");
  }
  template <order O>
  void operator()(const record<xray::new_cpu_id_record, O>& item) {
    out.print("<CPU: id = %u, tsc = %lu>\n", unsigned{item[xray::new_cpu_id_record::cpu_id]},
              item[xray::new_cpu_id_record::absolute_tsc]);
  }
  template <order O>
  void operator()(const record<xray::tsc_wrap_record, O>& item) {
    out.print("<TSC Wrap: base = %lu>\n", item[xray::tsc_wrap_record::absolute_tsc]);
  }
  template <order O>
  void operator()(const record<xray::wall_clock_time_record, O>& item) {
    out.print("<Wall Time: seconds = %lu.%06u>\n", item[xray::wall_clock_time_record::seconds],
              item[xray::wall_clock_time_record::microseconds]);
  }
  template <order O>
  void operator()(const record<xray::call_argument_record, O>& item) {
    const auto value = item[xray::call_argument_record::argument];
    out.print("<Call Argument: data = %lu (hex = 0x%lx)>\n", value, value);
  }
  template <order O>
  void operator()(const record<xray::buffer_extents_record, O>& item) {
    out.print("<Buffer: size = %lu bytes>\n", item[xray::buffer_extents_record::extents]);
  }
  template <order O>
  void operator()(const record<xray::pid_record, O>& item) {
    out.print("<PID: %d>\n", item[xray::pid_record::pid]);
  }
  template <order O>
  void operator()(const record<xray::custom_event_record_v5, O>& item) {
    using r = xray::custom_event_record_v5;
    out.print("<Custom Event: delta = +%d, size = %d, data = '", item[r::tsc_delta], item[r::event_size]);
    payload(item.payload());
    out.write("'>\n");
  }
  template <order O>
  void operator()(const record<xray::custom_event_record_v4, O>& item) {
    using r = xray::custom_event_record_v4;
    absolute(item[r::absolute_tsc], item[r::cpu_id], item[r::event_size], item.payload());
  }
  template <order O>
  void operator()(const record<xray::custom_event_record_v1, O>& item) {
    using r = xray::custom_event_record_v1;
    // llvm-xray takes two bytes of the padding for the cpu, which only version 4 has.
    const record<xray::custom_event_record_v4, O> as_v4(item.bytes().data(), 0);
    absolute(item[r::absolute_tsc], as_v4[xray::custom_event_record_v4::cpu_id], item[r::event_size], item.payload());
  }
  template <order O>
  void operator()(const record<xray::typed_event_record_v5, O>& item) {
    using r = xray::typed_event_record_v5;
    typed(item[r::tsc_delta], item[r::event_type], item[r::event_size], item.payload());
  }
  template <order O>
  void operator()(const record<xray::typed_event_record_v2, O>& item) {
    // llvm-xray reads all versions by the layout of version 5.
    const record<xray::typed_event_record_v5, O> as_v5(item.bytes().data(), 0);
    using r = xray::typed_event_record_v5;
    typed(as_v5[r::tsc_delta], as_v5[r::event_type], as_v5[r::event_size], item.payload());
  }

 private:
  void absolute(std::uint64_t tsc, std::uint16_t cpu, std::int32_t size, byte_view data) {
    out.print("<Custom Event: tsc = %lu, cpu = %u, size = %d, data = '", tsc, unsigned{cpu}, size);
    payload(data);
    out.write("'>\n");
  }
  void typed(std::int32_t delta, std::uint16_t type, std::int32_t size, byte_view data) {
    out.print("<Typed Event: delta = +%d, type = %u, size = %d, data = '", delta, unsigned{type}, size);
    payload(data);
    out.write("'\n");
  }
  void payload(byte_view data) { out.write({reinterpret_cast<const char*>(data.data()), data.size()}); }
};

/// Prints the record as the user asked for.
class printer {
 public:
  printer(output& out, const arguments& asked, std::uint64_t size)
      : out_(out), asked_(asked), progress_(size), llvm_{out} {}

  template <record_format F>
  void operator()(const any_record<F>& item) {
    if (item.offset() < asked_.begin.value_or(0) || item.offset() >= asked_.end.value_or(~std::uint64_t{0}) || done())
      return;
    if ((++count_ & 0xffffU) == 0) progress_.add(std::uint64_t{0x10000} * 8);
    if constexpr (std::same_as<F, xray::fdr_format<F::byte_order>>) {
      if (asked_.as == "llvm-xray") return visit(item, llvm_);
    }
    // Every byte of a record takes at most six characters, and what is around it less than 16 lines.
    if (asked_.hex) {
      char* const to = out_.room(4096 + item.bytes().size() * 16);
      out_.used(hex_dump(to, item));
    } else {
      char* to = out_.room(4096 + item.bytes().size() * 6);
      if (asked_.format == "csv") to = csv_line(to, item);
      else if (asked_.format == "json") to = json_line(to, item);
      else to = print(text::literal(text::decimal(to, item.offset(), 8), "  "), item);
      *to++ = '\n';
      out_.used(to);
    }
  }
  /// Nothing more is to be printed.
  [[nodiscard]] bool done() const { return asked_.limit && count_ >= *asked_.limit; }
  /// llvm-xray reads a BufferExtents at the end of a log when only its padding is cut off.
  template <order O>
  void cut_extents(byte_view all, std::uint64_t offset) {
    std::array<std::byte, xray::metadata_head::size> padded{};
    const byte_view rest = all.subspan(static_cast<std::size_t>(offset));
    const bool is_extents =
        !rest.empty() && rest[0] == xray::fdr_format<O>::head_of(xray::metadata_kind::buffer_extents);
    if (asked_.as != "llvm-xray" || !is_extents || rest.size() < 9 || rest.size() >= padded.size()) return;
    std::ranges::copy(rest, padded.begin());
    llvm_(record<xray::buffer_extents_record, O>(padded.data()));
  }
  /// Bytes that belong to no record, in the hex dump.
  void rest(byte_view bytes, std::uint64_t offset, const char* label) {
    if (!asked_.hex || bytes.empty() || done() || offset < asked_.begin.value_or(0) ||
        offset >= asked_.end.value_or(~std::uint64_t{0}))
      return;
    hex_dump(output_iterator(out_), bytes, offset, label);
  }

 private:
  output& out_;
  const arguments& asked_;
  std::uint64_t count_ = 0;
  progress progress_;
  llvm_printer llvm_;
};

/// The whole body as one run of records, as the present llvm-xray reads version 1: on behind EndOfBuffer. Gives false
/// and prints nothing when that does not work.
template <order O>
bool dump_without_seek(const xray::log& log, printer& print) {
  for (const bool dry : {true, false}) {
    const xray::fdr_records<O, grammar_check::ignored> records(log.body(), {log.version()}, size_of<xray::file_header>);
    auto it = records.begin();
    while (true) {
      for (; it != std::default_sentinel; ++it) {
        if (!dry) print(*it);
      }
      if (it.error()) return false;
      const auto at = static_cast<std::size_t>(it.offset() - records.base());
      if (at == records.bytes().size()) break;
      it = records.at(at, {log.version()});
    }
  }
  return true;
}

template <order O>
void dump_blocks(xray_trace& trace, printer& print) {
  const auto& log = trace.log();
  const xray::fdr_blocks<O> blocks(log);
  auto block = blocks.begin();
  for (; block != std::default_sentinel && !print.done(); ++block) {
    const auto where = *block;
    print.rest(log.bytes().subspan(static_cast<std::size_t>(where.offset - where.skipped),
                                   static_cast<std::size_t>(where.skipped)),
               where.offset - where.skipped, "(between blocks)");
    const auto records = where.template records<O, grammar_check::ignored>(log.version());
    auto it = records.begin();
    // All that can be decoded is printed; the first record that may not stand where it stands is a fault nevertheless.
    constexpr auto& rules = xray::fdr_format<O>::transitions;
    std::uint32_t previous = rules.start_state;
    bool in_order = true;
    for (; it != std::default_sentinel && !print.done(); ++it) {
      const auto item = *it;
      if (in_order && !rules.may_follow(previous, item.kind())) {
        in_order = false;
        trace.add_fault({errc::bad_transition, item.offset(), 0});
      }
      previous = item.kind();
      print(item);
    }
    const auto kept = static_cast<std::size_t>(it.offset() - where.offset);
    if (it == std::default_sentinel && !it.error()) {
      if (in_order && !rules.may_finish(previous)) trace.add_fault({errc::bad_end, it.offset(), 0});
      if (where.missing != 0) trace.add_fault({errc::truncated, it.offset(), 0});
    }
    if (trace_error error = it.error()) {
      const bool crosses = error.code == errc::truncated && where.offset + where.bytes.size() < log.bytes().size();
      trace.add_fault({crosses ? errc::record_crosses_block : error.code, error.offset, where.bytes.size() - kept});
    }
    print.rest(where.bytes.subspan(kept), it.offset(), it.error() ? "(not decoded)" : "(not used)");
  }
  if (const trace_error error = block.error()) {
    trace.add_fault({error.code, error.offset, log.bytes().size() - error.offset});
    print.cut_extents<O>(log.bytes(), error.offset);
    print.rest(log.bytes().subspan(static_cast<std::size_t>(error.offset)), error.offset, "(not decoded)");
  }
}

template <order O>
void dump_basic(xray_trace& trace, printer& print) {
  const auto records = xray::records_of_basic<O, grammar_check::ignored>(trace.log());
  for_each_salvaging(records, print, [&](const fault& damage) {
    trace.add_fault(damage);
    print.rest(
        trace.log().bytes().subspan(static_cast<std::size_t>(damage.offset), static_cast<std::size_t>(damage.skipped)),
        damage.offset, "(not decoded)");
  });
  // Arguments that belong to no call are printed like any other record, and are a fault.
  xray::for_each_basic_event<O>(
      trace.log(), [](const xray::event&) {}, [&](const fault& damage) { trace.add_fault(damage); });
}

}  // namespace

int xray_dump(const arguments& asked) {
  xray_trace trace;
  if (!trace.open(asked.path(), asked.as == "llvm-xray")) return bad_input;
  const auto& log = trace.log();
  const bool basic = log.type() == xray::log_type::basic;
  if (basic && asked.as == "llvm-xray") return report_error(asked.path(), "llvm-xray's fdr-dump reads only FDR logs");
  output out("-");
  with_order(log.byte_order(), [&](auto byte_order) {
    constexpr order o = byte_order();
    printer print(out, asked, log.bytes().size());
    if (asked.hex && asked.as.empty() && asked.begin.value_or(0) == 0 && !asked.limit) {
      hex_dump(output_iterator(out), record<xray::file_header, o>(log.bytes().data()), 0);
    }
    if (asked.format == "csv" && !asked.hex && asked.as.empty()) {
      if (basic) csv_header_of_format<xray::basic_format<o>>(output_iterator(out));
      else csv_header_of_format<xray::fdr_format<o>>(output_iterator(out));
      out.write("\n");
    }
    if (basic) return dump_basic<o>(trace, print);
    if (asked.as == "llvm-xray" && log.version() == 1 && dump_without_seek<o>(log, print)) return;
    dump_blocks<o>(trace, print);
  });
  return out.close(trace.report_faults());
}

}  // namespace cli
