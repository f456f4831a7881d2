#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times functions that plan and compute in one call beside planned objects and other libraries, in turns.

    PYTHONPATH=BUILD/python bench/one_call.py [--rounds N] [--json FILE]

Arrays in a GPU's memory are compared with CuPy, arrays of the host with SciPy. Times are medians after the first call
of each. Work on the GPU is waited for. Rows of libraries that are missing are left out.
"""

import argparse
import importlib
import json
import os
import statistics
import time
from pathlib import Path

import numpy as np

import convolume
from convolume import cache, ndimage, signal

ON_GPU = {"512×1024×1024 * 64³": ((512, 1024, 1024), (64, 64, 64)),
          "64×256×256 * 15³": ((64, 256, 256), (15, 15, 15))}
ON_HOST = {"32² * 5²": ((32, 32), (5, 5)), "1000 * 50": ((1000,), (50,)), "64³ * 7³": ((64, 64, 64), (7, 7, 7)),
           "128³ * 15³": ((128, 128, 128), (15, 15, 15))}


def milliseconds(functions, rounds, wait=lambda: None):
    """Returns the first and the median milliseconds of each function, by name. Functions run in turns."""
    times = {name: [] for name in functions}
    for _ in range(rounds + 1):
        for name, function in functions.items():
            wait()
            begin = time.perf_counter()
            result = function()
            wait()
            times[name].append(1e3 * (time.perf_counter() - begin))
            del result
    return {name: (one[0], statistics.median(one[1:])) for name, one in times.items()}


def host_functions(image_shape, kernel_shape):
    random = np.random.default_rng(1)
    image, kernel = random.random(image_shape), random.random(kernel_shape)
    plan = convolume.Convolver(image_shape, kernel, dtype=image.dtype, origin="scipy", device="cpu")
    functions = {"planned": lambda: plan(image),
                 "convolve": lambda: convolume.convolve(image, kernel, origin="scipy", device="cpu"),
                 "fftconvolve": lambda: signal.fftconvolve(image, kernel, "same", device="cpu"),
                 "ndimage.convolve": lambda: ndimage.convolve(image, kernel, mode="constant", device="cpu")}
    try:
        peer = importlib.import_module("scipy.signal")
        functions["SciPy fftconvolve"] = lambda: peer.fftconvolve(image, kernel, "same")
    except ImportError:
        pass
    return functions


def gpu_functions(cupy, image_shape, kernel_shape):
    random = cupy.random.default_rng(1)
    image = random.random(image_shape, dtype=cupy.float32)
    kernel = random.random(kernel_shape, dtype=cupy.float32)
    out, taps = cupy.empty_like(image), cupy.asnumpy(kernel)
    plan = convolume.Convolver(image_shape, taps, precision="float32")
    peer = importlib.import_module("cupyx.scipy.signal")
    return {"planned": lambda: plan(image, out),
            "convolve, kernel on the GPU": lambda: convolume.convolve(image, kernel),
            "convolve, kernel on the host": lambda: convolume.convolve(image, taps),
            "CuPy fftconvolve": lambda: peer.fftconvolve(image, kernel, "same")}


def show(title, times):
    print(title)
    for name, (first, later) in times.items():
        print(f"  {name:<32} {later:9.3f} ms   {later / times['planned'][1]:6.2f} × planned   first {first:9.1f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows, versions = {}, {"numpy": np.__version__, "processors": os.cpu_count()}
    for name in ("scipy", "cupy"):
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
            show("GPU " + title, rows["GPU " + title])
            cupy.get_default_memory_pool().free_all_blocks()
    for title, shapes in ON_HOST.items():
        rows["CPU " + title] = milliseconds(host_functions(*shapes), arguments.rounds)
        show("CPU " + title, rows["CPU " + title])
    print(cache.info())
    if arguments.json:
        arguments.json.write_text(json.dumps({"versions": versions, "milliseconds": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
