// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <backsight/cfi/address_space.hpp>
#include <backsight/cfi/in_process.hpp>
#include <backsight/cfi/published.hpp>
#include <backsight/cfi/table_builder.hpp>
#include <backsight/core/error.hpp>
#include <backsight/io/mapped_file.hpp>

#include "backsight_unwind.h"

namespace bsu {

namespace bs = backsight;
namespace cfi = backsight::cfi;
using arch = cfi::native_arch;

/// A table, in memory of its own, of a file or of the caller.
struct table_data {
  cfi::table built;
  bs::io::mapped_file file;
  cfi::table_view view;
};
using shared_table = std::shared_ptr<const table_data>;

[[nodiscard]] inline shared_table share(cfi::table built) {
  auto made = std::make_shared<table_data>();
  made->built = std::move(built);
  made->view = made->built.view();
  return made;
}

/// Who added a module, so that he can replace it.
enum class origin : std::uint8_t { caller, own, frame, gdb, file };

struct code_module {
  std::uint64_t begin = 0, end = 0, bias = 0;
  shared_table table;  // Null: code without call frame information.
  bsu::origin origin = bsu::origin::caller;
  std::uint64_t key = 0;                          // Of the origin.
  std::uint64_t print = 0;                        // What the origin tells it by.
  std::shared_ptr<const std::string> from, name;  // The file that told of it, and what it calls it.
};

/// The modules at one moment: what readers see.
struct state {
  std::vector<code_module> modules;  // Ascending.
  cfi::address_space<arch> space;
};

/// The error for one of the library.
[[nodiscard]] int error_of(bs::errc code) noexcept;

/// Replaces the state by one with other modules, as `change(modules)` leaves them; what it gives but 0 changes nothing.
/// Modules that overlap others are an error.
[[nodiscard]] int publish(bsu_process& process, std::vector<code_module> modules);

}  // namespace bsu

struct bsu_table {
  bsu::shared_table data;
};

struct bsu_process {
  std::mutex writers;
  backsight::cfi::published<bsu::state> state;
};

namespace bsu {

/// Runs what may throw, which is running out of memory, and gives its code.
template <class F>
[[nodiscard]] int guarded(F&& f) noexcept {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return BSU_NO_MEMORY;
  } catch (...) {
    return BSU_SYSTEM;
  }
}

/// Changes the modules of a process: `change(modules)` gives 0, or an error, which changes nothing.
template <class F>
[[nodiscard]] int change(bsu_process* process, F&& f) noexcept {
  if (process == nullptr) return BSU_BAD_ARGUMENT;
  return guarded([&] {
    const std::lock_guard lock(process->writers);
    std::vector<code_module> modules = process->state.latest().modules;
    if (const int code = f(modules); code != BSU_OK) return code;
    return publish(*process, std::move(modules));
  });
}

}  // namespace bsu
