#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel of the Python package for this machine's Python, and tests it in an environment
# without other packages.
#   scripts/wheel.sh [--cuda ARCHITECTURES] [--no-test]
# The wheel is in build/wheels. It holds the libraries that it needs (libtiff, HDF5, …). HDF5 in it does
# not read from S3, and libtiff no JBIG. It has no FFTW and no other library under the GPL. It computes
# on the CPU and, with --cuda, on GPUs: ARCHITECTURES has the form of CMAKE_CUDA_ARCHITECTURES, such as
# "80-real;90". It does not include cuFFT, which an extra installs for the CUDA version of the build:
# pip install "convolume[cuda13]". If Python 3.12 or later makes the wheel, it works with that version
# and all later ones.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
scripts/install_packages.sh build python
most_bytes=10000000  # a larger wheel includes libraries that it does not need
cuda="-Ccmake.define.CONVOLUME_WITH_CUDA=OFF"
test=1
while [ $# -gt 0 ]; do
    case $1 in
        --no-test) test= ;;
        --cuda)
            [ $# -ge 2 ] || { echo "wheel.sh: --cuda takes architectures, such as \"80-real;90\"" >&2; exit 2; }
            cuda="-Ccmake.define.CONVOLUME_WITH_CUDA=ON -Ccmake.define.CMAKE_CUDA_ARCHITECTURES=$2"
            most_bytes=100000000  # PyPI accepts no larger files
            shift
            ;;
        *) echo "wheel.sh: there is no option $1; see the first lines of this script" >&2; exit 2 ;;
    esac
    shift
done

venv=build/python-venv
scripts/python_venv.sh
rm -rf build/wheels build/wheel-unrepaired
# The extension and the command share libraries, so that the wheel has their machine code, above all the
# CUDA kernels, only once. The words in $cuda contain no blanks.
# shellcheck disable=SC2086
"$venv/bin/python" -m build --wheel --outdir build/wheel-unrepaired $cuda \
    -Ccmake.define.BUILD_SHARED_LIBS=ON \
    -Ccmake.define.CONVOLUME_WITH_SNDFILE=OFF -Ccmake.define.CONVOLUME_WITH_OPENJPEG=OFF \
    -Ccmake.define.CONVOLUME_WITH_CAIRO=ON -Cbuild-dir=build/wheel .
if readelf -d build/wheel/cli/convolume | grep -q 'libcairo'; then
    echo "wheel.sh: a shared Cairo needs X11, which is not on every machine; Cairo has to be linked statically" >&2
    exit 1
fi
scripts/wheel_stand_ins.sh build/wheel-stand-ins
LD_LIBRARY_PATH="$root/build/wheel-stand-ins:$root/build/wheel" PATH="$root/$venv/bin:$PATH" "$venv/bin/auditwheel" repair --strip -z 9 \
    -w build/wheels build/wheel-unrepaired/*.whl
ls -l build/wheels
size=$(wc -c <"$(echo build/wheels/*.whl)")
[ "$size" -le "$most_bytes" ] || { echo "wheel.sh: the wheel has $size bytes, more than $most_bytes" >&2; exit 1; }

# JBIG-KIT's stand-in is a few kilobytes; FFTW has none.
if "$venv/bin/python" -m zipfile -l build/wheels/*.whl |
    awk '/libfftw/ || (/libjbig/ && $NF > 30000) { print; found = 1 } END { exit !found }'; then
    echo "wheel.sh: the wheel has these libraries, which are under the GPL" >&2
    exit 1
fi

[ -n "$test" ] || exit 0
fresh=build/wheel-venv
rm -rf "$fresh"
python3 -m venv "$fresh"
"$fresh/bin/pip" install -q --disable-pip-version-check build/wheels/*.whl pytest hypothesis scipy scikit-image \
    tensorstore "dask[array]"
"$fresh/bin/convolume" --version
PATH="$root/$fresh/bin:$PATH" convolume process --help >/dev/null
cd python/tests
unset PYTHONPATH
"$root/$fresh/bin/python" -m pytest -q -p no:cacheprovider .
