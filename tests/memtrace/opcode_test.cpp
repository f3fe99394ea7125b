// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <backsight/memtrace/opcode.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;

namespace {

constexpr x86_opcode opcode(std::initializer_list<int> bytes) {
  x86_opcode made;
  for (const int one : bytes) made.bytes[made.size++] = static_cast<std::byte>(one);
  return made;
}

}  // namespace

TEST_CASE("the opcode stands behind prefixes, REX and escapes") {
  using test::bytes;
  STATIC_REQUIRE(x86_opcode_of(bytes<0x90>) == opcode({0x90}));
  STATIC_REQUIRE(x86_opcode_of(bytes<0x48, 0x89, 0xe5>) == opcode({0x89}));              // mov %rsp, %rbp
  STATIC_REQUIRE(x86_opcode_of(bytes<0xf3, 0x0f, 0x1e, 0xfa>) == opcode({0x0f, 0x1e}));  // endbr64
  STATIC_REQUIRE(x86_opcode_of(bytes<0x66, 0x41, 0x0f, 0x38, 0x00, 0xc1>) == opcode({0x0f, 0x38, 0x00}));  // pshufb
  STATIC_REQUIRE(x86_opcode_of(bytes<0x66, 0x0f, 0x3a, 0x0f, 0xc1, 0x08>) == opcode({0x0f, 0x3a, 0x0f}));  // palignr
  STATIC_REQUIRE(x86_opcode_of(bytes<0xf0, 0x0f, 0xb1, 0x0f>) == opcode({0x0f, 0xb1}));  // lock cmpxchg
  STATIC_REQUIRE(x86_opcode_of(bytes<0x64, 0x48, 0x8b, 0x04, 0x25>) == opcode({0x8b}));  // mov %fs:...
}

TEST_CASE("VEX, EVEX and XOP name the map of their opcode") {
  using test::bytes;
  STATIC_REQUIRE(x86_opcode_of(bytes<0xc5, 0xf8, 0x77>) == opcode({0x0f, 0x77}));                    // vzeroupper
  STATIC_REQUIRE(x86_opcode_of(bytes<0xc4, 0xe2, 0x7d, 0x58, 0xc0>) == opcode({0x0f, 0x38, 0x58}));  // vpbroadcastd
  STATIC_REQUIRE(x86_opcode_of(bytes<0xc4, 0xe3, 0xfd, 0x00, 0xc0, 0xd8>) == opcode({0x0f, 0x3a, 0x00}));  // vpermq
  STATIC_REQUIRE(x86_opcode_of(bytes<0x62, 0xf1, 0xfe, 0x28, 0x6f, 0x06>) == opcode({0x0f, 0x6f}));        // vmovdqu64
  STATIC_REQUIRE(x86_opcode_of(bytes<0x8f, 0xe9, 0x78, 0x81, 0xc0>) == opcode({0x09, 0x81}));              // vfrczpd
  STATIC_REQUIRE(x86_opcode_of(bytes<0x8f, 0x00>) == opcode({0x8f}));                                      // pop (%rax)
}

TEST_CASE("in 32-bit code INC, LES, LDS and BOUND are what they were") {
  using test::bytes;
  STATIC_REQUIRE(x86_opcode_of(bytes<0x40>, false) == opcode({0x40}));
  STATIC_REQUIRE(x86_opcode_of(bytes<0xc5, 0x06>, false) == opcode({0xc5}));
  STATIC_REQUIRE(x86_opcode_of(bytes<0x62, 0x06>, false) == opcode({0x62}));
  STATIC_REQUIRE(x86_opcode_of(bytes<0xc5, 0xf8, 0x77>, false) == opcode({0x0f, 0x77}));
}

TEST_CASE("bytes that end before the opcode have none") {
  using test::bytes;
  STATIC_REQUIRE(x86_opcode_of({}).size == 0);
  const std::vector<std::byte> code{std::byte{0x66}, std::byte{0x41}, std::byte{0x0f}, std::byte{0x3a},
                                    std::byte{0x0f}};
  for (std::size_t size = 0; size < code.size(); ++size) CHECK(x86_opcode_of(byte_view(code).first(size)).size == 0);
  STATIC_REQUIRE(x86_opcode_of(bytes<0xc4, 0xe2, 0x7d>).size == 0);
  STATIC_REQUIRE(x86_opcode_of(bytes<0x62, 0xf1, 0xfe, 0x28>).size == 0);
}
