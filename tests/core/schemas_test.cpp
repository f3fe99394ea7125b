// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/schemas.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

// Names that the library has too, but that are no words of declarations.
struct message {
  int text = 1;
};
inline int visit(message m) { return m.text; }

using namespace backsight::schemas;

namespace {

struct greeting {
  static constexpr field<"kind", std::uint8_t> kind{};
  static constexpr auto told_by = is(kind, 1);
  static constexpr uleb<"length"> length{};
  static constexpr counted_bytes<"words", length> words{};
  static constexpr layout fields{kind, length, words};
};
using greetings = tagged_format<order::little, greeting>;

}  // namespace

/// With a name for the words, where these collide.
namespace other {
namespace s = backsight::schemas;
struct at {
  static constexpr s::field<"x", std::uint16_t> x{};
  static constexpr s::layout fields{s::at<0>(x)};
};
static_assert(s::schema<at>);
}  // namespace other

TEST_CASE("declarations need no using namespace backsight") {
  STATIC_REQUIRE(record_format<greetings> && schema<other::at>);
  CHECK(visit(message{}) == 1);
  CHECK_FALSE(backsight::record_range<greetings>(backsight::test::bytes<1, 2, 'h', 'i'>).validate());
}
