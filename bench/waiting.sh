#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures what a person waits for, on a machine with a GPU: plans, single calls beside planned ones and
# peers, drop-ins beside the functions that they replace, and deconvolution from file to file.
#   bench/waiting.sh BUILD
# BUILD has the command, the benchmarks and the Python package. Python needs NumPy, SciPy and CuPy.
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")"
XDG_CACHE_HOME=$(mktemp -d)
export XDG_CACHE_HOME PYTHONPATH="$build/python${PYTHONPATH:+:$PYTHONPATH}"
trap 'rm -rf "$XDG_CACHE_HOME"' EXIT
python=${PYTHON:-python3}
echo "== plans, in a first and in a later process"
"$build/bench/convolume_plan_bench" --device auto
"$build/bench/convolume_plan_bench" --device auto
echo "== single calls"
"$python" one_call.py
echo "== drop-ins on the CPU"
"$python" drop_ins.py
echo "== drop-ins on the GPU"
"$python" drop_ins.py --gpu
echo "== deconvolution from file to file"
"$python" deconvolve_files.py "$build/cli/convolume"
