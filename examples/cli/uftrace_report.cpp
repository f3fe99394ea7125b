// SPDX-License-Identifier: Apache-2.0
// Reports as uftrace prints them.
#include "uftrace_data.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace cli {

using namespace backsight;

namespace {

/// A row with its name, independent of the resolver that found it.
struct named_row {
  as_uftrace::report_row row;
  std::string name;
};

std::vector<named_row> rows_of(uftrace::merged_records& records, const as_uftrace::function_report& report) {
  std::vector<named_row> rows;
  for (const as_uftrace::report_row& row : report.rows()) rows.push_back({row, records.names().name(row.name)});
  return rows;
}

/// Whether tasks can be worked on one by one: nothing that happens in one may matter to another.
bool independent(const uftrace::recording& from) {
  if (from.info.has(uftrace::feature::estimate_return) || !from.kernel.files.empty()) return false;
  for (const uftrace::perf_data& file : from.perf) {
    if (!file.bytes.empty()) return false;
  }
  return true;
}

/// The report of each task on its own, several at once; nothing when setjmp in one task could have met longjmp in
/// another.
std::vector<named_row> parallel_rows(const uftrace_data& data, unsigned jobs, bool& possible) {
  const uftrace::recording& whole = data.recording();
  std::atomic<std::size_t> next = 0;
  std::atomic<std::uint64_t> jumps = 0;
  std::vector<std::map<std::string, as_uftrace::report_row>> parts(jobs);
  std::vector<std::pair<std::uint32_t, fault>> faults;
  // Tasks in turns make groups of much the same size; so many more groups than threads keep all of them busy to the
  // end.
  const std::size_t groups = std::min<std::size_t>(std::size_t{8} * jobs, std::max<std::size_t>(whole.data.size(), 1));
  std::mutex reporting;
  const auto work = [&](std::size_t job) {
    for (std::size_t group = next++; group < groups; group = next++) {
      std::vector<bool> tasks(whole.data.size());
      for (std::size_t i = group; i < tasks.size(); i += groups) tasks[i] = true;
      uftrace::merge_options options = data.merging;
      options.tasks = &tasks;
      uftrace::resolver names(whole);
      uftrace::merged_records records(names, options);
      as_uftrace::function_report report(records, data.stacks());
      report.run();
      if (report.jumps() != 0) ++jumps;
      {
        const std::lock_guard one(reporting);
        for (const auto& [index, fault] : records.faults()) faults.emplace_back(index, fault);
      }
      for (const named_row& row : rows_of(records, report)) {
        const auto [at, added] = parts[job].emplace(row.name, row.row);
        if (!added) at->second.add(row.row);
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned job = 1; job < jobs; ++job) threads.emplace_back(work, job);
  work(0);
  for (std::thread& thread : threads) thread.join();
  possible = jumps < 2;
  if (!possible) return {};
  std::sort(faults.begin(), faults.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, a.second.offset) < std::pair(b.first, b.second.offset);
  });
  for (const auto& [index, fault] : faults) data.report(whole.data[index].file, fault);
  for (std::size_t job = 1; job < parts.size(); ++job) {
    for (const auto& [name, row] : parts[job]) {
      const auto [at, added] = parts[0].emplace(name, row);
      if (!added) at->second.add(row);
    }
  }
  std::vector<named_row> rows;
  for (const auto& [name, row] : parts[0]) rows.push_back({row, name});
  return rows;
}

std::uint64_t key_of(const as_uftrace::report_row& row, const std::string& key) {
  if (key == "self") return row.self;
  if (key == "call" || key == "count") return row.calls;
  if (key == "total_avg" || key == "avg") return row.average();
  if (key == "total_min" || key == "min") return row.min;
  if (key == "total_max" || key == "max") return row.max;
  return row.total;
}

/// Sorts by keys separated by commas, each descending; `func` and every tie by name.
void sort_rows(std::vector<named_row>& rows, const std::string& keys) {
  std::vector<std::string> list;
  std::string_view rest = keys;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    list.emplace_back(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  std::sort(rows.begin(), rows.end(), [&](const named_row& a, const named_row& b) {
    for (const std::string& key : list) {
      if (key == "func" || key == "function") break;
      const std::uint64_t x = key_of(a.row, key), y = key_of(b.row, key);
      if (x != y) return x > y;
    }
    return a.name < b.name;
  });
}

double deviation(const as_uftrace::report_row& row) {
  const std::uint64_t average = row.average();
  const std::uint64_t variance = row.square_sum / row.calls - average * average;
  return 100 * std::sqrt(static_cast<double>(variance) / static_cast<double>(row.calls)) / static_cast<double>(average);
}

void print_table(const arguments& from, text_out& out, const std::vector<named_row>& rows) {
  std::string& text = out.text();
  if (from.averages) {
    text += "   Total avg   Total min   Total max  Total stdv  Function\n";
    text += "  ==========  ==========  ==========  ==========  ====================\n";
  } else {
    text += "  Total time   Self time       Calls  Function\n";
    text += "  ==========  ==========  ==========  ====================\n";
  }
  for (const auto& [row, name] : rows) {
    text += "  ";
    add_duration(text, from.averages ? row.average() : row.total);
    text += "  ";
    add_duration(text, from.averages ? row.min : row.self);
    text += "  ";
    if (from.averages) {
      add_duration(text, row.max);
      text += "  ";
      add_format(text, "%9.2f%%", deviation(row));
    } else {
      add_padded(text, row.calls, 10);
    }
    text += "  ";
    text += name;
    out.line();
  }
}

int report_tasks(const uftrace_data& data, text_out& out) {
  uftrace::resolver names(data.recording());
  uftrace::merged_records records(names, data.merging);
  as_uftrace::task_report report(records, data.stacks());
  report.run();
  report_faults(data, records);
  auto rows = report.rows();
  std::erase_if(rows, [](const as_uftrace::task_report_row& row) { return row.calls == 0; });
  const auto tid = [&](const as_uftrace::task_report_row& row) {
    return std::to_string(data.recording().data[row.data_index].tid);
  };
  std::sort(rows.begin(), rows.end(),
            [&](const auto& a, const auto& b) { return a.total != b.total ? a.total > b.total : tid(a) < tid(b); });
  const auto comms = final_names(data.recording());
  std::string& text = out.text();
  text += "  Total time   Self time      TID   Num funcs  Task name\n";
  text += "  ==========  ==========  =======  ==========  ====================\n";
  for (const as_uftrace::task_report_row& row : rows) {
    text += "  ";
    add_duration(text, row.total);
    text += "  ";
    add_duration(text, row.total - row.idle);
    text += "  ";
    add_padded(text, data.recording().data[row.data_index].tid, 7);
    text += "  ";
    add_padded(text, row.calls, 10);
    text += "  ";
    add_format(text, "%-16s", comms[row.data_index].c_str());
    out.line();
  }
  return success;
}

}  // namespace

int uftrace_report(const arguments& from) {
  uftrace_data data;
  if (const int code = open_uftrace(from, data); code != success) return code;
  output to(from.output);
  to.write(data.notice);
  int code = success;
  {
    text_out out(to);
    if (from.by_task) {
      code = report_tasks(data, out);
    } else {
      std::vector<named_row> rows;
      bool done = false;
      if (from.jobs > 1 && independent(data.recording())) rows = parallel_rows(data, from.jobs, done);
      if (!done) {
        uftrace::resolver names(data.recording());
        uftrace::merged_records records(names, data.merging);
        as_uftrace::function_report report(records, data.stacks());
        report.run();
        report_faults(data, records);
        rows = rows_of(records, report);
      }
      std::string sort = from.sort;
      if (sort.empty()) sort = from.averages ? "total_avg" : "total";
      sort_rows(rows, sort);
      if (from.limit && rows.size() > *from.limit) rows.resize(static_cast<std::size_t>(*from.limit));
      print_table(from, out, rows);
    }
  }
  return data.finish(to, code);
}

}  // namespace cli
