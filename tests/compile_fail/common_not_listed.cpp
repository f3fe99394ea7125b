// SPDX-License-Identifier: Apache-2.0
// expect: the common record is not in the list
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
  using records = record_list<a_record, b_record>;
  using context = no_context;
  static constexpr order byte_order = order::little;
  static constexpr std::size_t head_bytes = 1;
#ifdef BACKSIGHT_FAIL
  static constexpr common_record<foreign_record, std::uint8_t> common{.mask = 1, .value = 0};
#else
  static constexpr common_record<a_record, std::uint8_t> common{.mask = 1, .value = 0};
#endif
  static constexpr kind_result kind_of(const std::byte*, const context&) { return records::kind<a_record>; }
  static constexpr payload_result payload_size(record<b_record, byte_order>, const context&) { return std::size_t{0}; }
};

trace_error validate(byte_view bytes);
trace_error validate(byte_view bytes) { return record_range<format>(bytes).validate(); }
