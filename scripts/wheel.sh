#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel of the Python package for this machine's Python and tests it where nothing else is
# installed.
#   scripts/wheel.sh [--cuda ARCHITECTURES] [--no-test]
# The wheel is in build/wheels. It holds the libraries that it needs (FFTW, libtiff, HDF5, …). HDF5
# in it does not read from S3. With FFTW inside, it is under the GPL as a whole. It computes on the
# CPU or, with --cuda, on GPUs, too: ARCHITECTURES are those of CMAKE_CUDA_ARCHITECTURES, such as
# "80-real;90". cuFFT is not inside: it comes with the extra of the CUDA version that the wheel was
# made with, pip install "convolume[cuda13]". Made by Python 3.12 or later, the wheel is for that
# version and all later ones.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
scripts/install_packages.sh build python
most_bytes=10000000  # a package that grows beyond has taken in what it does not need
cuda="-Ccmake.define.CONVOLUME_WITH_CUDA=OFF"
test=1
while [ $# -gt 0 ]; do
    case $1 in
        --no-test) test= ;;
        --cuda)
            [ $# -ge 2 ] || { echo "wheel.sh: --cuda takes architectures, such as \"80-real;90\"" >&2; exit 2; }
            # The extension and the command share one library, lest the kernels are there twice.
            cuda="-Ccmake.define.CONVOLUME_WITH_CUDA=ON -Ccmake.define.CMAKE_CUDA_ARCHITECTURES=$2
                -Ccmake.define.BUILD_SHARED_LIBS=ON"
            most_bytes=100000000  # what PyPI takes
            shift
            ;;
        *) echo "wheel.sh: there is no option $1; see the first lines of this script" >&2; exit 2 ;;
    esac
    shift
done

venv=build/python-venv
scripts/python_venv.sh
rm -rf build/wheels build/wheel-unrepaired
# $cuda is of words without blanks.
# shellcheck disable=SC2086
"$venv/bin/python" -m build --wheel --outdir build/wheel-unrepaired $cuda \
    -Ccmake.define.CONVOLUME_WITH_SNDFILE=OFF -Ccmake.define.CONVOLUME_WITH_OPENJPEG=OFF -Cbuild-dir=build/wheel .
scripts/wheel_without_network.sh build/wheel-stand-ins
LD_LIBRARY_PATH="$root/build/wheel-stand-ins:$root/build/wheel" PATH="$root/$venv/bin:$PATH" "$venv/bin/auditwheel" repair --strip -z 9 \
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
