#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds convolume and simulates a microscope: the PSF of an objective, a specimen, its recording by a
# camera, and the deconvolution of the recording. Stacks and pictures are written to demo/.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
scripts/install_packages.sh build
# Vector code is for this machine alone, which takes a third less time than for all machines.
cmake -B build/demo -G Ninja -DCONVOLUME_CPU_TARGETS=native
cmake --build build/demo
PATH=$root/build/demo/cli:$PATH
mkdir -p demo
cd demo

# Prints a subcommand as a user would type it, then runs it.
show() {
    echo
    echo "\$ convolume $*"
    convolume "$@" --overwrite
}
show phantom -o specimen.tif --size 48,192,192 --voxel 200,100,100nm --seed 12
show psf -o psf.tif --like specimen.tif --na 1.2 --ni 1.33 --ns 1.36 --depth 5um \
    --wavelength 520nm --explain
show simulate specimen.tif psf.tif -o recorded.tif --truth expected.tif --photons 500 --background 4
show deconvolve recorded.tif psf.tif -o restored.tif --background 106.4
show preview specimen.tif recorded.tif restored.tif --psf psf.tif -o story.png --gamma 0.6

echo
echo "All of it is in $root/demo:"
ls -l
echo
echo "To have the command on the PATH of this shell:"
echo "  export PATH=\"$root/build/demo/cli:\$PATH\""
