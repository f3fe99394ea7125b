// SPDX-License-Identifier: Apache-2.0
// first: the format has no hook `kind_of`
#include <backsight/core/record_range.hpp>

using namespace backsight;

struct a_record {
  static constexpr field<"tag", std::uint8_t> tag{};
  static constexpr layout fields{tag};
};
struct b_record {
  static constexpr bool has_payload = true;
  static constexpr field<"tag", std::uint8_t> tag{};
  static constexpr layout fields{tag};
};
struct foreign_record {
  static constexpr field<"tag", std::uint8_t> tag{};
  static constexpr layout fields{tag};
};

struct format {
  using records = record_list<a_record>;
  using context = no_context;
  static constexpr order byte_order = order::little;
  static constexpr std::size_t head_bytes = 1;
#ifndef BACKSIGHT_FAIL
  static constexpr kind_result kind_of(const std::byte*, const context&) { return records::kind<a_record>; }
#endif
};

trace_error validate(byte_view bytes);
trace_error validate(byte_view bytes) { return record_range<format>(bytes).validate(); }
