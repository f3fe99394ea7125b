// SPDX-License-Identifier: Apache-2.0
// The main function for Catch2 2.13, which brings none as a library.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
