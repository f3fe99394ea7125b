#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds framehop and gimli, from their registry by cargo, as a library for bench_unwind, and prints its path:
#     BACKSIGHT_RUST_PEERS=$(bench/peers/build.sh FOLDER) bench_unwind
set -e
here=$(dirname "$(realpath "$0")")
CARGO_TARGET_DIR=${1:-$here/target} cargo build --quiet --release --locked --manifest-path "$here/Cargo.toml" >&2
realpath "${1:-$here/target}/release/libunwind_peers.so"
