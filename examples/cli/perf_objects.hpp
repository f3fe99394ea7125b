// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <backsight/cfi/frame_sections.hpp>
#include <backsight/cfi/table_builder.hpp>
#include <backsight/cfi/table_part.hpp>
#include <backsight/io/kernel_symbols.hpp>
#include <backsight/io/object_symbols.hpp>
#include <backsight/perf/jit_code.hpp>
#include <backsight/perf/processes.hpp>
#include <backsight/perf/unwinder.hpp>

#include "perf_input.hpp"

namespace cli::perf_data {

/// A name for an address, or none, as views that stay.
struct found_name {
  std::string_view text;  ///< As it is printed.
  std::uint64_t offset = 0;
  bool is_known = false;
};

/// Where mappings come from, as far as that tells which files they show.
struct mapping_source {
  std::string folder;             ///< of the recording
  std::string release, hostname;  ///< of the kernel and machine; empty where they are not known
  backsight::order byte_order = backsight::order::little;
};

/// The files that a recording's mappings show: found, opened and their names and tables read when they are first asked
/// for. Several threads may ask once prepare() has been called for all files that they ask for.
class objects {
 public:
  objects(std::vector<std::string> sysroots, mapping_source from, const backsight::perf::process_list& processes);

  /// Makes room for the files that there are now.
  void prepare();

  /// The file of that number; null when it was not found, which is said once.
  [[nodiscard]] backsight::io::object_file* file(std::uint32_t number);
  [[nodiscard]] std::optional<backsight::byte_view> bytes(std::uint32_t number);

  /// The functions of the jitdump of that name, by time; none where it is not found, which is said.
  [[nodiscard]] std::vector<backsight::perf::jitdump::function> functions_of(const std::string& dump);
  /// The file of that number is the code of a function.
  void set_code(std::uint32_t number, const backsight::perf::jitdump::function& code) {
    prepare();
    slots_[number].code = code;
  }

  /// The bytes of the file of that number, where the source of its mapping has them itself. They must stay.
  void set_bytes(std::uint32_t number, backsight::byte_view bytes) {
    prepare();
    slots_[number].own = bytes;
  }

  /// Fills in the table and bias of a mapped file, and which part of the mapping it is for; false when it has no call
  /// frame information. Not for several threads at once.
  template <class Arch>
  [[nodiscard]] bool find_object(const backsight::perf::mapping& at, std::uint64_t address,
                                 backsight::cfi::mapped_object& out) {
    if (at.kind == backsight::perf::file_kind::code) return find_code<Arch>(at.file, out);
    if (at.kind != backsight::perf::file_kind::file && at.kind != backsight::perf::file_kind::vdso) return false;
    backsight::io::object_file* const found = file(at.file);
    if (found == nullptr || static_cast<std::uint16_t>(found->image.machine()) != Arch::elf_machine) return false;
    const auto bias = backsight::perf::bias_of(found->image, at);
    if (!bias) return false;
    out.bias = *bias;
    slot& one = slots_[at.file];
    if (!one.frames) one.frames = find_frames(*found);
    if (one.frames->in_parts) {
      const std::size_t before = one.parts.size();
      if (const backsight::cfi::table_part* const part = part_of<Arch>(*found, one, address - *bias)) {
        // What a part was made of is not read again.
        if (one.parts.size() != before && one.parts.size() % 64 == 0) found->give_back();
        if (part->begin != 0) out.begin = std::max(at.begin, part->begin + *bias);
        if (part->end != ~std::uint64_t{0}) out.end = std::min(at.end, part->end + *bias);
        out.table = part->rules.view();
        return address >= out.begin && address < out.end;
      }
      // The list of functions is damaged: other parts may be there, so the table of all is for this address alone.
      out.begin = address;
      out.end = address + 1;
    }
    if (!one.whole_made) one.table = make_table<Arch>(*found);
    one.whole_made = true;
    if (!one.table) return false;
    out.table = one.table->view();
    return true;
  }

  /// The name for an address of a mapping.
  [[nodiscard]] found_name name_of(const backsight::perf::mapping& at, std::uint64_t address);

 private:
  /// Few functions beside the one that is asked for are asked for, too.
  static constexpr std::size_t functions_of_part = 16;
  /// Where the table of a file comes from: few addresses of a recording lie in it, so that it is made for the functions
  /// around them, where .eh_frame has all there is and a list of its functions.
  struct frame_parts {
    backsight::cfi::frame_section frames, header;
    bool in_parts = false;
  };
  struct slot {
    std::once_flag opened, symbols_made;
    std::unique_ptr<backsight::io::object_file> file;
    std::optional<frame_parts> frames;
    bool whole_made = false;
    std::optional<backsight::cfi::table> table;
    std::map<std::uint64_t, backsight::cfi::table_part> parts;  // by where they begin
    std::unique_ptr<backsight::io::object_symbols> symbols;
    std::optional<backsight::perf::jitdump::function> code;
    backsight::byte_view own;  ///< see set_bytes
    backsight::perf::symbol_table map_names;
    input map_text;  ///< a perf map file
  };

  /// The part of a file's table for a link-time address; null where its list of functions cannot be used.
  template <class Arch>
  [[nodiscard]] static const backsight::cfi::table_part* part_of(const backsight::io::object_file& of, slot& one,
                                                                 std::uint64_t address) {
    using namespace backsight;
    if (const auto after = one.parts.upper_bound(address); after != one.parts.begin()) {
      if (const cfi::table_part& before = std::prev(after)->second; address < before.end) return &before;
    }
    return with_order(of.image.byte_order(), [&](auto o) -> const cfi::table_part* {
      const cfi::frame_section &frames = one.frames->frames, &header = one.frames->header;
      const auto listed = cfi::header_table<o()>::open(header.bytes, header.info.address, of.image.address_size());
      if (!listed) return nullptr;
      auto built = cfi::build_table_part<Arch>(cfi::section<o()>(frames.bytes, frames.info), *listed, address,
                                               functions_of_part);
      if (!built) return nullptr;
      const std::uint64_t begin = built->begin;
      return &one.parts.insert_or_assign(begin, std::move(built.value())).first->second;
    });
  }
  [[nodiscard]] static frame_parts find_frames(const backsight::io::object_file& of);

  template <class Arch>
  [[nodiscard]] static std::optional<backsight::cfi::table> make_table(backsight::io::object_file& of) {
    using namespace backsight;
    return with_order(of.image.byte_order(), [&](auto o) -> std::optional<cfi::table> {
      std::vector<cfi::section<o()>> sections;
      for (const auto kind : {cfi::section_kind::eh_frame, cfi::section_kind::debug_frame}) {
        auto found = cfi::find_frame_section(of.image, kind);
        if (found.error().code == errc::compressed) {
          const auto bytes = io::section_of(of, kind == cfi::section_kind::eh_frame ? ".eh_frame" : ".debug_frame");
          if (!bytes) continue;
          found = cfi::frame_section{*bytes, found.partial().info};
        }
        if (found && !found->bytes.empty()) sections.emplace_back(found->bytes, found->info);
      }
      if (sections.empty()) return std::nullopt;
      auto built = cfi::build_table<Arch>(std::span<const cfi::section<o()>>(sections), cfi::table_options{},
                                          [](const trace_error&, std::uint32_t) {});
      if (!built) return std::nullopt;
      return std::move(built.value());
    });
  }

  /// The table of a function that a jitdump told; its addresses are those of the process.
  template <class Arch>
  [[nodiscard]] bool find_code(std::uint32_t number, backsight::cfi::mapped_object& out) {
    using namespace backsight;
    slot& one = slots_[number];
    if (!one.code || one.code->eh_frame.empty()) return false;
    if (!one.whole_made) {
      cfi::section_info info;
      info.address = one.code->eh_frame_address();
      with_order(from_.byte_order, [&](auto o) {
        if (auto built = cfi::build_table<Arch>(cfi::section<o()>(one.code->eh_frame, info)))
          one.table = std::move(built.value());
      });
    }
    one.whole_made = true;
    if (!one.table) return false;
    out.table = one.table->view();
    return true;
  }

  void read_kernel();
  [[nodiscard]] bool take_kallsyms(const std::string& path, bool packed);
  [[nodiscard]] found_name kernel_name(const backsight::perf::mapping& at, std::uint64_t address);
  [[nodiscard]] found_name map_name(const backsight::perf::mapping& at, std::uint64_t address);

  backsight::io::object_finder finder_;
  backsight::io::symbol_options options_;
  const backsight::perf::process_list* processes_;
  mapping_source from_;
  std::deque<slot> slots_;
  std::deque<input> dumps_;
  std::mutex kernel_mutex_;
  backsight::io::kernel_symbols kernel_;
  bool kernel_read_ = false, has_kernel_ = false;
};

}  // namespace cli::perf_data
