// SPDX-License-Identifier: Apache-2.0
// `backsight cfi sframe --write`: a copy of a file with a .sframe made of its .eh_frame.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <backsight/cfi/arch/generic.hpp>
#include <backsight/cfi/sframe/writer.hpp>
#include <backsight/elf/schema.hpp>

#include "sframe_input.hpp"

namespace cli {
namespace {

namespace bs = backsight;
namespace cfi = backsight::cfi;
namespace sframe = backsight::cfi::sframe;

constexpr std::uint32_t sframe_section_type = 0x6ffffff4;  // SHT_GNU_SFRAME

sframe::abi sframe_machine_of(const bs::elf::image& image) {
  const bool little = image.byte_order() == bs::order::little;
  if (image.address_size() != 8) return sframe::abi::none;
  switch (image.machine()) {
    case bs::elf::machine::x86_64: return little ? sframe::abi::x86_64 : sframe::abi::none;
    case bs::elf::machine::aarch64: return little ? sframe::abi::aarch64_little : sframe::abi::aarch64_big;
    case bs::elf::machine::s390: return little ? sframe::abi::none : sframe::abi::s390x;
    default: return sframe::abi::none;
  }
}

/// A 64-bit file with one more section, which no segment loads: behind the old bytes come the section, the names and
/// the section headers, and a section of that name that was there goes by another. Empty for a file whose sections have
/// no names.
template <bs::order O>
std::vector<std::byte> with_section(const bs::elf::image& image, std::string_view name, std::uint64_t address,
                                    const std::vector<std::byte>& content) {
  using file_header = bs::elf::wire::file_header<std::uint64_t>;
  using section_header = bs::elf::wire::section_header<std::uint64_t>;
  const bs::record<file_header, O> head(image.bytes().data() + bs::elf::wire::identification::size);
  std::vector<std::byte> out(image.bytes().begin(), image.bytes().end());
  const auto align = [&] { out.resize((out.size() + 7) / 8 * 8); };
  align();
  const std::uint64_t content_at = out.size();
  out.insert(out.end(), content.begin(), content.end());

  const auto sections = image.sections();
  const std::size_t names_index = head[file_header::shstrndx];
  if (names_index >= sections.size()) return {};
  const bs::elf::section names = sections[names_index];
  const auto old_names = image.section_bytes(names);
  const std::uint64_t names_at = out.size();
  if (old_names) out.insert(out.end(), old_names->begin(), old_names->end());
  const std::uint64_t name_at = out.size() - names_at;
  for (const char c : name) out.push_back(static_cast<std::byte>(c));
  out.push_back(std::byte{0});
  const std::uint64_t before_at = out.size() - names_at;
  for (const char c : std::string_view(".sframe.before")) out.push_back(static_cast<std::byte>(c));
  out.push_back(std::byte{0});
  const std::uint64_t names_end = out.size();
  align();

  const std::uint64_t headers_at = out.size();
  const std::size_t stride = bs::size_of<section_header>;
  out.resize(out.size() + stride * (sections.size() + 1));
  const auto field = [&](std::size_t index, std::size_t offset, auto value) {
    bs::store<O>(out.data() + headers_at + index * stride + offset, value);
  };
  for (const bs::elf::section s : sections) {
    const std::byte* const from =
        image.bytes().data() + head[file_header::shoff] + s.index * head[file_header::shentsize];
    std::copy_n(from, stride, out.begin() + static_cast<std::ptrdiff_t>(headers_at + s.index * stride));
    if (s.name == name) field(s.index, 0, static_cast<std::uint32_t>(before_at));
  }
  field(names.index, 24, names_at);
  field(names.index, 32, names_end - names_at);
  const std::size_t added = sections.size();
  field(added, 0, static_cast<std::uint32_t>(name_at));
  field(added, 4, sframe_section_type);
  field(added, 16, address);
  field(added, 24, content_at);
  field(added, 32, static_cast<std::uint64_t>(content.size()));
  field(added, 48, std::uint64_t{8});
  std::byte* const header = out.data() + bs::elf::wire::identification::size;
  bs::store<O>(header + 24, headers_at);
  bs::store<O>(header + 44, static_cast<std::uint16_t>(sections.size() + 1));
  return out;
}

}  // namespace

int write_sframe(const std::string& path, const std::string& output_path) {
  elf_input input;
  if (const int code = input.open(path); code != success) return code;
  const bs::elf::image& image = input.image;
  constexpr std::uint16_t relocatable = 1;
  const sframe::abi machine = sframe_machine_of(image);
  if (machine == sframe::abi::none) return report_error(path, "there is no SFrame for this machine");
  if (image.type() == relocatable)
    return report_error(path, "SFrame is written for linked files: this one has relocations");
  const auto sections = image.sections();
  if (sections.empty() || sections.size() >= 0xfe00) return report_error(path, "no room for a section header");
  const auto found = input.find(cfi::section_kind::eh_frame);
  if (!found) return input.report(found.error());

  int code = input.damage;
  sframe::writer writer(machine);
  std::array<std::size_t, sframe::unsayable_count> left_out{};
  std::size_t functions = 0;
  bs::with_order(image.byte_order(), [&](auto o) {
    const cfi::section<o()> from(found->bytes, found->info);
    cfi::with_arch(image.machine(), [&](auto arch) {
      sframe::frame_reader<decltype(arch), o()> reader(from, machine);
      reader.for_each(
          [&](const sframe::frame_function& f) {
            ++functions;
            ++left_out[static_cast<std::size_t>(writer.add(f))];
          },
          [&](const bs::trace_error& error) { code = report_error(path, error, "in .eh_frame"); });
    });
  });
  std::uint64_t address = 0;  // Behind all that is loaded, so that the starts are right for readers of the file.
  for (const bs::elf::section s : sections) {
    if ((s.flags & bs::elf::section_alloc) != 0) address = std::max(address, s.address + s.size);
  }
  for (const bs::elf::segment s : image.segments()) {
    if (s.type == bs::elf::segment_load) address = std::max(address, s.address + s.memory_size);
  }
  address = (address + 0xfff) / 0x1000 * 0x1000;
  std::size_t overlapping = 0;
  const auto section = writer.write(address, &overlapping);
  if (!section) return report_error(path, section.error());
  const std::vector<std::byte> file = bs::with_order(
      image.byte_order(), [&](auto o) { return with_section<o()>(image, ".sframe", address, *section); });
  if (file.empty()) return report_error(path, "its sections have no names");

  output out(output_path);
  out.write({reinterpret_cast<const char*>(file.data()), file.size()});
  code = out.close(code);
  if (code != usage && output_path != "-") {
    note("%zu functions, %zu bytes; .eh_frame has %zu\n", left_out[0] - overlapping, section->size(),
         found->bytes.size());
    for (std::size_t i = 1; i < left_out.size(); ++i) {
      if (left_out[i] != 0)
        note("%zu functions are left out: %s\n", left_out[i], sframe::name_of(static_cast<sframe::unsayable>(i)));
    }
    if (overlapping != 0) note("%zu functions are left out: overlap\n", overlapping);
  }
  return code;
}

}  // namespace cli
