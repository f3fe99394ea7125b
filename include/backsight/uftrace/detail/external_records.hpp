// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string_view>

#include <backsight/core/lines.hpp>
#include <backsight/uftrace/merged_record.hpp>

// Source: uftrace's utils/extern.c.
namespace backsight::uftrace::detail {

/// The records of extern.dat from the time `first` on up to `last`: lines of a time and a message. Lines without either
/// are left out, as uftrace does.
[[nodiscard]] inline std::deque<merged_record> read_external(byte_view bytes, std::uint64_t first, std::uint64_t last) {
  std::deque<merged_record> all;
  text::lines text(text::as_text(bytes));
  while (text.next()) {
    std::string_view rest = text.line();
    if (rest.empty() || rest.front() == '#') continue;
    const auto time = text::take_time(rest);
    if (!time || *time < first || *time > last) continue;
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
    if (rest.empty()) continue;
    rest = rest.substr(0, 1023);
    merged_record r;
    r.time = *time;
    r.address = external_data;
    r.type = record_type::event;
    r.source = record_source::external_file;
    r.more = true;
    r.payload = {reinterpret_cast<const std::byte*>(rest.data()), rest.size()};
    r.offset = text.offset();
    all.push_back(r);
  }
  return all;
}

}  // namespace backsight::uftrace::detail
