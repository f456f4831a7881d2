#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the forward model with PSFs at the places of a grid over the field beside that with one PSF.

    bench/field_psfs.py [--size 64,512,512] [--psf 25,17,17] [--rounds 3] [--device cpu]

The places are in the middles of equal parts of the field. Prints the least processor time of an image and its adjoint,
for each number K of PSFs, and its ratio to K times that of one. Needs the package.
"""

import argparse
import time

import numpy as np
from views import gaussian

import convolume


def extents(text):
    return tuple(int(extent) for extent in text.split(","))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=extents, default=(64, 512, 512))
    parser.add_argument("--psf", type=extents, default=(25, 17, 17))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    psf = gaussian(given.psf, (3, 1, 1))
    models = {}
    for rows, columns in ((1, 1), (1, 2), (2, 2), (2, 3), (3, 3), (4, 4)):
        places = [
            (given.size[0] / 2, (i + 0.5) * given.size[1] / rows, (j + 0.5) * given.size[2] / columns)
            for i in range(rows)
            for j in range(columns)
        ]
        view = convolume.View([psf] * len(places), positions=places) if len(places) > 1 else convolume.View(psf)
        models[len(places)] = convolume.ForwardModel([view], [given.size], device=given.device)
    object_ = np.random.default_rng(1).random(models[1].object_shape, dtype=np.float32)
    least = dict.fromkeys(models, float("inf"))
    for _ in range(given.rounds + 1):  # the first round prepares
        for count, model in models.items():
            begin = time.process_time()
            model.adjoint(model(object_))
            least[count] = min(least[count], time.process_time() - begin)
    for count, seconds in least.items():
        print(f"{count} PSFs: {seconds:.3f} s, {seconds / (count * least[1]):.2f} of {count} × one PSF")


if __name__ == "__main__":
    main()
