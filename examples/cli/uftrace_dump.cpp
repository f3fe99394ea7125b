// SPDX-License-Identifier: Apache-2.0
#include "uftrace_data.hpp"

#include <array>

#include <backsight/core/hex_dump.hpp>
#include <backsight/core/print.hpp>

namespace cli {

using namespace backsight;
using uftrace::merged_record;
using uftrace::record_type;

namespace {

template <std::size_t Count>
void add_mask(std::string& text, std::uint64_t mask, const std::array<const char*, Count>& names, std::size_t known) {
  add_format(text, "0x%llx", static_cast<unsigned long long>(mask));
  bool any = false;
  for (std::size_t bit = 0; bit < 64; ++bit) {
    if ((mask >> bit & 1) == 0) continue;
    text += any ? " | " : " (";
    text += bit < known ? names[bit] : "(null)";
    any = true;
  }
  if (any) text += ')';
}

/// The records of each task file as they are: `uftrace dump`.
class raw_dump {
 public:
  raw_dump(const arguments& from, const uftrace_data& data, output& to)
      : from_(from),
        data_(data),
        recording_(data.recording()),
        names_(recording_),
        stacks_(recording_, data.stacks()),
        merging_(data.merging),
        values_(names_, !from.as.empty()),
        out_(to) {}

  int run() {
    header();
    merging_.shorter_than = 0;
    for (std::uint32_t i = 0; i < recording_.data.size(); ++i) {
      out_.text() += "reading ";
      out_.text() += recording_.data[i].file;
      out_.line();
      uftrace::task_source source(names_, i, merging_);
      std::uint64_t before = 0;
      while (source.has()) {
        record(source.current(), before);
        before = source.current().time;
        source.next();
      }
      for (const fault& f : source.faults()) data_.report(recording_.data[i].file, f);
    }
    kernel();
    perf();
    return success;
  }

 private:
  void header() {
    std::string& text = out_.text();
    const uftrace::info& info = recording_.info;
    const auto key = [&](const char* name) { add_format(text, "uftrace file header: %-13s = ", name); };
    key("magic");
    text += "4674726163652100\n";
    key("version");
    add_format(text, "%u\n", info.version);
    key("header size");
    add_format(text, "%u\n", from_.as.empty() ? info.header_size : info.raw_header_size);
    key("endian");
    text += info.byte_order == order::little ? "1 (little)\n" : "2 (big)\n";
    key("class");
    text += info.is_64 ? "2 (64 bit)\n" : "1 (32 bit)\n";
    key("features");
    // uftrace's own table of names lacks the last feature.
    add_mask(text, info.feat_mask, uftrace::feature_names,
             uftrace::feature_names.size() - (from_.as.empty() ? 0U : 1U));
    text += '\n';
    key("info");
    add_mask(text, info.info_mask, uftrace::info_names, uftrace::info_names.size());
    text += "\n\n";
  }

  void begin(const merged_record& r, std::string_view kind) {
    char line[80];
    char* at = put_time(line, r.time, 1);
    at = put_text(at, "  ");
    at = put_decimal(at, recording_.data[r.data_index].tid, 7);
    at = put_text(put_text(put_text(at, ": ["), kind), "] ");
    out_.text().append(line, at);
  }

  void record(const merged_record& r, std::uint64_t before) {
    stacks_.consume(r);
    as_uftrace::task_stack& t = stacks_.of(r);
    const uftrace::function* function = r.is_event() ? nullptr : &names_.find(r.data_index, r.time, r.address);
    if (r.type == record_type::entry) {
      stacks_.note(t, function->special);
      if (!stacks_.show_entry(t, names_, *function)) return;
      stacks_.apply(t, function->special);
    } else if (r.type == record_type::exit) {
      if (!stacks_.show_exit(t)) return;
    } else if (r.is_event() && (t.credit <= 0 || t.outside)) {
      return;
    }
    std::string& text = out_.text();
    if (r.time < before) {
      text +=
          "\n*************************************\n* inverted time - data seems broken *\n"
          "*************************************\n\n";
    }
    static constexpr std::string_view kinds[] = {"entry", "exit ", "lost ", "event"};
    begin(r, kinds[static_cast<std::size_t>(r.type)]);
    if (function == nullptr) values_.event_name(text, r.address);
    else text += names_.name(function->name);
    char tail[64];
    tail[0] = '(';
    char* at = put_text(put_hexadecimal(tail + 1, r.address, 1), ") depth: ");
    text.append(tail, put_decimal(at, r.depth, 1));
    out_.line();
    if (!r.more) return;
    if (r.is_event()) {
      begin(r, "data ");
      add_format(text, "length = %zu", r.payload.size());
      out_.line();
      text += "  ";
      values_.event_name(text, r.address);
      text += ": ";
      values_.event_text(text, r, false);
      out_.line();
    } else {
      begin(r, r.type == record_type::entry ? "args " : "retval");
      add_format(text, "length = %zu", values_.extent(r));
      out_.line();
      values_.raw_lines(text, r);
    }
  }

  /// The events of each file of kernel data. Functions are printed with the 48 bits of address that uftrace keeps.
  void kernel() {
    if (recording_.kernel.files.empty()) return;
    out_.line();
    for (std::size_t i = 0; i < recording_.kernel.files.size(); ++i) {
      const uftrace::directory_file& file = recording_.kernel.files[i];
      if (file.bytes.empty()) continue;
      add_format(out_.text(), "reading kernel-cpu%zu.dat", i);
      out_.line();
      uftrace::kernel_events events(recording_, file.bytes, from_.as.empty());
      bool first = true;
      while (events.next()) {
        kernel_event(events, first);
        first = first && events.current().is_event();
      }
      for (const fault& f : events.faults()) {
        out_.flush();
        data_.report(file.name, f);
      }
    }
  }

  void begin_kernel(std::uint64_t time, std::uint32_t tid, const char* kind) {
    std::string& text = out_.text();
    add_time(text, time, 1);
    add_format(text, "  %7u: [%s]", tid, kind);
  }

  void kernel_event(uftrace::kernel_events& events, bool first_function) {
    const merged_record& r = events.current();
    std::string& text = out_.text();
    if (const std::int64_t lost = events.lost(); lost != 0) {
      begin_kernel(r.time, events.tid(), "lost ");
      add_format(text, ": %lld events", static_cast<long long>(lost));
      out_.line();
      events.clear_lost();
    }
    if (r.is_event()) {
      begin_kernel(r.time, events.tid(), "event");
      text += ' ';
      as_uftrace::add_kernel_event_name(text, recording_.kernel.header, r.address);
      add_format(text, "(%llu) ", static_cast<unsigned long long>(r.address));
      as_uftrace::add_kernel_event_text(text, recording_.kernel.header, r.address, r.payload);
      return out_.line();
    }
    // Only where a file begins with one, and by uftrace only for 64-bit kernels: other deltas of their own are not
    // shown.
    if (first_function && events.page().begins_extended && recording_.kernel.header.pages.long_size == 8) {
      const std::uint64_t delta = r.time - events.page().time;
      begin_kernel(r.time - delta, events.tid(), "time ");
      add_format(text, " extend (+%llu nsec)", static_cast<unsigned long long>(delta));
      out_.line();
    }
    begin_kernel(r.time, events.tid(), r.type == record_type::entry ? "entry" : "exit ");
    text += ' ';
    const std::uint32_t session = recording_.sessions.empty() ? uftrace::resolver::no_session : 0;
    text += names_.name(names_.find_in_session(session, r.time, r.address).name);
    add_format(text, "(%llx) depth: %u", static_cast<unsigned long long>(r.address & 0xffffffffffff), r.depth);
    out_.line();
  }

  void perf() {
    bool first = true;
    for (std::size_t i = 0; i < recording_.perf.size(); ++i) {
      if (recording_.perf[i].bytes.empty()) continue;
      if (first && i == 0) out_.line();
      first = false;
      out_.text() += "reading ";
      add_format(out_.text(), "perf-cpu%zu.dat", i);
      out_.line();
      uftrace::perf_source source(recording_, recording_.perf[i].bytes, merging_.from, merging_.until);
      while (source.next()) {
        begin(source.current(), "event");
        values_.event_name(out_.text(), source.current().address);
        add_format(out_.text(), "(%llu)", static_cast<unsigned long long>(source.current().address));
        out_.line();
      }
      if (const trace_error error = source.error())
        data_.report(recording_.perf[i].file,
                     {error.code, error.offset, recording_.perf[i].bytes.size() - error.offset});
    }
  }

  const arguments& from_;
  const uftrace_data& data_;
  const uftrace::recording& recording_;
  uftrace::resolver names_;
  as_uftrace::call_stacks stacks_;
  uftrace::merge_options merging_;
  as_uftrace::value_writer values_;
  text_out out_;
};

/// Each record of the wire format with all its members: text, CSV-like JSON lines, or an annotated hex dump.
template <order O>
int dump_members(const arguments& from, const uftrace_data& data, output& to) {
  const uftrace::recording& recording = data.recording();
  uftrace::resolver names(recording);
  text_out out(to);
  std::uint64_t left = from.limit.value_or(~std::uint64_t{0});
  for (std::uint32_t i = 0; i < recording.data.size(); ++i) {
    const uftrace::task_data& file = recording.data[i];
    const auto show = [&](const auto& item) {
      if (item.offset() < from.begin.value_or(0) || item.offset() >= from.end.value_or(~std::uint64_t{0}) || left == 0)
        return;
      const std::uint64_t time =
          record<uftrace::function_record<O>, O>(item.bytes().data())[uftrace::record_head::time];
      if (time < data.merging.from || time > data.merging.until) return;
      --left;
      const auto at = std::back_inserter(out.text());
      if (from.hex) {
        (void)hex_dump(at, item);
      } else if (from.format == "json") {
        (void)json_line(at, item);
        out.line();
      } else {
        add_format(out.text(), "%s:%llu: ", file.file.c_str(), static_cast<unsigned long long>(item.offset()));
        (void)print(at, item);
        out.line();
      }
    };
    const auto fault_found = [&](const fault& f) {
      out.flush();
      data.report(file.file, f);
    };
    const uftrace::task_records<O> all(file.bytes, names.sizes_for(i));
    const auto part = uftrace::part_between(all, recording.info, data.indices.empty() ? nullptr : &data.indices[i],
                                            data.merging.from, data.merging.until);
    (void)for_each_salvaging(
        uftrace::task_records<O>(file.bytes.first(part.end).subspan(part.begin), all.context(), part.begin), show,
        fault_found);
  }
  return success;
}

}  // namespace

int uftrace_dump(const arguments& from) {
  uftrace_data data;
  if (const int code = open_uftrace(from, data); code != success) return code;
  output to(from.output);
  to.write(data.notice);
  int code = success;
  if (from.as.empty() && !from.raw) {
    code = with_order(data.recording().info.byte_order, [&](auto o) { return dump_members<o()>(from, data, to); });
    check_others(data);
  } else {
    code = raw_dump(from, data, to).run();
  }
  return data.finish(to, code);
}

}  // namespace cli
