// SPDX-License-Identifier: Apache-2.0
// Walks stack samples by the form of tables for the kernel's BPF, and compares with the walk by the tables themselves:
//     bpf_samples FILE FOLDER-OF-ELF-FILES OBJECT PLAIN
// by the step in plain C, and by the object that clang made of it for BPF, on the machine of bpf_machine.hpp. Writes
// the samples for another machine to PLAIN: numbers of 8 bytes: size and bytes of the program; number of pages and
// their bytes; number of processes, and of each the number of modules with begin, end, bias, first page; number of
// samples, and of each the process, 17 registers, the stack's address, its size and bytes, the number of pcs and the
// pcs.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

#include <backsight/cfi/bpf_pages.hpp>
#include <backsight/cfi/unwind.hpp>
#include <backsight/io/mapped_file.hpp>

#include "../../examples/cli/sample_corpus.hpp"
#include "bpf_machine.hpp"
#include "plain_step.h"

using namespace backsight;
using corpus_type = cli::sample_corpus;

namespace {

struct step_arguments {
  backsight_frame frame;
  std::uint64_t first, bias;
};

/// Walks a sample with `step(arguments)`.
template <class Step>
std::vector<std::uint64_t> walk(const corpus_type& corpus, const std::map<const std::byte*, std::uint32_t>& first_page,
                                const cli::stack_samples::sample& s, Step&& step) {
  step_arguments a{};
  std::copy(s.registers.begin(), s.registers.end(), a.frame.r);
  a.frame.pc = s.registers[16];
  a.frame.pc_is_next = 1;
  std::vector<std::uint64_t> pcs;
  cfi::progress_guard progress;
  while (pcs.size() < 1024) {
    pcs.push_back(a.frame.pc);
    const cfi::mapped_object* m = corpus.spaces[s.map_set].find(a.frame.pc - (a.frame.pc_is_next != 0 ? 0U : 1U));
    if (m == nullptr || m->table.empty()) break;
    a.first = first_page.at(m->table.bytes().data());
    a.bias = m->bias;
    const std::uint64_t before = a.frame.r[7];
    if (step(a) != 0 || !progress.goes_on(before, a.frame.r[7], a.frame.pc)) break;
  }
  return pcs;
}

}  // namespace

int main(int words, char** word) {
  if (words != 5) return 2;
  const auto file = io::mapped_file::open(word[1]);
  const auto object = io::mapped_file::open(word[3]);
  if (!file || !object) return 1;
  auto opened = cli::stack_samples::open(file->bytes());
  const auto code = elf::open(object->bytes());
  if (!opened || !code) return 1;
  corpus_type corpus;
  corpus.samples = std::move(opened.value());
  (void)corpus.load(word[2], [](const std::string&) {}, [](const std::string&, const trace_error&) {});

  std::vector<std::byte> pages;
  std::map<const std::byte*, std::uint32_t> first_page;
  std::uint64_t rows = 0, table_bytes = 0, general = 0;
  for (const cfi::table& t : corpus.tables) {
    if (t.bytes().empty() || first_page.contains(t.bytes().data())) continue;
    const auto made = cfi::make_bpf_pages(t.view());
    if (!made) return std::printf("a table cannot be cut into pages: %s\n", message(made.error().code)), 1;
    first_page[t.bytes().data()] = static_cast<std::uint32_t>(pages.size() / cfi::bpf_pages::page_bytes);
    pages.insert(pages.end(), made->bytes.begin(), made->bytes.end());
    rows += t.view().row_count();
    table_bytes += t.bytes().size();
    general += made->general_rules;
  }
  std::printf(
      "%llu rows in %zu files: %zu bytes in pages, %.2f a row; as tables %llu, %.2f a row; %llu rules need "
      "expressions\n",
      static_cast<unsigned long long>(rows), first_page.size(), pages.size(),
      static_cast<double>(pages.size()) / static_cast<double>(rows), static_cast<unsigned long long>(table_bytes),
      static_cast<double>(table_bytes) / static_cast<double>(rows), static_cast<unsigned long long>(general));

  const auto section = code->find_section("program");
  if (!section) return 1;
  const byte_view program = code->section_bytes(*section).partial();
  test::bpf_machine machine(program);
  std::printf("the step in BPF: %zu instructions, %s\n", machine.size(),
              machine.is_loop_free() ? "no loop" : "with loops");
  if (!machine.is_loop_free()) return 1;
  machine.allow(pages.data(), pages.size(), false);

  plain_memory = {reinterpret_cast<const unsigned char*>(pages.data()), pages.size() / 4096, nullptr, 0, 0};
  const auto call = [](std::uint32_t number, std::span<const std::uint64_t> with) -> std::optional<std::uint64_t> {
    if (number == 1) return reinterpret_cast<std::uintptr_t>(plain_page(static_cast<unsigned>(with[0])));
    if (number != 112 || with[1] != 8) return std::nullopt;
    return static_cast<std::uint64_t>(std::int64_t{plain_read(reinterpret_cast<void*>(with[0]), with[2])});
  };

  std::FILE* const plain = std::fopen(word[4], "wb");
  if (plain == nullptr) return 1;
  const auto put_bytes = [&](const void* bytes, std::size_t size) { (void)std::fwrite(bytes, 1, size, plain); };
  const auto put = [&](std::uint64_t value) { put_bytes(&value, sizeof value); };
  put(program.size());
  put_bytes(program.data(), program.size());
  put(pages.size() / cfi::bpf_pages::page_bytes);
  put_bytes(pages.data(), pages.size());
  put(corpus.spaces.size());
  for (const auto& space : corpus.spaces) {
    put(static_cast<std::uint64_t>(std::count_if(space.objects().begin(), space.objects().end(),
                                                 [](const cfi::mapped_object& m) { return !m.table.empty(); })));
    for (const cfi::mapped_object& m : space.objects()) {
      if (m.table.empty()) continue;
      put(m.begin), put(m.end), put(m.bias), put(first_page.at(m.table.bytes().data()));
    }
  }
  const auto& samples = corpus.samples.samples;
  put(samples.size());
  std::vector<std::uint64_t> pcs(std::size_t{1} << 16);
  std::size_t frames = 0, steps = 0, in_c = 0, in_bpf = 0, stopped = 0;
  for (const auto& s : samples) {
    auto f = corpus_type::first_frame(s);
    const std::size_t count = cfi::walk(f, corpus.spaces[s.map_set], corpus_type::memory_of(s), pcs).count;
    const std::vector<std::uint64_t> expected(pcs.begin(), pcs.begin() + static_cast<std::ptrdiff_t>(count));
    plain_memory.stack = reinterpret_cast<const unsigned char*>(s.stack.data());
    plain_memory.stack_base = s.stack_base;
    plain_memory.stack_size = s.stack.size();
    const auto by_c = walk(corpus, first_page, s, [](step_arguments& a) {
      return plain_step(&a.frame, static_cast<unsigned>(a.first), a.bias);
    });
    in_c += by_c != expected ? 1U : 0U;
    const auto by_bpf = walk(corpus, first_page, s, [&](step_arguments& a) {
      ++steps;
      test::bpf_machine& m = machine;
      m.allow(&a, sizeof a, true);
      const auto why = m.run(reinterpret_cast<std::uintptr_t>(&a), call);
      m.forbid_last();
      stopped += why ? 0U : 1U;
      return why.value_or(cfi::bpf_pages::page_bytes);
    });
    in_bpf += by_bpf != expected ? 1U : 0U;
    frames += count;
    put(s.map_set);
    for (const std::uint64_t value : s.registers) put(value);
    put(s.stack_base);
    put(s.stack.size());
    put_bytes(s.stack.data(), s.stack.size());
    put(count);
    put_bytes(expected.data(), count * 8);
  }
  if (std::fclose(plain) != 0) return 1;
  std::printf(
      "%zu samples, %zu frames: %zu differ in C, %zu in BPF; %zu programs stopped; %.1f instructions and %.1f calls a "
      "step\n",
      samples.size(), frames, in_c, in_bpf, stopped,
      static_cast<double>(machine.executed()) / static_cast<double>(steps),
      static_cast<double>(machine.calls()) / static_cast<double>(steps));
  return in_c + in_bpf + stopped == 0 && frames > 0 ? 0 : 1;
}
