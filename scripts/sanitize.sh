#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds all tests with sanitizers of addresses and undefined behavior, and runs them.
#   scripts/sanitize.sh [CTEST_OPTION...]
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
cmake --preset asan-ubsan -DCONVOLUME_WITH_CUDA=OFF -DCONVOLUME_BUILD_BENCH=OFF \
    "-DCONVOLUME_PYTHON=${CONVOLUME_PYTHON:-/usr/bin/python3}"
cmake --build --preset asan-ubsan
exec ctest --test-dir build/asan-ubsan --output-on-failure -j "$(nproc)" "$@"
