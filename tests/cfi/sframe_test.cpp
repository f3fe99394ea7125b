// SPDX-License-Identifier: Apache-2.0
// Stands for cfi/sframe/defect.hpp, cfi/sframe/interval.hpp, cfi/sframe/row.hpp, cfi/sframe/rows.hpp
// Stands for cfi/sframe/section.hpp
#include <backsight/cfi/sframe/rows.hpp>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <backsight/cfi/arch/aarch64.hpp>
#include <backsight/cfi/arch/x86_64.hpp>
#include <backsight/elf/relocate.hpp>
#include <backsight/io/mapped_file.hpp>

#include <support/catch.hpp>

#include "fixtures.hpp"

using namespace backsight;
namespace sframe = cfi::sframe;

namespace {

/// The .sframe of a file, with its relocations applied.
struct sframe_file {
  std::vector<std::byte> bytes;
  std::uint64_t address = 0;
  bool object = false;

  explicit sframe_file(const std::string& path) {
    const auto file = io::mapped_file::open(path.c_str());
    REQUIRE(file);
    const auto image = elf::open(file->bytes());
    REQUIRE(image);
    const auto found = image->find_section(".sframe");
    REQUIRE(found);
    const auto all = image->section_bytes(*found);
    REQUIRE(all);
    bytes.assign(all->begin(), all->end());
    address = found->address;
    object = image->type() == 1;
    if (object) REQUIRE(elf::relocate(*image, *found, bytes));
  }
  [[nodiscard]] sframe::section::opened open() const { return sframe::section::open(bytes, address, object); }
};

std::string text_of(const sframe::place& p, bool of_cfa = false) {
  using enum sframe::place::kind;
  char text[64] = "u";
  const auto offset = static_cast<long long>(p.offset);
  switch (p.how) {
    case unchanged: break;
    case undefined: return "U";
    case at_cfa: std::snprintf(text, sizeof text, "c%+lld", offset); break;
    case is_cfa: std::snprintf(text, sizeof text, "c=%lld", offset); break;
    case at_register: std::snprintf(text, sizeof text, "*(r%u%+lld)", p.reg, offset); break;
    case is_register:
      if (offset == 0 && !of_cfa) std::snprintf(text, sizeof text, "r%u", p.reg);
      else std::snprintf(text, sizeof text, "r%u%+lld", p.reg, offset);
      break;
    case expression:
    case at_expression: break;
  }
  return text;
}

/// A section in the plain form of the expected rows. Functions that overlap are shown, as there.
std::vector<std::string> plain_form(const sframe_file& file) {
  std::vector<std::string> lines;
  const auto line = [&](const char* format, auto... values) {
    char text[256];
    std::snprintf(text, sizeof text, format, values...);
    lines.emplace_back(text);
  };
  const auto opened = file.open();
  if (!opened) {
    line("error section at 0x%" PRIx64 ": %s", opened.bad.offset, sframe::name_of(opened.bad.what));
    return lines;
  }
  const sframe::section& s = opened.section;
  line("version %u flags 0x%x abi %u fixed-fp %d fixed-ra %d fdes %u fres %u fre-bytes %u", s.version(),
       unsigned{s.flags()}, static_cast<unsigned>(s.machine()), s.fixed_frame_pointer(), s.fixed_return_address(),
       s.function_count(), s.row_count(), s.row_bytes());
  std::map<std::uint32_t, sframe::problem> problems;
  s.check([&](const sframe::problem& p, std::uint32_t index) { problems[index] = p; });
  for (std::uint32_t i = 0; i < s.function_count(); ++i) {
    if (problems.contains(i) && problems[i].what != sframe::defect::functions_overlap) continue;
    sframe::problem none;
    const sframe::function f = s.function_at(i, none);
    const std::string repeat = f.repeat != 0 ? " repeat " + std::to_string(f.repeat) : "";
    line("fde %u start 0x%" PRIx64 " size 0x%x%s%s%s%s start-bytes %u", i, f.begin, f.size, repeat.c_str(),
         f.signal_frame ? " signal" : "", f.flexible ? " flex" : "", f.key_b ? " b-key" : "", unsigned{f.start_bytes});
    (void)s.for_each_row(f, [&](const sframe::sframe_row& r) {
      if (r.outermost) return line("  0x%x outermost", r.start);
      line("  0x%x %s ra=%s fp=%s%s", r.start, text_of(r.cfa, true).c_str(), text_of(r.return_address).c_str(),
           text_of(r.frame_pointer).c_str(), r.return_address_signed ? " signed" : "");
    });
  }
  for (const auto& [index, p] : problems) {
    line("error %s at 0x%" PRIx64 ": %s", sframe::refuses_function(p.what) ? "fde" : "note", p.offset,
         sframe::name_of(p.what));
  }
  return lines;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// A folder as the corpus has them: elf/ with expected/, and synth/.
void compare_folder(const std::string& folder, std::size_t& good, std::size_t& broken) {
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/elf")) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    const sframe_file file(entry.path().string());
    auto expected = lines_of(folder + "/expected/" + name + ".rows");
    auto found = plain_form(file);
    // The functions of an object's sections all begin at 0 and do not overlap for that; the expected rows say they do.
    if (file.object) {
      const auto is_error = [](const std::string& line) { return line.starts_with("error"); };
      std::erase_if(expected, is_error);
      std::erase_if(found, is_error);
    }
    CHECK(found == expected);
    ++good;
  }
  std::map<std::string, std::vector<std::string>> rows;
  std::string in;
  for (const std::string& line : lines_of(folder + "/synth/expected.rows")) {
    if (line.starts_with("== ")) in = line.substr(3);
    else if (!line.empty()) rows[in].push_back(line);
  }
  for (const std::string& line : lines_of(folder + "/synth/INDEX.tsv")) {
    std::vector<std::string> fields;
    std::istringstream words(line);
    for (std::string field; std::getline(words, field, '\t');) fields.push_back(field);
    if (fields.size() < 2 || fields[0] == "file") continue;
    CAPTURE(fields[0]);
    const auto found = plain_form(sframe_file(folder + "/synth/" + fields[0]));
    if (fields[1] == "ok") {
      CHECK(found == rows[fields[0]]);
      ++good;
      continue;
    }
    std::set<std::string> expected, told;
    std::istringstream errors(fields[5]);
    for (std::string one; errors >> one;) expected.insert(one);
    for (const std::string& one : found) {
      if (!one.starts_with("error ")) continue;
      std::istringstream parts(one);
      std::string error, scope, at, offset, kind;
      parts >> error >> scope >> at >> offset >> kind;
      told.insert(scope + '@' + offset + kind);
    }
    CHECK(told == expected);
    ++broken;
  }
}

/// The table of a section says at each address what the section's rows say.
template <class Arch>
void check_table(const sframe::section& s, std::size_t& compared) {
  const auto made = sframe::build_table<Arch>(s, {}, [](const sframe::problem&) {});
  REQUIRE(made);
  CHECK_FALSE(cfi::table_view::open(made->bytes()).error());
  std::size_t wrong = 0;
  sframe::for_each_row(
      s,
      [&](const cfi::row& r, const sframe::function& of, byte_view) {
        for (const std::uint64_t address : {r.begin, r.end - 1}) {
          ++compared;
          const cfi::any_rule rule = made->view().find(address);
          if (!rule || rule[cfi::unwind_rule::signal_frame] != of.signal_frame) {
            ++wrong;
            continue;
          }
          if (rule[cfi::unwind_rule::shape] != cfi::rule_shape::common) continue;
          const auto* ra = r.rules.find(Arch::return_address);
          const std::int64_t word = rule[cfi::unwind_rule::return_address_word];
          wrong += rule[cfi::unwind_rule::cfa_register] != r.cfa.reg ||
                           rule[cfi::unwind_rule::cfa_offset] != r.cfa.offset ||
                           word * 8 != (ra == nullptr ? 0 : ra->value)
                       ? 1U
                       : 0U;
        }
      },
      [](const sframe::problem&) {});
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("SFrame sections of all versions have the rows that are expected, and broken ones the errors") {
  std::size_t good = 0, broken = 0;
  compare_folder(test::data_path("cfi/sframe"), good, broken);
  CHECK(good >= 40);
  CHECK(broken >= 60);
}

TEST_CASE("every SFrame file of the corpus has the rows that are expected") {
  const char* const corpus = std::getenv("BACKSIGHT_CORPUS");
  if (corpus == nullptr || !std::filesystem::exists(std::string(corpus) + "/sframe")) {
    std::puts("BACKSIGHT_CORPUS is not set or has no sframe: not compared");
    return;
  }
  std::size_t good = 0, broken = 0;
  compare_folder(std::string(corpus) + "/sframe", good, broken);
  CHECK(good > 100);
  CHECK(broken > 60);
}

TEST_CASE("tables are built from SFrame sections") {
  std::size_t compared = 0;
  for (const char* const folder : {"cfi/sframe/elf", "cfi/sframe/synth"}) {
    for (const auto& entry : std::filesystem::directory_iterator(test::data_path(folder))) {
      if (entry.path().filename() == "INDEX.tsv" || entry.path().filename() == "expected.rows") continue;
      CAPTURE(entry.path().filename().string());
      const sframe_file file(entry.path().string());
      const auto opened = file.open();
      if (!opened || file.object) continue;
      if (opened.section.machine() == sframe::abi::x86_64) check_table<cfi::arch::x86_64>(opened.section, compared);
      else if (opened.section.machine() == sframe::abi::aarch64_little)
        check_table<cfi::arch::aarch64>(opened.section, compared);
      else CHECK_FALSE(sframe::build_table<cfi::arch::x86_64>(opened.section, {}, [](const sframe::problem&) {}));
    }
  }
  CHECK(compared > 200);
}

TEST_CASE("an SFrame section that is cut anywhere or changed anywhere ends cleanly") {
  for (const char* const name : {"basic-x86_64.v1", "basic-x86_64.v2", "basic-x86_64.v3", "basic-aarch64.v3"}) {
    const sframe_file file(test::data_path(std::string("cfi/sframe/elf/") + name));
    std::size_t rows = 0, refused = 0;
    const auto read = [&](byte_view bytes) {
      const auto opened = sframe::section::open(bytes, file.address);
      if (!opened) return void(++refused);
      sframe::for_each_row(
          opened.section, [&](const cfi::row&, const sframe::function&, byte_view) { ++rows; },
          [&](const sframe::problem& p) { CHECK(p.offset <= bytes.size()); });
    };
    for (std::size_t size = 0; size < file.bytes.size(); ++size) {
      const std::vector<std::byte> cut(file.bytes.begin(), file.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      read(cut);
    }
    CHECK(refused > 28);
    for (std::size_t i = 0; i < file.bytes.size(); ++i) {
      for (const unsigned flip : {0x01U, 0x10U, 0x80U, 0xffU}) {
        auto changed = file.bytes;
        changed[i] ^= static_cast<std::byte>(flip);
        read(changed);
      }
    }
    CHECK(rows > 100);
  }
}

TEST_CASE("an SFrame function whose rows repeat without measure is left out") {
  // plt0 of 16 bytes, and a function of 0xffffffff bytes whose rows repeat every 16.
  sframe_file file(test::data_path("cfi/sframe/elf/plt-got-x86_64.v2"));
  const auto before = file.open();
  REQUIRE(before);
  sframe::problem none;
  std::size_t repeats = 0;
  for (std::uint32_t i = 0; i < before.section.function_count(); ++i) {
    const sframe::function f = before.section.function_at(i, none);
    if (f.repeat == 0 || i + 1 == before.section.function_count()) continue;
    repeats = f.entry_offset;
  }
  REQUIRE(repeats != 0);
  store<order::little>(file.bytes.data() + repeats + 4, std::uint32_t{0xffffffff});
  std::vector<sframe::defect> told;
  std::size_t rows = 0;
  sframe::for_each_row(
      file.open().section, [&](const cfi::row&, const sframe::function&, byte_view) { ++rows; },
      [&](const sframe::problem& p) { told.push_back(p.what); });
  CHECK(rows < 100);
  CHECK(std::find(told.begin(), told.end(), sframe::defect::rep_count) != told.end());
  CHECK(sframe::code_of(sframe::defect::rep_count) == errc::expansion);
}

TEST_CASE("every defect of SFrame has a name and an error of its own kind") {
  std::set<std::string> names;
  for (std::size_t i = 0; i < sframe::defect_count; ++i) {
    const auto what = static_cast<sframe::defect>(i);
    names.insert(sframe::name_of(what));
    CHECK((sframe::code_of(what) == errc::ok) == (i == 0));
    CHECK_FALSE((sframe::refuses_section(what) && sframe::refuses_function(what)));
  }
  CHECK(names.size() == sframe::defect_count);
}
