// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <zstd.h>

#include <backsight/io/container.hpp>
#include <backsight/perf/merged_records.hpp>

namespace backsight::io {

namespace detail {

/// Splits the data of a compressed2_record: where perf wrote several pieces at once and their size wrapped, heads of
/// further records of the type stand between them. Calls `f(byte_view)` for each piece.
template <order O, class F>
void for_each_piece(byte_view data, F&& f) {
  using head = record<perf::compressed2_record, O>;
  // A piece that another one follows fills its record up: perf's limit is one byte less than 16 bits count.
  constexpr std::size_t full = 65535 - size_of<perf::compressed2_record>;
  while (data.size() > full + size_of<perf::compressed2_record>) {
    const head next(data.data() + full);
    if (next[perf::compressed2_record::type] != perf::record_type::compressed2 ||
        next[perf::compressed2_record::size] < size_of<perf::compressed2_record> ||
        next[perf::compressed2_record::size] > data.size() - full) {
      break;
    }
    f(data.first(full));
    data = data.subspan(full + size_of<perf::compressed2_record>);
  }
  f(data);
}

/// The records of a stream, those inside of compressed records in their place. Offsets of these are those of the
/// compressed record in which they end.
template <order O>
class zstd_walker {
  using format = perf::perf_format<O>;
  using plain_walker = perf::detail::record_walker<O>;

 public:
  /// Unfolded bytes, shared by the records in them.
  struct keeper {
    std::shared_ptr<std::vector<std::byte>> bytes;
  };

  zstd_walker(perf::perf_records<O> records, expansion_limit limit)
      : plain_(records), limit_(limit), stream_(ZSTD_createDStream()) {}

  template <class OnFault>
  bool next(any_record<format>& out, keeper& keep, OnFault&& on_fault) {
    for (;;) {
      if (inner_ && take_inner(out, keep, on_fault)) return true;
      if (unfold(on_fault)) continue;
      typename plain_walker::keeper none;
      if (!plain_.next(out, none, on_fault)) {
        if (!rest_.empty()) {
          on_fault(fault{errc::truncated, offset_, 0});
          rest_.clear();
        }
        return false;
      }
      keep.bytes.reset();
      if (!begin_unfolding(out)) return true;
    }
  }

 private:
  struct freer {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };

  static constexpr std::size_t block = std::size_t{1} << 18;
  /// What stands behind records, outside of them, does not stand in compressed ones.
  static constexpr std::size_t longest_record = 65535;

  bool begin_unfolding(const any_record<format>& item) {
    if (failed_) return false;
    if (const auto first = get_if<perf::compressed_record>(item)) {
      pieces_.push_back(first.payload());
    } else if (const auto second = get_if<perf::compressed2_record>(item)) {
      // Behind the data is padding.
      const auto size = std::min<std::uint64_t>(second[perf::compressed2_record::data_size], second.payload().size());
      for_each_piece<O>(second.payload().first(static_cast<std::size_t>(size)),
                        [&](byte_view piece) { pieces_.push_back(piece); });
    } else {
      return false;
    }
    offset_ = item.offset();
    std::reverse(pieces_.begin(), pieces_.end());
    return true;
  }

  /// Unfolds up to a block of the pieces at hand behind what is left of the block before; false when nothing came.
  template <class OnFault>
  bool unfold(OnFault&& on_fault) {
    while (!pieces_.empty()) {
      scratch_.resize(block);
      ZSTD_outBuffer to{scratch_.data(), block, 0};
      bool drained = false;
      while (!pieces_.empty() && to.pos < block && !drained) {
        const byte_view piece = pieces_.back();
        ZSTD_inBuffer from{piece.data(), piece.size(), 0};
        const std::size_t left = stream_ ? ZSTD_decompressStream(stream_.get(), &to, &from) : std::size_t{0};
        packed_ += from.pos;
        const bool stuck = from.pos == 0 && to.pos == 0 && from.size != 0;
        errc code = errc::ok;
        if (!stream_) code = errc::io;
        else if (ZSTD_isError(left) != 0 || stuck) code = errc::bad_value;
        else if (!limit_.allows(packed_, unfolded_ + to.pos)) code = errc::expansion;
        if (code != errc::ok) {
          // The stream goes on from record to record: nothing behind the damage can be unfolded.
          failed_ = true;
          pieces_.clear();
          on_fault(fault{code, offset_, 0});
          break;
        }
        pieces_.back() = piece.subspan(from.pos);
        // A piece is done when its bytes are and the output did not end because it was full.
        if (pieces_.back().empty() && to.pos < block) pieces_.pop_back();
        else if (to.pos == block) drained = true;
      }
      unfolded_ += to.pos;
      if (to.pos == 0) continue;
      bytes_ = std::make_shared<std::vector<std::byte>>(std::move(rest_));
      rest_.clear();
      bytes_->insert(bytes_->end(), scratch_.begin(), scratch_.begin() + static_cast<std::ptrdiff_t>(to.pos));
      inner_ = true;
      position_ = 0;
      return true;
    }
    return false;
  }

  template <class OnFault>
  bool take_inner(any_record<format>& out, keeper& keep, OnFault&& on_fault) {
    const byte_view left = byte_view(*bytes_).subspan(position_);
    if (left.empty()) {
      inner_ = false;
      bytes_.reset();
      return false;
    }
    const perf::perf_records<O> records(left, {}, offset_);
    const auto it = records.begin();
    if (it == std::default_sentinel) {
      inner_ = false;
      // A record that is not whole goes on in the next compressed record.
      if (it.error().code == errc::truncated && left.size() <= longest_record) {
        rest_.assign(left.begin(), left.end());
      } else {
        on_fault(fault{it.error().code, offset_, 0});
        failed_ = true;
        pieces_.clear();
      }
      bytes_.reset();
      return false;
    }
    out = *it;
    position_ += out.bytes().size();
    keep.bytes = bytes_;
    return true;
  }

  plain_walker plain_;
  expansion_limit limit_;
  std::unique_ptr<ZSTD_DStream, freer> stream_;
  std::vector<byte_view> pieces_;  // Compressed bytes that are still to be unfolded, the next ones last.
  std::vector<std::byte> scratch_;
  std::vector<std::byte> rest_;  // The beginning of a record that was not whole.
  std::shared_ptr<std::vector<std::byte>> bytes_;
  std::size_t position_ = 0;
  std::uint64_t packed_ = 0, unfolded_ = 0, offset_ = 0;
  bool inner_ = false, failed_ = false;
};

}  // namespace detail

/// perf::for_each_merged for traces whose records may be compressed: those inside come in place of the compressed ones,
/// also where they cross from one to the next. Needs libzstd. Each stream of a directory is unfolded for itself. A
/// compressed stream that is damaged is told once, at the compressed record; what is behind it is given as it is.
/// Memory: what unfolds to the records of two rounds.
template <class F, class OnFault>
perf::merge_counts for_each_unfolded(const perf::trace& opened, std::span<const byte_view> others, F&& f,
                                     OnFault&& on_fault, expansion_limit limit = {}) {
  return with_order(opened.byte_order(), [&](auto o) {
    std::vector<detail::zstd_walker<o()>> streams;
    streams.emplace_back(opened.template records<o()>(), limit);
    for (const byte_view other : others) streams.emplace_back(perf::perf_records<o()>(other), limit);
    return perf::detail::merge_streams<o()>(opened, streams, f, on_fault);
  });
}

}  // namespace backsight::io
