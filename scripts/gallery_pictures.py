#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/python/gallery.md from the variables of the programs in examples/python.

    PYTHONPATH=BUILD/python scripts/gallery_pictures.py [NAME…]

Needs Matplotlib: pip install '.[gallery]' from a clone.
"""

import contextlib
import io
import os
import runpy
import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[1]


def projections(**images):
    """Draws images side by side, as maxima along z, from 0 or a negative least value to the 99.8th percentile."""
    figure, axes = plt.subplots(1, len(images), figsize=(2.6 * len(images), 2.8))
    for axis, (title, image) in zip(np.atleast_1d(axes), images.items()):
        shown = np.asarray(image, float).max(axis=0)
        axis.imshow(shown, cmap="gray", vmin=min(0, shown.min()), vmax=np.percentile(shown, 99.8))
        axis.set_title(title, fontsize=9)
        axis.axis("off")
    return figure


def draw_microscope(variables):
    return projections(specimen=variables["specimen"], light=variables["light"], recording=variables["image"] - 100.0)


def draw_channels(variables):
    images = {}
    for number, name in enumerate(variables["wavelengths"]):
        images |= {f"{name}, recorded": variables["recorded"][number] - 100.0,
                   f"{name}, deconvolved": variables["sharp"][number]}
    return projections(**images)


def draw_filters(variables):
    figure, axis = plt.subplots(figsize=(7, 2.6))
    shown = axis.imshow(variables["power"], aspect="auto", cmap="magma", interpolation="nearest",
                        extent=(0, variables["samples"], len(variables["bank"]) - 0.5, -0.5))
    axis.set(xlabel="sample", ylabel="template")
    figure.colorbar(shown, label="peak power")
    return figure


def draw_own_method(variables):
    return projections(specimen=variables["specimen"], image=variables["image"], solution=variables["solution"])


# By the name of an example, the function that draws its picture from its global variables.
PICTURES = {"microscope": draw_microscope, "channels": draw_channels, "filters": draw_filters,
            "own_method": draw_own_method}


def main():
    for name in sys.argv[1:] or PICTURES:
        before = Path.cwd()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            os.chdir(folder)
            try:
                variables = runpy.run_path(str(ROOT / "examples" / "python" / f"{name}.py"), run_name="__main__")
            finally:
                os.chdir(before)
        figure = PICTURES[name](variables)
        figure.savefig(ROOT / "docs" / "images" / f"python_{name}.png", dpi=110, bbox_inches="tight",
                       metadata={"Software": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
