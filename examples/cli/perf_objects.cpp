// SPDX-License-Identifier: Apache-2.0
#include "perf_objects.hpp"

#include <algorithm>
#include <cstdlib>

#include <sys/utsname.h>

#ifdef BACKSIGHT_HAVE_LZMA
#include <backsight/io/xz.hpp>
#endif

namespace cli::perf_data {

namespace perf = backsight::perf;
namespace io = backsight::io;

namespace {

std::optional<std::vector<std::byte>> unpack(backsight::byte_view packed) {
#ifdef BACKSIGHT_HAVE_LZMA
  if (auto out = io::unpack_xz(packed)) return std::move(out.value());
#else
  (void)packed;
#endif
  return std::nullopt;
}

std::vector<std::string> default_folders(std::vector<std::string> given) {
  if (given.empty()) given.emplace_back("/");
  // perf's cache belongs to this machine's files.
  const bool own = std::find(given.begin(), given.end(), "/") != given.end();
  if (const char* const home = std::getenv("HOME"); own && home != nullptr)
    given.push_back(std::string(home) + "/.debug");
  return given;
}

std::string_view text_of(backsight::byte_view bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The build id of the running kernel, from its notes.
perf::build_id running_kernel() {
  const auto notes = io::mapped_file::open_regular("/sys/kernel/notes");
  if (!notes) return {};
  backsight::byte_view rest = notes->bytes();
  while (rest.size() >= 12) {
    const auto number = [&](std::size_t at) {
      return std::size_t{backsight::load<std::uint32_t, backsight::order::little>(rest.data() + at)};
    };
    const std::size_t name = number(0), size = number(4), type = number(8);
    const std::size_t from = 12 + (name + 3) / 4 * 4;
    if (from > rest.size() || size > rest.size() - from) return {};
    if (type == 3 && name == 4 && text_of(rest.subspan(12, 3)) == "GNU")
      return perf::build_id(rest.subspan(from, size));
    const std::size_t next = from + (size + 3) / 4 * 4;
    if (next >= rest.size()) return {};
    rest = rest.subspan(next);
  }
  return {};
}

}  // namespace

objects::objects(std::vector<std::string> sysroots, mapping_source from, const perf::process_list& processes)
    : finder_(default_folders(std::move(sysroots)), from.folder,
              [](const std::string& message) { say("backsight: %s\n", message.c_str()); }),
      processes_(&processes),
      from_(std::move(from)) {
  options_.text = [](std::string_view name) { return demangle_function(name); };
  options_.unpack = unpack;
}

void objects::prepare() {
  while (slots_.size() < processes_->files().size()) slots_.emplace_back();
}

io::object_file* objects::file(std::uint32_t number) {
  slot& one = slots_[number];
  std::call_once(one.opened, [&] {
    const perf::mapped_file& wanted = processes_->files()[number];
    one.file = one.own.empty() ? finder_.find(wanted) : io::object_finder::open_bytes(wanted.name, one.own);
    if (one.file && !one.own.empty()) return;
    if (one.file) note_mapping(one.file->path, one.file->bytes);
    else if (wanted.kind == perf::file_kind::file && wanted.name.starts_with("/"))
      say("backsight: no file for %s\n", wanted.name.c_str());
  });
  return one.file.get();
}

objects::frame_parts objects::find_frames(const io::object_file& of) {
  namespace cfi = backsight::cfi;
  frame_parts found;
  const auto frames = cfi::find_frame_section(of.image, cfi::section_kind::eh_frame);
  const auto header = cfi::find_frame_header(of.image);
  const auto others = cfi::find_frame_section(of.image, cfi::section_kind::debug_frame);
  if (!frames || !header ||
      (others.error().code != backsight::errc::missing_section && !(others && others->bytes.empty())))
    return found;
  found.frames = *frames;
  found.header = *header;
  found.in_parts = true;
  return found;
}

std::optional<backsight::byte_view> objects::bytes(std::uint32_t number) {
  const io::object_file* const found = file(number);
  if (found == nullptr) return std::nullopt;
  return found->bytes;
}

std::vector<perf::jitdump::function> objects::functions_of(const std::string& dump) {
  std::vector<std::string> paths;
  for (const std::string& folder : finder_.folders()) paths.push_back(folder + dump);
  paths.push_back(finder_.beside() + dump.substr(dump.rfind('/')));
  std::vector<perf::jitdump::function> all;
  for (const std::string& path : paths) {
    input& file = dumps_.emplace_back();
    const auto opened = is_directory(path) || !file.try_open(path)
                            ? backsight::result<perf::jitdump::dump>(backsight::errc::io, 0)
                            : perf::jitdump::open(file.bytes());
    if (!opened) {
      dumps_.pop_back();
      if (opened.error().code != backsight::errc::io) (void)report_error(path, opened.error());
      continue;
    }
    with_order(opened->byte_order(), [&](auto o) {
      perf::jitdump::for_each_function<o()>(
          *opened, [&](const perf::jitdump::function& one) { all.push_back(one); },
          [&](const backsight::fault& damage) { report_fault(path, damage); });
    });
    // Ticks of the processor cannot be compared with the times of samples: all is there from the start, and what came
    // last counts.
    if (opened->times_are_ticks()) {
      for (perf::jitdump::function& one : all) one.time = 0;
    }
    return all;
  }
  say("backsight: no file for %s\n", dump.c_str());
  return all;
}

found_name objects::name_of(const perf::mapping& at, std::uint64_t address) {
  using kind = perf::file_kind;
  if (at.kind == kind::symbol) return {processes_->files()[at.file].name, address - at.begin, true};
  if (at.kind == kind::code) {
    const auto& code = slots_[at.file].code;
    return code ? found_name{code->name, address - code->begin, true} : found_name{};
  }
  if (at.kind == kind::kernel || at.kind == kind::module) return kernel_name(at, address);
  if (at.kind == kind::anonymous || at.kind == kind::special) return map_name(at, address);
  io::object_file* const found = file(at.file);
  if (found == nullptr) return {};
  slot& one = slots_[at.file];
  std::call_once(one.symbols_made,
                 [&] { one.symbols = io::read_symbols(finder_, *found, processes_->files()[at.file].name, options_); });
  const auto name = one.symbols->find(at.file_address(address));
  if (!name) return {};
  return {name->text, name->offset, true};
}

found_name objects::map_name(const perf::mapping& at, std::uint64_t address) {
  const std::string& name = processes_->files()[at.file].name;
  if (!name.starts_with("/tmp/perf-")) return {};
  slot& one = slots_[at.file];
  std::call_once(one.symbols_made, [&] {
    std::vector<std::string> paths;
    for (const std::string& folder : finder_.folders()) paths.push_back(folder + name);
    paths.push_back(finder_.beside() + name.substr(4));
    for (const std::string& path : paths) {
      if (is_directory(path) || !one.map_text.try_open(path)) continue;
      perf::for_each_map_line(text_of(one.map_text.bytes()),
                              [&](std::uint64_t begin, std::uint64_t size, std::string_view text) {
                                one.map_names.add({begin, begin + size, text, 1});
                              });
      break;
    }
    one.map_names.sort();
  });
  const perf::named_range* const range = one.map_names.find(address);
  if (range == nullptr) return {};
  return {range->name, address - range->begin, true};
}

bool objects::take_kallsyms(const std::string& path, bool packed) {
  if (is_directory(path)) return false;
  if (packed) {
    input text;
    if (!text.try_open(path)) return false;
    auto out = unpack(text.bytes());
    if (!out) return false;
    kernel_.keep(std::move(*out));
  } else if (!kernel_.open(path)) {
    return false;
  }
  // The recorded kernel may have lain elsewhere than the one that wrote the text: the function that the recorder named
  // tells.
  switch (kernel_.place(processes_->kernel_reference(), processes_->kernel_reference_address())) {
    case io::kernel_symbols::fit::good: return has_kernel_ = true;
    case io::kernel_symbols::fit::no_addresses: return false;
    case io::kernel_symbols::fit::other_kernel:
      say("backsight: %s is not of the recorded kernel; it is not used\n", path.c_str());
      return false;
  }
  return false;
}

void objects::read_kernel() {
  const perf::build_id& id = processes_->kernel_id();
  // A copy in perf's cache is a file, of which parts can be read: the kernel writes its own text anew for each reader.
  for (const std::string& root : finder_.folders()) {
    if (id.size >= 2) {
      const std::string text = id.text(), split = text.substr(0, 2) + "/" + text.substr(2);
      for (const std::string& folder :
           {root + "/.build-id/" + split, root + "/.debug/.build-id/" + split, root + "/[kernel.kallsyms]/" + text,
            root + "/.debug/[kernel.kallsyms]/" + text}) {
        if (take_kallsyms(folder + "/kallsyms", false)) return;
      }
    }
  }
  for (const std::string& root : finder_.folders()) {
    // The running kernel's text belongs to the recording only when it is the same kernel.
    if (root.empty()) {
      utsname own{};
      const bool same = id.is_known()
                            ? running_kernel() == id
                            : ::uname(&own) == 0 && from_.release == own.release && from_.hostname == own.nodename;
      if (same && take_kallsyms("/proc/kallsyms", false)) return;
    } else {
      if (take_kallsyms(root + "/kallsyms", false) || take_kallsyms(root + "/kallsyms.xz", true) ||
          take_kallsyms(root + "/proc/kallsyms", false))
        return;
    }
    if (!from_.release.empty() && take_kallsyms(root + "/boot/System.map-" + from_.release, false)) return;
  }
  say("backsight: no kallsyms for the recorded kernel %s\n", from_.release.c_str());
}

found_name objects::kernel_name(const perf::mapping& at, std::uint64_t address) {
  const std::lock_guard lock(kernel_mutex_);
  if (!kernel_read_) read_kernel();
  kernel_read_ = true;
  if (!has_kernel_) return {};
  const bool of_module = at.kind == perf::file_kind::module;
  const auto found = kernel_.find(address, of_module);
  if (!found || (of_module && address - found->offset < at.begin)) return {};
  const std::size_t tab = found->text.find('\t');
  if ((tab != found->text.npos) != of_module) return {};
  return {found->text.substr(0, tab), found->offset, true};
}

}  // namespace cli::perf_data
