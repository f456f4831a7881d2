#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the deconvolution of two views, one turned around an axis, with four PSFs over the field and a mask each,
beside the same iterations of Richardson and Lucy written with CuPy.

    bench/views_gpu.py [--size 256,1024,1024] [--iterations 20] [--rounds 3] [--device gpu]

Whole calls with images in host memory and a prepared model; medians in seconds. CuPy's program interpolates back with
the inverse transform, which is not the adjoint, so that results differ where the image has detail of a voxel. Needs the
package, and CuPy unless --device is cpu.
"""

import argparse
import statistics
import time
import warnings

import numpy as np
from views import gaussian

import convolume

PLACES = [(0.25, 0.25), (0.25, 0.75), (0.75, 0.25), (0.75, 0.75)]  # shares of the extents along y and x
BACKGROUND = 50


def field_of(shape, turn):
    """Returns the PSFs of a view and their places."""
    psfs = [gaussian((25, 17, 17), (3 - turn, 1 + 0.2 * k + turn, 1)) for k in range(4)]
    return psfs, [(shape[0] / 2, y * shape[1], x * shape[2]) for y, x in PLACES]


def turn_of(shape, angle):
    """Returns the 3×4 transform of a turn around the axis y, through the middle."""
    cos, sin = np.cos(angle), np.sin(angle)
    matrix = np.array([[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]])
    middle = (np.array(shape) - 1) / 2
    return np.column_stack([matrix, middle - matrix @ middle])


class CupyModel:
    """The same model, as one writes it with CuPy."""

    def __init__(self, shape, views):
        import cupy
        from cupyx.scipy import fft

        self.cupy, self.shape = cupy, shape
        margins = [25 - 1, 17 - 1, 17 - 1]
        self.padded = tuple(fft.next_fast_len(n + m, real=True) for n, m in zip(shape, margins))
        self.views = []
        for psfs, places, transform, mask in views:
            spectra = []
            for psf in psfs:
                centered = np.zeros(self.padded, np.float32)
                centered[:25, :17, :17] = psf / psf.sum()
                spectra.append(cupy.fft.rfftn(cupy.roll(cupy.asarray(centered), (-12, -8, -8), (0, 1, 2))))
            self.views.append((spectra, self.weights(places), transform, cupy.asarray(mask)))

    def weights(self, places):
        """Returns the weights (4, 1, y, x) of the places of a view's PSFs."""
        low, high = places[0][1:], places[3][1:]
        along = [np.clip((np.arange(n) - a) / (b - a), 0, 1) for n, a, b in zip(self.shape[1:], low, high)]
        y, x = along[0][:, None], along[1][None]
        products = [(1 - y) * (1 - x), (1 - y) * x, y * (1 - x), y * x]
        return self.cupy.asarray(np.stack(products)[:, None], np.float32)

    def moved(self, array, transform):
        if transform is None:
            return array
        from cupyx.scipy import ndimage

        return ndimage.affine_transform(array, self.cupy.asarray(transform[:, :3]), transform[:, 3], order=1)

    def blurred(self, array, spectrum):
        inside = tuple(slice(n) for n in self.shape)
        transformed = self.cupy.fft.rfftn(array, self.padded)
        return self.cupy.fft.irfftn(transformed * spectrum, self.padded)[inside]

    def record(self, view, x):
        spectra, weights, transform, mask = view
        moved = self.moved(x, transform)
        return mask * sum(self.blurred(weight * moved, spectrum) for weight, spectrum in zip(weights, spectra))

    def add_back(self, view, image):
        spectra, weights, transform, mask = view
        image = mask * image
        back = sum(weight * self.blurred(image, spectrum.conj()) for weight, spectrum in zip(weights, spectra))
        if transform is None:
            return back
        inverse = np.linalg.inv(transform[:, :3])
        return self.moved(back, np.column_stack([inverse, -inverse @ transform[:, 3]]))

    def deconvolve(self, images, iterations):
        cupy = self.cupy
        images = [cupy.asarray(image, cupy.float32) for image in images]
        ones = cupy.ones(self.shape, cupy.float32)
        norm = cupy.maximum(sum(self.add_back(view, ones) for view in self.views), 1e-3)
        x = cupy.full(self.shape, images[0].mean() - BACKGROUND, cupy.float32)
        for _ in range(iterations):
            ratios = (self.add_back(view, image / (self.record(view, x) + BACKGROUND))
                      for view, image in zip(self.views, images))
            x = x * sum(ratios) / norm
        return cupy.asnumpy(x)


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="256,1024,1024")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="gpu")
    given = parser.parse_args()
    shape = tuple(int(extent) for extent in given.size.split(","))
    random = np.random.default_rng(1)
    images = [random.poisson(100, shape).astype(np.float32) for _ in range(2)]
    views = []
    for turn in (0, 1):
        mask = np.ones(shape, np.float32)
        mask[:, : shape[1] // 16] = 0
        views.append((*field_of(shape, turn), turn_of(shape, 0.3) if turn else None, mask))
    restore = convolume.ViewDeconvolver(
        [convolume.View(psfs, transform, positions=places, mask=mask, background=BACKGROUND, offset=0)
         for psfs, places, transform, mask in views], [shape] * 2, iterations=given.iterations, acceleration="none",
        no_data="off", hot_pixels="off", device=given.device)
    runs = {"convolume": lambda: np.asarray(restore(images))}
    if given.device != "cpu":
        model = CupyModel(shape, views)
        runs["CuPy"] = lambda: model.deconvolve(images, given.iterations)
    seconds, results = {name: [] for name in runs}, {}
    for _ in range(given.rounds + 1):  # the first round prepares
        for name, run in runs.items():
            begin = time.perf_counter()
            results[name] = run()
            seconds[name].append(time.perf_counter() - begin)
    for name in runs:
        print(f"{name}: {statistics.median(seconds[name][1:]):.2f} s for {given.iterations} iterations")
    if "CuPy" in results:
        inner = tuple(slice(n // 4, -(n // 4)) for n in shape)
        ours, theirs = (results[name][inner] for name in ("convolume", "CuPy"))
        print(f"relative difference of the inner results: {np.linalg.norm(ours - theirs) / np.linalg.norm(ours):.2g}")


if __name__ == "__main__":
    main()
