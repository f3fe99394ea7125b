// SPDX-License-Identifier: Apache-2.0
// Prints the line tables of an ELF file, much as `readelf --debug-dump=rawline` does:   debug_line FILE
#include "debug_line.hpp"

#include <cstdio>
#include <string>

#include <backsight/elf/sections.hpp>
#include <backsight/io/mapped_file.hpp>

#include "debug_line_tables.hpp"

using namespace backsight;

namespace {

using number = unsigned long long;

std::string text_of(byte_view bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// The registers of the line machine that what it prints depends on.
struct machine {
  std::uint64_t address = 0;
  std::uint64_t operation = 0;
  std::int64_t line = 1;
  unsigned view = 0;
  bool is_stmt = true;
};

/// The program of one unit.
template <class Offset, order O>
class program_printer {
  using unit = debug_line::unit<Offset>;

 public:
  program_printer(const record<unit, O>& head, std::uint64_t base) : head_(head), base_(base) {
    first_.is_stmt = head[unit::default_is_stmt] != 0;
    now_ = first_;
  }

  trace_error print() {
    return for_each(head_[unit::program], [&](auto item) {
      std::printf("  [0x%08llx]  ", static_cast<number>(item.offset() - base_));
      visit(item, [&](const auto& typed) { this->statement(typed); });
    });
  }

 private:
  void statement(const record<debug_line::special, O>& item) {
    const unsigned code = item[debug_line::opcode_head::opcode];
    const unsigned adjusted = code - head_[unit::opcode_base], range = head_[unit::line_range];
    // readelf takes a range of zero for a damaged header.
    const std::uint64_t advance = range == 0 ? 0 : adjusted / range;
    const std::int64_t lines = head_[unit::line_base] + static_cast<std::int64_t>(range == 0 ? 0 : adjusted % range);
    const std::uint64_t moved = move(advance);
    now_.line += lines;
    std::printf("Special opcode %u: advance Address by %llu to 0x%llx and Line by %lld to %lld%s\n", adjusted,
                static_cast<number>(moved), static_cast<number>(now_.address), static_cast<long long>(lines),
                static_cast<long long>(now_.line), view().c_str());
  }
  void statement(const record<debug_line::without_operand, O>& item) {
    switch (item[debug_line::opcode_head::opcode]) {
      case 1: std::printf("Copy%s\n", view().c_str()); break;
      case 6:
        now_.is_stmt = !now_.is_stmt;
        std::printf("Set is_stmt to %d\n", now_.is_stmt ? 1 : 0);
        break;
      case 7: std::puts("Set basic block"); break;
      case 8: {
        const unsigned range = head_[unit::line_range];
        const std::uint64_t moved = move(range == 0 ? 0 : (255U - head_[unit::opcode_base]) / range);
        std::printf("Advance PC by constant %llu to 0x%llx\n", static_cast<number>(moved),
                    static_cast<number>(now_.address));
        break;
      }
      case 10: std::puts("Set prologue_end to true"); break;
      default: std::puts("Set epilogue_begin to true"); break;
    }
  }
  void statement(const record<debug_line::with_number, O>& item) {
    const auto operand = static_cast<number>(item[debug_line::with_number::operand]);
    switch (item[debug_line::opcode_head::opcode]) {
      case 2: {
        const auto moved = static_cast<number>(move(operand));
        std::printf("Advance PC by %llu to 0x%llx\n", moved, static_cast<number>(now_.address));
        break;
      }
      case 4: std::printf("Set File Name to entry %llu in the File Name Table\n", operand); break;
      case 5: std::printf("Set column to %llu\n", operand); break;
      default: std::printf("Set ISA to %llu\n", operand); break;
    }
  }
  void statement(const record<debug_line::advance_line, O>& item) {
    now_.line += item[debug_line::advance_line::lines];
    std::printf("Advance Line by %lld to %lld\n", static_cast<long long>(item[debug_line::advance_line::lines]),
                static_cast<long long>(now_.line));
  }
  void statement(const record<debug_line::fixed_advance, O>& item) {
    const unsigned advance = item[debug_line::fixed_advance::advance];
    now_.address += advance;
    now_.operation = 0;
    std::printf("Advance PC by fixed size amount %u to 0x%llx\n", advance, static_cast<number>(now_.address));
  }
  void statement(const record<debug_line::extended, O>& item) {
    const unsigned code = item[debug_line::extended::code];
    const byte_view data = item[debug_line::extended::data];
    std::printf("Extended opcode %u: ", code);
    if (code == 1) {
      std::puts("End of Sequence\n");
      now_ = first_;
    } else if (code == 2) {
      cursor<O> in(data);
      now_.address = in.read_unsigned(data.size());
      now_.operation = 0;
      now_.view = 0;
      std::printf("set Address to 0x%llx\n", static_cast<number>(now_.address));
    } else if (code == 4) {
      cursor<O> in(data);
      std::printf("set Discriminator to %llu\n", static_cast<number>(in.uleb128()));
    } else {
      std::printf("%zu bytes\n", data.size());
    }
  }
  void statement(const record<debug_line::unknown_opcode, O>& item) {
    std::printf("Unknown opcode %u with %zu bytes of operands\n", unsigned{item[debug_line::opcode_head::opcode]},
                item.payload().size());
  }

  /// Advances by operations, and gives the bytes.
  std::uint64_t move(std::uint64_t operations) {
    const std::uint64_t per_instruction = head_.has(unit::maximum_operations) ? head_[unit::maximum_operations] : 1;
    const std::uint64_t size = head_[unit::minimum_instruction_length];
    std::uint64_t moved = operations * size;
    if (per_instruction > 1) {
      moved = (now_.operation + operations) / per_instruction * size;
      now_.operation = (now_.operation + operations) % per_instruction;
    }
    if (moved != 0) now_.view = 0;
    now_.address += moved;
    return moved;
  }
  /// Rows at one address are counted.
  std::string view() {
    const unsigned counted = now_.view++;
    return counted == 0 ? "" : " (view " + std::to_string(counted) + ")";
  }

  record<unit, O> head_;
  std::uint64_t base_;
  machine first_, now_;
};

/// The text of a value: `strings` are the sections of text that offsets point into, or null.
struct string_sections {
  byte_view line_strings, strings;
};
std::string string_at(byte_view section, std::uint64_t offset) {
  if (offset >= section.size()) return "<invalid>";
  const std::string rest = text_of(section.subspan(static_cast<std::size_t>(offset)));
  return rest.substr(0, rest.find('\0'));
}

template <class Offset, order O>
trace_error print_tables(const record<debug_line::unit<Offset>, O>& head, std::uint64_t offset,
                         const string_sections& sections) {
  using unit = debug_line::unit<Offset>;
  const auto place = static_cast<std::uint64_t>(head[unit::tables].data() - head.data()) + offset;
  std::size_t entry = 0;
  if (head[unit::version] < 5) {
    const record_range<debug_line::old_tables_format<O>> range(head[unit::tables], {}, place);
    return for_each(range, [&](auto item, const debug_line::old_state& in) {
      if (const auto one = get_if<debug_line::directory>(item)) {
        std::printf("  %zu\t%s\n", ++entry, text_of(one[debug_line::directory::path]).c_str());
      } else if (const auto file = get_if<debug_line::file_name>(item)) {
        using f = debug_line::file_name;
        std::printf("  %zu\t%llu\t%llu\t%llu\t%s\n", ++entry, static_cast<number>(file[f::in]),
                    static_cast<number>(file[f::time]), static_cast<number>(file[f::length]),
                    text_of(file[f::path]).c_str());
      } else if (!in.in_files) {
        entry = 0;
      }
    });
  }
  debug_line::table_state start;
  start.is_long = unit::is_long;
  std::string line;
  const record_range<debug_line::tables_format<O>> range(head[unit::tables], start, place);
  return for_each(range, [&](auto item, const debug_line::table_state& in) {
    if (in.next != debug_line::table_state::at_value) {
      entry = 0;
      return;
    }
    const unsigned content = in.contents[in.index], form = in.forms[in.index];
    std::string text, name;
    visit(item, [&](const auto& typed) {
      using schema_type = typename std::remove_cvref_t<decltype(typed)>::schema_type;
      if constexpr (requires { schema_type::value; }) {
        const auto value = typed[schema_type::value];
        if constexpr (std::is_same_v<std::remove_const_t<decltype(value)>, byte_view>) {
          text = text_of(value);
        } else if constexpr (std::is_integral_v<decltype(value)>) {
          text = std::to_string(value);
          char prefix[64];
          if (form == 0x1f || form == 0x0e) {
            std::snprintf(prefix, sizeof prefix,
                          value == 0 ? "(indirect %sstring, offset: 0): " : "(indirect %sstring, offset: 0x%llx): ",
                          form == 0x1f ? "line " : "", static_cast<number>(value));
            text = prefix + string_at(form == 0x1f ? sections.line_strings : sections.strings, value);
          }
        } else {
          // As a number of sixteen bytes.
          text = "0x";
          char digits[4];
          for (std::size_t i = 0; i < value.size(); ++i) {
            std::snprintf(digits, sizeof digits, "%02x",
                          std::to_integer<unsigned>(value[O == order::little ? value.size() - 1 - i : i]));
            text += digits;
          }
        }
      }
    });
    // The name is printed last, as readelf does.
    if (content == 1) line += '\n' + text;
    else line.insert(line.find('\n') == std::string::npos ? line.size() : line.find('\n'), '\t' + text);
    if (in.index + 1 != in.formats) return;
    if (const auto at = line.find('\n'); at != std::string::npos) line[at] = '\t';
    std::printf("  %zu%s\n", entry++, line.c_str());
    line.clear();
  });
}

template <class Offset, order O>
trace_error print_unit(const record<debug_line::unit<Offset>, O>& head, std::uint64_t offset,
                       const string_sections& sections) {
  using unit = debug_line::unit<Offset>;
  const auto line = [](const char* what, long long value) { std::printf("  %-28s %lld\n", what, value); };
  std::printf(offset == 0 ? "  %-28s 0\n" : "  %-28s 0x%llx\n", "Offset:", static_cast<number>(offset));
  line("Length:", static_cast<long long>(head[unit::unit_length]));
  line("DWARF Version:", head[unit::version]);
  if (head.has(unit::address_size)) {
    line("Address size (bytes):", head[unit::address_size]);
    line("Segment selector (bytes):", head[unit::segment_selector_size]);
  }
  line("Prologue Length:", static_cast<long long>(head[unit::header_length]));
  line("Minimum Instruction Length:", head[unit::minimum_instruction_length]);
  if (head.has(unit::maximum_operations)) line("Maximum Ops per Instruction:", head[unit::maximum_operations]);
  line("Initial value of 'is_stmt':", head[unit::default_is_stmt]);
  line("Line Base:", head[unit::line_base]);
  line("Line Range:", head[unit::line_range]);
  line("Opcode Base:", head[unit::opcode_base]);
  std::puts("\n Opcodes:");
  int opcode = 0;
  for (const unsigned count : head[unit::operand_counts])
    std::printf("  Opcode %d has %u arg%s\n", ++opcode, count, count == 1 ? "" : "s");
  std::puts("\n Tables:");
  const trace_error in_tables = print_tables<Offset>(head, offset, sections);
  std::puts("\n Line Number Statements:");
  const trace_error in_program = program_printer<Offset, O>(head, 0).print();
  std::puts("");
  return in_tables ? in_tables : in_program;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  const auto file = io::mapped_file::open(words[1]);
  const auto fail = [&](const trace_error& error) {
    std::fprintf(stderr, "%s:%llu: %s\n", words[1], static_cast<number>(error.offset), message(error.code));
    return 1;
  };
  const auto image = elf::open(file.partial().bytes());
  if (!image) return fail(image.error());
  const auto bytes_of = [&](const char* name) -> byte_view {
    const auto found = image->find_section(name);
    return found ? image->section_bytes(*found).partial() : byte_view{};
  };
  const string_sections sections{bytes_of(".debug_line_str"), bytes_of(".debug_str")};
  std::puts("Raw dump of debug contents of section .debug_line:\n");
  trace_error first_in_units;
  const trace_error error = with_order(image->byte_order(), [&](auto o) {
    const record_range<debug_line::units_format<o()>> units(bytes_of(".debug_line"));
    return for_each(units, [&](auto item) {
      visit(item, [&](const auto& head) {
        const trace_error inside = print_unit(head, item.offset(), sections);
        if (!first_in_units) first_in_units = inside;
      });
    });
  });
  if (error || first_in_units) return fail(first_in_units ? first_in_units : error);
  return 0;
}
