// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <backsight/core/bytes.hpp>
#include <backsight/core/cursor.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/inplace_vector.hpp>
#include <backsight/dwarf/constants.hpp>
#include <backsight/dwarf/pointer_encoding.hpp>

namespace backsight::dwarf {

/// What an expression is evaluated with, besides registers and memory.
struct expression_limits {
  unsigned address_size = 8;  ///< 4 or 8; all arithmetic is modulo 2 to that many bytes.
  unsigned max_steps = 1024;  ///< Operations that may be executed; more is errc::step_limit.
};

namespace detail {

/// `size` bytes of memory: through `memory(address, size)` where the reader has it, else cut from the word that
/// `memory(address)` gives.
template <order O, class Memory>
[[nodiscard]] constexpr std::optional<std::uint64_t> read_sized(Memory& memory, std::uint64_t address, unsigned size,
                                                                unsigned address_size) noexcept {
  if constexpr (requires { memory(address, size); }) {
    return memory(address, size);
  } else {
    const std::optional<std::uint64_t> word = memory(address);
    if (!word || size >= address_size) return word;
    return wrap(O == order::little ? *word : *word >> ((address_size - size) * 8), size);
  }
}

}  // namespace detail

/// Evaluates a DWARF expression as call frame information may contain it (DWARF 5, sections 2.5.1 and 6.4.2) and gives
/// the top of its stack. `first` is on the stack at the start: the CFA for register rules, nothing for the CFA itself.
/// `registers(number)` and `memory(address)` give std::optional<std::uint64_t>; memory gives the word of the address
/// size there. Errors, at their offset in `code`: errc::not_found (a register or memory that cannot be read),
/// unknown_record (no such operation, or one that call frame information may not hold), capacity (more than 64 stack
/// elements), out_of_range (stack empty, or a branch outside), step_limit, bad_value (division by zero), truncated.
/// Never allocates.
template <order O, class Registers, class Memory>
[[nodiscard]] constexpr result<std::uint64_t> evaluate(byte_view code, const expression_limits& limits,
                                                       std::optional<std::uint64_t> first, Registers&& registers,
                                                       Memory&& memory) noexcept {
  inplace_vector<std::uint64_t, 64> stack;
  cursor<O> from(code);
  const unsigned width = limits.address_size;
  std::size_t at = 0;
  errc error = errc::ok;

  const auto fail = [&](errc code_of_error) {
    if (error == errc::ok) error = code_of_error;
  };
  const auto push = [&](std::uint64_t value) {
    if (!stack.push_back(wrap(value, width))) fail(errc::capacity);
  };
  const auto pop = [&]() -> std::uint64_t {
    if (stack.empty()) {
      fail(errc::out_of_range);
      return 0;
    }
    const std::uint64_t value = stack.back();
    stack.pop_back();
    return value;
  };
  const auto peek = [&](std::uint64_t depth) -> std::uint64_t {
    if (depth >= stack.size()) {
      fail(errc::out_of_range);
      return 0;
    }
    return stack[stack.size() - 1 - static_cast<std::size_t>(depth)];
  };
  const auto as_signed = [&](std::uint64_t value) {
    const std::uint64_t sign = std::uint64_t{1} << (width * 8 - 1);
    return static_cast<std::int64_t>((value ^ sign) - sign);
  };
  const auto push_register = [&](std::uint64_t number, std::int64_t offset) {
    const std::optional<std::uint64_t> value = registers(number);
    if (value) push(*value + static_cast<std::uint64_t>(offset));
    else fail(errc::not_found);
  };
  const auto push_memory = [&](std::uint64_t address, unsigned size) {
    if (error != errc::ok) return;
    if (size == 0 || size > width) return fail(errc::bad_size);
    const std::optional<std::uint64_t> value = detail::read_sized<O>(memory, address, size, width);
    if (value) push(*value);
    else fail(errc::not_found);
  };
  const auto branch = [&](std::int16_t distance) {
    const std::int64_t target = static_cast<std::int64_t>(from.position()) + distance;
    if (target < 0 || target > static_cast<std::int64_t>(code.size())) fail(errc::out_of_range);
    else from.seek(static_cast<std::uint64_t>(target));
  };
  const auto compare = [&](auto test) {
    const std::int64_t right = as_signed(pop()), left = as_signed(pop());
    push(test(left, right) ? 1 : 0);
  };

  if (first) push(*first);
  for (unsigned steps = 0; !from.at_end(); ++steps) {
    at = from.position();
    if (steps == limits.max_steps) return {errc::step_limit, at};
    const auto byte = from.template read<std::uint8_t>();
    using enum operation;
    if (byte >= 0x30 && byte <= 0x4f) {
      push(byte - 0x30U);
    } else if (byte >= 0x70 && byte <= 0x8f) {
      push_register(byte - 0x70U, from.sleb128());
    } else {
      switch (static_cast<operation>(byte)) {
        case addr: push(from.read_unsigned(width)); break;
        case deref: push_memory(pop(), width); break;
        case deref_size: {
          const auto size = from.template read<std::uint8_t>();
          push_memory(pop(), size);
          break;
        }
        case const1u: push(from.template read<std::uint8_t>()); break;
        case const1s: push(static_cast<std::uint64_t>(std::int64_t{from.template read<std::int8_t>()})); break;
        case const2u: push(from.template read<std::uint16_t>()); break;
        case const2s: push(static_cast<std::uint64_t>(std::int64_t{from.template read<std::int16_t>()})); break;
        case const4u: push(from.template read<std::uint32_t>()); break;
        case const4s: push(static_cast<std::uint64_t>(std::int64_t{from.template read<std::int32_t>()})); break;
        case const8u:
        case const8s: push(from.template read<std::uint64_t>()); break;
        case constu: push(from.uleb128()); break;
        case consts: push(static_cast<std::uint64_t>(from.sleb128())); break;
        case dup: push(peek(0)); break;
        case drop: (void)pop(); break;
        case over: push(peek(1)); break;
        case pick: push(peek(from.template read<std::uint8_t>())); break;
        case swap: {
          const std::uint64_t top = pop(), second = pop();
          push(top), push(second);
          break;
        }
        case rot: {
          const std::uint64_t top = pop(), second = pop(), third = pop();
          push(top), push(third), push(second);
          break;
        }
        case abs: {
          const std::uint64_t value = pop();
          push(as_signed(value) < 0 ? 0 - value : value);
          break;
        }
        case and_: push(pop() & pop()); break;
        case or_: push(pop() | pop()); break;
        case xor_: push(pop() ^ pop()); break;
        case plus: push(pop() + pop()); break;
        case mul: push(pop() * pop()); break;
        case plus_uconst: {
          const std::uint64_t value = pop();
          push(value + from.uleb128());
          break;
        }
        case minus: {
          const std::uint64_t right = pop(), left = pop();
          push(left - right);
          break;
        }
        case div: {
          const std::int64_t right = as_signed(pop()), left = as_signed(pop());
          if (right == 0) fail(errc::bad_value);
          // The quotient of the smallest number and -1 wraps.
          else push(right == -1 ? 0 - static_cast<std::uint64_t>(left) : static_cast<std::uint64_t>(left / right));
          break;
        }
        case mod: {
          const std::uint64_t right = pop(), left = pop();
          if (right == 0) fail(errc::bad_value);
          else push(left % right);
          break;
        }
        case neg: push(0 - pop()); break;
        case not_: push(~pop()); break;
        case shl: {
          const std::uint64_t count = pop(), value = pop();
          push(count >= width * 8 ? 0 : value << count);
          break;
        }
        case shr: {
          const std::uint64_t count = pop(), value = pop();
          push(count >= width * 8 ? 0 : value >> count);
          break;
        }
        case shra: {
          const std::uint64_t count = pop();
          const std::int64_t value = as_signed(pop());
          push(static_cast<std::uint64_t>(value >> (count >= width * 8 ? width * 8 - 1 : count)));
          break;
        }
        case eq: compare([](auto a, auto b) { return a == b; }); break;
        case ge: compare([](auto a, auto b) { return a >= b; }); break;
        case gt: compare([](auto a, auto b) { return a > b; }); break;
        case le: compare([](auto a, auto b) { return a <= b; }); break;
        case lt: compare([](auto a, auto b) { return a < b; }); break;
        case ne: compare([](auto a, auto b) { return a != b; }); break;
        case bra: {
          const auto distance = from.template read<std::int16_t>();
          if (pop() != 0) branch(distance);
          break;
        }
        case skip: branch(from.template read<std::int16_t>()); break;
        case bregx: {
          const std::uint64_t number = from.uleb128();
          push_register(number, from.sleb128());
          break;
        }
        case nop: break;
        case stack_value: from.seek(code.size()); break;
        default: fail(errc::unknown_record); break;
      }
    }
    if (from.failed()) return from.error();
    if (error != errc::ok) return {error, at};
  }
  if (stack.empty()) return {errc::out_of_range, code.size()};
  return stack.back();
}

}  // namespace backsight::dwarf
