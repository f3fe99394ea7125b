// SPDX-License-Identifier: Apache-2.0
#include "perf_input.hpp"

#include <sys/stat.h>

namespace cli::perf_data {

namespace perf = backsight::perf;

namespace {

bool is_file(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

bool recording_input::open(const std::string& name) {
  path = name;
  const std::size_t slash = name.rfind('/');
  folder = slash == std::string::npos ? "." : name.substr(0, slash + (slash == 0 ? 1 : 0));
  if (is_directory(name)) {
    folder = name;
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    path = folder + "/data";
    for (unsigned i = 0; is_file(path + "." + std::to_string(i)); ++i) {
      if (!parts.emplace_back().open(path + "." + std::to_string(i))) return false;
      others.push_back(parts.back().bytes());
    }
  }
  if (!file.open(path, [](backsight::byte_view head) { return is_recording("", head); })) return false;
  auto opened = perf::open(file.bytes());
  if (!opened) return report_error(path, opened.error()), false;
  trace = std::move(opened.value());
  if (const auto error = trace.feature_error()) report_error(path, error, "features");
  if (trace.missing() != 0) {
    report_error(path, {backsight::errc::truncated, file.bytes().size()},
                 std::to_string(trace.missing()) + " bytes of records are missing");
  }
  return true;
}

std::string recording_input::text_feature(perf::feature which) const {
  const auto found = trace.find(which);
  if (!found) return {};
  const auto text = perf::read_text(*found, trace.byte_order());
  return text ? std::string(*text) : std::string();
}

perf::tracing_data recording_input::tracing_formats() const {
  const auto take = [&](backsight::byte_view bytes, std::uint64_t offset) {
    auto read = perf::read_tracing_data(bytes, offset);
    if (!read) (void)report_error(path, read.error(), "formats of tracepoints");
    return read.partial();
  };
  if (const auto found = trace.find(perf::feature::tracing_data)) return take(found->bytes, found->offset);
  perf::tracing_data formats;
  if (!trace.is_pipe()) return formats;
  // In a stream they stand behind a record.
  backsight::with_order(trace.byte_order(), [&](auto o) {
    backsight::for_each_salvaging(
        trace.records<o()>(),
        [&](const backsight::any_record<perf::perf_format<o()>>& one) {
          if (!one.template is<perf::tracing_data_record>() || !formats.events.empty()) return;
          formats = take(perf::data_behind(perf::stored_record(one)),
                         one.offset() + backsight::size_of<perf::tracing_data_record>);
        },
        [](const backsight::fault&) {});
  });
  return formats;
}

bool is_recording(const std::string& path, backsight::byte_view head) {
  constexpr std::string_view magic = "PERFILE", swapped = "2ELIFREP";
  const auto begins = [](backsight::byte_view bytes, std::string_view text) {
    return bytes.size() >= text.size() &&
           std::string_view(reinterpret_cast<const char*>(bytes.data()), text.size()) == text;
  };
  if (!is_directory(path)) return begins(head, magic) || begins(head, swapped);
  input data;
  return is_file(path + "/data") && data.try_open(path + "/data") &&
         (begins(data.bytes(), magic) || begins(data.bytes(), swapped));
}

}  // namespace cli::perf_data
