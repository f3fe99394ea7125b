// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <backsight/cfi/explained_walk.hpp>
#include <backsight/core/escape.hpp>

#include "output_file.hpp"
#include "perf_lines.hpp"

namespace cli {

/// A frame as it is printed.
struct described_frame {
  std::uint64_t pc = 0;
  const char* found_by = "";  ///< from what it is known
  bool is_signal = false;
  perf_data::found_name name;
  std::uint64_t offset = 0;  ///< of the pc in the function
  std::optional<std::string_view> module;
  std::uint64_t offset_in_module = 0;
  bool is_file = true;  ///< the module is one; code that was made at run time has no place in a file

  described_frame(const backsight::cfi::explained_frame& from, const backsight::perf::mapping* at,
                  perf_data::found_name known, std::string_view path)
      : pc(from.pc), found_by(message(from.from)), is_signal(from.is_signal), name(known) {
    if (at == nullptr) return;
    const std::uint64_t into_lookup = from.pc - from.lookup_address();
    offset = name.offset + into_lookup;
    this->module = path;
    is_file = at->kind != backsight::perf::file_kind::anonymous;
    offset_in_module = is_file ? at->file_address(from.lookup_address()) + into_lookup : from.pc - at->begin;
  }
};

/// Prints stacks as text, as JSON, a line for each, or folded: paths from the outermost function on, where equal ones
/// add up.
class stack_printer {
 public:
  stack_printer(output& out, std::string_view format, unsigned address_size)
      : out_(out), format_(format), digits_(static_cast<int>(address_size) * 2) {}

  /// `head` is what stands above the frames in text, `members` the first members of the JSON object.
  void print(std::string_view head, std::string_view members, std::span<const described_frame> frames,
             backsight::cfi::stop why) {
    if (format_ == "folded") return fold(frames);
    if (format_ == "json") return print_json(members, frames, why);
    out_.write(head);
    for (std::size_t i = 0; i < frames.size(); ++i) print_line(i, frames[i]);
    if (why != backsight::cfi::stop::outermost) out_.print("  (%s)\n", message(why));
  }
  void finish() {
    for (const auto& [path, count] : folded_) out_.print("%s %" PRIu64 "\n", path.c_str(), count);
  }

 private:
  void print_line(std::size_t number, const described_frame& one) {
    using namespace backsight;
    char head[48];
    std::snprintf(head, sizeof head, "  #%-3zu %0*" PRIx64 " ", number, digits_, one.pc);
    std::string line = head;
    if (one.name.is_known) {
      text::shown(std::back_inserter(line), one.name.text);
      line += "+0x";
      perf_data::append_hex(line, one.offset);
    } else {
      line += '?';
    }
    line += one.module ? " in " : " in no mapping";
    if (one.module) {
      text::shown(std::back_inserter(line), *one.module);
      line += "+0x";
      perf_data::append_hex(line, one.offset_in_module);
    }
    line += std::string(" (") + one.found_by + (one.is_signal ? "; signal frame)\n" : ")\n");
    out_.write(line);
  }
  void fold(std::span<const described_frame> frames) {
    std::string path;
    for (std::size_t i = frames.size(); i-- != 0;) {
      const described_frame& one = frames[i];
      const std::string_view module = one.module.value_or("");
      std::string name = one.name.is_known ? std::string(one.name.text)
                         : module.empty()  ? "[unknown]"
                                           : "[" + std::string(module.substr(module.rfind('/') + 1)) + "]";
      // The format has no escapes.
      for (char& c : name) c = c == ';' ? ':' : c == '\n' || c == '\r' ? ' ' : c;
      path += (path.empty() ? "" : ";") + name;
    }
    ++folded_[path];
  }
  void print_json(std::string_view members, std::span<const described_frame> frames, backsight::cfi::stop why) {
    std::string line = "{" + std::string(members) + ", \"frames\": [";
    const auto quoted = [&](std::string_view value) { backsight::text::quoted(std::back_inserter(line), value); };
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const described_frame& one = frames[i];
      line += i == 0 ? "{\"pc\": \"0x" : ", {\"pc\": \"0x";
      perf_data::append_hex(line, one.pc);
      line += '"';
      if (one.name.is_known) {
        line += ", \"function\": ";
        quoted(one.name.text);
        line += ", \"offset\": " + std::to_string(one.offset);
      }
      if (one.module) {
        line += ", \"module\": ";
        quoted(*one.module);
        if (one.is_file) line += ", \"module_offset\": " + std::to_string(one.offset_in_module);
      }
      line +=
          std::string(", \"found_by\": \"") + one.found_by + (one.is_signal ? "\", \"signal_frame\": true}" : "\"}");
    }
    line += std::string("], \"end\": \"") + message(why) + "\"}\n";
    out_.write(line);
  }

  output& out_;
  std::string_view format_;
  int digits_;
  std::map<std::string, std::uint64_t> folded_;
};

}  // namespace cli
