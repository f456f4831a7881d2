#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel of the Python package for this machine's Python, and tests it in an environment
# without other packages.
#   scripts/wheel.sh [--cuda ARCHITECTURES | --arm SYSROOT] [--no-test]
# The wheel is in build/wheels. It holds the libraries that it needs (libtiff, HDF5, …). HDF5 in it does
# not read from S3, and libtiff no JBIG. It has no FFTW and no other library under the GPL. It computes
# on the CPU and, with --cuda, on GPUs: ARCHITECTURES has the form of CMAKE_CUDA_ARCHITECTURES, such as
# "80-real;90". It does not include cuFFT, which an extra installs for the CUDA version of the build:
# pip install "WHEEL[cuda13]". CUDACXX and CUDAToolkit_ROOT in the environment choose another toolkit,
# such as that of scripts/cuda12_toolkit.sh. If Python 3.12 or later makes the wheel, it works with that version
# and all later ones.
# With --arm it is for 64-bit ARM, and in build/arm/wheels. It is cross-compiled with the packages of arm64 in
# SYSROOT, for the Python there, and not tested: scripts/arm.sh wheel makes that folder, and tests the wheel.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
scripts/install_packages.sh build python
sysroot=
kind=wheel  # names the folders in build/
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
        --arm)
            [ -e "${2:-}/usr/bin/python3" ] || {
                echo "wheel.sh: --arm takes a folder with packages of arm64; run scripts/arm.sh wheel" >&2
                exit 2
            }
            sysroot=$(cd "$2" && pwd)
            kind=arm/wheel
            test=
            shift
            ;;
        *) echo "wheel.sh: there is no option $1; see the first lines of this script" >&2; exit 2 ;;
    esac
    shift
done

venv=build/python-venv
scripts/python_venv.sh
rm -rf "build/${kind}s" "build/$kind-unrepaired"
tools=  # beginning of the names of compiler and binary tools
for_arm=
if [ -n "$sysroot" ]; then
    python=$(cd "$sysroot/usr/bin" && readlink python3)
    "$venv/bin/python" -c "import sys; sys.exit('$python' != 'python%d.%d' % sys.version_info[:2])" || {
        echo "wheel.sh: the Python that builds has to be of the same version as that for ARM, $python" >&2
        exit 1
    }
    tools=aarch64-linux-gnu-
    mkdir -p build/arm/tools
    printf '#!/bin/sh\nexec qemu-aarch64 -L "%s" "%s" "$@"\n' "$sysroot" "$sysroot/usr/bin/python3" >build/arm/tools/python3
    chmod +x build/arm/tools/python3
    ln -sf "$(command -v ${tools}strip)" build/arm/tools/strip  # auditwheel calls it
    for_arm="-Ccmake.define.CMAKE_TOOLCHAIN_FILE=$root/cmake/aarch64-linux-gnu.cmake
        -Ccmake.define.CMAKE_SYSROOT=$sysroot -Ccmake.python-hints=false
        -Ccmake.define.Python_EXECUTABLE=$root/build/arm/tools/python3
        -Ccmake.define.Python_INCLUDE_DIR=$sysroot/usr/include/$python
        -Ccmake.define.nanobind_DIR=$("$venv/bin/python" -m nanobind --cmake_dir)"
    # scikit-build-core takes the platform of this machine and the ending of the extension from these.
    export _PYTHON_HOST_PLATFORM=linux-aarch64
    SETUPTOOLS_EXT_SUFFIX=.$(build/arm/tools/python3 -c 'import sysconfig; print(sysconfig.get_config_var("SOABI"))').so
    export SETUPTOOLS_EXT_SUFFIX
fi
# The extension and the command share libraries, so that the wheel has their machine code, above all the
# CUDA kernels, only once. The words in $cuda and $for_arm contain no blanks.
# shellcheck disable=SC2086
"$venv/bin/python" -m build --wheel --outdir "build/$kind-unrepaired" $cuda $for_arm \
    -Ccmake.define.BUILD_SHARED_LIBS=ON \
    -Ccmake.define.CONVOLUME_WITH_SNDFILE=OFF -Ccmake.define.CONVOLUME_WITH_OPENJPEG=OFF \
    -Ccmake.define.CONVOLUME_WITH_CAIRO=ON -Cbuild-dir="build/$kind" .
if readelf -d "build/$kind/cli/convolume" | grep -q 'libcairo'; then
    echo "wheel.sh: a shared Cairo needs X11, which is not on every machine; Cairo has to be linked statically" >&2
    exit 1
fi
scripts/wheel_stand_ins.sh "build/$kind-stand-ins" "$tools" "$sysroot"
path=$root/$venv/bin:$PATH
elsewhere=
if [ -n "$sysroot" ]; then
    path=$root/build/arm/tools:$path
    elsewhere="--ldpaths $sysroot/lib/aarch64-linux-gnu:$sysroot/usr/lib/aarch64-linux-gnu"
fi
# shellcheck disable=SC2086
AUDITWHEEL_LD_LIBRARY_PATH="$root/build/$kind-stand-ins:$root/build/$kind" PATH="$path" \
    "$venv/bin/auditwheel" repair --strip -z 9 $elsewhere -w "build/${kind}s" "build/$kind-unrepaired"/*.whl
ls -l "build/${kind}s"
size=$(wc -c <"$(echo "build/${kind}s"/*.whl)")
[ "$size" -le "$most_bytes" ] || { echo "wheel.sh: the wheel has $size bytes, more than $most_bytes" >&2; exit 1; }

# The stand-in for JBIG-KIT has this sentence in it; FFTW has no stand-in.
"$venv/bin/python" - "build/${kind}s"/*.whl <<'END' || {
import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
gpl = [name for name in wheel.namelist()
       if "libfftw" in name or "libjbig" in name and b"JBIG is not part of this build" not in wheel.read(name)]
print(*gpl, sep="\n", end="")
sys.exit(bool(gpl))
END
    echo "wheel.sh: the wheel has these libraries, which are under the GPL" >&2
    exit 1
}

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
