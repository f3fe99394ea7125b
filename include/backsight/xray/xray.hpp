// SPDX-License-Identifier: Apache-2.0
#pragma once

/// LLVM XRay logs: FDR versions 1 to 5, basic mode versions 1 to 3; profiles of the profiling mode; names of functions,
/// threads, calls.

#include <backsight/xray/blocks.hpp>
#include <backsight/xray/calls.hpp>
#include <backsight/xray/event.hpp>
#include <backsight/xray/events.hpp>
#include <backsight/xray/index.hpp>
#include <backsight/xray/instr_map.hpp>
#include <backsight/xray/names.hpp>
#include <backsight/xray/profile.hpp>
#include <backsight/xray/profile_schema.hpp>
#include <backsight/xray/records.hpp>
#include <backsight/xray/schema.hpp>
#include <backsight/xray/threads.hpp>
#include <backsight/xray/trace.hpp>
