// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/uftrace/trace.hpp>

#include <support/byte_builder.hpp>

namespace backsight::test {

/// The functions that the program of a uftrace_builder has, 16 bytes each.
namespace fn {
inline constexpr std::uint64_t main = 0x401000, a = 0x401010, b = 0x401020, c = 0x401030, fork = 0x401100,
                               execv = 0x401110, setjmp = 0x401120, longjmp = 0x401130;
}  // namespace fn

[[nodiscard]] inline byte_view view_of(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// Writes a task file of uftrace (TID.dat) record by record, from the format's description and without the library's
/// schemas.
class uftrace_records {
 public:
  explicit uftrace_records(order o = order::little) : out_(o) {}

  /// Depths beyond 1023 carry into the address, as with the recorder. Values are padded to 8 bytes.
  uftrace_records& entry(std::uint64_t time, std::uint64_t depth, std::uint64_t address) {
    return head(time, 0, false, depth, address);
  }
  uftrace_records& exit(std::uint64_t time, std::uint64_t depth, std::uint64_t address) {
    return head(time, 1, false, depth, address);
  }
  uftrace_records& entry(std::uint64_t time, std::uint64_t depth, std::uint64_t address, byte_view values) {
    return head(time, 0, true, depth, address).padded(values);
  }
  uftrace_records& exit(std::uint64_t time, std::uint64_t depth, std::uint64_t address, byte_view values) {
    return head(time, 1, true, depth, address).padded(values);
  }
  uftrace_records& lost(std::uint64_t count) { return head(0, 2, false, 0, count); }
  uftrace_records& event(std::uint64_t time, std::uint64_t id) { return head(time, 3, false, 0, id); }
  uftrace_records& event(std::uint64_t time, std::uint64_t id, byte_view data) {
    head(time, 3, true, 0, id);
    out_.u16(data.size()).append(data);
    return pad();
  }
  uftrace_records& u64(std::uint64_t word) {
    out_.u64(word);
    return *this;
  }
  uftrace_records& fill(std::size_t count, unsigned value) {
    out_.fill(count, value);
    return *this;
  }

  [[nodiscard]] std::size_t size() const { return out_.size(); }
  [[nodiscard]] byte_view view() const { return out_.view(); }

 private:
  uftrace_records& head(std::uint64_t time, unsigned type, bool more, std::uint64_t depth, std::uint64_t address) {
    out_.u64(time).u64((address << 16) + (depth << 6) + 0x28 + type + (more ? 4U : 0U));
    return *this;
  }
  uftrace_records& padded(byte_view bytes) {
    out_.append(bytes);
    return pad();
  }
  /// Padding is not cleared in real files either.
  uftrace_records& pad() {
    out_.fill((8 - out_.size() % 8) % 8, 0xaa);
    return *this;
  }

  byte_builder out_;
};

/// Writes a perf-cpuN.dat.
class uftrace_perf_records {
 public:
  explicit uftrace_perf_records(order o = order::little) : out_(o) {}

  uftrace_perf_records& sched_in(std::uint64_t time, std::uint32_t tid) { return switched(time, tid, 0); }
  uftrace_perf_records& sched_out(std::uint64_t time, std::uint32_t tid) { return switched(time, tid, 0x2000); }
  uftrace_perf_records& preempted(std::uint64_t time, std::uint32_t tid) { return switched(time, tid, 0x6000); }
  /// A thread begins (type 7) or ends (type 4).
  uftrace_perf_records& task(std::uint64_t time, std::uint32_t tid, unsigned type) {
    out_.u32(type).u16(0).u16(48).u32(1).u32(2).u32(tid).u32(3).u64(time).u32(1).u32(tid).u64(time);
    return *this;
  }
  uftrace_perf_records& comm(std::uint64_t time, std::uint32_t tid, std::string_view name) {
    const std::size_t padded = (name.size() + 8) / 8 * 8;
    out_.u32(3).u16(0x2000).u16(16 + padded + 16).u32(1).u32(tid).text(name).fill(padded - name.size());
    out_.u32(1).u32(tid).u64(time);
    return *this;
  }
  /// A record of another type, `size` bytes whole.
  uftrace_perf_records& other(unsigned type, std::uint16_t size) {
    out_.u32(type).u16(0).u16(size).fill(size - 8U, 0x11);
    return *this;
  }

  [[nodiscard]] std::size_t size() const { return out_.size(); }
  [[nodiscard]] byte_view view() const { return out_.view(); }

 private:
  uftrace_perf_records& switched(std::uint64_t time, std::uint32_t tid, unsigned misc) {
    out_.u32(14).u16(misc).u16(24).u32(1).u32(tid).u64(time);
    return *this;
  }

  byte_builder out_;
};

/// Writes kernel_header and the pages of kernel-cpuN.dat of a kernel with the function graph tracer and one event,
/// test:wake (id 7, one member `value`, 4 bytes). Its functions begin at 0xffff800000001000, 16 bytes each: k0, k1, ...
class uftrace_kernel_records {
 public:
  static constexpr std::uint64_t base = 0xffff800000000000, k0 = base + 0x1000, k1 = base + 0x1010, k2 = base + 0x1020;
  static constexpr std::size_t page_size = 256;

  [[nodiscard]] static std::string header() {
    const std::string page =
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t "
        "commit;\toffset:8;\tsize:8;\tsigned:1;\n"
        "\tfield: char data;\toffset:16;\tsize:100;\tsigned:1;\n";
    const std::string function = "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n";
    const std::string depth = "\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n";
    return "PAGE_SIZE: 256\nLONG_SIZE: 8\nENDIAN: LE\nTRACEFS: events/header_page: " + std::to_string(page.size()) +
           "\n" + page + event("ftrace", "funcgraph_entry", 11, function + depth) +
           event("ftrace", "funcgraph_exit", 10, function + depth) +
           event("test", "wake", 7, "\tfield:int value;\toffset:8;\tsize:4;\tsigned:1;\n");
  }
  [[nodiscard]] static std::string symbols() {
    return "ffff800000001000 T k0\nffff800000001010 t k1\nffff800000001020 T k2\nffff800000001030 T end\n";
  }

  uftrace_kernel_records& entry(std::uint64_t time, std::uint32_t tid, unsigned depth, std::uint64_t address) {
    return function(time, 11, tid, depth, address);
  }
  uftrace_kernel_records& exit(std::uint64_t time, std::uint32_t tid, unsigned depth, std::uint64_t address) {
    return function(time, 10, tid, depth, address);
  }
  uftrace_kernel_records& wake(std::uint64_t time, std::uint32_t tid, std::uint32_t value, unsigned id = 7) {
    return head(time, 3, id, tid).word(value);
  }
  /// The records from here on are on a new page, before which `lost` events were lost.
  uftrace_kernel_records& next_page(std::uint64_t lost = 0) {
    if (!events_.view().empty() || lost_ != 0) finish();
    lost_ = lost;
    return *this;
  }
  [[nodiscard]] byte_view view() {
    if (!events_.view().empty()) finish();
    return pages_.view();
  }

 private:
  [[nodiscard]] static std::string event(const std::string& system, const std::string& name, int id,
                                         const std::string& fields) {
    const std::string text = "name: " + name + "\nID: " + std::to_string(id) +
                             "\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                             "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" +
                             fields + "\nprint fmt: \"\"\n";
    return "TRACEFS: events/" + system + "/" + name + "/format: " + std::to_string(text.size()) + "\n" + text;
  }
  uftrace_kernel_records& head(std::uint64_t time, unsigned words, unsigned id, std::uint32_t tid) {
    if (events_.view().empty()) page_time_ = last_ = time;
    events_.u32(words | (time - last_) << 5).u16(id).u16(0).u32(tid);
    last_ = time;
    return *this;
  }
  uftrace_kernel_records& function(std::uint64_t time, unsigned id, std::uint32_t tid, unsigned depth,
                                   std::uint64_t address) {
    head(time, 5, id, tid);
    events_.u64(address).u32(depth);
    return *this;
  }
  uftrace_kernel_records& word(std::uint32_t value) {
    events_.u32(value);
    return *this;
  }
  void finish() {
    const std::uint64_t flags = lost_ != 0 ? std::uint64_t{3} << 30 : 0;
    byte_builder page;
    page.u64(page_time_).u64(events_.size() | flags).append(events_.view()).u64(lost_);
    pages_.append(page.fill(page_size - page.size()).view());
    events_ = byte_builder();
    lost_ = 0;
  }

  byte_builder pages_, events_;
  std::uint64_t page_time_ = 0, last_ = 0, lost_ = 0;
};

/// Puts a data directory of uftrace together in memory: a program with the functions of `fn`, its tasks and what is
/// added.
class uftrace_builder {
 public:
  order byte_order = order::little;
  bool is_64 = true;
  std::uint64_t features = 1U << 1 | 1U << 5;  ///< TASK_SESSION, SYM_REL_ADDR
  std::uint16_t max_stack = 0;                 ///< where not 0, with its bit
  std::uint32_t version = 4;
  std::vector<std::pair<unsigned, std::string>> info_lines;  ///< bit of info_mask and the lines, ascending
  std::string tasks =
      "SESS timestamp=0.000000001 pid=7 sid=0123456789abcdef exename=\"/bin/prog\"\nTASK timestamp=0.000000002 tid=7 "
      "pid=7\n";
  std::string map =
      "400000-500000 r-xp 00000000 00:00 0 /bin/prog\n7ffe0d922000-7ffe0d943000 rw-p 00000000 00:00 0 [stack]\n";
  std::string symbols =
      "# path name: /bin/prog\n0000000000001000 00000010 T main\n0000000000001010 00000010 T a\n0000000000001020 "
      "00000010 T b\n"
      "0000000000001030 00000010 T c\n0000000000001100 00000010 P fork\n0000000000001110 00000010 P execv\n"
      "0000000000001120 00000010 P setjmp\n0000000000001130 00000010 P longjmp\n";

  /// A bit of feat_mask.
  uftrace_builder& with(uftrace::feature f) {
    features |= std::uint64_t{1} << static_cast<unsigned>(f);
    return *this;
  }
  /// A task file that info lists; the order is that of the calls.
  uftrace_builder& data(std::uint32_t tid, byte_view records) {
    tids_.push_back(tid);
    return file(std::to_string(tid) + ".dat", records);
  }
  uftrace_builder& data(std::uint32_t tid, const uftrace_records& records) { return data(tid, records.view()); }
  /// A tid that info lists and that has no file.
  uftrace_builder& no_data(std::uint32_t tid) {
    tids_.push_back(tid);
    return *this;
  }
  /// A file of scheduler events; they are numbered.
  uftrace_builder& perf(const uftrace_perf_records& records) {
    with(uftrace::feature::perf_event);
    return file("perf-cpu" + std::to_string(perf_count_++) + ".dat", records.view());
  }
  /// A file of kernel data; they are numbered.
  uftrace_builder& kernel(uftrace_kernel_records records) {
    if (kernel_count_ == 0) {
      with(uftrace::feature::kernel);
      file("kernel_header", uftrace_kernel_records::header()).file("kallsyms", uftrace_kernel_records::symbols());
    }
    return file("kernel-cpu" + std::to_string(kernel_count_++) + ".dat", records.view());
  }
  uftrace_builder& file(std::string name, byte_view bytes) {
    contents_.emplace_back(std::move(name), std::vector<std::byte>(bytes.begin(), bytes.end()));
    return *this;
  }
  uftrace_builder& file(std::string name, std::string_view text) { return file(std::move(name), view_of(text)); }

  /// The files; views of this object.
  [[nodiscard]] std::vector<uftrace::directory_file> files() {
    std::uint64_t info_mask = 1U << 7;
    std::string lines;
    for (const auto& [bit, text] : info_lines) {
      if (bit < 7) lines += text;
    }
    lines += "taskinfo:lines=2\ntaskinfo:nr_tid=" + std::to_string(tids_.size()) + "\ntaskinfo:tids=";
    for (std::size_t i = 0; i < tids_.size(); ++i) lines += (i == 0 ? "" : ",") + std::to_string(tids_[i]);
    lines += '\n';
    for (const auto& [bit, text] : info_lines) {
      info_mask |= std::uint64_t{1} << bit;
      if (bit > 7) lines += text;
    }
    byte_builder head(byte_order);
    head.text("Ftrace!").u8(0).u32(version).u16(40).u8(byte_order == order::little ? 1 : 2).u8(is_64 ? 2 : 1);
    head.u64(features | (max_stack != 0 ? 1U << 6 : 0U)).u64(info_mask).u16(max_stack).fill(6).text(lines);
    info_ = head.vector();
    std::vector<uftrace::directory_file> all{{"info", info_}};
    if (!tasks.empty()) all.push_back({"task.txt", view_of(tasks)});
    if (!map.empty()) all.push_back({"sid-0123456789abcdef.map", view_of(map)});
    if (!symbols.empty()) all.push_back({"prog.sym", view_of(symbols)});
    for (const auto& [name, bytes] : contents_) all.push_back({name, bytes});
    return all;
  }
  /// The recording; a view of this object.
  [[nodiscard]] uftrace::recording open() {
    auto opened = uftrace::open(files());
    return std::move(opened.partial());
  }

 private:
  std::vector<std::uint32_t> tids_;
  std::vector<std::pair<std::string, std::vector<std::byte>>> contents_;
  std::vector<std::byte> info_;
  unsigned perf_count_ = 0, kernel_count_ = 0;
};

}  // namespace backsight::test
