// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <backsight/core/checked.hpp>
#include <backsight/core/common_when.hpp>
#include <backsight/core/file.hpp>
#include <backsight/core/kind_table.hpp>
#include <backsight/core/part.hpp>
#include <backsight/core/tagged_format.hpp>
#include <backsight/core/varying.hpp>

/// The words of declarations, and no others: `using namespace backsight::schemas;`, or `namespace s =
/// backsight::schemas;` and `s::field<...>`, for code that has a `message`, a `text` or a `visit` of its own.
namespace backsight::schemas {

// What a declaration is made of.
using backsight::byte_view;
using backsight::errc;
using backsight::order;

// Members.
using backsight::align;
using backsight::c_string;
using backsight::checksum_over;
using backsight::counted;
using backsight::counted_bytes;
using backsight::counted_part;
using backsight::counted_records;
using backsight::field;
using backsight::field_in;
using backsight::must_be;
using backsight::padding;
using backsight::part;
using backsight::rest_bytes;
using backsight::same_as;
using backsight::sleb;
using backsight::uleb;
using backsight::varint;
using backsight::zigzag;

// Checksums that are ready.
using backsight::adler32;
using backsight::crc32;

// Layouts.
using backsight::at;
using backsight::is;
using backsight::layout;
using backsight::sized_by;
using backsight::when;
using backsight::word;
using backsight::word_lsb;
using backsight::word_msb;

// Formats and files.
using backsight::common_record;
using backsight::common_when;
using backsight::file_format;
using backsight::grammar;
using backsight::kind_result;
using backsight::kind_table;
using backsight::magic_at;
using backsight::no_context;
using backsight::payload_result;
using backsight::record;
using backsight::record_format;
using backsight::record_list;
using backsight::schema;
using backsight::tagged_format;

}  // namespace backsight::schemas
