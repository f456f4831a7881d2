#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the code of docs/guides/field-psf.md, draws the picture of the page, and prints its figures.

    scripts/field_psf_picture.py

Needs the package and Matplotlib.
"""

import re
import warnings
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).resolve().parents[1] / "docs"


def main():
    warnings.simplefilter("ignore")
    names = {}
    page = (DOCS / "guides" / "field-psf.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```python\n(.*?)^```", page, re.M | re.S):
        exec(block, names)
    specimen = names["specimen"]
    for name, result in names["restored"].items():
        result = np.asarray(result, np.float64)
        fitted = specimen * (result * specimen).sum() / (specimen**2).sum()
        print(f"{name}: error {np.linalg.norm(result - fitted) / np.linalg.norm(fitted):.2f}")
    shown = {"recording": names["image"], **names["restored"], "specimen": specimen}
    figure, axes = plt.subplots(1, 4, figsize=(11, 3.1))
    for axis, (name, image) in zip(axes, shown.items()):
        axis.imshow(np.sqrt(np.maximum(np.asarray(image, np.float64).max(axis=0), 0)), cmap="gray", origin="lower")
        axis.set_title(name, fontsize=9)
        axis.axis("off")
    figure.tight_layout()
    figure.savefig(DOCS / "images" / "field_psf.png", dpi=90, bbox_inches="tight", metadata={"Software": None},
                   pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
