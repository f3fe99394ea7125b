// SPDX-License-Identifier: Apache-2.0
#include "call_table.hpp"

#include <cinttypes>
#include <cstdio>

namespace cli {

using namespace backsight;

call_table& call_table::share(std::uint64_t part, std::uint64_t whole) {
  table_.share(part, whole);
  return *this;
}

call_table& call_table::process(std::int64_t number, const call_input& input) {
  if (input.joined != nullptr) {
    const auto place = input.joined->place_of(number);
    table_.text(input.joined->sources()[place.trace].name);
    number = place.process;
  }
  table_.signed_number(number);
  return *this;
}

void call_table::finish(const lacking& what, const call_input& input) {
  char more[320];
  std::snprintf(more, sizeof more,
                ",\n\"unit\":\"%s\",\"damaged\":%zu,\"lost_records\":%" PRIu64 ",\"exits_without_entry\":%" PRIu64
                ",\"closed_by_caller\":%" PRIu64 ",\"calls_without_exit\":%" PRIu64
                ",\"functions_without_name\":%" PRIu64,
                unit_name(unit_), input.notes.size(), what.lost_records, what.calls.unmatched_exits,
                what.calls.missing_exits, what.calls.unfinished, what.unnamed);
  table_.finish(more);
}

std::string with_unit(const char* name, clock_unit unit) { return std::string(name) + '_' + unit_name(unit); }

}  // namespace cli
