// SPDX-License-Identifier: Apache-2.0
// expect: the format has no such record
#include <backsight/core/any_record.hpp>

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
  static constexpr kind_result kind_of(const std::byte*, const context&) { return records::kind<a_record>; }
  static constexpr payload_result payload_size(record<b_record, byte_order>, const context&) { return std::size_t{0}; }
};

bool test(any_record<format> item);
bool test(any_record<format> item) {
#ifdef BACKSIGHT_FAIL
  return item.is<foreign_record>();
#else
  return item.is<b_record>();
#endif
}
