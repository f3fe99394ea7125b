// SPDX-License-Identifier: Apache-2.0
#include <every_header.hpp>

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "this file is compiled with -fno-exceptions -fno-rtti"
#endif

const char* message_from_the_other_unit(backsight::errc code);
const char* message_from_the_other_unit(backsight::errc code) { return backsight::message(code); }
