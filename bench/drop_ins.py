#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the drop-ins beside the functions that they replace: small arrays beside SciPy's, on the CPU, or with --gpu
arrays in a GPU's memory beside CuPy's.

    PYTHONPATH=BUILD/python bench/drop_ins.py [--gpu] [--json FILE]

Both take turns. Figures are the shortest of many calls on the CPU, and medians on a GPU.
"""

import argparse
import functools
import importlib
import os
import statistics
import time
from pathlib import Path

from hardware import gpu_properties, processor_name
from report import report_text

# Function, its module, shapes of image and kernel, other arguments. Both arrays are float64 on the CPU.
SMALL = [
    ("fftconvolve", "signal", (32, 32), (5, 5), ("same",)), ("fftconvolve", "signal", (1000,), (50,), ("same",)),
    ("oaconvolve", "signal", (1000,), (50,), ("same",)), ("convolve", "signal", (1000,), (50,), ("same",)),
    ("convolve", "ndimage", (32, 32), (5, 5), ()), ("gaussian_filter", "ndimage", (32, 32), None, (1.0,)),
    ("uniform_filter", "ndimage", (32, 32), None, (3,)), ("convolve1d", "ndimage", (1000,), (50,), ())]
LARGE = [
    ("fftconvolve", "signal", (512, 1024, 1024), (64, 64, 64), ("same",)),
    ("fftconvolve", "signal", (64, 256, 256), (15, 15, 15), ("same",)),
    ("oaconvolve", "signal", (1 << 21,), (257,), ("same",)),
    ("convolve", "ndimage", (256, 512, 512), (5, 5, 5), ()),
    ("gaussian_filter", "ndimage", (256, 512, 512), None, (2.0,)),
    ("uniform_filter", "ndimage", (256, 512, 512), None, (5,))]


def shortest(functions):
    """Returns the shortest time of a call of each function, in microseconds."""
    best = [float("inf")] * len(functions)
    for _ in range(300):
        for number, function in enumerate(functions):
            begin = time.perf_counter()
            for _ in range(10):
                function()
            best[number] = min(best[number], (time.perf_counter() - begin) * 1e5)
    return best


def medians(functions):
    """Returns the median time of a call on a GPU of each function, in microseconds."""
    synchronize = importlib.import_module("cupy").cuda.Device().synchronize
    times = [[] for _ in functions]
    for turn in range(12):
        for number, function in enumerate(functions):
            begin = time.perf_counter()
            function()
            synchronize()
            if turn > 1:
                times[number].append((time.perf_counter() - begin) * 1e6)
    return [statistics.median(one) for one in times]


def rows(on_gpu):
    numpy = importlib.import_module("numpy")
    arrays, dtype = (importlib.import_module("cupy"), "float32") if on_gpu else (numpy, "float64")
    for name, module, *shapes, others in LARGE if on_gpu else SMALL:
        inputs = [arrays.asarray(numpy.random.default_rng(1).random(shape).astype(dtype)) for shape in shapes if shape]
        packages = (("cupyx.scipy" if on_gpu else "scipy") + f".{module}", f"convolume.{module}")
        functions = [getattr(importlib.import_module(package), name) for package in packages]
        peer, ours = (medians if on_gpu else shortest)(
            [functools.partial(function, *inputs, *others) for function in functions])
        work = " * ".join("×".join(map(str, shape)) for shape in shapes if shape)
        print(f"| `{packages[0]}.{name}`, {work} | {peer:.1f} | {ours:.1f} | {peer / ours:.2f}× |", flush=True)
        yield {"function": f"{packages[0]}.{name}", "work": work, "peer_us": peer, "convolume_us": ours}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if not arguments.gpu:
        importlib.import_module("current_peers")
    library = importlib.import_module("cupy" if arguments.gpu else "scipy")
    versions = {"processor": processor_name(), "graphics": [gpu["name"] for gpu in gpu_properties()],
                "cores": os.cpu_count(), library.__name__: library.__version__, "date": time.strftime("%Y-%m-%d")}
    print(versions)
    print("| work | original, µs | convolume, µs | faster |\n|---|---|---|---|")
    figures = {**versions, "rows": list(rows(arguments.gpu))}
    if arguments.json:
        arguments.json.write_text(report_text(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
