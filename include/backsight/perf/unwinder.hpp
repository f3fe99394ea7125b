// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <backsight/cfi/batch.hpp>
#include <backsight/cfi/unwind.hpp>
#include <backsight/elf/sections.hpp>
#include <backsight/perf/processes.hpp>
#include <backsight/perf/registers.hpp>

namespace backsight::perf {

/// The difference between where a mapping of the file lies and where its program headers say; absent when no segment
/// begins there. Wraps.
[[nodiscard]] constexpr std::optional<std::uint64_t> bias_of(const elf::image& file, const mapping& at) noexcept {
  std::optional<std::uint64_t> found;
  for (const elf::segment s : file.segments()) {
    constexpr std::uint64_t page = 4096;
    if (s.type != elf::segment_load) continue;
    if (at.file_offset + page <= s.offset || at.file_offset >= s.offset + s.file_size) continue;
    const bool executable = (s.flags & elf::segment_executable) != 0;
    // Segments may share a page of the file.
    if (!found || executable == at.is_executable()) found = at.begin - (s.address - s.offset + at.file_offset);
  }
  return found;
}

/// The link-time address of a byte of a file; absent when no segment has it.
[[nodiscard]] constexpr std::optional<std::uint64_t> link_address(const elf::image& file,
                                                                  std::uint64_t file_offset) noexcept {
  std::optional<std::uint64_t> found;
  for (const elf::segment s : file.segments()) {
    if (s.type != elf::segment_load || file_offset < s.offset || file_offset - s.offset >= s.file_size) continue;
    const bool executable = (s.flags & elf::segment_executable) != 0;
    if (!found || executable) found = s.address - s.offset + file_offset;
  }
  return found;
}

/// Memory that is not in a sample: the constants of mapped files.
template <order O>
class file_memory {
 public:
  using reader = std::optional<byte_view> (*)(void* files, std::uint32_t file);
  file_memory() = default;
  file_memory(reader read, void* files) noexcept : read_(read), files_(files) {}

  [[nodiscard]] std::optional<std::uint64_t> word(const mapping_set& maps, std::uint64_t address) const {
    const mapping* const at = read_ == nullptr ? nullptr : maps.find(address);
    if (at == nullptr || (at->kind != file_kind::file && at->kind != file_kind::vdso)) return std::nullopt;
    const auto bytes = read_(files_, at->file);
    const std::uint64_t offset = at->file_address(address);
    if (!bytes || offset > bytes->size() || bytes->size() - offset < 8 || at->end - address < 8) return std::nullopt;
    return load<std::uint64_t, O>(bytes->data() + offset);
  }

 private:
  reader read_ = nullptr;
  void* files_ = nullptr;
};

/// Reads words of a sample's stack, others from mapped files.
template <order O>
struct sample_memory {
  const std::byte* bytes = nullptr;
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  const mapping_set* maps = nullptr;
  const file_memory<O>* files = nullptr;

  [[nodiscard]] std::optional<std::uint64_t> operator()(std::uint64_t address) const noexcept {
    const std::uint64_t offset = address - base;
    if (offset <= size && size - offset >= 8) [[likely]]
      return load<std::uint64_t, O>(bytes + offset);
    return files == nullptr ? std::nullopt : files->word(*maps, address);
  }
  void prefetch(std::uint64_t address) const noexcept {
#if defined(__GNUC__)
    // Outside of the stack too: fetching ahead never faults.
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(bytes) + (address - base)));
#else
    (void)address;
#endif
  }
};

/// Unwinds the stacks of samples with tables that are made for the files in which their pcs lie, and only for those.
///
/// `Arch` is the recorded machine, `O` the byte order of the recording. Objects are added to a process' address space
/// when a walk first comes to them, so that neither mappings nor files that no stack leads to cost anything.
template <class Arch, order O>
class sample_unwinder {
 public:
  using memory = sample_memory<O>;
  using item = cfi::batch_item<Arch, memory>;
  using cache = cfi::rule_cache<Arch>;
  /// Objects in the order in which they were added.
  struct space {
    cfi::address_space<Arch> objects;
    const mapping_set* maps = nullptr;
  };

  /// Turns the pcs of a walked item into addresses in the code: of a call, its return address less one; of the first
  /// frame and of one that a signal interrupted, the pc itself. Keeps what it found for each pc, for one thread.
  class call_places {
   public:
    /// True when the code of the last frame says itself that nothing called it.
    bool make_addresses(const item& walked) {
      bool pc_is_next = walked.start.pc_is_next, is_outermost = false;
      for (std::uint64_t& pc : walked.pcs.first(walked.result.count)) {
        const std::uint64_t address = pc_is_next ? pc : pc - 1;
        const entry& found = find(*walked.space, address);
        pc_is_next = found.is_signal;
        is_outermost = found.is_outermost;
        pc = address;
      }
      return is_outermost;
    }

   private:
    struct entry {
      std::uint64_t address = 0, stamp = 0;
      bool is_signal = false, is_outermost = false;
    };
    [[nodiscard]] const entry& find(const cfi::address_space<Arch>& space, std::uint64_t address) {
      entry& found = entries_[(address ^ address >> 10) % entries_.size()];
      if (found.address == address && found.stamp == space.stamp()) return found;
      found = {address, space.stamp(), false, false};
      if (const cfi::rule_view<Arch> rule = space.find_rule(address).rule) {
        found.is_signal = rule[cfi::unwind_rule::signal_frame];
        found.is_outermost = rule[cfi::unwind_rule::shape] == cfi::rule_shape::outermost;
      }
      return found;
    }
    std::vector<entry> entries_ = std::vector<entry>(4096);
  };

  /// The space of a process as it is now.
  [[nodiscard]] space& space_of(const process& owner) {
    space& found = spaces_[owner.number];
    found.maps = owner.maps.get();
    return found;
  }
  /// Mappings of a process have changed: the objects that lay there are no more.
  void forget(std::uint32_t process_number, std::uint64_t begin, std::uint64_t end) {
    const auto found = spaces_.find(process_number);
    if (found == spaces_.end()) return;
    std::vector<std::uint64_t> gone;
    for (const cfi::mapped_object& object : found->second.objects.objects()) {
      if (object.begin < end && object.end > begin) gone.push_back(object.begin);
    }
    for (const std::uint64_t at : gone) found->second.objects.remove(at);
  }
  void forget(std::uint32_t process_number) { spaces_.erase(process_number); }

  /// Walks items [first, last) at once. Does not change spaces: parts of a batch may be walked by several threads, each
  /// with a cache of its own.
  static void walk(std::span<item> items, cache& rules) {
    std::size_t next = 0;
    cfi::walk_batch<16, Arch, memory>(
        rules,
        [&](item& out) {
          if (next == items.size()) return false;
          out = items[next];
          out.user = next++;
          return true;
        },
        [&](const item& done) { items[done.user].result = done.result; });
  }

  /// Goes on with an item that came to where its space has no object: asks for it with `find(mapping, address,
  /// object&)`, which fills in its table and bias, or what part of the mapping it is, and gives false when there is
  /// none; and walks again, as often as that helps.
  template <class Find>
  static void complete(item& one, space& where, cache& rules, Find&& find) {
    for (std::size_t before = 0; one.result.why == cfi::stop::no_object && one.result.count > before;) {
      before = one.result.count;
      const std::uint64_t pc = one.pcs[before - 1];
      const std::uint64_t address = before == 1 && one.start.pc_is_next ? pc : pc - 1;
      // Behind a signal frame the pc is the next instruction; then the byte before may lie elsewhere.
      if (!add(where, address, find) && (address == pc || !add(where, pc, find)) &&
          where.objects.find(address) == nullptr)
        return;
      cfi::frame<Arch> frame = one.start;
      one.result = cfi::walk(frame, where.objects, one.memory, one.pcs, rules);
      if (one.result.why == cfi::stop::no_object && one.result.count <= before) return;
    }
  }

 private:
  template <class Find>
  [[nodiscard]] static bool add(space& where, std::uint64_t address, Find& find) {
    const mapping* const at = where.maps->find(address);
    if (at == nullptr || where.objects.find(address) != nullptr) return false;
    cfi::mapped_object object;
    object.begin = at->begin;
    object.end = at->end;
    object.id = at->file;
    return find(*at, address, object) && !where.objects.add(object);
  }

  std::unordered_map<std::uint32_t, space> spaces_;
};

}  // namespace backsight::perf
