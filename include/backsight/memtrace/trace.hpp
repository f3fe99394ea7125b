// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/memtrace/raw_records.hpp>
#include <backsight/memtrace/records.hpp>

namespace backsight::memtrace {

/// Which of the two formats a file is in: as the tracer wrote it, or as raw2trace made it of that.
enum class stage : std::uint8_t { unknown, raw, final };

/// An opened file of either format and either width of addresses: its start decoded, and a view of its unpacked bytes,
/// which must outlive it. Trivially copyable.
class trace {
 public:
  constexpr trace() = default;

  [[nodiscard]] constexpr memtrace::stage stage() const noexcept { return stage_; }
  [[nodiscard]] constexpr byte_view bytes() const noexcept { return bytes_; }
  /// What the start of the file says, whatever its format.
  [[nodiscard]] constexpr const file_start& start() const noexcept {
    if (stage_ == memtrace::stage::raw) return raw_;
    return final_;
  }
  /// Of a raw file, and of a final one; each zeros for the other.
  [[nodiscard]] constexpr const raw_file_header& raw_header() const noexcept { return raw_; }
  [[nodiscard]] constexpr const memtrace::final_header& final_header() const noexcept { return final_; }

  /// Calls `f(records)` with the typed records: a raw_range, final_range or final_range32. Precondition: the stage is
  /// known.
  template <class F>
  constexpr decltype(auto) with_records(F&& f) const {
    BACKSIGHT_ASSERT(stage_ != memtrace::stage::unknown);
    if (stage_ == memtrace::stage::raw) return f(raw_range(bytes_, raw_.context()));
    return with_address(final_, [&](auto address) -> decltype(auto) {
      return f(record_range<basic_final_format<decltype(address)>>(bytes_));
    });
  }

  /// Walks all records and gives what ends the walk: an error of theirs, or errc::bad_end, at the end, for a file
  /// without footer.
  [[nodiscard]] constexpr trace_error validate() const noexcept {
    return with_records([&]<class Format>(const record_range<Format>& records) -> trace_error {
      if (const trace_error error = records.validate()) return error;
      using footer = typename Format::footer;
      const kind_result last = Format::kind_of(bytes_.data() + bytes_.size() - size_of<footer>, records.context());
      return last == Format::records::template kind<footer> ? trace_error{} : trace_error{errc::bad_end, bytes_.size()};
    });
  }

 private:
  friend constexpr result<trace> open(byte_view bytes) noexcept;

  byte_view bytes_;
  raw_file_header raw_;
  memtrace::final_header final_;
  memtrace::stage stage_ = memtrace::stage::unknown;
};

/// Opens a file, of which the first block is enough to tell its format. Errors: errc::bad_magic and errc::truncated
/// where that is unknown; else those of read_final_header, with errc::compressed for any packed file, and of
/// read_raw_header.
[[nodiscard]] constexpr result<trace> open(byte_view bytes) noexcept {
  const auto is_told = [](errc code) { return code != errc::bad_magic && code != errc::truncated; };
  trace opened;
  opened.bytes_ = bytes;
  const auto as_final = read_final_header(bytes);
  if (is_told(as_final.error().code)) {
    opened.final_ = as_final.partial();
    opened.stage_ = stage::final;
    return {opened, as_final.error()};
  }
  const auto as_raw = read_raw_header(bytes);
  // The second entry names the thread: that tells the file from one of another format with a small first number.
  const raw_span entries(bytes);
  const bool names_thread = entries.size() >= 2 && entries[1][raw_entry::type] == raw_type::thread;
  if (!is_told(as_raw.error().code) || !names_thread) return as_final.error();
  opened.raw_ = as_raw.partial();
  opened.stage_ = stage::raw;
  return {opened, as_raw.error()};
}

}  // namespace backsight::memtrace
