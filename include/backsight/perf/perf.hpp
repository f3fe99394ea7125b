// SPDX-License-Identifier: Apache-2.0
#pragma once

/// perf.data files of Linux perf. Compressed records are unfolded by io/zstd_records.hpp.
#include <backsight/perf/attributes.hpp>
#include <backsight/perf/features.hpp>
#include <backsight/perf/jitdump.hpp>
#include <backsight/perf/kernel_schema.hpp>
#include <backsight/perf/merged_records.hpp>
#include <backsight/perf/record_head.hpp>
#include <backsight/perf/records.hpp>
#include <backsight/perf/round_queue.hpp>
#include <backsight/perf/sample_layout.hpp>
#include <backsight/perf/samples.hpp>
#include <backsight/perf/schema.hpp>
#include <backsight/perf/trace.hpp>
#include <backsight/perf/user_schema.hpp>
#include <backsight/perf/words.hpp>
