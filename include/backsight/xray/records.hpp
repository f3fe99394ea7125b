// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/common_when.hpp>
#include <backsight/core/offset_of.hpp>
#include <backsight/core/record_range.hpp>
#include <backsight/core/record_span.hpp>
#include <backsight/xray/trace.hpp>

namespace backsight::xray {

/// What the lengths and layouts of FDR records depend on beside their bytes.
struct fdr_context {
  std::uint16_t version = 5;
};

/// The records of a block of an FDR log of versions 1 to 5. The transitions are those of LLVM's BlockVerifier.cpp and
/// of the format page's grammar: a block holds one buffer.
template <order O>
struct fdr_format {
  using records = record_list<function_record, new_buffer_record, end_of_buffer_record, new_cpu_id_record,
                              tsc_wrap_record, wall_clock_time_record, custom_event_record_v1, custom_event_record_v4,
                              custom_event_record_v5, call_argument_record, buffer_extents_record,
                              typed_event_record_v2, typed_event_record_v5, pid_record>;
  using context = fdr_context;
  using terminator = end_of_buffer_record;
  static constexpr order byte_order = O;
  static constexpr std::size_t head_bytes = size_of<record_head>;

  /// A function record of an action that there is.
  static constexpr auto common = common_when<function_record, O, std::uint64_t>(
      is(function_record::discriminant, false),
      is(function_record::action, function_action::enter, function_action::exit, function_action::tail_exit,
         function_action::enter_args));

 private:
  /// Adds what may follow the body records From: other body records or the end.
  template <class... From>
  static consteval auto body_after(grammar<records> rules) {
    ((rules = rules.template follow<From, new_cpu_id_record, tsc_wrap_record, custom_event_record_v1,
                                    custom_event_record_v4, custom_event_record_v5, typed_event_record_v2,
                                    typed_event_record_v5, function_record, end_of_buffer_record>()),
     ...);
    return rules.template finish<From...>();
  }

 public:
  static constexpr auto transitions =
      body_after<new_cpu_id_record, tsc_wrap_record, custom_event_record_v1, custom_event_record_v4,
                 custom_event_record_v5, typed_event_record_v2, typed_event_record_v5, function_record,
                 call_argument_record>(grammar<records>{})
          .template start<buffer_extents_record, new_buffer_record>()
          .template follow<buffer_extents_record, new_buffer_record>()
          .template follow<new_buffer_record, wall_clock_time_record>()
          .template follow<wall_clock_time_record, pid_record, new_cpu_id_record>()
          .template follow<pid_record, new_cpu_id_record>()
          .template follow<function_record, call_argument_record>()
          .template follow<call_argument_record, call_argument_record>()
          .template finish<end_of_buffer_record, buffer_extents_record>();

  /// The first byte of a metadata record of that kind.
  [[nodiscard]] static constexpr std::byte head_of(metadata_kind kind) noexcept {
    owned_record<record_head, O> head;
    head.set(record_head::discriminant, true).set(record_head::record_kind, kind);
    return head.bytes()[0];
  }

  [[nodiscard]] static constexpr kind_result kind_of(const std::byte* at, const context& in) noexcept {
    const record<record_head, O> head(at);
    if (!head[record_head::discriminant]) return kind<function_record>;
    switch (head[record_head::record_kind]) {
      case metadata_kind::new_buffer: return kind<new_buffer_record>;
      case metadata_kind::end_of_buffer:
        if (in.version >= 2) return errc::unknown_record;
        return kind<end_of_buffer_record>;
      case metadata_kind::new_cpu_id: return kind<new_cpu_id_record>;
      case metadata_kind::tsc_wrap: return kind<tsc_wrap_record>;
      case metadata_kind::wall_clock_time: return kind<wall_clock_time_record>;
      case metadata_kind::custom_event:
        if (in.version >= 5) return kind<custom_event_record_v5>;
        if (in.version == 4) return kind<custom_event_record_v4>;
        return kind<custom_event_record_v1>;
      case metadata_kind::call_argument: return kind<call_argument_record>;
      case metadata_kind::buffer_extents: return kind<buffer_extents_record>;
      case metadata_kind::typed_event:
        if (in.version >= 5) return kind<typed_event_record_v5>;
        return kind<typed_event_record_v2>;
      case metadata_kind::pid: return kind<pid_record>;
    }
    return errc::unknown_record;
  }

  [[nodiscard]] static constexpr errc check(record<function_record, O> item, const context&) noexcept {
    return item[function_record::action] > function_action::enter_args ? errc::bad_value : errc::ok;
  }

  template <schema S>
  [[nodiscard]] static constexpr payload_result payload_size(record<S, O> item, const context&) noexcept {
    const std::int32_t size = item[S::event_size];
    if (size <= 0) return errc::bad_size;
    return static_cast<std::size_t>(size);
  }

  /// Records can start again at a BufferExtents that is followed by a NewBuffer.
  [[nodiscard]] static constexpr std::size_t resync(byte_view all, std::size_t from, context&) noexcept {
    constexpr std::size_t extents = size_of<buffer_extents_record>;
    for (; from < all.size(); ++from) {
      if (all[from] == head_of(metadata_kind::buffer_extents) && all.size() - from > extents &&
          all[from + extents] == head_of(metadata_kind::new_buffer)) {
        return from;
      }
    }
    return all.size();
  }

 private:
  template <class S>
  static constexpr kind_result kind = records::template kind<S>;
};

/// A range over the records of a block (or of any run of FDR records); any_record<fdr_format<O>> each.
template <order O, grammar_check Check = grammar_check::enforced>
using fdr_records = record_range<fdr_format<O>, Check>;

/// The records of a basic-mode log, behind the file header: 32 bytes each, in the order in which threads wrote them.
template <order O>
struct basic_format {
  using records = record_list<basic_function_record, basic_argument_record>;
  using context = no_context;
  static constexpr order byte_order = O;
  static constexpr std::size_t head_bytes = sizeof(std::uint16_t);
  static constexpr auto transitions =
      grammar<records>{}
          .template start<basic_function_record>()
          .template follow<basic_function_record, basic_function_record, basic_argument_record>()
          .template follow<basic_argument_record, basic_function_record, basic_argument_record>()
          .template finish<basic_function_record, basic_argument_record>();

  [[nodiscard]] static constexpr kind_result kind_of(const std::byte* at, const context&) noexcept {
    constexpr std::size_t type_at = offset_of<basic_function_record>(basic_function_record::record_type);
    switch (load<std::uint16_t, O>(at + type_at)) {
      case basic_function: return records::template kind<basic_function_record>;
      case basic_argument: return records::template kind<basic_argument_record>;
      default: return errc::unknown_record;
    }
  }
  [[nodiscard]] static constexpr errc check(record<basic_function_record, O> item, const context&) noexcept {
    return item[basic_function_record::action] > function_action::enter_args ? errc::bad_value : errc::ok;
  }
  /// Records have one size, so that the next one is always found. `all` begins at a record.
  [[nodiscard]] static constexpr std::size_t resync(byte_view all, std::size_t from, context&) noexcept {
    constexpr std::size_t size = basic_function_record::size;
    const std::size_t next = (from + size - 1) / size * size;
    return next < all.size() ? next : all.size();
  }
};

/// A range over the records of a basic-mode log.
template <order O, grammar_check Check = grammar_check::enforced>
using basic_records = record_range<basic_format<O>, Check>;

/// The records of an opened basic-mode log; offsets count from the start of the log.
template <order O, grammar_check Check = grammar_check::enforced>
[[nodiscard]] constexpr basic_records<O, Check> records_of_basic(const log& opened) noexcept {
  BACKSIGHT_ASSERT(opened.type() == log_type::basic && opened.byte_order() == O);
  return basic_records<O, Check>(opened.body(), {}, size_of<file_header>);
}

}  // namespace backsight::xray
