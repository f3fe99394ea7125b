// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

// Sessions, tasks, and which task is in which session when. Source: uftrace's utils/session.c.
namespace backsight::uftrace {

/// An object file in the address space of a session.
struct object_mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;   ///< of a library loaded by dlopen: no end, its symbols tell
  std::uint64_t time = 0;  ///< when dlopen loaded it
  std::uint32_t object = 0;
};

/// One image of an address space: made at program start and by every exec.
struct session {
  std::string_view sid;
  std::uint32_t pid = 0;
  std::uint64_t start_time = 0;
  std::string_view program;
  std::span<const object_mapping> mappings;  ///< sorted by address; of the recording, shared by all sessions of one map
  std::vector<object_mapping> libraries;     ///< loaded by dlopen, in the order of time
  std::uint64_t kernel_base = 0;
};

/// A task's stay in a session: `from` up to `until`, in nanoseconds.
struct session_reference {
  std::uint32_t session = 0;
  std::uint64_t from = 0;
  std::uint64_t until = ~std::uint64_t{0};
};

/// A thread or process that task.txt names.
struct task {
  std::uint32_t tid = 0;
  std::uint32_t pid = 0;
  std::uint32_t parent = 0;  ///< the pid of the process that forked it; 0 for others
  std::uint64_t time = 0;    ///< of its line
  std::string comm;          ///< at most 15 characters, by the program of its last session
  std::vector<session_reference> sessions;
};

/// The session that a task is in around some time, and for how long: from `from` up to `until`.
struct session_stay {
  std::int64_t session = -1;  ///< its index; -1 for none
  std::uint64_t from = 0;
  std::uint64_t until = ~std::uint64_t{0};
  std::uint32_t steps = 0;  ///< how many tasks were looked at on the way
};

/// Finds sessions by task and time. Building it takes time n log n in the tasks and their references, a look-up
/// logarithmic time.
///
/// A task is in the session of its first reference that holds the time. Before its first one it is where its parent is,
/// or, as a thread, its process; so what is asked for is the nearest task up that way whose references begin in time.
class session_history {
 public:
  static constexpr std::uint32_t no_task = 0xffffffff;

  session_history() = default;
  session_history(const std::vector<task>& tasks, const std::unordered_map<std::uint32_t, std::uint32_t>& by_tid)
      : places_(tasks.size()) {
    for (std::uint32_t i = 0; i < tasks.size(); ++i) {
      const task& t = tasks[i];
      const std::uint32_t up = t.parent != 0 ? t.parent : t.pid;
      const auto at = up == t.tid ? by_tid.end() : by_tid.find(up);
      places_[i].up = at == by_tid.end() ? no_task : at->second;
      for (const session_reference& r : t.sessions) places_[i].first = std::min(places_[i].first, r.from);
      if (!std::is_sorted(t.sessions.begin(), t.sessions.end(),
                          [](const auto& a, const auto& b) { return a.from < b.from; }))
        flatten(i, t.sessions);
    }
    for (std::uint32_t i = 0; i < places_.size(); ++i) place(i);
  }

  [[nodiscard]] session_stay at(const std::vector<task>& tasks, std::uint32_t number, std::uint64_t time) const {
    session_stay stay;
    if (number >= places_.size()) return stay;
    time = std::min(time, ~std::uint64_t{0} - 1);  // The last time stands for never.
    while (places_[number].first > time) {
      const where& w = places_[number];
      ++stay.steps;
      // When one of those that were passed over enters a session of its own, the answer changes.
      const bool far = w.skipped > time;
      stay.until = std::min(stay.until, far ? w.skipped : w.first);
      number = far ? w.jump : w.up;
      if (number == no_task) return stay;
    }
    const auto flat = flat_.find(number);
    const std::vector<session_reference>& list = flat == flat_.end() ? tasks[number].sessions : flat->second;
    const auto after = std::upper_bound(list.begin(), list.end(), time,
                                        [](std::uint64_t t, const session_reference& r) { return t < r.from; });
    const session_reference& found = *(after - 1);
    stay.session = found.session;
    stay.from = found.from;
    stay.until = std::min(stay.until, found.until);
    return stay;
  }

 private:
  struct where {
    std::uint64_t first = ~std::uint64_t{0};    ///< when its first reference begins
    std::uint64_t skipped = ~std::uint64_t{0};  ///< the earliest of these on the way up to `jump`, which is left out
    std::uint32_t up = no_task;                 ///< its parent or process
    std::uint32_t jump = no_task;               ///< one farther up; as far as makes all ways logarithmic
    std::uint32_t depth = 0;                    ///< how many lie above it; 0 while it is not known
    bool done = false;
  };

  /// Settles a task and all above it, from the top down. Tasks that are their own ancestors are cut off there.
  void place(std::uint32_t number) {
    std::vector<std::uint32_t> way;
    for (std::uint32_t at = number; at != no_task && !places_[at].done; at = places_[at].up) {
      places_[at].done = true;
      way.push_back(at);
    }
    while (!way.empty()) {
      where& w = places_[way.back()];
      way.pop_back();
      if (w.up != no_task && places_[w.up].depth == 0) w.up = no_task;  // It lies below itself.
      w.skipped = w.first;
      w.jump = w.up;
      w.depth = 1;
      if (w.up == no_task) continue;
      const where& p = places_[w.up];
      w.depth = p.depth + 1;
      // A jump is as long as the two that follow it together where those are equally long.
      const std::uint32_t far = p.jump == no_task ? no_task : places_[p.jump].jump;
      const std::uint32_t middle_depth = p.jump == no_task ? 0 : places_[p.jump].depth;
      const std::uint32_t far_depth = far == no_task ? 0 : places_[far].depth;
      if (p.depth - middle_depth != middle_depth - far_depth) continue;
      w.jump = far;
      w.skipped = std::min({w.first, p.skipped, p.jump == no_task ? ~std::uint64_t{0} : places_[p.jump].skipped});
    }
  }

  /// References whose times go back overlap: of those that hold a time the first counts.
  void flatten(std::uint32_t number, const std::vector<session_reference>& list) {
    struct border {
      std::uint64_t time;
      std::size_t index;
      bool begins;
    };
    std::vector<border> borders;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].from >= list[i].until) continue;
      borders.push_back({list[i].from, i, true});
      borders.push_back({list[i].until, i, false});
    }
    std::sort(borders.begin(), borders.end(), [](const border& a, const border& b) { return a.time < b.time; });
    std::set<std::size_t> open;
    std::vector<session_reference>& flat = flat_[number];
    for (std::size_t i = 0; i < borders.size(); ++i) {
      if (borders[i].begins) open.insert(borders[i].index);
      else open.erase(borders[i].index);
      const bool last = i + 1 == borders.size();
      if (last || borders[i + 1].time == borders[i].time || open.empty()) continue;
      flat.push_back({list[*open.begin()].session, borders[i].time, borders[i + 1].time});
    }
    if (!flat.empty()) flat.back().until = ~std::uint64_t{0};
  }

  std::vector<where> places_;
  std::unordered_map<std::uint32_t, std::vector<session_reference>> flat_;
};

}  // namespace backsight::uftrace
