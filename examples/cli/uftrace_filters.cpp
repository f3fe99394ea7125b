// SPDX-License-Identifier: Apache-2.0
// What of a recording is shown: the options -t, -r, -D, -F, -N, -H and --tid, as uftrace means them. Source: uftrace's
// doc/uftrace-replay.md, utils/utils.c (parse_time_range) and utils/fstack.c (fstack_setup_task).
#include <algorithm>
#include <cstdio>

#include "uftrace_data.hpp"

namespace cli {

using namespace backsight;

namespace {

/// A number with a unit of time, such as `8.873us`, in nanoseconds; nothing when there is no such unit behind it.
std::optional<std::uint64_t> read_with_unit(std::string_view text) {
  auto number = text::take_number(text, 10);
  if (!number) return {};
  std::string_view fraction;
  if (text::take(text, ".")) {
    fraction = text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
    text.remove_prefix(fraction.size());
  }
  static constexpr struct {
    std::string_view name, longer;
    std::uint64_t nanoseconds;
  } units[] = {{"ns", "nsec", 1},
               {"us", "usec", 1000},
               {"ms", "msec", 1'000'000},
               {"s", "sec", 1'000'000'000},
               {"m", "min", 60'000'000'000}};
  for (const auto& unit : units) {
    const bool same = text::begins_as(text, unit.name) && text.size() == unit.name.size();
    if (!same && !(text::begins_as(text, unit.longer) && text.size() == unit.longer.size())) continue;
    std::uint64_t part = unit.nanoseconds, sum = *number * unit.nanoseconds;
    for (const char digit : fraction.substr(0, 12)) {
      sum += static_cast<std::uint64_t>(digit - '0') * (part / 10);
      part /= 10;
    }
    return sum;
  }
  return {};
}

/// `SEC.NSEC`, where missing digits are zeros.
std::optional<std::uint64_t> read_timestamp(std::string_view text) {
  const auto seconds = text::take_number(text, 10);
  if (!seconds) return {};
  std::uint64_t nanoseconds = 0;
  if (text::take(text, ".")) {
    std::uint64_t unit = 100'000'000;
    for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1), unit /= 10) {
      nanoseconds += unit * static_cast<std::uint64_t>(text.front() - '0');
    }
  }
  if (!text.empty()) return {};
  return *seconds * 1'000'000'000 + nanoseconds;
}

/// The time of a task's first record; 0 when it has none.
std::uint64_t first_time_of(const uftrace::recording& from, std::size_t index) {
  const byte_view bytes = from.data[index].bytes;
  if (bytes.size() < 16) return 0;
  return with_order(from.info.byte_order, [&](auto o) { return load<std::uint64_t, o()>(bytes.data()); });
}

void select_tasks(const arguments& from, uftrace_data& to) {
  uftrace::recording& recording = to.directory.recording();
  for (std::size_t i = 0; i < recording.data.size(); ++i) {
    uftrace::task_data& task = recording.data[i];
    if (from.tids.empty() || std::find(from.tids.begin(), from.tids.end(), task.tid) != from.tids.end()) continue;
    const std::uint64_t first = first_time_of(recording, i);
    if (to.first_time == 0 || (first != 0 && first < to.first_time)) to.first_time = first;
    task.present = false;
    task.bytes = {};
  }
  for (std::size_t i = 0; i < recording.data.size() && to.first_time == 0; ++i)
    to.first_time = first_time_of(recording, i);
}

/// `START~STOP`, each of them a timestamp, a time since the first record when it has a unit, or nothing.
bool select_range(const arguments& from, uftrace_data& to) {
  if (from.range.empty()) return true;
  const std::string_view text = from.range;
  const std::size_t middle = text.find('~');
  const std::string_view start = text.substr(0, middle);
  const std::string_view stop = middle == std::string_view::npos ? std::string_view{} : text.substr(middle + 1);
  const auto read = [&](std::string_view one, std::uint64_t& raw, std::uint64_t& time) {
    if (const auto elapsed = read_with_unit(one)) {
      raw = *elapsed;
      time = *elapsed + to.first_time;
    } else if (const auto stamp = read_timestamp(one)) {
      raw = time = *stamp;
    } else {
      return false;
    }
    return true;
  };
  std::uint64_t raw = 0;
  const bool good = middle != std::string_view::npos && (start.empty() || read(start, raw, to.merging.from)) &&
                    (stop.empty() || read(stop, raw, to.merging.until));
  if (good && to.merging.from > to.merging.until) return report_error(from.path(), "-r ends before it begins"), false;
  if (!good)
    return report_error(from.path(), "-r wants START~STOP: timestamps or, with a unit, times since the first record"),
           false;
  // uftrace ends open functions at the number as it stands, also when it counts from the first record.
  if (!stop.empty()) to.merging.closes_at = from.as.empty() ? to.merging.until : raw;
  return true;
}

/// `FUNC;FUNC@depth=N,hide`: rules with `action`, or with the actions that follow the name.
bool add_rules(const arguments& from, std::string_view text, const as_uftrace::filter_action& action,
               as_uftrace::function_filter& to) {
  names::pattern_kind kind = from.as.empty() ? names::pattern_kind::glob : names::pattern_kind::regular_expression;
  if (from.match == "regex") kind = names::pattern_kind::regular_expression;
  if (from.match == "glob") kind = names::pattern_kind::glob;
  while (!text.empty()) {
    const std::size_t end = text.find(';');
    std::string_view pattern = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    as_uftrace::filter_action made = action;
    std::string module;
    const std::size_t at = pattern.find('@');
    std::string_view actions = at == std::string_view::npos ? std::string_view{} : pattern.substr(at + 1);
    pattern = pattern.substr(0, at);
    while (!actions.empty()) {
      const std::size_t comma = actions.find(',');
      std::string_view one = actions.substr(0, comma);
      actions = comma == std::string_view::npos ? std::string_view{} : actions.substr(comma + 1);
      if (one == "filter") made.calls = as_uftrace::filter_action::kind::include;
      else if (one == "notrace") made.calls = as_uftrace::filter_action::kind::exclude;
      else if (one == "hide") made.hide = true;
      else if (text::take(one, "depth="))
        made.depth = static_cast<std::int32_t>(text::take_number(one, 10).value_or(1024));
      else if (uftrace::is_trigger_action(one))
        return report_error(from.path(), "there is no action " + std::string(one)), false;
      else if (module.empty()) module = one;
    }
    const errc error = to.add(names::short_name(pattern), kind, made, module, !from.as.empty());
    if (error == errc::ok) continue;
    const char* const why = error == errc::bad_text ? "not a regular expression: "
                            : error == errc::unsupported_type
                                ? "this program was built without RE2, which regular expressions need: "
                                : "a pattern that takes more than is allowed: ";
    return report_error(from.path(), why + std::string(pattern)), false;
  }
  return true;
}

bool select_functions(const arguments& from, uftrace_data& to) {
  using kind = as_uftrace::filter_action::kind;
  if (from.functions.empty() && from.excluded.empty() && from.hidden.empty() && from.triggers.empty()) return true;
  auto filter = std::make_unique<as_uftrace::function_filter>(to.recording().patterns);
  std::string all, separator;
  const auto add = [&](const std::vector<std::string>& texts, const as_uftrace::filter_action& action,
                       const char* prefix) {
    for (const std::string& text : texts) {
      if (!add_rules(from, text, action, *filter)) return false;
      all += separator + prefix + text;
      separator = ";";
    }
    if (!texts.empty()) separator = " or ";
    return true;
  };
  // uftrace takes the options in their order; here -F comes before -N.
  if (!add(from.functions, {.calls = kind::include, .hide = false, .depth = {}}, "")) return false;
  if (!from.functions.empty() && !from.excluded.empty()) separator = ";";
  if (!add(from.excluded, {.calls = kind::exclude, .hide = false, .depth = {}}, "!")) return false;
  if (!add(from.triggers, {}, "")) return false;
  if (!add(from.hidden, {.calls = kind::none, .hide = true, .depth = {}}, "")) return false;
  if (filter->fits_any(to.recording())) {
    to.functions = std::move(filter);
  } else if (from.as.empty()) {
    return report_error(from.path(), "no function is called like " + all), false;
  } else {
    // uftrace says so where it prints, and then shows everything.
    to.notice = "Usage: failed to set filter or trigger: " + all + "\n";
  }
  return true;
}

bool is_index(byte_view bytes) { return is_saved_index(bytes, uftrace::time_index_kind); }

/// The index of a task file, from the folder of kept indices when it is there and fits; else made, and kept there.
void keep_indices(const arguments& from, uftrace_data& to) {
  const uftrace::recording& recording = to.recording();
  if (from.index.empty() || (to.merging.from == 0 && to.merging.until == ~std::uint64_t{0})) return;
  if (uftrace::has_plain_records(recording.info)) return;
  uftrace::resolver names(recording);
  for (std::uint32_t i = 0; i < recording.data.size(); ++i) {
    const byte_view bytes = recording.data[i].bytes;
    const std::string path = from.index + "/" + recording.data[i].file + ".index";
    keep_other_files(path, is_index, "an index of times");
    const auto kept = io::mapped_file::open_regular(path.c_str());
    auto opened = uftrace::time_index::open(kept.partial().bytes(), fingerprint_of_ends(bytes));
    if (opened) {
      to.indices.push_back(std::move(opened).value());
      continue;
    }
    to.indices.push_back(with_order(recording.info.byte_order, [&](auto o) {
      return uftrace::time_index::build<o()>(uftrace::task_records<o()>(bytes, names.sizes_for(i)));
    }));
    if (bytes.empty()) continue;
    const std::vector<std::byte> saved = to.indices.back().save();
    output file(path, output::replaces::own);
    file.write({reinterpret_cast<const char*>(saved.data()), saved.size()});
    (void)file.close(success);
  }
  to.merging.indices = &to.indices;
}

}  // namespace

void read_default_options(uftrace_data& to) {
  std::string_view words = to.recording().options;
  std::string_view option;
  while (!words.empty()) {
    const std::size_t end = words.find_first_of(" \n\t");
    std::string_view word = words.substr(0, end);
    words = end == std::string_view::npos ? std::string_view{} : words.substr(end + 1);
    if (option == "-t") to.merging.shorter_than = read_duration(word);
    if (option == "-D") to.depth = static_cast<std::int32_t>(text::take_number(word, 10).value_or(1024));
    option = word;
  }
}

std::uint64_t read_duration(std::string_view text) {
  if (const auto with_unit = read_with_unit(text)) return *with_unit;
  return text::take_number(text, 10).value_or(0);
}

int select_records(const arguments& from, uftrace_data& to) {
  read_default_options(to);
  if (!from.filter_time.empty()) to.merging.shorter_than = read_duration(from.filter_time);
  if (from.depth) to.depth = *from.depth;
  to.merging.salvage = from.as.empty();
  if (!from.tids.empty() || !from.range.empty()) select_tasks(from, to);
  if (!select_range(from, to) || !select_functions(from, to)) return usage;
  keep_indices(from, to);
  return success;
}

}  // namespace cli
