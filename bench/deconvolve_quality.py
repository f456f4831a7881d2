#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the peak signal-to-noise ratio (PSNR) of each method of `convolume deconvolve`, against iterations and
seconds, on a phantom at three light levels. Run it from any folder:

    bench/deconvolve_quality.py [--build DIR] [--before DIR] [--json FILE] [--only methods|stop-auto|coarse-start]
                                [--image Z,Y,X] [--psf Z,Y,X]

The script makes the recordings by SciPy's convolution and NumPy's Poisson numbers. Seconds are those of the iterations
alone: the slope between a run of few and one of many iterations, with methods in turn, as the median of some rounds.
With the brightness that fits best, the PSNR is:

    10 log10(max(truth)² / mean((truth - result)²))

The part coarse-start times whole deconvolutions, with their plans and without files and the program's start. It takes
the first number of iterations that reaches a PSNR, with and without --coarse-start in turn, and the median of some
rounds. With --before, it also times the accelerated `rl` of another build, such as an earlier version.
The part stop-auto records several phantoms of each kind several times, and measures how far `--stop auto` stays below
the best of all iterations.
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
from report import report_text
from scipy import signal

METHODS = {"rl": ["--method", "rl"], "rl, not accelerated": ["--method", "rl", "--acceleration", "none"],
           "rl-tv": ["--method", "rl-tv"], "shb": ["--method", "shb"], "wb": ["--method", "wb"],
           "rlgc": ["--method", "rlgc", "--consensus", "0", "--gain", "1"]}
COUNTS = [1, 2, 3, 5, 7, 10, 13, 16, 20, 25, 30, 36, 43, 51, 60, 75, 90]
LEVELS = [50, 300, 3000]
COARSE = [0, 10, 20, 40, 60]  # iterations given to --coarse-start; 0 runs without the option
KINDS = ["mixed", "cells", "shells", "filaments", "beads"]


class Command:
    def __init__(self, build, folder, image):
        self.program = str(Path(build) / "cli" / "convolume")
        self.folder = Path(folder)
        self.image_shape = image

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments), "-q", "--overwrite"], check=True, cwd=self.folder,
                              capture_output=True, text=True)
        return json.loads(done.stdout) if "--json" in arguments else None

    def restore(self, *options):
        report = self.run("deconvolve", "y.npy", "h.npy", "-o", "x.npy", "--device", "cpu", "--json", *options)
        return np.load(self.folder / "x.npy").astype(np.float64), report["report"]


def psnr(truth, x):
    x = x * (truth * x).sum() / (x * x).sum()
    return 10 * np.log10(truth.max() ** 2 / ((truth - x) ** 2).mean())


def iteration_seconds(command, options, rounds):
    """Measures the seconds of an iteration of every method, in turn."""
    slopes = {name: [] for name in METHODS}
    for _ in range(rounds):
        for name, method in METHODS.items():
            few, many = (restore_seconds(command, [*method, *options, "--iterations", n]) for n in (4, 64))
            slopes[name].append((many - few) / 60)
    return {name: float(np.median(values)) for name, values in slopes.items()}


def restore_seconds(command, options):
    begin = time.perf_counter()
    command.restore(*options)
    return time.perf_counter() - begin


def iterations_to_reach(curve, level):
    """Returns the number of iterations that reaches the PSNR, by interpolation; None if none does."""
    for (n0, p0), (n1, p1) in zip(curve, curve[1:]):
        if p1 >= level:
            return n1 if p1 == p0 else max(n0, n0 + (n1 - n0) * (level - p0) / (p1 - p0))
    return None


def parse_sizes(text):
    return [int(length) for length in text.split(",")]


def make_psf(command, size):
    command.run("psf", "-o", "h.npy", "--na", 1.2, "--ni", 1.33, "--wavelength", "520nm", "--voxel", "200,100,100nm",
                "--size", ",".join(map(str, size)))
    return np.load(command.folder / "h.npy").astype(np.float64)


def make_specimen_and_light(command, psf, kind, seed):
    """Makes a phantom; returns the specimen within the image, and its blurred light there."""
    size = [n + k - 1 for n, k in zip(command.image_shape, psf.shape)]
    command.run("phantom", "-o", "object.npy", "--kind", kind, "--size", ",".join(map(str, size)), "--voxel",
                "200,100,100nm", "--seed", seed)
    specimen = np.load(command.folder / "object.npy").astype(np.float64)
    light = signal.fftconvolve(specimen, psf / psf.sum(), "valid")
    return specimen[tuple(slice(k // 2, k // 2 + n) for k, n in zip(psf.shape, light.shape))], light


def write_recording(command, light, photons, seed):
    """Writes a recording to y.npy; returns the options of `deconvolve` for it."""
    background = max(1, photons / 100)
    counts = np.random.default_rng(seed).poisson(np.maximum(light * photons / light.max(), 0) + background)
    np.save(command.folder / "y.npy", counts.astype(np.uint16))
    return ["--background", background]


def measure_methods(command, truth, light, photons, rounds):
    options = write_recording(command, light, photons, photons)
    seconds = iteration_seconds(command, options, rounds)
    result = {"photons": photons, "methods": {}}
    for name, method in METHODS.items():
        curve = [(n, float(psnr(truth, command.restore(*method, *options, "--iterations", n)[0]))) for n in COUNTS]
        entry = {"seconds_an_iteration": seconds[name], "psnr": curve}
        if name != "wb":
            x, report = command.restore(*method, *options, "--stop", "auto")
            entry["auto"] = {"psnr": float(psnr(truth, x)), "iterations": report["volumes"][0]["iterations"]}
        result["methods"][name] = entry
        print(photons, name, f"{seconds[name]:.3f} s", " ".join(f"{n}:{p:.2f}" for n, p in curve), entry.get("auto"),
              flush=True)
    best = max(p for _, p in result["methods"]["rl"]["psnr"])
    result["times"] = []
    for below in (6, 4, 2, 1, 0.3):
        level = best - below
        row = {"psnr": level, "seconds": {}}
        for name, entry in result["methods"].items():
            needed = iterations_to_reach([(0, 0.0), *entry["psnr"]], level)
            row["seconds"][name] = None if needed is None else float(needed) * seconds[name]
        result["times"].append(row)
        print(f"{level:.2f} dB:", {n: s and round(s, 2) for n, s in row["seconds"].items()}, flush=True)
    return result


def plan_to_result_seconds(report):
    return sum(report["seconds"][phase] for phase in ("plan", "prepare", "execute"))


def fewest_iterations(command, truth, options, level, curve):
    """Returns the least number of iterations that reaches the PSNR; None if 90 do not. `curve` caches measured
    values."""
    def reaches_level(n):
        if n not in curve:
            curve[n] = float(psnr(truth, command.restore(*options, "--iterations", n)[0]))
        return curve[n] >= level

    before = 0
    for enough in COUNTS:
        if reaches_level(enough):
            return next(n for n in range(before + 1, enough + 1) if reaches_level(n))
        before = enough
    return None


def time_coarse_start(command, psf, rounds, before=None):
    """Times deconvolutions with and without a coarse start. `before` is the command of another build, which is timed as
    "before"."""
    truth, light = make_specimen_and_light(command, psf, "mixed", 7)
    rows = []
    for photons in LEVELS:
        options = write_recording(command, light, photons, photons)
        ways = {n: (command, [*options, *(["--coarse-start", n] if n else [])]) for n in COARSE}
        if before:
            ways["before"] = (before, options)
        curves = {n: {} for n in ways}
        best = max(psnr(truth, command.restore(*options, "--iterations", n)[0]) for n in COUNTS)
        for below in (6, 4, 2, 1, 0.3):
            needed = {n: fewest_iterations(by, truth, way, best - below, curves[n]) for n, (by, way) in ways.items()}
            seconds = {n: [] for n, count in needed.items() if count}
            for _ in range(rounds):
                for n, taken in seconds.items():
                    by, way = ways[n]
                    taken.append(plan_to_result_seconds(by.restore(*way, "--iterations", needed[n])[1]))
            row = {"photons": photons, "psnr": float(best - below), "iterations": needed,
                   "seconds": {n: float(np.median(taken)) for n, taken in seconds.items()}}
            rows.append(row)
            times = ", ".join(f"{n}: {needed[n]} its {1e3 * s:.0f} ms {row['seconds'][0] / s:.2f}x"
                              for n, s in row["seconds"].items())
            print(f"{photons} {row['psnr']:.2f} dB: {times}", flush=True)
    return {"date": time.strftime("%Y-%m-%d"), "rounds": rounds, "image": light.shape, "psf": psf.shape, "times": rows}


def measure_stop_auto(command, psf):
    """Measures by how many dB `--stop auto` stays below the best of all iterations, for two phantoms of each kind, each
    recorded three times."""
    rows = []
    for kind in KINDS:
        scenes = [make_specimen_and_light(command, psf, kind, seed) for seed in (7, 8)]
        for photons in LEVELS:
            below = []
            for truth, light in scenes:
                for noise in range(3):
                    options = [*write_recording(command, light, photons, photons + 10007 * noise)]
                    best = max(psnr(truth, command.restore(*options, "--iterations", n)[0]) for n in COUNTS)
                    below.append(best - psnr(truth, command.restore(*options, "--stop", "auto")[0]))
            rows.append({"kind": kind, "photons": photons, "below": [float(b) for b in below]})
            print(kind, photons, " ".join(f"{b:.2f}" for b in below), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=Path(__file__).resolve().parent.parent / "build")
    parser.add_argument("--before", help="another build, for coarse-start")
    parser.add_argument("--image", type=parse_sizes, default=[32, 96, 96])
    parser.add_argument("--psf", type=parse_sizes, default=[17, 41, 41])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="also write the figures to this file; what it holds of other parts stays")
    parser.add_argument("--only", choices=["methods", "stop-auto", "coarse-start"])
    arguments = parser.parse_args()
    figures = {"machine": {"cpu": platform.processor(), "cores": os.cpu_count(), "date": time.strftime("%Y-%m-%d"),
                           "scipy": scipy.__version__}}
    with tempfile.TemporaryDirectory() as folder:
        command = Command(Path(arguments.build).resolve(), folder, arguments.image)
        psf = make_psf(command, arguments.psf)
        if arguments.only in (None, "methods"):
            truth, light = make_specimen_and_light(command, psf, "mixed", 7)
            figures |= {"image": light.shape, "psf": psf.shape,
                        "levels": [measure_methods(command, truth, light, photons, arguments.rounds)
                                   for photons in LEVELS]}
        if arguments.only in (None, "coarse-start"):
            before = Command(Path(arguments.before).resolve(), folder, arguments.image) if arguments.before else None
            figures["coarse_start"] = time_coarse_start(command, psf, arguments.rounds, before)
        if arguments.only in (None, "stop-auto"):
            figures["stop_auto"] = measure_stop_auto(command, psf)
    if arguments.json:
        file = Path(arguments.json)
        known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        file.write_text(report_text(known | figures), encoding="utf-8")


if __name__ == "__main__":
    main()
