#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times `convolume deconvolve` from file to file: 256×2048×2048 uint16 * 33×127×127 on one GPU, beside a copy of the
same bytes.

    bench/deconvolve_files.py CONVOLUME [FOLDER]

FOLDER, by default a new one, needs 16 GB. Each row is run twice, and the shorter time counts. Files are read from the
page cache. The run with `--stop auto`, which starts on coarser images, must have the bits of as many iterations given
by hand after that start.
"""

import filecmp
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def write_inputs(command, folder):
    rng = np.random.default_rng(1)
    image = np.lib.format.open_memmap(folder / "image.npy", "w+", np.uint16, (256, 2048, 2048))
    for z in range(256):
        plane = rng.integers(90, 111, (2048, 2048), np.uint16)
        for y, x in rng.integers(20, 2028, (60, 2)):
            plane[y - 3:y + 4, x - 3:x + 4] += rng.integers(50, 2000, dtype=np.uint16)
        image[z] = plane
    image.flush()
    k, j, i = np.ogrid[-16:17, -63:64, -63:64]
    psf = np.exp(-(k / 5) ** 2 - (j / 6) ** 2 - (i / 6) ** 2)
    psf += 0.05 * np.exp(-(k / 12) ** 2 - (j / 30) ** 2 - (i / 30) ** 2)
    np.save(folder / "psf.npy", (psf / psf.sum()).astype(np.float32))
    for name in ("image", "psf"):
        subprocess.run([command, "convert", f"{name}.npy", f"{name}.tif", "-q", "--overwrite"], cwd=folder, check=True)


def timed(work):
    best, found = float("inf"), None
    for _ in range(2):
        begin = time.perf_counter()
        found = work()
        best = min(best, time.perf_counter() - begin)
    return best, found


def copied(folder):
    """Reads and writes as many bytes as a run: 2 GiB in, 4 GiB out."""
    block = 1 << 24
    with open(folder / "image.tif", "rb") as source, open(folder / "copy.bin", "wb") as target:
        while data := source.read(block):
            target.write(data)
            target.write(data)
        target.flush()
        os.fsync(target.fileno())


def deconvolved(command, folder, output, options):
    run = subprocess.run([command, "deconvolve", "image.tif", "psf.tif", "-o", output, "--overwrite", "--device", "gpu",
                          "-q", "--json", *options], cwd=folder, check=True, capture_output=True, text=True)
    return json.loads(run.stdout)["report"]


def main():
    command = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as fresh:
        folder = Path(sys.argv[2] if len(sys.argv) > 2 else fresh)
        write_inputs(command, folder)
        print("| work | s | iterations and transforms, s | write, s | host memory, GiB |\n|---|---|---|---|---|")
        print(f"| a copy of the same bytes | {timed(lambda: copied(folder))[0]:.1f} | | | |", flush=True)
        rows = {"20 iterations": ["--iterations", "20"],
                "the same, background and offset given": ["--iterations", "20", "--background", "100", "--offset",
                                                          "95"],
                "20 iterations, 12 GiB of the GPU": ["--iterations", "20", "--max-gpu-mem", "12G"],
                "`--stop auto`": ["--stop", "auto"], "the same iterations by hand": []}
        found = 0
        for number, (name, options) in enumerate(rows.items()):
            work = functools.partial(deconvolved, command, folder, f"out{number}.tif",
                                     options or ["--iterations", str(found), "--coarse-start=20"])
            seconds, report = timed(work)
            found = report["volumes"][0]["iterations"]
            phases = report["seconds"]
            print(f"| {name} ({found}) | {seconds:.1f} | {phases['convolve']:.1f} | {phases['write']:.1f} | "
                  f"{report['peak_resident_bytes'] / 2**30:.2f} |", flush=True)
        if not filecmp.cmp(folder / "out3.tif", folder / "out4.tif", shallow=False):
            sys.exit("the results of --stop auto and of as many iterations by hand differ")


if __name__ == "__main__":
    main()
