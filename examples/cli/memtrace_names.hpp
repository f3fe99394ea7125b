// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <backsight/memtrace/modules.hpp>

#include "program.hpp"

namespace cli::memtrace {

/// The modules of a recording and the symbols of their files, as far as there are any.
class code_names {
 public:
  struct name {
    std::string module;        ///< its path as recorded; empty for code of none
    std::uint64_t offset = 0;  ///< in the module
    std::string symbol;        ///< demangled; empty without one
    std::uint64_t into = 0;    ///< how far into the symbol
  };

  code_names();
  code_names(const code_names&) = delete;
  code_names& operator=(const code_names&) = delete;
  ~code_names();

  /// Reads the modules.log that was asked for or lies beside the trace; none is no error. Gives success or bad_input.
  [[nodiscard]] int open(const arguments& asked);
  [[nodiscard]] bool has_modules() const { return !modules_.segments().empty(); }
  [[nodiscard]] name find(std::uint64_t pc);

  /// `symbol+0x1`, `module+0x1234`, `0x401234`: the best of what is known.
  [[nodiscard]] std::string text(std::uint64_t pc);
  /// The symbol alone, or the module, or nothing.
  [[nodiscard]] std::string function(std::uint64_t pc);

 private:
  struct symbol_file;
  symbol_file* file_of(std::string_view module);

  std::unique_ptr<input> log_;
  backsight::memtrace::module_table modules_;
  std::vector<std::string> sysroots_;
  std::map<std::string, std::unique_ptr<symbol_file>, std::less<>> files_;
};

}  // namespace cli::memtrace
