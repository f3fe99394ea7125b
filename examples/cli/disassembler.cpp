// SPDX-License-Identifier: Apache-2.0
#include "disassembler.hpp"

#include <type_traits>

#include <backsight/memtrace/types.hpp>

#ifdef BACKSIGHT_HAVE_CAPSTONE
#include <capstone/capstone.h>
#include <dlfcn.h>
#endif

namespace cli::memtrace {

using namespace backsight;
namespace file_type = backsight::memtrace::file_type;

#ifdef BACKSIGHT_HAVE_CAPSTONE

struct disassembler::library {
  void* opened = nullptr;
  decltype(&cs_open) open = nullptr;
  decltype(&cs_close) close = nullptr;
  decltype(&cs_option) option = nullptr;
  decltype(&cs_disasm) disasm = nullptr;
  decltype(&cs_free) free = nullptr;
  csh handle = 0;
  bool good = false;
};

disassembler::disassembler(std::uint64_t type) : library_(std::make_unique<library>()) {
  const bool arm = (type & file_type::aarch64) != 0;
  if ((type & (file_type::arch_regdeps | file_type::arm32)) != 0) return;
  library& l = *library_;
  l.opened = ::dlopen(BACKSIGHT_CAPSTONE, RTLD_NOW | RTLD_LOCAL);
  if (l.opened == nullptr) return;
  const auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(l.opened, name));
    return function != nullptr;
  };
  if (!load(l.open, "cs_open") || !load(l.close, "cs_close") || !load(l.option, "cs_option") ||
      !load(l.disasm, "cs_disasm") || !load(l.free, "cs_free"))
    return;
  l.good = l.open(arm ? CS_ARCH_ARM64 : CS_ARCH_X86,
                  arm                               ? CS_MODE_LITTLE_ENDIAN
                  : (type & file_type::x86_32) != 0 ? CS_MODE_32
                                                    : CS_MODE_64,
                  &l.handle) == CS_ERR_OK;
  if (l.good && !arm) l.option(l.handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
}

disassembler::~disassembler() {
  if (library_->good) library_->close(&library_->handle);
  if (library_->opened != nullptr) ::dlclose(library_->opened);
}

bool disassembler::good() const { return library_->good; }

std::string disassembler::text(byte_view code, std::uint64_t pc) {
  if (!library_->good) return {};
  cs_insn* decoded = nullptr;
  const std::size_t count = library_->disasm(library_->handle, reinterpret_cast<const std::uint8_t*>(code.data()),
                                             code.size(), pc, 1, &decoded);
  if (count == 0) return "<invalid>";
  std::string text = decoded->mnemonic;
  if (decoded->op_str[0] != '\0')
    text += std::string(text.size() < 6 ? 6 - text.size() : 0, ' ') + " " + decoded->op_str;
  library_->free(decoded, count);
  return text;
}

std::string disassembler::mnemonic(byte_view code) {
  if (!library_->good) return {};
  cs_insn* decoded = nullptr;
  const std::size_t count = library_->disasm(library_->handle, reinterpret_cast<const std::uint8_t*>(code.data()),
                                             code.size(), 0, 1, &decoded);
  if (count == 0) return "<invalid>";
  std::string text = decoded->mnemonic;
  library_->free(decoded, count);
  return text;
}

#else

struct disassembler::library {};
disassembler::disassembler(std::uint64_t) {}
disassembler::~disassembler() = default;
bool disassembler::good() const { return false; }
std::string disassembler::text(byte_view, std::uint64_t) { return {}; }
std::string disassembler::mnemonic(byte_view) { return {}; }

#endif

}  // namespace cli::memtrace
