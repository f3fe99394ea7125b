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
#include <backsight/uftrace/flame_graph.hpp>
#include <backsight/uftrace/report.hpp>
#include <backsight/uftrace/session_graph.hpp>
#include <backsight/uftrace/value_text.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>

using namespace backsight;
using namespace backsight::uftrace;

namespace {

io::uftrace_directory open_data(const std::string& name) {
  auto opened = io::uftrace_directory::open(test::data_path("uftrace/" + name + "/uftrace.data"));
  REQUIRE(opened);
  return std::move(opened).value();
}

/// Everything that can be asked of a recording; gives a number that depends on all of it.
std::uint64_t use_all(const recording& from) {
  std::uint64_t sum = 0;
  for (const bool salvage : {false, true}) {
    resolver names(from);
    value_writer values(names);
    merge records(names, {.external = true, .salvage = salvage});
    merged_record r;
    std::string text;
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
    }
    sum += records.faults().size();
  }
  resolver names(from);
  merge for_report(names, {.salvage = true});
  function_report report(for_report, {});
  report.run();
  for (const report_row& row : report.rows()) sum += row.calls;
  merge for_tasks(names, {.shorter_than = 100});
  task_report tasks(for_tasks, {});
  tasks.run();
  merge for_graph(names, {});
  session_graph graph(for_graph, {}, true);
  graph.run();
  merge for_flame(names, {.salvage = true});
  flame_graph flame(for_flame, {});
  flame.run();
  (void)for_each_call(names, [&](const uftrace::call_event& event) { sum += event.depth; });
  return sum + graph.tree().nodes().size() + flame.tree().nodes().size();
}

/// The same report, made from single records by the rules as they are written down, without the ways that make it fast.
struct one_by_one {
  std::map<std::uint32_t, report_row> rows;

  explicit one_by_one(resolver& names) {
    merge records(names, {});
    call_stacks stacks(names.source(), {});
    const std::uint32_t wait = names.intern("linux:schedule"), preempted = names.intern("linux:schedule (pre-empted)");
    const auto name_of = [&](std::uint32_t index, std::uint64_t time, std::uint64_t address) {
      return address == sched_out ? wait : address == sched_out_preempted ? preempted : names.find(index, time, address).name;
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
          if (f != nullptr && f->valid && !f->hidden) count(t, name_of(r.data_index, t.last_time, stacks.address(t, t.height)));
        }
      }
    }
    for (std::uint32_t i = 0; i < stacks.all().size(); ++i) {
      task_stack& t = stacks.all()[i];
      const std::uint64_t end = stacks.end_time(t, records, i);
      while (t.height > 0) {
        const frame* const before = stacks.slot(t, t.height - 1);
        if (before != nullptr && before->total > end) --t.height;
        else if (stacks.close_unfinished(t, end) != nullptr) count(t, name_of(i, t.last_time, stacks.address(t, t.height)));
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
      if (directory.files()[i].name.ends_with(".dat")) contents[i].resize(std::min<std::size_t>(contents[i].size(), 768));
    }
  }
  void use() const {
    const auto opened = uftrace::open(files(), io::posix_patterns());
    if (opened) (void)use_all(*opened);
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
  merge records(names, {});
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
  for (const char* name : {"single-pg", "forkexec-pg", "bigendian-derived", "jump-pg", "deep-maxstack", "except-pg", "python", "kernel-made"}) {
    CAPTURE(name);
    const auto directory = open_data(name);
    resolver names(directory.recording());
    merge fast(names, {});
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
    stack.take(event, [](auto&, std::size_t) {}, [&](const analysis::finished_call&, const auto&) { ++calls; });
  });
  CHECK(calls == 51);
  CHECK(stack.faults().unmatched_exits == 0);
}

TEST_CASE("damage ends a task or is passed over, and is listed") {
  const auto directory = open_data("truncated-derived");
  for (const bool salvage : {false, true}) {
    resolver names(directory.recording());
    merge records(names, {.salvage = salvage});
    merged_record r;
    std::uint64_t count = 0;
    while (records.next(r)) ++count;
    CHECK(records.faults().size() == 2);
    CHECK(count > 400);
    std::uint64_t skipped = 0;
    for (const task_fault& f : records.faults()) skipped += f.fault.skipped;
    CHECK((skipped < 64) == salvage);
  }
}

TEST_CASE("every truncation of every file of a small directory ends cleanly") {
  for (const char* name : {"single-pg", "sdt", "watch-i386"}) {
    files_in_memory data(name);
    for (std::size_t i = 0; i < data.contents.size(); ++i) {
      const std::vector<std::byte> whole = data.contents[i];
      // A prefix in memory of its own, so that reading behind it is seen.
      const std::size_t step = directory_file(data.directory.files()[i]).name.ends_with(".dat") ? 1 : 7;
      for (std::size_t size = 0; size < whole.size(); size += step) {
        data.contents[i] = std::vector<std::byte>(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        data.use();
      }
      data.contents[i] = whole;
    }
  }
  SUCCEED();
}

TEST_CASE("random damage ends cleanly") {
  const char* const wanted = std::getenv("BACKSIGHT_MUTATIONS");
  const int rounds = wanted == nullptr ? 500 : std::atoi(wanted);
  std::mt19937_64 random(20261121);
  for (const char* name : {"single-pg", "args-spec", "watch-i386", "forkexec-pg"}) {
    files_in_memory damaged(name);
    damaged.shorten();
    const auto whole = damaged.contents;
    for (int round = 0; round < rounds / 4; ++round) {
      damaged.contents = whole;
      const std::size_t count = 1 + random() % 8;
      for (std::size_t k = 0; k < count; ++k) {
        auto& file = damaged.contents[random() % damaged.contents.size()];
        if (file.empty()) continue;
        file[random() % file.size()] = static_cast<std::byte>(random());
      }
      damaged.use();
    }
  }
  SUCCEED();
}
