#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the Python package, SciPy and scikit-image in turns, on the CPU.

    PYTHONPATH=BUILD/python bench/python_peers.py [--rounds N] [--workers N] [--json FILE]

It needs NumPy, SciPy and, for deconvolution, scikit-image. First calls are the first ones of a process, later ones are
medians.
"""

import argparse
import platform
import statistics
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

import current_peers  # noqa: F401 (leaves subprocesses no settings of OPENBLAS)
from report import report_text

FFTCONVOLVE = """
import time, numpy as np
random = np.random.default_rng(1)
image, kernel = (random.random(shape, dtype=np.float32) for shape in ((240, 480, 480), (31, 61, 61)))
if PEER:
    import scipy.fft, scipy.signal
    scipy.fft.set_global_backend("scipy")
    def run():
        with scipy.fft.set_workers(WORKERS):
            scipy.signal.fftconvolve(image, kernel, "same")
else:
    import convolume.signal
    def run():
        convolume.signal.fftconvolve(image, kernel, "same", workers=WORKERS, device="cpu")
"""
GAUSSIAN = """
import time, numpy as np
image = np.random.default_rng(1).random((512, 512, 512), dtype=np.float32)
if PEER:
    import scipy.ndimage
    def run():
        scipy.ndimage.gaussian_filter(image, 2)
else:
    import convolume.ndimage
    def run():
        convolume.ndimage.gaussian_filter(image, 2, workers=WORKERS, device="cpu")
"""
RICHARDSON_LUCY = """
import time, numpy as np
random = np.random.default_rng(1)
image, psf = (random.random(shape, dtype=np.float32) for shape in ((96, 256, 256), (33, 65, 65)))
psf /= psf.sum()
if PEER:
    import skimage.restoration
    def run():
        skimage.restoration.richardson_lucy(image, psf, 10)
else:
    import convolume.restoration
    def run():
        convolume.restoration.richardson_lucy(image, psf, 10, workers=WORKERS, device="cpu")
"""
CASES = {"fftconvolve, 240×480×480 * 31×61×61": (FFTCONVOLVE, "scipy.signal"),
         "gaussian_filter, 512³, σ = 2": (GAUSSIAN, "scipy.ndimage"),
         "richardson_lucy, 96×256×256 * 33×65×65, 10 iterations": (RICHARDSON_LUCY, "skimage.restoration")}


def call_times(program, peer, workers, rounds):
    """Calls run() of `program` `rounds` times in one new process, and returns the seconds of each call."""
    text = (f"PEER, WORKERS = {peer}, {workers}\n{program}\nfor _ in range({rounds}):\n"
            "    begin = time.perf_counter()\n    run()\n    print(time.perf_counter() - begin)\n")
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return [float(line) for line in done.stdout.split()]


def import_seconds():
    text = "import time, numpy\nbegin = time.perf_counter()\nimport convolume\nprint(time.perf_counter() - begin)"
    return statistics.median(float(subprocess.run([sys.executable, "-c", text], capture_output=True, text=True,
                                                  check=True).stdout) for _ in range(9))


def call_seconds():
    """Measures the seconds of a call of a planned convolver, with an image of 8³ and a kernel of 3³."""
    import numpy as np

    import convolume

    image = np.ones((8, 8, 8), np.float32)
    plan = convolume.Convolver(image.shape, np.random.default_rng(1).random((3, 3, 3), dtype=np.float32), device="cpu")
    out = np.empty_like(image)

    def seconds_per_call(call, count=20000):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - begin) / count

    return {"call": statistics.median(seconds_per_call(lambda: plan(image)) for _ in range(5)),
            "core": statistics.median(seconds_per_call(lambda: plan._core.execute(image, out)) for _ in range(5))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4, help="calls in a process")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for name, (program, peer) in CASES.items():
        ours, theirs = [], []
        for _ in range(2):
            theirs.append(call_times(program, True, arguments.workers, max(2, arguments.rounds // 2)))
            ours.append(call_times(program, False, arguments.workers, arguments.rounds))
        first = statistics.median(run[0] for run in ours)
        later = statistics.median(t for run in ours for t in run[1:])
        of_peer = statistics.median(t for run in theirs for t in run)
        rows.append({"case": name, "peer": peer, "peer_s": of_peer, "first_s": first, "later_s": later})
        print(f"{name:56} {peer} {of_peer:.3f} s; first call {first:.3f} s ({of_peer / first:.1f}×), later "
              f"{later:.3f} s ({of_peer / later:.1f}×)", flush=True)
    loading = import_seconds()
    call = call_seconds()
    print(f"import {1e3 * loading:.0f} ms beside NumPy's; a call {1e6 * call['call']:.1f} µs, of which the compiled "
          f"part {1e6 * call['core']:.1f} µs")
    if arguments.json:
        machine = f"{platform.machine()}, {arguments.workers} workers, Python {platform.python_version()}"
        arguments.json.write_text(report_text({"date": str(date.today()), "machine": machine, "import_s": loading,
                                              "call_s": call, "rows": rows}), encoding="utf-8")


if __name__ == "__main__":
    main()
