// SPDX-License-Identifier: Apache-2.0
// Stands for elf/constants.hpp, elf/indexed_range.hpp, elf/schema.hpp, elf/headers.hpp
#include <backsight/elf/sections.hpp>

#include <limits>
#include <string>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>
#include <support/files.hpp>

#include "elf_builder.hpp"

using namespace backsight;

namespace {

/// A file with one section `.x` at 0x1000 and the string table, in any class and byte order.
std::vector<std::byte> small_file(order o, bool wide) {
  test::byte_builder b(o);
  const auto word = [&](std::uint64_t value) { wide ? b.u64(value) : b.u32(value); };
  const std::size_t header = wide ? 64 : 52, stride = wide ? 64 : 40;
  b.u8(0x7f).text("ELF").u8(wide ? 2 : 1).u8(o == order::little ? 1 : 2).u8(1).fill(9);
  b.u16(3).u16(62).u32(1);
  word(0x1234), word(0), word(header + 16);
  b.u32(0).u16(header).u16(wide ? 56 : 32).u16(0).u16(stride).u16(3).u16(2);
  b.text("abcdefgh").fill(1).text(".x").fill(1).text("s").fill(3);
  const auto section = [&](std::uint32_t name, std::uint32_t type, std::uint64_t address, std::uint64_t offset,
                           std::uint64_t size) {
    b.u32(name).u32(type);
    word(2), word(address), word(offset), word(size);
    b.u32(0).u32(0);
    word(1), word(0);
  };
  section(0, 0, 0, 0, 0);
  section(1, 1, 0x1000, header, 8);
  section(4, 3, 0, header + 8, 8);
  return b.vector();
}

}  // namespace

TEST_CASE("sections of either class and byte order are found by name") {
  for (const order o : {order::little, order::big}) {
    for (const bool wide : {false, true}) {
      const auto bytes = small_file(o, wide);
      const auto file = elf::open(bytes);
      REQUIRE(file);
      CHECK(file->byte_order() == o);
      CHECK(file->address_size() == (wide ? 8 : 4));
      CHECK(file->entry() == 0x1234);
      CHECK(file->machine() == elf::machine::x86_64);
      REQUIRE(file->sections().size() == 3);
      const auto x = file->find_section(".x");
      REQUIRE(x);
      CHECK(x->address == 0x1000);
      const auto data = file->section_bytes(*x);
      REQUIRE(data);
      CHECK(data->size() == 8);
      CHECK((*data)[0] == std::byte{'a'});
      CHECK_FALSE(file->find_section(".y"));
    }
  }
}

TEST_CASE("a file cut anywhere gives an error or fewer sections") {
  const auto bytes = small_file(order::little, true);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto file = elf::open(byte_view(bytes).first(size));
    if (!file) {
      CHECK(file.error().code == errc::truncated);
      CHECK(file.error().offset <= size);
      continue;
    }
    for (const elf::section s : file->sections()) (void)file->section_bytes(s);
    CHECK(file->sections().size() < 3);
  }
}

TEST_CASE("what is no ELF file is refused with its place") {
  CHECK(elf::open(test::bytes<0x7f, 'E', 'L', 'G'>).error() == trace_error{errc::bad_magic, 3});
  auto bytes = small_file(order::little, true);
  bytes[4] = std::byte{3};
  CHECK(elf::open(bytes).error() == trace_error{errc::unsupported_type, 4});
  bytes[4] = std::byte{2}, bytes[5] = std::byte{0};
  CHECK(elf::open(bytes).error() == trace_error{errc::unsupported_type, 5});
}

TEST_CASE("a compressed section is reported, and what it holds") {
  const auto bytes = test::read_file(test::data_path("cfi/elf/dbgframe-v4-zlib"));
  const auto file = elf::open(bytes);
  REQUIRE(file);
  const auto section = file->find_section(".debug_frame");
  REQUIRE(section);
  CHECK(file->section_bytes(*section).error() == trace_error{errc::compressed, section->offset});
  const auto packed = file->compression_of(*section);
  REQUIRE(packed);
  CHECK(packed->type == 1);
  CHECK(packed->size > packed->data.size());
}

TEST_CASE("segments give bytes by address and the build-id") {
  const auto bytes = test::read_file(test::data_path("cfi/elf/gcc-O2"));
  const auto file = elf::open(bytes);
  REQUIRE(file);
  CHECK(file->build_id().size() == 20);
  const auto text = file->find_section(".text");
  REQUIRE(text);
  const auto by_address = file->bytes_at(text->address, text->size);
  REQUIRE(by_address);
  CHECK(by_address->data() == file->section_bytes(*text)->data());
  CHECK_FALSE(file->bytes_at(~std::uint64_t{0}, 1));
  CHECK_FALSE(file->bytes_at(text->address, std::uint64_t{1} << 40));
}

namespace {

std::vector<std::byte> letters(std::string_view text) {
  test::byte_builder b;
  return b.text(text).vector();
}
std::string_view text_of(byte_view bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// A note: name and description padded to `unit`.
test::byte_builder& note(test::byte_builder& b, std::string_view name, std::uint32_t type, std::string_view description,
                         std::size_t unit = 4) {
  b.u32(name.size()).u32(description.size()).u32(type).text(name).fill((unit - name.size() % unit) % unit);
  return b.text(description).fill((unit - description.size() % unit) % unit);
}
constexpr std::string_view gnu("GNU\0", 4);

}  // namespace

TEST_CASE("a section keeps every member of its header") {
  test::for_each_kind_of_file([](order o, bool wide) {
    test::elf_builder built(o, wide);
    built.sections.push_back({".first", 1, 6, 0x1000, letters("abc"), 7, 8, 16, 24, 0});
    built.sections.push_back({".second", 0x70000001, 0x10, 0x80000000, letters("defgh"), 1, 2, 4, 12, 0});
    const auto bytes = built.file();
    const auto file = elf::open(bytes);
    REQUIRE(file);
    REQUIRE(file->sections().size() == 4);
    const elf::section s = file->sections()[1], second = file->sections()[2];
    CHECK(s.index == 1);
    CHECK(s.name == ".first");
    CHECK(s.type == 1);
    CHECK(s.flags == 6);
    CHECK(s.address == 0x1000);
    CHECK(s.offset == built.sections[1].offset);
    CHECK(s.size == 3);
    CHECK(s.link == 7);
    CHECK(s.info == 8);
    CHECK(s.alignment == 16);
    CHECK(s.entry_size == 24);
    CHECK(second.index == 2);
    CHECK(second.type == 0x70000001);
    CHECK(second.address == 0x80000000);
    CHECK(second.offset == s.offset + 3);
    CHECK(text_of(*file->section_bytes(second)) == "defgh");
    CHECK(file->sections()[3].name == ".shstrtab");
    CHECK(file->find_section(".second")->index == 2);
  });
}

TEST_CASE("of a file that is cut those headers and bytes are there that are whole") {
  test::for_each_kind_of_file([](order o, bool wide) {
    test::elf_builder built(o, wide);
    built.sections.push_back({".x", 1, 0, 0, letters("abcdefgh"), 0, 0, 1, 0, 0});
    const auto bytes = built.file();
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
      CAPTURE(size);
      const auto file = elf::open(byte_view(bytes).first(size));
      if (size < built.header_size()) {
        CHECK(file.error() == trace_error{errc::truncated, size});
        continue;
      }
      REQUIRE(file);
      const std::size_t whole =
          size < built.section_headers ? 0 : (size - built.section_headers) / built.section_size();
      REQUIRE(file->sections().size() == whole);
      // The names are the last section: without it, none has one.
      CHECK(file->find_section(".x").has_value() == (whole == 3));
      for (std::size_t i = 0; i < whole; ++i) CHECK(file->section_bytes(file->sections()[i]));
    }
  });
}

TEST_CASE("bytes of a file are there up to its very end and not beyond") {
  test::elf_builder built(order::little, true);
  const auto bytes = built.file();
  const auto file = elf::open(bytes);
  REQUIRE(file);
  const std::uint64_t end = bytes.size();
  CHECK(file->slice(0, end)->size() == end);
  CHECK(file->slice(end - 1, 1)->size() == 1);
  CHECK(file->slice(end, 0)->empty());
  CHECK_FALSE(file->slice(end, 1));
  CHECK_FALSE(file->slice(end - 1, 2));
  CHECK_FALSE(file->slice(end + 1, 0));
  CHECK_FALSE(file->slice(1, ~std::uint64_t{0}));
  elf::section s;
  s.type = 1;
  s.offset = end - 4;
  s.size = 4;
  CHECK(file->section_bytes(s)->size() == 4);
  s.size = 5;
  CHECK(file->section_bytes(s).error() == trace_error{errc::truncated, end - 4});
  s.type = elf::section_no_bits;
  CHECK(file->section_bytes(s)->empty());
}

TEST_CASE("numbers of headers that do not fit 16 bits are in section 0") {
  test::for_each_kind_of_file([](order o, bool wide) {
    test::elf_builder built(o, wide);
    built.segments = {{1, 5, 0, 0x1000, 10, 10, 1}, {1, 6, 0, 0x2000, 10, 10, 1}, {1, 6, 0, 0x3000, 10, 10, 1}};
    built.sections.push_back({".x", 1, 0, 0, letters("abc"), 0, 0, 1, 0, 0});
    built.sections_in_header = 0;
    built.names_in_header = 0xffff;
    built.segments_in_header = 0xffff;
    built.size_of_section_0 = 3;
    built.sections[0].info = 2;
    const auto bytes = built.file();
    const auto file = elf::open(bytes);
    REQUIRE(file);
    CHECK(file->sections().size() == 3);
    CHECK(file->find_section(".x"));
    CHECK(file->segments().size() == 2);
    // More than there are: those that are whole.
    built.size_of_section_0 = 1000;
    built.sections[0].info = 1000;
    const auto more = built.file();
    CHECK(elf::open(more)->sections().size() == 3);
    CHECK(elf::open(more)->segments().size() == (more.size() - built.header_size()) / built.segment_size());
    // Numbers in the file header come first.
    built.sections_in_header = 2;
    built.segments_in_header = 1;
    built.names_in_header = 1;
    const auto fewer = built.file();
    CHECK(elf::open(fewer)->sections().size() == 2);
    CHECK(elf::open(fewer)->segments().size() == 1);
    CHECK(elf::open(fewer)->sections()[1].name.empty());
  });
}

TEST_CASE("the size of a header is what the file says, and not less than the format's") {
  test::elf_builder built(order::little, true);
  built.sections.push_back({".x", 1, 0, 0, letters("abc"), 0, 0, 1, 0, 0});
  built.segments = {{1, 5, 0, 0x1000, 10, 10, 1}};
  auto bytes = built.file();
  bytes[58] = std::byte{63};
  CHECK(elf::open(bytes)->sections().size() == 0);
  bytes[54] = std::byte{55};
  CHECK(elf::open(bytes)->segments().size() == 0);
  bytes[54] = std::byte{56};
  CHECK(elf::open(bytes)->segments().size() == 1);
  // Twice as large: only every other header is one, as long as there are bytes.
  bytes[58] = std::byte{128};
  CHECK(elf::open(bytes)->sections().size() == 1);
}

TEST_CASE("a name is inside of its table, terminated and shorter than 65536 bytes") {
  const auto table = letters(std::string_view("\0ab\0c", 5));
  CHECK(elf::image::string_at(table, 0).empty());
  CHECK(elf::image::string_at(table, 1) == "ab");
  CHECK(elf::image::string_at(table, 2) == "b");
  CHECK(elf::image::string_at(table, 4).empty());
  CHECK(elf::image::string_at(table, 5).empty());
  CHECK(elf::image::string_at(table, ~std::uint64_t{0}).empty());
  std::vector<std::byte> large(70000, std::byte{'x'});
  large[65535] = std::byte{0};
  CHECK(elf::image::string_at(large, 0).size() == 65535);
  large[65535] = std::byte{'x'};
  large[65536] = std::byte{0};
  CHECK(elf::image::string_at(large, 0).empty());
  CHECK(elf::image::string_at(large, 1).size() == 65535);
}

TEST_CASE("a compressed section has a whole head, whatever follows") {
  test::for_each_kind_of_file([](order o, bool wide) {
    const std::size_t head = wide ? 24 : 12;
    for (const std::size_t size : {head - 1, head, head + 5}) {
      test::elf_builder built(o, wide);
      auto packed = built.bytes();
      packed.u32(2);
      if (wide) packed.u32(0);
      built.word(built.word(packed, 0x1234), 1);
      packed.text("pack!");
      packed.vector().resize(size);
      built.sections.push_back({".z", 1, elf::section_compressed, 0, packed.vector(), 0, 0, 1, 0, 0});
      const auto bytes = built.file();
      const auto file = elf::open(bytes);
      REQUIRE(file);
      const auto s = file->find_section(".z");
      REQUIRE(s);
      CHECK(file->section_bytes(*s).error() == trace_error{errc::compressed, s->offset});
      const auto found = file->compression_of(*s);
      if (size < head) {
        CHECK(found.error() == trace_error{errc::truncated, s->offset});
        continue;
      }
      REQUIRE(found);
      CHECK(found->type == 2);
      CHECK(found->size == 0x1234);
      CHECK(text_of(found->data) == (size == head ? "" : "pack!"));
      CHECK(file->compression_of(file->sections()[0]).error().code == errc::not_found);
    }
  });
}

TEST_CASE("bytes of a segment are found from its first address to its last") {
  test::for_each_kind_of_file([](order o, bool wide) {
    test::elf_builder built(o, wide);
    built.segments.resize(4);
    built.sections.push_back({".x", 1, 0, 0, letters("0123456789abcdef"), 0, 0, 1, 0, 0});
    const std::uint64_t at = built.first_offset();
    built.segments[0] = {2, 0, at, 0x1000, 16, 16, 1};        // Not loaded.
    built.segments[1] = {1, 0, at + 2, 0x1000, 4, 8, 1};      // "2345", and four zero bytes that are not in the file.
    built.segments[2] = {1, 0, at + 6, 0x1004, 3, 3, 1};      // Behind what is in the file.
    built.segments[3] = {1, 0, 1U << 30, 0x5000, 16, 16, 1};  // Outside of the file.
    const auto bytes = built.file();
    const auto file = elf::open(bytes);
    REQUIRE(file);
    CHECK(text_of(file->bytes_from(0x1000)) == "2345");
    CHECK(text_of(file->bytes_from(0x1003)) == "5");
    CHECK(text_of(file->bytes_from(0x1004)) == "678");
    CHECK(text_of(file->bytes_from(0x1006)) == "8");
    CHECK(file->bytes_from(0x1007).empty());
    CHECK(file->bytes_from(0xfff).empty());
    CHECK(file->bytes_from(0x5000).empty());
    CHECK(text_of(*file->bytes_at(0x1001, 3)) == "345");
    CHECK_FALSE(file->bytes_at(0x1001, 4));
    CHECK_FALSE(file->bytes_at(0xfff, 1));
    // In a file that ends inside the segment, as far as it goes.
    const auto cut = elf::open(byte_view(bytes).first(at + 4));
    REQUIRE(cut);
    CHECK(text_of(cut->bytes_from(0x1000)) == "23");
    CHECK(cut->bytes_from(0x1002).empty());
  });
}

TEST_CASE("a mapped image has its bytes by address, from the lowest one on, and no sections") {
  test::elf_builder built(order::little, true);
  built.segments.resize(3);
  built.sections.push_back({".x", 1, 0, 0, letters("0123456789abcdef"), 0, 0, 1, 0, 0});
  const std::uint64_t at = built.first_offset();
  built.segments[0] = {1, 0, 0, 0x9000, 1, 4, 1};
  built.segments[1] = {1, 0, 0, 0x9000 - at - 2, at, at + 2, 1};  // The lowest: the image begins with it.
  built.segments[2] = {6, 0, 0, 0x10, 1, 1, 1};
  const auto bytes = built.file();
  const auto file = elf::open(bytes, elf::image_layout::memory);
  REQUIRE(file);
  CHECK(file->sections().size() == 0);
  CHECK(file->bytes_layout() == elf::image_layout::memory);
  CHECK(text_of(file->bytes_from(0x9000)) == "2345");
  CHECK(text_of(file->bytes_from(0x9003)) == "5");
  CHECK(text_of(file->bytes_from(0x8fff)) == "1");
  CHECK(file->bytes_from(0x9004).empty());
  CHECK(file->bytes_from(0x10).empty());
}

TEST_CASE("the build-id is found behind other notes, in a segment or a section") {
  test::for_each_kind_of_file([](order o, bool wide) {
    for (const std::size_t unit : {std::size_t{4}, std::size_t{8}}) {
      for (const bool by_segment : {false, true}) {
        CAPTURE(unit, by_segment);
        test::elf_builder built(o, wide);
        auto notes = built.bytes();
        // With padding behind name and description; of another name; of another type.
        note(notes, std::string_view("stapsdt\0", 8), 3, "12345", unit);
        note(notes, std::string_view("GNX\0", 4), 3, "other", unit);
        if (unit == 8) notes.vector().resize((notes.size() + 7) / 8 * 8);
        note(notes, gnu, 1, "1234", unit);
        const std::size_t id_at = notes.size();
        note(notes, gnu, 3, "the build-id", unit);
        if (by_segment) built.segments.resize(1);
        built.sections.push_back(
            {".notes", by_segment ? 1U : elf::section_note, 2, 0x500, notes.vector(), 0, 0, unit, 0, 0});
        if (by_segment)
          built.segments[0] = {elf::segment_note, 4, built.first_offset(), 0x500, notes.size(), notes.size(), unit};
        const auto bytes = built.file();
        CHECK(text_of(elf::open(bytes)->build_id()) == "the build-id");
        // Cut inside of the description, and right behind it, without its padding.
        const std::size_t begin = built.first_offset(), whole = id_at + 12 + (unit == 8 ? 8 : 4) + 12;
        for (const std::size_t size : {whole - 1, whole}) {
          auto shorter = built;
          shorter.sections[1].bytes.resize(size);
          if (by_segment) shorter.segments[0].file_size = size;
          const auto cut = shorter.file();
          CHECK(text_of(elf::open(cut)->build_id()) == (size == whole ? "the build-id" : ""));
        }
        CHECK(begin == built.sections[1].offset);
      }
    }
  });
}

TEST_CASE("notes that lie about their sizes give no build-id") {
  const auto id_of = [](std::uint32_t name_size, std::uint32_t description_size) {
    test::elf_builder built(order::little, true);
    auto notes = built.bytes();
    notes.u32(name_size).u32(description_size).u32(3).text("GNU").u8(0).text("abcd");
    built.sections.push_back({".notes", elf::section_note, 2, 0, notes.vector(), 0, 0, 4, 0, 0});
    const auto bytes = built.file();
    return std::string(text_of(elf::open(bytes)->build_id()));
  };
  CHECK(id_of(4, 4) == "abcd");
  CHECK(id_of(4, 3) == "abc");
  CHECK(id_of(4, 0).empty());
  CHECK(id_of(4, 5).empty());
  CHECK(id_of(4, 0xffffffff).empty());
  CHECK(id_of(3, 4).empty());
  CHECK(id_of(8, 0).empty());
  CHECK(id_of(9, 0).empty());
  CHECK(id_of(0xffffffff, 4).empty());
}
