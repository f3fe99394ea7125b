// SPDX-License-Identifier: Apache-2.0
// Stands for perf/words.hpp, perf/sample_layout.hpp
// samples.hpp, words.hpp
#include <bit>

#include <support/catch.hpp>

#include "perf_builder.hpp"

using namespace backsight;
using namespace backsight::perf;
using test::byte_builder;
using test::record_bytes;

namespace {

stored_record stored(order o, const std::vector<std::byte>& bytes) {
  return with_order(o, [&](auto c) { return stored_record(*perf_records<c()>(bytes, {}, 1000).begin()); });
}

sample_layout layout_of(std::uint64_t type) {
  sample_layout layout;
  layout.sample_type = type;
  layout.sample_id_all = true;
  return layout;
}

constexpr std::uint64_t every_field = (std::uint64_t{1} << sample_field_count) - 1;

/// A sample of every field but `weight`, in the order of the kernel.
byte_builder whole_sample(order o) {
  byte_builder b(o);
  b.u64(11).u64(12).u32(13).u32(14).u64(15).u64(16).u64(17).u64(18).u32(19).u32(0).u64(20);
  b.u64(2).u64(100).u64(7).u64(1).u64(101).u64(8).u64(0);     // READ: a group with id and lost
  b.u64(3).u64(~std::uint64_t{127}).u64(0x1111).u64(0x2222);  // CALLCHAIN
  b.u32(4).text("rawb");                                      // RAW
  b.u64(1).u64(9).u64(0xa).u64(0xb).u64(0x30).u64(77);        // BRANCH_STACK with hw_idx and counters
  b.u64(2).u64(0x51).u64(0x52);                               // REGS_USER
  b.u64(16).text("stackstackstacks").u64(8);                  // STACK_USER
  b.u64(21).u64(22).u64(23).u64(1).u64(0x61);                 // WEIGHT DATA_SRC TRANSACTION REGS_INTR
  b.u64(24).u64(25).u64(26).u64(27).u64(2).text("ax");        // PHYS_ADDR CGROUP page sizes AUX
  return b;
}

sample_layout whole_layout() {
  sample_layout layout = layout_of(every_field & ~mask_of(sample_field::weight_struct));
  layout.read_format = mask_of(read_field::id, read_field::group, read_field::lost);
  layout.branch_sample_type = mask_of(branch_field::hw_index, branch_field::counters);
  layout.regs_user = 1U << 7 | 1U << 8;
  layout.regs_intr = 1U << 8;
  return layout;
}

}  // namespace

TEST_CASE("every member of a sample is read, in the order of the kernel and in both byte orders") {
  for (const order o : {order::little, order::big}) {
    const auto bytes = record_bytes(o, 9, 2, whole_sample(o));
    const auto one = read_sample(stored(o, bytes), whole_layout());
    REQUIRE(one);
    CHECK(one->identifier == 11);
    CHECK(one->ip == 12);
    CHECK(one->pid == 13);
    CHECK(one->tid == 14);
    CHECK(one->time == 15);
    CHECK(one->addr == 16);
    CHECK(one->id == 17);
    CHECK(one->stream_id == 18);
    CHECK(one->cpu == 19);
    CHECK(one->period == 20);
    REQUIRE(one->read.size() == 2);
    CHECK(one->read[0].value == 100);
    CHECK(one->read[0].id == 7);
    CHECK(one->read[0].lost == 1);
    CHECK(one->read[1].value == 101);
    REQUIRE(one->callchain.size() == 3);
    CHECK(is_context(one->callchain[0]));
    CHECK_FALSE(is_context(one->callchain[1]));
    CHECK(one->callchain[2] == 0x2222);
    CHECK(text_of(one->raw) == "rawb");
    REQUIRE(one->branches.size() == 1);
    CHECK(one->branches.hw_index == 9);
    CHECK(one->branches[0].from == 0xa);
    CHECK(one->branches[0].to == 0xb);
    CHECK(one->branches[0].flags == 0x30);
    CHECK(one->branches.counters[0] == 77);
    CHECK(one->user_registers[7] == 0x51);
    CHECK(one->user_registers[8] == 0x52);
    CHECK_FALSE(one->user_registers[6]);
    CHECK_FALSE(one->user_registers[64]);
    CHECK(one->stack_size == 16);
    CHECK(text_of(one->user_stack) == "stacksta");
    CHECK(one->weight == 21);
    CHECK(one->data_src == 22);
    CHECK(one->transaction == 23);
    CHECK(one->interrupt_registers.abi == 1);
    CHECK(one->interrupt_registers[8] == 0x61);
    CHECK(one->phys_addr == 24);
    CHECK(one->cgroup == 25);
    CHECK(one->data_page_size == 26);
    CHECK(one->code_page_size == 27);
    CHECK(text_of(one->aux) == "ax");
    CHECK(one->trailing == 0);
  }
}

TEST_CASE("a sample that ends early is an error inside of it, wherever it ends") {
  const auto body = whole_sample(order::little);
  for (std::size_t size = 0; size < body.size(); ++size) {
    byte_builder part;
    part.append(body.view().first(size));
    const auto bytes = record_bytes(order::little, 9, 0, part);
    const auto one = read_sample(stored(order::little, bytes), whole_layout());
    REQUIRE_FALSE(one);
    CHECK(one.error().code == errc::truncated);
    CHECK(one.error().offset >= 1008);
    CHECK(one.error().offset <= 1008 + size);
  }
}

TEST_CASE("a sample that ends in front of its lists is an error at the number that does not fit") {
  using enum sample_field;
  const auto layout = layout_of(mask_of(identifier, ip, tid, time, addr, id, stream_id, cpu, period));
  // Numbers of eight bytes each but for pid and tid, and cpu with what is left free behind it.
  for (std::size_t size = 0; size < 72; ++size) {
    const auto bytes = record_bytes(order::little, 9, 0, byte_builder().fill(size, 1));
    const bool second_half = (size / 8 == 2 || size / 8 == 7) && size % 8 >= 4;
    CHECK(read_sample(stored(order::little, bytes), layout).error() ==
          trace_error{errc::truncated, 1008 + size / 8 * 8 + (second_half ? 4 : 0)});
  }
  const auto whole = record_bytes(order::little, 9, 0, byte_builder().fill(72, 1));
  CHECK(read_sample(stored(order::little, whole), layout));
}

TEST_CASE("counts that are too large are errors at the list") {
  struct wrong {
    sample_field field;
    std::uint64_t count;
  };
  for (const auto [field, count] :
       {wrong{sample_field::callchain, 2}, wrong{sample_field::callchain, std::uint64_t{1} << 61},
        wrong{sample_field::branch_stack, std::uint64_t{1} << 60}, wrong{sample_field::stack_user, ~std::uint64_t{0}},
        wrong{sample_field::aux, std::uint64_t{1} << 63}, wrong{sample_field::raw, 0xffffffff}}) {
    const auto bytes = record_bytes(order::little, 9, 0, byte_builder().u64(count).u64(0));
    CHECK(read_sample(stored(order::little, bytes), layout_of(mask_of(field))).error() ==
          trace_error{errc::truncated, field == sample_field::raw ? 1012U : 1016U});
  }
}

TEST_CASE("more of a stack copied than asked for is an error") {
  const auto bytes = record_bytes(order::little, 9, 0, byte_builder().u64(8).u64(0).u64(9));
  CHECK(read_sample(stored(order::little, bytes), layout_of(mask_of(sample_field::stack_user))).error().code ==
        errc::out_of_range);
}

TEST_CASE("a stack of size 0 and registers of no abi have nothing behind them") {
  sample_layout layout = layout_of(mask_of(sample_field::regs_user, sample_field::stack_user, sample_field::data_src));
  layout.regs_user = 0xff;
  const auto bytes = record_bytes(order::little, 9, 0, byte_builder().u64(0).u64(0).u64(5));
  const auto one = read_sample(stored(order::little, bytes), layout);
  REQUIRE(one);
  CHECK(one->user_registers.values.empty());
  CHECK(one->user_stack.empty());
  CHECK(one->data_src == 5);
  CHECK(one->trailing == 0);
}

TEST_CASE("members that are not known make samples unsupported") {
  const auto bytes = record_bytes(order::little, 9, 0, byte_builder().u64(1));
  CHECK(read_sample(stored(order::little, bytes), layout_of(std::uint64_t{1} << 25)).error() ==
        trace_error{errc::unsupported_type, 1000});
  sample_layout layout = layout_of(mask_of(sample_field::read));
  layout.read_format = 1U << read_field_count;
  CHECK(read_sample(stored(order::little, bytes), layout).error().code == errc::unsupported_type);
}

TEST_CASE("a counter that is no group has the times between its value and its id") {
  sample_layout layout = layout_of(mask_of(sample_field::read));
  layout.read_format =
      mask_of(read_field::total_time_enabled, read_field::total_time_running, read_field::id, read_field::lost);
  const auto bytes = record_bytes(order::little, 9, 0, byte_builder().u64(1).u64(2).u64(3).u64(4).u64(5));
  const auto one = read_sample(stored(order::little, bytes), layout);
  REQUIRE(one);
  REQUIRE(one->read.size() == 1);
  CHECK(one->read.time_enabled == 2);
  CHECK(one->read.time_running == 3);
  CHECK(one->read[0].value == 1);
  CHECK(one->read[0].id == 4);
  CHECK(one->read[0].lost == 5);
}

TEST_CASE("the compiled layouts give what the walk gives") {
  using enum sample_field;
  const std::uint64_t plain = mask_of(ip, tid, sample_field::time, period, callchain);
  for (const std::uint64_t type :
       {plain, plain | mask_of(identifier), plain | mask_of(id), plain & ~mask_of(callchain)}) {
    byte_builder body;
    const std::uint64_t words = static_cast<std::uint64_t>(std::popcount(type & ~mask_of(callchain)));
    for (std::uint64_t i = 1; i <= words; ++i) body.u64(i);
    if (has(type, callchain)) body.u64(1).u64(0x77);
    const auto bytes = record_bytes(order::little, 9, 0, body);
    const auto one = read_sample(stored(order::little, bytes), layout_of(type));
    REQUIRE(one);
    cursor<order::little> in(byte_view(bytes).subspan(8), 1008);
    sample walked;
    backsight::perf::detail::read_members(in, type, layout_of(type), walked);
    CHECK(one->ip == walked.ip);
    CHECK(one->tid == walked.tid);
    CHECK(one->time == walked.time);
    CHECK(one->period == walked.period);
    CHECK(one->id == walked.id);
    CHECK(one->identifier == walked.identifier);
    CHECK(one->callchain.size() == walked.callchain.size());
    CHECK(one->trailing == 0);
    CHECK(walked.trailing == 0);
    CHECK(one->ip != 0);
  }
}

TEST_CASE("the trailer is found from the end") {
  using enum sample_field;
  const auto layout = layout_of(mask_of(tid, sample_field::time, id, stream_id, cpu, identifier, ip));
  CHECK(layout.trailer_size() == 48);
  const auto body =
      byte_builder(order::big).u32(1).u32(2).text("c").fill(7).u32(3).u32(4).u64(5).u64(6).u64(7).u32(8).u32(0).u64(9);
  const auto bytes = record_bytes(order::big, 3, 0, body);
  const auto item = stored(order::big, bytes);
  const sample_id found = read_sample_id(item, layout);
  CHECK(found.pid == 3);
  CHECK(found.tid == 4);
  CHECK(found.time == 5);
  CHECK(found.id == 6);
  CHECK(found.stream_id == 7);
  CHECK(found.cpu == 8);
  CHECK(found.identifier == 9);
  CHECK(time_of<order::big>(item.bytes, item.type, layout) == 5);
  CHECK(id_of<order::big>(item.bytes, item.type, layout) == 9);
  CHECK(without_trailer(item, layout).size() == 24);
  // Records of perf have none, and one that is too short is not read.
  CHECK(read_sample_id(stored(order::big, record_bytes(order::big, 68, 0, body)), layout).time == 0);
  CHECK(read_sample_id(stored(order::big, record_bytes(order::big, 14, 0, byte_builder().fill(40, 1))), layout).time ==
        0);
}

TEST_CASE("the values of a read record stand before its trailer") {
  const auto bytes = record_bytes(order::little, 8, 0, byte_builder().u32(1).u32(2).u64(42).u64(99));
  const auto values = read_values(stored(order::little, bytes), layout_of(mask_of(sample_field::time)));
  REQUIRE(values);
  CHECK((*values)[0].value == 42);
  const auto cut = record_bytes(order::little, 8, 0, byte_builder().u32(1).u32(2).u64(42));
  CHECK(read_values(stored(order::little, cut), layout_of(mask_of(sample_field::time))).error().code ==
        errc::truncated);
}
