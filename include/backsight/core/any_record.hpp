// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <backsight/core/format.hpp>

namespace backsight {

/// Function objects joined to one, for visit: `overloaded{[](record<A, O>) {...}, [](record<B, O>) {...}}`.
template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

namespace detail {

template <class M, class... Schemas>
consteval bool has_in_all(type_list<Schemas...>) {
  return (field_of<M, Schemas> && ...);
}

}  // namespace detail

/// One record of format F whose kind is known at run time: bytes, kind and place. A view; trivially copyable.
template <record_format F>
class any_record {
 public:
  using format_type = F;

  constexpr any_record() = default;
  /// Precondition: `size` bytes at `data` decode as the kind of that index, and reading them has found that.
  constexpr any_record(const std::byte* data, std::size_t size, std::uint32_t kind, std::uint64_t offset,
                       const detail::tail_of<F>& found) noexcept
      : data_(data), size_(size), offset_(offset), kind_(kind), found_(found) {}
  /// The same, where all members have fixed places.
  constexpr any_record(const std::byte* data, std::size_t size, std::uint32_t kind, std::uint64_t offset) noexcept
    requires(std::is_empty_v<detail::tail_of<F>>)
      : any_record(data, size, kind, offset, {}) {}

  /// All bytes of the record, the payload included.
  [[nodiscard]] constexpr byte_view bytes() const noexcept { return {data_, size_}; }
  /// The byte offset in the view that the caller passed to the range.
  [[nodiscard]] constexpr std::uint64_t offset() const noexcept { return offset_; }
  /// The index of its kind in F::records.
  [[nodiscard]] constexpr std::uint32_t kind() const noexcept { return kind_; }

  /// It is of schema S.
  template <schema S>
  [[nodiscard]] constexpr bool is() const noexcept {
    static_assert(F::records::template count<S> == 1, "backsight: the format has no such record");
    return kind_ == F::records::template index_of<S>;
  }
  /// The record as one of schema S. Precondition: is<S>().
  template <schema S>
  [[nodiscard]] constexpr record<S, F::byte_order> as() const noexcept {
    BACKSIGHT_ASSERT(is<S>());
    // Spares the test for null where a get_if decides by it (Clang 19).
    if (data_ == nullptr) __builtin_unreachable();
    if constexpr (detail::varying<S>) return record<S, F::byte_order>(data_, size_, offset_, found_);
    else if constexpr (has_payload<S>) return record<S, F::byte_order>(data_, size_ - size_of<S>);
    else return record<S, F::byte_order>(data_);
  }

  /// The value of a member that the records of every kind have, such as all of a format of one kind: so members are
  /// projections of ranges too.
  template <class M>
    requires(detail::has_in_all<M>(typename F::records{}))
  [[nodiscard]] constexpr auto operator[](M member) const noexcept {
    if constexpr (F::records::size == 1) return as<typename F::records::template at<0>>()[member];
    else return visit(*this, [&](const auto& typed) { return typed[member]; });
  }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t offset_ = 0;
  std::uint32_t kind_ = detail::no_kind;
  [[no_unique_address]] detail::tail_of<F> found_{};
};

/// The record as one of schema S, or an empty view, which converts to false, when it is of another kind.
template <schema S, record_format F>
[[nodiscard]] constexpr record<S, F::byte_order> get_if(const any_record<F>& item) noexcept {
  if (!item.template is<S>()) return {};
  return item.template as<S>();
}

namespace detail {

template <class Visitor, record_format F, std::size_t... Is>
consteval bool handles_every_kind(std::index_sequence<Is...>) {
  return (std::invocable<Visitor&, record<typename F::records::template at<Is>, F::byte_order>> && ...);
}

}  // namespace detail

/// Calls `visitor` with the record as record<Schema, order>. It must accept every kind of the format, and return the
/// same type for each: void or a default-constructible one. Compiles to a switch; no indirect call. Precondition:
/// `item` is a record of a range, no default-constructed one.
template <record_format F, class Visitor>
constexpr decltype(auto) visit(const any_record<F>& item, Visitor&& visitor) {
  using kinds = std::make_index_sequence<F::records::size>;
  static_assert(detail::handles_every_kind<Visitor, F>(kinds{}),
                "backsight: the visitor leaves out a kind of record of the format");
  if constexpr (detail::handles_every_kind<Visitor, F>(kinds{})) {
    BACKSIGHT_ASSERT(item.kind() < F::records::size);
    // Spares the test for the last kind.
    if (item.kind() >= F::records::size) __builtin_unreachable();
    using first = typename F::records::template at<0>;
    using returned = decltype(visitor(item.template as<first>()));
    return [&]<std::size_t... Is>(std::index_sequence<Is...>) -> returned {
      if constexpr (std::is_void_v<returned>) {
        (void)((item.kind() == Is && (visitor(item.template as<typename F::records::template at<Is>>()), true)) || ...);
      } else {
        returned value{};
        (void)((item.kind() == Is &&
                (value = visitor(item.template as<typename F::records::template at<Is>>()), true)) ||
               ...);
        return value;
      }
    }(kinds{});
  }
}

}  // namespace backsight
