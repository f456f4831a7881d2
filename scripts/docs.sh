#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the documentation into build/site: the pages of docs/ by MkDocs and the API's by Doxygen. A
# warning of either, such as a broken link, is an error, and so is a Python reference that is not that
# of the docstrings. Needs doxygen and python3 with venv.
#   scripts/docs.sh --reference   writes the Python reference anew, before it builds
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
scripts/install_packages.sh docs

venv=build/docs-venv
mkdir -p build
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r scripts/docs_requirements.txt

[ "${1-}" != --reference ] || "$venv/bin/python" scripts/python_reference.py
"$venv/bin/python" scripts/python_reference.py --check

# MkDocs reads one folder, which gets the pages, the changelog and the API's pages.
rm -rf build/docs
cp -R docs build/docs
cp CHANGELOG.md build/docs/changelog.md
doxygen Doxyfile
"$venv/bin/mkdocs" build --strict
echo "the documentation is in $root/build/site: open index.html"
