// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <backsight/io/mapped_file.hpp>
#include <backsight/io/uftrace_directory.hpp>
#include <backsight/memtrace/calls.hpp>
#include <backsight/uftrace/calls.hpp>
#include <backsight/xray/calls.hpp>

namespace backsight::io {

/// Finds out what is at `path` (a uftrace directory, an unpacked final memtrace or an XRay log), and calls `f(trace)`
/// with a call_trace of it, which lives as long as the call. Errors: errc::io, with the reason in errno, when it cannot
/// be read; otherwise those of xray::open, or of memtrace::read_final_header for what is a memtrace or packed. `f` is
/// compiled for each format.
template <class F>
[[nodiscard]] trace_error with_call_trace(const std::string& path, F&& f) {
  if (const auto directory = uftrace_directory::open(path)) {
    f(uftrace::calls(directory->recording()));
    return {};
  }
  const auto file = mapped_file::open(path.c_str());
  if (!file) return file.error();
  const auto head = memtrace::read_final_header(file->bytes());
  if (head) {
    f(memtrace::calls({{file->bytes(), std::string()}}));
    return {};
  }
  const auto log = xray::open(file->bytes());
  if (log) f(xray::calls(*log));
  else return head.error().code == errc::bad_magic || head.error().code == errc::truncated ? log.error() : head.error();
  return {};
}

}  // namespace backsight::io
