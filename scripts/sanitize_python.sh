#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the Python package with sanitizers of addresses and undefined behavior, and runs its tests.
#   scripts/sanitize_python.sh [PYTEST_ARGUMENT...]
# PYTHON names the Python to build for, which has nanobind, NumPy, SciPy, pytest and hypothesis; they
# may also be on PYTHONPATH. By default it is that of build/python-venv, made here where it is missing.
# TARGET=convolume_python builds the extension; TARGET=some other target of Ninja builds that alone
# and runs nothing.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
if [ -z "${PYTHON:-}" ]; then
    scripts/python_venv.sh
    PYTHON=$root/build/python-venv/bin/python
fi
build=build/asan-python
target=${TARGET:-convolume_python}
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCONVOLUME_SANITIZE=address,undefined \
    -DCONVOLUME_BUILD_PYTHON=ON -DCONVOLUME_BUILD_TESTS=OFF -DCONVOLUME_BUILD_BENCH=OFF \
    -DCONVOLUME_BUILD_EXAMPLES=OFF -DCONVOLUME_BUILD_COMMAND=OFF -DCONVOLUME_WITH_CUDA=OFF \
    "-DPython_EXECUTABLE=$PYTHON"
cmake --build "$build" --target "$target"
[ "$target" = convolume_python ] || exit 0

# Python itself knows nothing of the sanitizer, which has to come first; it looks for the function
# that throws exceptions when it starts, so that libstdc++ comes along.
library() { readlink -f "$("${CXX:-c++}" "-print-file-name=$1")"; }
preload="$(library libasan.so) $(library libstdc++.so.6)"

# Python and NumPy keep memory until the process ends: tests search leaks by how much a process
# grows. That says nothing here, as the sanitizer keeps what is freed.
PYTHONPATH="$root/$build/python${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONPATH
[ $# -gt 0 ] || set -- .
cd python/tests  # not beside the sources of the package, which Python would import instead
LD_PRELOAD=$preload \
    ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:strict_string_checks=1:${ASAN_OPTIONS:-}" \
    UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1:${UBSAN_OPTIONS:-}" \
    exec "$PYTHON" -m pytest -p no:cacheprovider --ignore test_leaks.py \
    --deselect python/tests/test_convolve.py::test_no_memory_is_lost "$@"
