#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds on a machine with GPUs and runs what CI cannot: the tests and the example on devices, and
# the engines' tests again under compute-sanitizer. Results of the sanitizer's tools go to $1 (default
# build/gpu/sanitizer). The other tests of tests/gpu run kernels on the host: CI runs them.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
build=build/gpu
out=${1:-$build/sanitizer}
mkdir -p "$out"

cmake --preset cuda -B "$build" \
    -DCMAKE_CUDA_ARCHITECTURES="${CUDA_ARCHITECTURES:-native}"
cmake --build "$build" --target test_gpu example_filter_on_gpu convolume_gpu_bench
"$build"/tests/gpu/test_gpu
"$build"/examples/example_filter_on_gpu

# Fewer cases: the tools slow kernels down a hundredfold.
for tool in memcheck racecheck; do
    CONVOLUME_TEST_CASES=40 compute-sanitizer --tool "$tool" --error-exitcode 9 \
        "$build"/tests/gpu/test_gpu "GPU engine*,GPU filters*,device filter bank*" \
        >"$out/$tool.log" 2>&1 ||
        { tail -40 "$out/$tool.log"; exit 1; }
    tail -3 "$out/$tool.log"
done
