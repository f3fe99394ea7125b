// SPDX-License-Identifier: Apache-2.0
// counts: numbers of records of a memtrace, per thread and window.
#include "memtrace_commands.hpp"

#include <algorithm>
#include <cinttypes>
#include <map>
#include <set>

#include <backsight/memtrace/counts.hpp>
#include <backsight/memtrace/raw_counts.hpp>

#include "memtrace_choice.hpp"
#include "memtrace_input.hpp"
#include "table.hpp"

namespace cli::memtrace {

namespace {

using namespace backsight;
using namespace backsight::memtrace;

struct file_counts {
  std::vector<section_counts> sections;
  std::uint64_t records = 0;
  pc_set pcs;
  std::optional<std::uint64_t> file_type;
};

template <class Address>
trace_error count_as(const std::string& path, file_counts& into) {
  basic_final_counter<Address> counter;
  const trace_error error = for_each_final_block<Address>(path, [&](byte_view block) { return counter.feed(block); });
  counter.finish();
  into.sections = counter.sections();
  into.records = counter.records();
  into.pcs = counter.all_pcs();
  into.file_type = counter.file_type();
  return error;
}

/// Counts a final file of either layout; the numbers up to an error are kept.
trace_error count_file(const std::string& path, file_counts& into) {
  const auto head = final_header_of(path);
  if (!head) return head.error();
  return with_address(*head, [&](auto address) { return count_as<decltype(address)>(path, into); });
}

void print_row(table& to, const std::string& tid, const std::optional<std::uint64_t>& window, const record_counts& c,
               bool sum, std::uint64_t records) {
  to.text(tid).id(window).number(c.instructions);
  if (sum) to.empty();
  else to.number(c.unique_pcs);
  for (const std::uint64_t count : {c.non_fetched, c.prefetches, c.loads, c.stores, c.time_and_cpu, c.kernel_transfers,
                                    c.syscalls, c.blocking_syscalls, c.other_markers, c.encodings, c.exits})
    to.number(count);
  if (sum) to.empty();
  else to.number(records);
  to.end_row();
}

int final_table(const arguments& asked, const std::vector<trace_folder>& folders, output& out) {
  int code = success;
  choice wanted(asked);
  table rows(out, asked.format,
             {{.key = "tid", .width = 8},
              {.key = "window", .width = 10, .narrow = "win"},
              {.key = "instrs", .width = 10},
              {.key = "unique_pcs", .width = 10, .narrow = "pcs"},
              {.key = "nofetch", .width = 10, .spare = 6},
              {.key = "prefetches", .width = 10, .narrow = "pref", .spare = 8},
              {.key = "loads", .width = 10},
              {.key = "stores", .width = 10},
              {.key = "sched", .width = 10, .spare = 3},
              {.key = "xfer", .width = 10, .spare = 4},
              {.key = "syscalls", .width = 10, .spare = 1},
              {.key = "maybe_blocking", .width = 14, .narrow = "block", .spare = 2},
              {.key = "other_markers", .width = 13, .narrow = "other", .spare = 5},
              {.key = "encodings", .width = 10, .spare = 7},
              {.key = "exit", .width = 10, .spare = 9},
              {.key = "records_in_file", .width = 15, .narrow = "records", .spare = 10}},
             {.head_with_a_row = true});
  for (const trace_folder& folder : folders) {
    // "-" sorts before every ordinal: no window is the smallest optional.
    std::map<std::optional<std::uint64_t>, record_counts> sums;
    for (const std::string& path : folder.files) {
      file_counts counts;
      if (const trace_error error = count_file(path, counts)) code = report_damage(path, error);
      if (counts.records == 0) continue;
      const std::size_t all_sections = counts.sections.size();
      std::erase_if(counts.sections,
                    [&](const section_counts& section) { return !wanted.has(section.window, section.tid); });
      if (counts.sections.empty()) continue;
      if (!asked.per_window) {
        // One thread has the pcs of the whole file; of several, or some of its windows, it is not known who ran which.
        std::map<std::uint64_t, record_counts> of_threads;
        for (const section_counts& section : counts.sections) of_threads[section.tid] += section.counts;
        const bool whole = counts.sections.size() == all_sections;
        if (counts.sections.size() == 1)
          of_threads.begin()->second.unique_pcs = counts.sections.front().counts.unique_pcs;
        else if (of_threads.size() == 1 && whole) of_threads.begin()->second.unique_pcs = counts.pcs.size();
        for (const auto& [tid, sum] : of_threads) {
          print_row(rows, std::to_string(tid), asked.window, sum,
                    counts.sections.size() != 1 && (of_threads.size() != 1 || !whole), counts.records);
          sums[asked.window] += sum;
        }
        continue;
      }
      for (const section_counts& section : counts.sections) {
        print_row(rows, std::to_string(section.tid), section.window, section.counts, false, counts.records);
        sums[section.window] += section.counts;
      }
    }
    for (const auto& [window, sum] : sums) print_row(rows, "*", window, sum, true, 0);
  }
  rows.finish();
  return wanted.finish(code);
}

int raw_table(const arguments& asked, const std::vector<trace_folder>& folders, output& out) {
  int code = success;
  choice wanted(asked);
  table rows(out, asked.format,
             {{.key = "file", .width = 10, .is_name = true},
              {.key = "tid", .width = 8},
              {.key = "window", .width = 10, .narrow = "win"},
              {.key = "records", .width = 10},
              {.key = "blocks", .width = 10},
              {.key = "instrs_in_blocks", .width = 16, .narrow = "instrs"},
              {.key = "memrefs", .width = 10},
              {.key = "timestamps", .width = 10, .narrow = "times", .spare = 2},
              {.key = "window_markers", .width = 14, .narrow = "markers", .spare = 3},
              {.key = "footer", .width = 10, .spare = 4}},
             {.head_with_a_row = true});
  for (const trace_folder& folder : folders) {
    for (const std::string& path : folder.files) {
      raw_counter counter;
      bool begun = false;
      std::uint64_t size = 0;
      trace_error error = for_each_block(path, [&](byte_view block, std::uint64_t offset) -> trace_error {
        size = offset + block.size();
        if (!begun) {
          if (const auto head = read_raw_header(block); !head) return head.error();
        }
        begun = true;
        if (const trace_error bad = counter.feed(block)) return {bad.code, bad.offset - offset};
        return block.size() % 8 == 0 ? trace_error{} : trace_error{errc::truncated, block.size() / 8 * 8};
      });
      const trace_error at_end = counter.finish();
      if (!error) error = at_end;
      if (!error && !begun) error = {errc::truncated, 0};
      if (!error && counter.windows().back().footers == 0) error = {errc::bad_end, size};
      if (error) code = report_damage(path, error);
      if (!begun) continue;
      // The folder is called raw whatever its name, as in the tables that other tools make.
      const std::string name = "raw/" + (folder.window.empty() ? "" : folder.window + "/") + base_name(path);
      std::vector<raw_window_counts> windows = counter.windows();
      std::erase_if(windows, [&](const raw_window_counts& one) { return !wanted.has(one.window, counter.tid()); });
      if (windows.empty()) continue;
      if (!asked.per_window) {
        raw_window_counts sum;
        sum.window = asked.window;
        for (const raw_window_counts& c : windows) sum += c;
        windows = {sum};
      }
      for (const raw_window_counts& c : windows) {
        rows.text(name).id(counter.tid()).id(c.window);
        for (const std::uint64_t count :
             {c.entries, c.blocks, c.instructions, c.memrefs, c.timestamps, c.window_markers, c.footers})
          rows.number(count);
        rows.end_row();
      }
    }
  }
  rows.finish();
  return wanted.finish(code);
}

/// What the tool basic_counts keeps for one file: counts by window ordinal, where a file that begins with another
/// window than 0 has just one.
struct shard {
  std::uint64_t tid = 0, threads = 0, records = 0;
  std::map<std::uint64_t, record_counts> windows;  ///< The others up to the last are zeros.
  pc_set pcs;
  bool whole_system = false;
  bool core_sharded = false;

  [[nodiscard]] std::uint64_t window_count() const { return windows.rbegin()->first + 1; }
  [[nodiscard]] record_counts of(std::uint64_t ordinal) const {
    const auto found = windows.find(ordinal);
    return found == windows.end() ? record_counts{} : found->second;
  }
};

/// Sorts the sections of a file as the tool does; gives why it would refuse the file or lose numbers of it, or null.
const char* make_shard(file_counts& counts, shard& made) {
  made.pcs = std::move(counts.pcs);
  made.records = counts.records;
  // Without a FILETYPE marker the tool takes every bit of the type for set.
  made.whole_system = !counts.file_type || (*counts.file_type & file_type::whole_system) != 0;
  made.core_sharded = counts.file_type && (*counts.file_type & file_type::core_sharded) != 0;
  made.windows[0] = {};
  std::set<std::uint64_t> tids;
  std::optional<std::uint64_t> last;
  for (const section_counts& section : counts.sections) {
    tids.insert(section.tid);
    made.tid = section.tid;
    if (section.window && section.window != last && !made.core_sharded) {
      if (last && made.window_count() != *last + 1)
        return "basic_counts gives no numbers for a file whose several windows do not start at 0; use --per-window";
      if (last && *section.window < *last)
        return "basic_counts loses windows of a file whose windows go back; use --per-window";
      if (*section.window == ~std::uint64_t{0})
        return "basic_counts gives no numbers for as many windows; use --per-window";
      if (last || *section.window == 0) made.windows[*section.window];
      last = section.window;
    }
    record_counts& sum = made.windows.rbegin()->second;
    const std::uint64_t unique = sum.unique_pcs + section.counts.unique_pcs;
    sum += section.counts;
    sum.unique_pcs = unique;
  }
  if (made.core_sharded) made.windows[0].unique_pcs = made.pcs.size();
  made.threads = tids.size();
  return nullptr;
}

void print_counts(output& out, const record_counts& c, const char* prefix, std::uint64_t threads, bool kernel) {
  const auto line = [&](std::uint64_t number, const char* what) {
    out.print("%12" PRIu64 "%s %s\n", number, prefix, what);
  };
  line(c.instructions, "(fetched) instructions");
  line(c.unique_pcs, "unique (fetched) instructions");
  if (kernel) {
    line(c.instructions - c.kernel_instructions, "userspace instructions");
    line(c.kernel_instructions, "kernel instructions");
  }
  line(c.non_fetched, "non-fetched instructions");
  if (kernel) {
    line(c.non_fetched - c.kernel_non_fetched, "non-fetched userspace instructions");
    line(c.kernel_non_fetched, "non-fetched kernel instructions");
  }
  line(c.prefetches, "prefetches");
  line(c.loads, "data loads");
  line(c.stores, "data stores");
  line(c.icache_flushes, "icache flushes");
  line(c.dcache_flushes, "dcache flushes");
  if (threads != 0) line(threads, "threads");
  line(c.time_and_cpu, "timestamp + cpuid markers");
  line(c.idle, "idle markers");
  line(c.wait, "wait markers");
  line(c.kernel_transfers, "kernel transfer markers");
  if (kernel) line(c.hardware_transfers, "hardware transfer markers");
  line(c.function_ids, "function id markers");
  line(c.function_return_addresses, "function return address markers");
  line(c.function_arguments, "function argument markers");
  line(c.function_return_values, "function return value markers");
  line(c.physical_pairs, "physical address + virtual address marker pairs");
  line(c.physical_unavailable, "physical address unavailable markers");
  line(c.syscalls, "system call number markers");
  line(c.blocking_syscalls, "blocking system call markers");
  line(c.skipped_memrefs, "skipped memref markers");
  line(c.other_markers, "other markers");
  line(c.encodings, "encodings");
}

/// Prints what `-tool basic_counts` prints. Threads with the same number of instructions come by thread number; the
/// tool has them in the order in which it happened to open the files.
int basic_counts(const trace_folder& folder, output& out) {
  int code = success;
  std::vector<shard> shards;
  for (const std::string& path : folder.files) {
    file_counts counts;
    if (const trace_error error = count_file(path, counts)) code = report_damage(path, error);
    if (counts.records == 0) continue;
    shard made;
    if (const char* const why = make_shard(counts, made)) return report_error(path, why);
    shards.push_back(std::move(made));
  }
  if (shards.empty()) return code;
  // Each thread has a section for every window up to its last: far ordinals in a short trace would fill the disk with
  // zeros.
  std::uint64_t records = 0;
  for (const shard& one : shards) records += one.records;
  std::uint64_t room = records + 10000;
  for (const shard& one : shards) {
    if (one.window_count() > room)
      return report_error(
          folder.path,
          "basic_counts has a section for each window up to the last, and here they are too many; use --per-window");
    room -= one.window_count();
  }
  record_counts total;
  pc_set pcs;
  std::uint64_t threads = 0;
  std::uint64_t windows = 1;
  bool kernel = false, cores = false;
  for (const shard& one : shards) {
    for (const auto& [ordinal, counts] : one.windows) total += counts;
    pcs += one.pcs;
    threads += one.threads;
    windows = std::max(windows, one.window_count());
    kernel = kernel || one.whole_system;
    cores = cores || one.core_sharded;
  }
  total.unique_pcs = pcs.size();
  out.write("Basic counts tool results:\nTotal counts:\n");
  print_counts(out, total, " total", threads, kernel);
  if (windows > 1) {
    out.print("Total windows: %" PRIu64 "\n", windows);
    std::vector<const shard*> going_on;
    for (const shard& one : shards) going_on.push_back(&one);
    for (std::uint64_t i = 0; i < windows; ++i) {
      out.print("Window #%" PRIu64 ":\n", i);
      std::erase_if(going_on, [&](const shard* one) { return one->window_count() <= i; });
      for (const shard* const one : going_on) print_counts(out, one->of(i), " window", 0, kernel);
    }
  }
  std::vector<std::size_t> order(shards.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const std::uint64_t first = shards[a].windows.at(0).instructions, second = shards[b].windows.at(0).instructions;
    return first != second ? first > second : a < b;
  });
  for (const std::size_t i : order) {
    if (cores) out.print("Core %zu counts:\n", i);
    else out.print("Thread %" PRIu64 " counts:\n", shards[i].tid);
    print_counts(out, shards[i].windows.at(0), "", cores ? shards[i].threads : 0, kernel);
  }
  return code;
}

}  // namespace

int counts(const arguments& asked) {
  const std::vector<trace_folder> folders = folders_at(asked.path());
  if (folders.empty()) return report_error(asked.path(), "no memtraces are here");
  output out("-");
  for (const trace_folder& folder : folders) {
    for (const std::string& path : folder.files) {
      const auto kind = stage_of(path);
      if (kind.partial() == stage::raw && asked.as.empty()) return out.close(raw_table(asked, folders, out));
      if (kind.partial() == stage::final) break;
    }
  }
  if (asked.as == "drmemtrace") {
    note_first_folder(folders);
    return out.close(basic_counts(folders.front(), out));
  }
  return out.close(final_table(asked, folders, out));
}

}  // namespace cli::memtrace
