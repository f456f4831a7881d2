#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the test suites of other libraries, as they publish them, with the drop-ins of convolume in place of their
# functions: scipy.signal, scipy.ndimage and skimage.restoration; with --cupy those of CuPy, on a GPU.
#   scripts/foreign_tests.sh [--shard I/N] [--sample] [--cupy SOURCES] [PACKAGE]
# SOURCES: a folder of CuPy's sources, of the version that $PYTHON (default python3) has.
# PACKAGE: the folder of a build that has the Python package, default build/dev/python. --shard runs the I-th of N
# parts of all cases, --sample one in eight cases of the largest tests. python/tests/foreign/exclusions.toml has the cases that must fail, with the reasons.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
shard=1/1
sample=
cupy=
package=$root/build/dev/python
while [ $# -gt 0 ]; do
    case $1 in
        --shard) shard=$2; shift ;;
        --sample) sample=--sample ;;
        --cupy) cupy=$(CDPATH='' cd -- "$2" && pwd); shift ;;
        *) package=$(CDPATH='' cd -- "$1" && pwd) ;;
    esac
    shift
done
plugin=$root/python/tests/foreign
# Cases of these libraries choose their own numbers of threads, and some are slow on an oversubscribed machine.
export PYTHONPATH="$package:$plugin" OMP_NUM_THREADS=1
# With rates that were measured on a busy machine, plans would be others: cases that count zeros need sums in space.
export XDG_CACHE_HOME="$root/build/foreign-cache"

# Runs a suite: the library whose functions are replaced, then arguments of pytest. The working folder is not the
# sources', as Python would import the package there.
suite() {
    library=$1
    shift
    (cd "$package" && "$python" -m pytest -p no:cacheprovider -p foreign_plugin --foreign "$library" \
        --shard "$shard" $sample -W ignore::pytest.PytestUnknownMarkWarning "$@")
}

if [ -n "$cupy" ]; then
    python=${PYTHON:-python3}
    tests=$cupy/tests/cupyx_tests/scipy_tests
    suite cupy --rootdir "$cupy/tests" "$tests/signal_tests/test_signaltools.py" "$tests/signal_tests/test_upfirdn.py" \
        "$tests/signal_tests/test_resample.py" "$tests/ndimage_tests/test_filters.py"
    exit
fi

if ! "$root/scripts/python_venv.sh"; then
    echo "SKIPPED: the packages of scripts/python_requirements.txt cannot be installed"
    exit 77
fi
python=$root/build/python-venv/bin/python
status=0
suite scipy --pyargs scipy.signal.tests.test_signaltools scipy.signal.tests.test_upfirdn \
    scipy.ndimage.tests.test_filters || status=1
sources=$root/build/scikit-image-tests
version=$("$python" -c 'import importlib.metadata as m; print(m.version("scikit-image"))')
if "$root/scripts/scikit_image_tests.sh" "$sources" "$version"; then
    folder=$sources/tests/skimage
    suite skimage --rootdir "$folder" --confcutdir "$folder" "$folder/restoration/test_restoration.py" || status=1
else
    echo "SKIPPED: the sources of scikit-image $version cannot be downloaded"
fi
exit $status
