// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <backsight/core/varying.hpp>

// Records made from values: the inverse of reading them.
namespace backsight {

namespace detail {

/// The value of a member in a builder. Views are copied.
template <std::size_t Index, class M>
struct built {
  using type = typename M::value_type;
  type value{};
};
template <std::size_t Index, class M>
  requires std::derived_from<M, bytes_member>
struct built<Index, M> {
  using type = std::vector<std::byte>;
  type value{};
};

template <class M, class S>
concept counted_by_member = requires {
  M::count;
  requires field_of<std::remove_cvref_t<decltype(M::count)>, S>;
};

/// The bytes of one thing that a counted member counts.
template <class M>
[[nodiscard]] consteval std::size_t counted_size() {
  if constexpr (requires { typename M::element; }) return size_of<typename M::element>;
  else if constexpr (std::is_same_v<typename M::value_type, byte_view>) return 1;
  else return sizeof(typename M::value_type);
}

template <class S, order O, class Indices>
class builder_values;
template <class S, order O, std::size_t... Is>
class builder_values<S, O, std::index_sequence<Is...>>
    : public built<Is, typename layout_of<S>::members::template at<Is>>... {};

}  // namespace detail

/// Makes records of schema S: `record_builder<S, O>{}.set(S::code, 1).set(S::value, bytes).append_to(out)`. Counts, the
/// size of the record, constants and repeated members follow from the rest. Owns copies of what is set.
template <schema S, order O>
class record_builder {
  using fields = detail::layout_of<S>;
  using indices = std::make_index_sequence<fields::member_count>;

 public:
  using schema_type = S;
  static constexpr order byte_order = O;

  record_builder() { set_constants(); }
  /// The members and the payload of a record that is there.
  template <order From>
  explicit record_builder(const record<S, From>& item) {
    for_each_member<S>([&]<class M>(M, auto index) {
      if constexpr (std::derived_from<M, detail::bytes_member>) {
        if constexpr (requires { item.template member_at<index>().bytes(); })
          assign<index>(item.template member_at<index>().bytes());
        else assign<index>(item.template member_at<index>());
        static_assert(
            From == O || std::is_same_v<typename M::value_type, byte_view> || sizeof(typename M::value_type) == 1,
            "backsight: numbers and records inside of a record are set in the byte order of the builder");
      } else {
        value_at<index>() = item.template member_at<index>();
      }
    });
    if constexpr (has_payload<S>) payload(item.payload());
  }

  /// Sets a number.
  template <class F>
    requires(!std::derived_from<F, detail::bytes_member>)
  record_builder& set(F, const typename F::value_type& value) {
    value_at<index_of<F>()>() = value;
    return *this;
  }
  /// Sets bytes, a text, or records that are there as bytes; what counts them is set with them.
  template <class F>
    requires std::derived_from<F, detail::bytes_member>
  record_builder& set(F, byte_view bytes) {
    assign<index_of<F>()>(bytes);
    count<F>(bytes.size() / detail::counted_size<F>());
    return *this;
  }
  /// Sets numbers, and what counts them.
  template <class F, class T>
    requires(std::is_same_v<T, typename F::value_type> && !std::is_same_v<T, byte_view>)
  record_builder& set(F member, std::span<const T> values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) store<O>(bytes.data() + i * sizeof(T), values[i]);
    return set(member, byte_view(bytes));
  }
  /// Sets what stands behind the members. The format tells its size by a member of its own, or the record by its
  /// `extent`.
  record_builder& payload(byte_view bytes)
    requires has_payload<S>
  {
    payload_.assign(bytes.begin(), bytes.end());
    return *this;
  }

  /// The value of a member, as conditions and counts read it.
  template <class F>
  [[nodiscard]] auto operator[](F) const noexcept {
    if constexpr (std::derived_from<F, detail::bytes_member>) return byte_view(value_at<index_of<F>()>());
    else return value_at<index_of<F>()>();
  }

  /// Writes the record behind `out`. errc::number_too_large where a count or the size does not fit its member,
  /// errc::bad_size where bytes are not as many as their count says; then nothing is written.
  [[nodiscard]] errc append_to(std::vector<std::byte>& out) {
    if (fits_ != errc::ok) return fits_;
    const std::size_t begin = out.size();
    errc code = write(out);
    if constexpr (detail::states_extent<S>) {
      if (code == errc::ok) {
        const std::size_t size = out.size() - begin;
        out.resize(begin);
        if (size < S::extent::before || (size - S::extent::before) % S::extent::unit != 0) return errc::bad_size;
        code = number<std::remove_cvref_t<decltype(S::extent::size)>>((size - S::extent::before) / S::extent::unit);
        if (code == errc::ok) code = write(out);
      }
    }
    if (code == errc::ok && fill_checksums(out, begin)) {
      out.resize(begin);
      code = write(out);
    }
    if (code != errc::ok) out.resize(begin);
    return code;
  }

 private:
  template <class F>
  static consteval std::size_t index_of() {
    static_assert(field_of<F, S>, "backsight: this member does not belong to the record's schema");
    return fields::members::template index_of<F>;
  }
  template <std::size_t Index>
  using built_at = detail::built<Index, typename fields::members::template at<Index>>;
  template <std::size_t Index>
  [[nodiscard]] auto& value_at() noexcept {
    return static_cast<built_at<Index>&>(values_).value;
  }
  template <std::size_t Index>
  [[nodiscard]] const auto& value_at() const noexcept {
    return static_cast<const built_at<Index>&>(values_).value;
  }
  template <std::size_t Index>
  void assign(byte_view bytes) {
    value_at<Index>().assign(bytes.begin(), bytes.end());
  }

  template <class F>
  [[nodiscard]] errc number(std::size_t value) {
    using type = typename F::value_type;
    constexpr std::size_t bits = F::bits - (std::is_signed_v<type> ? 1 : 0);
    if (bits < 64 && static_cast<std::uint64_t>(value) >> bits % 64 != 0) return errc::number_too_large;
    value_at<index_of<F>()>() = static_cast<type>(value);
    return errc::ok;
  }
  template <class F>
  void count(std::size_t counted) {
    if constexpr (detail::counted_by_member<F, S>) {
      const errc code = number<std::remove_cvref_t<decltype(F::count)>>(counted);
      if (code != errc::ok) fits_ = code;
    }
  }
  void set_constants() {
    for_each_member<S>([&]<class M>(M, auto index) {
      if constexpr (requires {
                      M::verify(*this);
                      M::value;
                    })
        value_at<index>() = M::value;
    });
  }

  [[nodiscard]] errc write(std::vector<std::byte>& out) {
    repeat_members();
    const std::size_t begin = out.size();
    const errc code = [&]<std::size_t... Is>(std::index_sequence<Is...>) {
      errc found = errc::ok;
      (void)(((found = write_unit<typename fields::units::template at<Is>, first_member<Is>>(out, begin)) ==
              errc::ok) &&
             ...);
      return found;
    }(std::make_index_sequence<fields::units::size>{});
    out.insert(out.end(), payload_.begin(), payload_.end());
    return code;
  }
  /// Computes the checksums over what is written; gives whether any was another one.
  [[nodiscard]] bool fill_checksums([[maybe_unused]] const std::vector<std::byte>& out,
                                    [[maybe_unused]] std::size_t begin) {
    bool changed = false;
    for_each_member<S>([&]<class M>(M, [[maybe_unused]] auto index) {
      if constexpr (requires { M::is_checksum; }) {
        const std::byte* const data = out.data() + begin;
        record<S, O> view;
        if constexpr (detail::varying<S>) view = record<S, O>(data, out.size() - begin);
        else view = record<S, O>(data);
        if (M::verify(view) == errc::ok) return;
        value_at<index>() = M::computed(view);
        changed = true;
      }
    });
    return changed;
  }
  /// The index of the first member of a unit.
  template <std::size_t Unit>
  static constexpr std::size_t first_member = []<std::size_t... Is>(std::index_sequence<Is...>) {
    return (std::size_t{0} + ... + fields::units::template at<Is>::members::size);
  }(std::make_index_sequence<Unit>{});

  void repeat_members() {
    for_each_member<S>([&]<class M>(M, auto index) {
      if constexpr (requires { M::repeated(*this); }) value_at<index>() = M::repeated(*this);
    });
  }
  template <class Unit, std::size_t First>
  [[nodiscard]] errc write_unit(std::vector<std::byte>& out, std::size_t begin) {
    if constexpr (requires { typename Unit::unit; }) {
      if (!detail::holds_for<Unit::condition>(*this)) return errc::ok;
      return write_unit<typename Unit::unit, First>(out, begin);
    } else if constexpr (detail::is_varying<Unit>) {
      return write_member<typename Unit::member, First>(out, begin);
    } else {
      constexpr std::size_t bytes = Unit::bits / 8;
      const std::size_t at = out.size();
      out.resize(at + bytes);
      [&]<std::size_t... Is>(std::index_sequence<Is...>) {
        (write_fixed<First + Is, Is, Unit, bytes>(out.data() + at), ...);
      }(std::make_index_sequence<Unit::members::size>{});
      return errc::ok;
    }
  }
  template <std::size_t Index, std::size_t InUnit, class Unit, std::size_t Bytes>
  void write_fixed(std::byte* unit) {
    using member = typename Unit::members::template at<InUnit>;
    constexpr std::size_t bit = detail::first_bits<Unit, O>[InUnit];
    detail::write_member<typename member::value_type, detail::placement{bit, member::bits}, Bytes,
                         detail::order_of_member<member, O>>(unit, value_at<Index>());
  }
  template <class M, std::size_t Index>
  [[nodiscard]] errc write_member(std::vector<std::byte>& out, std::size_t begin) {
    const auto& value = value_at<Index>();
    if constexpr (requires { M::form; }) {
      write_varint<M::form>(M::widened(value), [&](std::byte one) { out.push_back(one); });
    } else if constexpr (requires { M::alignment; }) {
      while ((out.size() - begin) % M::alignment != 0) out.push_back(std::byte{0});
    } else {
      if constexpr (requires { M::count; }) {
        const auto told = static_cast<std::uint64_t>(M::count(*this));
        if (told > value.size() || told * detail::counted_size<M>() != value.size()) return errc::bad_size;
      }
      if constexpr (requires { M::is_text; }) {
        for (const std::byte one : value) {
          if (one == std::byte{0}) return errc::bad_string;
        }
      }
      out.insert(out.end(), value.begin(), value.end());
      if constexpr (requires { M::is_text; }) out.push_back(std::byte{0});
    }
    return errc::ok;
  }

  [[no_unique_address]] detail::builder_values<S, O, indices> values_{};
  std::vector<std::byte> payload_;
  errc fits_ = errc::ok;
};

}  // namespace backsight
