#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what `deconvolve --out-of-focus` gains for single planes of thick specimens: the table of docs/guides/2d.md.

    bench/out_of_focus.py CONVOLUME

Specimens of 40×160×160 voxels are recorded through a PSF of another sample index than that of the deconvolution, and
plane 20 is restored. The truth is the mean of planes 19 to 21. PSNR is taken after an affine fit to the truth, 16
pixels from the border.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

OPTICS = ["--na", "1.2", "--ni", "1.33", "--wavelength", "520nm"]
SPECIMENS = [(["--kind", "cells", "--count", "8"], 2000), (["--kind", "filaments", "--count", "60"], 2000),
             (["--kind", "mixed", "--count", "30"], 2000), (["--kind", "mixed", "--count", "30"], 200),
             (["--kind", "shells", "--count", "12"], 200)]


def psnr(image, truth):
    inner = (..., slice(16, -16), slice(16, -16))
    x, y = image[inner].ravel().astype(float), truth[inner].ravel().astype(float)
    fit = np.polyval(np.polyfit(x, y, 1), x)
    return 10 * np.log10((y.max() - y.min()) ** 2 / np.mean((fit - y) ** 2))


def main():
    command = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        def run(*arguments):
            subprocess.run([command, *arguments, "--overwrite", "-q"], cwd=folder, check=True)

        voxel = ["--voxel", "200,100,100nm"]
        run("psf", "-o", "psf.npy", *OPTICS, "--ns", "1.36", "--depth", "8um", *voxel, "--size", "79,161,161")
        print("| specimen | photons | recorded | thin | 2um | 4um |\n|---|---|---|---|---|---|")
        for kind, photons in SPECIMENS:
            run("phantom", "-o", "thick.npy", *kind, "--size", "40,160,160", *voxel, "--seed", "5")
            run("simulate", "thick.npy", "psf.npy", "-o", "seen.npy", *voxel, "--photons", str(photons), "--seed", "5")
            truth = np.load(f"{folder}/thick.npy")[19:22].mean(axis=0)
            plane = np.load(f"{folder}/seen.npy")[20]
            np.save(f"{folder}/plane.npy", plane)
            found = [psnr(plane, truth)]
            for reach in ([], ["--out-of-focus", "2um"], ["--out-of-focus", "4um"]):
                run("deconvolve", "plane.npy", "-o", "sharp.npy", *OPTICS, *voxel, "--stop", "auto", *reach)
                found.append(psnr(np.load(f"{folder}/sharp.npy").squeeze(), truth))
            print(f"| `{' '.join(kind)}` | {photons} |", " | ".join(f"{one:.1f} dB" for one in found), "|", flush=True)


if __name__ == "__main__":
    main()
