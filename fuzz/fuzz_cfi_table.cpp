// SPDX-License-Identifier: Apache-2.0
// A saved table: opened, asked for many addresses, and walked with. The checksum is put right, so that damage gets past
// it. A walk with a cache or without one, single steps and a batch must give the same frames.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <backsight/cfi/arch/aarch64.hpp>
#include <backsight/cfi/arch/x86_64.hpp>
#include <backsight/cfi/batch.hpp>
#include <backsight/cfi/table_builder.hpp>
#include <backsight/cfi/unwind.hpp>

using namespace backsight;

namespace {

/// A stack of code addresses and stack addresses, with words that cannot be read.
struct stack_words {
  const std::vector<std::uint64_t>* code = nullptr;  // Where rows begin.

  std::optional<std::uint64_t> operator()(std::uint64_t address) const {
    if (address % 256 == 8 || address > 0x9000) return std::nullopt;
    const std::uint64_t mixed = (address + 1) * 0x9e3779b97f4a7c15U >> 40;
    return mixed % 4 == 0 ? 0x7000 + mixed / 4 % 0x1000 / 8 * 8 : (*code)[mixed / 4 % code->size()] + mixed % 8;
  }
};

template <class Arch>
struct outcome {
  std::array<std::uint64_t, 32> pcs{};
  cfi::walk_result result;
  std::optional<cfi::frame<Arch>> last;
};

template <class Arch>
void compare(const outcome<Arch>& a, const outcome<Arch>& b, const stack_words& stack, const char* what) {
  bool same = a.result.count == b.result.count && a.result.why == b.result.why;
  for (std::size_t i = 0; same && i < a.result.count; ++i) same = a.pcs[i] == b.pcs[i];
  if (same && a.last && b.last) {
    same = a.last->pc == b.last->pc && a.last->pc_is_next == b.last->pc_is_next;
    for (std::uint64_t reg = 0; reg < Arch::register_count; ++reg) {
      same = same && a.last->get(reg, stack) == b.last->get(reg, stack);
    }
  }
  if (same) return;
  std::fprintf(stderr, "%s differs from single steps\n", what);
  std::abort();
}

template <class Arch>
void walk_all(const cfi::table_view& table) {
  cfi::address_space<Arch> space;
  if (space.add({0x400000, 0x500000, 0x400000, table, 0})) return;
  std::vector<std::uint64_t> code{0x400000};
  table.for_each_row([&](std::uint64_t at, std::uint32_t rule) {
    if (rule != table.no_rule && at < 0x100000 && code.size() < 64) code.push_back(0x400000 + at);
  });
  const stack_words stack{&code};
  const auto cache = std::make_unique<cfi::rule_cache<Arch, 6>>();
  std::vector<outcome<Arch>> stepped;
  std::vector<cfi::frame<Arch>> starts;
  for (std::uint64_t i = 0; i < 2 * code.size(); ++i) {
    auto& f = starts.emplace_back();
    f.pc = code[static_cast<std::size_t>(i / 2)] + i % 2;
    f.value[Arch::stack_pointer] = 0x7000 + i % 8 * 8;
    f.value[Arch::frame_pointer] = 0x7100 + i % 64 * 8;
    outcome<Arch>& one = stepped.emplace_back();
    one.last = f;
    one.result.why = cfi::stop::limit;
    while (one.result.count < one.pcs.size()) {
      one.pcs[one.result.count++] = one.last->pc;
      const cfi::stop why = cfi::step(*one.last, space, stack);
      if (why == cfi::stop::none) continue;
      one.result.why = why;
      break;
    }
    for (const bool cached : {false, true}) {
      outcome<Arch> walked;
      walked.last = f;
      walked.result = cached ? cfi::walk(*walked.last, space, stack, walked.pcs, *cache)
                             : cfi::walk(*walked.last, space, stack, walked.pcs);
      compare(one, walked, stack, cached ? "a walk with a cache" : "a walk");
    }
  }
  std::size_t next = 0;
  std::vector<outcome<Arch>> batched(starts.size());
  using item = cfi::batch_item<Arch, stack_words>;
  cfi::walk_batch<4, Arch, stack_words>(
      *cache,
      [&](item& i) {
        if (next == starts.size()) return false;
        i.start = starts[next];
        i.space = &space;
        i.memory = stack;
        i.pcs = batched[next].pcs;
        i.user = next++;
        return true;
      },
      [&](item& i) { batched[i.user].result = i.result; });
  for (std::size_t i = 0; i < batched.size(); ++i) compare(stepped[i], batched[i], stack, "a batch");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(data),
                               reinterpret_cast<const std::byte*>(data) + size);
  if (bytes.size() >= cfi::detail::table_head_bytes)
    seal_saved_index<cfi::table_header>(bytes, cfi::unwind_table_kind, 1, {});
  const auto table = cfi::table_view::open(bytes);
  if (!table) return 0;
  for (std::uint64_t address = 0; address < 0x4000; address += 13) {
    (void)table->find(address);
    (void)table->find(address << 40);
  }
  walk_all<cfi::arch::x86_64>(*table);
  walk_all<cfi::arch::aarch64>(*table);
  return 0;
}
