#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds `convolume deconvolve --uncertainty` against the spread of many recordings of the same specimen:

    bench/restoration/uncertainty.py [--build DIR] [--recordings N] [--kinds cells,filaments,…] [--photons 50,300,3000]

Prints, for every method, the estimate from one recording relative to the spread over all: the median of bright voxels
(above a tenth of the brightest one of the mean result), the range that holds 90 % of them, and the root mean square
ratio of the dim voxels. Then the share that noise has in the mean square error of bright voxels; the rest is bias."""

import argparse
import tempfile

import numpy as np
from methods import Command
from recordings import NA, OFFSET, READ_NOISE, VOXEL, WAVELENGTH, background, expose, record

METHODS = {
    "rl, 10": ["--iterations", 10],
    "rl, 30": ["--iterations", 30],
    "rl, 100": ["--iterations", 100],
    "rl-tv, 60": ["--method", "rl-tv", "--iterations", 60, "--gain", 1],
    "shb, 30": ["--method", "shb", "--iterations", 30],
    "rlgc, 30": ["--method", "rlgc", "--iterations", 30, "--gain", 1],
    "wb": ["--method", "wb"],
    "nnls, 30": ["--method", "nnls", "--iterations", 30],
    "wiener": ["--method", "wiener"],
}


def compare(command, recording, images, options):
    results = []
    for image in images:
        np.save(command.folder / "y.npy", image)
        results.append(command.restore(options)[0])
    np.save(command.folder / "y.npy", recording.image)
    command.restore([*options, *([] if "--gain" in options else ["--gain", 1]), "--uncertainty", "s.npy"])
    estimate, spread = np.load(command.folder / "s.npy"), np.std(results, axis=0, ddof=1)
    mean = np.mean(results, axis=0)
    bright = mean > mean.max() / 10
    ratio = estimate[bright] / spread[bright]
    dim = np.sqrt(np.sum(estimate[~bright] ** 2) / max(np.sum(spread[~bright] ** 2), 1e-300))
    noise, bias = (np.mean(v[bright] ** 2) for v in (spread, mean - recording.truth))
    low, high = np.quantile(ratio, [0.05, 0.95])
    return (f"{np.median(ratio):.2f} ({low:.2f} to {high:.2f}), dim {dim:.2f}, noise is {noise / (noise + bias):.0%} "
            f"of the error, {bright.mean():.0%} bright")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--recordings", type=int, default=40)
    parser.add_argument("--kinds", default="cells,filaments")
    parser.add_argument("--photons", default="50,300,3000")
    parser.add_argument("--methods", default=";".join(METHODS), help="separated by ;")
    parser.add_argument("--size", default="16,48,48")
    arguments = parser.parse_args()
    shape = tuple(int(n) for n in arguments.size.split(","))
    with tempfile.TemporaryDirectory() as folder:
        command = Command(arguments.build, folder)
        command.run("psf", "-o", "h.npy", "--na", NA, "--ni", 1.33, "--ns", 1.345, "--depth", "5um", "--wavelength",
                    f"{WAVELENGTH * 1000:g}nm", "--voxel", ",".join(f"{v * 1000:g}" for v in VOXEL) + "nm", "--size",
                    f"{shape[0] // 2 * 2 - 1},31,31")
        for kind in arguments.kinds.split(","):
            for photons in map(int, arguments.photons.split(",")):
                recording = record(kind, photons, 0, shape)
                images = [expose(recording.light, np.random.default_rng([1, n])) for n in range(arguments.recordings)]
                # Read noise counts as light, by a lower offset.
                known = ["--background", OFFSET + background(photons), "--offset", OFFSET - READ_NOISE**2]
                for name in arguments.methods.split(";"):
                    print(f"{kind}, {photons} photons, {name}:",
                          compare(command, recording, images, [*METHODS[name], *known]), flush=True)


if __name__ == "__main__":
    main()
