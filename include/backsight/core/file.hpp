// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <backsight/core/record_range.hpp>

// Whole files: a header or a magic number that tells the byte order, then records.
namespace backsight {

/// A number at a known place of a file or section: `using magic = magic_at<8, std::uint32_t, 0x1a2b3c4d>;`. The byte
/// order in which it has its value is that of what follows; a number that reads the same both ways tells none.
template <std::size_t Offset, class T, T Value>
struct magic_at {
  static constexpr std::size_t offset = Offset;
  static constexpr std::size_t end = Offset + sizeof(T);
  static constexpr T value = Value;

  template <order O>
  [[nodiscard]] static constexpr bool is_at(byte_view bytes) noexcept {
    return bytes.size() >= end && load<T, O>(bytes.data() + Offset) == Value;
  }
  /// The byte order in which the number is there.
  [[nodiscard]] static constexpr result<order> order_of(byte_view bytes) noexcept {
    if (bytes.size() < end) return {errc::truncated, bytes.size()};
    if (is_at<order::little>(bytes)) return order::little;
    if (is_at<order::big>(bytes)) return order::big;
    return {errc::bad_magic, Offset};
  }
};

/// A file format: a type with
///   `template <order O> using format = ...;`      the format of its records;
/// and, where it applies,
///   `static constexpr order byte_order = ...;`    the byte order, or
///   `using magic = magic_at<...>;`                the number that tells it;
///   `using header = S;`                           what stands before the records, with its constants (must_be)
///       checked;
///   `static constexpr auto context_of(const record<S, O>&)`    the context of the first record, from the header;
///   `using section = magic_at<...>;`              where the start of a record is that, a new section begins: its byte
///       order is told anew, and its records have a new context.
template <class F>
concept file_format =
    record_format<typename F::template format<order::little>> && record_format<typename F::template format<order::big>>;

namespace detail {

template <file_format F>
[[nodiscard]] constexpr result<order> order_of_file(byte_view bytes) noexcept {
  if constexpr (requires { typename F::magic; }) {
    return F::magic::order_of(bytes);
  } else {
    static_assert(
        requires {
          { F::byte_order } -> std::convertible_to<order>;
        }, "backsight: the file format has neither a byte_order nor a magic that tells it");
    return F::byte_order;
  }
}

/// The size of the header, and whether it is as it must be.
template <file_format F, order O>
[[nodiscard]] constexpr payload_result header_of(byte_view bytes) noexcept {
  if constexpr (requires { typename F::header; }) {
    static_assert(!has_payload<typename F::header> || states_extent<typename F::header>,
                  "backsight: the size of a header follows from its members; state its `extent`");
    record<typename F::header, O> members;
    const end_result found = find_members(bytes.data(), bytes.size(), members);
    if (found.code != errc::ok) return found.code;
    return static_cast<std::size_t>(found.end - bytes.data());
  } else {
    return std::size_t{0};
  }
}

}  // namespace detail

/// A file of format F that open_file has looked at. A view: the bytes must outlive it.
template <file_format F>
class file_view {
 public:
  constexpr file_view() = default;
  constexpr file_view(byte_view bytes, order byte_order, std::size_t header_size) noexcept
      : bytes_(bytes), header_size_(header_size), order_(byte_order) {}

  [[nodiscard]] constexpr order byte_order() const noexcept { return order_; }
  [[nodiscard]] constexpr byte_view bytes() const noexcept { return bytes_; }
  /// The header. Precondition: O is byte_order().
  template <order O>
  [[nodiscard]] constexpr auto header() const noexcept {
    BACKSIGHT_ASSERT(O == order_);
    using view = record<typename F::header, O>;
    if constexpr (detail::varying<typename F::header> || has_payload<typename F::header>) {
      return view(bytes_.data(), detail::varying<typename F::header> ? header_size_ : header_size_ - view::size);
    } else {
      return view(bytes_.data());
    }
  }
  /// The records of the file, or of its first section. Precondition: O is byte_order().
  template <order O>
  [[nodiscard]] constexpr auto records() const noexcept {
    using range = record_range<typename F::template format<O>>;
    if constexpr (requires { typename F::header; }) {
      if constexpr (requires { F::context_of(header<O>()); }) {
        return range(bytes_.subspan(header_size_), F::context_of(header<O>()), header_size_);
      }
    }
    return range(bytes_.subspan(header_size_), {}, header_size_);
  }
  /// Calls `f(range)` with the records in the byte order of the file.
  template <class Function>
  constexpr decltype(auto) visit_records(Function&& f) const {
    return with_order(order_, [&](auto o) -> decltype(auto) { return f(this->template records<o()>()); });
  }

 private:
  byte_view bytes_;
  std::size_t header_size_ = 0;
  order order_ = order::little;
};

/// Looks at the start of a file: its byte order, its header. Errors: errc::bad_magic, errc::truncated, and
/// errc::bad_value for a constant of the header that differs.
template <file_format F>
[[nodiscard]] constexpr result<file_view<F>> open_file(byte_view bytes) noexcept {
  const result<order> told = detail::order_of_file<F>(bytes);
  if (!told) return told.error();
  return with_order(*told, [&](auto o) -> result<file_view<F>> {
    const payload_result header = detail::header_of<F, o()>(bytes);
    if (header.code != errc::ok) return {header.code, 0};
    return file_view<F>(bytes, o(), header.size);
  });
}

/// Calls `f(any_record)` for each record of a file of any byte order, section by section, and gives the error that
/// ended the walk, or none. `f` is a function template or takes both orders.
template <file_format F, class Function>
constexpr trace_error for_each_in_file(byte_view bytes, Function&& f) {
  for (std::size_t begin = 0;;) {
    const auto file = open_file<F>(bytes.subspan(begin));
    if (!file) return {file.error().code, begin + file.error().offset};
    std::size_t next = bytes.size();
    const trace_error error =
        file->visit_records([&]<record_format R, grammar_check Check>(const record_range<R, Check>& found) {
          const record_range<R, Check> records(found.bytes(), found.context(), begin + found.base());
          for (auto it = records.begin();; ++it) {
            const auto at = static_cast<std::size_t>(it.offset());
            if constexpr (requires { typename F::section; }) {
              if (at != begin && F::section::order_of(bytes.subspan(at))) return next = at, trace_error{};
            }
            if (it == std::default_sentinel) return it.error();
            f(*it);
          }
        });
    if (error || next == bytes.size()) return error;
    begin = next;
  }
}

}  // namespace backsight
