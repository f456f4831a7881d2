#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how well each method of `convolume deconvolve` explains recordings of unknown specimens, by held-out
photons, and draws the stacks before and after. Run it from any folder:

    bench/deconvolve_stacks.py [--cells FOLDER] [--bead FOLDER] [--build DIR] [--json FILE] [--pictures FOLDER]

--cells is the folder test_data in the tests of the Python package pycudadecon (0.5.1, source distribution on PyPI): a
cell in a lattice light sheet, with a measured PSF. --bead is the folder flowdec/datasets/bead-25pct of the Python
package flowdec (1.1.0, on PyPI): a fluorescent bead in widefield, with a computed PSF.

One photon in eight is held out at random, by NumPy. The others are restored, and SciPy blurs the estimate. The figure
is the mean squared difference from the held-out photons, divided by their mean: 1 if only their own noise is left. It
excludes the edges, where light from outside is missing.
"""

import argparse
import json
import os
import platform
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy
import tifffile
from report import report_text
from scipy import interpolate, ndimage, signal

METHODS = {"rl": ["--method", "rl"], "rl, not accelerated": ["--method", "rl", "--acceleration", "none"],
           "rl-tv": ["--method", "rl-tv"], "shb": ["--method", "shb"],
           "rlgc": ["--method", "rlgc", "--consensus", "0", "--gain", "1", "--offset", "0"]}
ITERATIONS, STEP = 80, 2
HELD_OUT = 1 / 8
# Mirrored edges of a stack are defined equally in SciPy and in convolume.
EDGES = ["--edges", "mirror"]


def crop_around_peak(psf, half):
    """Returns the box around the brightest sample, less the background. The box may extend beyond the array."""
    peak = np.unravel_index(psf.argmax(), psf.shape)
    psf = np.pad(np.maximum(psf - np.median(psf), 0), [(h, h) for h in half])
    return psf[tuple(slice(p, p + 2 * h + 1) for p, h in zip(peak, half))]


def resampled_planes(psf, old, new):
    """Resamples planes at a distance `old` to a distance `new`, about the middle plane. A new plane sums the light that
    falls into it."""
    middle, running = len(psf) // 2, np.concatenate([[np.zeros(psf.shape[1:])], np.cumsum(psf, axis=0)])
    edges = (np.arange(len(psf) + 1) - middle - 0.5) * old
    planes = int((edges[-1] - new / 2) / new)
    wanted = (np.arange(-planes, planes + 2) - 0.5) * new
    return np.maximum(np.diff(interpolate.CubicSpline(edges, running, axis=0)(wanted), axis=0), 0)


def read_cells_stack(folder):
    """Returns the PSF in the coordinates of the recording, in which each plane is shifted by `skew` pixels against the
    previous one, as planes follow the stage. The image stays as it is, with its noise."""
    image = tifffile.imread(folder / "im_raw.tif")[36:72, 130:300, 40:200]
    angle, step_um, pixel_um = np.radians(31.5), 0.3, 0.1
    z_um, skew = step_um * np.sin(angle), step_um * np.cos(angle) / pixel_um
    psf = resampled_planes(crop_around_peak(tifffile.imread(folder / "psf.tif").astype(float), (24, 24, 24)), 0.1, z_um)
    middle = len(psf) // 2
    room = int(np.ceil(middle * skew))
    psf = np.pad(psf, [(0, 0), (0, 0), (room, room)])
    for z, plane in enumerate(psf):
        psf[z] = np.maximum(ndimage.shift(plane, (0, -(z - middle) * skew), order=3), 0)
    return image, psf, 98, (z_um, pixel_um, pixel_um)


def read_bead_stack(folder):
    image = tifffile.imread(folder / "data.tif")
    psf = tifffile.imread(folder / "kernel.tif").astype(float)
    # A voxel consists of four pixels of the original stack across and along z.
    return image, crop_around_peak(psf, (24, 24, 24)), float(np.percentile(image, 1)), None


STACKS = {"cells": read_cells_stack, "bead": read_bead_stack}


class Stack:
    """A stack in a folder of its own, on which the command runs."""

    def __init__(self, program, folder, image, psf, background):
        self.program, self.folder, self.background = program, Path(folder), background
        self.image, self.psf = image, psf / psf.sum()
        np.save(self.folder / "h.npy", self.psf.astype(np.float32))
        np.save(self.folder / "y.npy", image)

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments), "-q", "--overwrite"], check=True, cwd=self.folder,
                              capture_output=True, text=True)
        return json.loads(done.stdout) if "--json" in arguments else None

    def restore(self, recording, output, background, *options):
        return self.run("deconvolve", recording, "h.npy", "-o", output, "--background", background, *EDGES, "--device",
                        "cpu", *options)

    def blur(self, estimate):
        padded = np.pad(estimate, [(k // 2, k // 2) for k in self.psf.shape], mode="reflect")
        return signal.fftconvolve(padded, self.psf, "valid")


def held_out_curves(stack, photons, offset):
    """Returns the error of each method's prediction of the held-out photons, after each number of iterations."""
    random = np.random.default_rng(1)
    counts = np.maximum(np.rint((stack.image.astype(float) - offset) * photons), 0).astype(np.int64)
    apart = random.binomial(counts, HELD_OUT)
    kept = counts - apart
    np.save(stack.folder / "kept.npy", kept.astype(np.float32))
    background = max(stack.background - offset, 0) * photons * (1 - HELD_OUT)
    share = HELD_OUT / (1 - HELD_OUT)
    # Near the edges, light from outside is missing.
    inner = tuple(slice(n // 8, n - n // 8) for n in apart.shape)

    def prediction_error(prediction):
        return float(((apart - share * prediction)[inner] ** 2).mean() / apart[inner].mean())

    curves = {"recording": [(0, prediction_error(kept))]}
    for name, method in METHODS.items():
        stack.restore("kept.npy", "x.npy", background, *method, "--iterations", ITERATIONS, "--dump-every", STEP)
        curves[name] = []
        for n in range(STEP, ITERATIONS + 1, STEP):
            path = stack.folder / f"x.iter{n:03}.npy"
            if path.exists():
                curves[name].append((n, prediction_error(stack.blur(np.load(path).astype(float)) + background)))
                path.unlink()
        print(name, " ".join(f"{n}:{v:.4f}" for n, v in curves[name]), flush=True)
    return curves, float(apart[inner].mean())


def draw_middle_planes(stack, voxel, picture, scale):
    """Draws the middle planes of the recording, and of `rl` after 20 iterations and after those of --stop auto."""
    stack.restore("y.npy", "20.npy", stack.background, "--iterations", 20)
    sizes = {"metadata": {"axes": "ZYX"}} if voxel is None else {
        "metadata": {"axes": "ZYX", "unit": "um", "spacing": voxel[0]}, "resolution": (1 / voxel[2], 1 / voxel[1])}
    files = {"recorded.tif": stack.image, "20_iterations.tif": np.load(stack.folder / "20.npy"),
             "stop_auto.tif": np.load(stack.folder / "rl.npy")}
    for file, values in files.items():
        tifffile.imwrite(stack.folder / file, values.astype(np.float32), imagej=True, **sizes)
    stack.run("preview", *files, "-o", picture, "--slices", "--gamma", 0.7, "--scale", scale)


def measure_stack(stack, name, voxel, pictures):
    begin = time.perf_counter()
    auto = {}
    for method in ("rl", "shb"):
        report = stack.restore("y.npy", f"{method}.npy", stack.background, *METHODS[method], "--stop", "auto", "--json")
        auto[method] = report["report"]["volumes"][0]
    seen = auto["rl"]
    curves, held_out = held_out_curves(stack, seen["gain"], seen["offset"])
    if pictures:
        draw_middle_planes(stack, voxel, Path(pictures).resolve() / f"stack_{name}.png", 1 if name == "cells" else 2)
    best = {method: min(curve, key=lambda point: point[1]) for method, curve in curves.items()}
    print(name, "gain", seen["gain"], "offset", seen["offset"], "best", best,
          {method: found["iterations"] for method, found in auto.items()}, flush=True)
    return {"image": stack.image.shape, "psf": stack.psf.shape, "gain": seen["gain"], "offset": seen["offset"],
            "photons_held_out_a_voxel": held_out, "auto_iterations": {m: f["iterations"] for m, f in auto.items()},
            "best": best, "curves": curves, "seconds": round(time.perf_counter() - begin)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in STACKS:
        parser.add_argument(f"--{name}", type=Path, metavar="FOLDER")
    parser.add_argument("--build", default=Path(__file__).resolve().parent.parent / "build")
    parser.add_argument("--json", help="also write the figures to this file")
    parser.add_argument("--pictures", metavar="FOLDER", help="where pictures of the stacks go, as PNG")
    arguments = parser.parse_args()
    program = str((Path(arguments.build) / "cli" / "convolume").resolve())
    figures = {"machine": {"cpu": platform.processor(), "cores": os.cpu_count(), "date": time.strftime("%Y-%m-%d"),
                           "scipy": scipy.__version__}, "stacks": {}}
    for name, load in STACKS.items():
        source = getattr(arguments, name)
        if source is None:
            continue
        image, psf, background, voxel = load(source)
        with tempfile.TemporaryDirectory() as folder:
            stack = Stack(program, folder, image, psf, background)
            figures["stacks"][name] = measure_stack(stack, name, voxel, arguments.pictures)
    if not figures["stacks"]:
        parser.error("no stack was named: give --cells or --bead, or see --help for where they are")
    if arguments.json:
        Path(arguments.json).write_text(report_text(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
