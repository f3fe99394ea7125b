// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <backsight/uftrace/merged_records.hpp>

#include "number_text.hpp"

// Values of arguments, return values and events as text. Source: uftrace's utils/field.c, cmds/replay.c
// (get_argspec_string) and cmds/dump.c (pr_args, pr_retval, pr_event).
namespace cli::as_uftrace {

using namespace backsight;
using namespace backsight::uftrace;

/// For whom a text is: the replay of calls, the JSON of `dump --chrome`, or the raw dump.
enum class text_style : std::uint8_t { replay, chrome };

/// Writes values as text. Keeps a reference to the resolver; what it writes is appended, so a string that is used again
/// and again allocates only until it is long enough.
class value_writer {
 public:
  /// With `exact` values are those of uftrace also where it errs: enumerations are read without their sign.
  explicit value_writer(resolver& names, bool exact = false)
      : names_(&names), order_(names.source().info.byte_order), exact_(exact) {}

  /// `a, b, c`: all values of a call, or the first one of a return.
  void values(std::string& out, const merged_record& r, text_style style) {
    const function& f = names_->find(r.data_index, r.time, r.address);
    const bool is_return = r.type == record_type::exit;
    bool first = true;
    each(f, r, is_return, [&](const value_spec& spec, byte_view bytes) {
      if (!first && is_return) return;
      if (!first) out += ", ";
      first = false;
      value(out, f, spec, bytes, r, style);
    });
  }

  /// The lines of the raw dump, indented by two blanks, each with its end.
  void raw_lines(std::string& out, const merged_record& r) {
    const function& f = names_->find(r.data_index, r.time, r.address);
    const bool is_return = r.type == record_type::exit;
    int index = 0;
    each(f, r, is_return, [&](const value_spec& spec, byte_view bytes) {
      if (is_return) out += "  retval ";
      else add_format(out, "  args[%d] ", index++);
      raw_value(out, f, spec, bytes, r, is_return);
      out += '\n';
    });
  }

  /// The data of an event, without name; empty when it has none. `replay` adds signs and ratios.
  void event_text(std::string& out, const merged_record& r, bool replay) {
    if (r.payload.empty() && r.address != task_name) return;
    const bool diff = r.address == diff_statm || r.address == diff_page_fault || r.address == diff_cycles ||
                      r.address == diff_cache || r.address == diff_branch;
    const char* const sign = diff && replay ? "+" : "";
    const auto number = [&](std::size_t i) {
      const byte_view rest = i * 8 < r.payload.size() ? r.payload.subspan(i * 8) : byte_view{};
      return unsigned_of(rest.first(std::min<std::size_t>(rest.size(), 8)), order_);
    };
    const auto n = [&](std::size_t i) { return static_cast<unsigned long long>(number(i)); };
    const auto ratio = [](std::uint64_t hits, std::uint64_t all) {
      return 100.0 * static_cast<double>(hits) / static_cast<double>(all);
    };
    switch (r.address) {
      case read_statm:
      case diff_statm:
        return add_format(out, "vmsize=%s%lluKB vmrss=%s%lluKB shared=%s%lluKB", sign, n(0), sign, n(1), sign, n(2));
      case read_page_fault:
      case diff_page_fault: return add_format(out, "major=%s%llu minor=%s%llu", sign, n(0), sign, n(1));
      case read_cycles:
      case diff_cycles:
        add_format(out, "cycles=%s%llu instructions=%s%llu", sign, n(0), sign, n(1));
        if (diff && replay)
          add_format(out, " IPC=%.2f", static_cast<double>(number(1)) / static_cast<double>(number(0)));
        return;
      case read_cache:
      case diff_cache:
        add_format(out, "refers=%s%llu misses=%s%llu", sign, n(0), sign, n(1));
        if (diff && replay) add_format(out, " hit=%.2f%%", ratio(number(0) - number(1), number(0)));
        return;
      case read_branch:
      case diff_branch:
        add_format(out, "branch=%s%llu misses=%s%llu", sign, n(0), sign, n(1));
        if (diff && replay) add_format(out, " predict=%.2f%%", ratio(number(0) - number(1), number(0)));
        return;
      case watch_cpu:
        return add_format(out, "cpu=%d",
                          static_cast<int>(signed_of(
                              unsigned_of(r.payload.first(std::min<std::size_t>(4, r.payload.size())), order_), 4)));
      case watch_variable: return watched(out, r);
      case callsite: out += "callsite="; return add_hex(out, number(0));
      case task_name:
        out += "comm=\"";
        out += text::as_text(r.payload);
        out += '"';
        return;
      case external_data: out += text::as_text(r.payload); return;
      default: return;
    }
  }

  /// The name of an event.
  void event_name(std::string& out, std::uint64_t id) const {
    const auto& events = names_->source().user_events;
    const auto event =
        std::lower_bound(events.begin(), events.end(), id, [](const auto& e, std::uint64_t i) { return e.first < i; });
    if (event != events.end() && event->first == id) {
      out += event->second;
      return;
    }
    switch (id) {
      case read_statm: out += "read:proc/statm"; return;
      case read_page_fault: out += "read:page-fault"; return;
      case read_cycles: out += "read:pmu-cycle"; return;
      case read_cache: out += "read:pmu-cache"; return;
      case read_branch: out += "read:pmu-branch"; return;
      case diff_statm: out += "diff:proc/statm"; return;
      case diff_page_fault: out += "diff:page-fault"; return;
      case diff_cycles: out += "diff:pmu-cycle"; return;
      case diff_cache: out += "diff:pmu-cache"; return;
      case diff_branch: out += "diff:pmu-branch"; return;
      case watch_cpu: out += "watch:cpu"; return;
      case watch_variable: out += "watch:var"; return;
      case callsite: out += "callsite"; return;
      case sched_in: out += "linux:sched-in"; return;
      case sched_out: out += "linux:sched-out"; return;
      case sched_out_preempted: out += "linux:sched-out (pre-empted)"; return;
      case sched_both: out += "linux:schedule"; return;
      case sched_both_preempted: out += "linux:schedule (pre-empted)"; return;
      case task_new: out += "linux:task-new"; return;
      case task_exit: out += "linux:task-exit"; return;
      case task_name: out += "linux:task-name"; return;
      case external_data: out += "external-data"; return;
      default: break;
    }
    if (id >= first_user_event) add_format(out, "user_event:%llu", static_cast<unsigned long long>(id));
    else if (id >= sched_in) out += "linux:unknown";
    else add_format(out, "builtin_event:%llu", static_cast<unsigned long long>(id));
  }

  /// The bytes that the values of a record take, without the record's own padding.
  [[nodiscard]] std::size_t extent(const merged_record& r) {
    const function& f = names_->find(r.data_index, r.time, r.address);
    const auto whole = values_extent(names_->values(f, r.type == record_type::exit), r.payload, order_);
    return whole.code == errc::ok ? whole.size : r.payload.size();
  }

 private:
  template <class F>
  void each(const function& f, const merged_record& r, bool is_return, F&& call) {
    for_each_value(names_->values(f, is_return), r.payload, order_, call);
  }

  void watched(std::string& out, const merged_record& r) {
    const std::size_t width = names_->source().info.long_size();
    if (r.payload.size() < width) return;
    const std::uint64_t address = unsigned_of(r.payload.first(width), order_);
    const function& f = names_->find(r.data_index, r.time, address);
    if (f.known) {
      out += names_->name(f.name);
    } else {
      out += "[0x";
      add_hex(out, address, false);
      out += ']';
    }
    out += '=';
    add_hex(out, unsigned_of(r.payload.subspan(width), order_), false);
  }

  void quoted(std::string& out, std::string_view text, text_style style) {
    if (style == text_style::chrome) {
      out += "\\\"";
      for (const char c : text) add_chrome_byte(out, static_cast<unsigned char>(c));
      out += "\\\"";
      return;
    }
    const bool ascii =
        std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
    out += '"';
    for (const char c : text) {
      if (ascii && c == '\n') out += "\\n";
      else if (ascii && c == '\b') out += "\\b";
      else out += c;
    }
    out += '"';
  }

  void character(std::string& out, unsigned char c, text_style style) {
    out += '\'';
    if (style == text_style::chrome) {
      add_chrome_byte(out, c);
    } else {
      switch (c) {
        case '\0': out += "\\0"; break;
        case '\b': out += "\\b"; break;
        case '\n': out += "\\n"; break;
        default: out += static_cast<char>(c);
      }
    }
    out += '\'';
  }

  void pointer(std::string& out, std::uint64_t value, const merged_record& r, const char* prefix, const char* suffix,
               bool raw) {
    const function& target = names_->find(r.data_index, r.time, value);
    if (value != 0 && target.known) {
      if (raw) add_hex(out, value, false);
      out += prefix;
      out += names_->name(target.name);
      out += suffix;
    } else if (value == 0) {
      out += '0';
    } else {
      add_hex(out, value);
    }
  }

  void enumerated(std::string& out, const function& f, const value_spec& spec, std::uint64_t bits, std::size_t size) {
    if (!f.known) {
      out += "<ENUM?> ";
      add_hex(out, bits, false);
      return;
    }
    const std::int64_t value = enumeration_value(bits, size);
    if (const enumeration* const e = names_->find_enumeration(f, spec.type_name)) {
      const std::size_t before = out.size();
      e->text_of(value, out, exact_);
      if (out.size() != before) return;
    }
    if (value > 100000 || value < -100000) add_hex(out, static_cast<std::uint64_t>(value));
    else add_decimal(out, value);
  }

  /// An enumeration is an int, as good as always, of which a register or a word of the stack holds more.
  [[nodiscard]] std::int64_t enumeration_value(std::uint64_t bits, std::size_t size) const noexcept {
    if (exact_) return static_cast<std::int64_t>(bits);
    return size == 8 && bits >> 32 == 0 ? signed_of(bits, 4) : signed_of(bits, size);
  }

  void value(std::string& out, const function& f, const value_spec& spec, byte_view bytes, const merged_record& r,
             text_style style) {
    const std::uint64_t bits = unsigned_of(bytes.first(std::min<std::size_t>(bytes.size(), 8)), order_);
    const std::int64_t number = signed_of(bits, bytes.size());
    switch (spec.format) {
      case value_format::automatic: {
        const auto plain = static_cast<std::int64_t>(bits);
        if (plain >= -100000 && plain <= 100000) add_decimal(out, number);
        else if (bits >= 0xffff0001 && bits <= 0xffffffff)
          add_decimal(out, static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
        else add_hex(out, bits);
        return;
      }
      case value_format::signed_integer: return add_decimal(out, number);
      case value_format::unsigned_integer:
        if (bits > 100000) add_hex(out, bits);
        else add_decimal(out, static_cast<std::int64_t>(bits));
        return;
      case value_format::hexadecimal:
        if (bits == 0) out += '0';
        else add_hex(out, bits);
        return;
      case value_format::octal: return add_format(out, "%#llo", static_cast<unsigned long long>(bits));
      case value_format::character: return character(out, static_cast<unsigned char>(bits), style);
      case value_format::floating: return add_floating(out, bytes, order_);
      case value_format::string:
      case value_format::std_string: {
        if (is_old_null(bytes)) {
          out += "NULL";
          return;
        }
        quoted(out, string_of(bytes, order_), style);
        if (spec.format == value_format::std_string) out += 's';
        return;
      }
      case value_format::pointer: return pointer(out, bits, r, "&", "", false);
      case value_format::enumeration: return enumerated(out, f, spec, bits, bytes.size());
      case value_format::structure:
        if (!spec.type_name.starts_with("<lambda")) out += spec.type_name;
        out += spec.size == 0 ? "{}" : "{...}";
        return;
    }
  }

  void raw_value(std::string& out, const function& f, const value_spec& spec, byte_view bytes, const merged_record& r,
                 bool is_return) {
    const std::uint64_t bits = unsigned_of(bytes.first(std::min<std::size_t>(bytes.size(), 8)), order_);
    switch (spec.format) {
      case value_format::string:
      case value_format::std_string:
        out += spec.format == value_format::string ? "str: " : "std::string: ";
        if (is_old_null(bytes)) out += "NULL";
        else out += string_of(bytes, order_);
        return;
      case value_format::pointer:
        out += "p: ";
        if (bits == 0 && is_return) out += "(nil)";
        else pointer(out, bits, r, " (&", ")", true);
        return;
      case value_format::structure:
        out += "struct ";
        out += spec.type_name;
        out += ':';
        for (std::size_t i = 0; i < bytes.size(); ++i) {
          if (i % 16 == 0) out += "\n\t";
          add_format(out, "%02x ", std::to_integer<unsigned>(bytes[i]));
          if (i % 8 == 7) out += ' ';
        }
        return;
      case value_format::enumeration:
        if (!is_return) {
          out += "enum ";
          out += spec.type_name;
          out += ": ";
          enumerated(out, f, spec, bits, bytes.size());
          add_format(out, " (%lld)", static_cast<long long>(enumeration_value(bits, bytes.size())));
          return;
        }
        break;
      default: break;
    }
    const int digits = static_cast<int>(bytes.size()) * 2;
    add_format(out, "%c%d: 0x%0*llx", static_cast<char>(spec.format), static_cast<int>(bytes.size()) * 8, digits,
               static_cast<unsigned long long>(bits));
  }

  resolver* names_;
  order order_;
  bool exact_;
};

}  // namespace cli::as_uftrace
