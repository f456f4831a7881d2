#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what the search for missing pixels takes: the whole command `deconvolve`, 50 iterations, of 128×1024×1024
uint16 in memory, without the search, with that for pixels without data, with both, and with a box of zeros.

    bench/missing_pixels.py [--build DIR] [--device gpu|cpu] [--shape Z,Y,X] [--iterations N]
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from large_kernels import memory_folder

CASES = {"no search": ["clean.npy", "--no-data", "off", "--hot-pixels", "off"],
         "pixels without data": ["clean.npy", "--hot-pixels", "off"],
         "both": ["clean.npy"],
         "both, a box of 0": ["box.npy"]}
VOXEL = ["--voxel", "200,100,100nm"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = Path(__file__).resolve().parent.parent
    parser.add_argument("--build", type=Path, default=root / "build" / "release")
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--shape", type=lambda text: tuple(map(int, text.split(","))), default=(128, 1024, 1024))
    parser.add_argument("--iterations", type=int, default=50)
    given = parser.parse_args()
    command = str((given.build / "cli" / "convolume").resolve())
    with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
        image = (np.random.default_rng(1).poisson(30, given.shape) + 100).astype(np.uint16)
        np.save(f"{folder}/clean.npy", image)
        z, y, x = (n // 3 for n in given.shape)
        image[z:z + z // 2, y:y + y // 2, x:x + x // 2] = 0
        np.save(f"{folder}/box.npy", image)
        subprocess.run([command, "psf", "-o", "psf.tif", "--na", "1.2", "--ni", "1.33", "--wavelength", "520nm", *VOXEL,
                        "--size", "63,95,95", "-q"], cwd=folder, check=True)
        for name, arguments in CASES.items():
            for _ in range(2):
                options = ["--device", given.device, "--iterations", str(given.iterations), "--background", "100",
                           "--offset", "95", "--overwrite"]
                done = subprocess.run([command, "deconvolve", *arguments, "psf.tif", "-o", "out.npy", *VOXEL, *options],
                                      cwd=folder, check=True, capture_output=True, text=True)
                print(f"{name}:", next(line for line in done.stderr.splitlines() if line.startswith("time")))


main()
