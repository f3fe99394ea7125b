// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/io/memtrace_folder.hpp>
#include <backsight/memtrace/trace.hpp>

#include "input_file.hpp"

namespace cli::memtrace {

using backsight::memtrace::stage;

/// The format of a file of any packing, told from its first record; errors other than "not a memtrace" are given too.
[[nodiscard]] backsight::result<stage> stage_of(const std::string& path);
/// The stage of a file that is not packed, by its first bytes.
[[nodiscard]] stage stage_of_bytes(backsight::byte_view bytes);

/// Calls `f(block, offset)` for the unpacked bytes of a file, in blocks of whole records as far as there are any; `f`
/// gives an error, with an offset within the block, to stop. Memory does not grow with the file.
backsight::trace_error for_each_block(
    const std::string& path, const std::function<backsight::trace_error(backsight::byte_view, std::uint64_t)>& f);

/// Calls `f` with the bytes of a file as they lie there, packed or not.
backsight::trace_error with_packed_bytes(const std::string& path, const std::function<void(backsight::byte_view)>& f);

/// The header of a final file, read from its start alone.
[[nodiscard]] backsight::result<backsight::memtrace::final_header> final_header_of(const std::string& path);

/// Gives the whole records of a final file to `f(block)` in blocks. An error of `f` has its offset in the file. Errors:
/// those of for_each_block and of `f`, errc::truncated for a part of a record at the end, errc::bad_end for a file
/// without a footer.
template <class Address, class F>
backsight::trace_error for_each_final_block(const std::string& path, F&& f) {
  using namespace backsight;
  constexpr std::size_t step = size_of<backsight::memtrace::basic_entry<Address>>;
  std::uint64_t end = 0;
  bool footer = false;
  const trace_error error = for_each_block(path, [&](byte_view block, std::uint64_t offset) -> trace_error {
    const byte_view whole = block.first(block.size() / step * step);
    if (const trace_error bad = f(whole)) return {bad.code, bad.offset - offset};
    if (whole.size() != block.size()) return {errc::truncated, whole.size()};
    end = offset + block.size();
    using backsight::memtrace::basic_entry, backsight::memtrace::trace_type;
    const record<basic_entry<Address>, order::little> last(block.data() + block.size() - step);
    footer = last[basic_entry<Address>::type] == trace_type::footer;
    return {};
  });
  return error || footer ? error : trace_error{errc::bad_end, end};
}

/// As memtrace::trace::validate(), and errors of opening the file.
[[nodiscard]] backsight::trace_error damage_of(backsight::byte_view bytes);

/// Reports what ended the reading of a file's records, and that the rest is left out; gives bad_input.
int report_damage(const std::string& path, const backsight::trace_error& error);

/// All unpacked bytes of a file: mapped where it is plain, else in memory.
class loaded_file {
 public:
  explicit loaded_file(const std::string& path);
  loaded_file(const loaded_file&) = delete;
  loaded_file& operator=(const loaded_file&) = delete;
  loaded_file(loaded_file&&) = default;
  loaded_file& operator=(loaded_file&&) = default;
  ~loaded_file() = default;
  [[nodiscard]] backsight::byte_view bytes() const { return bytes_; }
  /// What ended the unpacking early, if anything; the bytes up to there are kept.
  [[nodiscard]] const backsight::trace_error& error() const { return error_; }

 private:
  input file_;
  std::vector<std::byte> unpacked_;
  backsight::byte_view bytes_;
  backsight::trace_error error_;
};

using trace_folder = backsight::io::memtrace_folder;

/// As io::find_memtrace_folders, which see; what it passes by is told in a warning, once.
[[nodiscard]] std::vector<trace_folder> folders_at(const std::string& path);

/// Says on stderr which folder is meant where the imitated tool takes one at a time.
void note_first_folder(const std::vector<trace_folder>& folders);

/// The last part of a path.
[[nodiscard]] std::string base_name(const std::string& path);

/// What an error says beyond its code, as when a library for the file's packing was not there at build time.
[[nodiscard]] std::string detail_of(const std::string& path, const backsight::trace_error& error);

}  // namespace cli::memtrace
