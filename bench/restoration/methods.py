#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the methods of `convolume deconvolve` on recordings of known specimens, at three light levels:

    bench/restoration/methods.py [--build DIR] [--seeds N] [--kinds cells,filaments,…] [--json FILE]

The camera's offset is subtracted, and the background is given, so that methods alone differ. The PSF is the command's
own. Prints the gain over the recording in dB, the best number of iterations if it is searched, and the processor
seconds. `rl, best` and `shb, best` take the number of iterations that is best against the truth."""

import argparse
import json
import resource
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from recordings import KINDS, NA, OFFSET, VOXEL, WAVELENGTH, psnr, record

LEVELS = [50, 300, 3000]
COUNTS = [6, 10, 16, 24, 36, 54, 80]
METHODS = {
    "rl, 30": ["--iterations", 30],
    "rl-tv, 30": ["--method", "rl-tv", "--iterations", 30],
    "rl-tv, 60": ["--method", "rl-tv", "--iterations", 60],
    "rl-tv, coarse start, 30": ["--method", "rl-tv", "--coarse-start=20", "--iterations", 30],
    "rl-tv --tv 0.005, 50": ["--method", "rl-tv", "--tv", 0.005, "--iterations", 50],
    "shb, 30": ["--method", "shb", "--iterations", 30],
    "rlgc, 30": ["--method", "rlgc", "--iterations", 30, "--gain", 1],
    "wb": ["--method", "wb"],
    "nnls, 30": ["--method", "nnls", "--iterations", 30],
    "wiener": ["--method", "wiener"],
}
SEARCHED = {"rl, best": ["--method", "rl"], "shb, best": ["--method", "shb"]}


class Command:
    def __init__(self, build, folder):
        self.program, self.folder = str(Path(build).resolve() / "cli" / "convolume"), Path(folder)

    def run(self, *arguments):
        """Runs the command; returns its processor seconds."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([self.program, *map(str, arguments), "-q", "--overwrite"], check=True, cwd=self.folder,
                       capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def restore(self, options):
        seconds = self.run("deconvolve", "y.npy", "h.npy", "-o", "x.npy", "--device", "cpu", "--threads", 1, *options)
        return np.load(self.folder / "x.npy"), seconds


def measure(command, recording, photons):
    """Returns gain, iterations and seconds of every method."""
    np.save(command.folder / "y.npy", np.maximum(recording.image.astype(np.float32) - OFFSET, 0))
    options = ["--background", 0.02 * photons]
    own = psnr(recording.truth, recording.image)
    results = {"recording": {"psnr": own}}
    for name, method in METHODS.items():
        x, seconds = command.restore([*method, *options])
        results[name] = {"gain": psnr(recording.truth, x) - own, "seconds": seconds}
    for name, method in SEARCHED.items():
        tried = [(psnr(recording.truth, x) - own, n, seconds) for n in COUNTS
                 for x, seconds in [command.restore([*method, *options, "--iterations", n])]]
        gain, best, seconds = max(tried)
        results[name] = {"gain": gain, "iterations": best, "seconds": seconds}
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--size", default="40,96,96")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    shape = tuple(int(n) for n in arguments.size.split(","))
    report = []
    with tempfile.TemporaryDirectory() as folder:
        command = Command(arguments.build, folder)
        command.run("psf", "-o", "h.npy", "--na", NA, "--ni", 1.33, "--ns", 1.345, "--depth", "5um", "--wavelength",
                    f"{WAVELENGTH * 1000:g}nm", "--voxel", ",".join(f"{v * 1000:g}" for v in VOXEL) + "nm", "--size",
                    f"{shape[0] // 2 * 2 - 1},63,63")
        for kind in arguments.kinds.split(","):
            for photons in LEVELS:
                for seed in range(arguments.seeds):
                    results = measure(command, record(kind, photons, seed, shape), photons)
                    report.append({"kind": kind, "photons": photons, "seed": seed, **results})
                    text = [f"{name} {entry['gain']:+.2f} dB {entry.get('iterations', '')} {entry['seconds']:.1f} s"
                            for name, entry in results.items() if name != "recording"]
                    print(kind, photons, f"{results['recording']['psnr']:.2f} dB:", "; ".join(text), flush=True)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
