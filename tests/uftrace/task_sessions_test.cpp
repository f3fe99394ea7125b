// SPDX-License-Identifier: Apache-2.0
#include <backsight/uftrace/task_sessions.hpp>

#include <cstdint>
#include <random>
#include <unordered_map>
#include <vector>

#include <support/catch.hpp>

using namespace backsight::uftrace;

namespace {

struct family {
  std::vector<task> tasks;
  std::unordered_map<std::uint32_t, std::uint32_t> by_tid;

  /// A task whose references begin at these times; the session of each is its number.
  void add(std::uint32_t tid, std::uint32_t pid, std::uint32_t parent, const std::vector<std::uint64_t>& begins) {
    by_tid.emplace(tid, static_cast<std::uint32_t>(tasks.size()));
    task t{tid, pid, parent, 0, {}, {}};
    for (const std::uint64_t time : begins) {
      if (!t.sessions.empty()) t.sessions.back().until = time;
      t.sessions.push_back({tid * 100 + static_cast<std::uint32_t>(t.sessions.size()), time, ~std::uint64_t{0}});
    }
    tasks.push_back(t);
  }
  /// As uftrace searches: reference by reference, parent by parent.
  [[nodiscard]] std::int64_t searched(std::uint32_t number, std::uint64_t time) const {
    for (std::size_t steps = 0; steps <= tasks.size(); ++steps) {
      const task& t = tasks[number];
      for (const session_reference& r : t.sessions) {
        if (r.from <= time && time < r.until) return r.session;
      }
      const auto up = by_tid.find(t.parent != 0 ? t.parent : t.pid);
      if (up == by_tid.end() || up->second == number) return -1;
      number = up->second;
    }
    return -1;
  }
};

}  // namespace

TEST_CASE("a task is in its own session, before that in that of its parent or process") {
  family all;
  all.add(1, 1, 0, {10, 20});
  all.add(2, 2, 1, {30});
  all.add(3, 2, 0, {});
  all.add(4, 9, 0, {});
  const session_history history(all.tasks, all.by_tid);
  const auto at = [&](std::uint32_t number, std::uint64_t time) { return history.at(all.tasks, number, time).session; };
  CHECK(at(0, 9) == -1);
  CHECK(at(0, 10) == 100);
  CHECK(at(0, 19) == 100);
  CHECK(at(0, 20) == 101);
  CHECK(at(1, 29) == 101);
  CHECK(at(1, 30) == 200);
  CHECK(at(2, 15) == 100);
  CHECK(at(2, 31) == 200);
  CHECK(at(3, 31) == -1);
  CHECK(at(4, 31) == -1);  // there is no such task
  CHECK(at(0, ~std::uint64_t{0}) == 101);
  const session_stay stay = history.at(all.tasks, 1, 25);
  CHECK(stay.from == 20);
  CHECK(stay.until == 30);
}

TEST_CASE("what is found is what a search finds, and holds as long as is said") {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    family all;
    const std::uint32_t count = 1 + static_cast<std::uint32_t>(random() % 40);
    for (std::uint32_t i = 1; i <= count; ++i) {
      std::vector<std::uint64_t> begins;
      std::uint64_t time = random() % 50;
      for (auto k = random() % 4; k != 0; --k) {
        begins.push_back(time);
        // Some go back: the lines of task.txt are not always in the order of time.
        time = round % 2 == 0 ? time + random() % 9 : random() % 60;
      }
      const std::uint32_t above = i == 1 ? 0 : 1 + static_cast<std::uint32_t>(random() % (i - 1));
      const bool thread = random() % 3 == 0 && above != 0;
      all.add(i, thread ? above : i, thread ? 0 : above, begins);
    }
    const session_history history(all.tasks, all.by_tid);
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint64_t time = 0; time < 70; ++time) {
        const session_stay stay = history.at(all.tasks, i, time);
        CHECK(stay.session == all.searched(i, time));
        CHECK((stay.from <= time && time < stay.until));
        for (const std::uint64_t inside : {stay.from, stay.until - 1}) {
          if (inside < 70) CHECK(all.searched(i, inside) == stay.session);
        }
      }
    }
  }
}

TEST_CASE("tasks that are their own ancestors are found no session") {
  family all;
  all.add(1, 1, 3, {50});
  all.add(2, 2, 1, {});
  all.add(3, 3, 2, {});
  all.add(4, 4, 3, {});
  const session_history history(all.tasks, all.by_tid);
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(history.at(all.tasks, i, 10).session == -1);
  CHECK(history.at(all.tasks, 0, 50).session == 100);
}
