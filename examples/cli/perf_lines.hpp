// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "perf_stacks.hpp"

namespace cli::perf_data {

/// What there is to say of an address: where it lies, and its name.
struct described_address {
  const backsight::perf::mapping* at = nullptr;  ///< null: nothing is mapped there
  found_name name;
  std::uint64_t printed = 0;  ///< in the file, for files; else the address itself
};

[[nodiscard]] inline described_address describe(const address_context& context, const backsight::perf::process& owner,
                                                std::uint64_t address, backsight::perf::cpu_mode mode) {
  described_address out;
  out.printed = address;
  out.at = context.find(owner, address, mode);
  if (out.at == nullptr) return out;
  out.printed = out.at->file_address(address);
  out.name = context.files.name_of(*out.at, address);
  return out;
}

/// The name that perf has for what is mapped: the path, or for the kernel's modules their name in brackets.
[[nodiscard]] std::string module_name(const backsight::perf::mapped_file& file);

/// Texts for addresses, kept for the next time. `make(described_address, text)` appends the text. Memory: what the
/// different addresses need, at most so many as there are slots.
template <class Make>
class text_cache {
 public:
  text_cache(const address_context& context, Make make)
      : context_(&context), make_(std::move(make)), slots_(least), known_(least) {}

  [[nodiscard]] const std::string& operator()(const backsight::perf::process& owner, std::uint64_t address,
                                              backsight::perf::cpu_mode mode) {
    // Most addresses come again while nothing is mapped anew.
    const bool of_kernel = mode == backsight::perf::cpu_mode::kernel;
    const std::uint64_t stamp = of_kernel ? context_->processes.kernel().stamp() : owner.maps->stamp();
    const known_address& known = known_[(address ^ address >> 13) & (known_.size() - 1)];
    if (known.text != nullptr && known.address == address && known.stamp == stamp && known.mode == mode &&
        known.text->number == known.number)
      return known.text->text;
    const entry& found = find(owner, address, mode);
    known_[(address ^ address >> 13) & (known_.size() - 1)] = {address, stamp, &found, found.number, mode};
    return found.text;
  }

 private:
  struct entry {
    std::uint64_t printed = 0, begin = 0;
    std::uint32_t file = 0;
    std::uint32_t number = 0;  // Of the text that it has.
    std::string text;

    [[nodiscard]] std::uint64_t hash() const { return printed ^ printed >> 13 ^ std::uint64_t{file} << 5; }
  };
  struct known_address {
    std::uint64_t address = 0, stamp = 0;
    const entry* text = nullptr;
    std::uint32_t number = 0;
    backsight::perf::cpu_mode mode{};
  };
  // Slots, powers of two: few at first, so that a short recording does not touch memory for a long one.
  static constexpr std::size_t least = 256, most = 8192;

  [[nodiscard]] const entry& find(const backsight::perf::process& owner, std::uint64_t address,
                                  backsight::perf::cpu_mode mode) {
    const backsight::perf::mapping* const at = context_->find(owner, address, mode);
    entry wanted;
    wanted.printed = at == nullptr ? address : at->file_address(address);
    wanted.file = at == nullptr ? 0xffffffff : at->file;
    wanted.begin = begin_of(at);
    if (entries_.size() > slots_.size() / 2 && slots_.size() < most) grow();
    entry*& slot = slots_[wanted.hash() & (slots_.size() - 1)];
    if (slot == nullptr) slot = &entries_.emplace_back();
    else if (slot->printed == wanted.printed && slot->file == wanted.file && slot->begin == wanted.begin) return *slot;
    described_address all{at, {}, wanted.printed};
    if (at != nullptr) all.name = context_->files.name_of(*at, address);
    wanted.text = std::move(slot->text);
    wanted.text.clear();
    make_(all, wanted.text);
    wanted.number = ++count_;
    *slot = std::move(wanted);
    return *slot;
  }
  /// Entries of different slots stay in different ones. What was known of addresses is found again.
  void grow() {
    slots_.assign(slots_.size() * 2, nullptr);
    for (entry& one : entries_) slots_[one.hash() & (slots_.size() - 1)] = &one;
    known_.assign(slots_.size(), known_address());
  }
  /// Where code of the kernel that comes and goes begins; the same file elsewhere has the same names.
  [[nodiscard]] static std::uint64_t begin_of(const backsight::perf::mapping* at) {
    return at != nullptr && at->kind == backsight::perf::file_kind::symbol ? at->begin : 0;
  }
  const address_context* context_;
  Make make_;
  std::vector<entry*> slots_;
  std::deque<entry> entries_;
  std::vector<known_address> known_;
  std::uint32_t count_ = 0;
};

/// Appends the data of a tracepoint as its format prints it, or its members where the format has what is not known
/// here; nothing for other events.
void append_tracepoint(std::string& to, const backsight::perf::tracing_data& formats,
                       const backsight::perf::event_description& event, backsight::byte_view data);
/// Appends `value` in hexadecimal, right-aligned to 16 characters.
void append_hex16(std::string& to, std::uint64_t value);
/// Appends `value` in hexadecimal.
void append_hex(std::string& to, std::uint64_t value);

}  // namespace cli::perf_data
