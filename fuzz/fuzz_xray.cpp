// SPDX-License-Identifier: Apache-2.0
// XRay logs: open, blocks, records by and against the grammar, runs, events, and every member of every record through
// print. Whatever version the header names, the bytes are also read as each of the versions 1 to 5 in both byte orders.
#include <cstdint>
#include <vector>

#include <backsight/core/hex_dump.hpp>
#include <backsight/core/record_span.hpp>
#include <backsight/xray/index.hpp>
#include <backsight/xray/xray.hpp>

#include "fuzz_support.hpp"

namespace {

using namespace backsight;
using fuzz::require;
using fuzz::sink;

/// Reads all records; offsets must grow and records lie side by side inside the view.
template <record_format F, grammar_check Check>
std::uint64_t walk(const record_range<F, Check>& records, std::uint64_t* sum) {
  std::uint64_t at = records.base(), count = 0;
  const std::uint64_t end = records.base() + records.bytes().size();
  auto it = records.begin();
  for (; it != records.end(); ++it) {
    const auto item = *it;
    require(item.offset() == at && !item.bytes().empty() && item.bytes().size() <= end - at);
    at += item.bytes().size();
    print(sink{sum}, item);
    json_line(sink{sum}, item);
    csv_line(sink{sum}, item);
    if (item.bytes().size() < 64) hex_dump(sink{sum}, item);
    // Decoding and encoding gives the same bytes.
    visit(item, [&]<schema S, order O>(const record<S, O>& typed) {
      std::vector<std::byte> copy(typed.bytes().size());
      encode<O>(typed, copy.data());
      for (std::size_t i = 0; i < copy.size(); ++i) require(copy[i] == typed.bytes()[i]);
    });
    ++count;
  }
  const trace_error error = it.error();
  require(!error || (error.offset >= records.base() && error.offset <= end));
  if (!error && Check == grammar_check::ignored) require(at <= end);
  // Runs give the same records and the same end.
  if constexpr (detail::has_common<F>) {
    std::uint64_t by_runs = 0;
    const trace_error of_runs =
        for_each_run(records, [&](const auto& run) { by_runs += run.size(); }, [&](const auto&) { ++by_runs; });
    require(by_runs == count && of_runs == error);
  }
  // Salvage ends, and what it skips lies side by side with what it reads.
  std::uint64_t salvaged = 0, reached = records.base();
  for_each_salvaging(
      records,
      [&](const auto& item) {
        require(item.offset() >= reached);
        reached = item.offset() + item.bytes().size();
        ++salvaged;
      },
      [&](const fault& damage) {
        require(damage.offset >= reached && damage.skipped <= end - damage.offset);
        reached = damage.offset + damage.skipped;
      });
  require(salvaged >= count);
  return count;
}

void read_log(const xray::log& opened, std::uint64_t* sum) {
  const std::uint64_t size = opened.bytes().size();
  std::uint64_t last = 0;
  bool first = true;
  xray::for_each_event(
      opened,
      [&](const xray::event& event) {
        require(event.offset < size && (first || event.offset > last));
        last = event.offset;
        first = false;
        for (std::size_t i = 0; i < event.arguments.size(); ++i) *sum += event.arguments[i];
        for (const std::byte byte : event.payload) *sum += std::to_integer<unsigned>(byte);
        *sum += event.time + event.function + opened.to_ns(event.time);
      },
      [&](const fault& damage) {
        require(damage.offset <= size && damage.skipped <= size - damage.offset && damage.code != errc::ok);
      });

  with_order(opened.byte_order(), [&](auto o) {
    if (opened.type() == xray::log_type::basic) {
      walk(xray::records_of_basic<o()>(opened), sum);
      walk(xray::records_of_basic<o(), grammar_check::ignored>(opened), sum);
      return;
    }
    std::uint64_t at = size_of<xray::file_header>;
    const xray::fdr_blocks<o()> blocks(opened);
    auto it = blocks.begin();
    for (; it != blocks.end(); ++it) {
      require(it->offset == at + it->skipped && !it->bytes.empty() && it->bytes.size() <= size - it->offset);
      at = it->offset + it->bytes.size();
      walk(it->template records<o()>(opened.version()), sum);
      walk(it->template records<o(), grammar_check::ignored>(opened.version()), sum);
      for (const xray::event& event : xray::events_of<o()>(*it, opened.version())) *sum += event.time;
    }
    require(it.error() ? it.error().offset >= at && it.error().offset <= size : at == size);
  });
  if (opened.type() == xray::log_type::fdr) {
    auto index = xray::index_blocks(opened);
    xray::sort_by_thread(index.partial());
    for (const auto& info : index.partial()) *sum += info.first_tsc;
  }
}

/// Paths lie side by side, and with the faults behind one another.
void read_profile(const xray::profile& opened, std::uint64_t* sum) {
  const std::uint64_t size = opened.bytes().size();
  std::uint64_t reached = size_of<xray::profile_header>;
  xray::for_each_path(
      opened,
      [&](const xray::profile_path& path) {
        require(path.offset >= reached && path.size() != 0);
        reached = path.offset + (path.size() + 1) * size_of<xray::profile_function> + size_of<xray::profile_data>;
        require(reached <= size);
        for (std::size_t level = 0; level < path.size(); ++level) *sum += path.function(level);
        *sum += path.thread + path.calls + path.self_ticks;
      },
      [&](const fault& damage) {
        require(damage.code != errc::ok && damage.offset >= reached && damage.offset <= size &&
                damage.skipped <= size - damage.offset);
        reached = damage.offset + damage.skipped;
      });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint64_t sum = 0;
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(data[i]);
  if (const auto opened = xray::open(bytes)) read_log(*opened, &sum);
  if (const auto opened = xray::open_profile(bytes)) read_profile(*opened, &sum);
  if (size < size_of<xray::file_header> || size > 4096) return 0;
  for (const order o : {order::little, order::big}) {
    for (std::uint16_t version = 1; version <= 5; ++version) {
      with_order(o, [&](auto constant) {
        const mutable_record<xray::file_header, constant()> header(bytes.data());
        header.set(xray::file_header::version, version).set(xray::file_header::type, xray::log_type::fdr);
      });
      const auto opened = xray::open(bytes);
      require(opened && opened->version() == version);
      read_log(*opened, &sum);
    }
  }
  static_cast<void>(sum);
  return 0;
}
