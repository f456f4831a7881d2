#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks that every source file begins with the license's identifier; --fix inserts it.
#   scripts/spdx.sh [--fix] [FILE...]     default: all sources that git does not ignore
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
fix=
[ "${1:-}" != --fix ] || { fix=1; shift; }
identifier='SPDX-License-Identifier: Apache-2.0'

if [ $# -eq 0 ]; then
    # shellcheck disable=SC2046 # names of sources have no spaces
    set -- $(git ls-files --cached --others --exclude-standard '*.cpp' '*.hpp' '*.cu' '*.cuh' \
        '*.py' '*.sh' '*.cmake' '*CMakeLists.txt' '*Dockerfile' '*.def' packaging/conda/recipe.yaml \
        .ci/run debian/rules debian/tests/command debian/tests/library)
fi
status=0
for file in "$@"; do
    [ -f "$file" ] || continue  # the file is deleted, which is not yet committed
    case $file in
        *.cpp | *.hpp | *.cu | *.cuh) line="// $identifier" ;;
        *) line="# $identifier" ;;
    esac
    number=1  # number of the line that must have the identifier
    case $(head -n 1 "$file") in '#!'*) number=2 ;; esac
    [ "$(sed -n "${number}p" "$file")" != "$line" ] || continue
    if [ -n "$fix" ]; then
        { head -n $((number - 1)) "$file"; echo "$line"; tail -n +$number "$file"; } >"$file.spdx"
        cat "$file.spdx" >"$file"  # keeps the file's mode
        rm "$file.spdx"
    else
        echo "$file: line $number must be: $line" >&2
        status=1
    fi
done
exit $status
