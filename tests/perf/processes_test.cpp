// SPDX-License-Identifier: Apache-2.0
#include <backsight/perf/processes.hpp>

#include <string>
#include <vector>

#include <support/catch.hpp>

#include "perf_builder.hpp"

namespace perf = backsight::perf;
using backsight::order;
using backsight::test::byte_builder;
using record_kind = perf::record_type;

namespace {

constexpr std::uint64_t sample_type = 0x7;  // ip, tid, time

/// Takes in records one by one, with trailers of pid, tid and time.
struct history {
  perf::process_list list;
  perf::trace trace;
  std::vector<std::byte> file;
  std::vector<std::uint64_t> changes;

  history() {
    file =
        backsight::test::file_bytes(order::little, {backsight::test::attribute_bytes(order::little, sample_type)}, {});
    trace = perf::open(file).value();
  }
  void take(record_kind kind, unsigned misc, byte_builder body) {
    body.u32(1).u32(1).u64(5);
    const auto bytes = backsight::test::record_bytes(order::little, backsight::test::number_of(kind), misc, body);
    perf::merged_record item;
    item.record.type = kind;
    item.record.misc = static_cast<std::uint16_t>(misc);
    item.record.bytes = bytes;
    item.event = 0;
    list.apply(item, trace,
               [&](const perf::process*, std::uint64_t begin, std::uint64_t) { changes.push_back(begin); });
  }
  static byte_builder start(order o = order::little) { return byte_builder(o); }
  void map(unsigned pid, std::uint64_t begin, std::uint64_t size, const char* name, unsigned misc = 2) {
    // A name is padded to eight bytes.
    std::string text(name);
    text.resize(text.size() / 8 * 8 + 8);
    auto body = start();
    body.u32(pid).u32(pid).u64(begin).u64(size).u64(0x1000);
    for (const char c : text) body.u8(static_cast<unsigned char>(c));
    take(record_kind::mmap, misc, body);
  }
  void comm(unsigned pid, unsigned tid, const char* name, unsigned misc = 0) {
    std::string text(name);
    text.resize(16);
    auto body = start();
    body.u32(pid).u32(tid);
    for (const char c : text) body.u8(static_cast<unsigned char>(c));
    take(record_kind::comm, misc, body);
  }
  void fork(unsigned pid, unsigned parent, unsigned tid, unsigned parent_tid) {
    take(record_kind::fork, 0, start().u32(pid).u32(parent).u32(tid).u32(parent_tid).u64(5));
  }
  std::string name_of(int pid, int tid) { return list.name(list.find_thread(pid, tid).name); }
  std::string file_at(int pid, std::uint64_t address) {
    const perf::mapping* const found = list.find_process(pid).maps->find(address);
    return found == nullptr ? std::string("-") : list.files()[found->file].name;
  }
};

}  // namespace

TEST_CASE("a forked process has the mappings and the name of its parent, and changes its own alone") {
  history all;
  all.comm(10, 10, "parent");
  all.map(10, 0x1000, 0x1000, "/a");
  all.fork(20, 10, 20, 10);
  CHECK(all.file_at(20, 0x1800) == "/a");
  CHECK(all.name_of(20, 20) == "parent");
  all.map(20, 0x1000, 0x1000, "/b");
  CHECK(all.file_at(20, 0x1800) == "/b");
  CHECK(all.file_at(10, 0x1800) == "/a");
  all.map(10, 0x5000, 0x1000, "/c");
  CHECK(all.file_at(20, 0x5000) == "-");
}

TEST_CASE("threads of a process share its mappings") {
  history all;
  all.map(10, 0x1000, 0x1000, "/a");
  all.fork(10, 10, 11, 10);
  CHECK(all.list.find_thread(10, 11).pid == 10);
  CHECK(all.list.find_thread(-1, 11).pid == 10);
}

TEST_CASE("an exec clears the mappings, another name does not") {
  history all;
  all.map(10, 0x1000, 0x1000, "/a");
  all.comm(10, 10, "renamed");
  CHECK(all.file_at(10, 0x1000) == "/a");
  all.comm(10, 10, "other", backsight::perf::misc::comm_exec);
  CHECK(all.file_at(10, 0x1000) == "-");
  CHECK(all.name_of(10, 10) == "other");
}

TEST_CASE("threads that no record named are called by their number, and 0 is the swapper") {
  history all;
  CHECK(all.name_of(7, 8) == ":8");
  CHECK(all.name_of(0, 0) == "swapper");
}

TEST_CASE("code in memory without a file is named after the process that mapped it") {
  history all;
  all.map(10, 0x1000, 0x1000, "//anon");
  all.map(10, 0x3000, 0x1000, "//anon", 2 | backsight::perf::misc::mmap_data);
  all.fork(20, 10, 20, 10);
  CHECK(all.file_at(20, 0x1000) == "/tmp/perf-10.map");
  CHECK(all.file_at(20, 0x3000) == "//anon");
}

TEST_CASE("code that a process has made covers what lay there, and dumps of it are told once") {
  history h;
  h.map(7, 0x1000, 0x1000, "//anon");
  h.changes.clear();
  const std::uint32_t number = h.list.add_code(7, 0x1100, 0x1180, "[jit] 1",
                                               [&](const perf::process* owner, std::uint64_t begin, std::uint64_t) {
                                                 CHECK(owner->pid == 7);
                                                 h.changes.push_back(begin);
                                               });
  CHECK(h.changes == std::vector<std::uint64_t>{0x1100});
  const auto& maps = *h.list.find_process(7).maps;
  const std::uint64_t stamp = maps.stamp();
  REQUIRE(maps.find(0x117f) != nullptr);
  CHECK(maps.find(0x117f)->kind == perf::file_kind::code);
  CHECK(maps.find(0x117f)->file == number);
  CHECK(maps.find(0x117f)->file_address(0x1101) == 0x1101);
  CHECK(maps.find(0x1180)->kind == perf::file_kind::anonymous);
  CHECK(maps.find(0x10ff)->kind == perf::file_kind::anonymous);
  CHECK(h.list.take_jitdumps().empty());
  for (const char* const name :
       {"/tmp/jit-7.dump", "/tmp/jit-7.dump2", "/tmp/jit-.dump", "/tmp/jit-7a.dump", "jit-7.dump", "/a/x-7.dump"})
    h.map(7, 0x8000, 0x1000, name);
  CHECK(h.list.take_jitdumps() == std::vector<std::string>{"/tmp/jit-7.dump"});
  CHECK(h.list.take_jitdumps().empty());
  CHECK(h.list.find_process(7).maps->stamp() != stamp);
}

TEST_CASE("mappings of the kernel tell its reference, and its symbols come and go") {
  history all;
  all.map(~0U, 0xffffffff81000000, 0x1000000, "[kernel.kallsyms]_text", 1);
  CHECK(all.list.kernel_reference() == "_text");
  CHECK(all.list.kernel_reference_address() == 0x1000);
  REQUIRE(all.list.kernel().find(0xffffffff81000010) != nullptr);
  CHECK(all.list.files()[all.list.kernel().find(0xffffffff81000010)->file].name == "[kernel.kallsyms]");
  const auto symbol = [&](unsigned flags) {
    all.take(record_kind::ksymbol, 0,
             history::start().u64(0xffffffffc0000000).u32(0x100).u16(1).u16(flags).text("bpf_prog").fill(7));
  };
  symbol(0);
  CHECK(all.list.kernel().find(0xffffffffc00000ff) != nullptr);
  symbol(1);
  CHECK(all.list.kernel().find(0xffffffffc00000ff) == nullptr);
}

TEST_CASE("what ended is forgotten only after thousands of others") {
  history all;
  const auto exit = [&](unsigned pid) {
    all.take(record_kind::exit, 0, history::start().u32(pid).u32(1).u32(pid).u32(1).u64(5));
  };
  all.comm(10, 10, "first");
  all.map(10, 0x1000, 0x1000, "/a");
  exit(10);
  CHECK(all.file_at(10, 0x1000) == "/a");
  for (unsigned pid = 1000; pid < 1000 + 4096; ++pid) {
    all.comm(pid, pid, "later");
    exit(pid);
  }
  CHECK(all.list.take_forgotten().size() == 1);
  CHECK(all.file_at(10, 0x1000) == "-");
}
