// SPDX-License-Identifier: Apache-2.0
// Declares a format of one's own, the chunks of PNG images, and lists the chunks of a file:   own_format IMAGE
#include <cstdio>
#include <iterator>
#include <string>

#include <backsight/core/print.hpp>
#include <backsight/core/record_range.hpp>
#include <backsight/io/mapped_file.hpp>

using namespace backsight;

// [schemas]
/// What every chunk begins with: the number of data bytes, and four letters (PNG specification, section 5.3).
struct chunk {
  static constexpr bool has_payload = true;
  static constexpr field<"length", std::uint32_t> length{};
  static constexpr field<"type", std::array<std::byte, 4>> type{};
  static constexpr layout fields{length, type};
};
struct palette : chunk {
  static constexpr const char* name = "PLTE";
};
struct image_data : chunk {
  static constexpr const char* name = "IDAT";
};
struct image_end : chunk {
  static constexpr const char* name = "IEND";
};
struct other_chunk : chunk {
  static constexpr const char* name = "chunk";
};

/// The first chunk, of a fixed size: how large the image is (PNG specification, section 11.2.1).
struct image_header {
  static constexpr const char* name = "IHDR";
  static constexpr std::size_t size = 25;
  static constexpr field<"length", std::uint32_t> length{};
  static constexpr field<"type", std::array<std::byte, 4>> type{};
  static constexpr field<"width", std::uint32_t> width{};
  static constexpr field<"height", std::uint32_t> height{};
  static constexpr field<"bit_depth", std::uint8_t> bit_depth{};
  static constexpr field<"colour_type", std::uint8_t> colour_type{};
  static constexpr field<"crc", std::uint32_t> crc{};
  static constexpr layout fields{length,    type,        at<8>(width),  at<12>(height),
                                 bit_depth, colour_type, padding<24>{}, crc};
};
static_assert(schema<image_header>);
// [schemas]

// [format]
struct png_format {
  using records = record_list<image_header, palette, image_data, image_end, other_chunk>;
  using context = no_context;
  using terminator = image_end;
  static constexpr order byte_order = order::big;
  static constexpr std::size_t head_bytes = 8;
  static constexpr auto transitions = grammar<records>{}
                                          .start<image_header>()
                                          .follow<image_header, palette, image_data, other_chunk>()
                                          .follow<palette, image_data, other_chunk>()
                                          .follow<image_data, image_data, image_end, other_chunk>()
                                          .follow<other_chunk, palette, image_data, image_end, other_chunk>()
                                          .finish<image_end>();

  static constexpr kind_result kind_of(const std::byte* at, const context&) noexcept {
    switch (load<std::uint32_t, order::big>(at + 4)) {
      case 0x49484452: return records::kind<image_header>;
      case 0x504c5445: return records::kind<palette>;
      case 0x49444154: return records::kind<image_data>;
      case 0x49454e44: return records::kind<image_end>;
      default: return records::kind<other_chunk>;
    }
  }
  static constexpr errc check(record<image_header, order::big> item, const context&) noexcept {
    return item[image_header::length] == 13 ? errc::ok : errc::bad_size;
  }
  /// The data and four bytes of checksum.
  template <schema S>
  static constexpr payload_result payload_size(record<S, order::big> item, const context&) noexcept {
    if (item[S::length] > 0x7fffffff) return errc::bad_size;
    return std::size_t{item[S::length]} + 4;
  }
  /// Reading can start again where the type of a chunk that we know stands.
  static constexpr std::size_t resync(byte_view all, std::size_t from, context& in) noexcept {
    for (; all.size() - from >= head_bytes; ++from) {
      if (kind_of(all.data() + from, in) != records::kind<other_chunk>) return from;
    }
    return all.size();
  }
};
static_assert(record_format<png_format>);
// [format]

int main(int count, char** words) {
  if (count != 2) return 2;
  const auto file = io::mapped_file::open(words[1]);
  // [walk]
  constexpr std::size_t signature = 8;
  if (file.partial().bytes().size() < signature) return 1;
  const record_range<png_format> chunks(file.partial().bytes().subspan(signature), {}, signature);
  if (const trace_error error = chunks.validate())
    std::printf("%u: %s\n", static_cast<unsigned>(error.offset), message(error.code));

  using tolerant = record_range<png_format, grammar_check::ignored>;
  for_each_salvaging(
      tolerant(chunks.bytes(), {}, signature),
      [](any_record<png_format> item) {
        std::string line;
        visit(item, overloaded{
                        [&](record<image_header, order::big> header) { print(std::back_inserter(line), header); },
                        [&]<schema S>(record<S, order::big>) { line = name_of_schema<S>(); },
                    });
        std::printf("%u: %s, %u bytes\n", static_cast<unsigned>(item.offset()), line.c_str(),
                    static_cast<unsigned>(item.bytes().size()));
      },
      [](fault skipped) {
        std::printf("%u: skipped %u bytes\n", static_cast<unsigned>(skipped.offset),
                    static_cast<unsigned>(skipped.skipped));
      });
  // [walk]
  return 0;
}
