// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every format. Analyzers, exporters and files are included one by one.
#include <backsight/version.hpp>
#include <backsight/memtrace/memtrace.hpp>
#include <backsight/xray/xray.hpp>
