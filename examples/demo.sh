#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the program `backsight` and shows what it tells about a real XRay log: its report, heaviest call paths and flame graph.
set -eu
cd "$(dirname "$0")/.."
cmake --workflow --preset demo
backsight=build/demo/examples/cli/backsight
log=tests/data/xray/c19/fdr-threads.xray
program=tests/data/xray/bin/workload-19
show() {
  printf '\n$ %s\n' "$*"
  "$@"
}
show $backsight info $log
show $backsight report $log --symbols $program --limit 10
show $backsight stacks $log --symbols $program --limit 5
show $backsight export --to folded $log --symbols $program --output build/demo/flame.folded
printf '\nThe flame graph: build/demo/flame.folded, %s call paths, for https://www.speedscope.app or flamegraph.pl. It begins\n' "$(wc -l < build/demo/flame.folded)"
head -n 3 build/demo/flame.folded
show $backsight export --to chrome $log --symbols $program --output build/demo/trace.json
printf '\nThe timeline: build/demo/trace.json, %s bytes, for https://ui.perfetto.dev.\n' "$(wc -c < build/demo/trace.json)"
