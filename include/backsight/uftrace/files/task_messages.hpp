// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <backsight/core/offset_of.hpp>
#include <backsight/core/record_range.hpp>
#include <backsight/uftrace/files/task_list.hpp>

// The file `task` of recorders before `task.txt`: the messages of the traced program as they came. Source: uftrace's
// uftrace.h (struct uftrace_msg and those behind it) and utils/data-file.c (read_task_file).
namespace backsight::uftrace {

/// `magic` of every message.
inline constexpr std::uint16_t task_message_magic = 0xface;
/// Types of messages that are in the file.
enum class task_message_type : std::uint16_t { task = 3, fork = 6, session = 7 };

/// The head of every message; `length` counts the bytes behind it and is not used by readers.
struct task_message_head {
  static constexpr field<"magic", std::uint16_t> magic{};  ///< task_message_magic
  static constexpr field<"type", task_message_type> type{};
  static constexpr field<"length", std::uint32_t> length{};
  static constexpr field<"time", std::uint64_t> time{};  ///< nanoseconds of the trace clock
  static constexpr field<"pid", std::uint32_t> pid{};    ///< of a fork: of the parent
  static constexpr field<"tid", std::uint32_t> tid{};    ///< of a fork: of the child
};
/// A thread starts, or goes on after an exec.
struct task_message : task_message_head {
  static constexpr const char* name = "task";
  static constexpr std::size_t size = 24;
  using h = task_message_head;
  static constexpr layout fields{h::magic, h::type, h::length, h::time, h::pid, h::tid};
};
/// A process was forked.
struct fork_message : task_message_head {
  static constexpr const char* name = "fork";
  static constexpr std::size_t size = 24;
  using h = task_message_head;
  static constexpr layout fields{h::magic, h::type, h::length, h::time, h::pid, h::tid};
};
/// A program starts; its path follows, padded to 8 bytes.
struct session_message : task_message_head {
  static constexpr const char* name = "session";
  static constexpr std::size_t size = 48;
  static constexpr bool has_payload = true;
  static constexpr field<"sid", std::array<std::byte, 16>> sid{};
  static constexpr padding<32> unused{};
  static constexpr field<"name_length", std::uint32_t> name_length{};
  using h = task_message_head;
  static constexpr layout fields{h::magic, h::type, h::length, h::time, h::pid, h::tid, sid, unused, name_length};
};
static_assert(schema<task_message> && schema<fork_message> && schema<session_message>);

/// The messages, one after the other.
template <order O>
struct task_message_format {
  using records = record_list<task_message, fork_message, session_message>;
  using context = no_context;
  static constexpr order byte_order = O;
  static constexpr std::size_t head_bytes = offset_of<task_message>(task_message_head::time);

  [[nodiscard]] static constexpr kind_result kind_of(const std::byte* at, const context&) noexcept {
    const record<task_message, O> head(at);
    if (head[task_message_head::magic] != task_message_magic) return errc::bad_magic;
    switch (head[task_message_head::type]) {
      case task_message_type::task: return records::template kind<task_message>;
      case task_message_type::fork: return records::template kind<fork_message>;
      case task_message_type::session: return records::template kind<session_message>;
    }
    return errc::unknown_record;
  }
  [[nodiscard]] static constexpr payload_result payload_size(const record<session_message, O>& item,
                                                             const context&) noexcept {
    const std::size_t length = item[session_message::name_length];
    // uftrace reads the path into a buffer of that size.
    if (length > 1024) return errc::bad_size;
    return (length + 7) / 8 * 8;
  }
};
static_assert(record_format<task_message_format<order::little>> && record_format<task_message_format<order::big>>);

/// Reads the file `task`, whose numbers are in the recorder's byte order. The first message that cannot be read ends
/// it: it is the only fault then. Views into the bytes. Allocates.
[[nodiscard]] inline task_list read_task_messages(byte_view bytes, order byte_order) {
  task_list list;
  with_order(byte_order, [&](auto o) {
    const auto take = [&](const auto& item) {
      task_event event;
      event.offset = item.offset();
      event.size = item.bytes().size();
      const auto head = [&](const auto& message) {
        event.time = message[task_message_head::time];
        event.pid = message[task_message_head::pid];
        event.tid = message[task_message_head::tid];
      };
      if (item.template is<task_message>()) {
        event.kind = task_event_kind::task;
        head(item.template as<task_message>());
      } else if (item.template is<fork_message>()) {
        event.kind = task_event_kind::fork;
        head(item.template as<fork_message>());
        event.parent = event.pid;
        event.pid = event.tid;
      } else {
        const auto message = item.template as<session_message>();
        event.kind = task_event_kind::session;
        head(message);
        event.sid = text::as_text(
            item.bytes().subspan(offset_of<session_message>(session_message::sid), bytes_of(session_message::sid)));
        event.name = text::as_text(message.payload().first(message[session_message::name_length]));
      }
      list.events.push_back(event);
    };
    const trace_error error = for_each(record_range<task_message_format<o()>, grammar_check::ignored>(bytes), take);
    if (error) list.faults.push_back({error.code, error.offset, bytes.size() - error.offset});
  });
  return list;
}

}  // namespace backsight::uftrace
