// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/offset_of.hpp>
#include <backsight/core/record.hpp>
#include <backsight/elf/constants.hpp>
#include <backsight/elf/core_schema.hpp>
#include <backsight/elf/notes.hpp>
#include <backsight/elf/sections.hpp>

namespace backsight::elf {

inline constexpr std::uint16_t type_core = 4;  ///< ET_CORE

/// A thread of a core file, the one that ended the process first.
struct core_thread {
  std::int32_t id = 0;
  std::int32_t signal = 0;   ///< Of which the process died, which Linux writes for every thread; 0: none.
  byte_view registers;       ///< As the kernel lays them out for this machine, and what follows in the note.
  std::uint64_t offset = 0;  ///< Of the note.
};

/// A file that was mapped into the process.
struct core_mapping {
  std::uint64_t begin = 0, end = 0, file_offset = 0;
  std::string_view path;
};

/// What the notes of a core file tell of a process: its threads, what was mapped. A view: the bytes must outlive it.
struct core_file {
  image file;
  std::int32_t process = 0;
  std::string_view program;    ///< Its first 15 characters.
  std::string_view arguments;  ///< The first 79 characters of the command.
  std::vector<core_thread> threads;
  std::vector<core_mapping> mappings;  ///< In the order of the note, which is that of addresses.
  std::optional<std::uint64_t> vdso;   ///< Where it lies (AT_SYSINFO_EHDR).
  std::uint64_t missing = 0;           ///< Bytes of segments that the file was to have behind its end.
};

namespace detail {

enum class core_note : std::uint32_t { status = 1, process = 3, auxiliary = 6, files = 0x46494c45 };

[[nodiscard]] inline std::string_view text_in(byte_view field) noexcept {
  const void* const end = field.empty() ? nullptr : std::memchr(field.data(), 0, field.size());
  const char* const begin = reinterpret_cast<const char*>(field.data());
  return {begin, end == nullptr ? field.size() : static_cast<std::size_t>(static_cast<const char*>(end) - begin)};
}

/// Reads the notes that say of what kind they are in their own words; offsets are those of the file.
template <class OnFault>
class core_notes {
 public:
  core_notes(core_file& to, OnFault& on_fault) noexcept : to_(to), on_fault_(on_fault) {}

  void read(byte_view notes, std::uint64_t at) {
    const std::size_t end = for_each_note(notes, to_.file.byte_order(), 4, [&](const note& one) {
      // Other owners number their notes as they like.
      if (text_in(one.name) == "CORE") take(static_cast<core_note>(one.type), one.description, at + one.offset);
      return true;
    });
    if (end != notes.size()) on_fault_(fault{errc::truncated, at + end, notes.size() - end});
  }

 private:
  void take(core_note type, byte_view bytes, std::uint64_t at) {
    switch (type) {
      case core_note::status: return take_status(bytes, at);
      case core_note::process: return take_process(bytes, at);
      case core_note::auxiliary: return take_auxiliary(bytes);
      case core_note::files: return take_files(bytes, at);
    }
  }

  void take_status(byte_view bytes, std::uint64_t at) {
    const std::size_t size = to_.file.size_as<wire::process_status>();
    if (bytes.size() < size) return on_fault_(fault{errc::truncated, at, bytes.size()});
    to_.file.read_as<wire::process_status>(bytes.data(), [&](auto status) {
      using s = typename decltype(status)::schema_type;
      to_.threads.push_back({status[s::thread], status[s::signal], bytes.subspan(size), at});
    });
  }

  void take_process(byte_view bytes, std::uint64_t at) {
    using wire::process_text;
    constexpr std::size_t size = size_of<process_text>;
    if (bytes.size() < size) return on_fault_(fault{errc::truncated, at, bytes.size()});
    const byte_view end = bytes.last(size);
    with_order(to_.file.byte_order(),
               [&](auto o) { to_.process = record<process_text, o()>(end.data())[process_text::process]; });
    const auto text = [&](auto member) {
      return text_in(end.subspan(offset_of<process_text>(member), bytes_of(member)));
    };
    to_.program = text(process_text::program);
    to_.arguments = text(process_text::arguments);
  }

  void take_auxiliary(byte_view bytes) {
    constexpr std::uint64_t vdso = 33;  // AT_SYSINFO_EHDR
    const std::size_t size = to_.file.size_as<wire::auxiliary_value>();
    for (; bytes.size() >= size; bytes = bytes.subspan(size)) {
      const auto [type, value] = to_.file.read_as<wire::auxiliary_value>(bytes.data(), [](auto entry) {
        using e = typename decltype(entry)::schema_type;
        return std::pair<std::uint64_t, std::uint64_t>(entry[e::type], entry[e::value]);
      });
      if (type == 0) return;
      if (type == vdso) to_.vdso = value;
    }
  }

  void take_files(byte_view bytes, std::uint64_t at) {
    const std::size_t head_size = to_.file.size_as<wire::mapped_files>();
    const std::size_t entry_size = to_.file.size_as<wire::mapped_file>();
    if (bytes.size() < head_size) return on_fault_(fault{errc::truncated, at, bytes.size()});
    const auto [count, page] = to_.file.read_as<wire::mapped_files>(bytes.data(), [](auto head) {
      using h = typename decltype(head)::schema_type;
      return std::pair<std::uint64_t, std::uint64_t>(head[h::count], head[h::page_size]);
    });
    const byte_view entries = bytes.subspan(head_size);
    if (count > entries.size() / entry_size) return on_fault_(fault{errc::bad_size, at, bytes.size()});
    byte_view names = entries.subspan(static_cast<std::size_t>(count) * entry_size);
    for (std::size_t i = 0; i < count; ++i) {
      core_mapping made;
      const std::uint64_t pages = to_.file.read_as<wire::mapped_file>(entries.data() + i * entry_size, [&](auto entry) {
        using e = typename decltype(entry)::schema_type;
        made.begin = entry[e::begin];
        made.end = entry[e::end];
        return std::uint64_t{entry[e::page_offset]};
      });
      const std::uint64_t name_at = at + static_cast<std::uint64_t>(names.data() - bytes.data());
      made.path = text_in(names);
      if (made.path.size() == names.size()) return on_fault_(fault{errc::bad_string, name_at, names.size()});
      names = names.subspan(made.path.size() + 1);
      if (made.begin >= made.end || (page != 0 && pages > ~std::uint64_t{0} / page)) {
        on_fault_(fault{errc::bad_value, at + head_size + i * entry_size, entry_size});
        continue;
      }
      made.file_offset = pages * page;
      to_.mappings.push_back(made);
    }
  }

  core_file& to_;
  OnFault& on_fault_;
};

}  // namespace detail

/// Opens a core file of any machine. A pass over its program headers and notes, of which segments that begin before the
/// last one's end are left out; memory for the threads and mappings that the notes hold. What is damaged is told to
/// `on_fault(fault)` and left out; a file that was cut has what lies before. Errors: those of elf::open,
/// errc::unsupported_type where the file is no core file.
template <class OnFault>
[[nodiscard]] result<core_file> open_core(byte_view bytes, OnFault&& on_fault) {
  using header = wire::file_header<std::uint64_t>;
  constexpr std::uint64_t type_offset = size_of<wire::identification> + offset_of<header>(header::type);
  const auto opened = elf::open(bytes);
  if (!opened) return opened.error();
  if (opened->type() != type_core) return {errc::unsupported_type, type_offset};
  core_file made;
  made.file = *opened;
  detail::core_notes<std::remove_reference_t<OnFault>> notes(made, on_fault);
  std::uint64_t read_to = 0;  // So that no byte is read twice, however many headers name it.
  for (const segment s : opened->segments()) {
    const std::uint64_t present = s.offset >= bytes.size() ? 0 : bytes.size() - s.offset;
    if (s.file_size > present)
      made.missing =
          std::max(made.missing, s.file_size - present + (s.offset - std::min<std::uint64_t>(s.offset, bytes.size())));
    if (s.type != segment_note || present == 0) continue;
    const std::uint64_t size = std::min(s.file_size, present);
    if (s.offset < read_to) {
      on_fault(fault{errc::bad_value, s.offset, size});
      continue;
    }
    notes.read(*opened->slice(s.offset, size), s.offset);
    read_to = s.offset + size;
  }
  return made;
}

}  // namespace backsight::elf
