// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/offset_of.hpp>
#include <backsight/core/record.hpp>

// As much of 64-bit Mach-O files as call frame information needs. Source: Apple's mach-o/loader.h.
namespace backsight::cfi::apple {

inline constexpr order mach_o_order = order::little;  ///< Of all 64-bit machines that Apple's systems run on.

/// Machines (cputype) whose compact unwinding is known.
enum class cpu : std::uint32_t { x86_64 = 0x01000007, arm64 = 0x0100000c };

struct mach_o_header {
  static constexpr const char* name = "mach_header_64";
  static constexpr field<"magic", std::uint32_t> magic{};  ///< 0xfeedfacf
  static constexpr field<"cputype", cpu> cpu_type{};
  static constexpr field<"cpusubtype", std::uint32_t> cpu_subtype{};
  static constexpr field<"filetype", std::uint32_t> file_type{};
  static constexpr field<"ncmds", std::uint32_t> commands{};
  static constexpr field<"sizeofcmds", std::uint32_t> command_bytes{};
  static constexpr field<"flags", std::uint32_t> flags{};
  static constexpr padding<32> reserved{};
  static constexpr layout fields{magic, cpu_type, cpu_subtype, file_type, commands, command_bytes, flags, reserved};
};

struct load_command {
  static constexpr const char* name = "load_command";
  static constexpr std::uint32_t segment_64 = 0x19;  ///< LC_SEGMENT_64
  static constexpr field<"cmd", std::uint32_t> kind{};
  static constexpr field<"cmdsize", std::uint32_t> bytes{};  ///< of the whole command
  static constexpr layout fields{kind, bytes};
};

using mach_o_name = std::array<std::byte, 16>;  ///< Filled with zeros.

struct segment_command {
  static constexpr const char* name = "segment_command_64";
  static constexpr field<"cmd", std::uint32_t> kind{};
  static constexpr field<"cmdsize", std::uint32_t> bytes{};
  static constexpr field<"segname", mach_o_name> segment_name{};
  static constexpr field<"vmaddr", std::uint64_t> address{};
  static constexpr field<"vmsize", std::uint64_t> memory_bytes{};
  static constexpr field<"fileoff", std::uint64_t> offset{};
  static constexpr field<"filesize", std::uint64_t> file_bytes{};
  static constexpr field<"maxprot", std::uint32_t> most_protection{};
  static constexpr field<"initprot", std::uint32_t> protection{};
  static constexpr field<"nsects", std::uint32_t> sections{};
  static constexpr field<"flags", std::uint32_t> flags{};
  static constexpr layout fields{kind,       bytes,           segment_name, address,  memory_bytes, offset,
                                 file_bytes, most_protection, protection,   sections, flags};
};

struct mach_o_section {
  static constexpr const char* name = "section_64";
  static constexpr field<"sectname", mach_o_name> section_name{};
  static constexpr field<"segname", mach_o_name> segment_name{};
  static constexpr field<"addr", std::uint64_t> address{};
  static constexpr field<"size", std::uint64_t> bytes{};
  static constexpr field<"offset", std::uint32_t> offset{};
  static constexpr padding<28 * 8> rest{};
  static constexpr layout fields{section_name, segment_name, address, bytes, offset, rest};
};
static_assert(schema<mach_o_header> && size_of<mach_o_header> == 32);
static_assert(schema<load_command> && size_of<load_command> == 8);
static_assert(schema<segment_command> && size_of<segment_command> == 72);
static_assert(schema<mach_o_section> && size_of<mach_o_section> == 80);

/// Bytes of a Mach-O file with the address at which they are mapped.
struct placed_bytes {
  byte_view bytes;
  std::uint64_t address = 0;
};

/// A view of a 64-bit Mach-O file for one machine. Trivially copyable; the bytes must outlive it.
class mach_o {
 public:
  static constexpr std::uint32_t magic = 0xfeedfacf;

  /// Errors: truncated; bad_magic, also for files of several machines (take the part of one) and of 32 bits;
  /// unsupported_type (another machine than `cpu` names); bad_size (of a load command).
  [[nodiscard]] static constexpr result<mach_o> open(byte_view bytes) noexcept {
    if (bytes.size() < size_of<mach_o_header>) return {errc::truncated, bytes.size()};
    const record<mach_o_header, mach_o_order> head(bytes.data());
    if (head[mach_o_header::magic] != magic) return {errc::bad_magic, 0};
    mach_o made;
    made.bytes_ = bytes;
    made.cpu_ = head[mach_o_header::cpu_type];
    if (made.cpu_ != cpu::x86_64 && made.cpu_ != cpu::arm64)
      return {errc::unsupported_type, offset_of<mach_o_header>(mach_o_header::cpu_type)};
    std::size_t at = size_of<mach_o_header>;
    for (std::uint32_t left = head[mach_o_header::commands]; left != 0; --left) {
      if (bytes.size() - at < size_of<load_command>) return {errc::truncated, bytes.size()};
      const std::size_t size = record<load_command, mach_o_order>(bytes.data() + at)[load_command::bytes];
      if (size < size_of<load_command>) return {errc::bad_size, at + offset_of<load_command>(load_command::bytes)};
      if (size > bytes.size() - at) return {errc::truncated, bytes.size()};
      at += size;
    }
    made.commands_ = bytes.first(at).subspan(size_of<mach_o_header>);
    return made;
  }

  [[nodiscard]] constexpr byte_view bytes() const noexcept { return bytes_; }
  [[nodiscard]] constexpr cpu machine() const noexcept { return cpu_; }
  /// Where a byte of the file lies, for errors.
  [[nodiscard]] constexpr std::uint64_t offset_in_file(const std::byte* at) const noexcept {
    return static_cast<std::uint64_t>(at - bytes_.data());
  }

  /// The bytes of a section; absent when there is none or they are not in the file.
  [[nodiscard]] constexpr std::optional<placed_bytes> section(std::string_view segment_name,
                                                              std::string_view section_name) const noexcept {
    std::optional<placed_bytes> found;
    for_each_segment([&](const auto& segment, byte_view behind) {
      std::size_t count = segment[segment_command::sections];
      for (; count != 0 && !found && behind.size() >= size_of<mach_o_section>; --count) {
        const record<mach_o_section, mach_o_order> one(behind.data());
        behind = behind.subspan(size_of<mach_o_section>);
        if (!is_name(one[mach_o_section::segment_name], segment_name) ||
            !is_name(one[mach_o_section::section_name], section_name))
          continue;
        if (const auto held = slice(one[mach_o_section::offset], one[mach_o_section::bytes]))
          found = {*held, one[mach_o_section::address]};
      }
    });
    return found;
  }
  /// From an address to the end of the bytes of its segment; empty when none of them covers it.
  [[nodiscard]] constexpr byte_view bytes_from(std::uint64_t address) const noexcept {
    byte_view found;
    for_each_segment([&](const auto& segment, byte_view) {
      const std::uint64_t begin = segment[segment_command::address], size = segment[segment_command::file_bytes];
      if (address < begin || address - begin >= size) return;
      if (const auto held = slice(segment[segment_command::offset], size))
        found = held->subspan(static_cast<std::size_t>(address - begin));
    });
    return found;
  }
  /// The address of the header, from which functions count; 0 when there is no segment __TEXT.
  [[nodiscard]] constexpr std::uint64_t base() const noexcept {
    std::uint64_t found = 0;
    for_each_segment([&](const auto& segment, byte_view) {
      if (is_name(segment[segment_command::segment_name], "__TEXT")) found = segment[segment_command::address];
    });
    return found;
  }

 private:
  [[nodiscard]] static constexpr bool is_name(const mach_o_name& stored, std::string_view name) noexcept {
    for (std::size_t i = 0; i < stored.size(); ++i) {
      if (std::to_integer<char>(stored[i]) != (i < name.size() ? name[i] : '\0')) return false;
    }
    return name.size() <= stored.size();
  }
  [[nodiscard]] constexpr std::optional<byte_view> slice(std::uint64_t offset, std::uint64_t size) const noexcept {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return std::nullopt;
    return bytes_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
  }
  /// Calls `f(segment, what follows it in its command)`.
  template <class F>
  constexpr void for_each_segment(F&& f) const {
    for (byte_view rest = commands_; !rest.empty();) {
      const record<load_command, mach_o_order> head(rest.data());
      const byte_view command = rest.first(head[load_command::bytes]);
      rest = rest.subspan(command.size());
      if (head[load_command::kind] != load_command::segment_64 || command.size() < size_of<segment_command>) continue;
      f(record<segment_command, mach_o_order>(command.data()), command.subspan(size_of<segment_command>));
    }
  }

  byte_view bytes_, commands_;
  cpu cpu_ = cpu::x86_64;
};

}  // namespace backsight::cfi::apple
