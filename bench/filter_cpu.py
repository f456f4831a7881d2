#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times filter banks of convolume, SciPy's oaconvolve and one large FFT alternately, and prints a table.

    bench/filter_cpu.py [--build DIR] [--rounds N] [--threads N] [--json FILE]

Signals have 2,097,152 float32 samples, filtered by 8 filters in mode same. Results go to existing memory;
only SciPy always allocates new memory. The last rows convolve 2^20 with 2^20 samples, with one padded
transform as peer.
"""

import argparse
import os
import statistics
import time
from pathlib import Path

import current_peers  # noqa: F401 (comes before NumPy)
import numpy as np
import scipy
import scipy.fft
import scipy.signal
from report import report_text
from worker import Worker


def measure_ms(function):
    start = time.perf_counter()
    function()
    return 1e3 * (time.perf_counter() - start)


def times_in_turns(rounds, **contestants):
    """Runs contestants alternately; returns the median and least milliseconds of each. A first round warms up."""
    times = {name: [] for name in contestants}
    for _ in range(rounds + 1):
        for name, run in contestants.items():
            times[name].append(run())
    return {name: {"median_ms": statistics.median(values[1:]), "best_ms": min(values[1:])}
            for name, values in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=Path(__file__).resolve().parent.parent / "build")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    worker = Worker(arguments.build, "convolume_filter_cpu_bench")
    random = np.random.default_rng(1)
    rows = []

    def add_result(name, plan, times, peer):
        row = {"case": name, "plan": plan, "convolume": times["convolume"], "peer": times["peer"], "peer_name": peer}
        row["ratio_of_medians"] = times["peer"]["median_ms"] / times["convolume"]["median_ms"]
        row["ratio_of_bests"] = times["peer"]["best_ms"] / times["convolume"]["best_ms"]
        rows.append(row)

    signal = (random.random(2097152, dtype=np.float32) - 0.5)[np.newaxis]
    for taps in (65, 257, 1025):
        # SciPy's mode "same" would keep the results of one filter alone.
        def crop_to_same(full, taps=taps):
            return full[:, (taps - 1) // 2:][:, :signal.shape[1]]

        bank = random.random((8, taps), dtype=np.float32) - 0.5
        def run_peer(bank=bank, same=crop_to_same):
            return measure_ms(lambda: crop_to_same(scipy.signal.oaconvolve(signal, bank, axes=1)))

        plan = worker.ask(f"prepare 2097152 8 {taps} threads={arguments.threads}")
        times = times_in_turns(arguments.rounds, convolume=lambda: worker.ask("run")["ms"], peer=run_peer)
        add_result(f"2097152 × 8 of {taps}", plan, times, "scipy.signal.oaconvolve")

    count = 1 << 20
    x = random.random(count, dtype=np.float32) - 0.5
    h = random.random(count, dtype=np.float32) - 0.5

    def filter_by_one_transform():
        spectrum = scipy.fft.rfft(x, 2 * count) * scipy.fft.rfft(h, 2 * count)
        scipy.fft.irfft(spectrum, 2 * count)

    plan = worker.ask(f"prepare {count} 1 {count} mode=full threads={arguments.threads}")
    times = times_in_turns(arguments.rounds, convolume=lambda: worker.ask("run")["ms"],
                           peer=lambda: measure_ms(filter_by_one_transform))
    add_result(f"{count} * {count}", plan, times, "one FFT of scipy.fft, filter transformed anew")
    for threads in sorted({1, arguments.threads}):
        times = times_in_turns(arguments.rounds, convolume=lambda: worker.ask("run")["ms"],
                               peer=lambda threads=threads: worker.ask(f"one-fft {threads}")["ms"])
        add_result(f"{count} * {count}", plan, times, f"one FFT of FFTW, {threads} threads, filter transformed before")
    worker.close()

    print(f"{'case':34} {'plan':22} {'convolume':>12} {'peer':>10} {'ratio':>7}   milliseconds, medians")
    for row in rows:
        text = f"{row['plan']['method']} {row['plan']['segment']}"
        print(f"{row['case']:34} {text:22} {row['convolume']['median_ms']:12.2f} {row['peer']['median_ms']:10.2f}"
              f" {row['ratio_of_medians']:7.2f}   {row['peer_name']}")
    report = {"cores": os.cpu_count(), "threads": arguments.threads, "load": os.getloadavg()[0],
              "scipy": scipy.__version__, "date": time.strftime("%Y-%m-%d"), "rows": rows}
    if arguments.json:
        arguments.json.write_text(report_text(report), encoding="utf-8")


if __name__ == "__main__":
    main()
