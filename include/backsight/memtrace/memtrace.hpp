// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The records and windows of DynamoRIO memtraces, raw and final. Counts, references, analyzers, the window index, splitting
/// and the checker are included one by one.

#include <backsight/memtrace/final.hpp>
#include <backsight/memtrace/raw.hpp>
#include <backsight/memtrace/raw_schema.hpp>
#include <backsight/memtrace/schema.hpp>
#include <backsight/memtrace/trace.hpp>
#include <backsight/memtrace/types.hpp>
#include <backsight/memtrace/windows.hpp>
