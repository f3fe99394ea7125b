// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Every format. Analyzers, exporters and files are included one by one.
#include <backsight/version.hpp>
#include <backsight/memtrace/memtrace.hpp>
#include <backsight/uftrace/info.hpp>
#include <backsight/uftrace/records.hpp>
#include <backsight/uftrace/task_list.hpp>
#include <backsight/xray/xray.hpp>
