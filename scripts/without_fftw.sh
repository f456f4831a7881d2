#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds everything without FFTW, in a folder of its own, and runs all tests.
#   scripts/without_fftw.sh [CMAKE_OPTION...]
# A header in the place of FFTW's stops the compiler where a source includes it, as on a machine without
# FFTW. At the end no program may load FFTW.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
headers=$root/build/without-fftw-headers
mkdir -p "$headers"
echo '#error "this build has no FFTW"' >"$headers/fftw3.h"
CONVOLUME_TEST_BUILD=build/test-without-fftw
export CONVOLUME_TEST_BUILD
scripts/test.sh release -DCONVOLUME_WITH_FFTW=OFF "-DCMAKE_CXX_FLAGS=-I$headers" "$@"
for program in "$CONVOLUME_TEST_BUILD"/cli/convolume "$CONVOLUME_TEST_BUILD"/tests/*/test_*; do
    if [ -f "$program" ] && [ -x "$program" ] && ldd "$program" | grep -q libfftw; then
        echo "without_fftw.sh: $program loads FFTW; remove it from what it links" >&2
        exit 1
    fi
done
echo "no program loads FFTW"
