// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The version of the library, as numbers for the preprocessor. It equals project(VERSION) in CMakeLists.txt.
#define BACKSIGHT_VERSION_MAJOR 0
#define BACKSIGHT_VERSION_MINOR 1
#define BACKSIGHT_VERSION_PATCH 0
