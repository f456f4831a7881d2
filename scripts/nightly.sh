#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs what takes too long for each change: all tests without FFTW, with each backend of threads, the
# tests of vector code with each instruction set, all cases of other libraries' tests, and calls of the Python
# package with unusual arguments. scripts/test.sh has run all other tests with FFTW and the pool.
#   scripts/nightly.sh [CMAKE_OPTION...]
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
status=0
scripts/without_fftw.sh "$@" -DCONVOLUME_THREADS=openmp || status=$?
# In the same folder only the backend is compiled, and programs are linked again.
scripts/without_fftw.sh "$@" -DCONVOLUME_THREADS=pool || status=$?
scripts/instruction_sets.sh build/test-without-fftw || status=$?
scripts/foreign_tests.sh build/test-without-fftw/python || status=$?
PYTHONPATH=build/test-without-fftw/python build/python-venv/bin/python tests/campaign/fuzz/fuzz_python.py \
    --seconds 600 --seed "$(date +%j)" || status=$?
exit "$status"
