// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

namespace cli {

/// A file or empty folder that goes when this object goes, or when a signal or abort() ends the program, unless it is
/// kept.
class temporary_path {
 public:
  enum class kind { file, folder };

  temporary_path() = default;
  temporary_path(const temporary_path&) = delete;
  temporary_path& operator=(const temporary_path&) = delete;
  temporary_path(temporary_path&& other) noexcept;
  temporary_path& operator=(temporary_path&& other) noexcept;
  ~temporary_path() { remove(); }

  /// Makes an empty file below `folder`, of a name that nothing has; gives its descriptor, or -1 with the reason in
  /// errno.
  [[nodiscard]] int make_file(const std::string& folder);
  /// The same for a folder; false with the reason in errno.
  [[nodiscard]] bool make_folder(const std::string& folder);
  /// Makes a file or folder of this name; -1 with the reason in errno when there is one or it cannot be made. A folder
  /// gives 0.
  [[nodiscard]] int make(std::string path, kind what);
  /// Takes a name that another program will make a file of.
  void watch(std::string path);

  [[nodiscard]] const std::string& path() const;
  /// It stays, as when it was renamed to its place.
  void keep();
  void remove();

  /// Removes all that is there; safe in a signal handler.
  static void remove_all() noexcept;

 private:
  struct entry;
  static std::atomic<entry*> all_;
  entry* entry_ = nullptr;  ///< Stays in the list for the rest of the program.
};

}  // namespace cli
