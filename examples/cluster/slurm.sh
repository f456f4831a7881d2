#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Deconvolves an image by an array of 64 jobs of Slurm, then makes the smaller levels.
#
#   work=$(sbatch --parsable --array=0-63 slurm.sh image.zarr restored.zarr psf.tif)
#   sbatch --dependency=afterok:"$work" slurm.sh image.zarr restored.zarr psf.tif
#
# For a large image, submit the array once more before the last line: its jobs then share the next level.
# If jobs ended early, submit the whole array again, as SLURM_ARRAY_TASK_COUNT has to be the same: shares continue with
# their missing blocks, and those that are complete end at once.
#SBATCH --gpus=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=64G
#SBATCH --time=12:00:00
set -eu
source=$1 target=$2 psf=$3
# Yours: the background of your camera (without it, it is found once for all shares), iterations, and the block.
set -- --op deconvolve --psf "$psf" --iterations 30 --background 100 --block 256,512,512
if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
    exec convolume process "$source" "$target" "$@" \
        --block-range "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"
fi
exec convolume process "$source" "$target" "$@" --resume
