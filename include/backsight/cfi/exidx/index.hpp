// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/offset_of.hpp>
#include <backsight/core/record_span.hpp>
#include <backsight/elf/sections.hpp>

// The index of a 32-bit ARM file, .ARM.exidx. Source: Exception Handling ABI for the Arm Architecture (IHI 0038),
// sections 6 and 10.
namespace backsight::cfi::exidx {

/// An entry as it is stored. Both words count from their own address ("prel31"), the second one only where it is a
/// place.
struct index_entry {
  static constexpr const char* name = "exidx_entry";
  static constexpr field<"function", std::uint32_t> function{};
  static constexpr field<"content", std::uint32_t>
      content{};  ///< 1, or opcodes with the highest bit, or the place of a table
  static constexpr layout fields{function, content};
};
static_assert(schema<index_entry> && size_of<index_entry> == 8);

/// Where the opcodes of a function are. The names are those of llvm-readobj.
enum class model : std::uint8_t {
  cant_unwind,  ///< Nothing unwinds through the function.
  inlined,      ///< In the index itself.
  compact,      ///< In a table with a standard personality.
  generic,      ///< In a table behind the address of a personality routine.
};

/// The opcodes of one function: bytes from the top of each word down, whatever the byte order. A view.
class opcode_bytes {
 public:
  constexpr opcode_bytes() = default;
  /// All of `words` but the first `skipped` bytes.
  constexpr opcode_bytes(byte_view words, std::size_t skipped, order o) noexcept
      : words_(words), skipped_(skipped), order_(o) {}
  [[nodiscard]] constexpr std::size_t size() const noexcept { return words_.size() - skipped_; }
  [[nodiscard]] constexpr std::uint8_t operator[](std::size_t i) const noexcept {
    return load<std::uint8_t, order::little>(place_of(i));
  }
  /// Where the byte lies.
  [[nodiscard]] constexpr const std::byte* place_of(std::size_t i) const noexcept {
    const std::size_t at = i + skipped_;
    return words_.data() + (order_ == order::big ? at : at / 4 * 4 + (3 - at % 4));
  }

 private:
  byte_view words_;
  std::size_t skipped_ = 0;
  order order_ = order::little;
};

/// How to unwind through the functions from `begin` to `end`, at calls.
struct entry {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  ///< Where the next entry begins; of the last one, the end of its segment.
  model how = model::cant_unwind;
  std::uint8_t personality = 0;  ///< 0 to 2, where it is a standard one.
  opcode_bytes opcodes;
};

/// The index of a file, ascending by address. A view; trivially copyable, the file's bytes must outlive it.
class index {
 public:
  static constexpr std::uint32_t section_type = 0x70000001;  ///< SHT_ARM_EXIDX, and PT_ARM_EXIDX
  static constexpr std::uint32_t cant_unwind = 1;

  /// Finds the index by its section, or its segment. Errors: unsupported_type (not ARM), unrelocated (object files),
  /// missing_section, those of elf::image::section_bytes, and truncated, with the whole entries, where a part of one
  /// follows.
  [[nodiscard]] static constexpr result<index> open(const elf::image& file) noexcept {
    if (file.machine() != elf::machine::arm) return {errc::unsupported_type, 0};
    constexpr std::uint16_t object_file = 1;  // ET_REL
    if (file.type() == object_file) return {errc::unrelocated, 0};
    const std::uint64_t end_of_file = file.bytes().size();
    index made;
    made.file_ = file;
    bool found = false;
    for (const elf::section& s : file.sections()) {
      if (s.type != section_type) continue;
      const auto bytes = file.section_bytes(s);
      if (!bytes) return {bytes.error().code, bytes.error().offset < end_of_file ? bytes.error().offset : end_of_file};
      made.bytes_ = *bytes;
      made.address_ = s.address;
      found = true;
      break;
    }
    for (const elf::segment& s : file.segments()) {
      if (found || s.type != section_type) continue;
      const auto bytes = file.bytes_at(s.address, s.file_size);
      if (!bytes) return {errc::truncated, end_of_file};
      made.bytes_ = *bytes;
      made.address_ = s.address;
      found = true;
    }
    if (!found) return {errc::missing_section, 0};
    const std::size_t rest = made.bytes_.size() % size_of<index_entry>;
    const std::uint64_t end = made.offset_in_file(made.bytes_.data() + made.bytes_.size());
    made.bytes_ = made.bytes_.first(made.bytes_.size() - rest);
    return {made, rest == 0 ? trace_error{} : trace_error{errc::truncated, end}};
  }

  [[nodiscard]] constexpr std::size_t size() const noexcept { return bytes_.size() / size_of<index_entry>; }
  /// Where an entry lies in the file.
  [[nodiscard]] constexpr std::uint64_t offset_of_entry(std::size_t i) const noexcept {
    return offset_in_file(bytes_.data() + i * size_of<index_entry>);
  }
  [[nodiscard]] constexpr order byte_order() const noexcept { return file_.byte_order(); }
  /// Where a byte of the file lies, for errors.
  [[nodiscard]] constexpr std::uint64_t offset_in_file(const std::byte* at) const noexcept {
    return static_cast<std::uint64_t>(at - file_.bytes().data());
  }

 private:
  static constexpr std::uint32_t top = 0x80000000U;

  /// The address that a word at `address` stands for.
  [[nodiscard]] static constexpr std::uint32_t place(std::uint64_t address, std::uint32_t word) noexcept {
    return static_cast<std::uint32_t>(address) + ((word & 0x40000000U) != 0 ? word | top : word & ~top);
  }
  template <order O>
  [[nodiscard]] constexpr std::uint64_t begin_of(std::size_t i) const noexcept {
    const record<index_entry, O> stored(bytes_.data() + i * size_of<index_entry>);
    return place(address_ + i * size_of<index_entry>, stored[index_entry::function]) & ~std::uint32_t{1};
  }
  template <order O>
  [[nodiscard]] constexpr result<entry> entry_at(std::size_t i) const noexcept {
    const record<index_entry, O> stored(bytes_.data() + i * size_of<index_entry>);
    const std::uint64_t here = offset_in_file(bytes_.data() + i * size_of<index_entry>);
    const std::uint64_t content_at = here + offset_of<index_entry>(index_entry::content);
    if ((stored[index_entry::function] & top) != 0) return {errc::bad_value, here};
    entry made;
    made.begin = begin_of<O>(i);
    made.end = i + 1 < size() ? begin_of<O>(i + 1) : end_of_segment(made.begin);
    if (made.end < made.begin) return {errc::out_of_range, here};
    const std::uint32_t content = stored[index_entry::content];
    if (content == cant_unwind) return made;
    if ((content & top) != 0) {
      if ((content >> 24 & 0x7fU) != 0) return {errc::bad_value, content_at};
      made.how = model::inlined;
      made.opcodes = opcode_bytes(bytes_.subspan(i * size_of<index_entry> + 4, 4), 1, O);
      return made;
    }
    const std::uint32_t table = place(address_ + i * size_of<index_entry> + 4, content);
    return table_at<O>(made, table, content_at);
  }
  /// What .ARM.extab holds at that address; `asked` is where it is told of.
  template <order O>
  [[nodiscard]] constexpr result<entry> table_at(entry made, std::uint32_t address,
                                                 std::uint64_t asked) const noexcept {
    byte_view words = file_.bytes_from(address);
    if (words.size() < 4) return {errc::out_of_range, asked};
    const std::uint64_t here = offset_in_file(words.data());
    std::uint32_t first = load<std::uint32_t, O>(words.data());
    std::size_t skipped = 1, more = 0;
    if ((first & top) != 0) {
      made.how = model::compact;
      made.personality = static_cast<std::uint8_t>(first >> 24 & 0x7fU);
      if (made.personality > 2) return {errc::bad_value, here};
      if (made.personality != 0) {
        skipped = 2;
        more = first >> 16 & 0xffU;
      }
    } else {
      // Behind the address of the routine lies what GNU's and LLVM's routines take.
      made.how = model::generic;
      words = words.subspan(4);
      if (words.size() < 4) return {errc::truncated, here};
      first = load<std::uint32_t, O>(words.data());
      more = first >> 24;
    }
    if (words.size() / 4 < 1 + more) return {errc::truncated, here};
    made.opcodes = opcode_bytes(words.first((1 + more) * 4), skipped, O);
    return made;
  }
  [[nodiscard]] constexpr std::uint64_t end_of_segment(std::uint64_t address) const noexcept {
    for (const elf::segment& s : file_.segments()) {
      if (s.type == elf::segment_load && s.address <= address && address - s.address < s.memory_size)
        return s.address + s.memory_size;
    }
    return address;
  }

 public:
  /// An entry. Errors, at their offset in the file: bad_value (a place with the highest bit, an inline personality that
  /// is not 0, an unknown personality), out_of_range (functions not ascending; a table outside of the file), truncated.
  [[nodiscard]] constexpr result<entry> operator[](std::size_t i) const noexcept {
    return with_order(byte_order(), [&](auto o) -> result<entry> { return entry_at<o()>(i); });
  }

  /// The section.
  [[nodiscard]] byte_view bytes() const noexcept { return bytes_; }

 private:
  elf::image file_;
  byte_view bytes_;
  std::uint64_t address_ = 0;
};

}  // namespace backsight::cfi::exidx
