#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares conversions between any sampling rates by convolume, soxr and liquid-dsp, and prints a table.

    bench/convert_rate.py [--rounds N] [--samples N] [--json FILE]

All convert the same float32 signal on one thread, in turns; the table has the least times. `error` is what is left of
tones up to 0.62 and up to 0.9 of the lower Nyquist frequency after a fit of amplitude and phase, which allows delays.
`alias` is the level of tones in the stop band, from 1.02 times that frequency on, if the rate falls. All are in dB, the
largest of all tones. soxr is the package of PyPI. liquid-dsp is Debian's libliquid, or the file that LIQUID_LIBRARY
names. The Python package must be on PYTHONPATH, for example build/dev/python.
"""

import argparse
import ctypes
import ctypes.util
import functools
import os
from pathlib import Path

import current_peers  # noqa: F401 (comes before NumPy)
import numpy as np
from report import report_text
from resample import least_ms

import convolume

RATIOS = {"48000.5/44100": 48000.5 / 44100, "44100.7/48000": 44100.7 / 48000, "1.00013": 1.00013,
          "0.1234567": 0.1234567}
TONES = (0.05, 0.31, 0.62, 0.9)  # of the lower Nyquist frequency
STOPPED = (1.02, 1.1, 1.3, 1.9)


class Liquid:
    """msresamp_rrrf of liquid-dsp, with a filter of a given attenuation."""

    def __init__(self):
        path = os.environ.get("LIQUID_LIBRARY") or ctypes.util.find_library("liquid")
        if path is None:
            raise ImportError("libliquid is not installed")
        self.library = ctypes.CDLL(path)
        self.library.msresamp_rrrf_create.restype = ctypes.c_void_p
        self.library.msresamp_rrrf_create.argtypes = [ctypes.c_float, ctypes.c_float]
        self.library.msresamp_rrrf_destroy.argtypes = [ctypes.c_void_p]
        self.library.msresamp_rrrf_execute.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint,
                                                       ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint)]

    def convert(self, x, ratio, attenuation):
        out = np.empty(int(len(x) * ratio) + 1000, np.float32)
        count = ctypes.c_uint()
        plan = self.library.msresamp_rrrf_create(ratio, attenuation)
        self.library.msresamp_rrrf_execute(plan, x.ctypes.data, len(x), out.ctypes.data, ctypes.byref(count))
        self.library.msresamp_rrrf_destroy(plan)
        return out[:count.value]


def converters():
    """Returns functions of a signal and a ratio, by name."""
    def own(x, ratio, attenuation):
        return convolume.convert_rate(x, ratio, attenuation=attenuation, workers=1)

    found = {f"convolume, {db} dB": functools.partial(own, attenuation=db) for db in (120, 90, 60)}
    try:
        import soxr
        for quality in ("HQ", "VHQ"):
            found[f"soxr, {quality}"] = functools.partial(
                lambda x, ratio, quality: soxr.resample(x, 1.0, ratio, quality), quality=quality)

        def varying(x, ratio):
            stream = soxr.ResampleStream(1.0, ratio, 1, "float32", "HQ", vr=True)
            stream.set_io_ratio(1.0, ratio)
            return stream.resample_chunk(x, last=True)

        found["soxr, varying rate"] = varying
    except ImportError as error:
        print("no soxr:", error)
    try:
        found["liquid-dsp, 120 dB"] = functools.partial(Liquid().convert, attenuation=120.0)
        found["liquid-dsp, 60 dB"] = functools.partial(Liquid().convert, attenuation=60.0)
    except ImportError as error:
        print("no liquid-dsp:", error)
    return found


def level_db(values):
    return 20 * np.log10(max(float(np.abs(values).max()), 1e-12))


def inner(values):
    """Returns the middle half of values, which no end reaches."""
    return values[len(values) // 4:-(len(values) // 4)]


def quality(convert, ratio):
    """Returns the errors of tones up to 0.62 and up to 0.9, and the level of tones in the stop band, or None."""
    nyquist = min(1, ratio) / 2
    times = np.arange(40000 if ratio > 0.5 else 200000)
    errors, aliases = [], []
    for place in TONES:
        frequency = place * nyquist
        tone = np.cos(2 * np.pi * frequency * times)
        found = inner(convert(tone.astype(np.float32), ratio)).astype(float)
        # liquid-dsp takes the ratio in float32.
        best = min((residual(found, frequency / used) for used in (ratio, float(np.float32(ratio)))),
                   key=lambda rest: float(np.abs(rest).max()))
        errors.append(level_db(best))
    for place in STOPPED:
        if place * nyquist < 0.5:
            tone = np.cos(2 * np.pi * place * nyquist * times).astype(np.float32)
            aliases.append(level_db(inner(convert(tone, ratio))))
    return max(errors[:-1]), max(errors), max(aliases, default=None)


def residual(values, frequency):
    """Returns what is left of values after a fit of a tone of a frequency in cycles per value."""
    places = 2 * np.pi * frequency * np.arange(len(values))
    basis = np.stack([np.cos(places), np.sin(places)], 1)
    return values - basis @ np.linalg.lstsq(basis, values, rcond=None)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--samples", type=int, default=1 << 22)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    x = np.random.default_rng(1).standard_normal(arguments.samples).astype(np.float32)
    rows = []
    print(f"{arguments.samples} samples; least ms of {arguments.rounds} rounds, one thread")
    print("| ratio | converter | ms | million samples/s | error to 0.62, to 0.9, dB | alias, dB |")
    print("|---|---|---|---|---|---|")
    for text, ratio in RATIOS.items():
        every = converters()
        least = least_ms([functools.partial(convert, x, ratio) for convert in every.values()], arguments.rounds,
                         lambda: None)
        for (name, convert), ms in zip(every.items(), least):
            lower, error, alias = quality(convert, ratio)
            rows.append({"ratio": text, "converter": name, "ms": ms, "error_to_0.62_db": lower,
                         "error_to_0.9_db": error, "alias_db": alias})
            print(f"| {text} | {name} | {ms:.1f} | {arguments.samples / ms / 1e3:.1f} | {lower:.0f}, {error:.0f} "
                  f"| {'–' if alias is None else f'{alias:.0f}'} |", flush=True)
    if arguments.json:
        arguments.json.write_text(report_text(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
