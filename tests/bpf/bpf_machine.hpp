// SPDX-License-Identifier: Apache-2.0
#pragma once

// A machine for the instructions that clang makes of `-target bpf -mcpu=v3`, which counts them and checks each access.

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <backsight/core/bytes.hpp>

namespace backsight::test {

class bpf_machine {
 public:
  struct instruction {
    std::uint8_t code = 0, to = 0, from = 0;
    std::int16_t offset = 0;
    std::int32_t number = 0;
  };
  /// What a helper gives; absent ends the program.
  using helper = std::function<std::optional<std::uint64_t>(std::uint32_t, std::span<const std::uint64_t>)>;

  explicit bpf_machine(byte_view code) {
    for (std::size_t at = 0; at + 8 <= code.size(); at += 8) {
      const std::byte* p = code.data() + at;
      const auto registers = std::to_integer<unsigned>(p[1]);
      program_.push_back({std::to_integer<std::uint8_t>(p[0]), static_cast<std::uint8_t>(registers & 15U),
                          static_cast<std::uint8_t>(registers >> 4U), load<std::int16_t, order::little>(p + 2),
                          load<std::int32_t, order::little>(p + 4)});
    }
  }
  [[nodiscard]] std::size_t size() const noexcept { return program_.size(); }
  /// No way through the program comes to an instruction twice, and none is a call of a function of the program: what
  /// kernels accept that know no loops.
  [[nodiscard]] bool is_loop_free() const {
    enum : std::uint8_t { unseen, on_the_way, done };
    std::vector<std::uint8_t> state(program_.size());
    std::vector<std::size_t> way{0};
    while (!way.empty()) {
      const std::size_t at = way.back();
      if (state[at] != unseen) {
        way.pop_back();
        state[at] = done;
        continue;
      }
      state[at] = on_the_way;
      const instruction& i = program_[at];
      if (i.code == 0x85 && i.from != 0) return false;
      if (i.code == 0x95) continue;
      std::size_t next[2]{at + (i.code == 0x18 ? 2U : 1U), at};
      const bool jumps = ((i.code & 7U) == 5 || (i.code & 7U) == 6) && i.code != 0x85;
      if (jumps) next[1] = next[0] + static_cast<std::size_t>(std::int64_t{i.offset});
      if (i.code == 0x05) next[0] = next[1];
      for (const std::size_t to : next) {
        if (to == at && !jumps) continue;
        if (to >= program_.size() || state[to] == on_the_way) return false;
        if (state[to] == unseen) way.push_back(to);
      }
    }
    return true;
  }
  /// Memory that the program may use besides its stack.
  void allow(const void* bytes, std::size_t size, bool writable) {
    allowed_.push_back({reinterpret_cast<std::uintptr_t>(bytes), size, writable});
  }
  void forbid_last() { allowed_.pop_back(); }
  [[nodiscard]] bool may(std::uint64_t address, std::size_t size, bool write) const noexcept {
    for (const region& r : allowed_) {
      if (address >= r.begin && address - r.begin <= r.size && r.size - (address - r.begin) >= size)
        return !write || r.writable;
    }
    return false;
  }
  [[nodiscard]] std::uint64_t executed() const noexcept { return executed_; }
  [[nodiscard]] std::uint64_t calls() const noexcept { return calls_; }

  /// Runs the program with one argument; absent when it does what it must not.
  [[nodiscard]] std::optional<std::uint64_t> run(std::uint64_t argument, const helper& call) {
    alignas(8) std::array<std::byte, 512> stack{};
    allow(stack.data(), stack.size(), true);
    const auto result = run_on(argument, reinterpret_cast<std::uintptr_t>(stack.data() + stack.size()), call);
    forbid_last();
    return result;
  }

 private:
  struct region {
    std::uint64_t begin;
    std::size_t size;
    bool writable;
  };

  [[nodiscard]] std::optional<std::uint64_t> run_on(std::uint64_t argument, std::uint64_t stack, const helper& call) {
    std::array<std::uint64_t, 11> r{};
    r[1] = argument;
    r[10] = stack;
    for (std::size_t at = 0; at < program_.size();) {
      const instruction& i = program_[at++];
      ++executed_;
      if (i.to > 10 || i.from > 10) return std::nullopt;
      const unsigned group = i.code & 7U;
      std::uint64_t& to = r[i.to];
      const auto number = static_cast<std::uint64_t>(std::int64_t{i.number});
      const std::uint64_t other = (i.code & 8U) != 0 ? r[i.from] : number;
      if (group == 0) {
        if (i.code != 0x18 || at == program_.size()) return std::nullopt;
        to = static_cast<std::uint32_t>(i.number) |
             static_cast<std::uint64_t>(static_cast<std::uint32_t>(program_[at++].number)) << 32U;
      } else if (group == 1) {
        const std::uint64_t address = r[i.from] + static_cast<std::uint64_t>(std::int64_t{i.offset});
        const std::size_t size = size_of_access(i.code);
        if ((i.code & 0xe0U) != 0x60 || !may(address, size, false)) return std::nullopt;
        to = 0;
        std::memcpy(&to, reinterpret_cast<const void*>(address), size);
      } else if (group == 2 || group == 3) {
        const std::uint64_t address = to + static_cast<std::uint64_t>(std::int64_t{i.offset});
        const std::uint64_t value = group == 3 ? r[i.from] : number;
        const std::size_t size = size_of_access(i.code);
        if ((i.code & 0xe0U) != 0x60 || !may(address, size, true)) return std::nullopt;
        std::memcpy(reinterpret_cast<void*>(address), &value, size);
      } else if (group == 4 || group == 7) {
        const auto made = calculate(i.code >> 4U, to, other, group == 7);
        if (!made || i.to == 10) return std::nullopt;
        to = *made;
      } else if (i.code == 0x95) {
        return r[0];
      } else if (i.code == 0x85) {
        ++calls_;
        const auto made = call(static_cast<std::uint32_t>(i.number), std::span(r).subspan(1, 5));
        if (!made) return std::nullopt;
        r[0] = *made;
      } else {
        const auto taken = group == 5 ? jumps(i.code >> 4U, to, other) : jumps(i.code >> 4U, extend(to), extend(other));
        if (!taken) return std::nullopt;
        if (*taken) at += static_cast<std::size_t>(std::int64_t{i.offset});
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] static std::size_t size_of_access(std::uint8_t code) noexcept {
    constexpr std::size_t sizes[]{4, 2, 1, 8};
    return sizes[code >> 3U & 3U];
  }
  /// 32 bits compare alike with and without sign, when they are extended so.
  [[nodiscard]] static std::uint64_t extend(std::uint64_t value) noexcept {
    return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(static_cast<std::uint32_t>(value))});
  }
  [[nodiscard]] static std::optional<std::uint64_t> calculate(unsigned op, std::uint64_t a, std::uint64_t b,
                                                              bool wide) {
    const unsigned mask = wide ? 63 : 31;
    if (!wide) a = static_cast<std::uint32_t>(a), b = static_cast<std::uint32_t>(b);
    const auto shift = static_cast<unsigned>(b & mask);
    std::uint64_t made = 0;
    switch (op) {
      case 0x0: made = a + b; break;
      case 0x1: made = a - b; break;
      case 0x2: made = a * b; break;
      case 0x4: made = a | b; break;
      case 0x5: made = a & b; break;
      case 0x6: made = a << shift; break;
      case 0x7: made = a >> shift; break;
      case 0x8: made = 0 - a; break;
      case 0xa: made = a ^ b; break;
      case 0xb: made = b; break;
      case 0xc:
        made = wide ? static_cast<std::uint64_t>(static_cast<std::int64_t>(a) >> shift)
                    : static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<std::uint32_t>(a)) >> shift);
        break;
      default: return std::nullopt;
    }
    return wide ? made : static_cast<std::uint32_t>(made);
  }
  [[nodiscard]] static std::optional<bool> jumps(unsigned op, std::uint64_t a, std::uint64_t b) noexcept {
    const auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
    switch (op) {
      case 0x0: return true;
      case 0x1: return a == b;
      case 0x2: return a > b;
      case 0x3: return a >= b;
      case 0x4: return (a & b) != 0;
      case 0x5: return a != b;
      case 0x6: return x > y;
      case 0x7: return x >= y;
      case 0xa: return a < b;
      case 0xb: return a <= b;
      case 0xc: return x < y;
      case 0xd: return x <= y;
      default: return std::nullopt;
    }
  }

  std::vector<instruction> program_;
  std::vector<region> allowed_;
  std::uint64_t executed_ = 0, calls_ = 0;
};

}  // namespace backsight::test
