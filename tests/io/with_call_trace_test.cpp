// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <type_traits>

#include <backsight/io/with_call_trace.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>

using namespace backsight;

namespace {

/// Which format a path of tests/data is of; the error when it is of none.
std::string format_of(const std::string& name, trace_error* error = nullptr) {
  std::string found;
  const trace_error refused = io::with_call_trace(test::data_path(name), [&](const auto& trace) {
    using type = std::remove_cvref_t<decltype(trace)>;
    found = std::is_same_v<type, xray::calls> ? "xray" : std::is_same_v<type, uftrace::calls> ? "uftrace" : "memtrace";
    CHECK(trace.part_count() > 0);
  });
  if (error != nullptr) *error = refused;
  else CHECK_FALSE(refused);
  return found;
}

}  // namespace

TEST_CASE("the format of a trace is found out") {
  CHECK(format_of("xray/c19/fdr-threads.xray") == "xray");
  CHECK(format_of("xray/c19/basic-args.xray") == "xray");
  CHECK(format_of("uftrace/single-pg/uftrace.data") == "uftrace");
  CHECK(format_of("memtrace/single/drmemtrace.single.10508.3099.trace") == "memtrace");
}

TEST_CASE("what is no trace, packed or not there is refused with the reason") {
  trace_error error;
  CHECK(format_of("memtrace/single/drmemtrace.single.10508.3099.trace.gz", &error).empty());
  CHECK(error.code == errc::compressed);
  CHECK(format_of("png/squares.png", &error).empty());
  CHECK(error.code == errc::unsupported_type);
  CHECK(format_of("nowhere", &error).empty());
  CHECK(error.code == errc::io);
}
