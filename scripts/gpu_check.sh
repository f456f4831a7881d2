#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds on a machine with GPUs and runs the checks that CI cannot: tests and examples on devices, then
# the engines' tests under compute-sanitizer.
#   scripts/gpu_check.sh [--all] [FOLDER]
# --all runs every test of devices under every tool, which takes long. FOLDER, by default
# build/gpu/sanitizer, gets the output of the tools. Other tests of tests/gpu run CUDA kernels on the
# host, which CI does. A skipped test is a failure. CONVOLUME_SKIPS=allow permits it, for GPUs with
# less than 30 GiB free, which the largest image does not fit.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
build=build/gpu
tools=memcheck,racecheck
cases="GPU engine*,GPU filters*,device filter bank*"
if [ "${1:-}" = --all ]; then
    tools=memcheck,racecheck,synccheck,initcheck
    cases=
    shift
fi
out=${1:-$build/sanitizer}

cmake --preset cuda -B "$build" \
    -DCMAKE_CUDA_ARCHITECTURES="${CUDA_ARCHITECTURES:-native}"
cmake --build "$build" --target test_gpu example_deconvolve_on_gpu example_filter_on_gpu \
    convolume_gpu_bench
CONVOLUME_SKIPS=${CONVOLUME_SKIPS:-fail} "$build"/tests/gpu/test_gpu
"$build"/examples/example_deconvolve_on_gpu
"$build"/examples/example_filter_on_gpu

# The tools run fewer cases, as they slow CUDA kernels down a hundredfold.
CONVOLUME_TEST_CASES=40 "${CONVOLUME_PYTHON:-python3}" tests/campaign/check_sanitizers.py \
    "$build"/tests/gpu/test_gpu "$out" --tools "$tools" --cases "$cases"
