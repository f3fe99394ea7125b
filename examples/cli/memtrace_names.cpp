// SPDX-License-Identifier: Apache-2.0
#include "memtrace_names.hpp"

#include <cinttypes>
#include <filesystem>

#include <backsight/elf/symbols.hpp>

#include "memtrace_input.hpp"

namespace cli::memtrace {

using namespace backsight;
namespace fs = std::filesystem;

struct code_names::symbol_file {
  input file;
  elf::symbol_index symbols;
};

namespace {

/// The module table of the recording that the trace is of: in its folder, or in the folder raw beside or above it.
std::string modules_beside(const std::string& path) {
  std::error_code ignored;
  fs::path folder = is_directory(path) ? fs::path(path) : fs::path(path).parent_path();
  if (folder.empty()) folder = ".";
  // A window's folder lies two levels below that of the recording.
  for (const fs::path& at : {folder, folder / "..", folder / ".." / ".."}) {
    for (const char* const name : {"modules.log", "raw/modules.log"}) {
      if (fs::is_regular_file(at / name, ignored)) return (at / name).lexically_normal().string();
    }
  }
  return {};
}

std::string hexadecimal_text(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, value);
  return text;
}

}  // namespace

code_names::code_names() = default;
code_names::~code_names() = default;

int code_names::open(const arguments& asked) {
  sysroots_ = asked.sysroots;
  const std::string beside = asked.path() == "-" ? std::string() : modules_beside(asked.path());
  const std::string path = asked.modules.empty() ? beside : asked.modules;
  if (path.empty()) return success;
  log_ = std::make_unique<input>();
  if (!log_->open(path)) return bad_input;
  auto read = backsight::memtrace::read_modules(text::as_text(log_->bytes()));
  modules_ = std::move(read.partial());
  return read ? int{success} : report_error(path, read.error());
}

code_names::symbol_file* code_names::file_of(std::string_view module) {
  const auto known = files_.find(module);
  if (known != files_.end()) return known->second.get();
  auto& made = files_[std::string(module)];
  if (module.empty() || module.starts_with('[')) return nullptr;
  // A name without folders is looked for in the folders that were given alone.
  std::vector<fs::path> places;
  const fs::path recorded(module);
  for (const std::string& root : sysroots_) {
    places.push_back(fs::path(root) / recorded.relative_path());
    places.push_back(fs::path(root) / recorded.filename());
  }
  if (sysroots_.empty() && recorded.is_absolute()) places.push_back(recorded);
  for (const fs::path& place : places) {
    std::error_code ignored;
    if (!fs::is_regular_file(place, ignored)) continue;
    auto candidate = std::make_unique<symbol_file>();
    if (!candidate->file.try_open(place.string())) continue;
    const auto image = elf::open(candidate->file.bytes());
    if (!image) continue;
    candidate->symbols = elf::symbol_index(*image, elf::symbols(*image));
    made = std::move(candidate);
    break;
  }
  return made.get();
}

code_names::name code_names::find(std::uint64_t pc) {
  name made;
  const auto place = modules_.find(pc);
  if (!place) return made;
  made.module = place->path;
  made.offset = place->offset;
  const symbol_file* const file = file_of(place->path);
  if (file == nullptr) return made;
  const auto found = file->symbols.find(place->link_address);
  if (!found) return made;
  made.symbol = demangle_function(found->found.name);
  made.into = place->link_address - found->found.value;
  return made;
}

std::string code_names::text(std::uint64_t pc) {
  const name found = find(pc);
  if (!found.symbol.empty()) return found.into == 0 ? found.symbol : found.symbol + "+" + hexadecimal_text(found.into);
  if (!found.module.empty()) return fs::path(found.module).filename().string() + "+" + hexadecimal_text(found.offset);
  return hexadecimal_text(pc);
}

std::string code_names::function(std::uint64_t pc) {
  name found = find(pc);
  return found.symbol.empty() ? found.module : found.symbol;
}

}  // namespace cli::memtrace
