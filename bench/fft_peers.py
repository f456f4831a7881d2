#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times Fourier transforms of DUCC0, pocketfft (SciPy) and MKL beside own transforms and FFTW's measured plans.

    bench/fft_peers.py [--bench build/bench/convolume_fft_bench] [GROUP...]

Runs convolume_fft_bench for the groups (signals, rows, columns, long; all by default). After each of its cases it waits
while peers are timed with the same length, batch and kind, on one thread, the best of several runs. Peers that are not
installed are left out (`pip install ducc0 scipy mkl_fft`). Prints nanoseconds a sample, and for each peer how often own
transforms are as fast or faster.
"""

import argparse
import subprocess
import time

import numpy as np

ROUNDS = 7
LEAST_SECONDS = 2e-3


def peers():
    """Returns functions of (data, kind) for the installed libraries. Real inverse transforms know the length."""
    found = {}
    try:
        import ducc0

        def by_ducc(data, kind, length):
            if kind == "complex":
                return ducc0.fft.c2c(data, axes=(1,), nthreads=1)
            if kind == "complex, inverse":
                return ducc0.fft.c2c(data, axes=(1,), forward=False, nthreads=1)
            if kind == "real":
                return ducc0.fft.r2c(data, axes=(1,), nthreads=1)
            return ducc0.fft.c2r(data, axes=(1,), lastsize=length, forward=False, nthreads=1)

        found["DUCC0"] = by_ducc
    except ImportError:
        pass
    for name, module in (("pocketfft", "scipy.fft"), ("MKL", "mkl_fft")):
        try:
            library = __import__(module, fromlist=["fft"])
        except ImportError:
            continue

        def by_library(data, kind, length, library=library):
            if kind == "complex":
                return library.fft(data, axis=1)
            if kind == "complex, inverse":
                return library.ifft(data, axis=1)
            if kind == "real":
                return library.rfft(data, axis=1)
            return library.irfft(data, length, axis=1)

        found[name] = by_library
    return found


def samples(precision, kind, length, batch):
    random = np.random.default_rng(1)
    real = np.float32 if precision == "float" else np.float64
    if kind == "real":
        return random.standard_normal((batch, length)).astype(real)
    bins = length // 2 + 1 if kind == "real, inverse" else length
    data = random.standard_normal((batch, bins)) + 1j * random.standard_normal((batch, bins))
    return data.astype(np.complex64 if precision == "float" else np.complex128)


def best_seconds(work):
    start = time.perf_counter()
    work()
    work()
    repeats = max(1, int(LEAST_SECONDS / max(1e-9, (time.perf_counter() - start) / 2)))
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(repeats):
            work()
        best = min(best, (time.perf_counter() - start) / repeats)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", metavar="GROUP")
    parser.add_argument("--bench", default="build/bench/convolume_fft_bench")
    arguments = parser.parse_args()
    libraries = peers()
    print("| transform | length | batch | own, ns | FFTW, ns |" + "".join(f" {name}, ns |" for name in libraries))
    print("|---" * (5 + len(libraries)) + "|")
    ratios = {name: [] for name in ("FFTW", *libraries)}
    command = [arguments.bench, "--wait", *arguments.groups]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as bench:
        for line in bench.stdout:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) != 6 or not cells[1].isdigit():
                continue
            precision, kind = cells[0].split(", ", 1)
            length, batch, own = int(cells[1]), int(cells[2]), float(cells[3])
            ratios["FFTW"].append(float(cells[4]) / own)
            times = []
            for name, transform in libraries.items():
                data = samples(precision, kind, length, batch)
                seconds = best_seconds(lambda t=transform, d=data, k=kind, n=length: t(d, k, n))
                times.append(seconds * 1e9 / (length * batch))
                ratios[name].append(times[-1] / own)
            print("| " + " | ".join(cells[:5]) + " |" + "".join(f" {t:.2f} |" for t in times), flush=True)
            bench.stdin.write("\n")
            bench.stdin.flush()
    print()
    for name, values in ratios.items():
        if values:
            faster = 100 * np.mean(np.array(values) >= 1)
            print(f"{name} / own: median {np.median(values):.2f}, least {min(values):.2f}; "
                  f"own transforms are as fast or faster in {faster:.0f} % of {len(values)} cases")


if __name__ == "__main__":
    main()
