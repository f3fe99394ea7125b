// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/table.hpp>

#include <string>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

#include "tick_format.hpp"
#include "varying_format.hpp"

using namespace backsight;
using test::bytes;

static_assert(members_of<ticks::tick>.size() == 2 && members_of<ticks::tick>[1].first_bit == 1 &&
              members_of<ticks::tick>[1].bits == 15);
static_assert(members_of<varied::option>[2].bits == 0 && !members_of<varied::option>[2].has_fixed_place);
static_assert(members_of<varied::option>[3].is_padding && members_of<varied::option>[1].has_fixed_place);

TEST_CASE("kinds and members have names") {
  CHECK(std::string(kind_name<ticks::format>(1)) == "note");
  CHECK(std::string(kind_name<ticks::format>(2)) == "record");
  CHECK(kind_name<ticks::format>(3) == nullptr);
  CHECK(std::string(members_of<ticks::note>[2].name) == "length");
}

TEST_CASE("a whole range is one table, in CSV, JSON and text") {
  constexpr auto data = bytes<3, 1, 'x', 4, 0, 9>;
  const record_range<ticks::format> range(data);
  std::string text;
  trace_error error;
  csv_table(std::back_inserter(text), range, error);
  CHECK(text == "offset,record,is_meta,value,kind,length,payload\n0,note,1,,1,1,78\n3,tick,0,2,,,\n");
  CHECK(error == trace_error{errc::unknown_record, 5});
  text.clear();
  json_lines(std::back_inserter(text), range, error);
  CHECK(text ==
        "{\"record\":\"note\",\"offset\":0,\"is_meta\":1,\"kind\":1,\"length\":1,\"payload\":\"x\"}\n"
        "{\"record\":\"tick\",\"offset\":3,\"is_meta\":0,\"value\":2}\n");
  text.clear();
  print_lines(std::back_inserter(text), range, error);
  CHECK(text == "0: note is_meta=1 kind=1 length=1 payload=\"x\"\n3: tick is_meta=0 value=2\n");
}
