#!/bin/sh
# Builds convolume, makes a specimen and a point spread function, convolves one with the other and
# draws both: demo/*.tif and demo/*.png.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
scripts/install_packages.sh
cmake --preset release -B build/demo -DCONVOLUME_BUILD_TESTS=OFF -DCONVOLUME_BUILD_BENCH=OFF
cmake --build build/demo
convolume=build/demo/cli/convolume

mkdir -p demo
echo
echo "Specimen and point spread function:"
build/demo/examples/make_demo_data demo
echo
echo "Convolution:"
"$convolume" convolve demo/phantom.tif demo/psf.tif -o demo/blurred.tif --overwrite
echo
echo "Pictures:"
"$convolume" preview demo/phantom.tif --after demo/blurred.tif -o demo/before_after.png \
    --gamma 0.7 --overwrite
"$convolume" preview demo/psf.tif -o demo/psf.png --gamma 0.5 --overwrite
echo
echo "All of it is in $root/demo:"
ls -l demo/phantom.tif demo/psf.tif demo/blurred.tif demo/before_after.png demo/psf.png
