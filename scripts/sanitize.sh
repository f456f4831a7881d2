#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds tests with sanitizers and runs them.
#   scripts/sanitize.sh [KIND [TEST...]]
# KIND: address (with undefined behavior; default) or thread (with Clang, if it is installed and CXX is
# not set). TEST: test programs to build and run, such as test_core; default all.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
kind=${1:-address}
[ $# -eq 0 ] || shift
case $kind in
    address) preset=asan-ubsan ;;
    thread)
        preset=tsan
        if [ -z "${CXX:-}" ] && command -v clang++ >/dev/null; then export CC=clang CXX=clang++; fi
        ;;
    *)
        echo "sanitize.sh: $kind is neither address nor thread; give one of them" >&2
        exit 2
        ;;
esac
cmake --preset "$preset" -DCONVOLUME_WITH_CUDA=OFF -DCONVOLUME_BUILD_BENCH=OFF \
    "-DCONVOLUME_PYTHON=${CONVOLUME_PYTHON:-/usr/bin/python3}"
if [ $# -eq 0 ]; then
    cmake --build --preset "$preset"
    exec scripts/ctest.sh "build/$preset"
fi
cmake --build --preset "$preset" --target "$@"
names=$(echo "$*" | tr ' ' '|')
exec scripts/ctest.sh "build/$preset" -R "^($names)\$"
