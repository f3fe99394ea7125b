// SPDX-License-Identifier: Apache-2.0
// perf.data files and jitdumps: open, features, every member of every record through print, samples, the order of
// delivery with and without unfolding, processes and their mappings over time, stacks. Whatever layout the attributes
// ask for, samples are also read with others.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <backsight/core/print.hpp>
#include <backsight/ftrace/event_text.hpp>
#include <backsight/perf/jit_code.hpp>
#include <backsight/perf/perf.hpp>
#include <backsight/perf/stacks.hpp>
#include <backsight/perf/tracing_data.hpp>
#include <backsight/perf/unwinder.hpp>
#ifdef BACKSIGHT_HAVE_ZSTD
#include <backsight/io/zstd_records.hpp>
#endif

#include "fuzz_support.hpp"

namespace {

using namespace backsight;
using fuzz::require;
using fuzz::sink;

void add(byte_view bytes, std::uint64_t* sum) {
  for (const std::byte byte : bytes) *sum += std::to_integer<unsigned>(byte);
}
void add(std::string_view text, std::uint64_t* sum) {
  for (const char c : text) *sum += static_cast<unsigned char>(c);
}

/// Reads all records; offsets must grow and records lie side by side inside the view.
template <record_format F>
void walk(const record_range<F>& records, std::uint64_t* sum) {
  std::uint64_t at = records.base();
  const std::uint64_t end = records.base() + records.bytes().size();
  auto it = records.begin();
  for (; it != records.end(); ++it) {
    const auto item = *it;
    require(item.offset() == at && !item.bytes().empty() && item.bytes().size() <= end - at);
    at += item.bytes().size();
    print(sink{sum}, item);
  }
  const trace_error error = it.error();
  require(error ? error.offset == at : at == end);
}

void read_sample_as(const perf::stored_record& stored, const perf::sample_layout& layout, std::uint64_t* sum) {
  const auto one = read_sample(stored, layout);
  if (!one) {
    require(one.error().offset >= stored.offset && one.error().offset <= stored.offset + stored.bytes.size());
    return;
  }
  for (std::size_t i = 0; i < one->callchain.size(); ++i) *sum += one->callchain[i];
  for (std::size_t i = 0; i < one->read.size(); ++i) *sum += one->read[i].value + one->read[i].id + one->read[i].lost;
  for (std::size_t i = 0; i < one->branches.size(); ++i) *sum += one->branches[i].from;
  for (unsigned i = 0; i < 70; ++i)
    *sum += one->user_registers[i].value_or(0) + one->interrupt_registers[i].value_or(1);
  add(one->raw, sum);
  add(one->user_stack, sum);
  add(one->aux, sum);
  *sum += one->ip + one->time + one->period;
}

void read_features(const perf::trace& opened, std::uint64_t* sum) {
  const order o = opened.byte_order();
  for (const perf::feature_section& one : opened.features()) {
    const auto take = [&](std::string_view text) { add(text, sum); };
    if (const auto text = perf::read_text(one, o)) add(*text, sum);
    (void)perf::for_each_text(one, o, take);
    (void)perf::for_each_pmu(one, o, [&](std::uint32_t type, std::string_view text) { *sum += type, add(text, sum); });
    (void)perf::for_each_pair(one, o, [&](std::string_view a, std::string_view b) { add(a, sum), add(b, sum); });
    (void)perf::for_each_group(
        one, o, [&](std::string_view text, std::uint32_t a, std::uint32_t b) { *sum += a + b, add(text, sum); });
    (void)perf::read_cpu_topology(
        one, o, 4, [&](int, std::string_view text) { add(text, sum); },
        [&](const perf::cpu_place& place) { *sum += place.core; });
    (void)perf::for_each_build_id(one, o,
                                  [&](const perf::build_id_entry& entry) { add(entry.id, sum), add(entry.name, sum); });
    (void)perf::read_clock_data(one, o);
    (void)perf::read_compression(one, o);
    // Whatever a text is of, it is tried as formats of events, which then print the bytes that stand behind them.
    const auto formats = perf::read_tracing_data(one.bytes, one.offset);
    for (const ftrace::event_format& format : formats.partial().events) {
      std::string text;
      if (!ftrace::append_event_text(text, format, one.bytes, o)) require(text.empty());
      ftrace::append_event_members(text, format, one.bytes.first(one.bytes.size() < 64 ? one.bytes.size() : 64), o);
      add(text, sum);
    }
  }
}

void read_trace(const perf::trace& opened, std::uint64_t* sum) {
  read_features(opened, sum);
  for (const auto& event : opened.events()) add(event.name, sum);
  with_order(opened.byte_order(), [&](auto o) { walk(opened.records<o()>(), sum); });
  const auto take = [&](const perf::merged_record& item) {
    add(perf::data_behind(item.record), sum);
    if (item.event != perf::no_event) {
      const perf::sample_layout& layout = opened.events()[item.event].layout;
      *sum += read_sample_id(item.record, layout).time;
      add(without_trailer(item.record, layout), sum);
      if (item.record.type == perf::record_type::sample) read_sample_as(item.record, layout, sum);
      if (item.record.type == perf::record_type::read) *sum += read_values(item.record, layout).partial().size();
    }
    if (item.record.type != perf::record_type::sample) return;
    perf::sample_layout other;
    for (unsigned bit = 0; bit < perf::sample_field_count; ++bit) {
      other.sample_type = std::uint64_t{1} << bit;
      other.regs_user = other.regs_intr = 0xff;
      read_sample_as(item.record, other, sum);
      other.read_format = bit;
      other.branch_sample_type = std::uint64_t{bit} << 17 & 0xfffff;
      other.sample_type = (std::uint64_t{1} << perf::sample_field_count) - 1;
      read_sample_as(item.record, other, sum);
    }
  };
  std::uint64_t faults = 0;
  const auto on_fault = [&](const fault& damage) {
    ++faults;
    require(damage.code != errc::ok && damage.offset <= opened.bytes().size());
  };
  const perf::merge_counts counts = perf::for_each_merged(opened, take, on_fault);
  require(counts.faults == faults);
#ifdef BACKSIGHT_HAVE_ZSTD
  io::for_each_unfolded(opened, {}, take, [](const fault&) {},
                        {.ratio = 500, .free_bytes = 1U << 22, .bytes = 1U << 24});
#endif
}

/// Follows processes and walks the stacks of samples; where a stack leads a mapped object without rules is added.
template <class Arch, order O>
void follow(const perf::trace& opened, std::uint64_t* sum) {
  using unwinder = perf::sample_unwinder<Arch, O>;
  perf::process_list list;
  unwinder stacks;
  const auto rules = std::make_unique<typename unwinder::cache>();
  typename unwinder::call_places places;
  perf::deferred_samples<std::uint64_t> waiting(64);
  std::vector<std::byte> file(4096, std::byte{1});
  const perf::file_memory<O> files(
      [](void* all, std::uint32_t) -> std::optional<byte_view> { return *static_cast<std::vector<std::byte>*>(all); },
      &file);

  const auto take_sample = [&](const perf::merged_record& item, const perf::sample_layout& layout) {
    const auto one = read_sample(item.record, layout);
    if (!one) return;
    const perf::thread& thread =
        list.find_thread(static_cast<std::int32_t>(one->pid), static_cast<std::int32_t>(one->tid));
    add(list.name(thread.name), sum);
    const perf::process& owner = list.find_process(thread.pid);
    require(owner.maps != nullptr);
    (void)perf::for_each_address(
        one->callchain, {}, perf::cpu_mode_of(item.record.misc), 127, [&](const perf::stack_entry& entry) {
          const perf::mapping* const at = owner.maps->find(entry.address);
          if (at == nullptr) return;
          require(entry.address >= at->begin && entry.address < at->end && at->file < list.files().size());
          *sum += at->file_address(entry.address);
        });
    if (const auto cookie = perf::cookie_of(one->callchain)) (void)waiting.hold(one->tid, *cookie, one->time);
    const auto first = perf::first_frame<Arch>(one->user_registers);
    if (!first) return;
    std::uint64_t pcs[16]{};
    typename unwinder::item walked;
    auto& space = stacks.space_of(owner);
    walked.start = *first;
    walked.space = &space.objects;
    walked.memory = {one->user_stack.data(), first->stack_pointer(), one->user_stack.size(), owner.maps.get(), &files};
    walked.pcs = pcs;
    unwinder::walk({&walked, 1}, *rules);
    unwinder::complete(walked, space, *rules,
                       [&](const perf::mapping& at, std::uint64_t address, cfi::mapped_object& out) {
                         require(out.begin == at.begin && out.end == at.end);
                         require(address >= at.begin && address < at.end);
                         return at.is_executable();
                       });
    require(walked.result.count >= 1 && walked.result.count <= 16);
    (void)places.make_addresses(walked);
    for (const std::uint64_t pc : pcs) *sum += pc;
  };
  perf::for_each_merged(
      opened,
      [&](const perf::merged_record& item) {
        const perf::sample_layout layout =
            item.event == perf::no_event ? perf::sample_layout() : opened.events()[item.event].layout;
        if (item.record.type == perf::record_type::sample) {
          if (item.event != perf::no_event) take_sample(item, layout);
        } else if (item.record.type == perf::record_type::callchain_deferred) {
          if (const auto chain = perf::read_deferred_chain(item.record, layout)) {
            waiting.deliver(
                perf::read_sample_id(item.record, layout).tid, chain->cookie,
                [&](std::uint64_t time, bool matches) { *sum += matches ? time : chain->addresses.size(); });
          }
        } else {
          list.apply(item, opened, [&](const perf::process* owner, std::uint64_t begin, std::uint64_t end) {
            if (owner != nullptr) stacks.forget(owner->number, begin, end);
          });
          for (const std::uint32_t number : list.take_forgotten()) stacks.forget(number);
        }
      },
      [](const fault&) {});
  waiting.finish([&](std::uint64_t time) { *sum += time; });
  require(waiting.size() == 0);
}

void read_dump(const perf::jitdump::dump& opened, std::uint64_t* sum) {
  with_order(opened.byte_order(), [&](auto o) {
    walk(opened.records<o()>(), sum);
    for (const auto& item : opened.records<o()>()) {
      if (const auto load = get_if<perf::jitdump::code_load_record>(item)) {
        add(perf::jitdump::name_of(load), sum);
        add(perf::jitdump::code_of(load), sum);
      } else if (const auto unwinding = get_if<perf::jitdump::unwinding_info_record>(item)) {
        add(perf::jitdump::eh_frame_of(unwinding), sum);
        add(perf::jitdump::eh_frame_hdr_of(unwinding), sum);
      } else if (const auto lines = get_if<perf::jitdump::debug_info_record>(item)) {
        (void)for_each_line(lines, item.offset(), [&](const perf::jitdump::source_line& line) { add(line.file, sum); });
      }
    }
    perf::jitdump::for_each_function<o()>(
        opened,
        [&](const perf::jitdump::function& one) {
          require(one.size != 0 && one.begin + one.size > one.begin && one.eh_frame_address() >= one.begin + one.size);
          add(one.name, sum);
          add(one.eh_frame, sum);
        },
        [](const fault&) {});
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint64_t sum = 0;
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(data[i]);
  if (const auto opened = perf::open(bytes)) {
    read_trace(*opened, &sum);
    if (opened->byte_order() == order::little) follow<cfi::arch::x86_64, order::little>(*opened, &sum);
    else follow<cfi::arch::aarch64, order::big>(*opened, &sum);
  }
  if (const auto opened = perf::jitdump::open(bytes)) read_dump(*opened, &sum);
  static_cast<void>(sum);
  return 0;
}
