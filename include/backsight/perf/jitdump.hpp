// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <backsight/core/cursor.hpp>
#include <backsight/core/offset_of.hpp>
#include <backsight/core/record_range.hpp>
#include <backsight/perf/records.hpp>

/// jitdump: what a just-in-time compiler writes of its code beside a perf recording, as `jit-PID.dump`.
/// Source: tools/perf/Documentation/jitdump-specification.txt and tools/perf/util/jitdump.{h,c}.
namespace backsight::perf::jitdump {

/// "JiTD" as a number of the writer's byte order.
inline constexpr std::uint32_t file_magic = 0x4a695444;

struct file_header {
  static constexpr const char* name = "file_header";
  static constexpr bool has_payload = true;
  static constexpr field<"magic", std::uint32_t> magic{};
  static constexpr field<"version", std::uint32_t> version{};
  /// Of this header; the records follow it.
  static constexpr field<"total_size", std::uint32_t> total_size{};
  static constexpr field<"elf_mach", std::uint32_t> elf_mach{};
  static constexpr field<"pid", std::uint32_t> pid{};
  static constexpr field<"timestamp", std::uint64_t> timestamp{};
  /// Bit 0: times are ticks of the processor.
  static constexpr field<"flags", std::uint64_t> flags{};
  static constexpr layout fields{at<0>(magic),  at<4>(version), at<8>(total_size), at<12>(elf_mach),
                                 padding<32>{}, at<20>(pid),    at<24>(timestamp), at<32>(flags)};
};
static_assert(schema<file_header> && size_of<file_header> == 40);

enum class record_id : std::uint32_t { code_load = 0, code_move = 1, debug_info = 2, close = 3, unwinding_info = 4 };

[[nodiscard]] constexpr const char* enumerator_name(record_id id) noexcept {
  constexpr const char* names[]{"code_load", "code_move", "debug_info", "close", "unwinding_info"};
  return static_cast<std::uint32_t>(id) < 5 ? names[static_cast<std::uint32_t>(id)] : nullptr;
}

/// The members that every record begins with; `total_size` counts them too.
struct record_head {
  static constexpr field<"id", record_id> id{};
  static constexpr field<"total_size", std::uint32_t> total_size{};
  static constexpr field<"timestamp", std::uint64_t> timestamp{};
};

/// Code that was made: the payload is its name, a zero, and the code.
struct code_load_record : record_head {
  static constexpr const char* name = "code_load";
  static constexpr bool has_payload = true;
  static constexpr field<"pid", std::uint32_t> pid{};
  static constexpr field<"tid", std::uint32_t> tid{};
  static constexpr field<"vma", std::uint64_t> vma{};
  static constexpr field<"code_addr", std::uint64_t> code_addr{};
  static constexpr field<"code_size", std::uint64_t> code_size{};
  static constexpr field<"code_index", std::uint64_t> code_index{};
  static constexpr layout fields{at<0>(id),   at<4>(total_size), at<8>(timestamp),  at<16>(pid),       at<20>(tid),
                                 at<24>(vma), at<32>(code_addr), at<40>(code_size), at<48>(code_index)};
};
static_assert(schema<code_load_record>);

/// Code that was moved.
struct code_move_record : record_head {
  static constexpr const char* name = "code_move";
  static constexpr bool has_payload = true;
  static constexpr field<"pid", std::uint32_t> pid{};
  static constexpr field<"tid", std::uint32_t> tid{};
  static constexpr field<"vma", std::uint64_t> vma{};
  static constexpr field<"old_code_addr", std::uint64_t> old_code_addr{};
  static constexpr field<"new_code_addr", std::uint64_t> new_code_addr{};
  static constexpr field<"code_size", std::uint64_t> code_size{};
  static constexpr field<"code_index", std::uint64_t> code_index{};
  static constexpr layout fields{at<0>(id),         at<4>(total_size), at<8>(timestamp),      at<16>(pid),
                                 at<20>(tid),       at<24>(vma),       at<32>(old_code_addr), at<40>(new_code_addr),
                                 at<48>(code_size), at<56>(code_index)};
};
static_assert(schema<code_move_record>);

/// Lines of the source of the code_load that comes next: the payload is `nr_entry` entries, see for_each_line.
struct debug_info_record : record_head {
  static constexpr const char* name = "debug_info";
  static constexpr bool has_payload = true;
  static constexpr field<"code_addr", std::uint64_t> code_addr{};
  static constexpr field<"nr_entry", std::uint64_t> nr_entry{};
  static constexpr layout fields{at<0>(id), at<4>(total_size), at<8>(timestamp), at<16>(code_addr), at<24>(nr_entry)};
};
static_assert(schema<debug_info_record>);

/// The end of the dump.
struct close_record : record_head {
  static constexpr const char* name = "close";
  static constexpr bool has_payload = true;
  static constexpr layout fields{at<0>(id), at<4>(total_size), at<8>(timestamp)};
};
static_assert(schema<close_record>);

/// Unwinding of the code_load that comes next: the payload is .eh_frame and, as its last bytes, .eh_frame_hdr.
struct unwinding_info_record : record_head {
  static constexpr const char* name = "unwinding_info";
  static constexpr bool has_payload = true;
  static constexpr field<"unwind_data_size", std::uint64_t> unwind_data_size{};
  static constexpr field<"eh_frame_hdr_size", std::uint64_t> eh_frame_hdr_size{};
  static constexpr field<"mapped_size", std::uint64_t> mapped_size{};
  static constexpr layout fields{
      at<0>(id),          at<4>(total_size), at<8>(timestamp), at<16>(unwind_data_size), at<24>(eh_frame_hdr_size),
      at<32>(mapped_size)};
};
static_assert(schema<unwinding_info_record>);

/// A record of another number.
struct other_record : record_head {
  static constexpr const char* name = "other";
  static constexpr bool has_payload = true;
  static constexpr layout fields{at<0>(id), at<4>(total_size), at<8>(timestamp)};
};
static_assert(schema<other_record>);

/// The records behind the header. Their sizes lead on, whatever they are.
template <order O>
struct jitdump_format {
  using records = record_list<code_load_record, code_move_record, debug_info_record, close_record,
                              unwinding_info_record, other_record>;
  using context = no_context;
  static constexpr order byte_order = O;
  static constexpr std::size_t head_bytes = size_of<other_record>;

  [[nodiscard]] static constexpr kind_result kind_of(const std::byte* at, const context&) noexcept {
    switch (record<other_record, O>(at)[other_record::id]) {
      case record_id::code_load: return records::template kind<code_load_record>;
      case record_id::code_move: return records::template kind<code_move_record>;
      case record_id::debug_info: return records::template kind<debug_info_record>;
      case record_id::close: return records::template kind<close_record>;
      case record_id::unwinding_info: return records::template kind<unwinding_info_record>;
    }
    return records::template kind<other_record>;
  }

  /// errc::bad_size where the record is smaller than its members or than what they count.
  template <schema S>
  [[nodiscard]] static constexpr payload_result payload_size(record<S, O> item, const context&) noexcept {
    const std::size_t size = item[S::total_size];
    if (size < size_of<S>) return errc::bad_size;
    const std::size_t payload = size - size_of<S>;
    if constexpr (requires { S::unwind_data_size; }) {
      if (item[S::unwind_data_size] > payload || item[S::eh_frame_hdr_size] > item[S::unwind_data_size])
        return errc::bad_size;
    } else if constexpr (std::is_same_v<S, code_load_record>) {
      if (item[S::code_size] > payload) return errc::bad_size;
    }
    return payload;
  }
};

/// A range over the records; any_record<jitdump_format<O>> each.
template <order O>
using jitdump_records = record_range<jitdump_format<O>>;

/// An opened dump; the bytes must outlive it.
class dump {
 public:
  constexpr dump() = default;
  [[nodiscard]] constexpr order byte_order() const noexcept { return order_; }
  [[nodiscard]] constexpr std::uint32_t machine() const noexcept { return machine_; }
  [[nodiscard]] constexpr std::uint32_t pid() const noexcept { return pid_; }
  /// Times are ticks of the processor, not of the clock of the recording.
  [[nodiscard]] constexpr bool times_are_ticks() const noexcept { return (flags_ & 1U) != 0; }
  /// The records. Precondition: O is byte_order().
  template <order O>
  [[nodiscard]] constexpr jitdump_records<O> records() const noexcept {
    return jitdump_records<O>(bytes_.subspan(header_size_), {}, header_size_);
  }

 private:
  friend constexpr result<dump> open(byte_view bytes) noexcept;

  byte_view bytes_;
  std::uint64_t flags_ = 0;
  std::uint32_t header_size_ = 0, machine_ = 0, pid_ = 0;
  order order_ = order::little;
};

/// Opens a dump. Errors: errc::truncated, errc::bad_magic at 0, errc::unsupported_version at 4, errc::bad_size at 8.
[[nodiscard]] constexpr result<dump> open(byte_view bytes) noexcept {
  if (bytes.size() < size_of<file_header>) return {errc::truncated, bytes.size()};
  const bool little = load<std::uint32_t, order::little>(bytes.data()) == file_magic;
  if (!little && load<std::uint32_t, order::big>(bytes.data()) != file_magic) return {errc::bad_magic, 0};
  return with_order(little ? order::little : order::big, [&](auto o) -> result<dump> {
    const record<file_header, o()> header(bytes.data());
    if (header[file_header::version] != 1)
      return {errc::unsupported_version, offset_of<file_header>(file_header::version)};
    dump opened;
    opened.header_size_ = header[file_header::total_size];
    if (opened.header_size_ < size_of<file_header> || opened.header_size_ > bytes.size())
      return {errc::bad_size, offset_of<file_header>(file_header::total_size)};
    opened.bytes_ = bytes;
    opened.order_ = o();
    opened.machine_ = header[file_header::elf_mach];
    opened.pid_ = header[file_header::pid];
    opened.flags_ = header[file_header::flags];
    return opened;
  });
}

/// The name of a code_load.
template <order O>
[[nodiscard]] std::string_view name_of(const record<code_load_record, O>& item) noexcept {
  return text_of(item.payload());
}
/// Its code: the last bytes of the record.
template <order O>
[[nodiscard]] constexpr byte_view code_of(const record<code_load_record, O>& item) noexcept {
  return item.payload().last(static_cast<std::size_t>(item[code_load_record::code_size]));
}
/// .eh_frame of an unwinding_info, which comes first, whatever the specification says.
template <order O>
[[nodiscard]] constexpr byte_view eh_frame_of(const record<unwinding_info_record, O>& item) noexcept {
  const std::uint64_t all = item[unwinding_info_record::unwind_data_size];
  return item.payload().first(static_cast<std::size_t>(all - item[unwinding_info_record::eh_frame_hdr_size]));
}
/// .eh_frame_hdr of an unwinding_info.
template <order O>
[[nodiscard]] constexpr byte_view eh_frame_hdr_of(const record<unwinding_info_record, O>& item) noexcept {
  return item.payload()
      .first(static_cast<std::size_t>(item[unwinding_info_record::unwind_data_size]))
      .last(static_cast<std::size_t>(item[unwinding_info_record::eh_frame_hdr_size]));
}

/// A line of the source.
struct source_line {
  std::uint64_t code_addr = 0;
  std::uint32_t line = 0, discriminator = 0;
  std::string_view file;
};
/// Calls `f(source_line)` for each entry of a debug_info that begins at `offset`. Errors: errc::truncated,
/// errc::bad_string.
template <order O, class F>
trace_error for_each_line(const record<debug_info_record, O>& item, std::uint64_t offset, F&& f) {
  cursor<O> in(item.payload(), offset + size_of<debug_info_record>);
  std::string_view file;
  for (std::uint64_t left = item[debug_info_record::nr_entry]; left != 0; --left) {
    source_line line;
    line.code_addr = in.template read<std::uint64_t>();
    line.line = in.template read<std::uint32_t>();
    line.discriminator = in.template read<std::uint32_t>();
    const byte_view text = in.c_string();
    if (in.failed()) break;
    // The same file as of the entry before.
    if (text.size() != 1 || text[0] != std::byte{0xff}) file = text_of(text);
    line.file = file;
    f(line);
  }
  return in.error();
}

}  // namespace backsight::perf::jitdump
