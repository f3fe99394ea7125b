// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/elf/sections.hpp>

namespace backsight::elf {

/// The memory of a process as its core file has it, by address. A view of the file; memory: an entry for each PT_LOAD.
class core_memory {
 public:
  /// A piece of the address space; the first bytes of it may be in the file, or none.
  struct part {
    std::uint64_t begin = 0, end = 0;
    byte_view bytes;
    std::uint32_t flags = 0;  ///< segment_executable and the like.
  };

  core_memory() = default;
  /// Sorts the segments. Where they overlap, which no kernel writes, the one that begins first counts and
  /// `on_fault(fault)` is told of the other, at its program header.
  template <class OnFault>
  core_memory(const image& core, OnFault&& on_fault) : order_(core.byte_order()), word_(core.address_size()) {
    struct placed {
      part what;
      std::size_t number;
    };
    std::vector<placed> all;
    std::size_t number = 0;
    for (const segment s : core.segments()) {
      const std::size_t own = number++;
      const std::uint64_t size = std::min(s.memory_size, ~std::uint64_t{0} - s.address);
      if (s.type != segment_load || size == 0) continue;
      const std::uint64_t room = s.offset < core.bytes().size() ? core.bytes().size() - s.offset : 0;
      const auto bytes = core.slice(s.offset, std::min({s.file_size, size, room}));
      all.push_back({{s.address, s.address + size, bytes.value_or(byte_view{}), s.flags}, own});
    }
    std::sort(all.begin(), all.end(), [](const placed& a, const placed& b) {
      return a.what.begin != b.what.begin ? a.what.begin < b.what.begin : a.number < b.number;
    });
    parts_.reserve(all.size());
    for (placed& one : all) {
      const std::uint64_t begin = parts_.empty() ? 0 : std::max(parts_.back().end, one.what.begin);
      if (!parts_.empty() && begin != one.what.begin) {
        on_fault(fault{errc::bad_value, header_of(core, one.number), 0});
        if (begin >= one.what.end) continue;
        const std::uint64_t cut = begin - one.what.begin;
        one.what.bytes =
            one.what.bytes.subspan(static_cast<std::size_t>(std::min<std::uint64_t>(cut, one.what.bytes.size())));
        one.what.begin = begin;
      }
      parts_.push_back(one.what);
    }
  }

  [[nodiscard]] const std::vector<part>& parts() const noexcept { return parts_; }

  /// The piece that covers an address; null when none does.
  [[nodiscard]] const part* find(std::uint64_t address) const noexcept {
    const auto after = std::upper_bound(parts_.begin(), parts_.end(), address,
                                        [](std::uint64_t value, const part& one) { return value < one.begin; });
    if (after == parts_.begin()) return nullptr;
    const part& found = *(after - 1);
    return address < found.end ? &found : nullptr;
  }
  /// What the file has from an address to the end of its piece; empty where it has nothing.
  [[nodiscard]] byte_view bytes_from(std::uint64_t address) const noexcept {
    const part* const found = find(address);
    if (found == nullptr || address - found->begin >= found->bytes.size()) return {};
    return found->bytes.subspan(static_cast<std::size_t>(address - found->begin));
  }
  /// The word of the machine's address size at an address; absent where the file does not have it. A memory_reader of
  /// cfi.
  [[nodiscard]] std::optional<std::uint64_t> operator()(std::uint64_t address) const noexcept {
    const byte_view bytes = bytes_from(address);
    if (bytes.size() < word_) return std::nullopt;
    return word_of(bytes);
  }
  /// The first word of some bytes, of which there are enough.
  [[nodiscard]] std::uint64_t word_of(byte_view bytes) const noexcept {
    return with_order(order_, [&](auto o) -> std::uint64_t {
      return word_ == 8 ? load<std::uint64_t, o()>(bytes.data()) : load<std::uint32_t, o()>(bytes.data());
    });
  }
  [[nodiscard]] std::size_t word_size() const noexcept { return word_; }

 private:
  [[nodiscard]] static std::uint64_t header_of(const image& core, std::size_t number) noexcept {
    return core.read_as<wire::file_header>(core.bytes().data() + wire::identification::size, [&](auto head) {
      using h = typename decltype(head)::schema_type;
      return std::uint64_t{head[h::phoff]} + std::uint64_t{head[h::phentsize]} * number;
    });
  }
  std::vector<part> parts_;
  order order_ = order::little;
  std::size_t word_ = 8;
};

}  // namespace backsight::elf
