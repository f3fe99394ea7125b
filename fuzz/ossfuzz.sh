#!/bin/bash -eu
# SPDX-License-Identifier: Apache-2.0
# Builds the fuzz targets as OSS-Fuzz wants them: run in its base-builder image with CXX, CXXFLAGS, LIB_FUZZING_ENGINE, SRC
# and OUT set, in the project's folder. Needs Boost's headers (apt-get install libboost-dev) and zip.
cd "$(dirname "$0")"
for source in fuzz_*.cpp; do
  target=$(basename "$source" .cpp)
  # shellcheck disable=SC2086  # the flags are words
  $CXX $CXXFLAGS -std=c++20 -I../include "$source" -o "$OUT/$target" $LIB_FUZZING_ENGINE
  corpus=corpus/${target#fuzz_}
  if [ -d "$corpus" ]; then zip -qr "$OUT/${target}_seed_corpus.zip" "$corpus"; fi
done
