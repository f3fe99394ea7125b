// SPDX-License-Identifier: Apache-2.0
// What `perf script -F ... --no-inline --ns` of perf 6.1 prints.
#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>

#include <backsight/ftrace/event_text.hpp>

#include "perf_commands.hpp"
#include "perf_lines.hpp"

namespace cli::perf_data {

namespace perf = backsight::perf;
namespace cfi = backsight::cfi;

std::string module_name(const perf::mapped_file& file) {
  if (file.kind == perf::file_kind::code) return "[jit]";
  if (file.kind != perf::file_kind::module || file.name.starts_with("[")) return file.name;
  std::string name = file.name.substr(file.name.rfind('/') + 1);
  name = name.substr(0, name.find(".ko"));
  std::replace(name.begin(), name.end(), '-', '_');
  return "[" + name + "]";
}

void append_hex(std::string& to, std::uint64_t value) {
  char digits[16];
  std::size_t at = 16;
  do {
    digits[--at] = "0123456789abcdef"[value & 15U];
    value >>= 4;
  } while (value != 0);
  to.append(digits + at, 16 - at);
}

void append_hex16(std::string& to, std::uint64_t value) {
  char digits[16];
  for (std::size_t at = 16; at-- > 0; value >>= 4) {
    digits[at] = value == 0 && at != 15 ? ' ' : "0123456789abcdef"[value & 15U];
  }
  to.append(digits, 16);
}

void append_tracepoint(std::string& to, const perf::tracing_data& formats, const perf::event_description& event,
                       backsight::byte_view data) {
  if (event.attr[perf::attribute_record::type] != perf::event_type::tracepoint) return;
  const auto* const format = formats.find(event.attr[perf::attribute_record::config]);
  if (format == nullptr) return;
  if (!backsight::ftrace::append_event_text(to, *format, data, formats.byte_order, formats.long_size))
    backsight::ftrace::append_event_members(to, *format, data, formats.byte_order);
}

namespace {

enum class column : std::uint8_t {
  comm,
  pid,
  tid,
  cpu,
  time,
  event,
  period,
  addr,
  ip,
  sym,
  symoff,
  dso,
  iregs,
  uregs,
  brstack,
  phys_addr,
  data_page_size,
  code_page_size,
  weight,
  trace,
};
constexpr std::array<const char*, 20> column_names{
    "comm",   "pid", "tid",   "cpu",   "time",    "event",     "period",         "addr",           "ip",     "sym",
    "symoff", "dso", "iregs", "uregs", "brstack", "phys_addr", "data_page_size", "code_page_size", "weight", "trace"};

using columns = std::uint32_t;
constexpr columns bit(column one) { return columns{1} << static_cast<unsigned>(one); }

std::optional<columns> read_columns(const std::string& list) {
  columns all = 0;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string_view name = std::string_view(list).substr(at, end - at);
    const auto found = std::find(column_names.begin(), column_names.end(), name);
    if (found == column_names.end()) {
      std::string known;
      for (const char* const one : column_names) known += std::string(known.empty() ? "" : ", ") + one;
      say("backsight: no field is called %.*s; there are: %s\n", static_cast<int>(name.size()), name.data(),
          known.c_str());
      return std::nullopt;
    }
    all |= columns{1} << (found - column_names.begin());
    at = end + 1;
  }
  return all;
}

[[gnu::format(printf, 2, 3)]] void print(std::string& to, const char* format, ...) {
  char text[512];
  va_list values;
  va_start(values, format);
  const int size = std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  if (size > 0) to.append(text, std::min<std::size_t>(static_cast<std::size_t>(size), sizeof text - 1));
}

void append_padded(std::string& to, std::uint64_t value, std::size_t width, char fill) {
  char digits[20];
  std::size_t at = 20;
  do {
    digits[--at] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  if (20 - at < width) to.append(width - (20 - at), fill);
  to.append(digits + at, 20 - at);
}

std::string page_size(std::uint64_t size) {
  if (size == 0) return "N/A";
  std::size_t unit = 0;
  for (; size / 1024 > 1 && unit < 3; ++unit) size /= 1024;
  return std::to_string(size) + "BKMG"[unit];
}

const char* branch_type(std::uint64_t flags) {
  constexpr std::array<const char*, 15> names{"",         "COND", "UNCOND",  "IND",    "CALL",
                                              "IND_CALL", "RET",  "SYSCALL", "SYSRET", "COND_CALL",
                                              "COND_RET", "ERET", "IRQ",     "SERROR", "NO_TX"};
  constexpr std::array<const char*, 8> more{"FAULT_ALGN", "FAULT_DATA", "FAULT_INST", "ARCH_1",
                                            "ARCH_2",     "ARCH_3",     "ARCH_4",     "ARCH_5"};
  const std::uint64_t type = flags >> 20 & 15U, other = flags >> 26 & 15U;
  if (type < names.size()) return names[type];
  return other < more.size() ? more[other] : "N/A";
}

struct settings {
  columns shown = 0;
  int event_width = 0;
  bool use_chains = false;
  perf::tracing_data formats;
};

class script_worker : public stack_worker {
 public:
  script_worker(const stack_context& context, const settings& set)
      : context_(&context), set_(&set), lines_(context, line_maker{&context, &set}) {}

  std::string out;

  void take(const sampled_stack& one) override {
    const perf::event_description& event = context_->recording.trace.events()[one.event];
    const bool has_chain = has(event.layout.sample_type, perf::sample_field::callchain);
    print_head(one, event, has_chain);
    if (shows(column::ip)) {
      if (set_->use_chains && has_chain) {
        out += '\n';
        print_frames(one, event);
      } else {
        out += ' ';
        append_hex16(out, one.members.ip);
        append_symbol(*one.owner, one.members.ip, perf::cpu_mode_of(one.misc));
      }
    }
    if (shows(column::iregs)) print_registers(one.members.interrupt_registers);
    if (shows(column::uregs)) print_registers(one.members.user_registers);
    if (shows(column::brstack)) print_branches(one);
    if (shows(column::phys_addr)) append_hex16(out, one.members.phys_addr);
    if (shows(column::data_page_size)) out += ' ' + page_size(one.members.data_page_size);
    if (shows(column::code_page_size)) out += ' ' + page_size(one.members.code_page_size);
    out += '\n';
  }

 private:
  struct line_maker {
    const stack_context* context;
    const settings* set;
    void operator()(const described_address& at, std::string& to) const {
      to += '\t';
      append_hex16(to, at.printed);
      append_names(at, to);
      to += '\n';
    }
    void append_names(const described_address& at, std::string& to) const {
      if ((set->shown & bit(column::sym)) != 0) append_name(at, to);
      if ((set->shown & bit(column::dso)) != 0) append_module(at.at, " (", to);
    }
    void append_name(const described_address& at, std::string& to) const {
      to += ' ';
      if (!at.name.is_known) {
        to += "[unknown]";
        return;
      }
      to += at.name.text;
      if ((set->shown & bit(column::symoff)) == 0) return;
      to += "+0x";
      append_hex(to, at.name.offset);
    }
    void append_module(const perf::mapping* at, const char* open, std::string& to) const {
      to += open;
      if (at == nullptr) to += "[unknown]";
      else to += module_name(context->processes.files()[at->file]);
      to += ')';
    }
  };

  [[nodiscard]] bool shows(column one) const { return (set_->shown & bit(one)) != 0; }

  void print_head(const sampled_stack& one, const perf::event_description& event, bool has_chain) {
    const perf::sample& s = one.members;
    if (shows(column::comm)) {
      const std::string& name = context_->processes.name(one.name);
      if (!(shows(column::ip) && has_chain && set_->use_chains) && name.size() < 16) out.append(16 - name.size(), ' ');
      out += name;
      out += ' ';
    }
    if (shows(column::pid) && shows(column::tid))
      print(out, "%5d/%-5d ", static_cast<int>(s.pid), static_cast<int>(s.tid));
    else if (shows(column::pid)) print(out, "%5d ", static_cast<int>(s.pid));
    else if (shows(column::tid)) print(out, "%5d ", static_cast<int>(s.tid));
    if (shows(column::cpu)) print(out, "[%03d] ", static_cast<int>(s.cpu));
    if (shows(column::time)) {
      append_padded(out, s.time / 1000000000U, 5, ' ');
      out += '.';
      append_padded(out, s.time % 1000000000U, 9, '0');
      out += ": ";
    }
    if (shows(column::period)) {
      append_padded(out, s.period, 10, ' ');
      out += ' ';
    }
    if (shows(column::event)) {
      if (static_cast<int>(event.name.size()) < set_->event_width)
        out.append(static_cast<std::size_t>(set_->event_width) - event.name.size(), ' ');
      out += event.name;
      out += ": ";
    }
    if (shows(column::trace)) append_tracepoint(out, set_->formats, event, one.members.raw);
    if (shows(column::addr)) print_address(one, event);
    if (shows(column::weight)) append_padded(out, s.weight, 16, ' ');
  }

  void append_symbol(const perf::process& owner, std::uint64_t address, perf::cpu_mode mode) {
    const line_maker maker{context_, set_};
    maker.append_names(describe(*context_, owner, address, mode), out);
  }

  /// The address that an event is about, with its name where it has one.
  void print_address(const sampled_stack& one, const perf::event_description& event) {
    append_hex16(out, one.members.addr);
    constexpr std::uint64_t page_faults = 2, minor_faults = 5, major_faults = 6;
    const auto config = event.attr[perf::attribute_record::config];
    if (event.attr[perf::attribute_record::type] != perf::event_type::software ||
        (config != page_faults && config != minor_faults && config != major_faults))
      return;
    // Also the kernel touches memory of the process.
    const perf::cpu_mode mode = perf::cpu_mode_of(one.misc);
    const bool of_process = context_->find(*one.owner, one.members.addr, mode) == nullptr;
    append_symbol(*one.owner, one.members.addr, of_process ? perf::cpu_mode::user : mode);
  }

  void print_frames(const sampled_stack& one, const perf::event_description&) {
    unsigned unwound = 0;
    one.for_each(context_->options.longest, [&](const perf::stack_entry& entry) {
      out += lines_(*one.owner, entry.address, entry.mode);
      unwound += entry.is_unwound ? 1U : 0U;
    });
    // Where the next return address cannot be read or is 0, one more line says 0 - 1.
    if (one.is_unwound && unwound < context_->options.longest && goes_on(one))
      out += lines_(*one.owner, ~std::uint64_t{0}, perf::cpu_mode::user);
  }

  /// perf's unwinder came to a return address of 0, which it also takes for one that a known mapping has but no file.
  [[nodiscard]] bool goes_on(const sampled_stack& one) const {
    if (one.why == cfi::stop::outermost) return one.ends_with_zero;
    if (one.why != cfi::stop::unreadable) return false;
    const perf::sample& s = one.members;
    return one.owner->maps->find(one.stack_pointer + s.user_stack.size()) != nullptr;
  }

  void print_registers(const perf::register_values& from) {
    if (from.abi == 0 && from.values.empty()) return;
    print(out, " ABI:%" PRIu64 " ", from.abi);
    for (unsigned number = 0; number < 64; ++number) {
      const auto value = from[number];
      if (!value) continue;
      const auto& names = perf::register_numbers<cfi::arch::x86_64>::names;
      print(out, "%5s:0x%" PRIx64 " ", number < names.size() ? names[number] : "unknown", *value);
    }
  }

  void print_branches(const sampled_stack& one) {
    const line_maker maker{context_, set_};
    const auto place = [&](std::uint64_t address) {
      out += "0x";
      append_hex(out, address);
      if (!shows(column::dso)) return;
      const perf::mapping* at = one.owner->maps->find(address);
      if (at == nullptr) at = context_->processes.kernel().find(address);
      maker.append_module(at, "(", out);
    };
    for (std::size_t i = 0; i < one.members.branches.size(); ++i) {
      const perf::branch branch = one.members.branches[i];
      out += ' ';
      place(branch.from);
      out += '/';
      place(branch.to);
      const std::uint64_t flags = branch.flags;
      print(out, "/%c/%c/%c/%d/%s ",
            (flags & 3U) == 0   ? '-'
            : (flags & 1U) != 0 ? 'M'
                                : 'P',
            (flags & 4U) != 0 ? 'X' : '-', (flags & 8U) != 0 ? 'A' : '-', static_cast<int>(flags >> 4 & 0xffffU),
            branch_type(flags));
    }
  }

  const stack_context* context_;
  const settings* set_;
  text_cache<line_maker> lines_;
};

class script_consumer : public stack_consumer {
 public:
  script_consumer(const stack_context& context, columns shown, output& out) : context_(&context), out_(&out) {
    set_.shown = shown;
    if ((shown & bit(column::trace)) != 0) set_.formats = context.recording.tracing_formats();
    for (const perf::event_description& event : context.recording.trace.events()) {
      set_.event_width = std::max(set_.event_width, static_cast<int>(event.name.size()));
      set_.use_chains = set_.use_chains || has(event.layout.sample_type, perf::sample_field::callchain);
    }
  }
  std::unique_ptr<stack_worker> make_worker() override { return std::make_unique<script_worker>(*context_, set_); }
  void done(std::span<const std::unique_ptr<stack_worker>> workers) override {
    for (const auto& one : workers) {
      auto& worker = static_cast<script_worker&>(*one);
      out_->write(worker.out);
      worker.out.clear();
    }
  }

 private:
  const stack_context* context_;
  output* out_;
  settings set_;
};

}  // namespace

int print_as_perf_script(const std::string& path, const stack_options& options, const std::string& fields) {
  const auto shown = read_columns(fields);
  if (!shown) return usage;
  recording_input recording;
  if (!recording.open(path)) return bad_input;
  output out("-");
  stack_counts counts;
  const int code = for_each_stack(
      recording, options,
      [&](const stack_context& context) { return std::make_unique<script_consumer>(context, *shown, out); }, counts);
  return out.close(code);
}

}  // namespace cli::perf_data
