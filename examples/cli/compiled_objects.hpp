// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <backsight/cfi/unwind.hpp>
#include <backsight/emit/unwinder_c/unwinder_c.hpp>

#include "sample_corpus.hpp"

namespace backsight::cli {

namespace unwinder_c = backsight::emit::unwinder_c;

/// The compiled unwinders of a corpus' objects, loaded from the folder that `cfi compile` wrote.
class compiled_objects {
 public:
  using arch = sample_corpus::arch;
  using slots = unwinder_c::slots<arch>;
  /// As emitted code declares it.
  struct context {
    std::uint64_t flags = 0;
    std::uint64_t r[slots::count] = {};
    std::uint32_t error = 0;
  };
  using deref_function = int (*)(void* memory, std::uint64_t address, std::uint64_t* value);
  using step_function = int (*)(context*, std::uint64_t bias, deref_function, void* memory);

  compiled_objects() = default;
  compiled_objects(const compiled_objects&) = delete;
  compiled_objects& operator=(const compiled_objects&) = delete;
  ~compiled_objects() {
    for (void* handle : handles_) {
      if (handle != nullptr) ::dlclose(handle);
    }
  }

  /// Loads `folder`/BUILD-ID.so for each object; `missing(path, why)` is called for those that cannot be had.
  template <class Missing>
  void load(const std::string& folder, const sample_corpus& corpus, Missing&& missing) {
    corpus_ = &corpus;
    for (const auto& object : corpus.samples.objects) {
      const std::string file =
          (folder[0] == '/' || folder[0] == '.' ? folder : "./" + folder) + "/" + object.build_id + ".so";
      void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
      void* const step = handle == nullptr ? nullptr : ::dlsym(handle, "backsight_step");
      if (step == nullptr) missing(object.path, std::string(::dlerror()));
      handles_.push_back(handle);
      steps_.push_back(reinterpret_cast<step_function>(step));
    }
  }

  /// Walks a sample as cfi::walk does.
  cfi::walk_result walk(const stack_samples::sample& sample, std::span<std::uint64_t> pcs) const {
    context c;
    c.flags = unwinder_c::flag_pc_is_next;
    for (std::size_t slot = 0; slot < slots::count; ++slot) {
      c.r[slot] = sample.registers[slots::numbers.register_of[slot]];
      c.flags |= slots::flag(slot);
    }
    snapshot_reader memory = sample_corpus::memory_of(sample);
    const auto& space = corpus_->spaces[sample.map_set];
    std::size_t count = 0;
    while (count < pcs.size()) {
      pcs[count++] = c.r[0];
      const cfi::mapped_object* const object =
          space.find(c.r[0] - ((c.flags & unwinder_c::flag_pc_is_next) != 0 ? 0U : 1U));
      const step_function step = object == nullptr ? nullptr : steps_[object->id];
      if (step == nullptr) return {count, cfi::stop::no_object};
      if (const int why = step(&c, object->bias, deref, &memory); why != 0) return {count, static_cast<cfi::stop>(why)};
    }
    return {count, cfi::stop::limit};
  }

 private:
  static int deref(void* memory, std::uint64_t address, std::uint64_t* value) {
    const auto found = (*static_cast<const snapshot_reader*>(memory))(address);
    if (!found) return 0;
    *value = *found;
    return 1;
  }
  const sample_corpus* corpus_ = nullptr;
  std::vector<void*> handles_;
  std::vector<step_function> steps_;
};

}  // namespace backsight::cli
