// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <backsight/cfi/frame.hpp>
#include <backsight/cfi/frame_sections.hpp>
#include <backsight/cfi/interpreter.hpp>
#include <backsight/cfi/table_builder.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/emit/unwinder_c/unwinder_c.hpp>

namespace compiled {

namespace cfi = backsight::cfi;
namespace unwinder_c = backsight::emit::unwinder_c;

/// The context of emitted code, as its text declares it.
template <class Arch>
struct context {
  std::uint64_t flags;
  std::uint64_t r[unwinder_c::slots<Arch>::count];
  std::uint32_t error;
};
using deref_function = int (*)(void*, std::uint64_t, std::uint64_t*);

/// A folder that is removed at the end.
struct scratch {
  std::filesystem::path path;
  scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "backsight-c-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

inline const char* const warnings = " -Wall -Wextra -Wconversion -pedantic -Werror ";

/// The compiler is there.
inline bool have(const std::string& compiler) {
  return std::system(("command -v " + compiler + " >/dev/null 2>&1").c_str()) == 0;
}

/// The text of a table as C.
template <class Arch>
std::string source_of(const cfi::table_view& table, const unwinder_c::options& options) {
  std::string text;
  (void)unwinder_c::write<Arch>(std::back_inserter(text), table, options);
  return text;
}

/// A shared object made of C text, loaded.
class object {
 public:
  object(const std::filesystem::path& folder, const std::string& text, const std::string& command) {
    static int number = 0;
    const std::string stem = (folder / ("o" + std::to_string(number++))).string();
    std::ofstream(stem + ".c") << text;
    compiles_ = std::system((command + warnings + "-fPIC -shared -o " + stem + ".so " + stem + ".c").c_str()) == 0;
    if (compiles_) handle_ = ::dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  object(const object&) = delete;
  object& operator=(const object&) = delete;
  ~object() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  [[nodiscard]] bool compiles() const { return compiles_; }
  [[nodiscard]] void* step() const { return handle_ == nullptr ? nullptr : ::dlsym(handle_, "backsight_step"); }

 private:
  bool compiles_ = false;
  void* handle_ = nullptr;
};

/// Memory that answers every address with a fixed number for it, or not at all for one in 16.
struct hashed_memory {
  std::uint64_t seed = 0;
  unsigned width = 8;
  bool gaps = false;
  [[nodiscard]] std::optional<std::uint64_t> operator()(std::uint64_t address) const {
    std::uint64_t h = (address ^ seed) * 0x9e3779b97f4a7c15U;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9U;
    h ^= h >> 32;
    if (gaps && (h & 15U) == 0) return std::nullopt;
    return width == 4 ? h & 0xffffffffU : h;
  }
  static int deref(void* memory, std::uint64_t address, std::uint64_t* value) {
    const auto found = (*static_cast<const hashed_memory*>(memory))(address);
    if (found) *value = *found;
    return found ? 1 : 0;
  }
};

/// Real memory in the low half of addresses, full of addresses of its own middle, for plain loads.
class arena {
 public:
  static constexpr std::size_t size = std::size_t{64} << 20;
  arena() {
    void* const at =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT | MAP_NORESERVE, -1, 0);
    base_ = reinterpret_cast<std::uintptr_t>(at);
    std::mt19937_64 random(3);
    // Words of four bytes each: a word of eight is then far outside, and is not read through.
    for (std::size_t i = 0; i < size; i += 8) {
      const std::uint64_t value = middle(random());
      std::memcpy(reinterpret_cast<void*>(base_ + i), &value, 8);
    }
  }
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;
  ~arena() { ::munmap(reinterpret_cast<void*>(base_), size); }
  [[nodiscard]] std::uint64_t middle(std::uint64_t random) const {
    return base_ + size / 4 + random % (size / 2) / 16 * 16;
  }
  [[nodiscard]] bool holds(std::uint64_t address) const { return address >= base_ && address + 8 <= base_ + size; }

 private:
  std::uintptr_t base_ = 0;
};
struct arena_memory {
  const arena* from;
  unsigned width;
  bool* outside;
  [[nodiscard]] std::optional<std::uint64_t> operator()(std::uint64_t address) const { return (*this)(address, width); }
  [[nodiscard]] std::optional<std::uint64_t> operator()(std::uint64_t address, unsigned bytes) const {
    if (!from->holds(address)) {
      *outside = true;
      return std::nullopt;
    }
    std::uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address)), bytes);
    return value;
  }
};

/// The emitted code and the frame agree on what the caller is.
template <class Arch, class Memory>
bool same(const context<Arch>& c, const cfi::frame<Arch>& f, Memory& memory, std::uint64_t kept) {
  using slots = unwinder_c::slots<Arch>;
  if (c.r[0] != f.pc || ((c.flags & unwinder_c::flag_pc_is_next) != 0) != f.pc_is_next || (c.flags & 1) == 0)
    return false;
  for (std::size_t slot = 1; slot < slots::count; ++slot) {
    if ((kept >> slot & 1U) == 0) continue;
    const auto value = f.get(slots::numbers.register_of[slot], memory);
    const bool known = (c.flags & slots::flag(slot)) != 0;
    if (known != value.has_value() || (known && *value != c.r[slot])) return false;
  }
  return true;
}

/// What was compared, and how much of it differed.
struct tally {
  std::uint64_t rows = 0;
  std::uint64_t comparisons = 0;
  std::uint64_t differences = 0;
  std::uint64_t passed_over = 0;  ///< Plain loads that would leave the arena.
};

/// Applies every merged row of a section by the interpreter and by emitted code, at its first and its last byte, with
/// random registers and memory, and compares all that the code is to recover.
template <class Arch, backsight::order O>
tally compare_rows(const cfi::section<O>& section, void* step, bool deref, std::uint64_t kept, const arena* real) {
  using slots = unwinder_c::slots<Arch>;
  using with_deref = int (*)(context<Arch>*, std::uint64_t, deref_function, void*);
  using plain = int (*)(context<Arch>*, std::uint64_t);
  tally t;
  std::mt19937_64 random(7);
  const auto scratch_context = std::make_unique<cfi::context<>>();
  cfi::row_machine<Arch, O> machine(section, *scratch_context);
  cfi::row before;
  constexpr std::uint64_t mask = Arch::address_size == 4 ? 0xffffffffU : ~std::uint64_t{0};
  for (const cfi::entry& e : section.entries()) {
    if (e.is_cie || e.error != backsight::errc::ok || machine.load_cie(e.cie_offset)) continue;
    const auto f = section.parse_fde(e, machine.current_cie());
    if (!f || f->begin >= f->end || (f->begin == 0 && !section.info().code_at_zero)) continue;
    machine.begin(*f);
    bool first = true;
    std::vector<cfi::row> rows;
    while (machine.next()) {
      const cfi::row& row = machine.current();
      if (row.end <= row.begin || row.begin < f->begin || row.begin >= f->end) continue;
      if (!first && cfi::same_rules(section.bytes(), before, row)) {
        rows.back().end = row.end;
        continue;
      }
      before = row;
      first = false;
      rows.push_back(row);
    }
    if (machine.error()) continue;
    const cfi::cie& c = machine.current_cie();
    for (const cfi::row& row : rows) {
      ++t.rows;
      const std::uint64_t last = std::min(row.end, f->end) - 1;
      for (const std::uint64_t at : {row.begin, last}) {
        cfi::frame<Arch> frame;
        context<Arch> now{};
        const std::uint64_t bias = random() % 4096 * 4096 & mask;
        const bool pc_is_next = (random() & 1U) != 0;
        frame.pc = (at + bias + (pc_is_next ? 0 : 1)) & mask;
        frame.pc_is_next = pc_is_next;
        now.r[0] = frame.pc;
        now.flags = 1 | (pc_is_next ? unwinder_c::flag_pc_is_next : 0);
        if constexpr (Arch::return_address_is_pc) frame.value[Arch::return_address] = frame.pc;
        for (std::size_t slot = 1; slot < slots::count; ++slot) {
          const std::uint64_t value = (real != nullptr ? real->middle(random()) : random()) & mask;
          frame.value[slots::numbers.register_of[slot]] = value;
          now.r[slot] = value;
          now.flags |= slots::flag(slot);
        }
        const auto start = now;
        const auto compare = [&](auto& memory, bool& outside, auto&& call) {
          cfi::frame<Arch> caller = frame;
          const cfi::stop why =
              cfi::apply<Arch, O>(caller, row, c.return_address_register, c.signal_frame, section.bytes(), memory);
          // What plain loads would read must be there before they do.
          if (why == cfi::stop::none) {
            for (std::size_t slot = 1; slot < slots::count; ++slot)
              (void)caller.get(slots::numbers.register_of[slot], memory);
          }
          if (outside) {
            ++t.passed_over;
            return;
          }
          ++t.comparisons;
          const int got = call();
          bool equal = got == static_cast<int>(why);
          if (equal && got == 0) equal = same<Arch>(now, caller, memory, kept);
          if (equal && got != 0)
            equal = std::memcmp(now.r, start.r, sizeof now.r) == 0 && now.error == static_cast<unsigned>(got);
          if (!equal && ++t.differences <= 5) {
            std::fprintf(stderr, "row %llx at %llx: emitted code says %d, the interpreter %d\n",
                         static_cast<unsigned long long>(row.begin), static_cast<unsigned long long>(at), got,
                         static_cast<int>(why));
          }
        };
        bool outside = false;
        if (deref) {
          hashed_memory memory{random(), Arch::address_size, (random() & 3U) == 0};
          compare(memory, outside,
                  [&] { return reinterpret_cast<with_deref>(step)(&now, bias, hashed_memory::deref, &memory); });
        } else {
          arena_memory memory{real, Arch::address_size, &outside};
          compare(memory, outside, [&] { return reinterpret_cast<plain>(step)(&now, bias); });
        }
      }
    }
  }
  return t;
}

/// The slots that a table's code recovers with these options, as bits.
template <class Arch>
std::uint64_t kept_slots(const cfi::table_view& table, unwinder_c::registers registers) {
  const unwinder_c::detail::c_rows<Arch> rows(table, registers);
  std::uint64_t kept = 0;
  for (std::size_t slot = 0; slot < unwinder_c::slots<Arch>::count; ++slot)
    kept |= rows.keeps(slot) ? std::uint64_t{1} << slot : 0;
  return kept;
}

}  // namespace compiled
