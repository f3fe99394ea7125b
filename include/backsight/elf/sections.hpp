// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/offset_of.hpp>
#include <backsight/core/record.hpp>
#include <backsight/elf/constants.hpp>
#include <backsight/elf/headers.hpp>
#include <backsight/elf/indexed_range.hpp>
#include <backsight/elf/notes.hpp>
#include <backsight/elf/schema.hpp>

namespace backsight::elf {

/// How the bytes of an image lie: as in the file, or as mapped (the first byte is the lowest load address).
enum class image_layout : std::uint8_t { file, memory };

/// A view of an ELF file of any class and byte order, or of a mapped image of one. Trivially copyable; the bytes must
/// outlive it. Every access checks what it reads against the size of the bytes; a header, section or string that lies
/// outside is absent or empty.
class image {
 public:
  constexpr image() = default;

  [[nodiscard]] constexpr byte_view bytes() const noexcept { return bytes_; }
  [[nodiscard]] constexpr order byte_order() const noexcept { return order_; }
  /// 4 or 8.
  [[nodiscard]] constexpr std::uint8_t address_size() const noexcept { return wide_ ? 8 : 4; }
  [[nodiscard]] constexpr std::uint16_t type() const noexcept { return type_; }
  [[nodiscard]] constexpr elf::machine machine() const noexcept { return static_cast<elf::machine>(machine_); }
  [[nodiscard]] constexpr std::uint64_t entry() const noexcept { return entry_; }
  [[nodiscard]] constexpr image_layout bytes_layout() const noexcept { return layout_; }
  /// The file states more section headers than its bytes hold, as a file does that was cut off.
  [[nodiscard]] constexpr bool lacks_section_headers() const noexcept { return lacks_section_headers_; }

  /// Calls `f(record)` with the record of schema Schema<Word> at `at`, in the file's class and byte order.
  template <template <class> class Schema, class F>
  constexpr auto read_as(const std::byte* at, F&& f) const {
    if (wide_) {
      if (order_ == order::little) return f(record<Schema<std::uint64_t>, order::little>(at));
      return f(record<Schema<std::uint64_t>, order::big>(at));
    }
    if (order_ == order::little) return f(record<Schema<std::uint32_t>, order::little>(at));
    return f(record<Schema<std::uint32_t>, order::big>(at));
  }

  /// The size of the records of Schema<Word> in the file's class.
  template <template <class> class Schema>
  [[nodiscard]] constexpr std::size_t size_as() const noexcept {
    return wide_ ? size_of<Schema<std::uint64_t>> : size_of<Schema<std::uint32_t>>;
  }

  /// `size` bytes at `offset` of the image's bytes; absent when they do not fit.
  [[nodiscard]] constexpr std::optional<byte_view> slice(std::uint64_t offset, std::uint64_t size) const noexcept {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return std::nullopt;
    return bytes_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
  }

  struct section_source;
  struct segment_source;
  [[nodiscard]] constexpr indexed_range<section_source> sections() const noexcept;
  [[nodiscard]] constexpr indexed_range<segment_source> segments() const noexcept;

  /// The first section of that name; costs a pass over the headers.
  [[nodiscard]] constexpr std::optional<section> find_section(std::string_view name) const noexcept;

  /// The bytes of a section; none for SHT_NOBITS. errc::compressed for a compressed one (see compression_of) and
  /// errc::truncated when it reaches beyond the file; both at the section's offset.
  [[nodiscard]] constexpr result<byte_view> section_bytes(const section& s) const noexcept {
    if (s.type == section_no_bits || layout_ == image_layout::memory) return byte_view{};
    if ((s.flags & section_compressed) != 0) return {errc::compressed, s.offset};
    const auto found = slice(s.offset, s.size);
    if (!found) return {errc::truncated, s.offset};
    return *found;
  }

  /// What a compressed section holds; errc::not_found when the section is not compressed.
  [[nodiscard]] constexpr result<compression> compression_of(const section& s) const noexcept {
    if ((s.flags & section_compressed) == 0 || s.type == section_no_bits) return {errc::not_found, s.offset};
    const auto found = slice(s.offset, s.size);
    if (!found) return {errc::truncated, s.offset};
    const std::size_t head = size_as<wire::compression_header>();
    if (found->size() < head) return {errc::truncated, s.offset};
    return read_as<wire::compression_header>(found->data(), [&](auto rec) {
      using schema_type = typename decltype(rec)::schema_type;
      return compression{rec[schema_type::type], rec[schema_type::bytes], found->subspan(head)};
    });
  }

  /// `size` bytes at a link-time address, from the segment that covers them; absent when none does, or when they are
  /// not in the file.
  [[nodiscard]] constexpr std::optional<byte_view> bytes_at(std::uint64_t address, std::uint64_t size) const noexcept;
  /// From a link-time address to the end of the bytes of its segment; empty when no segment covers it.
  [[nodiscard]] constexpr byte_view bytes_from(std::uint64_t address) const noexcept;

  /// The build-id (NT_GNU_BUILD_ID), from the note sections or segments; empty when there is none.
  [[nodiscard]] constexpr byte_view build_id() const noexcept;

  /// The NUL-terminated text at `offset` of a string table; empty when it is not inside, not terminated or longer than
  /// 65535 bytes, and in constant expressions, where bytes cannot be viewed as characters.
  [[nodiscard]] static constexpr std::string_view string_at(byte_view table, std::uint64_t offset) noexcept {
    if (offset >= table.size()) return {};
    if (std::is_constant_evaluated()) return {};
    const byte_view tail = table.subspan(static_cast<std::size_t>(offset));
    // The limit keeps a table without end, to which every symbol points, from being searched to its end for each of
    // them.
    const void* const end = std::memchr(tail.data(), 0, tail.size() < 65536 ? tail.size() : 65536);
    if (end == nullptr) return {};
    return {reinterpret_cast<const char*>(tail.data()),
            static_cast<std::size_t>(static_cast<const std::byte*>(end) - tail.data())};
  }

 private:
  friend constexpr result<image> open(byte_view, image_layout) noexcept;

  [[nodiscard]] constexpr section decode_section(std::size_t index) const noexcept {
    const std::byte* at = bytes_.data() + section_offset_ + index * section_stride_;
    return read_as<wire::section_header>(at, [&](auto rec) {
      using s = typename decltype(rec)::schema_type;
      return section{static_cast<std::uint32_t>(index),
                     string_at(names_, rec[s::name_offset]),
                     rec[s::type],
                     rec[s::flags],
                     rec[s::address],
                     rec[s::offset],
                     rec[s::bytes],
                     rec[s::link],
                     rec[s::info],
                     rec[s::alignment],
                     rec[s::entry_size]};
    });
  }
  [[nodiscard]] constexpr segment decode_segment(std::size_t index) const noexcept {
    const std::byte* at = bytes_.data() + segment_offset_ + index * segment_stride_;
    return read_as<wire::program_header>(at, [&](auto rec) {
      using s = typename decltype(rec)::schema_type;
      return segment{rec[s::type],       rec[s::flags],        rec[s::offset],   rec[s::address],
                     rec[s::file_bytes], rec[s::memory_bytes], rec[s::alignment]};
    });
  }
  [[nodiscard]] constexpr byte_view build_id_in(byte_view notes, std::uint64_t alignment) const noexcept;

  byte_view bytes_;
  byte_view names_;
  std::uint64_t entry_ = 0;
  std::uint64_t lowest_address_ = 0;
  std::size_t section_offset_ = 0;
  std::size_t section_stride_ = 0;
  std::size_t section_count_ = 0;
  std::size_t segment_offset_ = 0;
  std::size_t segment_stride_ = 0;
  std::size_t segment_count_ = 0;
  std::uint16_t type_ = 0;
  std::uint16_t machine_ = 0;
  order order_ = order::little;
  image_layout layout_ = image_layout::file;
  bool wide_ = true;
  bool lacks_section_headers_ = false;
};

struct image::section_source {
  image file{};
  [[nodiscard]] constexpr std::size_t size() const noexcept { return file.section_count_; }
  [[nodiscard]] constexpr section operator[](std::size_t index) const noexcept { return file.decode_section(index); }
};
struct image::segment_source {
  image file{};
  [[nodiscard]] constexpr std::size_t size() const noexcept { return file.segment_count_; }
  [[nodiscard]] constexpr segment operator[](std::size_t index) const noexcept { return file.decode_segment(index); }
};

constexpr indexed_range<image::section_source> image::sections() const noexcept {
  return indexed_range<section_source>(section_source{*this});
}
constexpr indexed_range<image::segment_source> image::segments() const noexcept {
  return indexed_range<segment_source>(segment_source{*this});
}

constexpr std::optional<section> image::find_section(std::string_view name) const noexcept {
  for (std::size_t i = 0; i < section_count_; ++i) {
    const section s = decode_section(i);
    if (s.name == name) return s;
  }
  return std::nullopt;
}

constexpr byte_view image::bytes_from(std::uint64_t address) const noexcept {
  for (std::size_t i = 0; i < segment_count_; ++i) {
    const segment s = decode_segment(i);
    const std::uint64_t size = layout_ == image_layout::file ? s.file_size : s.memory_size;
    if (s.type != segment_load || address < s.address || address - s.address >= size) continue;
    const std::uint64_t start = layout_ == image_layout::file ? s.offset : s.address - lowest_address_;
    if (start > bytes_.size()) continue;
    const std::uint64_t present = size < bytes_.size() - start ? size : bytes_.size() - start;
    const std::uint64_t inside = address - s.address;
    if (inside < present) return *slice(start + inside, present - inside);
  }
  return {};
}

constexpr std::optional<byte_view> image::bytes_at(std::uint64_t address, std::uint64_t size) const noexcept {
  const byte_view found = bytes_from(address);
  if (found.empty() || size > found.size()) return std::nullopt;
  return found.first(static_cast<std::size_t>(size));
}

constexpr byte_view image::build_id_in(byte_view notes, std::uint64_t alignment) const noexcept {
  constexpr std::array<std::byte, 4> gnu{std::byte{'G'}, std::byte{'N'}, std::byte{'U'}, std::byte{0}};
  byte_view id;
  (void)for_each_note(notes, order_, alignment, [&](const note& one) {
    bool found = one.type == note_build_id && one.name.size() == gnu.size();
    for (std::size_t i = 0; found && i < gnu.size(); ++i) found = one.name[i] == gnu[i];
    if (found) id = one.description;
    return !found;
  });
  return id;
}

constexpr byte_view image::build_id() const noexcept {
  for (std::size_t i = 0; i < segment_count_; ++i) {
    const segment s = decode_segment(i);
    if (s.type != segment_note) continue;
    const auto notes =
        layout_ == image_layout::file ? slice(s.offset, s.file_size) : bytes_at(s.address, s.memory_size);
    if (!notes) continue;
    if (const byte_view id = build_id_in(*notes, s.alignment); !id.empty()) return id;
  }
  for (std::size_t i = 0; i < section_count_; ++i) {
    const section s = decode_section(i);
    if (s.type != section_note) continue;
    const auto notes = slice(s.offset, s.size);
    if (!notes) continue;
    if (const byte_view id = build_id_in(*notes, s.alignment); !id.empty()) return id;
  }
  return {};
}

/// Opens an ELF file or a mapped image of one; a pass over the program headers and no more. Errors: errc::bad_magic,
/// errc::unsupported_type (class or byte order unknown), errc::truncated (the file header is cut). Section or program
/// headers that reach beyond the bytes are left out from the first that does not fit.
[[nodiscard]] constexpr result<image> open(byte_view bytes, image_layout bytes_layout = image_layout::file) noexcept {
  using wire::identification;
  constexpr std::array<unsigned char, 4> magic{0x7f, 'E', 'L', 'F'};
  for (std::size_t i = 0; i < magic.size(); ++i) {
    if (i >= bytes.size()) return {errc::truncated, i};
    if (bytes[i] != std::byte{magic[i]}) return {errc::bad_magic, i};
  }
  if (bytes.size() < size_of<identification>) return {errc::truncated, bytes.size()};
  const record<identification, order::little> ident(bytes.data());
  const unsigned file_class = ident[identification::file_class];
  const unsigned data = ident[identification::data];
  if (file_class != 1 && file_class != 2)
    return {errc::unsupported_type, offset_of<identification>(identification::file_class)};
  if (data != 1 && data != 2) return {errc::unsupported_type, offset_of<identification>(identification::data)};

  image file;
  file.bytes_ = bytes;
  file.wide_ = file_class == 2;
  file.order_ = data == 1 ? order::little : order::big;
  file.layout_ = bytes_layout;
  const std::size_t header_size = size_of<identification> + file.size_as<wire::file_header>();
  if (bytes.size() < header_size) return {errc::truncated, bytes.size()};

  std::uint64_t section_table = 0, segment_table = 0, sections = 0, segments = 0, names = 0;
  file.read_as<wire::file_header>(bytes.data() + size_of<identification>, [&](auto rec) {
    using h = typename decltype(rec)::schema_type;
    file.type_ = rec[h::type];
    file.machine_ = rec[h::machine];
    file.entry_ = rec[h::entry];
    section_table = rec[h::shoff];
    segment_table = rec[h::phoff];
    file.section_stride_ = rec[h::shentsize];
    file.segment_stride_ = rec[h::phentsize];
    sections = rec[h::shnum];
    segments = rec[h::phnum];
    names = rec[h::shstrndx];
  });
  const auto fitting = [&](std::uint64_t offset, std::uint64_t stride, std::size_t record_size, std::uint64_t wanted) {
    if (stride < record_size || offset > bytes.size()) return std::uint64_t{0};
    const std::uint64_t present = (bytes.size() - offset) / stride;
    return wanted < present ? wanted : present;
  };
  const std::size_t section_size = file.size_as<wire::section_header>();
  const std::size_t segment_size = file.size_as<wire::program_header>();
  file.lacks_section_headers_ = section_table != 0 && bytes_layout == image_layout::file;
  if (section_table != 0 && bytes_layout == image_layout::file &&
      fitting(section_table, file.section_stride_, section_size, 1) == 1) {
    // Numbers that do not fit the header's 16 bits are in section 0 (gABI, "Section Header").
    file.section_offset_ = static_cast<std::size_t>(section_table);
    const section zero = file.decode_section(0);
    if (sections == 0) sections = zero.size;
    if (names == section_extended) names = zero.link;
    if (segments == segments_extended) segments = zero.info;
    file.section_count_ =
        static_cast<std::size_t>(fitting(section_table, file.section_stride_, section_size, sections));
    file.lacks_section_headers_ = file.section_count_ < sections;
    if (names < file.section_count_) {
      if (const auto table = file.section_bytes(file.decode_section(static_cast<std::size_t>(names))))
        file.names_ = *table;
    }
  }
  if (segment_table != 0) {
    file.segment_count_ =
        static_cast<std::size_t>(fitting(segment_table, file.segment_stride_, segment_size, segments));
    if (file.segment_count_ != 0) file.segment_offset_ = static_cast<std::size_t>(segment_table);
  }
  bool first = true;
  for (std::size_t i = 0; i < file.segment_count_; ++i) {
    const segment s = file.decode_segment(i);
    if (s.type != segment_load) continue;
    if (first || s.address < file.lowest_address_) file.lowest_address_ = s.address;
    first = false;
  }
  return file;
}

}  // namespace backsight::elf
