// SPDX-License-Identifier: Apache-2.0
#pragma once

/// DynamoRIO memtraces, raw and final: records, windows and their index, counts, references, analyzers, calls,
/// splitting and merging, the checker.

#include <backsight/memtrace/access_counts.hpp>
#include <backsight/memtrace/analyzers.hpp>
#include <backsight/memtrace/call_follower.hpp>
#include <backsight/memtrace/calls.hpp>
#include <backsight/memtrace/check.hpp>
#include <backsight/memtrace/counts.hpp>
#include <backsight/memtrace/file_start.hpp>
#include <backsight/memtrace/findings.hpp>
#include <backsight/memtrace/index.hpp>
#include <backsight/memtrace/modules.hpp>
#include <backsight/memtrace/opcode.hpp>
#include <backsight/memtrace/pc_set.hpp>
#include <backsight/memtrace/raw_counts.hpp>
#include <backsight/memtrace/raw_records.hpp>
#include <backsight/memtrace/raw_schema.hpp>
#include <backsight/memtrace/record_follower.hpp>
#include <backsight/memtrace/record_place.hpp>
#include <backsight/memtrace/records.hpp>
#include <backsight/memtrace/references.hpp>
#include <backsight/memtrace/reuse.hpp>
#include <backsight/memtrace/schema.hpp>
#include <backsight/memtrace/split.hpp>
#include <backsight/memtrace/syscalls.hpp>
#include <backsight/memtrace/time_text.hpp>
#include <backsight/memtrace/trace.hpp>
#include <backsight/memtrace/types.hpp>
#include <backsight/memtrace/window_scanner.hpp>
#include <backsight/memtrace/window_set.hpp>
#include <backsight/memtrace/windows.hpp>
