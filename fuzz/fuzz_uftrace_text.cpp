// SPDX-License-Identifier: Apache-2.0
// The text files of a uftrace directory. The first byte chooses: info, task.txt, a map, symbols, debug data, specifications,
// enumerations or names.
#include <cstdint>
#include <string>

#include <backsight/uftrace/arguments.hpp>
#include <backsight/uftrace/debug_file.hpp>
#include <backsight/uftrace/enumerations.hpp>
#include <backsight/uftrace/info.hpp>
#include <backsight/uftrace/memory_map.hpp>
#include <backsight/uftrace/symbols.hpp>
#include <backsight/uftrace/task_list.hpp>

using namespace backsight;
using namespace backsight::uftrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const byte_view bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  const std::string_view text = uftrace::detail::as_text(bytes);
  std::size_t sum = 0;
  switch (data[0] & 7) {
    case 0: sum = read_info(bytes).partial().tids().size(); break;
    case 1: sum = read_task_text(bytes).events.size(); break;
    case 2: sum = read_memory_map(bytes).mappings.size(); break;
    case 3: sum = read_symbols(bytes).find(size); break;
    case 4: sum = read_debug_file(bytes).functions.size(); break;
    case 5: sum = read_function_specs(text, 8).size(); break;
    case 6: {
      std::vector<enumeration> all;
      read_enumerations(text, all);
      std::string out;
      for (const enumeration& e : all) e.text_of(static_cast<std::int64_t>(size), out);
      sum = out.size();
      break;
    }
    default: sum = short_name(text).size(); break;
  }
  return sum == static_cast<std::size_t>(-2) ? 1 : 0;
}
