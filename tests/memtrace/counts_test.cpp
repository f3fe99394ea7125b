// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <backsight/memtrace/counts.hpp>

#include "expected_tables.hpp"
#include "trace_builder.hpp"

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::load_trace;
using test::table;
using test::trace_builder;
using test::yield_files;

namespace {

std::vector<section_counts> sections_of(byte_view file) {
  final_counter counter;
  CHECK_FALSE(counter.feed(file));
  counter.finish();
  return counter.sections();
}

}  // namespace

TEST_CASE("counts equal those of an independent counter, whole and in pieces") {
  for (const auto& [set, files] : std::map<std::string, std::vector<std::string>>{
           {"yield", yield_files}, {"single", {"10508.3099"}}, {"sig", {"15934.7959"}}}) {
    const auto expected = table(set + ".per_thread_window.tsv");
    for (const std::string& name : files) {
      const auto file = load_trace(set + "/drmemtrace." + set + "." + name + ".trace.zip");
      final_counter whole, pieces;
      CHECK_FALSE(whole.feed(file));
      whole.finish();
      for (std::size_t at = 0; at < file.size(); at += 12 * 100)
        CHECK_FALSE(pieces.feed(byte_view(file).subspan(at, std::min<std::size_t>(1200, file.size() - at))));
      pieces.finish();
      CHECK(whole.sections() == pieces.sections());
      for (const section_counts& one : whole.sections()) {
        const auto row = expected.find({std::to_string(one.tid), one.window ? std::to_string(*one.window) : "-"});
        REQUIRE(row != expected.end());
        const record_counts& c = one.counts;
        std::vector<std::string> mine;
        for (const std::uint64_t number : {c.instructions, c.unique_pcs, c.non_fetched, c.prefetches, c.loads, c.stores,
                                           c.time_and_cpu, c.kernel_transfers, c.syscalls, c.blocking_syscalls,
                                           c.other_markers, c.encodings, c.exits, whole.records()}) {
          mine.push_back(std::to_string(number));
        }
        CHECK(mine == row->second);
      }
    }
  }
}

TEST_CASE("each kind of record is counted in its own number") {
  trace_builder built;
  built.header(7).unit(100, 0);
  built.put(trace_type::encoding, 1, 0x90)
      .instruction(0x10, 1)
      .instruction(0x10, 1)
      .put(trace_type::encoding, 2, 0)
      .put(trace_type::instr_no_fetch, 2, 0x20);
  // Without a size they are the PC of the next data record.
  built.instruction(0x30, 0).put(trace_type::instr_no_fetch, 0, 0x30);
  built.put(trace_type::read, 8, 1)
      .put(trace_type::read, 8, 2)
      .put(trace_type::write, 8, 3)
      .put(trace_type::prefetch, 8, 4)
      .put(trace_type::prefetch_write_l3_nt, 8, 5);
  built.put(trace_type::hardware_prefetch, 8, 6)
      .put(trace_type::instr_flush, 8, 7)
      .put(trace_type::instr_flush_end, 8, 7)
      .put(trace_type::data_flush, 8, 8)
      .put(trace_type::data_flush_end, 8, 8);
  built.marker(marker_type::kernel_event, 1)
      .marker(marker_type::kernel_xfer, 1)
      .marker(marker_type::core_idle, 0)
      .marker(marker_type::core_wait, 0)
      .marker(marker_type::core_wait, 0);
  built.marker(marker_type::func_id, 1)
      .marker(marker_type::func_retaddr, 1)
      .marker(marker_type::func_arg, 1)
      .marker(marker_type::func_arg, 2)
      .marker(marker_type::func_retval, 1);
  built.marker(marker_type::physical_address, 1)
      .marker(marker_type::virtual_address, 1)
      .marker(marker_type::physical_address_not_available, 1);
  built.marker(marker_type::syscall, 1)
      .marker(marker_type::maybe_blocking_syscall, 1)
      .marker(marker_type::skipped_memref, 1)
      .marker(marker_type::branch_target, 1);
  built.marker(marker_type::signal_number, 2).chunk(50, 100).exit(7);
  const auto found = sections_of(built.view());
  REQUIRE(found.size() == 2);
  record_counts head, in;
  head.time_and_cpu = 1;
  head.other_markers = 5;
  in.instructions = 2, in.unique_pcs = 1, in.non_fetched = 1, in.loads = 2, in.stores = 1, in.prefetches = 3,
  in.icache_flushes = in.dcache_flushes = 1;
  in.time_and_cpu = 1, in.idle = 1, in.wait = 2, in.kernel_transfers = 2,
  in.function_ids = in.function_return_addresses = 1, in.function_arguments = 2;
  in.function_return_values = in.physical_pairs = in.physical_unavailable = in.syscalls = in.blocking_syscalls =
      in.skipped_memrefs = 1;
  in.other_markers = 2, in.encodings = 2, in.exits = 1;
  CHECK(found[0] == section_counts{7, {}, head});
  CHECK(found[1] == section_counts{7, 0, in});
  // Everything but the different PCs adds up.
  record_counts sum = in;
  sum += in;
  record_counts twice = in;
  for (const auto member : {&record_counts::instructions,
                            &record_counts::non_fetched,
                            &record_counts::loads,
                            &record_counts::stores,
                            &record_counts::prefetches,
                            &record_counts::icache_flushes,
                            &record_counts::dcache_flushes,
                            &record_counts::time_and_cpu,
                            &record_counts::idle,
                            &record_counts::wait,
                            &record_counts::kernel_transfers,
                            &record_counts::function_ids,
                            &record_counts::function_return_addresses,
                            &record_counts::function_arguments,
                            &record_counts::function_return_values,
                            &record_counts::physical_pairs,
                            &record_counts::physical_unavailable,
                            &record_counts::syscalls,
                            &record_counts::blocking_syscalls,
                            &record_counts::skipped_memrefs,
                            &record_counts::other_markers,
                            &record_counts::encodings,
                            &record_counts::exits}) {
    twice.*member *= 2;
  }
  CHECK(sum == twice);
}

TEST_CASE("instructions between the marks of a kernel trace are the kernel's, and ends without a start are none") {
  trace_builder built;
  built.header(7).time(1);
  // Ends that have no start do not let the next start pass unnoticed.
  built.marker(marker_type::hardware_context_return, 0)
      .marker(marker_type::syscall_trace_end, 0)
      .marker(marker_type::context_switch_end, 0);
  built.instruction(1, 1);
  built.marker(marker_type::syscall_trace_start, 1)
      .instruction(2, 1)
      .put(trace_type::instr_no_fetch, 1, 2)
      .instruction(3, 1)
      .marker(marker_type::syscall_trace_end, 1);
  built.instruction(4, 1).put(trace_type::instr_no_fetch, 1, 4);
  built.marker(marker_type::context_switch_start, 1)
      .instruction(5, 1)
      .marker(marker_type::hardware_event, 1)
      .instruction(6, 1);
  built.marker(marker_type::hardware_context_return, 1)
      .instruction(7, 1)
      .marker(marker_type::context_switch_end, 1)
      .instruction(8, 1)
      .exit(7);
  const auto found = sections_of(built.view());
  REQUIRE(found.size() == 1);
  CHECK(found[0].counts.instructions == 8);
  CHECK(found[0].counts.kernel_instructions == 5);
  CHECK(found[0].counts.non_fetched == 2);
  CHECK(found[0].counts.kernel_non_fetched == 1);
  CHECK(found[0].counts.hardware_transfers == 3);
}

TEST_CASE("threads that take turns keep their own sections and windows") {
  trace_builder built;
  built.header(1, 7, 0xe40 | file_type::core_sharded).unit(10, 0).instruction(0x10, 1).instruction(0x11, 1);
  built.thread(2).unit(20, 0).instruction(0x10, 1);
  built.thread(1).instruction(0x10, 1).unit(30, 1).instruction(0x12, 1);
  built.thread(2).instruction(0x20, 1).instruction(0x21, 1);
  built.thread(3).instruction(0x30, 1);
  built.thread(1).instruction(0x12, 1).put(trace_type::footer, 0, 0);
  final_counter counter;
  CHECK_FALSE(counter.feed(built.view()));
  counter.finish();
  struct row {
    std::uint64_t tid;
    std::optional<std::uint64_t> window;
    std::uint64_t instructions, unique, times;
    bool operator==(const row&) const = default;
  };
  std::vector<row> found;
  for (const section_counts& one : counter.sections())
    found.push_back({one.tid, one.window, one.counts.instructions, one.counts.unique_pcs, one.counts.time_and_cpu});
  // A TIMESTAMP in front of the marker counts for the section before.
  CHECK(found ==
        std::vector<row>{
            {1, {}, 0, 0, 1}, {1, 0, 3, 2, 2}, {2, {}, 0, 0, 1}, {2, 0, 3, 3, 1}, {1, 1, 2, 1, 1}, {3, {}, 1, 1, 0}});
  CHECK(counter.all_pcs().size() == 6);
  CHECK(counter.last_window() == 1);
  CHECK(counter.file_type() == (0xe40 | file_type::core_sharded));
}

TEST_CASE("a record that cannot be understood ends the counting at its place, in any feed") {
  struct one {
    trace_type type;
    std::uint16_t size;
    errc code;
  };
  for (const one& bad : std::vector<one>{{static_cast<trace_type>(50), 0, errc::unknown_record},
                                         {trace_type::encoding, 9, errc::bad_size},
                                         {trace_type::instr_bundle, 9, errc::bad_size},
                                         {static_cast<trace_type>(49), 1, errc::ok},
                                         {trace_type::encoding, 8, errc::ok},
                                         {trace_type::instr_bundle, 8, errc::ok}}) {
    trace_builder built;
    built.header(7).time(1).instruction(1, 1).instruction(2, 1);
    const std::uint64_t place = built.here();
    built.put(bad.type, bad.size, 0).instruction(3, 1);
    for (const std::size_t piece : {std::size_t{12}, std::size_t{60}, built.view().size()}) {
      CAPTURE(static_cast<unsigned>(bad.type), bad.size, piece);
      final_counter counter;
      trace_error error;
      for (std::size_t at = 0; at < built.view().size() && !error; at += piece)
        error = counter.feed(built.view().subspan(at, std::min(piece, built.view().size() - at)));
      counter.finish();
      const std::uint64_t more = bad.type == static_cast<trace_type>(49) ? 2 : 1;
      if (bad.code == errc::ok) {
        CHECK_FALSE(error);
        CHECK(counter.sections()[0].counts.instructions == 2 + more);
        CHECK(counter.records() == built.view().size() / 12);
      } else {
        CHECK(error == trace_error{bad.code, place});
        CHECK(counter.sections()[0].counts.instructions == 2);
        CHECK(counter.records() == place / 12);
      }
    }
  }
}

TEST_CASE("a part of a record at the end of a feed is left out") {
  trace_builder built;
  built.header(7).time(1).instruction(1, 1).instruction(2, 1);
  final_counter counter;
  CHECK_FALSE(counter.feed(built.view().first(built.view().size() - 1)));
  counter.finish();
  CHECK(counter.sections()[0].counts.instructions == 1);
  CHECK(counter.records() == built.view().size() / 12 - 1);
}
