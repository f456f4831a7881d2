#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes build/python-venv: what tests of the Python package and its wheel take from PyPI.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
"$root/scripts/install_packages.sh" build python
venv=$root/build/python-venv
wanted=$root/scripts/python_requirements.txt
if ! cmp -s "$wanted" "$venv/installed.txt"; then
    mkdir -p "$root/build"
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check -r "$wanted"
    cp "$wanted" "$venv/installed.txt"
fi
