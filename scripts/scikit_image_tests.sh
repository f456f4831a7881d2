#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Downloads the sources of scikit-image from PyPI and unpacks its tests, which its wheels do not have.
#   scripts/scikit_image_tests.sh TARGET VERSION
set -eu
target=$1 version=$2
[ "$(cat "$target/version.txt" 2>/dev/null)" != "$version" ] || exit 0
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# pip asks the package's build system for its metadata before it keeps a download. This one answers at once, under the
# name of scikit-image's, so that nothing is built.
cat >"$work/mesonpy.py" <<END
import pathlib

def get_requires_for_build_wheel(settings=None):
    return []

def prepare_metadata_for_build_wheel(folder, settings=None):
    info = pathlib.Path(folder, "scikit_image-$version.dist-info")
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\\nName: scikit-image\\nVersion: $version\\n")
    return info.name
END
PYTHONPATH=$work "$root/build/python-venv/bin/python" -m pip download -q --disable-pip-version-check --no-deps \
    --no-build-isolation --no-binary scikit-image -d "$work/sources" "scikit-image==$version"
rm -rf "$target"
mkdir -p "$target"
tar -xf "$work/sources/"*.tar.gz -C "$target" --strip-components=1 --wildcards '*/tests'
echo "$version" >"$target/version.txt"
