#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times functions that plan and compute in one call beside planned objects and other libraries, in turns.

    PYTHONPATH=BUILD/python bench/one_call.py [--rounds N] [--cpu] [--json FILE]

Arrays in a GPU's memory are compared with CuPy, arrays of the host with SciPy. All of them return new arrays, except
where `out` is named. A turn has as many calls as take 1 ms, one at least. Times are medians of turns, and the shortest
turn, which depends less on other programs. Work on the GPU is waited for. Rows of CuPy are left out if it is missing,
or with --cpu.
"""

import argparse
import importlib
import os
import statistics
import time
from pathlib import Path

import current_peers  # noqa: F401 (comes before NumPy)
import numpy as np
from hardware import processor_name
from report import report_text

import convolume
from convolume import cache, ndimage, signal

ON_GPU = {"512×1024×1024 * 64³": ((512, 1024, 1024), (64, 64, 64)),
          "64×256×256 * 15³": ((64, 256, 256), (15, 15, 15))}
ON_HOST = {"32² * 5²": ((32, 32), (5, 5)), "1000 * 50": ((1000,), (50,)), "64³ * 7³": ((64, 64, 64), (7, 7, 7)),
           "128³ * 15³": ((128, 128, 128), (15, 15, 15))}
TURN_MS = 1


def milliseconds(functions, rounds, wait=lambda: None):
    """Returns the first, the median and the least milliseconds of each function, by name. Functions run in turns."""

    def turn(function, calls):
        wait()
        begin = time.perf_counter()
        for _ in range(calls):
            result = function()
        wait()
        elapsed = time.perf_counter() - begin
        del result
        return 1e3 * elapsed / calls

    first = {name: turn(function, 1) for name, function in functions.items()}
    calls = {name: max(1, round(TURN_MS / turn(function, 3))) for name, function in functions.items()}
    times = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            times[name].append(turn(function, calls[name]))
    return {name: (first[name], statistics.median(one), min(one)) for name, one in times.items()}


def host_functions(image_shape, kernel_shape):
    random = np.random.default_rng(1)
    image, kernel = random.random(image_shape), random.random(kernel_shape)
    plan = convolume.Convolver(image_shape, kernel, dtype=image.dtype, origin="scipy", device="cpu")
    peer, out = importlib.import_module("scipy.signal"), np.empty(image_shape)
    return plan.plan.method, {
        "planned": lambda: plan(image),
        "convolve": lambda: convolume.convolve(image, kernel, origin="scipy", device="cpu"),
        "signal.fftconvolve": lambda: signal.fftconvolve(image, kernel, "same", device="cpu"),
        "signal.convolve": lambda: signal.convolve(image, kernel, "same", device="cpu"),
        "ndimage.convolve": lambda: ndimage.convolve(image, kernel, mode="constant", device="cpu"),
        "planned, out": lambda: plan(image, out),
        "convolve, out": lambda: convolume.convolve(image, kernel, origin="scipy", device="cpu", out=out),
        "SciPy fftconvolve": lambda: peer.fftconvolve(image, kernel, "same")}


def gpu_functions(cupy, image_shape, kernel_shape):
    random = cupy.random.default_rng(1)
    image = random.random(image_shape, dtype=cupy.float32)
    kernel = random.random(kernel_shape, dtype=cupy.float32)
    taps = cupy.asnumpy(kernel)
    plan = convolume.Convolver(image_shape, taps, precision="float32")
    peer = importlib.import_module("cupyx.scipy.signal")
    return {"planned": lambda: plan(image),
            "convolve, kernel on the GPU": lambda: convolume.convolve(image, kernel),
            "convolve, kernel on the host": lambda: convolume.convolve(image, taps),
            "signal.fftconvolve": lambda: signal.fftconvolve(image, kernel, "same"),
            "CuPy fftconvolve": lambda: peer.fftconvolve(image, kernel, "same")}


def show(title, times):
    print(title)
    print(f"  {'':<32} {'median':>9}    {'shortest':>9}    × planned   first")
    planned = times["planned"]
    for name, (first, later, least) in times.items():
        print(f"  {name:<32} {later:9.4f} ms {least:9.4f} ms {later / planned[1]:5.2f} {least / planned[2]:5.2f} "
              f"{first:9.1f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--cpu", action="store_true", help="leave the GPU out")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows, versions = {}, {"processor": processor_name(), "cores": os.cpu_count(), "date": time.strftime("%Y-%m-%d")}
    for name in ("numpy", "scipy") if arguments.cpu else ("numpy", "scipy", "cupy"):
        try:
            versions[name] = importlib.import_module(name).__version__
        except ImportError:
            print(f"{name} is missing: its rows are left out")
    print(versions)
    if "cupy" in versions:
        cupy = importlib.import_module("cupy")
        for title, shapes in ON_GPU.items():
            rows["GPU " + title] = milliseconds(gpu_functions(cupy, *shapes), arguments.rounds,
                                                cupy.cuda.Device().synchronize)
            show(f"GPU {title}, float32", rows["GPU " + title])
            cupy.get_default_memory_pool().free_all_blocks()
    for title, shapes in ON_HOST.items():
        method, functions = host_functions(*shapes)
        rows["CPU " + title] = milliseconds(functions, arguments.rounds)
        show(f"CPU {title}, float64, planned as {method}", rows["CPU " + title])
    print(cache.info())
    if arguments.json:
        arguments.json.write_text(report_text({"versions": versions, "milliseconds": rows}))


if __name__ == "__main__":
    main()
