// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <backsight/core/schema.hpp>

// The notes of core files of Linux. Source: include/linux/elfcore.h (struct elf_prstatus_common) and fs/binfmt_elf.c
// (fill_files_note, fill_auxv_note) of Linux; Word is the unsigned integer of the process' address size.
namespace backsight::elf::wire {

/// NT_PRSTATUS, one for each thread; the registers follow, then a number that says whether there are others.
template <class Word>
struct process_status {
  static constexpr const char* name = "prstatus";
  static constexpr field<"si_signo", std::int32_t> signal_info{};
  static constexpr field<"si_code", std::int32_t> signal_code{};
  static constexpr field<"si_errno", std::int32_t> signal_error{};
  static constexpr field<"pr_cursig", std::int16_t> signal{};
  static constexpr padding<16> reserved{};
  static constexpr field<"pr_sigpend", Word> pending{};
  static constexpr field<"pr_sighold", Word> held{};
  static constexpr field<"pr_pid", std::int32_t> thread{};
  static constexpr field<"pr_ppid", std::int32_t> parent{};
  static constexpr field<"pr_pgrp", std::int32_t> group{};
  static constexpr field<"pr_sid", std::int32_t> session{};
  static constexpr padding<sizeof(Word) * 8 * 8> times{};
  static constexpr layout fields{signal_info, signal_code, signal_error, signal, reserved, pending,
                                 held,        thread,      parent,       group,  session,  times};
};
static_assert(schema<process_status<std::uint32_t>> && size_of<process_status<std::uint32_t>> == 72);
static_assert(schema<process_status<std::uint64_t>> && size_of<process_status<std::uint64_t>> == 112);

/// The end of NT_PRPSINFO: in front of it lie numbers whose widths differ between machines.
struct process_text {
  static constexpr const char* name = "prpsinfo";
  static constexpr std::size_t size = 112;
  static constexpr field<"pr_pid", std::int32_t> process{};
  static constexpr field<"pr_ppid", std::int32_t> parent{};
  static constexpr field<"pr_pgrp", std::int32_t> group{};
  static constexpr field<"pr_sid", std::int32_t> session{};
  static constexpr field<"pr_fname", std::array<std::byte, 16>> program{};     ///< NUL-terminated where there is room.
  static constexpr field<"pr_psargs", std::array<std::byte, 80>> arguments{};  ///< The same.
  static constexpr layout fields{process, parent, group, session, program, arguments};
};
static_assert(schema<process_text>);

/// The head of NT_FILE; an entry for each mapping follows, then the paths in the same order, each NUL-terminated.
template <class Word>
struct mapped_files {
  static constexpr const char* name = "NT_FILE";
  static constexpr field<"count", Word> count{};
  static constexpr field<"page_size", Word> page_size{};
  static constexpr layout fields{count, page_size};
};
static_assert(schema<mapped_files<std::uint32_t>> && schema<mapped_files<std::uint64_t>>);

/// A mapping in NT_FILE; its offset counts pages.
template <class Word>
struct mapped_file {
  static constexpr const char* name = "NT_FILE entry";
  static constexpr field<"start", Word> begin{};
  static constexpr field<"end", Word> end{};
  static constexpr field<"file_ofs", Word> page_offset{};
  static constexpr layout fields{begin, end, page_offset};
};
static_assert(schema<mapped_file<std::uint32_t>> && schema<mapped_file<std::uint64_t>>);

/// An entry of NT_AUXV; one of type 0 is the last.
template <class Word>
struct auxiliary_value {
  static constexpr const char* name = "auxv";
  static constexpr field<"a_type", Word> type{};
  static constexpr field<"a_val", Word> value{};
  static constexpr layout fields{type, value};
};
static_assert(schema<auxiliary_value<std::uint32_t>> && schema<auxiliary_value<std::uint64_t>>);

}  // namespace backsight::elf::wire
