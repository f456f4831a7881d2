#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes build/python-venv, with the packages of PyPI that tests of the Python package and its wheel need.
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
