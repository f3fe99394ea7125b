// SPDX-License-Identifier: Apache-2.0
// The commands of memtraces, and windows and check.
#include "memtrace_commands.hpp"

#include <cinttypes>
#include <cstdio>
#include <filesystem>

#include <CLI/CLI.hpp>

#include <backsight/memtrace/check.hpp>
#include <backsight/memtrace/window_index.hpp>

#include "memtrace_input.hpp"

namespace cli::memtrace {

namespace {

using namespace backsight;
using namespace backsight::memtrace;

template <class Address>
trace_error scan(const std::string& path, std::vector<window>& into) {
  basic_window_scanner<Address> scanner;
  const trace_error error = for_each_block(path, [&](byte_view block, std::uint64_t) -> trace_error {
    while (block.size() >= size_of<basic_entry<Address>>) {
      const std::size_t read = scanner.feed(block);
      block = block.subspan(read);
      if (scanner.done()) into.push_back(*scanner.done());
      else if (scanner.error()) return {scanner.error().code, 0};
    }
    return block.empty() ? trace_error{} : trace_error{errc::truncated, 0};
  });
  into.push_back(scanner.last());
  if (error && scanner.error()) return scanner.error();
  return error;
}

/// The windows of a file of either format.
trace_error windows_of(const std::string& path, std::vector<window>& into) {
  const auto kind = stage_of(path);
  if (kind.error()) return kind.error();
  if (kind.partial() == stage::raw) {
    const loaded_file file(path);
    const auto head = read_raw_header(file.bytes());
    if (!head) return head.error();
    for_each_raw_window(file.bytes(), *head, [&](const window& one) { into.push_back(one); });
    return file.error();
  }
  result<final_header> head{errc::truncated, 0};
  constexpr trace_error enough{errc::capacity, 0};
  (void)for_each_block(path, [&](byte_view block, std::uint64_t) {
    head = read_final_header(block);
    return enough;
  });
  if (!head) return head.error();
  return head->address_size == 4 ? scan<std::uint32_t>(path, into) : scan<std::uint64_t>(path, into);
}

void print_window(output& out, const options& asked, const std::string& folder, const window& w, const std::string& straggler) {
  const std::string ordinal = w.ordinal ? std::to_string(*w.ordinal) : "-";
  if (asked.format == "json") {
    out.print("{\"tid\":%" PRIu64 ",\"window\":%s,\"begin\":%" PRIu64 ",\"end\":%" PRIu64 ",\"instructions\":%" PRIu64 ",\"units\":%" PRIu64
              ",\"first_time\":%" PRIu64 ",\"last_time\":%" PRIu64 ",\"skipped\":%" PRIu64 ",\"idle_us\":%" PRIu64 ",\"straggler\":%s,\"folder\":\"%s\"}\n",
              w.tid, w.ordinal ? ordinal.c_str() : "null", w.begin, w.end, w.instructions, w.units, w.first_time, w.last_time, w.skipped,
              w.idle_time, straggler == "yes" ? "true" : "false", folder.c_str());
    return;
  }
  const char* const row = asked.format == "tsv" ? "%" PRIu64 "\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\n"
                                                : "%10" PRIu64 " %6s %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %5" PRIu64 " %17" PRIu64 " %17" PRIu64 " %7" PRIu64 " %10" PRIu64 " %s\n";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  out.print(row, w.tid, ordinal.c_str(), w.begin, w.end, w.instructions, w.units, w.first_time, w.last_time, w.skipped, w.idle_time, straggler.c_str());
#pragma GCC diagnostic pop
}

/// One window by way of a saved index: no more of the trace is touched than the window.
int window_from_index(const options& asked, const trace_folder& folder, output& out) {
  const auto file = io::mapped_file::open(asked.index.c_str());
  if (!file) return report_error(asked.index, file.error(), detail_of(asked.index, file.error()));
  const auto index = window_index::open(file->bytes());
  if (!index) return report_error(asked.index, index.error(), "not a window index");
  for (std::size_t i = 0; i < folder.files.size(); ++i) {
    const auto found = index->find(static_cast<std::uint32_t>(i), *asked.window, ~std::uint64_t{0});
    if (found) print_window(out, asked, folder.window, *found, "");
  }
  return success;
}

/// Writes the index of all windows to a file.
int write_index(const std::string& path, const std::vector<indexed_window>& all) {
  const std::vector<std::byte> bytes = save_index(all);
  output out(path);
  out.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return out.close(success);
}

}  // namespace

int windows(const options& asked) {
  const std::vector<trace_folder> folders = folders_at(asked.path());
  if (folders.empty()) return report_error(asked.path(), "no memtraces are here");
  output out(asked.output);
  if (asked.format == "tsv") out.write("tid\twindow\tbegin\tend\tinstructions\tunits\tfirst_time\tlast_time\tskipped\tidle_us\tstraggler\n");
  else if (asked.format != "json") out.write("       tid window        begin          end instructions units        first_time         last_time skipped    idle_us straggler\n");
  std::error_code ignored;
  if (asked.window && !asked.index.empty() && std::filesystem::exists(asked.index, ignored)) {
    return out.close(window_from_index(asked, folders.front(), out));
  }
  int code = success;
  std::vector<indexed_window> all;
  aligned_windows aligned;
  std::vector<std::size_t> folder_of;
  std::uint32_t number = 0;
  for (std::size_t f = 0; f < folders.size(); ++f) {
    for (const std::string& path : folders[f].files) {
      std::vector<window> found;
      if (const trace_error error = windows_of(path, found)) code = report_error(path, error, detail_of(path, error));
      for (const window& one : found) {
        all.push_back({number, one});
        folder_of.push_back(f);
        aligned.add(number, one);
      }
      ++number;
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const window& one = all[i].what;
    if (asked.window && one.ordinal != asked.window) continue;
    const bool late = one.ordinal && one.straggler(aligned.next_opening(*one.ordinal));
    print_window(out, asked, folders[folder_of[i]].window, one, late ? "yes" : "");
  }
  if (!asked.index.empty() && write_index(asked.index, all) != success) code = bad_input;
  return out.close(code);
}

int check(const options& asked) {
  const std::vector<trace_folder> folders = folders_at(asked.path());
  if (folders.empty()) return report_error(asked.path(), "no memtraces are here");
  output out(asked.output);
  int code = success;
  for (const trace_folder& folder : folders) {
    for (const std::string& path : folder.files) {
      const auto kind = stage_of(path);
      const loaded_file file(path);
      if (file.error()) code = report_error(path, file.error(), detail_of(path, file.error()));
      std::uint64_t findings = 0, stragglers = 0;
      if (kind.partial() == stage::raw) {
        const auto head = read_raw_header(file.bytes());
        if (!head) {
          code = report_error(path, head.error());
          continue;
        }
        bool footer = false;
        const trace_error bad = for_each(raw_range(file.bytes(), head->context()), [&](const auto& item) { footer = item.template is<raw_footer>(); });
        if (bad) code = report_error(path, bad), ++findings;
        if (!footer) out.print("%s:%zu: the file does not end with a footer\n", path.c_str(), file.bytes().size()), ++findings;
      } else {
        const auto trace = final_trace::open(file.bytes());
        if (!trace) {
          if (!file.error()) code = report_error(path, trace.error());
          continue;
        }
        trace_checker checker(*trace);
        checker.run([&](const check_result& one) {
          if (one.what == finding::straggler) ++stragglers;
          else ++findings;
          const std::string window = one.window ? std::to_string(*one.window) : "-";
          out.print("%s:%" PRIu64 ": %s%s, instruction %" PRIu64 ", window %s\n", path.c_str(), one.offset,
                    one.what == finding::straggler ? "note: " : "", message(one.what), one.instruction, window.c_str());
        });
      }
      out.print("%s: %" PRIu64 " findings, %" PRIu64 " blocks that ran after their window\n", path.c_str(), findings, stragglers);
      if (findings != 0) code = bad_input;
    }
  }
  return out.close(code);
}

void add_commands(CLI::App& app, int& code) {
  static options asked;
  const auto add = [&](const char* name, const char* help, int (*run)(const options&)) {
    CLI::App* const sub = app.add_subcommand(name, help);
    sub->add_option("TRACE", asked.paths, "a memtrace, raw or final: a file, a folder of them, or a folder of window.NNNN folders")->required()->expected(1);
    sub->callback([run, &code] { code = run(asked); });
    return sub;
  };
  CLI::App* const count = add("counts", "Count the records of a memtrace per thread and window", counts);
  count->add_flag("--per-window", asked.per_window, "a row for each thread and window (there is no other table)");
  count->add_option("--format", asked.format, "how to print")->check(CLI::IsMember({"text", "tsv"}));
  count->add_option("--as", asked.as, "print byte for byte what this tool prints: drmemtrace (-tool basic_counts)")->check(CLI::IsMember({"drmemtrace"}));
  CLI::App* const shown = add("view", "Show a final memtrace record by record, threads merged by time", view);
  shown->add_option("--as", asked.as, "drmemtrace, which is the only form")->check(CLI::IsMember({"drmemtrace"}));
  shown->add_option("--limit", asked.limit, "stop after this many records");
  CLI::App* const listed = add("windows", "List the windows of a memtrace", windows);
  listed->add_option("--format", asked.format, "how to print")->check(CLI::IsMember({"text", "tsv", "json"}));
  listed->add_option("--window", asked.window, "only the windows of this ordinal");
  listed->add_option("--index", asked.index, "a file with the index of the windows: used with --window when it exists, else written");
  CLI::App* const parted = add("split", "Write the windows of a merged final memtrace as a folder of window.NNNN folders", split);
  parted->add_option("-o,--output", asked.output, "the folder to write")->required();
  CLI::App* const joined = add("merge", "Write the window.NNNN folders of a final memtrace as one folder", merge);
  joined->add_option("-o,--output", asked.output, "the folder to write")->required();
  add("check", "Check the invariants of a memtrace", check);
}

}  // namespace cli::memtrace
