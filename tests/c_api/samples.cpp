// SPDX-License-Identifier: Apache-2.0
// Walks stack samples through the C interface, one by one and in a batch, compares with the C++ one and with what the
// file expects, and writes them in a plain form for the programs in other languages:
//     samples FILE FOLDER-OF-ELF-FILES [PLAIN]
// Plain form, all numbers of 8 bytes: number of tables, and of each the size and the bytes; number of processes, and of
// each the number of modules with begin, end, bias, table; number of samples, and of each the process, 17 registers,
// the stack's address, its size and bytes, the number of pcs, the pcs and why the walk ended.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include <backsight/cfi/unwind.hpp>
#include <backsight/io/mapped_file.hpp>

#include <backsight_unwind.h>

#include "../../examples/cli/sample_corpus.hpp"

using namespace backsight;
using corpus_type = cli::sample_corpus;

int main(int words, char** word) {
  if (words < 3) return 2;
  const auto file = io::mapped_file::open(word[1]);
  if (!file) return 1;
  auto opened = cli::stack_samples::open(file->bytes());
  if (!opened) return 1;
  corpus_type corpus;
  corpus.samples = std::move(opened.value());
  (void)corpus.load(word[2], [](const std::string&) {}, [](const std::string&, const trace_error&) {});

  std::FILE* const plain = words > 3 ? std::fopen(word[3], "wb") : nullptr;
  const auto put_bytes = [&](const void* bytes, std::size_t size) {
    if (plain != nullptr) (void)std::fwrite(bytes, 1, size, plain);
  };
  const auto put = [&](std::uint64_t value) { put_bytes(&value, sizeof value); };

  std::vector<bsu_table*> tables;
  std::map<const std::byte*, std::size_t> table_at;
  for (const cfi::table& t : corpus.tables) {
    if (t.bytes().empty()) continue;
    bsu_table* made = nullptr;
    if (bsu_table_open_bytes(t.bytes().data(), t.bytes().size(), &made) != BSU_OK) return 1;
    table_at[t.bytes().data()] = tables.size();
    tables.push_back(made);
  }
  put(tables.size());
  for (bsu_table* const t : tables) {
    std::size_t size = 0;
    const void* const bytes = bsu_table_bytes(t, &size);
    put(size);
    put_bytes(bytes, size);
  }
  std::vector<bsu_process*> processes;
  put(corpus.spaces.size());
  for (const auto& space : corpus.spaces) {
    bsu_process* made = nullptr;
    if (bsu_process_new(&made) != BSU_OK) return 1;
    put(space.objects().size());
    for (const cfi::mapped_object& m : space.objects()) {
      const auto known = table_at.find(m.table.bytes().data());
      const bool has = known != table_at.end();
      if (bsu_process_add(made, m.begin, m.end, m.bias, has ? tables[known->second] : nullptr) != BSU_OK) return 1;
      put(m.begin);
      put(m.end);
      put(m.bias);
      put(has ? known->second : ~std::uint64_t{0});
    }
    processes.push_back(made);
  }

  const auto& samples = corpus.samples.samples;
  const auto cache = std::make_unique<cfi::rule_cache<corpus_type::arch>>();
  bsu_cache* c_cache = nullptr;
  if (bsu_cache_new(&c_cache) != BSU_OK) return 1;
  std::vector<std::uint64_t> here(std::size_t{1} << 16), there(here.size());
  std::size_t frames = 0, differences = 0;
  put(samples.size());
  std::map<std::size_t, std::vector<bsu_sample>> batches;
  std::vector<std::vector<std::uint64_t>> results(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto& s = samples[i];
    auto f = corpus_type::first_frame(s);
    const auto expected = cfi::walk(f, corpus.spaces[s.map_set], corpus_type::memory_of(s), here, *cache);
    bsu_sample one;
    std::memset(&one, 0, sizeof one);
    one.registers.pc = s.registers[16];
    for (std::size_t r = 0; r < s.registers.size(); ++r) one.registers.value[r] = s.registers[r];
    one.stack = s.stack.data();
    one.stack_address = s.stack_base;
    one.stack_size = s.stack.size();
    bsu_memory memory;
    std::memset(&memory, 0, sizeof memory);
    memory.kind = BSU_SNAPSHOT;
    memory.low = s.stack_base;
    memory.high = s.stack_base + s.stack.size();
    memory.bytes = s.stack.data();
    for (bsu_cache* const with : {static_cast<bsu_cache*>(nullptr), c_cache}) {
      int why = 0;
      const std::size_t count =
          bsu_walk(processes[s.map_set], with, &one.registers, &memory, there.data(), there.size(), &why);
      if (count != expected.count ||
          !std::equal(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(count), there.begin()) ||
          std::strcmp(bsu_stop_text(why), cfi::message(expected.why)) != 0) {
        if (expected.why != cfi::stop::no_object || count != expected.count) ++differences;
      }
      if (with == nullptr) {
        put(s.map_set);
        for (std::size_t r = 0; r < 17; ++r) put(s.registers[r]);
        put(s.stack_base);
        put(s.stack.size());
        put_bytes(s.stack.data(), s.stack.size());
        put(count);
        put_bytes(there.data(), count * 8);
        put(static_cast<std::uint64_t>(why));
      }
    }
    frames += expected.count;
    results[i].assign(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(expected.count));
    one.capacity = results[i].size() + 8;
    one.reserved = static_cast<std::uint32_t>(i);
    batches[s.map_set].push_back(one);
  }
  for (auto& [process, list] : batches) {
    std::vector<std::vector<std::uint64_t>> rooms(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      rooms[i].resize(list[i].capacity);
      list[i].pcs = rooms[i].data();
    }
    if (bsu_walk_batch(processes[process], c_cache, list.data(), list.size()) != BSU_OK) return 1;
    for (const bsu_sample& s : list) {
      const auto& expected = results[s.reserved];
      if (s.count != expected.size() || !std::equal(expected.begin(), expected.end(), s.pcs)) ++differences;
    }
  }
  bsu_cache_free(c_cache);
  for (bsu_process* const p : processes) bsu_process_free(p);
  for (bsu_table* const t : tables) bsu_table_free(t);
  if (plain != nullptr && std::fclose(plain) != 0) return 1;
  std::printf("%zu samples, %zu frames, %zu differences\n", samples.size(), frames, differences);
  return differences == 0 && frames > 0 ? 0 : 1;
}
