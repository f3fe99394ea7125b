// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <backsight/perf/perf.hpp>
#include <backsight/perf/tracing_data.hpp>
#ifdef BACKSIGHT_HAVE_ZSTD
#include <backsight/io/zstd_records.hpp>
#endif

#include "program.hpp"

namespace cli::perf_data {

/// An opened recording: a perf.data file, a stream of one, or the folder that `perf record --threads` writes.
struct recording_input {
  std::string path;
  input file;
  std::vector<input> parts;  ///< data.0 and so on
  std::vector<backsight::byte_view> others;
  backsight::perf::trace trace;
  std::string folder;  ///< of the recording

  /// Reports what is wrong and gives false when it cannot be read.
  [[nodiscard]] bool open(const std::string& name);

  /// Every record in the order of delivery, those that were compressed too.
  template <class F, class OnFault>
  backsight::perf::merge_counts for_each(F&& f, OnFault&& on_fault) const {
#ifdef BACKSIGHT_HAVE_ZSTD
    return backsight::io::for_each_unfolded(trace, others, f, on_fault);
#else
    return backsight::perf::for_each_merged(trace, others, f, on_fault);
#endif
  }
  [[nodiscard]] std::string text_feature(backsight::perf::feature which) const;
  /// The formats of tracepoints; what cannot be read of them is reported. They are views of the recording.
  [[nodiscard]] backsight::perf::tracing_data tracing_formats() const;
};

/// The input is a recording of perf.
[[nodiscard]] bool is_recording(const std::string& path, backsight::byte_view head);

}  // namespace cli::perf_data
