#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tests the scripts of releases: they find versions that differ, the SBOM has the same bytes each time,
# and changes of a binary interface are found.
#   run.sh SCRATCH_FOLDER CXX
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
scratch=$1
compiler=$2
rm -rf "$scratch"
mkdir -p "$scratch/copy/python"
fail() {
    echo "run.sh: $1" >&2
    exit 1
}

# A copy, in which files may be changed.
cd "$root"
cp -R scripts CMakeLists.txt CITATION.cff CHANGELOG.md pyproject.toml docs debian packaging "$scratch/copy"
cp -R python/napari_convolume "$scratch/copy/python"
cd "$scratch/copy"
scripts/version.py --check || fail "the files of the project name different versions"
version=$(sed -n 's/^project(convolume VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[ "$(scripts/version.py)" = "$version" ] || fail "version.py does not print the version of CMakeLists.txt"
sed -i "s/^version: $version/version: 9.8.7/" CITATION.cff
! scripts/version.py --check 2>"$scratch/message" || fail "version.py --check accepts a wrong CITATION.cff"
grep -q 'CITATION.cff has version 9.8.7 instead' "$scratch/message" || fail "version.py does not name CITATION.cff"
# A new version stands everywhere but in the changelogs and the names of Debian's packages, which it lists.
! scripts/version.py --set 9.8.7 >/dev/null 2>"$scratch/message" || fail "version.py accepts old changelogs"
sed -n 's/ has version.*//p' "$scratch/message" | sort | tr '\n' ' ' >"$scratch/listed"
[ "$(cat "$scratch/listed")" = "CHANGELOG.md debian/changelog debian/control " ] ||
    fail "after --set these have the old version: $(cat "$scratch/listed")"
grep -q '^project(convolume VERSION 9.8.7 ' CMakeLists.txt || fail "--set did not change CMakeLists.txt"

cd "$root"
SOURCE_DATE_EPOCH=86400 scripts/sbom.py >"$scratch/first.json"
SOURCE_DATE_EPOCH=86400 scripts/sbom.py >"$scratch/second.json"
cmp "$scratch/first.json" "$scratch/second.json" || fail "two SBOMs of the same sources differ"
grep -q '"timestamp": "1970-01-02T00:00:00Z"' "$scratch/first.json" || fail "the SBOM has another time"
for part in libfftw3-dev libtiff-dev numpy; do
    grep -q "\"name\": \"$part\"" "$scratch/first.json" || fail "the SBOM lacks $part"
done

command -v abidiff >/dev/null || { echo "run.sh: abidiff is missing: abi.sh is not tested"; exit 0; }
# make_libraries FOLDER SONAME_VERSION MEMBERS: makes libraries with a function that takes a structure.
make_libraries() {
    mkdir -p "$scratch/$1"
    echo "struct Shape { $3 }; int planes(const Shape* shape) { return shape->z; }" >"$scratch/$1/shape.cpp"
    for library in libconvolume libconvolume-io; do
        "$compiler" -g -shared -fPIC -Wl,-soname,"$library.so.$2" -o "$scratch/$1/$library.so" "$scratch/$1/shape.cpp"
    done
}
make_libraries old 0.1 'int z;'
make_libraries changed 0.1 'double y; int z;'
make_libraries renamed 0.2 'double y; int z;'
scripts/abi.sh "$scratch/old" "$scratch/old" >/dev/null || fail "abi.sh finds a difference of equal libraries"
scripts/abi.sh "$scratch/old" "$scratch/renamed" >/dev/null || fail "abi.sh refuses a change with a new SONAME"
! scripts/abi.sh "$scratch/old" "$scratch/changed" >/dev/null 2>&1 || fail "abi.sh accepts a moved member"
