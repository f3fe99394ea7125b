// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <zip.h>

#include <backsight/io/container.hpp>

namespace backsight::io {

/// A member of a zip archive.
struct zip_member {
  std::string name;
  std::uint64_t size = 0;         ///< Bytes when unfolded, as the directory states it.
  std::uint64_t packed_size = 0;  ///< Bytes in the archive.
  std::uint64_t offset = 0;       ///< Where it begins in the members' bytes joined in the order of the archive.
};

/// The members of a zip archive, by their order in the archive. Needs libzip. The bytes must outlive the archive, which
/// must outlive its readers.
class zip_archive {
 public:
  zip_archive() = default;

  /// Reads the directory. Errors: errc::bad_value when it is not a valid archive, errc::expansion when the members are
  /// larger than their packed bytes can hold.
  [[nodiscard]] static result<zip_archive> open(byte_view bytes, expansion_limit limit = {}) {
    // libzip takes no bytes at all for an empty archive.
    if (bytes.empty()) return {errc::bad_value, 0};
    zip_error_t reason;
    zip_error_init(&reason);
    zip_source_t* const source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &reason);
    if (source == nullptr) return {errc::io, 0};
    zip_t* const opened = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &reason);
    zip_error_fini(&reason);
    if (opened == nullptr) {
      zip_source_free(source);
      return {errc::bad_value, 0};
    }
    zip_archive archive;
    archive.handle_.reset(opened);
    const zip_int64_t count = zip_get_num_entries(opened, 0);
    std::uint64_t packed = 0, unfolded = 0;
    for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(count); ++i) {
      zip_stat_t status;
      if (zip_stat_index(opened, i, 0, &status) != 0) return {errc::bad_value, 0};
      constexpr zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
      if ((status.valid & needed) != needed) return {errc::bad_value, 0};
      if (status.comp_size > bytes.size() - packed || status.size > ~std::uint64_t{0} - unfolded)
        return {errc::expansion, 0};
      archive.members_.push_back({status.name, status.size, status.comp_size, unfolded});
      packed += status.comp_size;
      unfolded += status.size;
      if (!limit.allows(packed, unfolded)) return {errc::expansion, 0};
    }
    return archive;
  }

  [[nodiscard]] const std::vector<zip_member>& members() const noexcept { return members_; }

  /// Unfolds members one after the other, from the one of index `first` on, at most `count` of them.
  class reader {
   public:
    reader(const zip_archive& archive, std::size_t first, std::size_t count)
        : archive_(&archive),
          next_(first),
          end_(count < archive.members_.size() - first ? first + count : archive.members_.size()) {}

    /// Fills `out` as far as there is data; gives the number of bytes, less than out.size() only at the end or before
    /// an error. Errors, with the offset in the joined unfolded bytes: errc::bad_value for damaged data,
    /// errc::checksum, errc::bad_size when a member does not have the size that the directory states.
    [[nodiscard]] result<std::size_t> read(std::span<std::byte> out) {
      std::size_t filled = 0;
      while (filled < out.size() && !error_) {
        if (file_ == nullptr && !open_next()) break;
        const zip_int64_t got = zip_fread(file_.get(), out.data() + filled, out.size() - filled);
        if (got < 0) {
          const int code = zip_error_code_zip(zip_file_get_error(file_.get()));
          error_ = {code == ZIP_ER_CRC ? errc::checksum : errc::bad_value, position()};
        } else if (got == 0) {
          if (done_ != archive_->members_[next_ - 1].size) error_ = {errc::bad_size, position()};
          file_.reset();
        } else {
          filled += static_cast<std::size_t>(got);
          done_ += static_cast<std::uint64_t>(got);
          if (done_ > archive_->members_[next_ - 1].size) error_ = {errc::bad_size, position()};
        }
      }
      return {filled, error_};
    }

   private:
    [[nodiscard]] std::uint64_t position() const noexcept { return archive_->members_[next_ - 1].offset + done_; }
    [[nodiscard]] bool open_next() {
      if (next_ >= end_) return false;
      file_.reset(zip_fopen_index(archive_->handle_.get(), next_, 0));
      ++next_;
      done_ = 0;
      if (file_ == nullptr) error_ = {errc::bad_value, position()};
      return file_ != nullptr;
    }
    struct closer {
      void operator()(zip_file_t* file) const { zip_fclose(file); }
    };

    const zip_archive* archive_;
    std::size_t next_, end_;
    std::unique_ptr<zip_file_t, closer> file_;
    std::uint64_t done_ = 0;
    trace_error error_;
  };

  /// The members from `first` on, joined. Precondition: first <= members().size().
  [[nodiscard]] reader read_from(std::size_t first, std::size_t count = ~std::size_t{0}) const {
    return {*this, first, count};
  }

 private:
  struct closer {
    void operator()(zip_t* archive) const { zip_discard(archive); }
  };
  std::unique_ptr<zip_t, closer> handle_;
  std::vector<zip_member> members_;
};

/// Unfolds all members of a zip archive, joined in the order of the archive, piece by piece. Needs libzip. The bytes
/// must outlive it.
class zip_reader {
 public:
  [[nodiscard]] static constexpr bool reads(container kind) noexcept { return kind == container::zip; }
  explicit zip_reader(byte_view packed, expansion_limit limit = {}) {
    result<zip_archive> opened = zip_archive::open(packed, limit);
    error_ = opened.error();
    if (!opened) return;
    archive_ = std::make_unique<zip_archive>(std::move(opened).value());
    members_.emplace(archive_->read_from(0));
  }

  /// Fills `out` as far as there is data; gives the number of bytes, less than out.size() only at the end or before an
  /// error. Errors: those of zip_archive::open and of its reader.
  [[nodiscard]] result<std::size_t> read(std::span<std::byte> out) {
    if (error_) return {std::size_t{0}, error_};
    return members_->read(out);
  }

 private:
  std::unique_ptr<zip_archive> archive_;  // Stays where it is when this is moved.
  std::optional<zip_archive::reader> members_;
  trace_error error_;
};

}  // namespace backsight::io
