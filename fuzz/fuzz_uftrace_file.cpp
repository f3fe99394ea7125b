// SPDX-License-Identifier: Apache-2.0
// The kinds of files of a uftrace directory: the target of each calls one of the functions in `kinds`.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <backsight/uftrace/uftrace.hpp>

#include "as/uftrace/kernel_event_text.hpp"
#include "as/uftrace/value_text.hpp"

using namespace backsight;
using namespace backsight::uftrace;
using namespace cli::as_uftrace;

namespace {

byte_view bytes_of(std::string_view text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }

/// How a kernel lays out pages of 256 bytes, functions of the function graph and one tracepoint.
constexpr std::string_view header_of_kernel =
    "PAGE_SIZE: 256\nLONG_SIZE: 8\nENDIAN: LE\n"
    "TRACEFS: events/header_page: 153\n"
    "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
    "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
    "\tfield: char data;\toffset:16;\tsize:240;\tsigned:1;\n"
    "TRACEFS: events/ftrace/funcgraph_entry/format: 304\n"
    "name: funcgraph_entry\nID: 11\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n\n"
    "print fmt: \"--> %lx (%d)\", REC->func, REC->depth\n"
    "TRACEFS: events/ftrace/funcgraph_exit/format: 303\n"
    "name: funcgraph_exit\nID: 10\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n\n"
    "print fmt: \"<-- %lx (%d)\", REC->func, REC->depth\n"
    "TRACEFS: events/sched/sched_process_exec/format: 317\n"
    "name: sched_process_exec\nID: 300\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:1;\n"
    "\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n\n"
    "print fmt: \"%s %d\", __get_str(filename), REC->pid\n";

/// A directory of one task, 42, whose functions at 0x1000, 0x1100 and 0x1200 have values of every kind, and one more
/// file.
std::vector<directory_file> directory_with(std::string_view name, byte_view bytes,
                                           const directory_file& other = {"default.opts", {}}) {
  // Version 4, little-endian, 64-bit; features: all but estimated returns; items: tasks, specifications and kind of
  // patterns.
  static constexpr char info[] =
      "Ftrace!\0\4\0\0\0\x28\0\1\2\xff\x17\0\0\0\0\0\0\x80\x14\0\0\0\0\0\0\0\4\0\0\0\0\0\0"
      "taskinfo:lines=2\ntaskinfo:nr_tid=1\ntaskinfo:tids=42\n"
      "argspec:lines=2\n"
      "argspec:alpha@arg1,arg2/s,arg3/i32,arg4/c,arg5/x8;beta@fparg1/80,fparg2/32,arg1/p,arg2/t12:box,arg3/"
      "e:color,arg4/S\n"
      "retspec:alpha@retval/s;beta@retval/f64;gamma@retval/t0:none\n"
      "pattern_type:regex\n";
  static constexpr std::string_view tasks =
      "SESS timestamp=0.000000001 pid=42 sid=0123456789abcdef exename=\"/a/b\"\nTASK timestamp=0.000000002 tid=42 "
      "pid=42\n";
  static constexpr std::string_view map = "00001000-00002000 r-xp 00000000 00:00 0                          /a/b\n";
  static constexpr std::string_view symbols =
      "# symbols: 3\n# path name: /a/b\n0000000000000000 00000100 T alpha\n0000000000000100 00000100 T beta\n"
      "0000000000000200 00000100 T gamma\n";
  // Of two files of one name the first is read.
  return {{std::string(name), bytes},
          other,
          {"info", bytes_of({info, sizeof info - 1})},
          {"task.txt", bytes_of(tasks)},
          {"sid-0123456789abcdef.map", bytes_of(map)},
          {"b.sym", bytes_of(symbols)}};
}

/// Reads all records of a directory and writes them as text.
std::size_t read_directory(const std::vector<directory_file>& files) {
  const auto opened = uftrace::open(files);
  if (!opened) std::abort();
  std::size_t sum = opened->faults.size();
  resolver names(*opened);
  value_writer values(names);
  merged_records records(names, {.external = true, .salvage = true});
  std::string text;
  for (merged_record r; records.next(r);) {
    text.clear();
    if (r.source == record_source::kernel_file && r.is_event()) {
      add_kernel_event_name(text, opened->kernel.header, r.address);
      add_kernel_event_text(text, opened->kernel.header, r.address, r.payload);
    } else if (r.is_event()) {
      values.event_name(text, r.address);
      values.event_text(text, r, true);
    } else if (r.more) {
      values.values(text, r, text_style::replay);
      values.values(text, r, text_style::chrome);
      values.raw_lines(text, r);
    }
    sum += text.size();
  }
  return sum + records.faults().size();
}

/// Values as long as their first byte tells.
payload_result any_size(const void*, std::uint32_t, std::uint64_t, std::uint64_t, bool, byte_view rest) noexcept {
  if (rest.empty()) return errc::truncated;
  return std::to_integer<std::size_t>(rest.front());
}

template <class Range>
std::uint64_t walk(const Range& range) {
  std::uint64_t sum = 0, last = 0;
  bool first = true;
  (void)for_each_salvaging(
      range,
      [&](const auto& item) {
        if (!first && item.offset() <= last) std::abort();
        first = false;
        last = item.offset();
        visit(item, [&](const auto& typed) {
          using schema_type = typename std::remove_cvref_t<decltype(typed)>::schema_type;
          for_each_member<schema_type>([&](auto, auto index) { sum += sizeof(typed.template member_at<index>()); });
          for (const std::byte byte : typed.bytes()) sum += std::to_integer<std::uint64_t>(byte);
        });
      },
      [&](const fault& f) { sum += f.skipped; });
  return sum;
}

/// An index of the records finds what a walk finds, and bisection, where it answers, no record that is too early.
template <order O>
std::uint64_t find_times(byte_view bytes) {
  const task_records<O> records(bytes, {nullptr, &any_size, 0});
  const time_index index = time_index::build<O>(records, 3);
  const auto opened = time_index::open(index.save(), fingerprint_of_ends(bytes));
  if (!opened || opened->entries() != index.entries()) std::abort();
  std::vector<std::uint64_t> times{0, 1, ~std::uint64_t{0}};
  if (bytes.size() >= 8) times.push_back(load<std::uint64_t, O>(bytes.data()));
  if (bytes.size() >= 40) times.push_back(load<std::uint64_t, O>(bytes.data() + 32) + 1);
  for (const std::uint64_t time : times) {
    std::uint64_t expected = bytes.size();
    (void)for_each_salvaging(
        records,
        [&](const auto& item) {
          const record<function_record<O>, O> head(item.bytes().data());
          if (expected != bytes.size() || head[record_head::type] == record_type::lost ||
              head[record_head::time] < time)
            return;
          expected = item.offset();
        },
        [](const fault&) {});
    if (index.find(records, time).offset != expected) std::abort();
    const auto found = find_by_bisection<O>(bytes, time);
    if (found && found->found && found->time < time) std::abort();
  }
  return index.entries().size();
}

}  // namespace

namespace kinds {

/// The file `info`.
std::size_t info(byte_view bytes) {
  const auto read = read_info(bytes);
  return read.partial().tids().size() + read.partial().lines.size();
}
/// task.txt.
std::size_t task_list(byte_view bytes) {
  return read_task_text(bytes).events.size() + read_directory(directory_with("task.txt", bytes));
}
/// sid-*.map.
std::size_t memory_map(byte_view bytes) { return read_memory_map(bytes).mappings.size(); }
/// *.sym.
std::size_t symbols(byte_view bytes) {
  const symbol_table table = read_symbols(bytes);
  std::size_t sum = 0;
  for (const symbol& s : table.symbols()) sum += names::short_name(s.name).size() + table.find(s.address);
  return sum;
}
/// *.dbg: functions, specifications and enumerations.
std::size_t debug_file(byte_view bytes) {
  const std::string_view text = text::as_text(bytes);
  std::vector<enumeration> all;
  read_enumerations(text, all);
  std::string out;
  for (const enumeration& e : all) e.text_of(static_cast<std::int64_t>(bytes.size()), out);
  function_specs specs;
  for (const bool returns : {false, true}) (void)specs.add(text, 8, returns, {}, names::pattern_kind::glob);
  std::vector<std::uint32_t> found;
  specs.find(std::string(text.substr(0, 20)), found);
  return read_debug_file(bytes).functions.size() + specs.all().size() + found.size() + out.size();
}
/// events.txt.
std::size_t events(byte_view bytes) { return read_directory(directory_with("events.txt", bytes)); }
/// extern.dat.
std::size_t external(byte_view bytes) { return read_directory(directory_with("extern.dat", bytes)); }
/// TID.dat, whatever its values are. The first byte chooses the byte order.
std::size_t records(byte_view bytes) {
  if (bytes.empty()) return 0;
  const byte_view rest = bytes.subspan(1);
  const value_sizes sizes{nullptr, &any_size, 0};
  if ((bytes.front() & std::byte{1}) == std::byte{0})
    return walk(task_records<order::little>(rest, sizes)) + find_times<order::little>(rest);
  return walk(task_records<order::big>(rest, sizes)) + find_times<order::big>(rest);
}
/// TID.dat with arguments, return values and data of events.
std::size_t values(byte_view bytes) { return read_directory(directory_with("42.dat", bytes)); }
/// perf-cpuN.dat. The first byte chooses the byte order.
std::size_t perf(byte_view bytes) {
  if (bytes.empty()) return 0;
  const byte_view rest = bytes.subspan(1);
  const bool little = (bytes.front() & std::byte{1}) == std::byte{0};
  return little ? walk(perf_records<order::little>(rest)) : walk(perf_records<order::big>(rest));
}
/// The binary file `task`, in either byte order.
std::size_t task_messages(byte_view bytes) {
  const uftrace::task_list big = read_task_messages(bytes, order::big);
  return big.events.size() + read_directory(directory_with("task", bytes));
}
/// kernel_header, and behind a NUL a page file that it describes.
std::size_t kernel_header(byte_view bytes) {
  const std::string_view text = text::as_text(bytes);
  const std::size_t end = std::min(text.find('\0'), text.size());
  const byte_view pages = bytes.subspan(std::min(end + 1, bytes.size()));
  return read_directory(directory_with("kernel_header", bytes.first(end), {"kernel-cpu0.dat", pages}));
}
/// kernel-cpuN.dat.
std::size_t kernel_pages(byte_view bytes) {
  return read_directory(directory_with("kernel-cpu0.dat", bytes, {"kernel_header", bytes_of(header_of_kernel)}));
}
/// An object without a .sym file.
std::size_t elf_symbols(byte_view bytes) {
  const symbol_table table = read_elf_symbols(bytes, {});
  std::size_t sum = 0;
  for (const symbol& s : table.symbols()) sum += s.name.size() + table.find(s.address);
  return sum;
}
/// A saved time index.
std::size_t index(byte_view bytes) {
  const std::vector<std::byte> file(65536, std::byte{0x28});
  const auto opened = time_index::open(bytes, fingerprint_of_ends(file));
  if (!opened) return 0;
  return opened->find(task_records<order::little>(file), 0x2828282828282828).offset;
}

}  // namespace kinds
