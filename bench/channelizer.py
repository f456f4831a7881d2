# SPDX-License-Identifier: Apache-2.0
"""Times polyphase filter banks beside a NumPy program, and beside CuPy on a GPU: channelizer.py [--gpu] [--log2 N].

Ways alternate in one process. The NumPy program is the usual one: a window over blocks, a sum, and numpy.fft; SciPy's
transforms take its place if SciPy is there. On a GPU the measure is the rate of a copy of the same bytes within the
device. bench/channelizer_liquid.cpp times liquid-dsp."""
import argparse
import statistics
import time

import numpy as np

import convolume

try:
    from scipy import fft
except ImportError:
    fft = np.fft


def program(module, transform, signal, taps, channels):
    """Returns the frames of a critically sampled filter bank (frames × channels), in the way of CASPER's notebooks."""
    rows = signal.reshape(-1, channels)
    weights = taps.reshape(-1, channels)
    frames = len(rows) - len(weights) + 1
    sums = module.zeros((frames, channels), signal.dtype)
    for tap, row in enumerate(weights):
        sums += row * rows[tap:tap + frames]
    return transform.fft(sums, axis=-1)


def interleaved_times(ways, rounds, finish=lambda: None):
    """Returns the times of each way, which take turns."""
    times = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name, run in ways.items():
            start = time.perf_counter()
            run()
            finish()
            if turn:
                times[name].append(time.perf_counter() - start)
    return times


def report(times, samples, of):
    fastest = {name: min(values) for name, values in times.items()}
    for name, values in times.items():
        print(f"{name:28} {fastest[name] * 1e3:9.2f} ms  (median {statistics.median(values) * 1e3:9.2f})  "
              f"{samples / fastest[name] / 1e6:9.0f} MS/s  {fastest[of] / fastest[name]:6.2f}")


def on_cpu(arguments, signal, taps):
    bank = convolume.Channelizer(arguments.channels, prototype=taps, workers=arguments.threads,
                                 first=taps.size - 1)
    ours, theirs = np.moveaxis(bank(signal), 0, 1), program(np, fft, signal, taps, arguments.channels)
    print("difference", np.linalg.norm(ours - theirs) / np.linalg.norm(theirs))
    times = interleaved_times({"NumPy program": lambda: program(np, fft, signal, taps, arguments.channels),
                               "convolume": lambda: bank(signal)}, arguments.rounds)
    report(times, signal.size, "NumPy program")


def on_gpu(arguments, signal, taps):
    import cupy

    there, weights = cupy.asarray(signal), cupy.asarray(taps)
    copy = cupy.empty_like(there)
    bank = convolume.Channelizer(arguments.channels, prototype=taps)
    ways = {"copy of the same bytes": lambda: cupy.copyto(copy, there),
            "CuPy program": lambda: program(cupy, cupy.fft, there, weights, arguments.channels),
            "convolume": lambda: bank(there)}
    try:
        from cupyx.scipy import signal as cupyx_signal
        if hasattr(cupyx_signal, "channelize_poly"):
            ways["cupyx channelize_poly"] = lambda: cupyx_signal.channelize_poly(there, weights, arguments.channels)
    except ImportError:
        pass
    times = interleaved_times(ways, arguments.rounds, cupy.cuda.Device().synchronize)
    report(times, signal.size, "copy of the same bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--channels", type=int, default=1024)
    parser.add_argument("--taps", type=int, default=16, help="taps of each channel")
    parser.add_argument("--log2", type=int, default=22, help="logarithm of the number of samples")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--gpu", action="store_true")
    arguments = parser.parse_args()
    random = np.random.default_rng(1)
    shape = (2**arguments.log2, 2)
    signal = random.standard_normal(shape, dtype=np.float32).view(np.complex64)[:, 0]
    taps = convolume.prototype_filter(arguments.channels, arguments.taps).astype(np.float32)
    print(f"{arguments.channels} channels of {arguments.taps} taps, 2^{arguments.log2} complex samples")
    (on_gpu if arguments.gpu else on_cpu)(arguments, signal, taps)


if __name__ == "__main__":
    main()
