#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the size of the product: files, lines of each folder, longest functions, longest parameter
# lists, and private headers that only one file includes.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
venv=build/lint-tools
if ! cmp -s scripts/lint_requirements.txt "$venv/installed.txt"; then
    /usr/bin/python3 -m venv "$venv"
    "$venv/bin/pip" install -q -r scripts/lint_requirements.txt
    cp scripts/lint_requirements.txt "$venv/installed.txt"
fi
exec "$venv/bin/python" scripts/size.py
