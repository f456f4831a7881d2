#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares rules that end the iterations of Richardson–Lucy, by the Python package convolume. Prints how far each rule
stays below the best of 200 iterations with and without a coarse start. Run it with the package on the path:

    bench/restoration/rules.py [--kinds cells,beads] [--photons 50,300,3000] [--seeds 2] [--jobs N]

Each recording has 24×80×80 voxels and is restored twice: with the objective, indices and depth of the recording, and
with a depth and an index that are wrong. The rules are

- a number of 30 iterations, without a coarse start
- halves: the number after which an estimate from half of the photons is nearest to 35, 80 or 200 iterations on the
  other half
- fixed coarse start: the number nearest to 80 iterations if it is at most half of them, or else to 200; times 1.25, or
  more by 0.4 of the share of haze in the PSF's light, where a coarse iteration counts as 0.8. The command finds the
  number of coarse iterations, too (compare.py)
- prediction: the number after which seven eighths of the photons predict the others best, computed by SciPy
- discrepancy: the first estimate whose deviance is at most that of noise
- misfit: the first iteration that lowers the misfit by less than 2 % or 0.2 %
- change: the first iteration that changes the estimate by less than 2 %
"""

import argparse
from concurrent.futures import ProcessPoolExecutor

import calibrate
import numpy as np
import recordings
from scipy import signal

import convolume

SHAPE, ITERATIONS, COARSE, REFERENCES = (24, 80, 80), 200, 20, (35, 80, 200)
SEARCH = calibrate.values_of("search")
HAZE_BEGINS = 2 * int(calibrate.values_of("regions")["edge"])  # pixels from the PSF's center, regions::reach
SHARE_OF_COARSE = 0.8  # of an iteration, for one of a fixed coarse start
WRONG_SPECIMEN = 1.33, 5.0  # index and depth of the PSF for recordings at a depth of 8 µm
HELD_OUT = 1 / 8


def restore(image, psf, background, coarse):
    """Returns the estimates after each iteration, and the likelihood of the ones before."""
    estimates, likelihoods = [], []

    def keep(iteration):
        estimates.append(iteration.estimate)
        likelihoods.append(iteration.likelihood)

    convolume.richardson_lucy(image.astype(np.float32), psf, ITERATIONS, background=background, coarse_start=coarse,
                              device="cpu", workers=1, callback=keep)
    return estimates, np.array(likelihoods)


def share_of_haze(psf):
    """Returns the share of the PSF's light that is far from its center along y or x."""
    y, x = (np.abs(np.arange(n) - n // 2) for n in psf.shape[1:])
    return psf[:, np.maximum(y[:, None], x) > HAZE_BEGINS].sum() / psf.sum()


def first_below(values, limit):
    """Returns the number of the first iteration whose value is below a limit, or of the last one."""
    below = np.flatnonzero(np.asarray(values) < limit)
    return int(below[0]) + 1 if len(below) else len(values)


def losses_of(kind, photons, seed, is_wrong):
    """Returns the number of iterations of each rule, and how many dB it stays below the best."""
    recording = recordings.record(kind, photons, seed, SHAPE, (1.345, 8.0) if is_wrong else recordings.SPECIMEN)
    index, depth = WRONG_SPECIMEN if is_wrong else recordings.SPECIMEN
    psf = np.asarray(convolume.make_psf(na=recordings.NA, ni=recordings.IMMERSION, ns=index, depth=depth,
                                        wavelength=recordings.WAVELENGTH, spacing=recordings.VOXEL, shape=(47, 79, 79)))
    image = np.maximum(recording.image - recordings.OFFSET + recordings.READ_NOISE**2, 0)
    background = recordings.background(photons) + recordings.READ_NOISE**2
    plain, coarse = (restore(image, psf, background, n) for n in (0, COARSE))
    quality = {name: np.array([recordings.psnr(recording.truth, x) for x in estimates])
               for name, (estimates, _) in (("plain", plain), ("coarse", coarse))}
    random = np.random.default_rng(5)
    counts = np.rint(image).astype(int)
    chosen = {"30 iterations": ("plain", 30)}
    half = random.binomial(counts, 0.5)
    first, second = (restore(h, psf, background / 2, COARSE)[0] for h in (half, counts - half))
    nearest = {}
    for reference in REFERENCES:
        distances = [((x - first[reference - 1]).astype(np.float64)**2).sum() for x in second]
        nearest[reference] = int(np.argmin(distances[:reference])) + 1
        chosen[f"halves, {reference}"] = "coarse", nearest[reference]
    half_best = nearest[80] if nearest[80] <= SEARCH["judged_share"] * 80 else nearest[200]
    factor = SEARCH["from_half_to_all"] + SEARCH["more_with_haze"] * share_of_haze(psf)
    before = SHARE_OF_COARSE * COARSE
    chosen["fixed coarse start"] = "coarse", min(ITERATIONS, round(factor * (half_best + before) - before))
    apart, share = random.binomial(counts, HELD_OUT), HELD_OUT / (1 - HELD_OUT)
    rest = restore(counts - apart, psf, background * (1 - HELD_OUT), COARSE)[0]
    inner = tuple(slice(n // 8, n - n // 8) for n in SHAPE)  # near the edges, light from outside is missing
    errors = [((apart - share * (signal.fftconvolve(x, psf, "same") + background * (1 - HELD_OUT)))[inner]**2).sum()
              for x in rest]
    chosen["prediction"] = "coarse", int(np.argmin(errors)) + 1
    for name, (estimates, likelihoods) in (("plain", plain), ("coarse", coarse)):
        misfit = -likelihoods
        chosen[f"discrepancy, {name}"] = name, max(1, first_below(2 * misfit / image.size, 1) - 1)
        lowered = (misfit[:-1] - misfit[1:]) / misfit[:-1]
        for limit in (0.02, 0.002):
            chosen[f"misfit {limit}, {name}"] = name, first_below(lowered, limit)
        changes = [np.linalg.norm(b - a) / np.linalg.norm(b) for a, b in zip(estimates, estimates[1:])]
        chosen[f"change 0.02, {name}"] = name, first_below(changes, 0.02) + 1
    best = max(values.max() for values in quality.values())
    return {rule: (number, best - quality[name][number - 1]) for rule, (name, number) in chosen.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("kinds", ",".join(recordings.KINDS)), ("photons", "50,300,3000"), ("seeds", "2")):
        parser.add_argument(f"--{name}", default=default)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    wanted = [(kind, int(photons), int(seed), is_wrong) for kind in arguments.kinds.split(",")
              for photons in arguments.photons.split(",") for seed in arguments.seeds.split(",")
              for is_wrong in (False, True)]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        found = list(pool.map(losses_of, *zip(*wanted)))
    print(f"{len(found)} recordings\n\n"
          "| rule | within 0.3 dB | median loss, dB | largest loss, dB | of | median number |\n"
          + "|---" * 6 + "|")
    for rule in found[0]:
        numbers, losses = (np.array(values) for values in zip(*(one[rule] for one in found)))
        kind, photons, seed, is_wrong = wanted[int(losses.argmax())]
        print(f"| {rule} | {100 * (losses <= 0.3).mean():.0f} % | {np.median(losses):.2f} | {losses.max():.2f} | "
              f"{kind}-{photons}-{seed}{', wrong PSF' if is_wrong else ''} | {np.median(numbers):.0f} |")


if __name__ == "__main__":
    main()
