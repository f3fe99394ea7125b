// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Call frame information: reading, tables and unwinding. Apart from it are the own process, in in_process.hpp, SFrame,
/// in sframe/rows.hpp, and tables as C source, in emit/unwinder_c/unwinder_c.hpp.
#include <backsight/cfi/arch/generic.hpp>
#include <backsight/cfi/batch.hpp>
#include <backsight/cfi/bpf_pages.hpp>
#include <backsight/cfi/frame_sections.hpp>
#include <backsight/cfi/header_table.hpp>
#include <backsight/cfi/interpreter.hpp>
#include <backsight/cfi/lookup.hpp>
#include <backsight/cfi/program.hpp>
#include <backsight/cfi/progress.hpp>
#include <backsight/cfi/relocated_section.hpp>
#include <backsight/cfi/section.hpp>
#include <backsight/cfi/table.hpp>
#include <backsight/cfi/table_builder.hpp>
#include <backsight/cfi/table_part.hpp>
#include <backsight/cfi/unwind.hpp>
