#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the deconvolution of two views beside that of one image, all with ten iterations, in turn.

    bench/views.py [--size 64,256,256] [--rounds 5] [--device cpu]

Prints the least time of each, and the ratios to two deconvolutions of one image: the processor's time on the CPU, which
other work on the machine changes little, and that of the whole call on a GPU. Needs the package.
"""

import argparse
import time
import warnings

import numpy as np

import convolume


def gaussian(shape, sigma):
    grids = np.meshgrid(*[np.arange(extent) - extent // 2 for extent in shape], indexing="ij")
    return np.exp(-0.5 * sum((grid / width) ** 2 for grid, width in zip(grids, sigma)))


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="64,256,256")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    clock = time.process_time if given.device == "cpu" else time.perf_counter
    shape = tuple(int(extent) for extent in given.size.split(","))
    image = np.random.default_rng(1).poisson(100, shape).astype(np.float32)
    psf = gaussian((25, 17, 17), (3, 1, 1))
    common = {"iterations": 10, "no_data": "off", "hot_pixels": "off", "device": given.device}
    single = convolume.Deconvolver(shape, psf, background=50, offset=0, coarse_start=0, **common)
    cos, sin = np.cos(0.3), np.sin(0.3)
    view = convolume.View(psf, background=50, offset=0)
    around_y = np.array([[cos, 0, sin, 0], [0, 1, 0, 0], [-sin, 0, cos, 0]])
    around_z = np.array([[1, 0, 0], [0, cos, sin], [0, -sin, cos]])
    turned = convolume.View(psf, around_y, background=50, offset=0)
    oblique = convolume.View(psf, around_z @ around_y, background=50, offset=0)
    runs = {"one image": lambda: single(image)}
    for name, views in {"two views": [view, view], "two views, one turned around an axis": [view, turned],
                        "two views, one turned around two axes": [view, oblique]}.items():
        restore = convolume.ViewDeconvolver(views, [shape] * 2, **common)
        runs[name] = lambda restore=restore: restore([image] * 2)
    least = dict.fromkeys(runs, float("inf"))
    for _ in range(given.rounds + 1):  # the first round prepares
        for name, run in runs.items():
            begin = clock()
            run()
            least[name] = min(least[name], clock() - begin)
    for name, seconds in least.items():
        print(f"{name}: {seconds:.3f} s, {seconds / (2 * least['one image']):.2f} of two deconvolutions")


if __name__ == "__main__":
    main()
