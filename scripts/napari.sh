#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs napari and the plugin into build/napari-venv. Then runs the plugin's tests, or draws the
# pictures of its page.
#   scripts/napari.sh [install|tests|pictures] [BUILD]     default: tests, with build/napari
# BUILD is a build folder with the Python package; build/napari is built first.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
what=${1:-tests}
case $what in
    install | tests | pictures) ;;
    *) sed -n '3,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
scripts/install_packages.sh build python napari

scripts/python_venv.sh
venv=build/napari-venv
wanted=scripts/napari_requirements.txt
if ! cmp -s "$wanted" "$venv/installed.txt"; then
    build/python-venv/bin/python -m venv "$venv"  # the extension is for that Python
    "$venv/bin/pip" install -q --disable-pip-version-check -r "$wanted"
    "$venv/bin/pip" install -q --disable-pip-version-check --no-deps --no-build-isolation -e python/napari_convolume
    cp "$wanted" "$venv/installed.txt"
fi
[ "$what" != install ] || exit 0

if [ $# -gt 1 ]; then
    build=$2
else
    build=build/napari
    cmake --preset release -B "$build" -DCONVOLUME_BUILD_TESTS=OFF -DCONVOLUME_BUILD_PYTHON=ON \
        -DPython_EXECUTABLE="$root/build/python-venv/bin/python"
    cmake --build "$build" --target convolume_python
fi
export PYTHONPATH="$build/python"
if [ "$what" = pictures ]; then
    # Without a screen, Qt has no OpenGL: so the pictures are drawn on a virtual one.
    exec xvfb-run -a -s '-screen 0 1400x1000x24' "$venv/bin/python" scripts/napari_pictures.py
fi
QT_QPA_PLATFORM=offscreen exec "$venv/bin/python" -m pytest -q -p no:cacheprovider python/napari_convolume/tests
