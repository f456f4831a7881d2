#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the Python package with sanitizers of addresses and undefined behavior, and runs its tests.
#   scripts/sanitize_python.sh [PYTEST_ARGUMENT...]
# PYTHON is the Python to build for, with nanobind, NumPy, SciPy, pytest and hypothesis, which may also
# be on PYTHONPATH. The default is that of build/python-venv, which is made if it is missing.
# TARGET=convolume_python builds the extension and runs the tests. Another target of Ninja is built,
# and no test runs.
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
    -DCONVOLUME_BUILD_EXAMPLES=OFF -DCONVOLUME_WITH_CUDA=OFF \
    "-DPython_EXECUTABLE=$PYTHON"
cmake --build "$build" --target "$target"
[ "$target" = convolume_python ] || exit 0

# Python is built without the sanitizer, which must therefore be loaded first. At its start the
# sanitizer looks for the function that throws exceptions, so that libstdc++ is loaded, too.
library() { readlink -f "$("${CXX:-c++}" "-print-file-name=$1")"; }
preload="$(library libasan.so) $(library libstdc++.so.6)"

# Leaks are not reported, as Python and NumPy keep memory until the process ends. Tests of leaks, which
# measure the growth of a process, are left out, as the sanitizer keeps freed memory.
PYTHONPATH="$root/$build/python${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONPATH
[ $# -gt 0 ] || set -- .
cd python/tests  # in python, the sources would be imported instead of the built package
LD_PRELOAD=$preload \
    ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:strict_string_checks=1:${ASAN_OPTIONS:-}" \
    UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1:${UBSAN_OPTIONS:-}" \
    exec "$PYTHON" -m pytest -p no:cacheprovider --ignore test_leaks.py \
    --deselect python/tests/test_convolve.py::test_no_memory_is_lost "$@"
