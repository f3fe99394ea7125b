// SPDX-License-Identifier: Apache-2.0
// A whole uftrace directory through every analysis. The input is a row of files: a line `NAME SIZE`, then SIZE bytes.
#include <cstdint>
#include <string>
#include <vector>

#include <backsight/uftrace/uftrace.hpp>

#include "as/uftrace/flame_graph.hpp"
#include "as/uftrace/report.hpp"
#include "as/uftrace/session_graph.hpp"
#include "as/uftrace/value_text.hpp"

using namespace backsight;
using namespace backsight::uftrace;
using namespace cli::as_uftrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const byte_view bytes(reinterpret_cast<const std::byte*>(data), size);
  std::vector<directory_file> files;
  std::size_t at = 0;
  while (at < size && files.size() < 32) {
    text::lines text(text::as_text(bytes.subspan(at)));
    if (!text.next()) break;
    std::string_view line = text.line();
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) break;
    std::string_view number = line.substr(blank + 1);
    const std::size_t wanted = static_cast<std::size_t>(text::take_number(number, 10).value_or(0));
    at = std::min(size, at + line.size() + 1);
    const std::size_t length = std::min(wanted, size - at);
    files.push_back({std::string(line.substr(0, blank)), bytes.subspan(at, length)});
    at += length;
  }
  const auto opened = uftrace::open(files);
  if (!opened) return 0;
  resolver names(*opened);
  value_writer values(names);
  std::string text;
  merged_records records(names, {.shorter_than = size % 3, .external = true, .salvage = size % 2 == 0});
  merged_record r;
  while (records.next(r)) {
    text.clear();
    if (r.is_event()) values.event_text(text, r, true);
    else if (r.more) values.raw_lines(text, r);
  }
  merged_records again(names, {});
  function_report report(again, {});
  report.run();
  merged_records third(names, {.salvage = true});
  session_graph graph(third, {});
  graph.run();
  merged_records fourth(names, {});
  flame_graph flame(fourth, {});
  flame.run();
  return 0;
}
