// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/inplace_vector.hpp>
#include <backsight/dwarf/operation.hpp>
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
  const unsigned width = limits.address_size;
  decoded_operation op;
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
  const auto branch = [&] {
    const std::int64_t target = static_cast<std::int64_t>(op.next) + op.second;
    if (target < 0 || target > static_cast<std::int64_t>(code.size())) fail(errc::out_of_range);
    else op.next = static_cast<std::size_t>(target);
  };
  const auto compare = [&](auto test) {
    const std::int64_t right = as_signed(pop()), left = as_signed(pop());
    push(test(left, right) ? 1 : 0);
  };

  if (first) push(*first);
  std::size_t at = 0;
  for (unsigned steps = 0; at < code.size(); ++steps, at = op.next) {
    if (steps == limits.max_steps) return {errc::step_limit, at};
    op = decode_operation<O>(code, at, width);
    if (!op.valid()) return op.error;
    using enum operation;
    if (op.is_constant()) {
      push(op.first);
    } else if (op.reads_register()) {
      push_register(op.first, op.second);
    } else {
      switch (op.code) {
        case deref: push_memory(pop(), width); break;
        case deref_size: push_memory(pop(), static_cast<unsigned>(op.first)); break;
        case dup: push(peek(0)); break;
        case drop: (void)pop(); break;
        case over: push(peek(1)); break;
        case pick: push(peek(op.first)); break;
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
        case plus_uconst: push(pop() + op.first); break;
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
        case bra:
          if (pop() != 0) branch();
          break;
        case skip: branch(); break;
        case stack_value: op.next = code.size(); break;
        default: break;  // nop; others are not valid.
      }
    }
    if (error != errc::ok) return {error, at};
  }
  if (stack.empty()) return {errc::out_of_range, code.size()};
  return stack.back();
}

}  // namespace backsight::dwarf
