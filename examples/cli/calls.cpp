// SPDX-License-Identifier: Apache-2.0
// Which calls the commands over call_trace show, and what they say of what is missing.
#include "call_analysis.hpp"

#include <algorithm>
#include <cinttypes>
#include <optional>
#include <tuple>
#include <unordered_set>

#include <backsight/core/duration.hpp>
#include <backsight/core/lines.hpp>
#include <backsight/names/name_pattern.hpp>
#ifdef BACKSIGHT_HAVE_RE2
#include <backsight/io/re2_patterns.hpp>
#endif

namespace cli {

using namespace backsight;

/// A pattern of the command line and whether a function fitted it.
struct call_filter::pattern {
  names::name_pattern fits;
  std::string option, text;
  bool used = false;
};

namespace {

/// A function's name without its parameters; of templates, lambdas and "(anonymous namespace)" what stands in front of
/// the last list.
std::string_view without_parameters(std::string_view name) {
  if (!name.ends_with(')') && !name.ends_with(") const")) return name;
  int depth = 0;
  for (std::size_t at = name.rfind(')') + 1; at-- > 0;) {
    if (name[at] == ')') ++depth;
    if (name[at] == '(' && --depth == 0) return at == 0 ? name : name.substr(0, at);
  }
  return name;
}

names::pattern_engine engine() {
#ifdef BACKSIGHT_HAVE_RE2
  return io::re2_patterns();
#else
  return {};
#endif
}

int wrong(const std::string& text) {
  say("backsight: %s\n", text.c_str());
  return usage;
}

/// `SECONDS.FRACTION` of the trace's clock, or a plain number where that is not nanoseconds.
std::optional<std::uint64_t> read_stamp(std::string_view text, clock_unit unit) {
  const auto whole = text::take_number(text, 10);
  if (!whole) return {};
  if (unit != clock_unit::nanoseconds) return text.empty() ? whole : std::nullopt;
  if (*whole > ~std::uint64_t{0} / 1'000'000'000 - 1) return {};
  std::uint64_t fraction = 0, digit = 100'000'000;
  if (text::take(text, ".")) {
    for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1), digit /= 10)
      fraction += digit * static_cast<std::uint64_t>(text.front() - '0');
  }
  if (!text.empty()) return {};
  return *whole * 1'000'000'000 + fraction;
}

}  // namespace

int call_filter::add(const std::vector<std::string>& asked, const char* option, const call_filters& from,
                     const any_call_trace& trace, std::function<bool(std::uint64_t)>& to) {
  if (asked.empty()) return success;
  std::vector<std::shared_ptr<pattern>> own;
  for (const std::string& text : asked) {
    const auto kind = from.match == "regex" ? names::pattern_kind::regular_expression : names::pattern_kind::glob;
    auto made = std::make_shared<pattern>(pattern{names::name_pattern(text, kind, engine()), option, text});
    switch (made->fits.error()) {
      case errc::ok: break;
      case errc::bad_text: return wrong(text + " is no regular expression");
      case errc::unsupported_type:
        return wrong("this program was built without RE2, which regular expressions need: " + text);
      default: return wrong("a pattern that takes more than is allowed: " + text);
    }
    own.push_back(made);
    patterns_.push_back(std::move(made));
  }
  to = [own, trace](std::uint64_t function) {
    const std::string whole(trace.function_name(function));
    const std::string_view first = without_parameters(whole);
    const std::string shorter(first);
    bool any = false;
    for (const auto& one : own) {
      if (!one->fits.fits(whole) && (shorter.size() == whole.size() || !one->fits.fits(shorter))) continue;
      any = one->used = true;
    }
    return any;
  };
  return success;
}

int call_filter::set(const call_filters& asked, const any_call_trace& trace) {
  if (!asked.tids.empty() || !asked.pids.empty()) {
    choice_.threads = [&asked](std::int64_t process, std::uint64_t thread) {
      const auto has = [](const std::vector<std::uint32_t>& all, std::uint64_t one) {
        return all.empty() ||
               std::ranges::find(all, one, [](std::uint32_t id) { return std::uint64_t{id}; }) != all.end();
      };
      return has(asked.tids, thread) && has(asked.pids, static_cast<std::uint64_t>(process));
    };
  }
  for (const auto& [list, option, to] : {std::tuple{&asked.functions, "--filter", &choice_.only},
                                         std::tuple{&asked.excluded, "--notrace", &choice_.without},
                                         std::tuple{&asked.hidden, "--hide", &choice_.hidden}}) {
    if (const int code = add(*list, option, asked, trace, *to); code != success) return code;
  }
  if (asked.depth) choice_.levels = static_cast<std::size_t>(*asked.depth);
  const bool real_time = trace.unit() == clock_unit::nanoseconds;
  const char* const unit = unit_name(trace.unit());
  if (!asked.filter_time.empty()) {
    if (!real_time && asked.filter_time.find_first_not_of("0123456789") != std::string::npos)
      return wrong("--min-duration: times of this trace are " + std::string(unit) + ", without a unit");
    choice_.at_least = analysis::first_tick_at(trace, text::read_duration(asked.filter_time).value_or(0));
  }
  if (!asked.range.empty()) {
    const std::string_view range = asked.range;
    const std::size_t middle = range.find('~');
    const auto read = [&](std::string_view text, std::uint64_t& to) {
      if (text.empty()) return true;
      if (const auto since = text::read_time_with_unit(text)) {
        if (!real_time) return false;
        to = analysis::first_tick_at(trace, trace.to_ns(trace.start()) + *since);
        return true;
      }
      const auto stamp = read_stamp(text, trace.unit());
      if (stamp) to = analysis::first_tick_at(trace, *stamp);
      return stamp.has_value();
    };
    if (middle == std::string_view::npos || !read(range.substr(0, middle), choice_.begin) ||
        !read(range.substr(middle + 1), choice_.end))
      return wrong(real_time
                       ? "-r wants START~STOP: times of the trace's clock in seconds or, with a unit, since its begin"
                       : "-r wants START~STOP: times of this trace are " + std::string(unit) + ", without a unit");
    if (choice_.begin > choice_.end) return wrong("-r ends before it begins");
  }
  return success;
}

int call_filter::report_idle(const std::string& path) const {
  int code = success;
  for (const auto& one : patterns_) {
    if (one->used) continue;
    say("%s: %s %s: no function is called like that\n", path.c_str(), one->option.c_str(), one->text.c_str());
    code = usage;
  }
  return code;
}

std::vector<std::string> call_filter::idle() const {
  std::vector<std::string> all;
  for (const auto& one : patterns_) {
    if (!one->used) all.push_back(one->option + ' ' + one->text);
  }
  return all;
}

int call_input::finish() const {
  if (finish_all) return finish_all();
  const int damage = notes.report(path);
  if (filter != nullptr) {
    if (const int code = filter->report_idle(path); code != success) return code;
  }
  return unreadable ? int{bad_input} : damage;
}

void analyze_any(const any_call_trace& trace, call_input& input, call_analysis& analysis) {
  analyze_all(trace, input, analysis);
}

int run_filtered(const any_call_trace& trace, call_input& input, const call_task& task) {
  call_filter filter;
  if (const int code = filter.set(input.asked, trace); code != success) return code;
  input.filter = &filter;
  const auto left = analysis::chosen(trace, filter.choice());
  input.analyze = [&](call_analysis& analysis) { analyze_all(left, input, analysis); };
  const int code = task(left, input);
  input.filter = nullptr;
  return code;
}

namespace {

/// What a trace says of a function that it has no name for: its number or its address.
bool is_unnamed(std::string_view name) {
  if (name.starts_with('<') && name.ends_with('>')) name = name.substr(1, name.size() - 2);
  else if (name.starts_with('#')) name.remove_prefix(1);
  else if (name.starts_with("0x")) name.remove_prefix(2);
  else return name == "?";
  return !name.empty() && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// What is known beside the functions; `for_each(f)` calls f(function) with each, maybe several times.
template <class ForEach>
lacking what_lacks_beside(const any_call_trace& trace, const analysis::call_faults& faults, ForEach&& for_each) {
  lacking what{.calls = faults, .lost_records = trace.lost_records()};
  std::unordered_set<std::uint64_t> known;
  for_each([&](std::uint64_t function) {
    if (!known.insert(function).second) return;
    ++what.functions;
    if (is_unnamed(trace.function_name(function))) ++what.unnamed;
  });
  return what;
}

}  // namespace

lacking what_lacks(const any_call_trace& trace, analysis::time_table& of) {
  return what_lacks_beside(trace, of.faults(), [&](const auto& f) {
    if (of.by() == analysis::time_table::rows::functions)
      of.for_each([&](analysis::time_table::key key, analysis::time_table::row&) { f(key.second); });
  });
}
lacking what_lacks(const any_call_trace& trace, const analysis::call_tree& of) {
  return what_lacks_beside(trace, of.faults(), [&](const auto& f) {
    for (std::size_t id = 1; id < of.nodes().size(); ++id) f(of.nodes()[id].function);
  });
}
lacking what_lacks(const any_call_trace& trace, const analysis::call_list& of) {
  return what_lacks_beside(trace, of.faults(), [&](const auto& f) {
    for (const analysis::listed_call& each : of.calls()) {
      if (!each.is_mark) f(each.function);
    }
  });
}

namespace {

constexpr const char* values_field = "values";

}  // namespace

arguments with_values(const arguments& asked) {
  arguments all = asked;
  all.fields = values_field;
  return all;
}
bool shows_values(const arguments& asked) { return asked.fields == values_field; }

void say_what_lacks(const std::string& path, const lacking& what) {
  const char* const file = path.c_str();
  if (what.lost_records != 0) note("%s: %" PRIu64 " records were lost when it was recorded\n", file, what.lost_records);
  if (what.calls.unmatched_exits + what.calls.missing_exits + what.calls.unfinished != 0) {
    note("%s: %" PRIu64 " exits without entry, %" PRIu64 " calls closed by their caller, %" PRIu64
         " calls without exit\n",
         file, what.calls.unmatched_exits, what.calls.missing_exits, what.calls.unfinished);
  }
  if (what.unnamed != 0)
    note("%s: %" PRIu64 " of %" PRIu64 " functions have no name\n", file, what.unnamed, what.functions);
}

}  // namespace cli
