// SPDX-License-Identifier: Apache-2.0
// Stands for perf/kernel_schema.hpp, perf/record_head.hpp, perf/user_schema.hpp
// schema.hpp, record_head.hpp, kernel_schema.hpp, user_schema.hpp
#include <support/catch.hpp>

#include "perf_builder.hpp"

using namespace backsight;
using namespace backsight::perf;

TEST_CASE("the flags of an attribute lie at the top of bytes in big-endian files") {
  for (const order o : {order::little, order::big}) {
    const auto bytes = test::attribute_bytes(o, 7);
    const auto attr = with_order(o, [&](auto c) { return read_attribute<c()>(bytes, 0); });
    REQUIRE(attr);
    CHECK((*attr)[attribute_record::sample_id_all]);
    CHECK_FALSE((*attr)[attribute_record::mmap_data]);
    CHECK_FALSE((*attr)[attribute_record::exclude_host]);
    CHECK((*attr)[attribute_record::sample_type] == 7);
    CHECK((*attr)[attribute_record::type] == event_type::software);
    CHECK((*attr)[attribute_record::sample_period] == 1000);
  }
}

TEST_CASE("every type of record has a name and those between do not") {
  for (std::uint32_t type = 0; type < 100; ++type) {
    const bool known = (type >= 1 && type < kernel_type_end) || (type >= first_user_type && type < user_type_end);
    CHECK((enumerator_name(static_cast<record_type>(type)) != nullptr) == known);
  }
}

TEST_CASE("members of records lie where the kernel's header has them") {
  STATIC_REQUIRE(size_of<mmap_record> == 40);
  STATIC_REQUIRE(size_of<mmap2_record> == 72);
  STATIC_REQUIRE(size_of<mmap2_build_id_record> == size_of<mmap2_record>);
  STATIC_REQUIRE(size_of<fork_record> == 32);
  STATIC_REQUIRE(size_of<ksymbol_record> == 24);
  STATIC_REQUIRE(size_of<bpf_event_record> == 24);
  STATIC_REQUIRE(size_of<build_id_record> == 36);
  STATIC_REQUIRE(size_of<auxtrace_record> == 48);
  STATIC_REQUIRE(size_of<auxtrace_error_record> == 48);
  STATIC_REQUIRE(size_of<stat_record> == 48);
  STATIC_REQUIRE(size_of<compressed_record> == 8);
  STATIC_REQUIRE(size_of<compressed2_record> == 16);
}
