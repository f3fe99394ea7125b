// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Names of functions: short forms of mangled ones, and patterns that they are compared with.
#include <backsight/names/name_pattern.hpp>
#include <backsight/names/short_name.hpp>
