// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <backsight/core/bytes.hpp>

namespace cli::memtrace {

/// The text of instructions, from capstone where the program was built with it and the library is there. It is loaded
/// when it is asked for: its tables would cost every run of the program a millisecond.
class disassembler {
 public:
  /// `type` is the file type of the trace.
  explicit disassembler(std::uint64_t type);
  disassembler(const disassembler&) = delete;
  disassembler& operator=(const disassembler&) = delete;
  ~disassembler();

  /// There is one for the instructions of that trace.
  [[nodiscard]] bool good() const;
  /// `mov    %rsp, %rdi`; `<invalid>` for what is no instruction, empty when there is no disassembler.
  [[nodiscard]] std::string text(backsight::byte_view code, std::uint64_t pc);
  /// Its first word.
  [[nodiscard]] std::string mnemonic(backsight::byte_view code);

 private:
  struct library;
  std::unique_ptr<library> library_;
};

}  // namespace cli::memtrace
