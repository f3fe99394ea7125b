// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <backsight/analysis/call_stack.hpp>

namespace cli {

/// Gives the begins and ends of calls that nest to `emit(kind, name)`, whatever the trace left out: an exit that closes
/// several calls ends each of them, one that closes none is dropped. `name_of(function)` gives the name of a function.
template <backsight::call_event Event, class Name, class Emit>
void emit_nested(backsight::analysis::call_stack& stack, const Event& event, Name&& name_of, Emit&& emit) {
  using backsight::event_kind;
  using backsight::analysis::call_stack;
  stack.on(
      event, [&](const call_stack::frame& frame, std::size_t) { emit(event_kind::enter, name_of(frame.function)); },
      [&](const backsight::analysis::finished_call& call, const call_stack::frame&) {
        emit(event_kind::exit, name_of(call.function));
      });
}

}  // namespace cli
