// SPDX-License-Identifier: Apache-2.0
#pragma once

// DynamoRIO memtraces, raw and final: records, windows, counts, checks, splitting and merging.

#include <backsight/memtrace/analyzers.hpp>
#include <backsight/memtrace/check.hpp>
#include <backsight/memtrace/counts.hpp>
#include <backsight/memtrace/final.hpp>
#include <backsight/memtrace/pc_set.hpp>
#include <backsight/memtrace/raw.hpp>
#include <backsight/memtrace/raw_counts.hpp>
#include <backsight/memtrace/raw_schema.hpp>
#include <backsight/memtrace/references.hpp>
#include <backsight/memtrace/schema.hpp>
#include <backsight/memtrace/split.hpp>
#include <backsight/memtrace/types.hpp>
#include <backsight/memtrace/window_index.hpp>
#include <backsight/memtrace/windows.hpp>
