// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <backsight/memtrace/record_place.hpp>
#include <backsight/memtrace/references.hpp>

#include "memtrace_input.hpp"
#include "program.hpp"

// The windows and threads of a memtrace that were asked for.
namespace cli::memtrace {

class choice {
 public:
  explicit choice(const arguments& asked) : asked_(&asked) {}

  [[nodiscard]] bool any() const { return asked_->window.has_value() || !asked_->tids.empty(); }
  [[nodiscard]] bool has_window(const std::optional<std::uint64_t>& ordinal) const {
    return !asked_->window || ordinal == asked_->window;
  }
  [[nodiscard]] bool has_thread(std::uint64_t tid) const {
    return asked_->tids.empty() || std::ranges::find(asked_->tids, tid, [](std::uint32_t id) {
                                     return std::uint64_t{id};
                                   }) != asked_->tids.end();
  }
  /// Notes that there is something of it.
  [[nodiscard]] bool has(const std::optional<std::uint64_t>& ordinal, std::uint64_t tid) {
    const bool is_in = has_window(ordinal) && has_thread(tid);
    found_ = found_ || is_in;
    return is_in;
  }
  /// Says when there was nothing of what was asked for, and gives usage; else `code`.
  [[nodiscard]] int finish(int code) const {
    if (found_ || !any() || code != success) return code;
    std::string what = asked_->window ? "window " + std::to_string(*asked_->window) : "";
    for (const std::uint32_t tid : asked_->tids) what += (what.empty() ? "thread " : ", thread ") + std::to_string(tid);
    say("%s: there is nothing of %s\n", asked_->path().c_str(), what.c_str());
    return usage;
  }

 private:
  const arguments* asked_;
  bool found_ = false;
};

/// Whose a reference is, and of which window.
struct reference_place {
  std::uint64_t tid = 0;
  std::optional<std::uint64_t> window;
};

/// Gives the references of a final file that are of the choice to `use(place, reference)`. Errors as
/// for_each_final_block, and those of the records.
template <class Address, class F>
backsight::trace_error for_each_chosen_reference(const std::string& path, choice& wanted, F&& use) {
  using namespace backsight;
  using namespace backsight::memtrace;
  using any = basic_entry<Address>;
  basic_reference_builder<Address> builder;
  basic_record_place<Address> place;
  progress shown(0);
  return for_each_final_block<Address>(path, [&](byte_view block) -> trace_error {
    shown.add(block.size());
    for (const std::byte* at = block.data(); at != block.data() + block.size(); at += size_of<any>) {
      const record<any, order::little> item(at);
      if (const errc bad = entry_error<Address>(item); bad != errc::ok) return {bad, builder.offset()};
      place.on(item);
      const auto made = builder.next(item);
      if (made && wanted.has(place.window(), place.tid())) use(reference_place{place.tid(), place.window()}, *made);
    }
    return {};
  });
}

/// The same for every file at the path: `use(header, place, reference)`. Reports what is damaged, and gives the exit
/// code.
template <class F>
int for_each_chosen_reference(const arguments& asked, choice& wanted, F&& use) {
  const std::vector<trace_folder> folders = folders_at(asked.path());
  if (folders.empty()) return report_error(asked.path(), "no memtraces are here");
  int code = success;
  for (const trace_folder& folder : folders) {
    for (const std::string& path : folder.files) {
      const auto head = final_header_of(path);
      if (!head) {
        code = report_error(path, head.error(), detail_of(path, head.error()));
        continue;
      }
      const auto give = [&](const reference_place& place, const backsight::memtrace::reference& item) {
        use(*head, place, item);
      };
      const auto error = head->address_size == 4 ? for_each_chosen_reference<std::uint32_t>(path, wanted, give)
                                                 : for_each_chosen_reference<std::uint64_t>(path, wanted, give);
      if (error) code = report_damage(path, error);
    }
  }
  return wanted.finish(code);
}

}  // namespace cli::memtrace
