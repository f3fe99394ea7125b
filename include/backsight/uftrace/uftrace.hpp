// SPDX-License-Identifier: Apache-2.0
#pragma once

/// All of uftrace. Opening a directory from the file system is in io/uftrace_directory.hpp.
#include <backsight/uftrace/arguments.hpp>
#include <backsight/uftrace/call_stacks.hpp>
#include <backsight/uftrace/call_tree.hpp>
#include <backsight/uftrace/debug_file.hpp>
#include <backsight/uftrace/depth_repair.hpp>
#include <backsight/uftrace/elf_symbols.hpp>
#include <backsight/uftrace/enumerations.hpp>
#include <backsight/uftrace/events.hpp>
#include <backsight/uftrace/flame_graph.hpp>
#include <backsight/uftrace/function_filter.hpp>
#include <backsight/uftrace/info.hpp>
#include <backsight/uftrace/kernel_event_text.hpp>
#include <backsight/uftrace/kernel_header.hpp>
#include <backsight/uftrace/kernel_pages.hpp>
#include <backsight/uftrace/kernel_schema.hpp>
#include <backsight/uftrace/memory_map.hpp>
#include <backsight/uftrace/merge.hpp>
#include <backsight/uftrace/merged_record.hpp>
#include <backsight/uftrace/object_files.hpp>
#include <backsight/uftrace/object_rule.hpp>
#include <backsight/uftrace/recording.hpp>
#include <backsight/uftrace/records.hpp>
#include <backsight/uftrace/report.hpp>
#include <backsight/uftrace/resolver.hpp>
#include <backsight/uftrace/schema.hpp>
#include <backsight/uftrace/session_graph.hpp>
#include <backsight/uftrace/symbols.hpp>
#include <backsight/uftrace/task_list.hpp>
#include <backsight/uftrace/task_messages.hpp>
#include <backsight/uftrace/task_sessions.hpp>
#include <backsight/uftrace/time_index.hpp>
#include <backsight/uftrace/value_rules.hpp>
#include <backsight/uftrace/value_text.hpp>
