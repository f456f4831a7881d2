# SPDX-License-Identifier: Apache-2.0
"""Verdicts: compares what a program read with what the file holds."""
from dataclasses import dataclass

import numpy as np

# PIXELS: the values are right, but not the axes, the type or the voxel size that the program shows.
OK, NOTE, PIXELS, REFUSED, WRONG = "ok", "ok with a note", "pixels", "refused", "WRONG"
# Resolutions in TIFF are fractions of 32-bit integers, voxel sizes of HDF5 may be float32.
VOXEL_TOLERANCE = 2e-6
RGB_NAMES = ("Red", "Green", "Blue")


@dataclass(frozen=True)
class Cell:
    """Verdict on one program and one file. `direction` is "read" for files of others, "written" for ours."""

    direction: str
    program: str
    contents: str
    verdict: str
    detail: str = ""
    group: str = ""


def differences(specimen, reading):
    """Yields (is_wrong, sentence) for each difference of a reading from the specimen.

    Metadata that a program drops is a loss; a value that differs from the file's is wrong."""
    expected = specimen.pixels
    if reading.pixels.shape != expected.shape:
        names = "times, channels, z, y, x"
        yield True, f"{format_sizes(reading.pixels)} ({names}) in place of {format_sizes(expected)}"
    elif native_type(reading.pixels) != native_type(expected):
        yield True, f"pixels of type {native_type(reading.pixels)} in place of {native_type(expected)}"
    elif not np.array_equal(reading.pixels, expected):
        share = np.mean(reading.pixels != expected)
        yield True, f"{share:.0%} of the pixels have other values"
    yield from voxel_differences(specimen.voxel_um, reading.voxel_um)
    # The color model of a file of RGB names its channels.
    is_color = not specimen.channel_names and reading.channel_names == RGB_NAMES and expected.shape[1] == 3
    if reading.channel_names is not None and tuple(reading.channel_names) != specimen.channel_names and not is_color:
        if not specimen.channel_names:
            yield True, f"channel names that the file does not have: {', '.join(map(str, reading.channel_names))}"
        elif not reading.channel_names:
            yield False, "no channel names"
        else:
            yield True, f"channel names {', '.join(map(str, reading.channel_names))}"
    interval = reading.frame_interval_s
    if specimen.frame_interval_s is not None and interval is None:
        yield False, "no frame interval"
    elif specimen.frame_interval_s is not None and not sizes_are_close(interval, specimen.frame_interval_s):
        yield True, f"frame interval {interval} s in place of {specimen.frame_interval_s} s"


def voxel_differences(expected, found):
    if found is None:  # the program does not report voxel sizes
        return
    lost = [axis for axis, a, b in zip("zyx", expected, found) if a is not None and b is None]
    other = [f"{axis} {b:.6g} µm" + ("" if a is None else f" in place of {a:.6g} µm")
             for axis, a, b in zip("zyx", expected, found)
             if b is not None and not (a is not None and sizes_are_close(a, b))]
    if lost:
        yield False, "no voxel size" + ("" if len(lost) == 3 else " along " + ", ".join(lost))
    if other:
        yield True, "voxel size along " + ", ".join(other)


def native_type(pixels):
    """Returns the type of the samples in native byte order."""
    return pixels.dtype.newbyteorder("=").name


def sizes_are_close(a, b):
    return abs(a - b) <= VOXEL_TOLERANCE * abs(a)


def format_sizes(pixels):
    return "×".join(map(str, pixels.shape))


def verdict_of(specimen, reading, notes=()):
    """Returns the verdict and its explanation. `notes` are the program's messages about the file."""
    found = list(differences(specimen, reading))
    text = "; ".join([sentence for _, sentence in found] + list(notes))
    if any(is_wrong for is_wrong, _ in found):
        return WRONG, text
    return (NOTE, text) if text else (OK, "")
