#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts a large run: 1 PB of uint16 deconvolved on 64 GPUs, from measured rates and stated assumptions.

    bench/process_model.py
"""

from math import prod

IMAGE_BYTES = 1e15
SAMPLE_BYTES = 2  # bytes of a sample of image and result
GPUS = 64
BLOCK, HALO = (512, 1024, 1024), (31, 63, 63)  # the halo is the PSF's extents before and after a block
ITERATIONS = 30
# Rate of an iteration of `rl` with edges `extend` on an H200 (docs/performance/gpu.md).
SECONDS_PER_VOXEL = 22.3e-3 / prod((512, 1024, 1024))
STORAGE = 50e9  # assumed bytes a second of the whole file system, for reading and for writing
COMPRESSION = 1.5  # ratio of compression that the model assumes
BUS = 40e9  # assumed bytes a second to and from each GPU
DISPATCH = 5e-3  # limit of the seconds that Dask's client and scheduler take for each block


def main():
    voxels = IMAGE_BYTES / SAMPLE_BYTES
    blocks = voxels / prod(BLOCK)
    read = prod(b + 2 * h for b, h in zip(BLOCK, HALO))
    overhead = read / prod(BLOCK)
    compute = read * SECONDS_PER_VOXEL * ITERATIONS
    bus = (read + prod(BLOCK)) * SAMPLE_BYTES / BUS
    hours = {
        "computing, transfers not hidden": blocks / GPUS * (compute + bus) / 3600,
        "reading, halo included": IMAGE_BYTES * overhead / COMPRESSION / STORAGE / 3600,
        "writing": IMAGE_BYTES / COMPRESSION / STORAGE / 3600,
        "dispatching": blocks * DISPATCH / 3600,
        "first smaller level, reading": IMAGE_BYTES / COMPRESSION / STORAGE / 3600}
    print(f"{blocks:.0f} blocks, {overhead:.2f} samples read for each written, {compute:.2f} s a block on a GPU")
    print(f"a GPU reads {read * SAMPLE_BYTES / (compute + bus) / 1e9:.2f} GB/s and writes "
          f"{prod(BLOCK) * SAMPLE_BYTES / (compute + bus) / 1e9:.2f} GB/s, before compression")
    for name, value in hours.items():
        print(f"{name}: {value:.1f} h")


if __name__ == "__main__":
    main()
