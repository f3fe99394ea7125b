# SPDX-License-Identifier: Apache-2.0
# Every public header, folder by folder. A header that is not here is not installed and not checked.
set(BACKSIGHT_HEADERS
  include/backsight/backsight.hpp
  include/backsight/version.hpp

  include/backsight/analysis/call_stack.hpp
  include/backsight/analysis/call_tree.hpp
  include/backsight/analysis/distribution.hpp
  include/backsight/analysis/function_table.hpp
  include/backsight/analysis/parallel.hpp

  include/backsight/core/any_record.hpp
  include/backsight/core/bytes.hpp
  include/backsight/core/cursor.hpp
  include/backsight/core/error.hpp
  include/backsight/core/event.hpp
  include/backsight/core/field.hpp
  include/backsight/core/format.hpp
  include/backsight/core/grammar.hpp
  include/backsight/core/hex_dump.hpp
  include/backsight/core/inplace_vector.hpp
  include/backsight/core/print.hpp
  include/backsight/core/record.hpp
  include/backsight/core/record_range.hpp
  include/backsight/core/record_span.hpp
  include/backsight/core/schema.hpp
  include/backsight/core/text.hpp

  include/backsight/elf/schema.hpp
  include/backsight/elf/sections.hpp
  include/backsight/elf/symbols.hpp

  include/backsight/emit/chrome_json.hpp
  include/backsight/emit/dot.hpp
  include/backsight/emit/folded.hpp
  include/backsight/emit/perfetto.hpp

  include/backsight/io/mapped_file.hpp

  include/backsight/xray/basic.hpp
  include/backsight/xray/block_index.hpp
  include/backsight/xray/blocks.hpp
  include/backsight/xray/events.hpp
  include/backsight/xray/fdr.hpp
  include/backsight/xray/instr_map.hpp
  include/backsight/xray/log.hpp
  include/backsight/xray/schema.hpp
  include/backsight/xray/xray.hpp
)
