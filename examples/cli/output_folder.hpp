// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include <backsight/core/bytes.hpp>

#include "temporary_path.hpp"

namespace cli {

/// A folder of files to write. They are written into a temporary folder, inside the folder or, when it is new, beside
/// its place, and moved to their names by close(); nothing of them stays when it is not closed or something cannot be
/// written.
class output_folder {
 public:
  /// Throws `ended`, after saying why: usage when there is something other than an empty folder already and `force` is
  /// not set, bad_input when the folder cannot be made.
  output_folder(const std::string& path, bool force);
  output_folder(const output_folder&) = delete;
  output_folder& operator=(const output_folder&) = delete;
  ~output_folder();

  /// Writes the file `name`, which may have folders before it; no name comes twice. Reports an error and gives
  /// bad_input.
  int write(const std::string& name, backsight::byte_view bytes);
  /// A file of that name was written.
  [[nodiscard]] bool has(const std::string& name) const { return names_.contains(name); }

  /// Moves all files to their places; `code` when that went well. With `code` usage, after a failed write and when
  /// nothing was written, all is left as it was. Files that were there are replaced when that is forced, but never an
  /// input: usage.
  [[nodiscard]] int close(int code);

 private:
  struct part {
    std::string name;
    temporary_path temporary;
  };
  [[nodiscard]] bool make_folders(const std::string& base, const std::string& name, std::vector<part>& made) const;
  [[nodiscard]] int move_files();
  int fail(const std::string& path) const;

  std::string path_;    ///< As the user gave it.
  std::string target_;  ///< Behind symbolic links.
  bool existed_ = false, force_ = false, failed_ = false;
  std::vector<part> parents_;  ///< Folders that were made on the way to a new one.
  temporary_path temporary_;
  std::vector<part> folders_, files_;
  std::unordered_set<std::string> names_;
};

}  // namespace cli
