#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts how often a criterion that knows only the recording ranks the right PSF before those of a wrong NA or depth.
Run it with the Python package convolume on the path:

    bench/restoration/refine_psf.py [--kinds cells,beads] [--photons 100,1000] [--seeds 1,2] [--model vectorial]
                                    [--iterations 10] [--jobs N] [--json FILE]

A recording is restored with the PSF of its own optics, with an NA that is 5 % lower or higher, and with a depth that is
5 µm less or more. `exact` is the recordings' own model, so that nothing but the tested parameter is wrong;
`gibson-lanni` and `vectorial` are convolume's. Photons are divided into two halves, each of which is restored by
accelerated Richardson–Lucy after a coarse start. A criterion is computed after some numbers of iterations, and its best
value counts:

- likelihood: that of each half after its own restoration
- held out: the likelihood of each half after the restoration of the other one
- autocorrelation: squared correlations of neighbors in what the restoration of one half leaves of the other one
- whiteness: power of the same residual within the support of the OTF, relative to the power beyond
- shell correlation: the Fourier shell correlation of the two restorations, as a mean within the support
- common residual: the covariance of what the restorations leave of their own halves. Errors of the PSF are common to
  both, noise is not
- combined: the sum of the ranks by held out, autocorrelation and common residual
"""

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import recordings
from scipy import fft

import convolume

SHAPE, PAD, PSF_SHAPE = (24, 64, 64), (12, 24, 24), (47, 71, 71)
COARSE, MEASURED = 20, (5, 10, 20, 40, 80)  # iterations on coarser images; those after which criteria are computed
MASKED = 1e6  # value of the pixels around the image, which are left out
INSIDE = tuple(slice(n, n + m) for n, m in zip(PAD, SHAPE))
SPECIMENS = [(1.345, 5.0), (1.38, 10.0)]  # index, and depth in micrometers
CHANGES = {"true": (1, 0), "NA − 5 %": (0.95, 0), "NA + 5 %": (1.05, 0), "depth − 5 µm": (1, -5),
           "depth + 5 µm": (1, 5)}  # factor of the NA, and micrometers that are added to the depth
COMBINED = ("held out", "autocorrelation", "common residual")


@cache
def make_psf(model, na, index, depth):
    if model == "exact":
        return recordings.make_psf(PSF_SHAPE, index, depth, na).astype(np.float32)
    return np.asarray(convolume.make_psf(na=na, ni=recordings.IMMERSION, ns=index, depth=depth, model=model, workers=1,
                                         wavelength=recordings.WAVELENGTH, spacing=recordings.VOXEL, shape=PSF_SHAPE))


def frequencies():
    """Returns the radial and the axial frequency of each sample of an image's transform, in cycles per micrometer."""
    z, y, x = (fft.fftfreq(n, v) for n, v in zip(SHAPE, recordings.VOXEL))
    return np.broadcast_arrays(np.abs(z)[:, None, None], np.hypot(y[:, None], x)[None])


def support(na=1.05 * recordings.NA):
    """Tells which frequencies a widefield microscope of the largest NA passes."""
    axial, radial = frequencies()
    aperture, wave = na / recordings.WAVELENGTH, recordings.IMMERSION / recordings.WAVELENGTH
    edge = np.sqrt(wave**2 - np.clip(aperture - radial, -aperture, aperture)**2) - np.sqrt(wave**2 - aperture**2)
    return (radial <= 2 * aperture) & (axial <= edge + 1 / (SHAPE[0] * recordings.VOXEL[0]))


WINDOW = np.einsum("i,j,k->ijk", *(np.hanning(n + 2)[1:-1] for n in SHAPE))
SUPPORT = support()
SHELLS = (20 * np.hypot(*(f / f[SUPPORT].max() for f in frequencies()))).astype(int)[SUPPORT]


def make_blur(psf):
    """Returns a function that blurs an object which goes on around the image, and returns the image."""
    grid = [fft.next_fast_len(n + p + max(p, m // 2), real=True) for n, p, m in zip(SHAPE, PAD, psf.shape)]
    kernel = np.zeros(grid, np.float32)
    kernel[tuple(slice(n) for n in psf.shape)] = psf / psf.sum()
    spectrum = fft.rfftn(np.roll(kernel, [-(n // 2) for n in psf.shape], (0, 1, 2)))
    return lambda x: fft.irfftn(fft.rfftn(x, grid) * spectrum, grid)[INSIDE]


def restore(halves, psf, background, iterations):
    """Yields the estimates of both halves after each measured number of iterations, with what is around the image."""
    images = np.pad(np.float32(halves), [(0, 0), *((n, n) for n in PAD)], constant_values=MASKED)
    estimates = [], []

    def keep(iteration):
        if iteration.number in MEASURED:
            estimates[iteration.index[0]].append(iteration.estimate)

    convolume.Deconvolver(images.shape[1:], psf, iterations=iterations, edges="zero", background=background,
                          saturation=MASKED, coarse_start=COARSE, device="cpu", workers=1)(images, callback=keep)
    yield from zip(*estimates)


def squared_correlations(residual):
    r = residual - residual.mean()
    z, y, x = r.shape
    sums = [(r[i:, j:, k:] * r[:z - i, :y - j, :x - k]).sum() for i, j, k in np.ndindex(3, 3, 3)]
    return ((np.array(sums[1:]) / sums[0])**2).sum()


def shell_correlation(estimates):
    a, b = (fft.fftn((x[INSIDE] - x[INSIDE].mean()) * WINDOW)[SUPPORT] for x in estimates)
    sums = [np.bincount(SHELLS, v) for v in ((a * b.conj()).real, abs(a)**2, abs(b)**2)]
    return (sums[0] / np.sqrt(np.maximum(sums[1] * sums[2], 1e-300))).mean()


def criteria_of(halves, estimates, models):
    """Returns each criterion after one number of iterations; less is better."""
    own = [(y - m) / np.sqrt(m) for y, m in zip(halves, models)]
    other = [(y - m) / np.sqrt(m) for y, m in zip(halves, models[::-1])]
    powers = [np.abs(fft.fftn(r * WINDOW))**2 for r in other]
    return {"likelihood": sum((m - y * np.log(m)).mean() for y, m in zip(halves, models)),
            "held out": sum((m - y * np.log(m)).mean() for y, m in zip(halves, models[::-1])),
            "autocorrelation": sum(squared_correlations(r) for r in other),
            "whiteness": sum(abs(np.log(p[SUPPORT].mean() / p[~SUPPORT].mean())) for p in powers),
            "shell correlation": -shell_correlation(estimates),
            "common residual": (own[0] * own[1]).mean()}


def best_criteria(kind, photons, seed, specimen, arguments):
    """Returns the best value of each criterion for each PSF, and the processor seconds."""
    started = time.process_time()
    image = recordings.record(kind, photons, seed, SHAPE, specimen).image
    counts = np.maximum(np.rint(image - recordings.OFFSET + recordings.READ_NOISE**2), 0).astype(int)
    half = np.random.default_rng(seed).binomial(counts, 0.5)
    halves, background = (half, counts - half), (recordings.background(photons) + recordings.READ_NOISE**2) / 2
    found = {}
    for name, (factor, deeper) in CHANGES.items():
        psf = make_psf(arguments.model, factor * recordings.NA, specimen[0], specimen[1] + deeper)
        blur = make_blur(psf)
        values = [criteria_of(halves, pair, [np.maximum(blur(x), 0) + background for x in pair])
                  for pair in restore(halves, psf, background, arguments.iterations)]
        found[name] = {criterion: float(min(one[criterion] for one in values)) for criterion in values[0]}
    for name in CHANGES:
        found[name]["combined"] = sum(sum(other[c] < found[name][c] for other in found.values()) for c in COMBINED)
    return found, time.process_time() - started


def share_right(cases, criterion, names=tuple(CHANGES)):
    """Returns in how many of the cases the true PSF comes before all others of these names."""
    right = [all(case["true"][criterion] < case[name][criterion] for name in names if name != "true") for case in cases]
    return f"{100 * np.mean(right):.0f} %" if right else "–"


def print_table(wanted, found):
    """Prints the share of each criterion by what is wrong, and then by recordings."""
    groups = {"all": lambda _: True}
    for place in (0, 1, 3):
        for value in dict.fromkeys(case[place] for case in wanted):
            title = f"index {value[0]:g}, {value[1]:g} µm" if place == 3 else f"{value}" + " photons" * (place == 1)
            groups[title] = lambda case, place=place, value=value: case[place] == value
    print("\n| criterion | NA | depth | " + " | ".join(groups) + " |\n" + "|---" * (3 + len(groups)) + "|")
    for criterion in found[0]["true"]:
        shares = [share_right(found, criterion, names) for names in (tuple(CHANGES)[1:3], tuple(CHANGES)[3:])]
        shares += [share_right([one for case, one in zip(wanted, found) if belongs(case)], criterion)
                   for belongs in groups.values()]
        print(f"| {criterion} | " + " | ".join(shares) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("kinds", "cells,filaments,beads,shells,nuclei"), ("photons", "100,1000"), ("seeds", "1,2")):
        parser.add_argument(f"--{name}", default=default)
    parser.add_argument("--model", default="vectorial", choices=("exact", "gibson-lanni", "vectorial"))
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    wanted = [(kind, int(photons), int(seed), specimen) for seed in arguments.seeds.split(",")
              for kind in arguments.kinds.split(",") for photons in arguments.photons.split(",")
              for specimen in SPECIMENS]
    found = []
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for case, (one, seconds) in zip(wanted, pool.map(best_criteria, *zip(*wanted), [arguments] * len(wanted))):
            found.append(one)
            first = [f"{criterion} {min(one, key=lambda name: one[name][criterion])}" for criterion in one["true"]]
            print(*case, f"{seconds:.1f} s; first by", ", ".join(first), flush=True)
            if arguments.json:
                Path(arguments.json).write_text(json.dumps(list(zip(wanted, found))))
    print_table(wanted, found)


if __name__ == "__main__":
    main()
