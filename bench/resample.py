#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times resample_poly and upfirdn of convolume and of SciPy or, with --gpu, of CuPy alternately, and prints a table.

    bench/resample.py [--rounds N] [--threads N] [--samples N] [--gpu] [--json FILE]

Both compute the same call in one process, to new memory, and the table has the least times. The results are compared
first. The Python package must be on PYTHONPATH, for example build/dev/python.
"""

import argparse
import functools
import time
from pathlib import Path

import current_peers  # noqa: F401 (comes before NumPy)
import numpy as np
import scipy.signal
from report import report_text

from convolume import signal

CASES = [("resample_poly", 160, 147, "float32"), ("resample_poly", 160, 147, "float64"),
         ("resample_poly", 160, 147, "complex64"), ("resample_poly", 147, 160, "float32"),
         ("resample_poly", 1, 2, "float32"), ("resample_poly", 2, 1, "float32"), ("resample_poly", 1, 10, "float32")]


def least_ms(functions, rounds, wait):
    """Calls functions in turns; returns the least milliseconds of each. A first round warms up."""
    least = [float("inf")] * len(functions)
    for turn in range(rounds + 1):
        for number, function in enumerate(functions):
            wait()
            start = time.perf_counter()
            result = function()
            wait()
            passed = 1e3 * (time.perf_counter() - start)
            del result
            if turn:
                least[number] = min(least[number], passed)
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--samples", type=int, default=1 << 24)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    library, peer, options, wait = np, scipy.signal, {"device": "cpu", "workers": arguments.threads}, lambda: None
    if arguments.gpu:
        import cupy
        import cupyx.scipy.signal
        library, peer, options, wait = cupy, cupyx.scipy.signal, {}, cupy.cuda.Device().synchronize
    random = np.random.default_rng(1)
    rows = []
    print(f"{arguments.samples} samples; least ms of {arguments.rounds} rounds")
    print(f"| call | {peer.__name__} | convolume | ratio | largest difference |\n|---|---|---|---|---|")
    for name, up, down, dtype in CASES:
        values = random.standard_normal(arguments.samples).astype(dtype)
        x = library.asarray(values)
        ours = functools.partial(getattr(signal, name), x, up, down, **options)
        theirs = functools.partial(getattr(peer, name), x, up, down)
        found, want = ours(), theirs()
        difference = float(abs(found - want).max() / abs(want).max())
        assert difference < (1e-5 if dtype in ("float32", "complex64") else 1e-13), difference
        del found, want
        peer_ms, own_ms = least_ms([theirs, ours], arguments.rounds, wait)
        rows.append({"call": f"{name} {up}/{down} {dtype}", "peer": peer.__name__, "peer_ms": peer_ms,
                     "convolume_ms": own_ms, "ratio": peer_ms / own_ms, "difference": difference})
        print(f"| {name} {up}/{down} {dtype} | {peer_ms:.2f} | {own_ms:.2f} | {peer_ms / own_ms:.1f} "
              f"| {difference:.1e} |", flush=True)
    if arguments.json:
        arguments.json.write_text(report_text(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
