// SPDX-License-Identifier: Apache-2.0
// Proves emitted C on whole files: check_unwinder_c [--compiler CC] [--rows N] ELF... compiles each form and compares
// every merged row with the interpreter. Tree and switch are left out for files of more than N rows.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <backsight/cfi/arch/generic.hpp>
#include <backsight/elf/sections.hpp>
#include <backsight/emit/unwinder_c/unwinder_c.hpp>
#include <backsight/io/mapped_file.hpp>

#include "compiled.hpp"

namespace {

namespace bs = backsight;
namespace cfi = backsight::cfi;
namespace unwinder_c = backsight::emit::unwinder_c;

std::string compiler = "gcc -std=c11 -O1";
std::uint64_t most_rows = 80000;
compiled::tally all;

template <class Arch>
bool check(const std::string& path, const cfi::section<bs::order::little>& section, const std::filesystem::path& folder,
           const compiled::arena& real) {
  bool good = true;
  for (const auto registers : {unwinder_c::registers::return_address, unwinder_c::registers::all}) {
    const auto profile =
        registers == unwinder_c::registers::all ? cfi::table_profile::all : cfi::table_profile::callee_saved;
    const auto table = cfi::build_table<Arch>(section, {profile, {}});
    if (!table) {
      std::printf("%s: no table: %s\n", path.c_str(), bs::message(table.error().code));
      return false;
    }
    std::uint64_t rows = 0;  // Without gaps.
    table->view().for_each_row(
        [&](std::uint64_t, std::uint32_t rule) { rows += rule != cfi::table_view::no_rule ? 1U : 0U; });
    const std::uint64_t kept = compiled::kept_slots<Arch>(table->view(), registers);
    for (const auto form : {unwinder_c::form::table, unwinder_c::form::tree, unwinder_c::form::switch_}) {
      if (form != unwinder_c::form::table && (rows > most_rows || registers == unwinder_c::registers::all)) continue;
      for (const bool deref : {true, false}) {
        const auto text = compiled::source_of<Arch>(table->view(), {form, registers, "backsight", deref, 0, {}});
        const auto before = std::chrono::steady_clock::now();
        const compiled::object object(folder, text, compiler);
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - before;
        if (object.step() == nullptr) {
          std::printf("%s: does not compile\n", path.c_str());
          good = false;
          continue;
        }
        const auto t = compiled::compare_rows<Arch>(section, object.step(), deref, kept, deref ? nullptr : &real);
        constexpr const char* forms[] = {"table", "tree", "switch"};
        std::printf(
            "%s %s %s %s: %llu rows, %llu comparisons, %llu passed over, %llu differences, compiled in %.2f s\n",
            path.c_str(), forms[static_cast<int>(form)], registers == unwinder_c::registers::all ? "all" : "ra",
            deref ? "deref" : "plain", static_cast<unsigned long long>(t.rows),
            static_cast<unsigned long long>(t.comparisons), static_cast<unsigned long long>(t.passed_over),
            static_cast<unsigned long long>(t.differences), taken.count());
        std::fflush(stdout);
        all.rows += t.rows;
        all.comparisons += t.comparisons;
        all.differences += t.differences;
        all.passed_over += t.passed_over;
      }
    }
  }
  return good;
}

}  // namespace

int main(int count, char** words) {
  bool good = true;
  const compiled::scratch folder;
  const compiled::arena real;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--compiler" && i + 1 < count) {
      compiler = words[++i];
      continue;
    }
    if (word == "--rows" && i + 1 < count) {
      most_rows = std::strtoull(words[++i], nullptr, 10);
      continue;
    }
    const auto file = bs::io::mapped_file::open(word.c_str());
    const auto image = file ? bs::elf::open(file->bytes()) : bs::result<bs::elf::image>(bs::errc::io, 0);
    if (!image) {
      std::printf("%s: %s\n", word.c_str(), bs::message(image.error().code));
      good = false;
      continue;
    }
    for (const auto kind : {cfi::section_kind::eh_frame, cfi::section_kind::debug_frame}) {
      const auto found = cfi::find_frame_section(*image, kind);
      if (!found || image->byte_order() != bs::order::little) continue;
      const cfi::section<bs::order::little> section(found->bytes, found->info);
      cfi::with_arch(image->machine(), [&](auto arch) {
        using machine = decltype(arch);
        if constexpr (requires { machine::saved; }) good = check<machine>(word, section, folder.path, real) && good;
      });
    }
  }
  std::printf("together: %llu rows, %llu comparisons, %llu passed over, %llu differences\n",
              static_cast<unsigned long long>(all.rows), static_cast<unsigned long long>(all.comparisons),
              static_cast<unsigned long long>(all.passed_over), static_cast<unsigned long long>(all.differences));
  return good && all.differences == 0 && all.rows != 0 ? 0 : 1;
}
