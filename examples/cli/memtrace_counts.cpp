// SPDX-License-Identifier: Apache-2.0
// counts: numbers of records of a memtrace, per thread and window.
#include "memtrace_commands.hpp"

#include <cinttypes>
#include <map>

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
  std::optional<std::uint64_t> core_sharded_ordinal;
};

template <class Address>
trace_error count_as(const std::string& path, file_counts& into) {
  basic_final_counter<Address> counter;
  const trace_error error = for_each_block(path, [&](byte_view block, std::uint64_t offset) -> trace_error {
    if (const trace_error bad = counter.feed(block)) return bad;
    const std::size_t left = block.size() % size_of<basic_entry<Address>>;
    (void)offset;
    return left == 0 ? trace_error{} : trace_error{errc::truncated, block.size() - left};
  });
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
      const trace_error error = for_each_block(path, [&](byte_view block, std::uint64_t) -> trace_error {
        if (!begun) {
          if (const auto head = read_raw_header(block); !head) return head.error();
        }
        begun = true;
        if (const trace_error bad = counter.feed(block)) return bad;
        return block.size() % 8 == 0 ? trace_error{} : trace_error{errc::truncated, block.size() / 8 * 8};
      });
      if (error) code = report_error(path, error, detail_of(path, error));
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

}  // namespace

int counts(const arguments& asked) {
  const std::vector<trace_folder> folders = folders_at(asked.path());
  if (folders.empty()) return report_error(asked.path(), "no memtraces are here");
  output out(asked.output);
  for (const trace_folder& folder : folders) {
    for (const std::string& path : folder.files) {
      const auto kind = stage_of(path);
      if (kind.partial() == stage::raw) return out.close(raw_table(folders, out));
      if (kind.partial() == stage::final) return out.close(final_table(folders, out));
    }
  }
  return out.close(final_table(folders, out));
}

}  // namespace cli::memtrace
