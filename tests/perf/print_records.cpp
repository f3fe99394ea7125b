// SPDX-License-Identifier: Apache-2.0
// Prints the records of a perf.data file, or of the files of a directory, in the order of delivery; agreement.py
// compares them with what perf prints:   print_records FILE [DATA.0 DATA.1 ...]
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include <backsight/perf/perf.hpp>
#ifdef BACKSIGHT_HAVE_ZSTD
#include <backsight/io/zstd_records.hpp>
#endif

using namespace backsight;

namespace {

std::vector<std::byte> read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

void print_words(const char* name, const perf::word_list& words) {
  std::printf(" %s=", name);
  for (std::size_t i = 0; i < words.size(); ++i) std::printf("%s%" PRIx64, i == 0 ? "" : ",", words[i]);
}

void print_values(const perf::counter_values& values) {
  std::printf(" read=%" PRIu64 ",%" PRIu64, values.time_enabled, values.time_running);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::printf(";%" PRIx64 ",%" PRIx64 ",%" PRIx64, values[i].id, values[i].value, values[i].lost);
  }
}

void print_sample(const perf::sample& one) {
  std::printf(" pid=%d tid=%d cpu=%u ip=%" PRIx64 " period=%" PRIu64 " addr=%" PRIx64, static_cast<int>(one.pid),
              static_cast<int>(one.tid), one.cpu, one.ip, one.period, one.addr);
  using enum perf::sample_field;
  const auto with = [&](perf::sample_field member) { return has(one.sample_type, member); };
  if (with(callchain)) print_words("chain", one.callchain);
  if (with(regs_user) && one.user_registers.abi != 0) print_words("uregs", one.user_registers.values);
  if (with(regs_intr) && one.interrupt_registers.abi != 0) print_words("iregs", one.interrupt_registers.values);
  if (with(stack_user) && one.stack_size != 0) std::printf(" stack=%zu", one.user_stack.size());
  if (with(read)) print_values(one.read);
  if (with(raw)) std::printf(" raw=%zu", one.raw.size());
  if (with(branch_stack)) {
    std::printf(" branches=");
    for (std::size_t i = 0; i < one.branches.size(); ++i) {
      const perf::branch taken = one.branches[i];
      std::printf("%s%" PRIx64 "-%" PRIx64 "/%" PRIu64, i == 0 ? "" : ",", taken.from, taken.to,
                  taken.flags >> 4 & 0xffff);
    }
  }
  if (with(weight_struct)) std::printf(" weight=%" PRIu64, one.weight & 0xffffffff);
  if (with(data_src)) std::printf(" data_src=%" PRIx64, one.data_src);
  if (with(transaction)) std::printf(" transaction=%" PRIx64, one.transaction);
  if (with(phys_addr)) std::printf(" phys_addr=%" PRIx64, one.phys_addr);
  if (with(data_page_size)) std::printf(" data_page=%" PRIx64, one.data_page_size);
  if (with(code_page_size)) std::printf(" code_page=%" PRIx64, one.code_page_size);
  if (one.trailing != 0) std::printf(" trailing=%zu", one.trailing);
}

void print_record(const perf::trace& opened, const perf::merged_record& item) {
  const perf::stored_record& stored = item.record;
  // What stands behind the record does not count into the size that perf prints.
  const std::size_t size = with_order(stored.byte_order, [&](auto o) {
    return std::size_t{record<perf::other_record, o()>(stored.bytes.data(), 0)[perf::other_record::size]};
  });
  std::printf("%u %" PRIx64 " %zx %" PRIu64 " %u", static_cast<unsigned>(stored.type), stored.offset, size, item.time,
              item.stream);
  if (item.event != perf::no_event) {
    const perf::event_description& event = opened.events()[item.event];
    if (stored.type == perf::record_type::sample) {
      if (const auto one = read_sample(stored, event.layout)) print_sample(*one);
      else std::printf(" error=%s", message(one.error().code));
    } else {
      const perf::sample_id trailer = read_sample_id(stored, event.layout);
      std::printf(" pid=%d tid=%d cpu=%u", static_cast<int>(trailer.pid), static_cast<int>(trailer.tid), trailer.cpu);
      if (stored.type == perf::record_type::read) {
        if (const auto values = read_values(stored, event.layout)) print_values(*values);
        else std::printf(" error=%s", message(values.error().code));
      }
    }
  }
  std::printf("\n");
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return 2;
  std::vector<std::vector<std::byte>> files;
  for (int i = 1; i < count; ++i) files.push_back(read_file(words[i]));
  const auto opened = perf::open(files[0]);
  if (!opened) {
    std::fprintf(stderr, "%s:%" PRIu64 ": %s\n", words[1], opened.error().offset, message(opened.error().code));
    return 1;
  }
  if (opened->feature_error()) std::printf("feature error: %s\n", message(opened->feature_error().code));
  const std::vector<byte_view> others(files.begin() + 1, files.end());
  const auto print_one = [&](const perf::merged_record& item) { print_record(*opened, item); };
  const auto print_fault = [](const fault& damage) {
    std::printf("fault %" PRIx64 " %s\n", damage.offset, message(damage.code));
  };
#ifdef BACKSIGHT_HAVE_ZSTD
  const perf::merge_counts counts = io::for_each_unfolded(*opened, others, print_one, print_fault);
#else
  const perf::merge_counts counts = perf::for_each_merged(*opened, others, print_one, print_fault);
#endif
  std::printf("records=%" PRIu64 " unknown=%" PRIu64 " without_event=%" PRIu64 " compressed=%" PRIu64 " faults=%" PRIu64
              " most_waiting=%zu\n",
              counts.records, counts.unknown, counts.without_event, counts.compressed, counts.faults,
              counts.most_waiting);
  return 0;
}
