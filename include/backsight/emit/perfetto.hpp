// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <backsight/core/escape.hpp>
#include <backsight/core/event.hpp>

namespace backsight::emit {

/// Writes events as a Perfetto trace (protobuf): one track for each thread, names stored once. Times are nanoseconds.
/// Source: perfetto
/// protos/perfetto/trace/{trace,trace_packet}.proto and
/// trace/track_event/{track_event,track_descriptor,debug_annotation}.proto. Keeps one
/// entry for each name and thread, and for each stack of samples; a packet is put together in a buffer that is used
/// again.
template <class Out>
class perfetto {
 public:
  explicit perfetto(Out out) : out_(out) {}

  /// One event of a thread, with what was given to the call or, at its exit, given back.
  void event(event_kind kind, std::string_view name, std::int64_t process, std::int64_t thread, std::uint64_t time_ns,
             std::string_view values = {}) {
    const std::uint64_t track = track_of(process, thread);
    packet_.clear();
    number(packet_, 8, time_ns);
    number(packet_, 10, sequence);
    number(packet_, 13, needs_state);
    std::string track_event;
    number(track_event, 9, kind == event_kind::enter ? slice_begin : kind == event_kind::mark ? instant : slice_end);
    number(track_event, 11, track);
    if (!values.empty()) {
      std::string annotation;
      bytes(annotation, 10, kind == event_kind::enter ? "arguments" : "result");
      readable(annotation, 6, values);
      bytes(track_event, 4, annotation);
    }
    if (kind == event_kind::enter || kind == event_kind::mark) {
      const auto [at, inserted] = names_.try_emplace(std::string(name), names_.size() + 1);
      number(track_event, 10, at->second);
      if (inserted) {
        std::string entry, interned;
        number(entry, 1, at->second);
        readable(entry, 2, name);
        bytes(interned, 2, entry);
        bytes(packet_, 12, interned);
      }
    }
    bytes(packet_, 11, track_event);
    write();
  }

  /// The name of a thread. Before its first event, or it is not written.
  void thread(std::int64_t process, std::int64_t thread, std::string_view name) {
    thread_names_.try_emplace(key_of(process, thread), name);
  }
  /// The name of a process.
  void process(std::int64_t process, std::string_view name) {
    std::string descriptor, of_process;
    number(of_process, 1, static_cast<std::uint64_t>(process));
    readable(of_process, 6, name);
    number(descriptor, 1, process_tracks | (static_cast<std::uint64_t>(process) & 0xffffffffU));
    bytes(descriptor, 3, of_process);
    packet_.clear();
    number(packet_, 10, sequence);
    bytes(packet_, 60, descriptor);
    write();
  }

  /// Where and when a sample was taken. `mode` is as perf_event_open(2) counts: 1 kernel, 2 user.
  struct sample_place {
    std::int64_t process = 0, thread = 0;
    std::uint64_t time_ns = 0;
    std::optional<std::uint32_t> cpu;
    unsigned mode = 0;
  };
  struct stack_frame {
    std::string_view function, module;
  };
  /// A sample of a profiler with its stack, the outermost function first.
  /// Source: perfetto protos/perfetto/trace/profiling/{profile_packet,profile_common}.proto.
  void sample(const sample_place& place, std::span<const stack_frame> stack) {
    (void)track_of(place.process, place.thread);
    std::string interned;
    stack_.clear();
    for (const stack_frame& frame : stack) stack_.push_back(frame_number(frame, interned));
    const auto [at, is_new] = stacks_.try_emplace(stack_, stacks_.size() + 1);
    if (is_new) {
      std::string entry;
      number(entry, 1, at->second);
      for (const std::uint64_t frame : stack_) number(entry, 2, frame);
      bytes(interned, 7, entry);
    }
    std::string taken;
    if (place.cpu) number(taken, 1, *place.cpu);
    number(taken, 2, static_cast<std::uint32_t>(place.process));
    number(taken, 3, static_cast<std::uint32_t>(place.thread));
    if (!stack.empty()) number(taken, 4, at->second);
    number(taken, 5, place.mode);
    packet_.clear();
    number(packet_, 8, place.time_ns);
    number(packet_, 10, sequence);
    number(packet_, 13, needs_state);
    if (!interned.empty()) bytes(packet_, 12, interned);
    bytes(packet_, 66, taken);
    write();
  }

  /// The iterator behind what was written.
  Out finish() { return out_; }

 private:
  static constexpr std::uint64_t sequence = 1, slice_begin = 1, slice_end = 2, instant = 3;
  static constexpr std::uint64_t process_tracks = std::uint64_t{1}
                                                  << 63;  // Beside the numbers of threads, which count from 1.
  static constexpr std::uint64_t state_cleared = 1, needs_state = 2;

  static void varint(std::string& to, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80U));
    to.push_back(static_cast<char>(value));
  }
  static void number(std::string& to, unsigned field, std::uint64_t value) {
    varint(to, std::uint64_t{field} << 3);
    varint(to, value);
  }
  static void bytes(std::string& to, unsigned field, std::string_view value) {
    varint(to, std::uint64_t{field} << 3 | 2U);
    varint(to, value.size());
    to.append(value);
  }
  /// A string of protobuf is UTF-8, or its readers refuse all of the trace.
  static void readable(std::string& to, unsigned field, std::string_view text) {
    std::string valid;
    (void)text::as_utf8(std::back_inserter(valid), text);
    bytes(to, field, valid);
  }
  void write() {
    std::string head;
    varint(head, 1U << 3 | 2U);
    varint(head, packet_.size());
    for (const char c : head) *out_++ = c;
    for (const char c : packet_) *out_++ = c;
  }

  /// The number of a text of samples; a new one is added to `interned`, as an entry of that field.
  [[nodiscard]] static std::uint64_t text_number(std::unordered_map<std::string, std::uint64_t>& known,
                                                 std::string_view text, unsigned field, std::string& interned) {
    const auto [at, is_new] = known.try_emplace(std::string(text), known.size() + 1);
    if (is_new) {
      std::string entry;
      number(entry, 1, at->second);
      readable(entry, 2, text);
      bytes(interned, field, entry);
    }
    return at->second;
  }
  [[nodiscard]] std::uint64_t frame_number(const stack_frame& frame, std::string& interned) {
    const std::uint64_t function = text_number(functions_, frame.function, 5, interned);
    // Readers put a slash in front of each part of a path.
    const std::string_view path = frame.module.starts_with('/') ? frame.module.substr(1) : frame.module;
    const std::size_t modules = modules_.size();
    const std::uint64_t module = text_number(modules_, path, 17, interned);
    if (modules_.size() != modules) {
      std::string entry;
      number(entry, 1, module);
      number(entry, 7, module);
      bytes(interned, 19, entry);
    }
    const auto [at, is_new] = frames_.try_emplace(function << 32 | module, frames_.size() + 1);
    if (is_new) {
      std::string entry;
      number(entry, 1, at->second);
      number(entry, 2, function);
      number(entry, 3, module);
      number(entry, 4, 0);
      bytes(interned, 6, entry);
    }
    return at->second;
  }

  static std::uint64_t key_of(std::int64_t process, std::int64_t thread) {
    return static_cast<std::uint64_t>(process) << 32 ^ (static_cast<std::uint64_t>(thread) & 0xffffffffU);
  }
  /// The track of a thread; describes it, and at the very first the state of the sequence, when it is new.
  std::uint64_t track_of(std::int64_t process, std::int64_t thread) {
    const auto [at, inserted] = tracks_.try_emplace(key_of(process, thread), tracks_.size() + 1);
    if (inserted) {
      std::string descriptor, of_thread;
      number(of_thread, 1, static_cast<std::uint64_t>(process));
      number(of_thread, 2, static_cast<std::uint64_t>(thread));
      if (const auto named = thread_names_.find(at->first); named != thread_names_.end())
        readable(of_thread, 5, named->second);
      number(descriptor, 1, at->second);
      bytes(descriptor, 4, of_thread);
      packet_.clear();
      number(packet_, 10, sequence);
      number(packet_, 13, at->second == 1 ? state_cleared : needs_state);
      bytes(packet_, 60, descriptor);
      write();
    }
    return at->second;
  }

  Out out_;
  std::string packet_;
  std::unordered_map<std::string, std::uint64_t> names_;
  std::unordered_map<std::uint64_t, std::uint64_t> tracks_;
  std::unordered_map<std::uint64_t, std::string> thread_names_;
  std::unordered_map<std::string, std::uint64_t> functions_, modules_;  // Of samples.
  std::unordered_map<std::uint64_t, std::uint64_t> frames_;
  std::map<std::vector<std::uint64_t>, std::uint64_t> stacks_;
  std::vector<std::uint64_t> stack_;
};

}  // namespace backsight::emit
