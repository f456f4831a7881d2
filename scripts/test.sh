#!/bin/sh
# Builds everything with warnings as errors and runs all tests.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
scripts/install_packages.sh

# The Python of a user's environment may lack what the system's has, or the other way round.
python=/usr/bin/python3
for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import numpy, scipy, tifffile, h5py' 2>/dev/null; then
        python=$(command -v "$candidate")
        break
    fi
done

cmake --preset release -B build/test -DCONVOLUME_WARNINGS_AS_ERRORS=ON -DCONVOLUME_PYTHON="$python"
cmake --build build/test
exec ctest --test-dir build/test --output-on-failure -j "$(nproc)"
