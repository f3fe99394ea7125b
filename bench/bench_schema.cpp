// SPDX-License-Identifier: Apache-2.0
// Formats declared with the public API against loops by hand, all in one translation unit, through every interface.
#include <cstdlib>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include <backsight/core/record_span.hpp>
#include <backsight/core/tagged_format.hpp>
#include <backsight/core/varying.hpp>
#include <backsight/core/visit_each.hpp>

#include "baseline/schema_loops.hpp"

using namespace backsight;
using baseline::sums;

namespace {

struct fixed_record {
  static constexpr field<"time", std::uint64_t> time{};
  static constexpr field<"id", std::uint32_t> id{};
  static constexpr field<"kind", std::uint16_t> kind{};
  static constexpr field<"flags", std::uint16_t> flags{};
  static constexpr layout fields{time, id, kind, flags};
};
struct fixed_format : tagged_format<order::little, fixed_record> {
  static constexpr errc check(const record<fixed_record, byte_order>& item, const context&) noexcept {
    return item[fixed_record::kind] >= 8 ? errc::bad_value : errc::ok;
  }
};
struct tlv_record {
  static constexpr bool has_payload = true;
  static constexpr field<"tag", std::uint16_t> tag{};
  static constexpr field<"length", std::uint16_t> length{};
  static constexpr layout fields{tag, length};
};
struct tlv_format : tagged_format<order::little, tlv_record> {
  static constexpr payload_result payload_size(const record<tlv_record, byte_order>& item, const context&) noexcept {
    return std::size_t{item[tlv_record::length]};
  }
};
/// The same, with a member for the bytes.
struct counted_record {
  static constexpr field<"tag", std::uint16_t> tag{};
  static constexpr field<"length", std::uint16_t> length{};
  static constexpr counted_bytes<"data", length> data{};
  static constexpr layout fields{tag, length, data};
};
struct pair_record {
  static constexpr uleb<"a"> a{};
  static constexpr uleb<"b"> b{};
  static constexpr layout fields{a, b};
};
template <unsigned Kind>
struct stored_as {
  static constexpr varint<"tag"> tag{};
  static constexpr varint<"value"> value{};
  static constexpr auto told_by = [](const std::byte* at) { return (std::to_integer<unsigned>(*at) & 7U) == Kind; };
};
struct number_field : stored_as<0> {
  static constexpr layout fields{tag, value};
};
struct bytes_field : stored_as<2> {
  static constexpr counted_bytes<"data", value> data{};
  static constexpr layout fields{tag, value, data};
};
using counted_format = tagged_format<order::little, counted_record>;
using pair_format = tagged_format<order::little, pair_record>;
using field_format = tagged_format<order::little, number_field, bytes_field>;

/// What the loops by hand add up.
struct adder {
  sums found;
  [[gnu::always_inline]] void first_of(byte_view data) {
    if (!data.empty()) found.values += std::to_integer<unsigned>(data[0]);
  }
  [[gnu::always_inline]] void operator()(const record<fixed_record, order::little>& item) {
    ++found.records;
    found.values += item[fixed_record::time] + item[fixed_record::id];
  }
  [[gnu::always_inline]] void operator()(const record<tlv_record, order::little>& item) {
    ++found.records;
    found.values += std::uint64_t{item[tlv_record::tag]} + item[tlv_record::length];
    first_of(item.payload());
  }
  [[gnu::always_inline]] void operator()(const record<counted_record, order::little>& item) {
    ++found.records;
    found.values += std::uint64_t{item[counted_record::tag]} + item[counted_record::length];
    first_of(item[counted_record::data]);
  }
  [[gnu::always_inline]] void operator()(const record<pair_record, order::little>& item) {
    ++found.records;
    found.values += item[pair_record::a] ^ item[pair_record::b];
  }
  [[gnu::always_inline]] void operator()(const record<number_field, order::little>& item) {
    ++found.records;
    found.values += item[number_field::tag] + item[number_field::value];
  }
  [[gnu::always_inline]] void operator()(const record<bytes_field, order::little>& item) {
    ++found.records;
    found.values += item[bytes_field::tag] + item[bytes_field::value];
    first_of(item[bytes_field::data]);
  }
};

/// The ways through a range.
template <class F>
sums by_for_each(byte_view data) {
  adder add;
  add.found.failed = static_cast<bool>(for_each(record_range<F>(data), [&](auto item) { visit(item, add); }));
  return add.found;
}
template <class F>
sums by_iterator(byte_view data) {
  adder add;
  const record_range<F> range(data);
  auto it = range.begin();
  for (; it != range.end(); ++it) visit(*it, add);
  add.found.failed = static_cast<bool>(it.error());
  return add.found;
}
template <class F>
sums by_visit_each(byte_view data) {
  adder add;
  add.found.failed = static_cast<bool>(visit_each(record_range<F>(data), add));
  return add.found;
}

std::vector<std::byte> made(std::size_t records, auto make) {
  std::mt19937_64 random(17);
  std::vector<std::byte> out;
  for (std::size_t i = 0; i < records; ++i) make(out, random);
  return out;
}
void put_number(std::vector<std::byte>& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}
void put_varint(std::vector<std::byte>& out, std::uint64_t value) {
  write_varint<varint_form::uleb>(value, [&](std::byte one) { out.push_back(one); });
}

const std::size_t count = std::getenv("BACKSIGHT_BENCH_SMALL") != nullptr ? 1000 : 500'000;

const std::vector<std::byte>& fixed_bytes() {
  static const auto data = made(count, [](auto& out, auto& random) {
    put_number(out, random(), 8);
    put_number(out, random(), 4);
    put_number(out, random() % 8, 2);
    put_number(out, random(), 2);
  });
  return data;
}
const std::vector<std::byte>& tlv_bytes() {
  static const auto data = made(count, [](auto& out, auto& random) {
    const std::size_t length = random() % 24;
    put_number(out, random(), 2);
    put_number(out, length, 2);
    for (std::size_t i = 0; i < length; ++i) out.push_back(static_cast<std::byte>(random()));
  });
  return data;
}
const std::vector<std::byte>& pair_bytes() {
  static const auto data = made(count, [](auto& out, auto& random) {
    put_varint(out, random() % 300);
    put_varint(out, random() >> (random() % 64));
  });
  return data;
}
const std::vector<std::byte>& field_bytes() {
  static const auto data = made(count, [](auto& out, auto& random) {
    const bool bytes = random() % 4 == 0;
    put_varint(out, (1 + random() % 30) << 3 | (bytes ? 2U : 0U));
    const std::size_t length = random() % 20;
    put_varint(out, bytes ? length : random() % 100'000);
    for (std::size_t i = 0; bytes && i < length; ++i) out.push_back(static_cast<std::byte>(random()));
  });
  return data;
}

template <auto Loop>
sums by_hand(byte_view data) {
  return Loop(data.data(), data.data() + data.size());
}

template <auto Walk, auto Check, auto Bytes>
void run(benchmark::State& state) {
  const byte_view data = Bytes();
  if (Walk(data) != Check(data) || Walk(data).failed || Walk(data).records != count)
    return state.SkipWithError("the answers differ");
  for (auto _ : state) benchmark::DoNotOptimize(Walk(data));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(data.size()));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(count));
}

#define WAYS(name, format, loop, bytes)                                              \
  BENCHMARK(run<by_hand<loop>, by_hand<loop>, bytes>)->Name(name "/by_hand");        \
  BENCHMARK(run<by_for_each<format>, by_hand<loop>, bytes>)->Name(name "/for_each"); \
  BENCHMARK(run<by_iterator<format>, by_hand<loop>, bytes>)->Name(name "/iterator"); \
  BENCHMARK(run<by_visit_each<format>, by_hand<loop>, bytes>)->Name(name "/visit_each")

WAYS("fixed", fixed_format, baseline::fixed, fixed_bytes);
WAYS("payload", tlv_format, baseline::tlv, tlv_bytes);
WAYS("counted_bytes", counted_format, baseline::tlv, tlv_bytes);
WAYS("uleb_pairs", pair_format, baseline::pairs, pair_bytes);
WAYS("protobuf", field_format, baseline::fields, field_bytes);

}  // namespace

BENCHMARK_MAIN();
