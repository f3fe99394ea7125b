// SPDX-License-Identifier: Apache-2.0
// Stacks of a perf.data recording in a form of our own.
#include <algorithm>
#include <cinttypes>

#include "perf_commands.hpp"
#include "perf_lines.hpp"

namespace cli::perf_data {

namespace perf = backsight::perf;
namespace cfi = backsight::cfi;

namespace {

const char* text_of(perf::cpu_mode mode) {
  switch (mode) {
    case perf::cpu_mode::kernel: return "k";
    case perf::cpu_mode::user: return "u";
    case perf::cpu_mode::hypervisor: return "h";
    default: return "g";
  }
}

class text_worker : public stack_worker {
 public:
  text_worker(const stack_context& context, const perf::tracing_data& formats)
      : context_(&context), formats_(&formats), lines_(context, line_maker{&context}) {}

  std::string out;

  void take(const sampled_stack& one) override {
    const perf::sample& s = one.members;
    char head[256];
    std::snprintf(head, sizeof head, "%" PRIu64 ".%09" PRIu64 " %" PRIi32 "/%" PRIi32, s.time / 1000000000U,
                  s.time % 1000000000U, static_cast<std::int32_t>(s.pid), static_cast<std::int32_t>(s.tid));
    out += head;
    if (s.cpu != perf::no_cpu) out += " cpu " + std::to_string(s.cpu);
    out += ' ' + context_->processes.name(one.name);
    out += ": ";
    out += context_->recording.trace.events()[one.event].name;
    out += ' ' + std::to_string(s.period) + '\n';
    const std::size_t before = out.size();
    append_tracepoint(out, *formats_, context_->recording.trace.events()[one.event], s.raw);
    if (out.size() != before) {
      // One line, whatever text the kernel recorded.
      std::replace_if(
          out.begin() + static_cast<std::ptrdiff_t>(before), out.end(), [](char c) { return c == '\n' || c == '\r'; },
          ' ');
      out.insert(before, "  data ");
      out += '\n';
    }
    bool any = false;
    one.for_each(context_->options.longest, [&](const perf::stack_entry& entry) { line(one, entry), any = true; });
    if (!any) line(one, {s.ip, perf::cpu_mode_of(one.misc), true, false});
    if (one.is_unwound && one.why != cfi::stop::outermost) out += std::string("  (") + message(one.why) + ")\n";
    else if (one.ends_with_zero) out += "  (return address 0)\n";
    out += '\n';
  }

 private:
  struct line_maker {
    const stack_context* context;
    void operator()(const described_address& at, std::string& to) const {
      append_hex16(to, at.printed);
      to += ' ';
      if (at.name.is_known) {
        to += at.name.text;
        to += "+0x";
        append_hex(to, at.name.offset);
      } else {
        to += '?';
      }
      to += " in " + (at.at == nullptr ? "no mapping" : module_name(context->processes.files()[at.at->file]));
      to += '\n';
    }
  };
  void line(const sampled_stack& one, const perf::stack_entry& entry) {
    out += "  ";
    out += text_of(entry.mode);
    out += lines_(*one.owner, entry.address, entry.mode);
  }

  const stack_context* context_;
  const perf::tracing_data* formats_;
  text_cache<line_maker> lines_;
};

class text_consumer : public stack_consumer {
 public:
  text_consumer(const stack_context& context, output& out)
      : context_(&context), out_(&out), formats_(context.recording.tracing_formats()) {}
  std::unique_ptr<stack_worker> make_worker() override { return std::make_unique<text_worker>(*context_, formats_); }
  void done(std::span<const std::unique_ptr<stack_worker>> workers) override {
    for (const auto& one : workers) {
      auto& worker = static_cast<text_worker&>(*one);
      out_->write(worker.out);
      worker.out.clear();
    }
  }

 private:
  const stack_context* context_;
  output* out_;
  perf::tracing_data formats_;
};

}  // namespace

int print_stacks(const std::string& path, const stack_options& options) {
  recording_input recording;
  if (!recording.open(path)) return bad_input;
  output out("-");
  stack_counts counts;
  const int code = for_each_stack(
      recording, options, [&](const stack_context& context) { return std::make_unique<text_consumer>(context, out); },
      counts);
  return out.close(code);
}

}  // namespace cli::perf_data
