// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <backsight/cfi/apple/mach_o.hpp>
#include <backsight/cfi/apple/unwind_info.hpp>
#include <backsight/cfi/arch/aarch64.hpp>
#include <backsight/cfi/arch/x86_64.hpp>
#include <backsight/cfi/interpreter.hpp>
#include <backsight/cfi/row_table.hpp>
#include <backsight/cfi/rule.hpp>
#include <backsight/cfi/section.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>

// Compact encodings as rows. Source: Apple's compact_unwind_encoding.h; registers by their DWARF numbers.
namespace backsight::cfi::apple {

/// What an encoding says in its mode bits.
enum class unwind_mode : std::uint8_t {
  none,     ///< Nothing: a leaf without a frame, or code that nobody unwinds through.
  row,      ///< A row.
  dwarf,    ///< An FDE of __eh_frame has the rows.
  unknown,  ///< A mode that the machine has not got.
};

namespace detail {

inline constexpr std::uint32_t mode_shift = 24, mode_mask = 0xf, dwarf_offset_mask = 0xffffff;

/// The frame of a function: CFA = register + offset, and where the registers lie.
inline void set_cfa(row& made, std::uint32_t reg, std::int64_t offset) {
  made.cfa = {cfa_kind::register_offset, reg, offset, {}};
}
inline void set_saved(row& made, std::uint32_t reg, std::int64_t at) {
  (void)made.rules.set({reg, rule_kind::at_cfa_offset, 0, at});
}

/// The encodings of x86-64.
struct x86_64_encoding {
  using arch = cfi::arch::x86_64;
  static constexpr std::uint32_t dwarf_mode = 4;
  static constexpr std::array<std::uint8_t, 7> registers{0, 3, 12, 13, 14, 15, 6};  // None, rbx, r12 to r15, rbp.
  static constexpr std::int64_t word = 8;

  /// Errors: bad_value (registers that are none), out_of_range (the code that holds the size is not there).
  [[nodiscard]] static errc make(std::uint32_t encoding, std::uint64_t function, const mach_o& file, row& made) {
    switch (encoding >> mode_shift & mode_mask) {
      case 1: return with_frame_pointer(encoding, made);
      case 2: return without(encoding, std::int64_t{encoding >> 16 & 0xffU} * word, made);
      default: break;
    }
    // The size is an operand of the code.
    const byte_view code = file.bytes_from(function + (encoding >> 16 & 0xffU));
    if (code.size() < 4) return errc::out_of_range;
    const std::uint32_t size = load<std::uint32_t, mach_o_order>(code.data());
    return without(encoding, std::int64_t{size} + std::int64_t{encoding >> 13 & 7U} * word, made);
  }
  [[nodiscard]] static constexpr bool has_mode(std::uint32_t mode) noexcept { return mode >= 1 && mode <= 3; }

 private:
  [[nodiscard]] static errc with_frame_pointer(std::uint32_t encoding, row& made) {
    set_cfa(made, arch::frame_pointer, 2 * word);
    set_saved(made, arch::return_address, -word);
    set_saved(made, arch::frame_pointer, -2 * word);
    const std::int64_t lowest = -2 * word - std::int64_t{encoding >> 16 & 0xffU} * word;
    for (std::uint32_t i = 0; i < 5; ++i) {
      const std::uint32_t number = encoding >> (3 * i) & 7U;
      if (number == 0) continue;
      if (number >= registers.size() - 1) return errc::bad_value;
      set_saved(made, registers[number], lowest + std::int64_t{i} * word);
    }
    return errc::ok;
  }
  [[nodiscard]] static errc without(std::uint32_t encoding, std::int64_t size, row& made) {
    set_cfa(made, arch::stack_pointer, size);
    set_saved(made, arch::return_address, -word);
    const std::uint32_t count = encoding >> 10 & 7U;
    if (count > 6) return errc::bad_value;
    // Each digit counts the registers that were not used yet; digit i may be one of as many as are left.
    std::array<std::uint32_t, 6> digits{};
    std::uint32_t rest = encoding & 0x3ffU, weight = 1;
    for (std::uint32_t i = count; i-- > 0;) {
      const std::uint32_t choices = 6 - i;
      digits[i] = rest / weight % choices;
      weight *= choices;
    }
    if (rest >= weight) return errc::bad_value;
    std::uint32_t used = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint32_t number = 1;
      for (std::uint32_t left = digits[i];; ++number) {
        if ((used >> number & 1U) != 0) continue;
        if (left-- == 0) break;
      }
      used |= 1U << number;
      set_saved(made, registers[number], -word - std::int64_t{count - i} * word);
    }
    return errc::ok;
  }
};

/// The encodings of arm64.
struct arm64_encoding {
  using arch = cfi::arch::aarch64;
  static constexpr std::uint32_t dwarf_mode = 3;
  struct pair {
    std::uint8_t bit, reg;  // The register and the one behind it.
  };
  static constexpr std::array<pair, 9> pairs{
      {{0, 19}, {1, 21}, {2, 23}, {3, 25}, {4, 27}, {8, 72}, {9, 74}, {10, 76}, {11, 78}}};

  [[nodiscard]] static errc make(std::uint32_t encoding, std::uint64_t, const mach_o&, row& made) {
    std::int64_t at = -8;
    if ((encoding >> mode_shift & mode_mask) == 4) {
      set_cfa(made, arch::frame_pointer, 16);
      set_saved(made, arch::return_address, -8);
      set_saved(made, arch::frame_pointer, -16);
      at = -24;
    } else {
      set_cfa(made, arch::stack_pointer, 16 * std::int64_t{encoding >> 12 & 0xfffU});
    }
    for (const pair& p : pairs) {
      if ((encoding >> p.bit & 1U) == 0) continue;
      set_saved(made, p.reg, at);
      set_saved(made, p.reg + 1U, at - 8);
      at -= 16;
    }
    return errc::ok;
  }
  [[nodiscard]] static constexpr bool has_mode(std::uint32_t mode) noexcept { return mode == 2 || mode == 4; }
};

template <class F>
decltype(auto) with_encoding(cpu machine, F&& f) {
  if (machine == cpu::x86_64) return f(x86_64_encoding{});
  return f(arm64_encoding{});
}

}  // namespace detail

[[nodiscard]] inline unwind_mode mode_of(cpu machine, std::uint32_t encoding) {
  const std::uint32_t mode = encoding >> detail::mode_shift & detail::mode_mask;
  if (mode == 0) return unwind_mode::none;
  return detail::with_encoding(machine, [&](auto e) {
    if (mode == e.dwarf_mode) return unwind_mode::dwarf;
    return e.has_mode(mode) ? unwind_mode::row : unwind_mode::unknown;
  });
}
/// Where in __eh_frame the FDE of a function lies whose mode is dwarf.
[[nodiscard]] constexpr std::uint32_t eh_frame_offset(std::uint32_t encoding) noexcept {
  return encoding & detail::dwarf_offset_mask;
}

/// The row of an entry whose mode is row, for the whole function: right at calls, not in prologues and epilogues.
/// Errors: unknown_record (another mode), bad_value, and out_of_range where the code that tells the size is not in the
/// file.
[[nodiscard]] inline errc make_row(const mach_o& file, const unwind_entry& of, row& made) {
  made.rules.clear();
  made.begin = of.begin;
  made.end = of.end;
  if (mode_of(file.machine(), of.encoding) != unwind_mode::row) return errc::unknown_record;
  return detail::with_encoding(file.machine(), [&](auto e) { return e.make(of.encoding, of.begin, file, made); });
}

/// A Mach-O file with its compact unwinding and, where the file has it, __eh_frame. A view.
struct unwind_source {
  mach_o file;
  unwind_info info;
  section<mach_o_order> eh_frame;
  std::uint64_t info_offset = 0;      ///< In the file.
  std::uint64_t eh_frame_offset = 0;  ///< In the file.

  /// Errors: those of mach_o::open, missing_section, and those of unwind_info::open.
  [[nodiscard]] static result<unwind_source> open(byte_view bytes) {
    const auto file = mach_o::open(bytes);
    if (!file) return file.error();
    unwind_source made;
    made.file = *file;
    const auto stored = file->section("__TEXT", "__unwind_info");
    if (!stored) return {errc::missing_section, 0};
    made.info_offset = file->offset_in_file(stored->bytes.data());
    const auto info = unwind_info::open(stored->bytes, file->base());
    if (!info) return {info.error().code, made.info_offset + info.error().offset};
    made.info = *info;
    if (const auto frames = file->section("__TEXT", "__eh_frame")) {
      section_info about;
      about.address = frames->address;
      made.eh_frame = section<mach_o_order>(frames->bytes, about);
      made.eh_frame_offset = file->offset_in_file(frames->bytes.data());
    }
    return made;
  }
};

/// Calls `f(row, cie, expressions)` for each row of a file for `Arch`, ascending by address: one for each entry with a
/// compact encoding, those of the FDE where the encoding says so. What is broken is left out and told to
/// `report(trace_error)` with its offset in the file; entries of mode none have no rows.
template <class Arch, class F, class Report>
void for_each_row(const unwind_source& from, F&& f, Report&& report) {
  std::vector<context<>> memory(1);
  row_machine<Arch, mach_o_order> machine(from.eh_frame, memory[0]);
  std::vector<row> rows(1);
  cie common;
  common.return_address_register = Arch::return_address;
  const auto in_eh_frame = [&](const trace_error& e) { report(trace_error{e.code, from.eh_frame_offset + e.offset}); };
  const auto from_dwarf = [&](const unwind_entry& of) {
    const std::uint64_t at = eh_frame_offset(of.encoding);
    const byte_view bytes = from.eh_frame.bytes();
    if (at > bytes.size() || bytes.size() - at < 4)
      return report(trace_error{errc::out_of_range, from.info_offset + of.offset});
    const auto e = from.eh_frame.entry_at(at);
    if (!e) return in_eh_frame(e.error());
    if (e->is_cie || e->error != errc::ok) return in_eh_frame({errc::unpaired_record, at});
    if (const trace_error error = machine.load_cie(e->cie_offset)) return in_eh_frame(error);
    const auto found = from.eh_frame.parse_fde(*e, machine.current_cie());
    if (!found) return in_eh_frame(found.error());
    machine.begin(*found);
    machine.for_each([&](const row& r) {
      // Rows are told for the addresses of the entry alone, so that they ascend.
      if (r.end <= of.begin || r.begin >= of.end || r.begin >= r.end) return;
      rows[0] = r;
      rows[0].begin = r.begin < of.begin ? of.begin : r.begin;
      rows[0].end = r.end > of.end ? of.end : r.end;
      f(std::as_const(rows[0]), machine.current_cie(), bytes);
    });
    if (machine.error()) in_eh_frame(machine.error());
  };
  from.info.for_each(
      [&](const unwind_entry& of) {
        const unwind_mode mode = mode_of(from.file.machine(), of.encoding);
        if (mode == unwind_mode::none) return;
        if (mode == unwind_mode::dwarf) return from_dwarf(of);
        if (const errc code = make_row(from.file, of, rows[0]); code != errc::ok)
          return report(trace_error{code, from.info_offset + of.offset});
        f(std::as_const(rows[0]), std::as_const(common), byte_view{});
      },
      [&](const trace_error& e) { report(trace_error{e.code, from.info_offset + e.offset}); });
}

/// Builds an unwind table from a file, as from other sources of rows. `report(trace_error)` is called for what is left
/// out. Errors: unsupported_type (a file for another machine than Arch), those of build_table_of_rows.
template <class Arch, class Report>
[[nodiscard]] result<table> build_table(const unwind_source& from, const table_options& options, Report&& report) {
  const bool same = detail::with_encoding(from.file.machine(),
                                          [](auto e) { return decltype(e)::arch::elf_machine == Arch::elf_machine; });
  if (!same) return {errc::unsupported_type, offset_of<mach_o_header>(mach_o_header::cpu_type)};
  fingerprint source = fingerprint_of_ends(from.info.bytes());
  source += fingerprint_of_ends(from.eh_frame.bytes());
  return build_table_of_rows<Arch>(options, source, [&](auto&& add) { for_each_row<Arch>(from, add, report); });
}

}  // namespace backsight::cfi::apple
