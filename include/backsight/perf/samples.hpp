// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <backsight/core/cursor.hpp>
#include <backsight/core/record.hpp>
#include <backsight/core/with_constant.hpp>
#include <backsight/perf/records.hpp>
#include <backsight/perf/sample_layout.hpp>
#include <backsight/perf/schema.hpp>
#include <backsight/perf/words.hpp>

namespace backsight::perf {

/// The members of a sample. What its event does not ask for is 0, empty or no_cpu. Lists are views of the record.
struct sample {
  std::uint64_t sample_type = 0;  ///< Which of the members were recorded: bits of sample_field.
  std::uint64_t identifier = 0, ip = 0;
  std::uint32_t pid = 0, tid = 0;
  std::uint64_t time = 0, addr = 0, id = 0, stream_id = 0;
  std::uint32_t cpu = no_cpu;
  std::uint64_t period = 0;
  counter_values read;
  word_list callchain;  ///< Addresses from the innermost on, between contexts.
  byte_view raw;
  branch_stack branches;
  register_values user_registers;
  std::uint64_t stack_size = 0;  ///< What was asked for.
  byte_view user_stack;          ///< What was copied, from the stack pointer on.
  std::uint64_t weight = 0, data_src = 0, transaction = 0;
  register_values interrupt_registers;
  std::uint64_t phys_addr = 0, cgroup = 0, data_page_size = 0, code_page_size = 0;
  byte_view aux;
  std::size_t trailing = 0;  ///< Bytes behind the last member; 0 in every file that perf writes.
};

namespace detail {

template <order O>
constexpr counter_values read_counters(cursor<O>& in, std::uint64_t format) noexcept {
  counter_values found;
  found.is_present = true;
  found.is_group = has(format, read_field::group);
  found.has_id = has(format, read_field::id);
  found.has_lost = has(format, read_field::lost);
  const auto first = in.template read<std::uint64_t>();
  if (has(format, read_field::total_time_enabled)) found.time_enabled = in.template read<std::uint64_t>();
  if (has(format, read_field::total_time_running)) found.time_running = in.template read<std::uint64_t>();
  if (found.is_group) {
    if (first > in.remaining() / (8 * found.stride())) in.fail(errc::truncated);
    else found.words = {in.take(first * 8 * found.stride()), O};
    return found;
  }
  found.single.value = first;
  if (found.has_id) found.single.id = in.template read<std::uint64_t>();
  if (found.has_lost) found.single.lost = in.template read<std::uint64_t>();
  return found;
}

/// `count` words, or the error that there are not so many.
template <order O>
[[gnu::always_inline]] constexpr word_list read_words(cursor<O>& in, std::uint64_t count) noexcept {
  if (count > in.remaining() / 8) [[unlikely]] {
    in.fail(errc::truncated);
    return {};
  }
  return {in.take(count * 8), O};
}

template <order O>
constexpr branch_stack read_branches(cursor<O>& in, std::uint64_t asked) noexcept {
  branch_stack found;
  const auto count = in.template read<std::uint64_t>();
  if (has(asked, branch_field::hw_index)) found.hw_index = in.template read<std::uint64_t>();
  if (count > in.remaining() / 24) {
    in.fail(errc::truncated);
    return found;
  }
  found.words = read_words(in, count * 3);
  if (has(asked, branch_field::counters)) found.counters = read_words(in, count);
  return found;
}

template <order O>
constexpr register_values read_registers(cursor<O>& in, std::uint64_t mask) noexcept {
  register_values found;
  found.abi = in.template read<std::uint64_t>();
  if (found.abi == 0) return found;
  found.mask = mask;
  found.values = read_words(in, static_cast<std::uint64_t>(std::popcount(mask)));
  return found;
}

template <order O>
constexpr void read_stack(cursor<O>& in, sample& out) noexcept {
  out.stack_size = in.template read<std::uint64_t>();
  if (out.stack_size == 0) return;
  const byte_view dump = in.take(out.stack_size);
  const auto copied = in.template read<std::uint64_t>();
  if (copied > dump.size()) return in.fail(errc::out_of_range);
  out.user_stack = dump.first(static_cast<std::size_t>(copied));
}

/// The members in front of the first one of varying size.
inline constexpr std::uint64_t members_in_front =
    mask_of(sample_field::identifier, sample_field::ip, sample_field::tid, sample_field::time, sample_field::addr,
            sample_field::id, sample_field::stream_id, sample_field::cpu, sample_field::period);

/// What reading those members one by one comes to where they do not fit. By value, so that loops keep their cursor in
/// registers.
template <order O>
[[nodiscard, gnu::noinline]] constexpr cursor<O> fail_in_front(cursor<O> in, std::uint64_t type) noexcept {
  using enum sample_field;
  for (const sample_field member : {identifier, ip, tid, time, addr, id, stream_id, cpu, period}) {
    if (!has(type, member)) continue;
    // These two are two numbers of four bytes.
    const bool halves = member == tid || member == cpu;
    in.skip(halves ? 4 : 8);
    if (halves) in.skip(4);
  }
  return in;
}

/// Reads the members behind the head of a sample in the order of the kernel's perf_output_sample. `Type` is a number,
/// or a constant for which the tests of the bits fold away.
template <order O, class Type>
[[gnu::always_inline]] constexpr void read_members(cursor<O>& in, Type type, const sample_layout& layout,
                                                   sample& out) noexcept {
  const auto with = [&](sample_field member) { return has(type, member); };
  const auto word = [&] { return in.template read<std::uint64_t>(); };
  out.sample_type = type;
  out.period = layout.period;
  // One test for all members in front, which are of eight bytes each.
  const std::uint64_t in_front = type & members_in_front;
  const std::size_t front_size = static_cast<std::size_t>(std::popcount(in_front)) * 8;
  if (in.remaining() < front_size) [[unlikely]] {
    in = fail_in_front(in, in_front);
    return;
  }
  const std::byte* at = in.take(front_size).data();
  const auto next = [&] {
    const auto value = load<std::uint64_t, O>(at);
    at += 8;
    return value;
  };
  const auto next_half = [&] {
    const auto value = load<std::uint32_t, O>(at);
    at += 4;
    return value;
  };
  if (with(sample_field::identifier)) out.identifier = next();
  if (with(sample_field::ip)) out.ip = next();
  if (with(sample_field::tid)) out.pid = next_half(), out.tid = next_half();
  if (with(sample_field::time)) out.time = next();
  if (with(sample_field::addr)) out.addr = next();
  if (with(sample_field::id)) out.id = next();
  if (with(sample_field::stream_id)) out.stream_id = next();
  if (with(sample_field::cpu)) out.cpu = next_half(), at += 4;
  if (with(sample_field::period)) out.period = next();
  if (with(sample_field::read)) out.read = read_counters(in, layout.read_format);
  if (with(sample_field::callchain)) out.callchain = read_words(in, word());
  if (with(sample_field::raw)) out.raw = in.take(in.template read<std::uint32_t>());
  if (with(sample_field::branch_stack)) out.branches = read_branches(in, layout.branch_sample_type);
  if (with(sample_field::regs_user)) out.user_registers = read_registers(in, layout.regs_user);
  if (with(sample_field::stack_user)) read_stack(in, out);
  if (with(sample_field::weight) || with(sample_field::weight_struct)) out.weight = word();
  if (with(sample_field::data_src)) out.data_src = word();
  if (with(sample_field::transaction)) out.transaction = word();
  if (with(sample_field::regs_intr)) out.interrupt_registers = read_registers(in, layout.regs_intr);
  if (with(sample_field::phys_addr)) out.phys_addr = word();
  if (with(sample_field::cgroup)) out.cgroup = word();
  if (with(sample_field::data_page_size)) out.data_page_size = word();
  if (with(sample_field::code_page_size)) out.code_page_size = word();
  if (with(sample_field::aux)) out.aux = in.take(word());
  out.trailing = in.remaining();
}

/// The layouts that `perf record` makes most: they are compiled, others are walked bit by bit.
template <class F>
[[gnu::always_inline]] constexpr void with_common_type(std::uint64_t type, F&& f) {
  using enum sample_field;
  constexpr std::uint64_t plain = mask_of(ip, tid, time, sample_field::period);
  constexpr std::uint64_t chain = plain | mask_of(callchain);
  constexpr std::uint64_t stack = chain | mask_of(addr, data_src, regs_user, stack_user);
  with_constant<chain, stack, chain | mask_of(identifier), chain | mask_of(id), stack | mask_of(id),
                stack | mask_of(identifier), plain>(type, static_cast<F&&>(f));
}

}  // namespace detail

/// Reads the samples of one layout. `Type` is a constant where the layout is one of those that are compiled: then
/// reading costs what a loop costs that was written by hand for it, and members that are not used cost nothing. See
/// with_sample_reader.
template <order O, class Type>
class sample_reader {
 public:
  constexpr sample_reader(Type type, const sample_layout& layout) noexcept
      : layout_(layout), type_(type), known_(layout.is_known()) {}

  /// Reads the members of a sample at `offset` into `out`; gives no error or what is wrong, and where. Errors:
  /// errc::truncated where a member reaches beyond the record, errc::out_of_range where more of the stack was copied
  /// than asked, errc::unsupported_type where the event asks for members that are not known here.
  [[nodiscard, gnu::always_inline]] constexpr trace_error read(const record<sample_record, O>& item,
                                                               std::uint64_t offset, sample& out) const noexcept {
    out = sample{};
    if (!known_) return {errc::unsupported_type, offset};
    cursor<O> in(item.payload(), offset + size_of<sample_record>);
    detail::read_members(in, type_, layout_, out);
    return in.error();
  }

 private:
  sample_layout layout_;
  [[no_unique_address]] Type type_;
  bool known_;
};

/// Calls `f` once with the sample_reader for a layout; loops over many samples stand inside of `f`.
template <order O, class F>
[[gnu::always_inline]] constexpr void with_sample_reader(const sample_layout& layout, F&& f) {
  detail::with_common_type(layout.sample_type, [&](auto type) { f(sample_reader<O, decltype(type)>(type, layout)); });
}

/// Reads one sample, whose event has that layout, into `out`; errors are those of sample_reader.
template <order O>
[[nodiscard]] constexpr trace_error read_sample(const record<sample_record, O>& item, const sample_layout& layout,
                                                std::uint64_t offset, sample& out) noexcept {
  trace_error error;
  with_sample_reader<O>(layout, [&](const auto& reader) { error = reader.read(item, offset, out); });
  return error;
}

/// The same for a record whose byte order is known at run time. Precondition: it is a sample.
[[nodiscard]] constexpr result<sample> read_sample(const stored_record& item, const sample_layout& layout) noexcept {
  BACKSIGHT_ASSERT(item.type == record_type::sample);
  sample out;
  const trace_error error = with_order(item.byte_order, [&](auto o) {
    return read_sample(record<sample_record, o()>(item.bytes.data(), item.bytes.size() - size_of<sample_record>),
                       layout, item.offset, out);
  });
  return error ? result<sample>(error) : result<sample>(out);
}

/// The values of a read record. Precondition: it is one. Error: errc::truncated.
[[nodiscard]] constexpr result<counter_values> read_values(const stored_record& item,
                                                           const sample_layout& layout) noexcept {
  BACKSIGHT_ASSERT(item.type == record_type::read);
  if (!layout.is_known()) return {errc::unsupported_type, item.offset};
  const byte_view body = without_trailer(item, layout);
  if (body.size() < size_of<read_record>) return {errc::truncated, item.offset};
  return with_order(item.byte_order, [&](auto o) -> result<counter_values> {
    cursor<o()> in(body.subspan(size_of<read_record>), item.offset + size_of<read_record>);
    const counter_values values = detail::read_counters(in, layout.read_format);
    return in.failed() ? result<counter_values>(in.error()) : result<counter_values>(values);
  });
}

}  // namespace backsight::perf
