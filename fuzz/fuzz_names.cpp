// SPDX-License-Identifier: Apache-2.0
// One mangled name: what is made of it keeps within its limits.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <backsight/names/short_name.hpp>

using namespace backsight::names;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string name(reinterpret_cast<const char*>(data), size);
  const std::string shown = short_name(name);
  constexpr std::size_t longest_prefix = 15;  // _GLOBAL__sub_I_
  require(shown == name || (!shown.empty() && shown.size() <= longest_prefix + detail::longest_short_name));
  require(name.starts_with("_") || shown == name);

  const std::size_t most = detail::name_steps_per_byte * (size + 1);
  detail::short_name_parser itanium(name);
  (void)itanium.run();
  require(itanium.steps() <= most && itanium.out().size() <= detail::longest_short_name);
  const std::string rust = "_R" + name;
  detail::rust_v0_parser parser(rust);
  (void)parser.run();
  require(parser.steps() <= most + 2 * detail::name_steps_per_byte &&
          parser.out().size() <= detail::longest_short_name);
  return 0;
}
