#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Deskews a stage scan file to file, by `convolume deskew` and by scipy.ndimage.affine_transform in turns, and prints
seconds and memory.

    bench/deskew.py CONVOLUME [--size Z,Y,X] [--repeat N] [--folder FOLDER]

Each turn is a process of its own. SciPy reads and writes the TIFF by tifffile. Needs NumPy, SciPy and tifffile.
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ANGLE, STEP, PIXEL = 31.5, 0.4, 0.108
SHIFT = STEP * np.cos(np.radians(ANGLE)) / PIXEL


def by_scipy(source, target, rotate):
    """Deskews as users of SciPy do: one affine transform of the array."""
    import tifffile
    from scipy import ndimage

    image = tifffile.imread(source)
    planes, rows, columns = image.shape
    if not rotate:
        matrix, offset = [[1, 0, 0], [-SHIFT, 1, 0], [0, 0, 1]], 0
        shape = planes, rows + int(np.ceil((planes - 1) * SHIFT)), columns
    else:
        sin, cos = np.sin(np.radians(ANGLE)), np.cos(np.radians(ANGLE))
        last = rows - 1
        shape = (int(np.ceil(last * sin)) + 1, int(np.ceil(last * cos + (planes - 1) * STEP / PIXEL)) + 1, columns)
        matrix = [[PIXEL / STEP * cos / sin, PIXEL / STEP, 0], [-1 / sin, 0, 0], [0, 0, 1]]
        offset = [-last * cos * PIXEL / STEP, last, 0]
    result = ndimage.affine_transform(image, np.array(matrix), offset, shape, order=1, output=image.dtype)
    tifffile.imwrite(target, result, imagej=True, metadata={"axes": "ZYX"})


def make_scan(path, shape):
    import tifffile

    tifffile.imwrite(path, np.random.default_rng(1).integers(0, 4000, shape, dtype=np.uint16), imagej=True,
                     resolution=(1 / PIXEL,) * 2, metadata={"axes": "ZYX", "spacing": STEP, "unit": "um"})


def timed(words):
    """Returns the seconds and the peak memory in MiB of a process."""
    begin = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{words} failed")
    return time.perf_counter() - begin, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("--size", default="256,1024,1024")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder")
    parser.add_argument("--scipy", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.scipy:
        by_scipy(given.scipy[0], given.scipy[1], given.scipy[2] == "rotate")
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        source, target = Path(folder, "scan.tif"), Path(folder, "result.tif")
        shape = tuple(map(int, given.size.split(",")))
        # In a process of its own, as the system counts the memory of this one for those that it starts.
        making = multiprocessing.Process(target=make_scan, args=(source, shape))
        making.start()
        making.join()
        ours = [given.command, "deskew", source, "--angle", ANGLE, "--step", f"{STEP}um", "-o", target, "-q"]
        scipy = [sys.executable, __file__, given.command, "--scipy", source, target]
        ways = {"deskew": ours, "deskew, lanczos": [*ours, "--interpolation", "lanczos"], "SciPy": [*scipy, "shear"],
                "deskew --rotate": [*ours, "--rotate"], "SciPy, rotated": [*scipy, "rotate"],
                "deskew --rotate, 256 MiB": [*ours, "--rotate", "--max-host-mem", "256M"]}
        found = {name: [] for name in ways}
        for _ in range(given.repeat):
            for name, words in ways.items():
                target.unlink(missing_ok=True)
                found[name].append(timed(list(map(str, words))))
        for name, turns in found.items():
            seconds, memory = zip(*turns)
            print(f"{name}: {min(seconds):.2f} to {max(seconds):.2f} s, {max(memory):.0f} MiB")
    print(f"load {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
