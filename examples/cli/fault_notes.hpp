// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "program.hpp"

namespace cli {

/// What was damaged, once for each place of each file.
class fault_notes {
 public:
  /// `file` is below the path of the trace; empty for the trace itself.
  void add(std::string_view file, const backsight::fault& fault) {
    faults_.emplace(std::pair(std::string(file), fault.offset), fault);
  }
  [[nodiscard]] const std::map<std::pair<std::string, std::uint64_t>, backsight::fault>& all() const { return faults_; }
  [[nodiscard]] std::size_t size() const { return faults_.size(); }
  /// Reports all on stderr; gives bad_input when there are any.
  int report(const std::string& path) const {
    for (const auto& [place, fault] : faults_)
      report_fault(place.first.empty() ? path : path + "/" + place.first, fault);
    return faults_.empty() ? success : bad_input;
  }

 private:
  std::map<std::pair<std::string, std::uint64_t>, backsight::fault> faults_;
};

}  // namespace cli
