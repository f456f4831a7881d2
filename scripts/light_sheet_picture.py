#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the picture of docs/guides/light-sheet.md: a stage scan as it is recorded, deskewed and rotated.

    scripts/light_sheet_picture.py CONVOLUME

CONVOLUME is the path of the command. Needs Matplotlib and tifffile.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy as np
import tifffile

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "light_sheet.png"
ANGLE, STEP, PLANE, PIXEL = 31.5, 0.4, 0.209, 0.108
SCAN = ["--angle", ANGLE, "--step", f"{STEP}um"]


def main(command):
    with tempfile.TemporaryDirectory() as folder:
        def run(*words):
            subprocess.run([command, *map(str, words), "-q"], cwd=folder, check=True)

        run("phantom", "-o", "cell.tif", "--kind", "cells", "--count", 110, "--radius", "2um", "--size",
            "95,450,96", "--voxel", f"{PLANE},{PIXEL},{PIXEL}um", "--seed", 3)
        run("deskew", "cell.tif", "--inverse", *SCAN, "-o", "whole.tif")
        whole = tifffile.imread(Path(folder, "whole.tif"))
        rows = whole.shape[1] // 2
        # The camera sees some rows of each plane.
        run("convert", "whole.tif", "scan.tif", "--crop", f":,{rows - 75}:{rows + 75},:")
        run("deskew", "scan.tif", *SCAN, "--fill", "nan", "-o", "deskewed.tif")
        run("deskew", "scan.tif", *SCAN, "--fill", "nan", "--rotate", "-o", "rotated.tif")
        images = {name: tifffile.imread(Path(folder, f"{name}.tif")) for name in ("scan", "deskewed", "rotated")}

    titles = {"scan": "recorded: planes of the file", "deskewed": "deskewed: frame of the camera",
              "rotated": "rotated: cover glass is horizontal"}
    heights = {"scan": PLANE, "deskewed": PLANE, "rotated": PIXEL}
    colors = matplotlib.colormaps["gray"].with_extremes(bad="slategray")  # outside of the recorded volume
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), gridspec_kw={
        "width_ratios": [images[name].shape[1] for name in images]})
    for axis, (name, image) in zip(axes, images.items()):
        shown = image[:, :, 40:56].mean(axis=2)
        height, width = shown.shape[0] * heights[name], shown.shape[1] * PIXEL
        axis.imshow(np.sqrt(np.maximum(shown, 0)), cmap=colors, origin="lower", extent=(0, width, 0, height))
        axis.set_title(titles[name], fontsize=9)
        axis.set_xlabel("y / µm", fontsize=8)
        axis.set_ylabel("z / µm", fontsize=8)
        axis.tick_params(labelsize=7)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=90, bbox_inches="tight", metadata={"Software": None}, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(str(Path(sys.argv[1]).resolve()))
