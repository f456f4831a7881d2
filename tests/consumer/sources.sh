#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the program of docs/library/using.md that has convolume's sources as a part of its project, which
# FetchContent takes from this working tree, without a network. Then the same folder builds shared libraries of the same
# objects, and the command, installs them, and builds programs that use them. To be quick, objects that this project's own
# build has made of the same sources with the same commands are copied, and others are compiled without optimization.
#   sources.sh BUILD_FOLDER OWN_BUILD_FOLDER GENERATOR CXX [CMAKE_OPTION...]
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH='' cd -- "$here/../.." && pwd)
build=$1
own_build=$2
generator=$3
compiler=$4
shift 4
rm -rf "$build"
launcher="$here/reuse_object.py;$build/_deps/convolume-build;$own_build"
# The project has no build type of its own, so that convolume is built with the flags of Release.
cmake -S "$root/tests/docs/fetched_program" -B "$build" -G "$generator" -DCMAKE_CXX_COMPILER="$compiler" "$@" \
    -DFETCHCONTENT_SOURCE_DIR_CONVOLUME="$root" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" -DCMAKE_CUDA_COMPILER_LAUNCHER="$launcher" >/dev/null

# commands PATTERN: counts the commands that compile C++ and contain the pattern.
commands() {
    grep '"command":.*\.c[px][px]"' "$build/compile_commands.json" | grep -c -e "$1" || true
}
compiled=$(commands "")
[ "$compiled" -le 50 ] || { echo "sources.sh: $compiled files are compiled, not one for several" >&2; exit 1; }
of_release=$(commands " -DNDEBUG ")
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
