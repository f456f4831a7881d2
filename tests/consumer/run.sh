#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the programs of this folder against an installed convolume, through CMake and
# through pkg-config, as C++20, and through CMake also as C++23.
#   run.sh PREFIX BUILD_FOLDER static|shared CXX [CMAKE_OPTION...]
# CONSUMER_STANDARDS: the standards, default "20 23".
set -eu
sources=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
prefix=$1
build=$2
kind=$3
compiler=$4
shift 4
library_folder=$(dirname "$(find "$prefix" -name 'libconvolume.*' | head -n 1)")

# Counts the installed headers outside of detail folders: private headers must not be among them.
headers=$(find "$prefix/include/convolume" -name '*.hpp' -o -name '*.cuh' | grep -vc /detail/)
[ "$headers" -le 52 ] || { echo "run.sh: $headers headers are installed" >&2; exit 1; }

cuda_option=
for standard in ${CONSUMER_STANDARDS:-20 23}; do
    cmake -S "$sources" -B "$build/cmake-$standard" -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_CXX_COMPILER="$compiler" -DCONSUMER_STANDARD="$standard" "$@" $cuda_option >/dev/null
    cmake --build "$build/cmake-$standard"
    "$build/cmake-$standard/consumer"
    CONVOLUME_FORMATS="$build/cmake-$standard/libformat_plugin.so" "$build/cmake-$standard/consumer" |
        grep -q PGM || { echo "run.sh: the plug-in's format is not there" >&2; exit 1; }
    "$build/cmake-$standard/installed_package"
    cuda_option=-DCONSUMER_CUDA=OFF  # CUDA has one standard, and its compiler is slow
done

# A program that does not read files is configured without the packages of the file formats.
set --
for package in TIFF HDF5C Deflate SndFile OpenJpeg pugixml; do
    set -- "$@" "-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON"
done
cmake -S "$sources/../docs/first_program" -B "$build/without_files" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_CXX_COMPILER="$compiler" "$@" >/dev/null

# Private functions must not be exported by a shared library.
if [ "$kind" = shared ] && nm -DC --defined-only "$library_folder/libconvolume.so" |
    grep -E 'convolume::(make_plan|make_cpu_engine|make_engines|decompose::)'; then
    echo "run.sh: the shared library exports what is private" >&2
    exit 1
fi

if ! command -v pkg-config >/dev/null; then
    echo "run.sh: pkg-config is missing: the package files for it are not tested"
    exit 0
fi
export PKG_CONFIG_PATH="$library_folder/pkgconfig"
# Links and runs the program of an object: link_object PACKAGE [PKG_CONFIG_OPTION]
link_object() {
    # shellcheck disable=SC2046,SC2086 # split into words on purpose
    "$compiler" -o "$build/program" "$build/program.o" $(pkg-config --libs ${2:-} "$1") ${CONSUMER_LINK_FLAGS:-}
    (cd "$build" && LD_LIBRARY_PATH="$library_folder" ./program)
}
# Programs of both packages link as the pages say, and with --static, which changes nothing for them.
# build_program SOURCE PACKAGE
build_program() {
    # shellcheck disable=SC2046 # split into words on purpose
    "$compiler" -std=c++20 -c -o "$build/program.o" "$1" $(pkg-config --cflags "$2")
    link_object "$2"
    [ "$kind" = shared ] || link_object "$2" --static
}
build_program "$sources/main.cpp" convolume-io
build_program "$sources/../../examples/installed_package.cpp" convolume
