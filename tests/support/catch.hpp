// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one place that includes Catch2, so that tests build with its versions 2.13 and 3.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
