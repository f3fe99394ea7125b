// SPDX-License-Identifier: Apache-2.0
#include <backsight/uftrace/enumerations.hpp>

#include <string>
#include <string_view>

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::uftrace;

namespace {

/// `name: B=3 A=1`: enumerators in the order in which they are tried.
std::string read(std::string_view text) {
  std::vector<enumeration> all;
  read_enumerations(text, all);
  std::string out;
  for (const enumeration& e : all) {
    if (!out.empty()) out += "; ";
    out += std::string(e.name) + ':';
    for (const enumerator& value : e.values) out += ' ' + std::string(value.name) + '=' + std::to_string(value.value);
  }
  return out;
}

}  // namespace

TEST_CASE("values of enumerators count on from the one before") {
  CHECK(read("enum e {A,B,C}") == "e: C=2 B=1 A=0");
  CHECK(read("enum e { A = 5, B , C = 0x1f,D }") == "e: D=32 C=31 B=6 A=5");
  CHECK(read("enum e {A=-2,B,C}") == "e: C=0 B=-1 A=-2");
  CHECK(read("enum e {A=0XaF,}") == "e: A=175");
  CHECK(read("enum e {A=9223372036854775807,B}") == "e: A=9223372036854775807 B=-9223372036854775808");
}

TEST_CASE("of enumerators of one value the later one comes first") {
  CHECK(read("enum e {A=1,B=1,C=1}") == "e: C=1 B=1 A=1");
}

TEST_CASE("enumerations follow one another, what is none is passed by") {
  CHECK(read("enum a {X};enum b {Y}; struct c {Z};  enum d{W}") == "a: X=0; b: Y=0; d: W=0");
  CHECK(read("enum a {X};enum b {Y") == "a: X=0");
  CHECK(read("enum a").empty());
  CHECK(read("").empty());
  CHECK(read("enum a {}") == "a:");
}
