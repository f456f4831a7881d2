#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/guides/everyday.md and docs/guides/psf.md: a phantom's recording, disturbed in one way a
picture, and its deconvolutions.

    scripts/everyday_pictures.py CONVOLUME

CONVOLUME is the path of the command. Needs Matplotlib, SciPy and tifffile.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy as np
import tifffile
from scipy import ndimage

matplotlib.use("Agg")
import matplotlib.pyplot as plt

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
VOXEL = ["--voxel", "200,100,100nm"]
WATER = ["--na", "1.2", "--ni", "1.33", "--wavelength", "520nm"]
OIL = ["--na", "1.4", "--ni", "1.515", "--wavelength", "520nm"]


class Studio:
    """Records a phantom and deconvolves it, in a folder."""

    def __init__(self, folder, command):
        self.folder, self.command = Path(folder), command
        self.run("phantom", "-o", "cells.tif", "--kind", "cells", "--size", "24,128,128", *VOXEL)

    def run(self, *words):
        subprocess.run([self.command, *map(str, words), "-q", "--overwrite"], cwd=self.folder, check=True)

    def record(self, optics, *options):
        self.run("simulate", "cells.tif", "-o", "image.tif", *optics, *options)
        return tifffile.imread(self.folder / "image.tif")

    def deconvolve(self, image, optics, *options):
        tifffile.imwrite(self.folder / "input.tif", image, photometric="minisblack")
        self.run("deconvolve", "input.tif", "-o", "result.tif", "--axes", "ZYX", *VOXEL, *optics, *options)
        return tifffile.imread(self.folder / "result.tif")


def draw(name, recordings, results, look=lambda image: image.max(axis=0)):
    """Draws recordings and results side by side. Results have one gray scale, that of the last one."""
    panels = recordings | results
    figure, axes = plt.subplots(1, len(panels), figsize=(2.5 * len(panels), 2.9))
    most = np.percentile(look(list(results.values())[-1]), 99.7)
    for axis, (title, image) in zip(axes, panels.items()):
        shown = look(np.asarray(image, float))
        low, high = (np.percentile(shown, 1), np.percentile(shown, 99.7)) if title in recordings else (0, most)
        axis.imshow(shown, cmap="gray", vmin=low, vmax=high, interpolation="nearest")
        axis.set_title(title, fontsize=9)
        axis.axis("off")
    figure.savefig(IMAGES / f"{name}.png", dpi=90, bbox_inches="tight", metadata={"Software": None},
                   pil_kwargs={"optimize": True})
    plt.close(figure)


def draw_no_data(studio, image):
    """A corner that registration has left empty."""
    turned = image.copy()
    y, x = np.indices(image.shape[1:])
    turned[:, 0.4 * x + y < 36] = 0
    draw("everyday_no_data", {"registered recording": turned},
         {"--no-data off": studio.deconvolve(turned, WATER, "--no-data", "off"),
          "default": studio.deconvolve(turned, WATER),
          "without disturbance": studio.deconvolve(image, WATER)})


def draw_hot_pixels(studio, image):
    hot = image.copy()
    places = np.random.default_rng(7).integers(0, 128, (2, 25))
    hot[:, places[0], places[1]] += np.uint16(600)
    draw("everyday_hot_pixels", {"hot camera pixels": hot},
         {"--hot-pixels off": studio.deconvolve(hot, WATER, "--hot-pixels", "off"),
          "default": studio.deconvolve(hot, WATER),
          "without disturbance": studio.deconvolve(image, WATER)})


def draw_saturated(studio, image):
    """The same light at a gain that takes 2 % of the pixels above 12 bits."""
    bright = (image - 100.0) * (3995 / (np.percentile(image, 98) - 100)) + 100
    clipped = np.clip(bright, 0, 4095).astype(np.uint16)
    draw("everyday_saturated", {"saturated at 4095": clipped},
         {"--saturation off": studio.deconvolve(clipped, WATER, "--saturation", "off"),
          "default": studio.deconvolve(clipped, WATER),
          "without saturation": studio.deconvolve(bright.clip(0, 65535).astype(np.uint16), WATER)})


def draw_filtered(studio, image):
    moved = ndimage.shift(image.astype(np.float32), (0, 0.5, 0.5), order=1, mode="nearest")
    draw("everyday_filtered", {"recording": image, "shifted by half a pixel": moved},
         {"shifted, restored": studio.deconvolve(moved, WATER),
          "restored, then shifted": ndimage.shift(studio.deconvolve(image, WATER), (0, 0.5, 0.5), order=1)})


def draw_fits(studio):
    """Sections along z of a specimen in oil, restored with PSFs of two samples."""
    image = studio.record([*OIL, "--ns", "1.515"], "--photons", "1000")
    draw("psf_fits", {"recording, z and x": image},
         {"--ns 1.33: misfits": studio.deconvolve(image, [*OIL, "--ns", "1.33"]),
          "--ns 1.515: fits": studio.deconvolve(image, [*OIL, "--ns", "1.515"])},
         look=lambda volume: volume[:, 64].repeat(2, axis=0))


def main():
    with tempfile.TemporaryDirectory() as folder:
        studio = Studio(folder, Path(sys.argv[1]).resolve())
        image = studio.record(WATER, "--photons", "60")
        for picture in (draw_no_data, draw_hot_pixels, draw_saturated, draw_filtered):
            picture(studio, image)
        draw_fits(studio)


if __name__ == "__main__":
    main()
