// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/core/offset_of.hpp>
#include <backsight/perf/features.hpp>

namespace backsight::perf {

/// The attribute in `bytes`: as much as there is of it, the rest is 0. `bytes` holds what its place leaves for it; its
/// own size counts where that is less. Errors: errc::bad_size where either is smaller than the first version.
template <order O>
[[nodiscard]] constexpr result<attribute> read_attribute(byte_view bytes, std::uint64_t offset) noexcept {
  if (bytes.size() < smallest_attribute) return {errc::bad_size, offset};
  std::size_t stated = load<std::uint32_t, O>(bytes.data() + offset_of<attribute_record>(attribute_record::size));
  if (stated == 0) stated = smallest_attribute;
  if (stated < smallest_attribute) return {errc::bad_size, offset};
  std::array<std::byte, size_of<attribute_record>> whole{};
  const std::size_t used = std::min({stated, bytes.size(), whole.size()});
  for (std::size_t i = 0; i < used; ++i) whole[i] = bytes[i];
  attribute found;
  const record<attribute_record, O> from(whole.data());
  for_each_member<attribute_record>([&]<class Member>(Member member, auto index) {
    if constexpr (!Member::is_padding) found.set(member, from.template member_at<index>());
  });
  return found;
}

/// The name that perf gives an event of the kernel's own by its number; empty for others.
[[nodiscard]] constexpr std::string_view name_of_event(event_type type, std::uint64_t config) noexcept {
  constexpr std::array<std::string_view, 10> hardware{
      "cycles",        "instructions", "cache-references",        "cache-misses",           "branches",
      "branch-misses", "bus-cycles",   "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"};
  constexpr std::array<std::string_view, 12> software{
      "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
      "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
      "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};
  if (type == event_type::hardware && config < hardware.size()) return hardware[static_cast<std::size_t>(config)];
  if (type == event_type::software && config < software.size()) return software[static_cast<std::size_t>(config)];
  return {};
}

/// One event that was recorded.
struct event_description {
  attribute attr;
  sample_layout layout;
  std::string_view name;  ///< As the recorder wrote it, or name_of_event. A view of the file, or static.
};

/// No event: the id of a record belongs to none.
inline constexpr std::uint32_t no_event = 0xffffffff;

/// The events of a file and the ids that lead to them. Grows by what the file holds: two words for each id.
class event_table {
 public:
  [[nodiscard]] std::span<const event_description> events() const noexcept { return events_; }
  [[nodiscard]] std::size_t id_count() const noexcept { return ids_.size(); }

  void add(const attribute& attr, word_list ids) {
    const auto index = static_cast<std::uint32_t>(events_.size());
    events_.push_back(
        {attr, sample_layout(attr), name_of_event(attr[attribute_record::type], attr[attribute_record::config])});
    for (std::size_t i = 0; i < ids.size(); ++i) ids_.emplace_back(ids[i], index);
  }
  void set_name(std::uint32_t event, std::string_view name) {
    if (event < events_.size()) events_[event].name = name;
  }
  /// To be called once when all are there. Of equal ids the first counts.
  void finish() { std::sort(ids_.begin(), ids_.end()); }

  /// The event of an id; no_event when there is none. Cost: a search by halves.
  [[nodiscard]] std::uint32_t find(std::uint64_t id) const noexcept {
    const auto found = std::lower_bound(ids_.begin(), ids_.end(), id,
                                        [](const auto& entry, std::uint64_t value) { return entry.first < value; });
    return found == ids_.end() || found->first != id ? no_event : found->second;
  }

  /// The event that a record of the kernel belongs to. All events of a file have the id at the same place.
  template <order O>
  [[nodiscard]] std::uint32_t event_of(byte_view record_bytes, record_type type) const noexcept {
    if (events_.empty() || !is_kernel_type(type)) return no_event;
    if (events_.size() == 1) return 0;
    const sample_layout& first = events_.front().layout;
    if (type != record_type::sample && !first.sample_id_all) return 0;
    const std::uint64_t id = id_of<O>(record_bytes, type, first);
    // Records that perf made up have the id 0, and so have those of events without ids.
    return id == 0 ? 0 : find(id);
  }

 private:
  std::vector<event_description> events_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> ids_;
};

/// Gives the events the names that the feature event_desc has, in the order of attributes.
[[nodiscard]] inline trace_error read_event_names(const feature_section& from, order byte_order, event_table& events) {
  return with_order(byte_order, [&](auto o) {
    feature_reader<o()> in(from);
    const auto count = in.template number<std::uint32_t>();
    const auto attribute_bytes = in.template number<std::uint32_t>();
    for (std::uint32_t i = 0; i < count && !in.failed() && !in.at_end(); ++i) {
      in.skip(attribute_bytes);
      const auto ids = in.template number<std::uint32_t>();
      const std::string_view name = in.text();
      in.skip(std::uint64_t{ids} * 8);
      if (!in.failed()) events.set_name(i, name);
    }
    return in.error();
  });
}

}  // namespace backsight::perf
