// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Every format, and call frame information. Analyzers, exporters and files are included one by one.
#include <backsight/cfi/cfi.hpp>
#include <backsight/ftrace/ftrace.hpp>
#include <backsight/memtrace/memtrace.hpp>
#include <backsight/names/names.hpp>
#include <backsight/perf/perf.hpp>
#include <backsight/uftrace/uftrace.hpp>
#include <backsight/version.hpp>
#include <backsight/xray/xray.hpp>
