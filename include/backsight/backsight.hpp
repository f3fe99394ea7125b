// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Every format. Analyzers, exporters and files are included one by one.
#include <backsight/memtrace/memtrace.hpp>
#include <backsight/uftrace/files/info.hpp>
#include <backsight/uftrace/files/task_list.hpp>
#include <backsight/uftrace/records.hpp>
#include <backsight/version.hpp>
#include <backsight/xray/xray.hpp>
