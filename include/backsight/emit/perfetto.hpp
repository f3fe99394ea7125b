// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>

#include <backsight/core/escape.hpp>
#include <backsight/core/event.hpp>

namespace backsight::emit {

/// Writes events as a Perfetto trace (protobuf): one track for each thread, names stored once. Times are nanoseconds.
/// Source: perfetto protos/perfetto/trace/{trace,trace_packet,track_event/track_event,track_event/track_descriptor}.proto.
/// Keeps one entry for each name and thread; a packet is put together in a buffer that is used again.
template <class Out>
class perfetto {
 public:
  explicit perfetto(Out out) : out_(out) {}

  /// One event of a thread.
  void event(event_kind kind, std::string_view name, std::int64_t process, std::int64_t thread, std::uint64_t time_ns) {
    const std::uint64_t track = track_of(process, thread);
    packet_.clear();
    number(packet_, 8, time_ns);
    number(packet_, 10, sequence);
    number(packet_, 13, needs_state);
    std::string track_event;
    number(track_event, 9, kind == event_kind::enter ? slice_begin : kind == event_kind::mark ? instant : slice_end);
    number(track_event, 11, track);
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
  void thread(std::int64_t process, std::int64_t thread, std::string_view name) { thread_names_.try_emplace(key_of(process, thread), name); }
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

  /// The iterator behind what was written.
  Out finish() { return out_; }

 private:
  static constexpr std::uint64_t sequence = 1, slice_begin = 1, slice_end = 2, instant = 3;
  static constexpr std::uint64_t process_tracks = std::uint64_t{1} << 63;  // Beside the numbers of threads, which count from 1.
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
      if (const auto named = thread_names_.find(at->first); named != thread_names_.end()) readable(of_thread, 5, named->second);
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
};

}  // namespace backsight::emit
