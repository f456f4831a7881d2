#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the program of docs/library/using.md that has convolume's sources as a part of its project, which
# FetchContent takes from this working tree, without a network. Without optimization, to be quick.
#   fetched.sh BUILD_FOLDER GENERATOR CXX [CMAKE_OPTION...]
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=$1
generator=$2
compiler=$3
shift 3
rm -rf "$build"
# The project has no build type of its own, so that convolume is built with the flags of Release.
cmake -S "$root/tests/docs/fetched_program" -B "$build" -G "$generator" -DCMAKE_CXX_COMPILER="$compiler" "$@" \
    -DFETCHCONTENT_SOURCE_DIR_CONVOLUME="$root" -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DCONVOLUME_WITH_CUDA=OFF \
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null

compiled=$(grep -c '"command":' "$build/compile_commands.json")
[ "$compiled" -le 50 ] || { echo "fetched.sh: $compiled files are compiled, not one for several" >&2; exit 1; }
of_release=$(grep -c '"command":.* -O0 ' "$build/compile_commands.json")
[ "$of_release" -eq $((compiled - 1)) ] ||
    { echo "fetched.sh: of $compiled files, $of_release are built as Release, not all but the program" >&2; exit 1; }

cmake --build "$build" --target blur --parallel
"$build/blur"
cmake --install "$build" --prefix "$build/installed" >/dev/null
[ ! -e "$build/installed" ] || { echo "fetched.sh: convolume is installed with the program" >&2; exit 1; }
