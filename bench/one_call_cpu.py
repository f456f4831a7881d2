#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times single calls of the drop-ins beside SciPy's functions, in turns, on the CPU.

    PYTHONPATH=BUILD/python bench/one_call_cpu.py [--rounds N] [--workers N] [--json FILE]

A figure is the median of a function's calls, without its first. A plain copy of the largest image is timed too.
Processor times are those of all threads of a call, and depend less on other programs.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import numpy as np
import scipy.ndimage
import scipy.signal

import convolume.ndimage
import convolume.signal

CONVOLUTIONS = [("fftconvolve", (32, 32), (5, 5), 200), ("fftconvolve", (1000,), (50,), 200),
                ("fftconvolve", (64, 64, 64), (7, 7, 7), 20), ("oaconvolve", (2_000_000,), (257,), 10)]
SIGMA = 2


def cases(workers):
    """Yields, for each case: its name, SciPy's call, ours, and the number of calls in a round."""
    random = np.random.default_rng(1)
    for dtype in (np.float32, np.float64):
        for name, shape, taps, calls in CONVOLUTIONS:
            image, kernel = random.random(shape, dtype), random.random(taps, dtype)
            theirs, ours = getattr(scipy.signal, name), getattr(convolume.signal, name)
            extents = " * ".join("×".join(map(str, extents)) for extents in (shape, taps))
            yield (f"{name}, {extents}, {np.dtype(dtype)}", lambda f=theirs, a=image, b=kernel: f(a, b, "same"),
                   lambda f=ours, a=image, b=kernel: f(a, b, "same", device="cpu", workers=workers), calls)
    image = random.random((512, 512, 512), np.float32)
    yield ("copy, 512³, float32", image.copy, image.copy, 3)
    for axis in range(3):
        yield (f"gaussian_filter1d, 512³, axis {axis}",
               lambda a=axis: scipy.ndimage.gaussian_filter1d(image, SIGMA, a),
               lambda a=axis: convolume.ndimage.gaussian_filter1d(image, SIGMA, a, device="cpu", workers=workers), 3)
    yield ("gaussian_filter, 512³", lambda: scipy.ndimage.gaussian_filter(image, SIGMA),
           lambda: convolume.ndimage.gaussian_filter(image, SIGMA, device="cpu", workers=workers), 3)


def times(call, calls):
    """Returns the seconds and the processor seconds of each call."""
    found = []
    for _ in range(calls):
        begin = time.perf_counter(), time.process_time()
        call()
        found.append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
    return found


def medians(pairs):
    return [statistics.median(values) for values in zip(*pairs)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="turns of each function")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    print(f"SciPy {scipy.__version__}, NumPy {np.__version__}, convolume {convolume.__version__}, "
          f"{arguments.workers} threads")
    rows = []
    for name, theirs, ours, calls in cases(arguments.workers):
        found = {"scipy": [], "convolume": []}
        for call in (theirs, ours):
            call()
        for _ in range(arguments.rounds):
            found["scipy"] += times(theirs, calls)
            found["convolume"] += times(ours, calls)
        (peer_s, peer_cpu_s), (own_s, own_cpu_s) = medians(found["scipy"]), medians(found["convolume"])
        rows.append({"case": name, "scipy_s": peer_s, "scipy_cpu_s": peer_cpu_s, "seconds": own_s, "cpu_s": own_cpu_s})
        print(f"{name:48} SciPy {peer_s * 1e3:9.3f} ms (cpu {peer_cpu_s * 1e3:9.3f}), convolume {own_s * 1e3:9.3f} ms "
              f"(cpu {own_cpu_s * 1e3:9.3f}): {peer_s / own_s:.2f}×", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
