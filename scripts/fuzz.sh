#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the readers on random files and texts, with Clang's libFuzzer and sanitizers, and prints the
# number of inputs. Inputs that cause a fault are kept in build/fuzz/findings.
#   scripts/fuzz.sh [HOURS [TARGET...]]
# HOURS: time for each target, default 0.05. TARGET: one of those below; default all except command,
# which needs a build of the whole library.
#   tiff hdf5 npy mrc wav raw  files
#   description bdv        descriptions in TIFF files; XML beside HDF5 files of BigDataViewer
#   text psf command       options; parameters of a PSF; whole command lines, which are not run
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
hours=${1:-0.05}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- tiff hdf5 npy mrc wav raw description bdv text psf
build=build/fuzz
python=${CONVOLUME_PYTHON:-/usr/bin/python3}
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER="${CXX:-clang++}" \
    -DCMAKE_C_COMPILER="${CC:-clang}" -DCONVOLUME_WITH_CUDA=OFF -DCONVOLUME_BUILD_TESTS=ON -DCONVOLUME_FUZZ=ON \
    -DCONVOLUME_SANITIZE=address,undefined,fuzzer-no-link "-DCONVOLUME_PYTHON=$python" >/dev/null
targets=
for target in "$@"; do targets="$targets fuzz_$target"; done
# shellcheck disable=SC2086
cmake --build "$build" --target $targets
"$python" tests/campaign/fuzz/make_corpus.py "$build/corpus"
mkdir -p "$build/findings"
seconds=$(awk "BEGIN { s = int($hours * 3600); print (s > 0 ? s : 1) }") # 0 means no limit to libFuzzer
harm=0
for target in "$@"; do
    case $target in
        text) longest=64 ;;
        psf | bdv | command) longest=1024 ;;
        *) longest=65536 ;;
    esac
    log=$build/$target.log
    if ! "$build/tests/campaign/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len="$longest" -timeout=30 \
        -rss_limit_mb=4096 -artifact_prefix="$build/findings/$target-" -print_final_stats=1 -print_funcs=0 "$build/corpus/$target" \
        >"$log" 2>&1; then
        harm=1
        echo "fuzz.sh: $target found something, see $log"
    fi
    tried=$(awk '/number_of_executed_units/ { print $2 }' "$log")
    echo "fuzz.sh: $target: ${tried:-?} inputs in $seconds s"
done
exit "$harm"
