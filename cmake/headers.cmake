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

  include/backsight/cfi/address_space.hpp
  include/backsight/cfi/arch/aarch64.hpp
  include/backsight/cfi/arch/arm.hpp
  include/backsight/cfi/arch/generic.hpp
  include/backsight/cfi/arch/i386.hpp
  include/backsight/cfi/arch/riscv64.hpp
  include/backsight/cfi/arch/x86_64.hpp
  include/backsight/cfi/batch.hpp
  include/backsight/cfi/cfi.hpp
  include/backsight/cfi/frame.hpp
  include/backsight/cfi/frame_sections.hpp
  include/backsight/cfi/general_rule.hpp
  include/backsight/cfi/header_table.hpp
  include/backsight/cfi/in_process.hpp
  include/backsight/cfi/interpreter.hpp
  include/backsight/cfi/libunwind.hpp
  include/backsight/cfi/lookup.hpp
  include/backsight/cfi/program.hpp
  include/backsight/cfi/rule.hpp
  include/backsight/cfi/section.hpp
  include/backsight/cfi/table.hpp
  include/backsight/cfi/table_builder.hpp
  include/backsight/cfi/table_encoder.hpp
  include/backsight/cfi/unwind.hpp
  include/backsight/cfi/unwind_rule.hpp

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

  include/backsight/dwarf/constants.hpp
  include/backsight/dwarf/expression.hpp
  include/backsight/dwarf/pointer_encoding.hpp

  include/backsight/elf/indexed_range.hpp
  include/backsight/elf/schema.hpp
  include/backsight/elf/sections.hpp
  include/backsight/elf/symbols.hpp

  include/backsight/emit/chrome_json.hpp
  include/backsight/emit/dot.hpp
  include/backsight/emit/folded.hpp
  include/backsight/emit/perfetto.hpp

  include/backsight/io/container.hpp
  include/backsight/io/inflate.hpp
  include/backsight/io/lz4_frame.hpp
  include/backsight/io/mapped_file.hpp
  include/backsight/io/snappy_frame.hpp
  include/backsight/io/uftrace_directory.hpp
  include/backsight/io/zip.hpp
  include/backsight/io/zip_trace.hpp

  include/backsight/memtrace/analyzers.hpp
  include/backsight/memtrace/check.hpp
  include/backsight/memtrace/counts.hpp
  include/backsight/memtrace/final.hpp
  include/backsight/memtrace/memtrace.hpp
  include/backsight/memtrace/pc_set.hpp
  include/backsight/memtrace/raw.hpp
  include/backsight/memtrace/raw_counts.hpp
  include/backsight/memtrace/raw_schema.hpp
  include/backsight/memtrace/references.hpp
  include/backsight/memtrace/schema.hpp
  include/backsight/memtrace/split.hpp
  include/backsight/memtrace/types.hpp
  include/backsight/memtrace/window_index.hpp
  include/backsight/memtrace/windows.hpp

  include/backsight/uftrace/arguments.hpp
  include/backsight/uftrace/call_stacks.hpp
  include/backsight/uftrace/call_tree.hpp
  include/backsight/uftrace/debug_file.hpp
  include/backsight/uftrace/detail/lines.hpp
  include/backsight/uftrace/detail/short_name_parser.hpp
  include/backsight/uftrace/detail/winner_tree.hpp
  include/backsight/uftrace/enumerations.hpp
  include/backsight/uftrace/events.hpp
  include/backsight/uftrace/info.hpp
  include/backsight/uftrace/memory_map.hpp
  include/backsight/uftrace/merge.hpp
  include/backsight/uftrace/recording.hpp
  include/backsight/uftrace/records.hpp
  include/backsight/uftrace/report.hpp
  include/backsight/uftrace/resolver.hpp
  include/backsight/uftrace/schema.hpp
  include/backsight/uftrace/short_name.hpp
  include/backsight/uftrace/symbols.hpp
  include/backsight/uftrace/task_list.hpp
  include/backsight/uftrace/uftrace.hpp
  include/backsight/uftrace/value_text.hpp

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
