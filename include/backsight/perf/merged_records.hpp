// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include <backsight/perf/round_queue.hpp>
#include <backsight/perf/trace.hpp>

namespace backsight::perf {

/// A record in the order of delivery.
struct merged_record {
  stored_record record;
  std::uint64_t time = 0;          ///< 0: it has none.
  std::uint32_t event = no_event;  ///< Index in trace::events(), of records of the kernel.
  std::uint32_t stream = 0;        ///< 0: the trace itself; n: the n-th of the other streams of a directory.
};

/// What a merge came across.
struct merge_counts {
  std::uint64_t records = 0;
  std::uint64_t unknown = 0;        ///< Records of types that are not known here; they are given too.
  std::uint64_t without_event = 0;  ///< Samples whose id belongs to no event; they are given with no_event.
  std::uint64_t compressed = 0;     ///< Compressed records; they are given as they are, see io/zstd_records.hpp.
  std::uint64_t faults = 0;
  std::size_t most_waiting = 0;  ///< The greatest number of records that waited for their time.
};

namespace detail {

/// The records of one stream, one by one. Faults are told with their stream and passed over where a size leads on.
template <order O>
class record_walker {
 public:
  /// What keeps the bytes of a record alive: here nothing, the caller does.
  struct keeper {};

  explicit record_walker(perf_records<O> records) : records_(records), it_(records.begin()) {}

  /// The next record; false at the end.
  template <class OnFault>
  bool next(any_record<perf_format<O>>& out, keeper&, OnFault&& on_fault) {
    while (it_ == std::default_sentinel) {
      const trace_error error = it_.error();
      if (!error) return false;
      const auto at = static_cast<std::size_t>(error.offset - records_.base());
      std::size_t behind = records_.bytes().size();
      auto context = it_.context();
      if (at < behind) behind = perf_format<O>::resync(records_.bytes(), at + 1, context);
      on_fault(fault{error.code, error.offset, behind - at});
      if (behind <= at || behind >= records_.bytes().size()) {
        it_ = perf_records<O>().begin();
        return false;
      }
      it_ = records_.at(behind, context);
    }
    out = *it_;
    ++it_;
    return true;
  }

 private:
  perf_records<O> records_;
  typename perf_records<O>::iterator it_;
};

/// Merges what walkers give: those of streams in turn, as perf reads directories, each up to 2 MiB.
template <order O, class Walker, class F, class OnFault>
merge_counts merge_streams(const trace& opened, std::vector<Walker>& streams, F&& f, OnFault&& on_fault) {
  struct waiting {
    merged_record record;
    [[no_unique_address]] typename Walker::keeper keeper;
  };
  constexpr std::size_t turn = std::size_t{2} << 20;
  merge_counts counts;
  round_queue<waiting> queue;
  const event_table& events = opened.table();
  const sample_layout first = events.events().empty() ? sample_layout() : events.events().front().layout;
  const bool timed = has(first.sample_type, sample_field::time);
  const auto give = [&](const merged_record& item) {
    ++counts.records;
    f(item);
  };
  const auto give_waiting = [&](waiting& item) { give(item.record); };
  const auto tell = [&](const fault& damage) {
    ++counts.faults;
    on_fault(damage);
  };
  const auto take = [&](const any_record<perf_format<O>>& item, typename Walker::keeper& keeper, std::uint32_t stream) {
    merged_record found{stored_record(item), 0, no_event, stream};
    counts.unknown += item.template is<other_record>();
    counts.compressed += item.template is<compressed_record>() || item.template is<compressed2_record>();
    if (is_kernel_type(found.record.type)) {
      found.event = events.template event_of<O>(item.bytes(), found.record.type);
      if (found.event != no_event)
        found.time = time_of<O>(item.bytes(), found.record.type, events.events()[found.event].layout);
      else if (found.record.type == record_type::sample) ++counts.without_event;
      if (timed && found.time != 0 && found.time != ~std::uint64_t{0})
        return queue.push(found.time, {found, std::move(keeper)});
    }
    give(found);
    if (found.record.type == record_type::finished_round) queue.finish_round(give_waiting);
  };

  // The file with the header comes first and whole; the others take turns.
  any_record<perf_format<O>> item;
  typename Walker::keeper keeper;
  if (!streams.empty()) {
    while (streams[0].next(item, keeper, tell)) take(item, keeper, 0);
  }
  std::vector<bool> done(streams.size(), false);
  for (std::size_t left = streams.empty() ? 0 : streams.size() - 1; left != 0;) {
    for (std::size_t i = 1; i < streams.size(); ++i) {
      for (std::size_t read = 0; !done[i] && read < turn;) {
        if (streams[i].next(item, keeper, tell)) {
          read += item.bytes().size();
          take(item, keeper, static_cast<std::uint32_t>(i));
        } else {
          done[i] = true;
          --left;
        }
      }
    }
  }
  queue.finish(give_waiting);
  counts.most_waiting = queue.most();
  return counts;
}

}  // namespace detail

/// Calls `f(const merged_record&)` for every record of a trace in the order in which perf delivers them: those of the
/// kernel by time, those of perf and those without a time where they stand. `others` are the files `data.0` and so on
/// of a directory, bare streams of records; offsets count in the file of the record's stream. `on_fault(const fault&)`
/// is told of what cannot be read; reading goes on behind it where its size leads on. Memory: the records of two
/// rounds, 96 bytes each, or all where there are no rounds.
template <class F, class OnFault>
merge_counts for_each_merged(const trace& opened, std::span<const byte_view> others, F&& f, OnFault&& on_fault) {
  return with_order(opened.byte_order(), [&](auto o) {
    std::vector<detail::record_walker<o()>> streams;
    streams.emplace_back(opened.template records<o()>());
    for (const byte_view other : others) streams.emplace_back(perf_records<o()>(other));
    return detail::merge_streams<o()>(opened, streams, f, on_fault);
  });
}
template <class F, class OnFault>
merge_counts for_each_merged(const trace& opened, F&& f, OnFault&& on_fault) {
  return for_each_merged(opened, std::span<const byte_view>(), f, on_fault);
}

}  // namespace backsight::perf
