// SPDX-License-Identifier: Apache-2.0
#include <backsight/xray/records.hpp>

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <support/catch.hpp>
#include <support/xray_builder.hpp>

using namespace backsight;
using namespace backsight::xray;
using test::xray_builder;

namespace {

template <order O>
using in_order = std::integral_constant<order, O>;
template <class F>
void for_both_orders(F f) {
  f(in_order<order::little>{});
  f(in_order<order::big>{});
}

/// The records of `file` by the rules, and the error that ends them.
template <order O>
trace_error validate(const xray_builder& file) {
  return fdr_records<O>(file.view(), {static_cast<std::uint16_t>(file.version())}).validate();
}
template <order O>
std::size_t count_of(const xray_builder& file) {
  std::size_t count = 0;
  for_each(fdr_records<O>(file.view(), {static_cast<std::uint16_t>(file.version())}), [&](const auto&) { ++count; });
  return count;
}

/// A builder that begins a block, up to its NewCPUId, of `begun_size` bytes.
xray_builder begun(order o, unsigned version) { return xray_builder(o, version).preamble().cpu(3, 1000); }
std::size_t begun_size(unsigned version) { return version >= 3 ? 64 : 48; }

using verdicts = std::map<std::string, std::set<std::string>>;

/// Reference: llvm/lib/XRay/BlockVerifier.cpp, written down again by the names that LLVM gives to the states.
const verdicts verifier{
    {"start", {"BufferExtents", "NewBuffer"}},
    {"BufferExtents", {"NewBuffer"}},
    {"NewBuffer", {"WallClockTime"}},
    {"WallClockTime", {"PIDEntry", "NewCPUId"}},
    {"PIDEntry", {"NewCPUId"}},
    {"NewCPUId", {"NewCPUId", "TSCWrap", "CustomEvent", "TypedEvent", "Function", "EndOfBuffer"}},
    {"TSCWrap", {"NewCPUId", "TSCWrap", "CustomEvent", "TypedEvent", "Function", "EndOfBuffer"}},
    {"CustomEvent", {"NewCPUId", "TSCWrap", "CustomEvent", "TypedEvent", "Function", "EndOfBuffer"}},
    {"TypedEvent", {"NewCPUId", "TSCWrap", "CustomEvent", "TypedEvent", "Function", "EndOfBuffer"}},
    {"Function", {"NewCPUId", "TSCWrap", "CustomEvent", "TypedEvent", "Function", "EndOfBuffer", "CallArg"}},
    {"CallArg", {"NewCPUId", "TSCWrap", "CustomEvent", "TypedEvent", "Function", "EndOfBuffer", "CallArg"}},
    {"EndOfBuffer", {}},
};
const std::set<std::string> may_end{"EndOfBuffer", "NewCPUId", "CustomEvent", "TypedEvent",
                                    "Function",    "CallArg",  "TSCWrap"};

/// LLVM's name for each schema of the format.
template <class S>
std::string llvm_name() {
  if (std::is_same_v<S, function_record>) return "Function";
  if (std::is_same_v<S, new_buffer_record>) return "NewBuffer";
  if (std::is_same_v<S, end_of_buffer_record>) return "EndOfBuffer";
  if (std::is_same_v<S, new_cpu_id_record>) return "NewCPUId";
  if (std::is_same_v<S, tsc_wrap_record>) return "TSCWrap";
  if (std::is_same_v<S, wall_clock_time_record>) return "WallClockTime";
  if (std::is_same_v<S, call_argument_record>) return "CallArg";
  if (std::is_same_v<S, buffer_extents_record>) return "BufferExtents";
  if (std::is_same_v<S, pid_record>) return "PIDEntry";
  if (std::is_same_v<S, typed_event_record_v2> || std::is_same_v<S, typed_event_record_v5>) return "TypedEvent";
  return "CustomEvent";
}

template <class... S>
std::vector<std::string> names_of(record_list<S...>) {
  return {llvm_name<S>()...};
}

/// What a record of each kind reads as.
constexpr bool check_kinds() {
  using list = fdr_format<order::little>::records;
  for (unsigned version = 1; version <= 5; ++version) {
    const std::array<std::size_t, 11> expected{
        list::index_of<new_buffer_record>,
        list::index_of<end_of_buffer_record>,
        list::index_of<new_cpu_id_record>,
        list::index_of<tsc_wrap_record>,
        list::index_of<wall_clock_time_record>,
        version == 5 ? list::index_of<custom_event_record_v5>
                     : (version == 4 ? list::index_of<custom_event_record_v4> : list::index_of<custom_event_record_v1>),
        list::index_of<call_argument_record>,
        list::index_of<buffer_extents_record>,
        version == 5 ? list::index_of<typed_event_record_v5> : list::index_of<typed_event_record_v2>,
        list::index_of<pid_record>,
        list::index_of<function_record>};
    for (unsigned kind = 0; kind < 128; ++kind) {
      const fdr_context context{static_cast<std::uint16_t>(version)};
      const auto little = static_cast<std::byte>(kind << 1 | 1U), big = static_cast<std::byte>(kind | 0x80U);
      const auto le = fdr_format<order::little>::kind_of(&little, context);
      const auto be = fdr_format<order::big>::kind_of(&big, context);
      if (le.code != be.code || le.kind != be.kind) return false;
      const bool known = kind < 10 && (kind != 1 || version == 1);
      if (le.code != (known ? errc::ok : errc::unknown_record)) return false;
      if (known && le.kind != expected[kind]) return false;
      // The same byte without the discriminant is a function record.
      const auto function_le = static_cast<std::byte>(kind << 1), function_be = static_cast<std::byte>(kind);
      if (fdr_format<order::little>::kind_of(&function_le, context).kind != expected[10]) return false;
      if (fdr_format<order::big>::kind_of(&function_be, context).kind != expected[10]) return false;
    }
  }
  return true;
}
static_assert(check_kinds());

constexpr bool check_constant() {
  const auto file =
      xray_builder(order::big, 5).preamble(7, 8).cpu(2, 100).function(0, 1, 5).custom("ab", -3).function(1, 1, 6);
  std::uint64_t sum = 0, payload = 0;
  const auto error = for_each(fdr_records<order::big>(file.view(), {5}), [&](const auto& item) {
    if (const auto call = get_if<function_record>(item)) sum += call[function_record::tsc_delta];
    if (const auto event = get_if<custom_event_record_v5>(item)) payload += event.payload().size();
  });
  return !error && sum == 11 && payload == 2;
}
static_assert(check_constant());

}  // namespace

TEST_CASE("the first byte and the version tell each kind of record") { CHECK(check_kinds()); }
TEST_CASE("FDR records can be read in a constant expression") { CHECK(check_constant()); }

TEST_CASE("the transitions are those of LLVM's BlockVerifier") {
  using list = fdr_format<order::little>::records;
  constexpr auto rules = fdr_format<order::little>::transitions;
  const std::vector<std::string> names = names_of(list{});
  for (std::uint32_t from = 0; from <= list::size; ++from) {
    const std::string before = from == list::size ? "start" : names[from];
    for (std::uint32_t to = 0; to < list::size; ++to) {
      INFO(before << " to " << names[to]);
      CHECK(rules.may_follow(from, to) == (verifier.at(before).count(names[to]) != 0));
    }
    // A block of nothing but BufferExtents, which counts no bytes, is no block for the verifier and no fault for us.
    if (before != "start" && before != "BufferExtents") CHECK(rules.may_finish(from) == (may_end.count(before) != 0));
  }
  CHECK(rules.may_finish(list::index_of<buffer_extents_record>));
}

TEST_CASE("each transition is kept or refused in a log, at the offset of the second record") {
  for_both_orders([](auto o) {
    for (const unsigned version : {1U, 5U}) {
      const auto put = [&](xray_builder& to, const std::string& kind) {
        if (kind == "BufferExtents") to.extents(0);
        else if (kind == "NewBuffer") to.new_buffer(1);
        else if (kind == "WallClockTime") to.wall(1, 2);
        else if (kind == "PIDEntry") to.pid(3);
        else if (kind == "NewCPUId") to.cpu(0, 1);
        else if (kind == "TSCWrap") to.wrap(1);
        else if (kind == "CustomEvent") to.custom("abc", 1);
        else if (kind == "TypedEvent") to.typed("abc", 1, 1);
        else if (kind == "Function") to.function(0, 1, 1);
        else if (kind == "CallArg") to.argument(1);
        else to.end_of_buffer();
      };
      // A valid way to each state.
      const std::map<std::string, std::vector<std::string>> ways{
          {"start", {}},
          {"BufferExtents", {}},
          {"NewBuffer", {}},
          {"WallClockTime", {"NewBuffer"}},
          {"PIDEntry", {"NewBuffer", "WallClockTime"}},
          {"NewCPUId", {"NewBuffer", "WallClockTime"}},
          {"TSCWrap", {"NewBuffer", "WallClockTime", "NewCPUId"}},
          {"CustomEvent", {"NewBuffer", "WallClockTime", "NewCPUId"}},
          {"TypedEvent", {"NewBuffer", "WallClockTime", "NewCPUId"}},
          {"Function", {"NewBuffer", "WallClockTime", "NewCPUId"}},
          {"CallArg", {"NewBuffer", "WallClockTime", "NewCPUId", "Function"}}};
      for (const auto& [before, way] : ways) {
        for (const auto& [after, unused] : verifier) {
          if (after == "start" || (after == "EndOfBuffer" && version != 1)) continue;
          xray_builder file(o(), version);
          for (const auto& step : way) put(file, step);
          if (before != "start") put(file, before);
          const std::size_t at = file.size();
          put(file, after);
          const trace_error error = validate<o()>(file);
          INFO(before << " to " << after << " in version " << version);
          if (verifier.at(before).count(after) != 0) {
            CHECK(error.code != errc::bad_transition);
            CHECK((error.code == errc::bad_end) == (may_end.count(after) == 0 && after != "BufferExtents"));
          } else {
            CHECK(error == trace_error{errc::bad_transition, at});
          }
        }
      }
    }
  });
}

TEST_CASE("a record that is cut off is truncated at its first byte, whatever kind it is") {
  for_both_orders([](auto o) {
    for (unsigned version = 1; version <= 5; ++version) {
      xray_builder file(o(), version);
      std::vector<std::size_t> starts;
      const auto mark = [&] { starts.push_back(file.size()); };
      if (version >= 2) mark(), file.extents(1000);
      mark(), file.new_buffer(1);
      mark(), file.wall(2, 3);
      if (version >= 3) mark(), file.pid(4);
      mark(), file.cpu(5, 6);
      mark(), file.wrap(7);
      mark(), file.function(3, 8, 9);
      mark(), file.argument(10);
      mark(), file.custom("payload", 11, 12, 13);
      mark(), file.typed("typed payload", 14, 15, 16);
      mark(), file.function(1, 8, 9);
      if (version == 1) mark(), file.end_of_buffer();
      starts.push_back(file.size());
      CHECK_FALSE(validate<o()>(file));
      CHECK(count_of<o()>(file) == starts.size() - 1);
      std::size_t whole = 0;
      for (std::size_t size = 0; size < file.size(); ++size) {
        if (size == starts[whole + 1]) ++whole;
        // A copy of exactly this size, so that sanitizers see a read behind it.
        const std::vector<std::byte> cut(file.view().begin(), file.view().begin() + static_cast<std::ptrdiff_t>(size));
        const fdr_records<o()> records(byte_view(cut), {static_cast<std::uint16_t>(version)});
        std::size_t count = 0;
        const trace_error error = for_each(records, [&](const auto&) { ++count; });
        INFO("version " << version << " cut at " << size);
        CHECK(count == whole);
        if (size == starts[whole]) CHECK((!error || error == trace_error{errc::bad_end, size}));
        else CHECK(error == trace_error{errc::truncated, starts[whole]});
      }
    }
  });
}

TEST_CASE("an unknown kind of metadata record is reported") {
  for_both_orders([](auto o) {
    for (unsigned kind = 10; kind < 128; ++kind) {
      auto file = begun(o(), 5);
      const unsigned head = file.head(kind);
      file.fill(1, head).fill(15);
      CHECK(validate<o()>(file) == trace_error{errc::unknown_record, begun_size(5)});
    }
  });
}

TEST_CASE("EndOfBuffer exists only in version 1") {
  for_both_orders([](auto o) {
    for (unsigned version = 1; version <= 5; ++version) {
      const trace_error error = validate<o()>(begun(o(), version).end_of_buffer());
      CHECK(error == (version == 1 ? trace_error{} : trace_error{errc::unknown_record, begun_size(version)}));
    }
  });
}

TEST_CASE("nothing is read behind EndOfBuffer") {
  for_both_orders([](auto o) {
    const auto file = begun(o(), 1).function(0, 1, 2).end_of_buffer().fill(100, 0xff);
    CHECK_FALSE(validate<o()>(file));
    CHECK(count_of<o()>(file) == 5);
  });
}

TEST_CASE("a function record's action is 0 to 3") {
  for_both_orders([](auto o) {
    for (unsigned action = 0; action < 8; ++action) {
      const trace_error error = validate<o()>(begun(o(), 5).function(action, 0xfffffff, 0xffffffff));
      CHECK(error == (action < 4 ? trace_error{} : trace_error{errc::bad_value, begun_size(5)}));
    }
  });
}

TEST_CASE("the size of an event's payload is at least 1 and lies inside the data") {
  for_both_orders([](auto o) {
    for (unsigned version = 1; version <= 5; ++version) {
      for (const bool is_typed : {false, true}) {
        const std::size_t at = begun_size(version);
        const auto with_size = [&](std::uint32_t size, std::size_t bytes) {
          auto file = begun(o(), version);
          if (is_typed) file.typed("", 1, 1, 1);
          else file.custom("", 1, 1);
          file.fill(bytes, 'x');
          std::vector<std::byte> data(file.view().begin(), file.view().end());
          store<o()>(data.data() + at + 1, size);
          return fdr_records<o()>(byte_view(data), {static_cast<std::uint16_t>(version)}).validate();
        };
        CHECK(with_size(0, 8) == trace_error{errc::bad_size, at});
        CHECK(with_size(0xfffffffb, 8) == trace_error{errc::bad_size, at});
        CHECK(with_size(0x80000000, 8) == trace_error{errc::bad_size, at});
        CHECK(with_size(0x7fffffff, 8) == trace_error{errc::truncated, at});
        CHECK(with_size(9, 8) == trace_error{errc::truncated, at});
        CHECK_FALSE(with_size(8, 8));
        CHECK_FALSE(with_size(1, 1));
      }
    }
  });
}

TEST_CASE("payloads of any length leave the records behind them unaligned and readable") {
  for_both_orders([](auto o) {
    for (std::size_t size = 1; size < 40; ++size) {
      const auto file = begun(o(), 5)
                            .custom(std::string(size, 'p'), 1)
                            .function(0, 9, 1)
                            .typed(std::string(size, 'q'), 1, 1)
                            .function(1, 9, 1);
      CHECK_FALSE(validate<o()>(file));
      std::vector<std::uint64_t> offsets;
      for (const auto item : fdr_records<o()>(file.view(), {5}, 1000)) {
        if (item.template is<function_record>()) offsets.push_back(item.offset());
      }
      CHECK(offsets == std::vector<std::uint64_t>{1000 + 64 + 16 + size, 1000 + 64 + 16 + size + 8 + 16 + size});
    }
  });
}

TEST_CASE("resync finds the next BufferExtents that a NewBuffer follows") {
  for_both_orders([](auto o) {
    using format = fdr_format<o()>;
    auto file = xray_builder(o()).fill(7, 0x0f).extents(0).fill(3).extents(16).new_buffer(1);
    fdr_context context{5};
    CHECK(format::resync(file.view(), 0, context) == 7 + 16 + 3);
    CHECK(format::resync(file.view(), 7 + 16 + 3, context) == 7 + 16 + 3);
    CHECK(format::resync(file.view(), 7 + 16 + 4, context) == file.size());
    CHECK(format::resync(file.view(), file.size(), context) == file.size());
  });
}

TEST_CASE("salvage goes on in the next block and counts what it skipped") {
  for_both_orders([](auto o) {
    auto file = xray_builder(o());
    file.extents(64 + 16).append(begun(o(), 5).view()).fill(1, file.head(20)).fill(15);
    const std::size_t second = file.size();
    file.extents(64 + 8).append(begun(o(), 5).function(0, 1, 1).view());
    std::vector<fault> faults;
    std::size_t count = 0;
    for_each_salvaging(
        fdr_records<o()>(file.view(), {5}), [&](const auto&) { ++count; },
        [&](const fault& f) { faults.push_back(f); });
    CHECK(count == 11);
    CHECK(faults == std::vector<fault>{{errc::unknown_record, 80, second - 80}});
  });
}

TEST_CASE("for_each_run gives the function records in runs and all others one by one") {
  for_both_orders([](auto o) {
    auto file = begun(o(), 5);
    std::vector<std::size_t> expected;
    for (std::size_t length = 1; length < 60; length += 7) {
      for (std::size_t i = 0; i < length; ++i) file.function(static_cast<unsigned>(i % 4), 1, 2);
      expected.push_back(length);
      if (length % 2 == 0) file.wrap(5);
      else file.custom("odd", 1);
    }
    std::vector<std::size_t> runs;
    std::size_t others = 0;
    const auto error = for_each_run(
        fdr_records<o()>(file.view(), {5}), [&](const auto& run) { runs.push_back(run.size()); },
        [&](const auto&) { ++others; });
    CHECK_FALSE(error);
    CHECK(runs == expected);
    CHECK(others == 4 + expected.size());
  });
}
