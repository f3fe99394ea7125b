// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The trace ring buffer of Linux: its pages, and the descriptions of its events.
#include <backsight/ftrace/event_format.hpp>
#include <backsight/ftrace/pages.hpp>
#include <backsight/ftrace/schema.hpp>
