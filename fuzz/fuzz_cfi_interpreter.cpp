// SPDX-License-Identifier: Apache-2.0
// The bytes are an .eh_frame at address 0x400000: every FDE is interpreted, every rule touched.
#include <cstdint>
#include <cstdlib>
#include <memory>

#include <backsight/cfi/arch/generic.hpp>
#include <backsight/cfi/interpreter.hpp>

using namespace backsight;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const byte_view bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto memory = std::make_unique<cfi::context<256, 16>>();
  for (const auto kind : {cfi::section_kind::eh_frame, cfi::section_kind::debug_frame}) {
    cfi::section_info info;
    info.kind = kind;
    info.address = 0x400000;
    const cfi::section<order::little> section(bytes, info);
    for (const cfi::entry& e : section.entries()) {
      if (e.is_cie || e.error != errc::ok) continue;
      const auto c = section.cie_at(e.cie_offset);
      if (!c) continue;
      const auto f = section.parse_fde(e, *c);
      if (!f) continue;
      std::uint64_t sum = 0;
      const trace_error error = cfi::interpret<cfi::arch::aarch64>(section, *f, *memory, [&](const cfi::row& r) {
        std::uint64_t before = 0;
        for (const cfi::register_rule& rule : r.rules) {
          if (&rule != &*r.rules.begin() && rule.reg <= before) std::abort();
          before = rule.reg;
          if (!rule.has_expression()) continue;
          const auto at = rule.expression();
          if (at.offset > bytes.size() || at.size > bytes.size() - at.offset) std::abort();
          sum += at.size;
        }
        if (!cfi::same_rules(bytes, r, r)) std::abort();
      });
      if (error && error.offset > bytes.size()) std::abort();
    }
  }
  return 0;
}
