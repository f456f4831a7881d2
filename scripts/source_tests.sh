#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Downloads the sources of a package from PyPI and unpacks a folder of them, for packages whose wheels have no tests.
#   scripts/source_tests.sh TARGET PACKAGE VERSION FOLDER
set -eu
target=$1 package=$2 version=$3 folder=$4
[ "$(cat "$target/version.txt" 2>/dev/null)" != "$version" ] || exit 0
pip=${PYTHON:-$(dirname -- "$0")/../build/python-venv/bin/python}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# pip asks the package's build system for the metadata before it keeps a download. This one, under the name of every
# build system that is used here, answers at once. So nothing is built.
cat >"$work/mesonpy.py" <<END
import pathlib

def get_requires_for_build_wheel(settings=None):
    return []

def prepare_metadata_for_build_wheel(folder, settings=None):
    info = pathlib.Path(folder, "$(echo "$package" | tr - _)-$version.dist-info")
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\\nName: $package\\nVersion: $version\\n")
    return info.name
END
mkdir "$work/setuptools"
cp "$work/mesonpy.py" "$work/setuptools/build_meta.py"
: >"$work/setuptools/__init__.py"
PYTHONPATH=$work "$pip" -m pip download -q --disable-pip-version-check --no-deps --no-build-isolation \
    --no-binary "$package" -d "$work/sources" "$package==$version"
rm -rf "$target"
mkdir -p "$target"
tar -xf "$work/sources/"*.tar.gz -C "$target" --strip-components=1 --wildcards "*/$folder"
echo "$version" >"$target/version.txt"
