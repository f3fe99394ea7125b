// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <backsight/analysis/call_stack.hpp>
#include <backsight/io/uftrace_directory.hpp>
#include <backsight/uftrace/events.hpp>

#include "as/uftrace/flame_graph.hpp"
#include "as/uftrace/report.hpp"
#include "as/uftrace/session_graph.hpp"
#include "as/uftrace/value_text.hpp"

#include <support/catch.hpp>
#include <support/files.hpp>
#include <support/patterns.hpp>

using namespace backsight;
using namespace backsight::uftrace;
using namespace cli::as_uftrace;

namespace {

io::uftrace_directory open_data(const std::string& name) {
  auto opened = io::uftrace_directory::open(test::data_path("uftrace/" + name + "/uftrace.data"));
  REQUIRE(opened);
  return std::move(opened).value();
}

/// A part of a file: a record, or what a fault skipped.
struct part {
  std::uint64_t offset = 0, size = 0;
  bool is_fault = false;
};

/// Records and faults of a task file lie one behind the other and leave no byte out.
void check_parts(std::vector<part> parts, std::uint64_t file_bytes) {
  std::sort(parts.begin(), parts.end(), [](const part& a, const part& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.is_fault < b.is_fault;
  });
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    // Of a record whose values are cut there is both.
    if (!parts[i].is_fault && i + 1 < parts.size() && parts[i + 1].offset == parts[i].offset) continue;
    if (parts[i].offset != end || parts[i].size == 0)
      FAIL("at " << end << " comes " << parts[i].offset << "+" << parts[i].size);
    end += parts[i].size;
  }
  if (end != file_bytes) FAIL("the parts end at " << end << " of " << file_bytes);
}

/// Everything that can be asked of a recording; gives a number that depends on all of it. Checks what is true whatever
/// the bytes are.
std::uint64_t use_all(const recording& from) {
  std::uint64_t sum = 0;
  for (const bool salvage : {false, true}) {
    resolver names(from);
    value_writer values(names);
    merged_records records(names, {.external = true, .salvage = salvage});
    merged_record r;
    std::string text;
    std::vector<std::vector<part>> parts(from.data.size());
    while (records.next(r)) {
      text.clear();
      if (r.is_event()) {
        values.event_name(text, r.address);
        values.event_text(text, r, true);
      } else if (r.more) {
        values.values(text, r, text_style::replay);
        values.values(text, r, text_style::chrome);
        values.raw_lines(text, r);
      }
      sum += text.size() + r.offset;
      if (r.source != record_source::task_file) continue;
      const std::uint64_t behind = !r.more ? 0 : r.is_event() ? (r.payload.size() + 2 + 7) / 8 * 8 : r.payload.size();
      parts[r.data_index].push_back({r.offset, 16 + behind});
    }
    for (const task_fault& f : records.faults()) parts[f.data_index].push_back({f.fault.offset, f.fault.skipped, true});
    for (std::size_t i = 0; i < parts.size(); ++i) check_parts(parts[i], from.data[i].bytes.size());
    for (const file_fault& f : records.other_faults()) {
      const auto file =
          std::find_if(from.perf.begin(), from.perf.end(), [&](const perf_data& p) { return p.file == f.file; });
      if (file != from.perf.end()) CHECK(f.fault.offset + f.fault.skipped == file->bytes.size());
    }
    sum += records.faults().size();
  }
  resolver names(from);
  merged_records for_report(names, {.salvage = true});
  function_report report(for_report, {});
  report.run();
  for (const report_row& row : report.rows()) sum += row.calls;
  merged_records for_tasks(names, {.shorter_than = 100});
  task_report tasks(for_tasks, {});
  tasks.run();
  merged_records for_graph(names, {});
  session_graph graph(for_graph, {}, true);
  graph.run();
  merged_records for_flame(names, {.salvage = true});
  flame_graph flame(for_flame, {});
  flame.run();
  (void)for_each_call(names, [&](const uftrace::call_event& event) { sum += event.depth; });
  return sum + graph.tree().nodes().size() + flame.tree().nodes().size();
}

/// The same report, made from single records by the rules as they are written down, without the ways that make it fast.
struct one_by_one {
  std::map<std::uint32_t, report_row> rows;

  explicit one_by_one(resolver& names) {
    merged_records records(names, {});
    call_stacks stacks(names.source(), {});
    const std::uint32_t wait = names.intern("linux:schedule"), preempted = names.intern("linux:schedule (pre-empted)");
    const auto name_of = [&](std::uint32_t index, std::uint64_t time, std::uint64_t address) {
      return address == sched_out             ? wait
             : address == sched_out_preempted ? preempted
                                              : names.find(index, time, address).name;
    };
    const auto count = [&](const task_stack& t, std::uint32_t name) {
      const frame* const f = stacks.slot(t, t.height);
      if (f == nullptr) return;
      report_row& row = rows[name];
      ++row.calls;
      row.self += f->total - f->child;
      row.square_sum += f->total * f->total;
      row.min = std::min(row.min, f->total);
      row.max = std::max(row.max, f->total);
      bool again = false;
      for (std::int64_t i = 0; i < t.height; ++i) again = again || stacks.address(t, i) == stacks.address(t, t.height);
      (again ? row.recursive : row.total) += f->total;
    };
    merged_record r;
    while (records.next(r)) {
      stacks.consume(r);
      task_stack& t = stacks.of(r);
      if (r.type == record_type::entry) {
        const special_function special = names.find(r.data_index, r.time, r.address).special;
        stacks.note(t, special);
        if (stacks.show_entry(t)) stacks.apply(t, special);
      } else if (r.type == record_type::exit) {
        if (stacks.show_exit(t)) count(t, names.find(r.data_index, r.time, r.address).name);
      } else if (r.is_sched_in() && call_stacks::show_event(t)) {
        count(t, stacks.address(t, t.height) == sched_out_preempted ? preempted : wait);
      } else if (r.type == record_type::lost) {
        for (; t.height >= t.user_height; --t.height) {
          const frame* const f = stacks.slot(t, t.height);
          if (f != nullptr && f->valid && !f->hidden)
            count(t, name_of(r.data_index, t.last_time, stacks.address(t, t.height)));
        }
      }
    }
    for (std::uint32_t i = 0; i < stacks.all().size(); ++i) {
      task_stack& t = stacks.all()[i];
      const std::uint64_t end = stacks.end_time(t, records, i);
      while (t.height > 0) {
        const frame* const before = stacks.slot(t, t.height - 1);
        if (before != nullptr && before->total > end) --t.height;
        else if (stacks.close_unfinished(t, end) != nullptr)
          count(t, name_of(i, t.last_time, stacks.address(t, t.height)));
      }
    }
  }
};

/// A directory in memory, whose files can be changed.
struct files_in_memory {
  explicit files_in_memory(const std::string& name) : directory(open_data(name)) {
    for (const directory_file& file : directory.files()) contents.emplace_back(file.bytes.begin(), file.bytes.end());
  }
  [[nodiscard]] std::vector<directory_file> files() const {
    std::vector<directory_file> all;
    for (std::size_t i = 0; i < contents.size(); ++i) all.push_back({directory.files()[i].name, contents[i]});
    return all;
  }
  /// Leaves so much of each data file that mutations of it are quick to try.
  void shorten() {
    for (std::size_t i = 0; i < contents.size(); ++i) {
      if (directory.files()[i].name.ends_with(".dat"))
        contents[i].resize(std::min<std::size_t>(contents[i].size(), 768));
    }
  }
  /// Uses what can be opened; false when nothing can. Faults in the text files lie inside of them.
  bool use() const {
    const auto all = files();
    const auto opened = uftrace::open(all, test::patterns());
    if (!opened) return false;
    for (const file_fault& f : opened->faults) {
      const auto file = std::find_if(all.begin(), all.end(), [&](const directory_file& d) { return d.name == f.file; });
      // A map that task.txt speaks of can be missing.
      if (file == all.end()) {
        REQUIRE(f.fault.code == errc::not_found);
        continue;
      }
      if (f.fault.offset > file->bytes.size()) FAIL("a fault of " << f.file << " at " << f.fault.offset);
    }
    (void)use_all(*opened);
    return true;
  }
  io::uftrace_directory directory;
  std::vector<std::vector<std::byte>> contents;
};

}  // namespace

TEST_CASE("a directory gives its tasks, sessions and names") {
  const auto directory = open_data("forkexec-pg");
  const recording& from = directory.recording();
  CHECK(from.sessions.size() == 3);
  CHECK(from.tasks.size() == 6);
  CHECK(from.faults.empty());
  CHECK(from.tasks[from.find_task(16803)].comm == "single-pg");
  CHECK(from.session_at(from.find_task(16803), 752559458091) == 0);
  CHECK(from.session_at(from.find_task(16803), 752563907807) == 1);
}

TEST_CASE("records of all tasks come in the order of time") {
  const auto directory = open_data("bigendian-derived");
  resolver names(directory.recording());
  merged_records records(names, {});
  merged_record r;
  std::uint64_t before = 0, count = 0;
  std::set<std::uint32_t> tasks;
  while (records.next(r)) {
    CHECK(r.time >= before);
    before = r.time;
    tasks.insert(r.data_index);
    ++count;
  }
  std::uint64_t bytes = 0;
  for (const task_data& data : directory.recording().data) bytes += data.bytes.size();
  CHECK(count == bytes / 16);
  CHECK(tasks.size() == 6);
}

TEST_CASE("runs of records give the same report as records one by one") {
  for (const char* name : {"single-pg", "forkexec-pg", "bigendian-derived", "jump-pg", "deep-maxstack", "except-pg",
                           "python", "kernel-made"}) {
    CAPTURE(name);
    const auto directory = open_data(name);
    resolver names(directory.recording());
    merged_records fast(names, {});
    function_report a(fast, {});
    a.run();
    one_by_one b(names);
    const auto rows = a.rows();
    CHECK(b.rows.size() == rows.size());
    for (const report_row& row : rows) {
      CAPTURE(names.name(row.name));
      const report_row& other = b.rows[row.name];
      CHECK(row.calls == other.calls);
      CHECK(row.total == other.total);
      CHECK(row.recursive == other.recursive);
      CHECK(row.self == other.self);
      CHECK(row.min == other.min);
      CHECK(row.max == other.max);
      CHECK(row.square_sum == other.square_sum);
    }
  }
}

TEST_CASE("depth and names beyond 1023 levels are true") {
  const auto directory = open_data("deep-maxstack");
  resolver names(directory.recording());
  std::uint64_t deepest = 0, unknown = 0;
  (void)for_each_call(names, [&](const uftrace::call_event& event) {
    deepest = std::max(deepest, event.depth);
    unknown += names.name(static_cast<std::uint32_t>(event.function)).front() == '<';
  });
  CHECK(deepest > 2400);
  CHECK(unknown == 0);
}

TEST_CASE("calls in libraries that were loaded over one another are marked") {
  const auto directory = open_data("dlopen-pg");
  resolver names(directory.recording());
  std::uint64_t ambiguous = 0, calls = 0;
  (void)for_each_call(names, [&](const uftrace::call_event& event) {
    ambiguous += event.ambiguous;
    ++calls;
  });
  CHECK(ambiguous > 0);
  CHECK(ambiguous < calls);
}

TEST_CASE("the events work with an analyzer of any format") {
  const auto directory = open_data("single-pg");
  resolver names(directory.recording());
  analysis::call_stack stack;
  std::uint64_t calls = 0;
  (void)for_each_call(names, [&](const uftrace::call_event& event) {
    stack.on(event, [](auto&, std::size_t) {}, [&](const analysis::finished_call&, const auto&) { ++calls; });
  });
  CHECK(calls == 51);
  CHECK(stack.faults().unmatched_exits == 0);
}

TEST_CASE("damage ends a task or is passed over, and is listed") {
  const auto directory = open_data("truncated-derived");
  const recording& from = directory.recording();
  const auto read = [&](bool salvage) {
    resolver names(from);
    merged_records records(names, {.salvage = salvage});
    std::vector<std::uint64_t> counts(from.data.size());
    for (merged_record r; records.next(r);) counts[r.data_index] += r.source == record_source::task_file;
    std::string text;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      text += from.data[i].file + ": " + std::to_string(counts[i]) + " of " +
              std::to_string(from.data[i].bytes.size()) + " bytes\n";
    }
    for (const task_fault& f : records.faults()) {
      text += from.data[f.data_index].file + ": " + std::string(message(f.fault.code)) + " at " +
              std::to_string(f.fault.offset) + ", " + std::to_string(f.fault.skipped) + " skipped\n";
    }
    return text;
  };
  CHECK(
      read(false) ==
      "16781.dat: 28 of 448 bytes\n16783.dat: 103 of 1656 bytes\n16784.dat: 20 of 3872 bytes\n16785.dat: 0 of 0 bytes\n"
      "16786.dat: 324 of 5184 bytes\n16787.dat: 10 of 160 bytes\n"
      "16783.dat: unexpected end of the data at 1648, 8 skipped\n"
      "16784.dat: a field holds a value that is not allowed at 320, 3552 skipped\n");
  CHECK(read(true) ==
        "16781.dat: 28 of 448 bytes\n16783.dat: 103 of 1656 bytes\n16784.dat: 241 of 3872 bytes\n16785.dat: 0 of 0 "
        "bytes\n"
        "16786.dat: 324 of 5184 bytes\n16787.dat: 10 of 160 bytes\n"
        "16783.dat: unexpected end of the data at 1648, 8 skipped\n"
        "16784.dat: a field holds a value that is not allowed at 320, 16 skipped\n");
}

TEST_CASE("every truncation of every file of a small directory ends cleanly") {
  for (const char* name : {"single-pg", "sdt", "watch-i386"}) {
    CAPTURE(name);
    files_in_memory data(name);
    for (std::size_t i = 0; i < data.contents.size(); ++i) {
      const std::vector<std::byte> whole = data.contents[i];
      const std::string file = data.directory.files()[i].name;
      CAPTURE(file);
      // A prefix in memory of its own, so that reading behind it is seen.
      const std::size_t step = file.ends_with(".dat") ? 1 : 7;
      for (std::size_t size = 0; size < whole.size(); size += step) {
        data.contents[i] = std::vector<std::byte>(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        CHECK(data.use() == (file != "info" || size >= 40));
      }
      data.contents[i] = whole;
    }
  }
}

TEST_CASE("a task file that is cut has the records in front of the cut, and a fault for the rest") {
  for (const char* name : {"single-pg", "sdt", "watch-i386", "args-spec"}) {
    CAPTURE(name);
    files_in_memory data(name);
    const auto files = data.files();
    const auto opened = uftrace::open(files, test::patterns());
    REQUIRE(opened);
    std::vector<std::uint64_t> ends{0};
    {
      resolver names(*opened);
      const task_records<order::little> records(opened->data[0].bytes, names.sizes_for(0));
      REQUIRE_FALSE(for_each(records, [&](const auto& item) { ends.push_back(item.offset() + item.bytes().size()); }));
    }
    for (std::size_t size = 0; size < opened->data[0].bytes.size(); size += size < 4096 ? 1 : 37) {
      recording cut = *uftrace::open(files, test::patterns());
      cut.data[0].bytes = cut.data[0].bytes.first(size);
      resolver names(cut);
      merged_records records(names, {.scheduler = false});
      std::size_t count = 0;
      for (merged_record r; records.next(r);) ++count;
      const auto last = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), size) - ends.begin()) - 1;
      const std::size_t rest = size - ends[last];
      CAPTURE(size);
      // One that is cut inside its values is given, too.
      CHECK((count == last || (count == last + 1 && rest > 16)));
      REQUIRE(records.faults().size() == (rest != 0 ? 1U : 0U));
      if (rest != 0) CHECK(records.faults()[0].fault == fault{errc::truncated, ends[last], rest});
    }
  }
}

TEST_CASE("random damage ends cleanly") {
  const char* const wanted = std::getenv("BACKSIGHT_MUTATIONS");
  const int rounds = wanted == nullptr ? 500 : std::atoi(wanted);
  std::mt19937_64 random(20261121);
  int readable = 0;
  for (const char* name : {"single-pg", "args-spec", "watch-i386", "forkexec-pg"}) {
    files_in_memory damaged(name);
    damaged.shorten();
    const auto whole = damaged.contents;
    for (int round = 0; round < rounds / 4; ++round) {
      CAPTURE(name, round);
      damaged.contents = whole;
      const std::size_t count = 1 + random() % 8;
      for (std::size_t k = 0; k < count; ++k) {
        auto& file = damaged.contents[random() % damaged.contents.size()];
        if (file.empty()) continue;
        file[random() % file.size()] = static_cast<std::byte>(random());
      }
      readable += damaged.use();
    }
  }
  CHECK(readable > rounds / 2);  // else nothing but the header of info was tried
}
