#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the program of docs/library/using.md that has convolume's sources as a part of its project, which
# FetchContent takes from this working tree, without a network. Then the same folder builds shared libraries of the same
# objects, and the command, installs them, and builds programs that use them. Without optimization, to be quick, and with
# each target as one unity source, to find clashing names.
#   sources.sh BUILD_FOLDER GENERATOR CXX [CMAKE_OPTION...]
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH='' cd -- "$here/../.." && pwd)
build=$1
generator=$2
compiler=$3
shift 3
rm -rf "$build"
# The project has no build type of its own, so that convolume is built with the flags of Release.
cmake -S "$root/tests/docs/fetched_program" -B "$build" -G "$generator" -DCMAKE_CXX_COMPILER="$compiler" "$@" \
    -DFETCHCONTENT_SOURCE_DIR_CONVOLUME="$root" -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DCONVOLUME_WITH_CUDA=OFF \
    -DCMAKE_UNITY_BUILD_BATCH_SIZE=0 -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null

compiled=$(grep -c '"command":' "$build/compile_commands.json")
[ "$compiled" -le 50 ] || { echo "sources.sh: $compiled files are compiled, not one for several" >&2; exit 1; }
of_release=$(grep -c '"command":.* -O0 ' "$build/compile_commands.json")
[ "$of_release" -eq $((compiled - 1)) ] ||
    { echo "sources.sh: of $compiled files, $of_release are built as Release, not all but the program" >&2; exit 1; }

cmake --build "$build" --target blur --parallel
"$build/blur"
cmake --install "$build" --prefix "$build/installed" >/dev/null
[ ! -e "$build/installed" ] || { echo "sources.sh: convolume is installed with the program" >&2; exit 1; }

cmake "$build" -DBUILD_SHARED_LIBS=ON -DCONVOLUME_BUILD_COMMAND=ON -DCONVOLUME_INSTALL=ON >/dev/null
cmake --build "$build" --parallel
"$build/blur"
cmake --install "$build" --config Release --prefix "$build/installed" >/dev/null
"$build/installed/bin/convolume" --version
export CONSUMER_STANDARDS=20
exec "$here/run.sh" "$build/installed" "$build/programs" shared "$compiler"
