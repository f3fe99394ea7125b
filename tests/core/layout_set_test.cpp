// SPDX-License-Identifier: Apache-2.0
// Stands for core/with_constant.hpp
#include <backsight/core/layout_set.hpp>

#include <string>
#include <vector>

#include <backsight/core/print.hpp>
#include <backsight/core/varying.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using test::bytes;

namespace {

/// Some of the members of perf's samples.
struct sample {
  static constexpr field<"ip", std::uint64_t> ip{};
  static constexpr field<"pid", std::uint32_t> pid{};
  static constexpr field<"tid", std::uint32_t> tid{};
  static constexpr field<"count", std::uint16_t> count{};
  static constexpr counted<"chain", std::uint16_t, count> chain{};
  static constexpr field_in<order::big, "weight", std::uint16_t> weight{};
};
inline constexpr layout_set samples{select<1>(sample::ip), select<2>(sample::pid, sample::tid),
                                    select<4>(sample::count, sample::chain), select<8 | 16>(sample::weight)};

template <order O>
std::vector<std::byte> make(std::uint64_t selector) {
  std::vector<std::byte> out;
  const auto put = [&](auto value, order o) {
    out.resize(out.size() + sizeof value);
    if (o == order::little) store<order::little>(out.data() + out.size() - sizeof value, value);
    else store<order::big>(out.data() + out.size() - sizeof value, value);
  };
  if ((selector & 1) != 0) put(std::uint64_t{0x1122334455667788}, O);
  if ((selector & 2) != 0) put(std::uint32_t{10}, O), put(std::uint32_t{11}, O);
  if ((selector & 4) != 0) put(std::uint16_t{2}, O), put(std::uint16_t{300}, O), put(std::uint16_t{400}, O);
  if ((selector & 24) != 0) put(std::uint16_t{0x1234}, order::big);
  return out;
}

template <order O>
void reads_every_choice() {
  std::size_t compiled = 0;
  for (std::uint64_t selector = 0; selector < 32; ++selector) {
    const auto data = make<O>(selector);
    with_layout<samples, O, 7, 3, 15, 24>(selector, [&](auto item) {
      if constexpr (requires { item.view(); }) ++compiled;
      CHECK_FALSE(item.find(data, 50));
      CHECK(item.size() == data.size());
      CHECK((item.has(sample::ip) == ((selector & 1) != 0) && item.has(sample::weight) == ((selector & 24) != 0)));
      CHECK(item[sample::ip] == ((selector & 1) != 0 ? 0x1122334455667788U : 0U));
      CHECK(item[sample::tid] == ((selector & 2) != 0 ? 11U : 0U));
      CHECK(item[sample::chain].size() == ((selector & 4) != 0 ? 2U : 0U));
      if ((selector & 4) != 0) CHECK(item[sample::chain][1] == 400);
      CHECK(item[sample::weight] == ((selector & 24) != 0 ? 0x1234 : 0));
      // Each truncation is told at the member that is cut, by both alike.
      for (std::size_t size = 0; size < data.size(); ++size) {
        selected_record<samples, std::uint64_t, O> general(selector);
        const trace_error error = item.find(byte_view(data).first(size), 50);
        CHECK(error.code == errc::truncated);
        CHECK(error == general.find(byte_view(data).first(size), 50));
        CHECK((error.offset >= 50 && error.offset <= 50 + size));
      }
    });
  }
  CHECK(compiled == 4);
}

}  // namespace

TEST_CASE("members that a selector chooses are read alike, compiled and by the general walk") {
  reads_every_choice<order::little>();
  reads_every_choice<order::big>();
}

TEST_CASE("what a constant selector chooses is a schema") {
  STATIC_REQUIRE(size_of<chosen_schema<samples, 3>> == 16);
  std::string text;
  const auto data = make<order::little>(7);
  with_layout<samples, order::little, 7>(7, [&](auto item) {
    REQUIRE_FALSE(item.find(data));
    if constexpr (requires { item.view(); }) print(std::back_inserter(text), item.view());
  });
  CHECK(text == "record ip=1234605616436508552 pid=10 tid=11 count=2 chain=[300,400]");
}

TEST_CASE("a value becomes a constant where it is a common one") {
  const auto is_constant = [](int value) {
    bool constant = false;
    with_constant<1, 5>(value, [&](auto one) {
      CHECK(one == value);
      constant = !std::is_same_v<decltype(one), int>;
    });
    return constant;
  };
  CHECK(is_constant(1));
  CHECK(is_constant(5));
  CHECK_FALSE(is_constant(2));
}
