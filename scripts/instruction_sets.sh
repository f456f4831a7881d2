#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of vector code once with each instruction set that a build and this machine have, instead
# of only with the best one.
#   scripts/instruction_sets.sh BUILD [CTEST_OPTION...]
set -eu
build=$1
shift
status=0
count=0
for instructions in AVX3 AVX2 SSE4 baseline; do
    # A test program ends with 77 if it has no such instructions; Catch2 2 ends a list with its length.
    code=0
    CONVOLUME_INSTRUCTIONS=$instructions "$build/tests/cpu/test_own_fft" --list-tests >/dev/null 2>&1 || code=$?
    [ "$code" -ne 77 ] || continue
    echo "instructions: $instructions"
    count=$((count + 1))
    CONVOLUME_INSTRUCTIONS=$instructions ctest --test-dir "$build" --output-on-failure -j "$(nproc)" "$@" \
        -R '^test_(core|decompose|column_fft|row_fft|own_fft|fft_plan|cpu_engine|convolver|filter|deconvolve|walks)$' ||
        status=$?
done
if [ "$count" -lt 2 ]; then
    echo "instruction_sets.sh: $build has tests for $count instruction sets" >&2
    exit 1
fi
exit "$status"
