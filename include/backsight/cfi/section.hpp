// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include <backsight/core/bytes.hpp>
#include <backsight/core/cursor.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/schema.hpp>
#include <backsight/dwarf/pointer_encoding.hpp>

namespace backsight::cfi {

/// The two places that call frame information comes in; they differ in how entries are linked and pointers stored.
enum class section_kind : std::uint8_t { eh_frame, debug_frame };

/// What one must know of a section besides its bytes. Addresses are link-time addresses for a file, and load addresses
/// for a mapped image when `address` is one.
struct section_info {
  section_kind kind = section_kind::eh_frame;
  std::uint8_t address_size = 8;   ///< 4 or 8; a version 4 CIE states its own.
  bool code_at_zero = false;       ///< An FDE that begins at address 0 is code, not a discarded function.
  std::uint64_t address = 0;       ///< Of the section's first byte.
  std::uint64_t text_address = 0;  ///< For textrel pointers.
  std::uint64_t data_address = 0;  ///< For datarel pointers.
};

/// Where an entry lies; all offsets count from the start of the section.
struct entry {
  std::uint64_t offset = 0;      ///< Of the length field.
  std::uint64_t body = 0;        ///< Behind the CIE mark or pointer.
  std::uint64_t end = 0;         ///< Behind the last byte.
  std::uint64_t cie_offset = 0;  ///< Of the CIE that an FDE belongs to.
  bool is_cie = false;
  bool wide = false;      ///< 64-bit DWARF.
  errc error = errc::ok;  ///< out_of_range: the CIE pointer lies outside; truncated: too short for its mark.

  /// A length of zero: list walkers of .eh_frame stop there, although entries may follow.
  [[nodiscard]] constexpr bool is_terminator() const noexcept { return end - offset == (wide ? 12U : 4U); }
};

/// A common information entry. Offsets count from the start of the section; the augmentation points into it.
struct cie {
  std::uint64_t offset = 0;
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = 1;
  std::uint64_t return_address_register = 0;
  std::uint64_t instructions = 0;
  std::uint64_t end = 0;
  byte_view augmentation;
  std::uint64_t personality = 0;  ///< Address of the routine, or of a pointer to it when the encoding is indirect.
  dwarf::pointer_encoding personality_encoding{dwarf::pointer_encoding::omitted_byte};
  dwarf::pointer_encoding lsda_encoding{dwarf::pointer_encoding::omitted_byte};
  dwarf::pointer_encoding pointer_encoding{0};
  std::uint8_t version = 0;
  std::uint8_t address_size = 8;
  std::uint8_t segment_selector_size = 0;
  bool has_augmentation_data = false;
  bool signal_frame = false;  ///< Letter S: the caller's pc is the interrupted instruction itself.
  bool b_key = false;         ///< Letter B: return addresses are signed with AArch64's B key.
  bool tagged_stack = false;  ///< Letter G: AArch64 memory-tagged stack.
};

/// A frame description entry. Offsets count from the start of the section.
struct fde {
  std::uint64_t offset = 0;
  std::uint64_t cie_offset = 0;
  std::uint64_t begin = 0;  ///< First address that it covers.
  std::uint64_t end = 0;    ///< First address behind.
  std::uint64_t instructions = 0;
  std::uint64_t instructions_end = 0;
  std::optional<std::uint64_t> lsda;

  [[nodiscard]] constexpr bool covers(std::uint64_t address) const noexcept {
    return begin <= address && address < end;
  }
};

/// The first bytes of an entry in 32-bit DWARF: its length without this field, and the mark of a CIE or the way to it.
/// Source: DWARF 5, section 6.4.1; Linux Standard Base core, "The .eh_frame section".
struct entry_head {
  static constexpr const char* name = "entry_head";
  static constexpr std::size_t size = 8;
  static constexpr field<"length", std::uint32_t> length{};
  static constexpr field<"CIE_id", std::uint32_t> id{};
  static constexpr layout fields{length, id};
};
static_assert(schema<entry_head>);

/// .eh_frame or .debug_frame in memory. A view; trivially copyable. No error of one entry affects another: only a
/// length that leads outside ends the walk over the entries.
template <order O>
class section {
 public:
  static constexpr order byte_order = O;

  constexpr section() = default;
  constexpr section(byte_view bytes, const section_info& info) noexcept : bytes_(bytes), info_(info) {}

  [[nodiscard]] constexpr byte_view bytes() const noexcept { return bytes_; }
  [[nodiscard]] constexpr const section_info& info() const noexcept { return info_; }

  /// The entry at `offset`, or the error that ends the walk: errc::truncated (its length leads outside), errc::bad_size
  /// (reserved length). Precondition: four bytes are there. A zero length gives an entry whose end is 4 bytes on.
  [[nodiscard]] constexpr result<entry> entry_at(std::uint64_t offset) const noexcept {
    cursor<O> from(bytes_);
    from.seek(offset);
    entry e;
    e.offset = offset;
    std::uint64_t length = from.template read<std::uint32_t>();
    if (length == 0xffffffffU) {
      e.wide = true;
      length = from.template read<std::uint64_t>();
    } else if (length >= 0xfffffff0U) {
      return {errc::bad_size, offset};
    }
    if (from.failed()) return from.error();
    e.body = from.position();
    if (length > bytes_.size() - e.body) return {errc::truncated, offset};
    e.end = e.body + length;
    if (length == 0) return e;

    // The mark in .eh_frame has 4 bytes with either length (gimli and LLVM agree; linkers make none of the long ones).
    const bool eh = info_.kind == section_kind::eh_frame;
    const std::size_t width = eh || !e.wide ? 4 : 8;
    const std::uint64_t id_offset = e.body;
    if (length < width) {
      e.error = errc::truncated;
      e.body = e.end;
      return e;
    }
    const std::uint64_t id = from.read_unsigned(width);
    e.body += width;
    e.is_cie = eh ? id == 0 : id == (width == 4 ? 0xffffffffULL : ~0ULL);
    if (e.is_cie) return e;
    e.cie_offset = eh ? id_offset - id : id;
    if (eh ? id > id_offset : id >= bytes_.size()) e.error = errc::out_of_range;
    return e;
  }

  /// Reads a CIE. Errors, at their offset in the section: errc::unsupported_version; errc::unsupported_type
  /// (augmentation that cannot be parsed); errc::unpaired_record (no CIE there); errc::bad_size (address size), those
  /// of the cursor.
  [[nodiscard]] constexpr result<cie> cie_at(std::uint64_t offset) const noexcept {
    if (offset >= bytes_.size() || bytes_.size() - offset < 4) return {errc::out_of_range, offset};
    const auto e = entry_at(offset);
    if (!e) return e.error();
    if (!e->is_cie) return {errc::unpaired_record, offset};
    return parse_cie(*e);
  }

  /// Reads the CIE of an entry that is one.
  [[nodiscard]] constexpr result<cie> parse_cie(const entry& e) const noexcept {
    cie c;
    cursor<O> from(bytes_.first(static_cast<std::size_t>(e.end)));
    from.seek(e.body);
    c.offset = e.offset;
    c.end = e.end;
    c.address_size = info_.address_size;
    c.version = from.template read<std::uint8_t>();
    if (!from.failed() && c.version != 1 && c.version != 3 && c.version != 4)
      return {errc::unsupported_version, e.body};
    const std::uint64_t augmentation_offset = from.position();
    c.augmentation = from.c_string();
    const bool old_gcc =
        c.augmentation.size() == 2 && c.augmentation[0] == std::byte{'e'} && c.augmentation[1] == std::byte{'h'};
    if (old_gcc) from.skip(info_.address_size);
    if (c.version == 4) {
      c.address_size = from.template read<std::uint8_t>();
      c.segment_selector_size = from.template read<std::uint8_t>();
      if (!from.failed() && c.address_size != 4 && c.address_size != 8 && c.address_size != 2) {
        return {errc::bad_size, from.position() - 2};
      }
    }
    c.code_alignment = from.uleb128();
    c.data_alignment = from.sleb128();
    c.return_address_register = c.version == 1 ? from.template read<std::uint8_t>() : from.uleb128();
    if (from.failed()) return from.error();
    if (!c.augmentation.empty() && c.augmentation[0] == std::byte{'z'}) {
      c.has_augmentation_data = true;
      const std::uint64_t size = from.uleb128();
      if (from.failed()) return from.error();
      const std::uint64_t data = from.position();
      from.skip(size);
      if (from.failed()) return from.error();
      const trace_error error = parse_augmentation(c, data, data + size);
      if (error) return error;
    } else if (!c.augmentation.empty() && !old_gcc) {
      return {errc::unsupported_type, augmentation_offset};
    }
    c.instructions = from.position();
    return c;
  }

  /// Reads the FDE of an entry that is one, given its CIE. Errors at their offset in the section: those of the cursor,
  /// errc::bad_value (pointer encoding), errc::unsupported_type (an indirect start).
  [[nodiscard]] constexpr result<fde> parse_fde(const entry& e, const cie& c) const noexcept {
    fde f;
    f.offset = e.offset;
    f.cie_offset = e.cie_offset;
    f.instructions_end = e.end;
    cursor<O> from(bytes_.first(static_cast<std::size_t>(e.end)));
    from.seek(e.body);
    from.skip(c.segment_selector_size);
    if (c.pointer_encoding.indirect() || c.pointer_encoding.omitted()) return {errc::unsupported_type, from.position()};
    f.begin = dwarf::read_pointer(from, c.pointer_encoding, c.address_size, bases()).address;
    const std::uint64_t length = dwarf::read_range(from, c.pointer_encoding, c.address_size);
    f.end = dwarf::wrap(f.begin + length, c.address_size);
    if (c.has_augmentation_data) {
      const std::uint64_t size = from.uleb128();
      const std::uint64_t data = from.position();
      from.skip(size);
      if (!from.failed() && !c.lsda_encoding.omitted() && size != 0) {
        cursor<O> lsda(bytes_.first(static_cast<std::size_t>(data + size)));
        lsda.seek(data);
        auto where = bases();
        where.function = f.begin;
        const auto pointer = dwarf::read_pointer(lsda, c.lsda_encoding, c.address_size, where);
        if (!lsda.failed() && !pointer.stored_zero) f.lsda = pointer.address;
      }
    }
    if (from.failed()) return from.error();
    f.instructions = from.position();
    return f;
  }

  [[nodiscard]] constexpr dwarf::pointer_bases bases() const noexcept {
    return {info_.address, info_.text_address, info_.data_address, 0};
  }

  /// The entries in the order of the section, terminators and their like left out. Forward iteration; ends at the end
  /// of the section or at a length that leads outside, and then error() of the iterator says so.
  class entry_range;
  [[nodiscard]] constexpr entry_range entries() const noexcept { return entry_range(*this); }

 private:
  [[nodiscard]] constexpr trace_error parse_augmentation(cie& c, std::uint64_t data, std::uint64_t end) const noexcept {
    cursor<O> from(bytes_.first(static_cast<std::size_t>(end)));
    from.seek(data);
    for (const std::byte letter : c.augmentation.subspan(1)) {
      switch (std::to_integer<char>(letter)) {
        case 'R': c.pointer_encoding.byte = from.template read<std::uint8_t>(); break;
        case 'L': c.lsda_encoding.byte = from.template read<std::uint8_t>(); break;
        case 'P':
          c.personality_encoding.byte = from.template read<std::uint8_t>();
          c.personality = dwarf::read_pointer(from, c.personality_encoding, c.address_size, bases()).address;
          break;
        case 'S': c.signal_frame = true; break;
        case 'B': c.b_key = true; break;
        case 'G': c.tagged_stack = true; break;
        default: return {};  // The data of letters nobody knows is skipped by its length.
      }
      if (from.failed()) return from.error();
    }
    return {};
  }

  byte_view bytes_;
  section_info info_;
};

template <order O>
class section<O>::entry_range {
 public:
  class iterator {
   public:
    using value_type = entry;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::forward_iterator_tag;

    constexpr iterator() = default;
    constexpr explicit iterator(const section& owner) noexcept : section_(owner), done_(false) { find(0); }

    [[nodiscard]] constexpr const entry& operator*() const noexcept { return entry_; }
    [[nodiscard]] constexpr const entry* operator->() const noexcept { return &entry_; }
    constexpr iterator& operator++() noexcept {
      find(entry_.end);
      return *this;
    }
    constexpr iterator operator++(int) noexcept {
      iterator before = *this;
      ++*this;
      return before;
    }
    /// Why the walk ended before the end of the section; no error while it goes on.
    [[nodiscard]] constexpr const trace_error& error() const noexcept { return error_; }
    [[nodiscard]] friend constexpr bool operator==(const iterator& a, const iterator& b) noexcept {
      return a.done_ == b.done_ && (a.done_ || a.entry_.offset == b.entry_.offset);
    }
    [[nodiscard]] friend constexpr bool operator==(const iterator& a, std::default_sentinel_t) noexcept {
      return a.done_;
    }

   private:
    constexpr void find(std::uint64_t offset) noexcept {
      const byte_view bytes = section_.bytes();
      for (;;) {
        if (bytes.size() - offset < 4) {
          done_ = true;
          for (std::uint64_t i = offset; i < bytes.size(); ++i) {
            if (bytes[static_cast<std::size_t>(i)] != std::byte{0}) error_ = {errc::trailing_bytes, offset};
          }
          return;
        }
        const auto found = section_.entry_at(offset);
        if (!found) {
          done_ = true;
          error_ = found.error();
          return;
        }
        entry_ = *found;
        if (!entry_.is_terminator()) return;
        offset = entry_.end;
      }
    }

    section section_{};
    entry entry_{};
    trace_error error_{};
    bool done_ = true;
  };

  constexpr entry_range() = default;
  constexpr explicit entry_range(const section& owner) noexcept : section_(owner) {}
  [[nodiscard]] constexpr iterator begin() const noexcept { return iterator(section_); }
  [[nodiscard]] constexpr std::default_sentinel_t end() const noexcept { return {}; }

 private:
  section section_{};
};

}  // namespace backsight::cfi
