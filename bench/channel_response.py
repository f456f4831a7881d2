# SPDX-License-Identifier: Apache-2.0
"""Measures the response of a channel by tones that go through convolume.channelize, and draws it: channel_response.py
[PICTURE.png]. Also prints the errors of reconstruction."""
import sys

import numpy as np

import convolume

CHANNELS = 64
CASES = (("P = 4, Hamming", 4, "hamming"), ("P = 8, Hamming", 8, "hamming"), ("P = 16, Hamming", 16, "hamming"),
         ("P = 16, Kaiser, β = 9", 16, "kaiser:9"))


def measured(taps, window, offsets):
    """Returns the amplitude of channel 5 for tones at `offsets` channels from its center."""
    length = (taps + 2) * CHANNELS
    times = np.arange(length)
    tones = np.exp(2j * np.pi * (5 + offsets[:, None]) / CHANNELS * times)
    frames = convolume.channelize(tones, CHANNELS, taps_per_channel=taps, window=window, first=taps * CHANNELS - 1)
    return np.abs(frames[:, 5, 0])


def decibels(amplitude):
    return 20 * np.log10(np.maximum(amplitude, 1e-12))


def crossing(offsets, levels, level):
    """Returns the first offset at which the response falls below `level`."""
    return offsets[np.argmax(levels < level)]


def main():
    offsets = np.linspace(0, 3, 3001)
    responses = {name: decibels(measured(taps, window, offsets)) for name, taps, window in CASES}
    print("| prototype | −3 dB at | −6 dB at | largest response beyond one channel from the center |")
    print("|---|---|---|---|")
    for name, levels in responses.items():
        print(f"| {name} | {crossing(offsets, levels, -3.01):.2f} | {crossing(offsets, levels, -6.02):.2f} | "
              f"{levels[offsets >= 1].max():.0f} dB |")
    steps = (64, 56, 48, 40, 36, 32)
    prototype = convolume.prototype_filter(CHANNELS, 8)
    print("\n| M/D |" + "".join(f" {CHANNELS / step:.2f} |" for step in steps))
    print("| RMS error |" + "".join(f" {convolume.dual_prototype(prototype, CHANNELS, step)[1]:.1e} |"
                                   for step in steps))
    if len(sys.argv) > 1:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
        for name, levels in responses.items():
            axes.plot(offsets, levels, label=name, linewidth=1)
        axes.set(xlabel="distance from the channel's center, in channels", ylabel="response in dB", ylim=(-120, 3),
                 xlim=(0, 3))
        axes.grid(alpha=0.3)
        axes.legend()
        figure.savefig(sys.argv[1], dpi=110)


if __name__ == "__main__":
    main()
