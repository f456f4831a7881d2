#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the default of `deconvolve` on single planes, with and without a coarse start: a table of docs/guides/2d.md.

    bench/single_planes.py CONVOLUME

Planes of five kinds of specimens at three light levels, two seeds each, are recorded through the PSF of the
deconvolution. PSNR is taken after an affine fit to the truth. "best" is the best of 3 to 120 iterations without a
coarse start.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

LENS = ["--na", "1.4", "--wavelength", "520nm"]
VOXEL = ["--voxel", "200,60,60nm"]
KINDS = {"cells": [], "filaments": ["--count", "30"], "beads": ["--count", "40"], "shells": ["--count", "8"],
         "mixed": ["--count", "20"]}
PHOTONS, SEEDS, EDGE = (50, 500, 5000), (3, 4), 160
ITERATIONS = (3, 6, 10, 16, 24, 40, 70, 120)


def psnr(image, truth):
    x, y = image.ravel().astype(float), truth.ravel().astype(float)
    fit = np.polyval(np.polyfit(x, y, 1), x)
    return 10 * np.log10((y.max() - y.min()) ** 2 / np.mean((fit - y) ** 2))


def main():
    command = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        def run(*arguments):
            done = subprocess.run([command, *map(str, arguments), "--overwrite"], cwd=folder, check=True,
                                  capture_output=True, text=True)
            return done.stdout

        def restored(*options):
            report = json.loads(run("deconvolve", "plane.npy", "-o", "sharp.npy", *LENS, *VOXEL, *options, "--json"))
            found = psnr(np.load(f"{folder}/sharp.npy"), np.load(f"{folder}/truth.npy"))
            return found, report["report"]["volumes"][0]["iterations"]

        print("| specimen | photons | recorded | default | with `--coarse-start` | best |\n|---|---|---|---|---|---|")
        run("psf", "-o", "psf.npy", *LENS, *VOXEL, "--size", f"1,{EDGE + 1},{EDGE + 1}")
        gains = []
        for kind, more in KINDS.items():
            for photons in PHOTONS:
                rows = []
                for seed in SEEDS:
                    run("phantom", "-o", "truth.npy", "--kind", kind, *more, "--size", f"1,{EDGE},{EDGE}", *VOXEL,
                        "--seed", seed)
                    run("simulate", "truth.npy", "psf.npy", "-o", "plane.npy", "--photons", photons, "--seed", seed)
                    recorded = psnr(np.load(f"{folder}/plane.npy"), np.load(f"{folder}/truth.npy"))
                    best = max(restored("--iterations", n)[0] for n in ITERATIONS)
                    rows.append((recorded, restored()[0], restored("--coarse-start", 20)[0], best))
                gains += [default - coarse for _, default, coarse, _ in rows]
                means = (f"{statistics.mean(column):.1f}" for column in zip(*rows))
                print(f"| {kind} | {photons} |", " | ".join(means), "|", flush=True)
        better = sum(gain > 0 for gain in gains)
        print(f"\nWithout a coarse start: {min(gains):+.1f} to {max(gains):+.1f} dB, mean {statistics.mean(gains):+.1f}"
              f" dB, better in {better} of {len(gains)} recordings")


if __name__ == "__main__":
    main()
