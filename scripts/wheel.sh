#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel of the Python package for this machine's Python and tests it where nothing else is
# installed.
#   scripts/wheel.sh [--no-test]
# The wheel is in build/wheels. It holds the libraries that it needs (FFTW, libtiff, HDF5, …), and
# computes on the CPU. HDF5 in it does not read from S3. With FFTW inside, it is under the GPL as a
# whole.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
scripts/install_packages.sh build python
most_bytes=10000000  # a package that grows beyond has taken in what it does not need
test=1
[ "${1:-}" != --no-test ] || test=

venv=build/python-venv
scripts/python_venv.sh
rm -rf build/wheels build/wheel-unrepaired
"$venv/bin/python" -m build --wheel --outdir build/wheel-unrepaired \
    -Ccmake.define.CONVOLUME_WITH_CUDA=OFF -Ccmake.define.CONVOLUME_WITH_SNDFILE=OFF .
scripts/wheel_without_network.sh build/wheel-stand-ins
LD_LIBRARY_PATH="$root/build/wheel-stand-ins" PATH="$root/$venv/bin:$PATH" "$venv/bin/auditwheel" repair --strip -z 9 \
    -w build/wheels build/wheel-unrepaired/*.whl
ls -l build/wheels
size=$(wc -c <"$(echo build/wheels/*.whl)")
[ "$size" -le "$most_bytes" ] || { echo "wheel.sh: the wheel has $size bytes, more than $most_bytes" >&2; exit 1; }

[ -n "$test" ] || exit 0
fresh=build/wheel-venv
rm -rf "$fresh"
python3 -m venv "$fresh"
"$fresh/bin/pip" install -q --disable-pip-version-check build/wheels/*.whl pytest hypothesis scipy scikit-image \
    tensorstore
"$fresh/bin/convolume" --version
PATH="$root/$fresh/bin:$PATH" convolume process --help >/dev/null
cd python/tests
unset PYTHONPATH
"$root/$fresh/bin/python" -m pytest -q -p no:cacheprovider .
