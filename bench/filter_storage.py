#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times banks of filters from host memory to host memory with storage of 16 bits, in turns with float32.

    bench/filter_storage.py [--device gpu|cpu] [--samples N] [--taps N] [--filters N] [--rounds N]

Each row is the median and the least of the rounds. Result arrays are the same in all rounds.
"""

import argparse
import statistics
import time

import numpy as np

import convolume

STORAGES = {"float32": {}, "float16": {}, "int16": {"scale": 1 / 4096, "output_scale": 1 / 512}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--samples", type=int, default=1 << 21)
    parser.add_argument("--taps", type=int, default=257)
    parser.add_argument("--filters", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    random = np.random.default_rng(1)
    samples = random.standard_normal(arguments.samples)
    taps = random.standard_normal((arguments.filters, arguments.taps)).astype(np.float32) / arguments.taps**0.5
    banks, seconds = {}, {}
    for name, steps in STORAGES.items():
        signal = (samples / steps.get("scale", 1)).astype(name)
        bank = convolume.FilterBank(signal.shape, taps, dtype=name, output_dtype=name, device=arguments.device, **steps)
        banks[name] = bank, signal, bank(signal)
        seconds[name] = []
    for _ in range(arguments.rounds):
        for name, (bank, signal, result) in banks.items():
            begin = time.perf_counter()
            bank(signal, out=result)
            seconds[name].append(time.perf_counter() - begin)
    print(f"{arguments.samples} samples * {arguments.filters} filters of {arguments.taps} taps, {arguments.device}")
    for name, times in seconds.items():
        factor = statistics.median(seconds["float32"]) / statistics.median(times)
        print(f"{name:8} {1e3 * statistics.median(times):.2f} ms (least {1e3 * min(times):.2f}), {factor:.2f}×")


if __name__ == "__main__":
    main()
