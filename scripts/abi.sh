#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares the binary interfaces of the shared libraries of two commits by libabigail, and fails if a
# program that was linked with OLD might not run with NEW although both have the same SONAME.
#   scripts/abi.sh OLD [NEW]
# OLD and NEW are commits, or folders of builds with shared libraries and debugging information. NEW is
# HEAD by default. A commit is built in build/abi, without CUDA, once. Reports are written there, too.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
case $# in 1 | 2) ;; *) sed -n '3,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;; esac
scripts/install_packages.sh build abi

# Prints the folder with the libraries of a commit, which it builds if it has not been built.
libraries_of() {
    if [ -e "$1/libconvolume.so" ]; then
        echo "$1"
        return
    fi
    commit=$(git rev-parse -q --verify "$1^{commit}") || {
        echo "abi.sh: $1 is neither a commit nor a folder with libconvolume.so" >&2
        exit 2
    }
    build=build/abi/$commit
    if [ ! -e "$build/built/libconvolume-io.so" ]; then
        mkdir -p "$build/sources"
        git archive "$commit" | tar -x -C "$build/sources"
        cmake -S "$build/sources" -B "$build/built" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS="-g -O1" \
            -DBUILD_SHARED_LIBS=ON -DCONVOLUME_WITH_CUDA=OFF -DCONVOLUME_BUILD_COMMAND=OFF >&2
        cmake --build "$build/built" -j "$(nproc)" >&2
    fi
    echo "$build/built"
}

soname_of() { readelf -d "$1" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'; }

old=$(libraries_of "$1")
new=$(libraries_of "${2:-HEAD}")
mkdir -p build/abi
status=0
for library in libconvolume libconvolume-io; do
    report=build/abi/$library.txt
    result=0
    abidiff --no-added-syms "$old/$library.so" "$new/$library.so" >"$report" || result=$?
    # Bits of abidiff's exit status: 1 or 2 is a failure, 4 a change, 8 a change that breaks programs.
    if [ $((result & 3)) -ne 0 ]; then
        cat "$report" >&2
        exit 2
    elif [ "$result" -eq 0 ]; then
        echo "$library: compatible"
    elif [ "$(soname_of "$old/$library.so")" != "$(soname_of "$new/$library.so")" ]; then
        echo "$library: changed, as a new SONAME may ($report)"
    else
        cat "$report"
        echo "$library: changed with the same SONAME: raise the minor version, or undo the change" >&2
        status=1
    fi
done
exit $status
