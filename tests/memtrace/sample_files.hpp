// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <backsight/memtrace/check.hpp>

#include "trace_builder.hpp"

#include <support/catch.hpp>

namespace backsight::test {

/// Files of tests/data/memtrace in which the checks find nothing but known stragglers.
inline const std::vector<std::string> good_files{
    "single/drmemtrace.single.10508.3099.trace.zip", "sig/drmemtrace.sig.15934.7959.trace.zip",
    "yield/drmemtrace.yield.24335.3353.trace.zip",   "yield/drmemtrace.yield.24336.5587.trace.zip",
    "yield/drmemtrace.yield.24337.8675.trace.zip",   "yield/drmemtrace.yield.24340.6622.trace.zip",
    "legacy/drmemtrace.allasm_x86_64.trace.zip",     "legacy/drmemtrace.small.x64.trace"};

/// What the checks find.
[[nodiscard]] inline std::vector<memtrace::finding> findings(byte_view file) {
  const auto trace = memtrace::final_trace::open(file);
  REQUIRE(trace);
  std::vector<memtrace::finding> found;
  memtrace::trace_checker checker(*trace);
  checker.for_each_finding([&](const memtrace::check_result& one) { found.push_back(one.what); });
  return found;
}

}  // namespace backsight::test
