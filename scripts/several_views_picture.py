#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the picture of docs/guides/several-views.md, two views of beads and their restorations, and prints the figures
of the page.

    scripts/several_views_picture.py

Needs the package, Matplotlib and SciPy.
"""

import warnings
from pathlib import Path

import matplotlib
import numpy as np
from scipy import ndimage

import convolume

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "several_views.png"
SHAPE = (40, 40, 40)
EDGE = 0.3  # µm
QUARTER = [[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 39]]


def shell_correlations(result, truth, axis):
    """Returns the Fourier shell correlation with the truth within 30 degrees of an axis."""
    frequencies = np.meshgrid(*[np.fft.fftfreq(extent) for extent in truth.shape], indexing="ij")
    radius = np.sqrt(sum(one ** 2 for one in frequencies))
    cone = np.abs(frequencies[axis]) >= np.cos(np.radians(30)) * radius
    shells = np.round(radius * truth.shape[0]).astype(int)
    a, b = np.fft.fftn(result - result.mean()), np.fft.fftn(truth - truth.mean())
    sums = [ndimage.sum_labels(values, np.where(cone, shells, -1), np.arange(1, truth.shape[0] // 2))
            for values in ((a * b.conj()).real, np.abs(a) ** 2, np.abs(b) ** 2)]
    return sums[0] / np.sqrt(sums[1] * sums[2])


def resolution(result, truth, axis):
    """Returns the period in µm at which the correlation falls below a half."""
    below = np.flatnonzero(shell_correlations(result, truth, axis) < 0.5)
    shell = (below[0] if below.size else truth.shape[0] // 2 - 1) + 1
    return truth.shape[0] * EDGE / shell


def main():
    warnings.simplefilter("ignore")
    psf = convolume.make_psf(na=0.5, ni=1.33, wavelength="520nm", spacing=(EDGE,) * 3, shape=(31, 15, 15))
    views = [convolume.View(psf), convolume.View(psf, transform=QUARTER)]
    specimen = convolume.Phantom(SHAPE, kind="beads", count=40, spacing=(EDGE,) * 3)[:]
    specimen = 2000 * specimen / specimen.max()
    light = convolume.ForwardModel(views, [SHAPE, SHAPE])(specimen)
    images = [np.random.default_rng(v).poisson(np.maximum(image, 0) + 20) for v, image in enumerate(light)]
    results = {"first view alone": [0], "second view alone": [1], "both": [0, 1]}
    shown = {"first view": images[0], "second view, turned back": np.rot90(images[1], 1, axes=(0, 2))}
    for name, chosen in results.items():
        restore = convolume.ViewDeconvolver([views[v] for v in chosen], [SHAPE] * len(chosen), shape=SHAPE)
        result = shown[name] = restore([images[v] for v in chosen])
        error = np.linalg.norm(result - specimen) / np.linalg.norm(specimen)
        print(f"{name}: error {error:.2f}, {restore.reports[0]['iterations']} iterations, resolution (z, y, x) "
              + ", ".join(f"{resolution(result, specimen, axis):.2f}" for axis in range(3)) + " µm, light "
              f"{result.sum() / specimen.sum():.2f}")
    shown["specimen"] = specimen
    figure, axes = plt.subplots(2, 3, figsize=(9, 6.2))
    for axis, (name, image) in zip(axes.flat, shown.items()):
        axis.imshow(np.sqrt(np.maximum(image.max(axis=1).astype(float), 0)), cmap="gray", origin="lower",
                    extent=(0, SHAPE[2] * EDGE, 0, SHAPE[0] * EDGE))
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("x / µm", fontsize=8)
        axis.set_ylabel("z / µm", fontsize=8)
        axis.tick_params(labelsize=7)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=90, bbox_inches="tight", metadata={"Software": None}, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
