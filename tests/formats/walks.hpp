// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>

#include <backsight/core/hex_dump.hpp>

#include "../../examples/formats/debug_line.hpp"
#include "../../examples/formats/debug_line_tables.hpp"
#include "../../examples/formats/pcapng.hpp"
#include "../../examples/formats/protobuf.hpp"

// Walks through arbitrary bytes as the formats of examples/formats: every record, every part, every member through the
// printers.
namespace walks {

using namespace backsight;

/// Swallows characters, so that printing touches every member without memory.
struct sink {
  using difference_type = std::ptrdiff_t;
  std::uint64_t* sum;
  sink& operator*() { return *this; }
  sink& operator++() { return *this; }
  sink operator++(int) { return *this; }
  sink& operator=(char c) {
    *sum = *sum * 31 + static_cast<unsigned char>(c);
    return *this;
  }
};

inline void require(bool held) {
  if (!held) std::abort();
}

/// All records of a range; they lie side by side, inside of its bytes.
template <record_format F, grammar_check Check>
std::size_t walk(const record_range<F, Check>& range, std::uint64_t* sum) {
  std::size_t count = 0;
  std::uint64_t at = range.base();
  auto it = range.begin();
  for (; it != range.end(); ++it) {
    const any_record<F> item = *it;
    require(item.offset() == at && !item.bytes().empty());
    at += item.bytes().size();
    require(at - range.base() <= range.bytes().size());
    json_line(sink{sum}, item);
    csv_line(sink{sum}, item);
    hex_dump(sink{sum}, item);
    ++count;
  }
  require(it.error().code == errc::ok || it.error().offset == at);
  (void)validate_with_parts(range);
  return count;
}

inline std::size_t walk_pcapng(byte_view data, std::uint64_t* sum) {
  std::size_t count = 0;
  const trace_error error = for_each_in_file<pcapng::file>(data, [&](auto item) {
    hex_dump(sink{sum}, item);
    ++count;
  });
  require(error.offset <= data.size());
  return count + walk(record_range<pcapng::file::format<order::little>>(data), sum) +
         walk(record_range<pcapng::file::format<order::big>>(data), sum);
}

inline std::size_t walk_protobuf(byte_view data, std::uint64_t* sum) {
  const protobuf::message fields(data);
  std::size_t count = walk(fields, sum);
  for (const auto any : fields) {
    if (const auto inner = get_if<protobuf::bytes_field>(any))
      count += walk(protobuf::message(inner[protobuf::bytes_field::data]), sum);
  }
  return count;
}

template <order O>
std::size_t walk_debug_line_of(byte_view data, std::uint64_t* sum) {
  const record_range<debug_line::units_format<O>> units(data);
  std::size_t count = walk(units, sum);
  for (const auto any : units) {
    visit(any, [&]<class S>(const record<S, O>& head) {
      count += walk(head[S::program], sum);
      debug_line::table_state start;
      start.is_long = S::is_long;
      const byte_view tables = head[S::tables];
      if (head[S::version] >= 5) count += walk(record_range<debug_line::tables_format<O>>(tables, start), sum);
      else count += walk(record_range<debug_line::old_tables_format<O>>(tables), sum);
    });
  }
  return count;
}
inline std::size_t walk_debug_line(byte_view data, std::uint64_t* sum) {
  return walk_debug_line_of<order::little>(data, sum) + walk_debug_line_of<order::big>(data, sum);
}

}  // namespace walks
