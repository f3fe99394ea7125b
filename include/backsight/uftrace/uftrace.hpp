// SPDX-License-Identifier: Apache-2.0
#pragma once

/// All of uftrace. Opening a directory from the file system is in io/uftrace_directory.hpp.
#include <backsight/uftrace/arguments.hpp>
#include <backsight/uftrace/calls.hpp>
#include <backsight/uftrace/depth_repair.hpp>
#include <backsight/uftrace/enumerations.hpp>
#include <backsight/uftrace/events.hpp>
#include <backsight/uftrace/files/debug_file.hpp>
#include <backsight/uftrace/files/elf_symbols.hpp>
#include <backsight/uftrace/files/info.hpp>
#include <backsight/uftrace/files/kernel_header.hpp>
#include <backsight/uftrace/files/memory_map.hpp>
#include <backsight/uftrace/files/symbols.hpp>
#include <backsight/uftrace/files/task_list.hpp>
#include <backsight/uftrace/files/task_messages.hpp>
#include <backsight/uftrace/index.hpp>
#include <backsight/uftrace/kernel_source.hpp>
#include <backsight/uftrace/merged_record.hpp>
#include <backsight/uftrace/merged_records.hpp>
#include <backsight/uftrace/object_files.hpp>
#include <backsight/uftrace/object_rule.hpp>
#include <backsight/uftrace/perf_source.hpp>
#include <backsight/uftrace/recording.hpp>
#include <backsight/uftrace/records.hpp>
#include <backsight/uftrace/resolver.hpp>
#include <backsight/uftrace/schema.hpp>
#include <backsight/uftrace/task_sessions.hpp>
#include <backsight/uftrace/task_source.hpp>
#include <backsight/uftrace/trace.hpp>
#include <backsight/uftrace/value_rules.hpp>
#include <backsight/uftrace/values.hpp>
