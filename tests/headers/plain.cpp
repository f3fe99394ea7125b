// SPDX-License-Identifier: Apache-2.0
#include <every_header.hpp>

#include <cstring>

const char* message_from_the_other_unit(backsight::errc code);

int main() {
  return std::strcmp(message_from_the_other_unit(backsight::errc::truncated),
                     backsight::message(backsight::errc::truncated)) == 0
             ? 0
             : 1;
}
