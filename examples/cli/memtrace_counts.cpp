// SPDX-License-Identifier: Apache-2.0
// counts: numbers of records of a memtrace, per thread and window.
#include "memtrace_commands.hpp"

#include <algorithm>
#include <cinttypes>
#include <map>
#include <set>

#include <backsight/memtrace/counts.hpp>
#include <backsight/memtrace/raw_counts.hpp>

#include "memtrace_input.hpp"

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
  constexpr std::size_t step = size_of<basic_entry<Address>>;
  auto last = static_cast<std::uint16_t>(trace_type::header);
  trace_error error = for_each_block(path, [&](byte_view block, std::uint64_t) -> trace_error {
    if (const trace_error bad = counter.feed(block)) return bad;
    const std::size_t left = block.size() % step;
    if (left != 0) return {errc::truncated, block.size() - left};
    last = load<std::uint16_t, order::little>(block.data() + block.size() - step);
    return {};
  });
  // Whole records may be missing at the end as well.
  if (!error && last != static_cast<std::uint16_t>(trace_type::footer)) error = {errc::bad_end, counter.records() * step};
  counter.finish();
  into.sections = counter.sections();
  into.records = counter.records();
  into.pcs = counter.all_pcs();
  into.file_type = counter.file_type();
  return error;
}

/// Counts a final file of either layout; the numbers up to an error are kept.
trace_error count_file(const std::string& path, file_counts& into) {
  result<final_header> head;
  constexpr trace_error enough{errc::capacity, 0};
  const trace_error error = for_each_block(path, [&](byte_view block, std::uint64_t) {
    head = read_final_header(block);
    return enough;
  });
  if (error && error.code != enough.code) return error;
  if (!error) return {errc::truncated, 0};
  if (!head) return head.error();
  return head->address_size == 4 ? count_as<std::uint32_t>(path, into) : count_as<std::uint64_t>(path, into);
}

void print_row(output& out, const std::string& tid, const std::optional<std::uint64_t>& window, const record_counts& c,
               bool sum, std::uint64_t records) {
  const std::string name = window ? std::to_string(*window) : "-";
  const std::string unique = sum ? "" : std::to_string(c.unique_pcs);
  const std::string total = sum ? "" : std::to_string(records);
  out.print("%s\t%s\t%" PRIu64 "\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
            "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\n",
            tid.c_str(), name.c_str(), c.instructions, unique.c_str(), c.non_fetched, c.prefetches, c.loads, c.stores,
            c.time_and_cpu, c.kernel_transfers, c.syscalls, c.blocking_syscalls, c.other_markers, c.encodings, c.exits,
            total.c_str());
}

int final_table(const std::vector<trace_folder>& folders, output& out) {
  int code = success;
  out.write("tid\twindow\tinstrs\tunique_pcs\tnofetch\tprefetches\tloads\tstores\tsched\txfer\tsyscalls\tmaybe_blocking\t"
            "other_markers\tencodings\texit\trecords_in_file\n");
  for (const trace_folder& folder : folders) {
    // "-" sorts before every ordinal: no window is the smallest optional.
    std::map<std::optional<std::uint64_t>, record_counts> sums;
    for (const std::string& path : folder.files) {
      file_counts counts;
      if (const trace_error error = count_file(path, counts)) code = report_error(path, error, detail_of(path, error));
      if (counts.records == 0) continue;
      for (const section_counts& section : counts.sections) {
        print_row(out, std::to_string(section.tid), section.window, section.counts, false, counts.records);
        sums[section.window] += section.counts;
      }
    }
    for (const auto& [window, sum] : sums) print_row(out, "*", window, sum, true, 0);
  }
  return code;
}

int raw_table(const std::vector<trace_folder>& folders, output& out) {
  int code = success;
  out.write("file\ttid\twindow\trecords\tblocks\tinstrs_in_blocks\tmemrefs\ttimestamps\twindow_markers\tfooter\n");
  for (const trace_folder& folder : folders) {
    for (const std::string& path : folder.files) {
      raw_counter counter;
      bool begun = false;
      std::uint64_t size = 0;
      const trace_error error = for_each_block(path, [&](byte_view block, std::uint64_t offset) -> trace_error {
        size = offset + block.size();
        if (!begun) {
          if (const auto head = read_raw_header(block); !head) return head.error();
        }
        begun = true;
        if (const trace_error bad = counter.feed(block)) return bad;
        return block.size() % 8 == 0 ? trace_error{} : trace_error{errc::truncated, block.size() / 8 * 8};
      });
      if (error) code = report_error(path, error, detail_of(path, error));
      else if (begun && counter.windows().back().footers == 0) code = report_error(path, trace_error{errc::bad_end, size});
      else if (!begun) code = report_error(path, trace_error{errc::truncated, 0});
      if (!begun) continue;
      counter.finish();
      // The folder is called raw whatever its name, as in the tables that other tools make.
      const std::string name = "raw/" + (folder.window.empty() ? "" : folder.window + "/") + base_name(path);
      for (const raw_window_counts& c : counter.windows()) {
        const std::string window = c.window ? std::to_string(*c.window) : "-";
        out.print("%s\t%" PRIu64 "\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
                  name.c_str(), counter.tid(), window.c_str(), c.entries, c.blocks, c.instructions, c.memrefs, c.timestamps,
                  c.window_markers, c.footers);
      }
    }
  }
  return code;
}

/// What the tool basic_counts keeps for one file: counts by window ordinal, where a file that begins with another window
/// than 0 has just one.
struct shard {
  std::uint64_t tid = 0, threads = 0;
  std::vector<record_counts> windows{1};
  pc_set pcs;
  bool whole_system = false;
  bool core_sharded = false;
};

/// Sorts the sections of a file as the tool does; false when it would refuse the file.
bool make_shard(file_counts& counts, shard& made) {
  made.pcs = std::move(counts.pcs);
  // Without a FILETYPE marker the tool takes every bit of the type for set.
  made.whole_system = !counts.file_type || (*counts.file_type & file_type::whole_system) != 0;
  made.core_sharded = counts.file_type && (*counts.file_type & file_type::core_sharded) != 0;
  std::set<std::uint64_t> tids;
  std::optional<std::uint64_t> last;
  for (const section_counts& section : counts.sections) {
    tids.insert(section.tid);
    made.tid = section.tid;
    if (section.window && section.window != last && !made.core_sharded) {
      if (!last && *section.window != 0) {
        last = section.window;
      } else if (last && made.windows.size() != *last + 1) {
        return false;
      } else {
        if (*section.window > 1000000) return false;
        last = section.window;
        made.windows.resize(*last + 1);
      }
    }
    const std::uint64_t unique = made.windows.back().unique_pcs + section.counts.unique_pcs;
    made.windows.back() += section.counts;
    made.windows.back().unique_pcs = unique;
  }
  if (made.core_sharded) made.windows[0].unique_pcs = made.pcs.size();
  made.threads = tids.size();
  return true;
}

void print_counts(output& out, const record_counts& c, const char* prefix, std::uint64_t threads, bool kernel) {
  const auto line = [&](std::uint64_t number, const char* what) { out.print("%12" PRIu64 "%s %s\n", number, prefix, what); };
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

/// Prints what `-tool basic_counts` prints. Threads with the same number of instructions come by thread number; the tool has
/// them in the order in which it happened to open the files.
int basic_counts(const trace_folder& folder, output& out) {
  int code = success;
  std::vector<shard> shards;
  for (const std::string& path : folder.files) {
    file_counts counts;
    if (const trace_error error = count_file(path, counts)) code = report_error(path, error, detail_of(path, error));
    if (counts.records == 0) continue;
    shard made;
    if (!make_shard(counts, made)) {
      return report_error(path, "basic_counts gives no numbers for a file whose several windows do not start at 0; use --per-window");
    }
    shards.push_back(std::move(made));
  }
  record_counts total;
  pc_set pcs;
  std::uint64_t threads = 0;
  std::size_t windows = 1;
  bool kernel = false, cores = false;
  for (const shard& one : shards) {
    for (const record_counts& counts : one.windows) total += counts;
    pcs += one.pcs;
    threads += one.threads;
    windows = std::max(windows, one.windows.size());
    kernel = kernel || one.whole_system;
    cores = cores || one.core_sharded;
  }
  total.unique_pcs = pcs.size();
  out.write("Basic counts tool results:\nTotal counts:\n");
  print_counts(out, total, " total", threads, kernel);
  if (windows > 1) {
    out.print("Total windows: %zu\n", windows);
    for (std::size_t i = 0; i < windows; ++i) {
      out.print("Window #%zu:\n", i);
      for (const shard& one : shards) {
        if (one.windows.size() > i) print_counts(out, one.windows[i], " window", 0, kernel);
      }
    }
  }
  std::vector<std::size_t> order(shards.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const std::uint64_t first = shards[a].windows[0].instructions, second = shards[b].windows[0].instructions;
    return first != second ? first > second : a < b;
  });
  for (const std::size_t i : order) {
    if (cores) out.print("Core %zu counts:\n", i);
    else out.print("Thread %" PRIu64 " counts:\n", shards[i].tid);
    print_counts(out, shards[i].windows[0], "", cores ? shards[i].threads : 0, kernel);
  }
  return code;
}

}  // namespace

int counts(const options& asked) {
  const std::vector<trace_folder> folders = folders_at(asked.path());
  if (folders.empty()) return report_error(asked.path(), "no memtraces are here");
  output out(asked.output);
  for (const trace_folder& folder : folders) {
    for (const std::string& path : folder.files) {
      const auto kind = stage_of(path);
      if (kind.partial() == stage::raw && asked.as.empty()) return out.close(raw_table(folders, out));
      if (kind.partial() == stage::final) break;
    }
  }
  if (asked.as == "drmemtrace") return out.close(basic_counts(folders.front(), out));
  return out.close(final_table(folders, out));
}

}  // namespace cli::memtrace
