// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <backsight/cfi/section.hpp>
#include <backsight/cfi/table.hpp>
#include <backsight/cfi/table_builder.hpp>
#include <backsight/cfi/unwind_rule.hpp>
#include <backsight/core/error.hpp>
#include <backsight/emit/unwinder_c/detail/c_code_form.hpp>
#include <backsight/emit/unwinder_c/detail/c_names.hpp>
#include <backsight/emit/unwinder_c/detail/c_rows.hpp>
#include <backsight/emit/unwinder_c/detail/c_rules.hpp>
#include <backsight/emit/unwinder_c/detail/c_runtime.hpp>
#include <backsight/emit/unwinder_c/detail/c_table_form.hpp>
#include <backsight/emit/unwinder_c/detail/c_writer.hpp>
#include <backsight/emit/unwinder_c/detail/slots.hpp>

namespace backsight::emit::unwinder_c {

/// How emitted code finds the row for an address.
enum class form : std::uint8_t {
  table,   ///< Constant arrays and a small search function. Least in size and time to compile.
  tree,    ///< An if/else tree over the rows.
  switch_  ///< A switch with case ranges, which is GNU C.
};

/// What to emit.
struct options {
  unwinder_c::form form = unwinder_c::form::table;
  unwinder_c::registers registers = unwinder_c::registers::return_address;
  std::string_view prefix = "backsight";  ///< Of the function `PREFIX_step` and all that is static: an identifier of C.
  bool deref = false;      ///< Memory is read through a function that the caller gives, not by plain loads.
  std::uint64_t base = 0;  ///< Emitted addresses count from this link-time address; 0: they are link-time addresses.
  std::span<const function> names{};  ///< Written as comments; ascending by begin. May be empty.
};

/// Writes a table as one self-contained C11 file that is C++ too and includes <stdint.h> only; gives the iterator
/// behind the text. The file defines
///     int PREFIX_step(struct backsight_context *c, uint64_t bias);
/// or, with options.deref, `int PREFIX_step(struct backsight_context *c, uint64_t bias, backsight_deref deref, void
/// *memory)`, which turns a context into its caller's. `bias` is the load address minus the emitted address of the same
/// byte. The function calls nothing but `deref`, allocates nothing, and may be called in a signal handler. It returns
/// 0, or a reason to stop by its number in cfi::stop; then the context's registers stay, its `error` is the reason, and
/// its flags say end (outermost) or error. The same table and options give the same text. Errors:
/// errc::unsupported_type (a table for another machine than Arch), errc::bad_string (the prefix), both at offset 0;
/// nothing is written then.
template <class Arch, class Out>
result<Out> write(Out to, const cfi::table_view& from, const unwinder_c::options& options = {}) {
  if (!from.empty() && (from.machine() != Arch::elf_machine || from.rule_bytes() != cfi::rule_size<Arch>)) {
    return {std::move(to), {errc::unsupported_type, 0}};
  }
  if (!is_identifier(options.prefix)) return {std::move(to), {errc::bad_string, 0}};
  const detail::c_rows<Arch> rows(from, options.registers);
  detail::c_writer<Out> out(std::move(to), options.prefix, options.deref, Arch::address_size);
  const auto p = options.prefix;
  out("/* Unwinds ", Arch::name,
      " frames of one object file. Made by backsight; do not edit. */\n#include <stdint.h>\n\n");
  detail::write_context<Arch>(out);
  out("#ifdef __cplusplus\nextern \"C\" {\n#endif\nint ", p, "_step(struct backsight_context *c, uint64_t bias",
      out.memory_parameters(), ");\n#ifdef __cplusplus\n}\n#endif\n\n");

  const bool empty = rows.rows().empty();
  detail::c_rule_writer<Arch, Out> rules(out, rows, options.form != unwinder_c::form::table);
  rules.write_functions();
  detail::c_table_form<Arch, Out> table_form(out, rows, rules, options.base);
  detail::c_code_form<Arch, Out> code_form(out, rows, rules, options.base);
  const bool cases = options.form == unwinder_c::form::switch_;
  if (cases) {
    out("/* Case ranges are not in the standard. */\n#if defined(__GNUC__)\n#pragma GCC diagnostic push\n",
        "#pragma GCC diagnostic ignored \"-Wpedantic\"\n#endif\n");
  }
  if (!empty && options.form == unwinder_c::form::table) table_form.write(options.names);
  if (!empty && options.form != unwinder_c::form::table) code_form.write_parts(options.names, cases);
  out("int ", p, "_step(struct backsight_context *c, uint64_t bias", out.memory_parameters(), ") {\n");
  // The row of a call is that of the byte before its return address.
  out("  const uint64_t address = (c->r[0] - bias - ((c->flags & UINT64_C(0x10)) != 0 ? 0u : 1u))", out.cut(), ";\n");
  if (!empty && options.form == unwinder_c::form::table) table_form.write_step_variables();
  if (!empty && options.form != unwinder_c::form::table) code_form.write_variables();
  rules.write_uses();
  if (empty) {
    out("  (void)address;\n");
    if (options.deref) out("  (void)deref;\n  (void)memory;\n");
    out("  return ", p, "_stop(c, 3);\n");
  } else if (options.form == unwinder_c::form::table) {
    table_form.write_step_body();
  } else {
    code_form.write_body();
  }
  out("}\n");
  if (cases) out("#if defined(__GNUC__)\n#pragma GCC diagnostic pop\n#endif\n");
  return out.take();
}

/// As above, straight from one or two sections: builds the table in memory first, and calls `report(trace_error,
/// section_number)` for what is left out. Errors: those of build_table too.
template <class Arch, order O, class Out, class Report>
result<Out> write(Out to, std::span<const cfi::section<O>> sections, const unwinder_c::options& options,
                  Report&& report) {
  const cfi::table_profile profile =
      options.registers == unwinder_c::registers::all ? cfi::table_profile::all : cfi::table_profile::callee_saved;
  const auto made = cfi::build_table<Arch>(sections, {profile, {}}, report);
  if (!made) return {std::move(to), made.error()};
  return unwinder_c::write<Arch>(std::move(to), made->view(), options);
}
/// The same without a report.
template <class Arch, order O, class Out>
result<Out> write(Out to, std::span<const cfi::section<O>> sections, const unwinder_c::options& options = {}) {
  return unwinder_c::write<Arch>(std::move(to), sections, options, [](const trace_error&, std::uint32_t) {});
}

/// Writes the header that goes with emitted files: the context, and `backsight_walk`, which walks a stack over modules.
/// A program includes it once for all objects of a machine. Depends on <stddef.h> and <stdint.h> only.
template <class Arch, class Out>
Out write_runtime(Out to) {
  detail::c_writer<Out> out(std::move(to), "backsight", true, Arch::address_size);
  detail::write_runtime<Arch>(out);
  return out.take();
}

}  // namespace backsight::emit::unwinder_c
