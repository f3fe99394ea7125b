// SPDX-License-Identifier: Apache-2.0
// ELF files of any class and byte order, and mapped images: sections, segments, symbols, relocations, notes, look-up of
// addresses, XRay's instrumentation map, and where symbols lie in the file. Core files: notes, memory, and a walk of
// each thread.
#include <cstdint>

#include <backsight/cfi/core_registers.hpp>
#include <backsight/cfi/explained_walk.hpp>
#include <backsight/elf/core_file.hpp>
#include <backsight/elf/core_memory.hpp>
#include <backsight/elf/sections.hpp>
#include <backsight/elf/symbols.hpp>
#include <backsight/perf/symbol_places.hpp>
#include <backsight/xray/instr_map.hpp>

#include "fuzz_support.hpp"

namespace {

using namespace backsight;
using fuzz::require;

std::uint64_t sum_of(byte_view bytes) {
  std::uint64_t sum = 0;
  for (const std::byte byte : bytes) sum = sum * 31 + std::to_integer<unsigned>(byte);
  return sum;
}
std::uint64_t sum_of(std::string_view text) {
  std::uint64_t sum = 0;
  for (const char c : text) sum = sum * 31 + static_cast<unsigned char>(c);
  return sum;
}

bool inside(const elf::image& file, byte_view part) {
  if (part.empty()) return true;
  return part.data() >= file.bytes().data() && part.data() + part.size() <= file.bytes().data() + file.bytes().size();
}

/// Places go up and down one by one, and something begins at each.
std::uint64_t read_places(const elf::image& file) {
  std::uint64_t sum = 0;
  for (const std::uint32_t kind : {elf::section_symbols, elf::section_dynamic_symbols}) {
    const perf::symbol_places places(file, file, kind);
    std::size_t budget = 64;
    for (auto at = places.at_or_before(~std::uint64_t{0}); at && budget-- != 0;) {
      perf::symbol_table here;
      places.add_those_at(*at, here);
      require(!here.empty() && places.at_or_before(*at) == at);
      for (const perf::named_range& one : here) sum += sum_of(one.name) + one.end;
      if (*at == 0) break;
      const auto before = places.at_or_before(*at - 1);
      if (before) require(*before < *at && places.behind(*before) == at);
      at = before;
    }
  }
  const perf::plt_places entries(file);
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{0x1000}, ~std::uint64_t{0}}) {
    const auto found = entries.at_or_before(offset);
    if (!found) continue;
    require(found->begin <= offset && found->begin < found->end);
    sum += sum_of(found->symbol);
  }
  return sum;
}

std::uint64_t read(const elf::image& file) {
  std::uint64_t sum = file.entry() + file.address_size();
  for (const elf::segment s : file.segments()) {
    sum += s.type + s.flags + s.offset + s.address;
    const byte_view part = file.bytes_from(s.address);
    require(inside(file, part));
    if (const auto bytes = file.bytes_at(s.address, s.file_size)) require(inside(file, *bytes));
  }
  std::size_t budget = 64;
  for (const elf::section s : file.sections()) {
    if (budget-- == 0) break;
    sum += sum_of(s.name) + s.type + s.flags;
    if (const auto bytes = file.section_bytes(s)) {
      require(inside(file, *bytes));
      sum += sum_of(bytes->first(bytes->size() < 256 ? bytes->size() : 256));
    }
    if (const auto packed = file.compression_of(s)) require(inside(file, packed->data));
    if (const auto found = file.find_section(s.name)) require(found->name == s.name);
    if (const auto symbols = elf::symbols_of(file, s)) {
      std::size_t count = 0;
      for (const elf::symbol symbol : *symbols) {
        sum += sum_of(symbol.name) + symbol.value + symbol.size + symbol.type;
        if (++count == 256) break;
      }
    }
    if (const auto relocations = elf::relocations_of(file, s)) {
      std::size_t count = 0;
      for (const elf::relocation r : *relocations) {
        sum += r.offset + r.symbol + r.type + static_cast<std::uint64_t>(r.addend);
        if (++count == 256) break;
      }
    }
  }
  require(inside(file, file.build_id()));
  const elf::symbol_index index(file, elf::symbols(file));
  for (const std::uint64_t address : {std::uint64_t{0}, file.entry(), ~std::uint64_t{0}}) {
    if (const auto found = index.find(address)) sum += sum_of(found->found.name) + sum_of(found->file);
  }
  const auto map = xray::read_instr_map(file);
  for (const xray::sled& sled : map.partial().sleds()) {
    require(sled.function_id >= 1 && sled.function_id <= map.partial().function_count());
    require(map.partial().address_of(sled.function_id) == sled.function);
    if (const auto found = index.find(sled.function)) sum += sum_of(found->found.name);
  }
  require(!map.partial().address_of(0));
  return sum + read_places(file);
}

/// Threads are walked by their frame pointers: all that is executable counts as code without call frame information.
template <class Arch>
std::uint64_t walk_threads(const elf::core_file& core, const elf::core_memory& memory) {
  std::uint64_t sum = 0;
  std::size_t budget = 16;
  for (const elf::core_thread& thread : core.threads) {
    const auto first = cfi::first_frame<Arch>(thread.registers, core.file.byte_order());
    if (!first || budget-- == 0) continue;
    cfi::address_space<Arch> space;
    std::size_t frames = 0;
    const cfi::stop why = cfi::explained_walk<Arch>(
        *first, space, memory, 64,
        [&](std::uint64_t address) {
          const auto* const part = memory.find(address);
          if (part == nullptr || (part->flags & elf::segment_executable) == 0) return false;
          return space.find(address) != nullptr || !space.add({address, address + 1, 0, {}, 0});
        },
        [&](const cfi::explained_frame& one) {
          ++frames;
          sum += one.pc + one.lookup_address();
        });
    require(frames >= 1 && frames <= 64 && why != cfi::stop::none);
  }
  return sum;
}

std::uint64_t read_core(byte_view bytes) {
  std::uint64_t sum = 0;
  const auto on_fault = [&](const fault& one) {
    require(one.code != errc::ok);
    sum += one.offset;
  };
  const auto core = elf::open_core(bytes, on_fault);
  if (!core) return sum;
  for (const elf::core_thread& thread : core->threads) {
    require(inside(core->file, thread.registers) && thread.offset < bytes.size());
    sum += sum_of(thread.registers);
  }
  for (const elf::core_mapping& one : core->mappings) {
    require(one.begin < one.end);
    sum += sum_of(one.path) + one.file_offset;
  }
  sum += sum_of(core->program) + sum_of(core->arguments) + core->vdso.value_or(1);
  const elf::core_memory memory(core->file, on_fault);
  std::uint64_t end = 0;
  for (const auto& part : memory.parts()) {
    require(part.begin >= end && part.begin < part.end && part.bytes.size() <= part.end - part.begin);
    require(inside(core->file, part.bytes) && memory.find(part.begin) == &part);
    end = part.end;
    sum += memory(part.begin).value_or(2) + memory(part.end - 1).value_or(3);
  }
  sum += walk_threads<cfi::arch::x86_64>(*core, memory) + walk_threads<cfi::arch::i386>(*core, memory);
  return sum + walk_threads<cfi::arch::aarch64>(*core, memory) + walk_threads<cfi::arch::riscv64>(*core, memory);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 65536) return 0;
  const byte_view bytes(reinterpret_cast<const std::byte*>(data), size);
  std::uint64_t sum = 0;
  for (const auto layout : {elf::image_layout::file, elf::image_layout::memory}) {
    if (const auto file = elf::open(bytes, layout)) sum += read(*file);
    else require(file.error().offset <= size);
  }
  sum += read_core(bytes);
  // Keeps the reads.
  return sum == 0x123456789abcdef0 ? 1 : 0;
}
