// SPDX-License-Identifier: Apache-2.0
// first: the hook `payload_size` is declared for a record whose `extent` tells its size
#include <backsight/core/record_range.hpp>

using namespace backsight;

struct packet {
  static constexpr field<"length", std::uint8_t> length{};
  static constexpr layout fields{length};
  using extent = sized_by<length>;
};
struct format {
  using records = record_list<packet>;
  using context = no_context;
  static constexpr order byte_order = order::little;
  static constexpr std::size_t head_bytes = 1;
  static constexpr kind_result kind_of(const std::byte*, const context&) { return records::kind<packet>; }
#ifdef BACKSIGHT_FAIL
  static constexpr payload_result payload_size(record<packet, byte_order>, const context&) { return 1U; }
#endif
};

trace_error validate(byte_view bytes);
trace_error validate(byte_view bytes) { return record_range<format>(bytes).validate(); }
