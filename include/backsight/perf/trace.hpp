// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <backsight/core/offset_of.hpp>
#include <backsight/perf/attributes.hpp>

namespace backsight::perf {

/// An opened perf.data file: its events, the features of its header and a view of the whole file, which must outlive
/// it.
class trace {
 public:
  [[nodiscard]] byte_view bytes() const noexcept { return bytes_; }
  [[nodiscard]] order byte_order() const noexcept { return order_; }
  /// Written to a pipe: attributes and features are records among the others.
  [[nodiscard]] bool is_pipe() const noexcept { return is_pipe_; }
  /// The recorder was killed: neither the size of the records nor features were written.
  [[nodiscard]] bool is_interrupted() const noexcept { return is_interrupted_; }
  /// Bytes of records that the header counts beyond the end of the file.
  [[nodiscard]] std::uint64_t missing() const noexcept { return missing_; }

  /// The stream of records, and where it begins in the file.
  [[nodiscard]] byte_view data() const noexcept { return data_; }
  [[nodiscard]] std::uint64_t data_offset() const noexcept { return data_offset_; }
  /// The records. Precondition: O is byte_order().
  template <order O>
  [[nodiscard]] perf_records<O> records() const noexcept {
    return perf_records<O>(data_, {}, data_offset_);
  }

  [[nodiscard]] std::span<const event_description> events() const noexcept { return events_.events(); }
  [[nodiscard]] const event_table& table() const noexcept { return events_; }
  /// The event of a record: an index of events(), or no_event.
  [[nodiscard]] std::uint32_t event_of(const stored_record& item) const noexcept {
    return with_order(item.byte_order, [&](auto o) { return events_.event_of<o()>(item.bytes, item.type); });
  }

  /// The features in the order of their numbers (in a pipe: in which they came), those that are not known here too.
  [[nodiscard]] std::span<const feature_section> features() const noexcept { return features_; }
  [[nodiscard]] std::optional<feature_section> find(feature which) const noexcept {
    for (const feature_section& one : features_) {
      if (one.bit == static_cast<std::uint8_t>(which)) return one;
    }
    return std::nullopt;
  }
  /// What was wrong with the table of features or their texts of names, which does not keep the records from being
  /// read.
  [[nodiscard]] trace_error feature_error() const noexcept { return feature_error_; }

 private:
  friend result<trace> open(byte_view bytes);

  template <order O>
  [[nodiscard]] trace_error decode() {
    order_ = O;
    if (bytes_.size() < size_of<pipe_header>) return {errc::truncated, bytes_.size()};
    const std::uint64_t header_size = record<pipe_header, O>(bytes_.data())[pipe_header::size];
    trace_error error;
    if (header_size == size_of<pipe_header>) read_pipe<O>();
    else if (header_size != size_of<file_header>) return {errc::bad_size, offset_of<file_header>(file_header::size)};
    else error = read_file<O>();
    if (error) return error;
    if (const auto names = find(feature::event_desc)) note(read_event_names(*names, O, events_));
    events_.finish();
    if (is_pipe_) read_updates<O>();
    return {};
  }

  void note(const trace_error& error) {
    if (error && !feature_error_) feature_error_ = error;
  }

  template <order O>
  [[nodiscard]] trace_error read_file() {
    if (bytes_.size() < size_of<file_header>) return {errc::truncated, bytes_.size()};
    const record<file_header, O> header(bytes_.data());
    data_offset_ = header[file_header::data_offset];
    if (data_offset_ > bytes_.size()) return {errc::truncated, bytes_.size()};
    const std::uint64_t stated = header[file_header::data_size], there = bytes_.size() - data_offset_;
    is_interrupted_ = stated == 0;
    if (stated > there) missing_ = stated - there;
    data_ = bytes_.subspan(static_cast<std::size_t>(data_offset_),
                           static_cast<std::size_t>(is_interrupted_ || stated > there ? there : stated));
    if (const trace_error error = read_attributes(header)) return error;
    if (!is_interrupted_ && missing_ == 0) read_feature_table(header);
    return {};
  }

  template <order O>
  [[nodiscard]] trace_error read_attributes(const record<file_header, O>& header) {
    const std::uint64_t entry = header[file_header::attr_size], at = header[file_header::attrs_offset],
                        size = header[file_header::attrs_size];
    if (size == 0) return {};
    if (entry < smallest_attribute + size_of<file_section>)
      return {errc::bad_size, offset_of<file_header>(file_header::attr_size)};
    if (size % entry != 0) return {errc::bad_size, offset_of<file_header>(file_header::attrs_size)};
    if (at > bytes_.size() || size > bytes_.size() - at) return {errc::truncated, bytes_.size()};
    for (std::uint64_t place = at; place != at + size; place += entry) {
      const byte_view all = bytes_.subspan(static_cast<std::size_t>(place), static_cast<std::size_t>(entry));
      const auto attr = read_attribute<O>(all.first(all.size() - size_of<file_section>), place);
      if (!attr) return attr.error();
      const std::uint64_t section = place + entry - size_of<file_section>;
      const record<file_section, O> ids(bytes_.data() + section);
      const std::uint64_t ids_at = ids[file_section::offset], ids_size = ids[file_section::section_size];
      if (ids_at > bytes_.size() || ids_size > bytes_.size() - ids_at) return {errc::out_of_range, section};
      // No file has more ids than words: sections that overlap do not make memory grow.
      if (events_.id_count() + ids_size / 8 > bytes_.size() / 8) return {errc::bad_size, section};
      events_.add(*attr,
                  word_list(bytes_.subspan(static_cast<std::size_t>(ids_at), static_cast<std::size_t>(ids_size)), O));
    }
    return {};
  }

  template <order O>
  void read_feature_table(const record<file_header, O>& header) {
    const std::array<std::uint64_t, 4> words{header[file_header::features0], header[file_header::features1],
                                             header[file_header::features2], header[file_header::features3]};
    std::uint64_t at = data_offset_ + data_.size();
    for (unsigned bit = 0; bit < 256; ++bit) {
      if ((words[bit / 64] >> bit % 64 & 1U) == 0) continue;
      if (bytes_.size() - at < size_of<file_section>) return note({errc::truncated, at});
      const record<file_section, O> entry(bytes_.data() + at);
      const std::uint64_t from = entry[file_section::offset], size = entry[file_section::section_size];
      if (from > bytes_.size() || size > bytes_.size() - from) {
        note({errc::out_of_range, at});
      } else {
        features_.push_back({static_cast<std::uint8_t>(bit), from,
                             bytes_.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(size))});
      }
      at += size_of<file_section>;
    }
  }

  /// Attributes and features are looked for in the whole stream, because they may come late.
  template <order O>
  void read_pipe() {
    is_pipe_ = true;
    data_offset_ = size_of<pipe_header>;
    data_ = bytes_.subspan(size_of<pipe_header>);
    for_each_salvaging(
        records<O>(),
        [&](const any_record<perf_format<O>>& item) {
          if (const auto attr = get_if<header_attr_record>(item)) {
            const std::uint64_t place = item.offset() + size_of<header_attr_record>;
            const byte_view body = attr.payload();
            const auto found = read_attribute<O>(body, place);
            if (!found) return note(found.error());
            // Its own size tells where the ids begin.
            std::size_t size = (*found)[attribute_record::size];
            if (size == 0) size = smallest_attribute;
            if (size > body.size()) return note({errc::bad_size, place});
            events_.add(*found, word_list(body.subspan(size), O));
          } else if (const auto described = get_if<header_feature_record>(item)) {
            const std::uint64_t bit = described[header_feature_record::feature];
            if (bit >= 256 || find(static_cast<feature>(bit))) return;
            features_.push_back(
                {static_cast<std::uint8_t>(bit), item.offset() + size_of<header_feature_record>, described.payload()});
          }
        },
        [](const fault&) {});
  }

  /// Names that come behind the attributes.
  template <order O>
  void read_updates() {
    constexpr std::uint64_t kind_of_name = 2;
    for_each_salvaging(
        records<O>(),
        [&](const any_record<perf_format<O>>& item) {
          const auto update = get_if<event_update_record>(item);
          if (!update || update[event_update_record::update_type] != kind_of_name) return;
          events_.set_name(events_.find(update[event_update_record::id]), text_of(update.payload()));
        },
        [](const fault&) {});
  }

  byte_view bytes_;
  byte_view data_;
  std::uint64_t data_offset_ = 0;
  std::uint64_t missing_ = 0;
  event_table events_;
  std::vector<feature_section> features_;
  trace_error feature_error_;
  order order_ = order::little;
  bool is_pipe_ = false;
  bool is_interrupted_ = false;
};

/// Opens a perf.data file, also one that was written to a pipe, or the file `data` of a directory. The byte order is
/// the one in which the magic is right. Errors: errc::truncated, errc::bad_magic at 0, errc::unsupported_version at 0
/// (version 1), errc::bad_size or errc::out_of_range at the place that says it. What is wrong with features is in
/// feature_error().
[[nodiscard]] inline result<trace> open(byte_view bytes) {
  constexpr std::uint64_t old_magic = 0x454c494646524550;  // "PERFFILE"
  if (bytes.size() < bytes_of(file_header::magic)) return {errc::truncated, bytes.size()};
  const auto little = load<std::uint64_t, order::little>(bytes.data()),
             big = load<std::uint64_t, order::big>(bytes.data());
  if (little == old_magic || big == old_magic) return {errc::unsupported_version, 0};
  if (little != file_magic && big != file_magic) return {errc::bad_magic, 0};
  trace opened;
  opened.bytes_ = bytes;
  if (const trace_error error = little == file_magic ? opened.decode<order::little>() : opened.decode<order::big>())
    return error;
  return opened;
}

}  // namespace backsight::perf
