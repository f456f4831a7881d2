#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the files of a release of the last commit, in build/release: the tarball of the sources, the
# Python wheel, the source package of Debian, the SBOM (CycloneDX), and SHA256SUMS.
#   scripts/release.sh [--sources-only] [--check]
# --sources-only leaves out the wheel, which takes minutes. --check makes all but the wheel twice, and
# fails if a byte differs. Times in the files are the commit's. If the commit has a tag v*, the tag must
# name the project's version.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
wheel=1
check=
for argument in "$@"; do
    case $argument in
        --sources-only) wheel= ;;
        --check) check=1 ;;
        *) echo "release.sh: there is no option $argument; see the first lines of this script" >&2; exit 2 ;;
    esac
done
scripts/install_packages.sh release
[ -z "$(git status --porcelain)" ] || {
    echo "release.sh: there are changes that are not committed, which a release would lack; commit them" >&2
    exit 1
}
scripts/version.py --check
version=$(scripts/version.py)
for tag in $(git tag --points-at HEAD --list 'v*'); do
    [ "$tag" = "v$version" ] || {
        echo "release.sh: the commit has the tag $tag, but the version is $version; run scripts/version.py --set" >&2
        exit 1
    }
done
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C.UTF-8

# Makes tarball, source package and SBOM in a folder.
make_sources() {
    rm -rf "$1"
    mkdir -p "$1/unpacked"
    # Debian keeps its folder apart from the tarball.
    git -c tar.umask=0022 archive --format=tar --prefix="convolume-$version/" HEAD -- . ':!debian' |
        xz -6 -T1 >"$1/convolume-$version.tar.xz"
    tar -xf "$1/convolume-$version.tar.xz" -C "$1/unpacked"
    git archive --prefix="convolume-$version/" HEAD debian | tar -x -C "$1/unpacked"
    cp "$1/convolume-$version.tar.xz" "$1/unpacked/convolume_$version.orig.tar.xz"
    (cd "$1/unpacked" && dpkg-source --build "convolume-$version")
    rm -rf "$1/unpacked/convolume-$version"
    mv "$1"/unpacked/* "$1"
    rmdir "$1/unpacked"
    lintian --fail-on error "$1"/*.dsc
    scripts/sbom.py >"$1/convolume-$version.cdx.json"
}

make_sources build/release
if [ -n "$check" ]; then
    make_sources build/release-again
    diff -r build/release build/release-again
    rm -rf build/release-again
    echo "release.sh: made twice, with the same bytes"
fi
if [ -n "$wheel" ]; then
    scripts/wheel.sh
    cp build/wheels/*.whl build/release
fi
(cd build/release && sha256sum -- * >../SHA256SUMS && mv ../SHA256SUMS .)
cat build/release/SHA256SUMS
