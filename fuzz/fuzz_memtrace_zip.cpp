// SPDX-License-Identifier: Apache-2.0
// Packed memtraces: zip archives, gzip and zlib streams, LZ4 frames and the snappy framing, with a limit on what they
// unfold to.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include <backsight/io/inflate.hpp>
#include <backsight/io/lz4_frame.hpp>
#include <backsight/io/snappy_frame.hpp>
#include <backsight/io/zip.hpp>
#include <backsight/memtrace/counts.hpp>

using namespace backsight;

namespace {

constexpr io::expansion_limit limit{.ratio = 500, .free_bytes = 1 << 20, .bytes = 1 << 23};

template <class Reader>
void read(Reader&& reader) {
  std::vector<std::byte> block(12 * 1000);
  memtrace::final_counter counter;
  for (;;) {
    const auto got = reader.read(block);
    if (got.partial() > block.size()) std::abort();
    (void)counter.feed(byte_view(block).first(got.partial()));
    if (!got || got.partial() < block.size()) break;
  }
  counter.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const byte_view bytes(reinterpret_cast<const std::byte*>(data), size);
  switch (io::container_of(bytes)) {
    case io::container::gzip:
    case io::container::zlib: read(io::inflate_reader(bytes, limit)); break;
    case io::container::lz4: read(io::lz4_reader(bytes, limit)); break;
    case io::container::snappy: read(io::snappy_reader(bytes, limit)); break;
    case io::container::zip: {
      const auto archive = io::zip_archive::open(bytes, limit);
      if (!archive) break;
      std::uint64_t offset = 0;
      for (const io::zip_member& one : archive->members()) {
        if (one.offset != offset) std::abort();
        offset += one.size;
      }
      read(archive->read_from(0));
      if (!archive->members().empty()) read(archive->read_from(archive->members().size() - 1));
      break;
    }
    case io::container::plain: break;
  }
  return 0;
}
