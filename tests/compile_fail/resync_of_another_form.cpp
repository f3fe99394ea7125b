// SPDX-License-Identifier: Apache-2.0
// first: the hook `resync` takes or gives something else
#include <backsight/core/record_range.hpp>

using namespace backsight;

struct plain {
  static constexpr field<"tag", std::uint8_t> tag{};
  static constexpr layout fields{tag};
};
struct long_one {
  static constexpr bool has_payload = true;
  static constexpr field<"tag", std::uint8_t> tag{};
  static constexpr field<"length", std::uint16_t> length{};
  static constexpr layout fields{tag, length};
};

struct format {
  using records = record_list<plain, long_one>;
  using context = no_context;
  static constexpr order byte_order = order::little;
  static constexpr std::size_t head_bytes = 1;
  static constexpr kind_result kind_of(const std::byte*, const context&) { return records::kind<plain>; }
  static constexpr payload_result payload_size(record<long_one, byte_order> item, const context&) {
    return std::size_t{item[long_one::length]};
  }
#ifdef BACKSIGHT_FAIL
  static constexpr std::size_t resync(byte_view all, std::size_t, const no_context*) { return all.size(); }
#else
  static constexpr std::size_t resync(byte_view all, std::size_t, context&) { return all.size(); }
#endif
};

trace_error validate(byte_view bytes);
trace_error validate(byte_view bytes) { return record_range<format>(bytes).validate(); }
