// SPDX-License-Identifier: Apache-2.0
// The bytes are an .eh_frame: every section that a table can be built from gives C that compiles, and the compiled code
// takes each row as the table does. Compilers are slow, so inputs are collected and compiled as one file: state and
// scratch files are what this target cannot do without. BACKSIGHT_FUZZ_BATCH is the number of inputs in a file.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <backsight/cfi/arch/x86_64.hpp>
#include <backsight/cfi/unwind.hpp>
#include <backsight/emit/unwinder_c/unwinder_c.hpp>

using namespace backsight;
namespace unwinder_c = backsight::emit::unwinder_c;

namespace {

using arch = cfi::arch::x86_64;
using slots = unwinder_c::slots<arch>;
struct context {
  std::uint64_t flags;
  std::uint64_t r[slots::count];
  std::uint32_t error;
};
using step_function = int (*)(context*, std::uint64_t, int (*)(void*, std::uint64_t, std::uint64_t*), void*);

struct hashed_memory {
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> operator()(std::uint64_t address) const {
    std::uint64_t h = (address ^ seed) * 0x9e3779b97f4a7c15U;
    h ^= h >> 31;
    if ((h & 15U) == 0) return std::nullopt;
    return h;
  }
  static int deref(void* memory, std::uint64_t address, std::uint64_t* value) {
    const auto found = (*static_cast<const hashed_memory*>(memory))(address);
    if (found) *value = *found;
    return found ? 1 : 0;
  }
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

class batch {
 public:
  batch() {
    std::string name = (std::filesystem::temp_directory_path() / "backsight-fuzz-c-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail("no folder for compiled code");
    folder_ = name;
    if (const char* const size = std::getenv("BACKSIGHT_FUZZ_BATCH")) size_ = std::strtoull(size, nullptr, 10);
    have_compiler_ = std::system("command -v gcc >/dev/null 2>&1") == 0;
    if (!have_compiler_) std::fprintf(stderr, "no gcc: the text is written and not compiled\n");
  }
  ~batch() {
    flush();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void add(cfi::table table) {
    constexpr unwinder_c::form forms[] = {unwinder_c::form::table, unwinder_c::form::tree, unwinder_c::form::switch_};
    const std::string prefix = "u" + std::to_string(tables_.size());
    const auto done = unwinder_c::write<arch>(
        std::back_inserter(text_), table.view(),
        {.form = forms[tables_.size() % 3], .registers = unwinder_c::registers::all, .prefix = prefix, .deref = true});
    if (done.error()) fail("a table is refused");
    tables_.push_back(std::move(table));
    if (tables_.size() >= size_) flush();
  }

 private:
  void flush() {
    if (!tables_.empty() && have_compiler_) {
      std::ofstream(folder_ + "/batch.c") << text_;
      if (std::system(("gcc -std=c11 -O0 -Wall -Wextra -Wconversion -pedantic -Werror -fPIC -shared -o " + folder_ +
                       "/batch.so " + folder_ + "/batch.c")
                          .c_str()) != 0) {
        fail("emitted code does not compile");
      }
      void* const handle = ::dlopen((folder_ + "/batch.so").c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle == nullptr) fail("compiled code cannot be loaded");
      for (std::size_t i = 0; i < tables_.size(); ++i) {
        compare(tables_[i].view(),
                reinterpret_cast<step_function>(::dlsym(handle, ("u" + std::to_string(i) + "_step").c_str())));
      }
      ::dlclose(handle);
    }
    tables_.clear();
    text_.clear();
  }

  static void compare(const cfi::table_view& table, step_function step) {
    if (step == nullptr) fail("compiled code has no function");
    cfi::address_space<arch> space;
    if (space.add({0, ~std::uint64_t{0}, 0, table, 0})) return;
    std::mt19937_64 random(5);
    std::vector<std::uint64_t> places{0x7f0000001000};  // Far behind most code.
    table.for_each_row([&](std::uint64_t begin, std::uint32_t) {
      places.push_back(begin);
      places.push_back(begin - 1);
    });
    for (const std::uint64_t at : places) {
      if (at == ~std::uint64_t{0}) continue;
      hashed_memory memory{random()};
      cfi::frame<arch> frame;
      context c{};
      for (std::size_t slot = 1; slot < slots::count; ++slot) {
        c.r[slot] = frame.value[slots::numbers.register_of[slot]] = random();
        c.flags |= slots::flag(slot);
      }
      c.r[0] = frame.pc = frame.value[arch::return_address] = at;
      c.flags |= 1 | unwinder_c::flag_pc_is_next;
      const cfi::stop why = cfi::step(frame, space, memory);
      const int got = step(&c, 0, hashed_memory::deref, &memory);
      if (got != static_cast<int>(why)) fail("the table and compiled code differ in why they stop");
      if (got != 0) continue;
      bool same = c.r[0] == frame.pc && ((c.flags & unwinder_c::flag_pc_is_next) != 0) == frame.pc_is_next;
      for (std::size_t slot = 1; slot < slots::count; ++slot) {
        const auto value = frame.get(slots::numbers.register_of[slot], memory);
        const bool known = (c.flags & slots::flag(slot)) != 0;
        same = same && known == value.has_value() && (!known || c.r[slot] == *value);
      }
      if (!same) fail("the table and compiled code differ in a register");
    }
  }

  std::string folder_;
  std::string text_;
  std::vector<cfi::table> tables_;
  std::size_t size_ = 64;
  bool have_compiler_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static batch all;
  const cfi::section<order::little> section(byte_view(reinterpret_cast<const std::byte*>(data), size),
                                            {.address = 0x400000});
  if (auto table = cfi::build_table<arch>(section, {cfi::table_profile::all, {}})) all.add(std::move(table.value()));
  return 0;
}
