#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds everything with warnings as errors and runs all tests.
#   scripts/test.sh [PRESET [CMAKE_OPTION...]]
# PRESET: one of CMakePresets.json, default release. CC and CXX choose the compiler, CONVOLUME_TEST_BUILD
# the folder of the build.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
preset=${1:-release}
[ $# -eq 0 ] || shift
scripts/install_packages.sh build tests python

# Takes the first Python with the packages of the tests: a user's environment may lack those of the
# system, or the system those of the environment.
python=/usr/bin/python3
for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import numpy, scipy, tifffile, h5py' 2>/dev/null; then
        python=$(command -v "$candidate")
        break
    fi
done

# Without a GPU the CUDA code is compiled for one architecture, to find errors.
if ls /dev/nvidia[0-9]* >/dev/null 2>&1; then
    set -- -DCONVOLUME_WITH_CUDA=AUTO "$@"
elif command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
    # This CUDA code is not run. CUDA 13 ends its compilation after the checks of the syntax, and versions before
    # skip optimization, if they can: both take minutes. Few files compile faster, as nvcc reads each three times.
    set -- -DCONVOLUME_WITH_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=80-virtual -DCONVOLUME_PASS_FILES=1 \
        -DCONVOLUME_JOIN_CUDA_SOURCES=ON "-DCMAKE_CUDA_FLAGS_RELEASE=-O1 -DNDEBUG" "$@"
    known_options=$(PATH="$PATH:/usr/local/cuda/bin" nvcc --help)
    for option in -fdevice-syntax-only --Ofast-compile=max; do
        case $known_options in
            *"${option%%=*}"*) set -- "-DCMAKE_CUDA_FLAGS=$option" "$@"; break ;;
        esac
    done
else
    echo "test.sh: there is no CUDA compiler (nvcc): the CUDA code is not compiled"
fi

# The Python package is tested with packages from PyPI, as its users have them.
venv=build/python-venv
scripts/python_venv.sh
case $preset in
    *san) ;;  # builds with sanitizers leave Python out, as a sanitizer must be loaded before it
    # All files of a target are compiled as one, which takes less than half the time, and finds names that clash in
    # users' builds, which join other files. Builds with sanitizers compile each file alone.
    *) set -- -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0 -DCONVOLUME_BUILD_PYTHON=ON \
        -DPython_EXECUTABLE="$root/$venv/bin/python" "$@" ;;
esac

# Benchmarks are not run, so the compiler only checks their sources.
set -- -DCONVOLUME_CHECK_BENCH=ON "$@"

build=${CONVOLUME_TEST_BUILD:-build/test-$preset${CXX:+-$(basename "$CXX")}}
cmake --preset "$preset" -B "$build" -DCONVOLUME_WARNINGS_AS_ERRORS=ON \
    -DCONVOLUME_PYTHON="$python" "$@"
# Prints what the build costs, and warns if it costs more than before.
"$root/bench/build_time.py" --run "test-$preset" -- cmake --build "$build"
# Tests run side by side: waiting threads of OpenMP should not spin.
export OMP_WAIT_POLICY=passive
exec scripts/ctest.sh "$build"
