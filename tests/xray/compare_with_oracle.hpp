// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>

#include <backsight/xray/events.hpp>

#include <support/xray_oracle.hpp>

namespace backsight::test {

/// The event in the words of the second decoder.
inline oracle_event in_words(const xray::event& from) {
  oracle_event to;
  switch (from.kind) {
    case event_kind::enter: to.kind = "enter"; break;
    case event_kind::exit: to.kind = "exit"; break;
    case event_kind::tail_exit: to.kind = "tail_exit"; break;
    case event_kind::mark: to.kind = from.mark == xray::mark_kind::custom ? "custom" : "typed"; break;
  }
  to.offset = from.offset;
  to.thread = from.thread;
  to.process = from.process;
  to.cpu = from.cpu;
  to.function = from.function;
  to.type = from.event_type;
  to.time = from.time;
  for (std::size_t i = 0; i < from.arguments.size(); ++i) to.arguments.push_back(from.arguments[i]);
  for (const std::byte byte : from.payload) to.payload.push_back(static_cast<char>(byte));
  return to;
}

/// The name of an enumerator of errc that reading XRay logs can give.
inline std::string in_words(errc code) {
  switch (code) {
    case errc::ok: return "ok";
    case errc::truncated: return "truncated";
    case errc::unsupported_version: return "unsupported_version";
    case errc::unsupported_type: return "unsupported_type";
    case errc::unknown_record: return "unknown_record";
    case errc::bad_value: return "bad_value";
    case errc::bad_size: return "bad_size";
    case errc::bad_transition: return "bad_transition";
    case errc::bad_end: return "bad_end";
    case errc::record_crosses_block: return "record_crosses_block";
    case errc::trailing_bytes: return "trailing_bytes";
    case errc::unpaired_record: return "unpaired_record";
    default: return "another";
  }
}

/// All events and faults of a log as the library gives them, in the words of the second decoder.
inline oracle_log read_by_library(byte_view bytes) {
  oracle_log found;
  const auto opened = xray::open(bytes);
  if (!opened) {
    found.faults.push_back({in_words(opened.error().code), opened.error().offset});
    return found;
  }
  xray::for_each_event(
      *opened, [&](const xray::event& event) { found.events.push_back(in_words(event)); },
      [&](const fault& damage) { found.faults.push_back({in_words(damage.code), damage.offset}); });
  return found;
}

/// Empty when the library and the second decoder find the same in a log; else the first difference.
inline std::string difference(byte_view bytes) {
  const oracle_log ours = read_by_library(bytes), theirs = read_xray_by_hand(bytes);
  for (std::size_t i = 0; i < ours.events.size() || i < theirs.events.size(); ++i) {
    const std::string a = i < ours.events.size() ? describe(ours.events[i]) : "nothing";
    const std::string b = i < theirs.events.size() ? describe(theirs.events[i]) : "nothing";
    if (i >= ours.events.size() || i >= theirs.events.size() || !(ours.events[i] == theirs.events[i])) {
      return "event " + std::to_string(i) + ": " + a + "; by hand: " + b;
    }
  }
  for (std::size_t i = 0; i < ours.faults.size() || i < theirs.faults.size(); ++i) {
    const auto text = [i](const oracle_log& log) {
      return i < log.faults.size() ? log.faults[i].what + " at " + std::to_string(log.faults[i].offset)
                                   : std::string("nothing");
    };
    if (text(ours) != text(theirs))
      return "fault " + std::to_string(i) + ": " + text(ours) + "; by hand: " + text(theirs);
  }
  return {};
}

}  // namespace backsight::test
