#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and installs shared libraries, the command, and programs that use them. Without
# optimization, to be quick, and with each target as one unity source, to find clashing names.
#   shared.sh BUILD_FOLDER GENERATOR CXX [CMAKE_OPTION...]
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
build=$1
generator=$2
compiler=$3
shift 3
cmake -S "$here/../.." -B "$build/library" -G "$generator" -DCMAKE_CXX_COMPILER="$compiler" "$@" \
    -DBUILD_SHARED_LIBS=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
    -DCONVOLUME_WITH_CUDA=OFF -DCMAKE_UNITY_BUILD_BATCH_SIZE=0 >/dev/null
cmake --build "$build/library"
rm -rf "$build/installed"
cmake --install "$build/library" --prefix "$build/installed" >/dev/null
"$build/installed/bin/convolume" --version
exec "$here/run.sh" "$build/installed" "$build" shared "$compiler"
