# SPDX-License-Identifier: Apache-2.0
"""Runs `convolume`, and reads files with it."""
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np


class Refused(Exception):
    """The command ended with an error, whose message is the text."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


@dataclass(frozen=True)
class Reading:
    """Result of reading a file with the command: pixels in the order t, c, z, y, x, metadata, and notes."""

    pixels: np.ndarray
    voxel_um: tuple
    channel_names: tuple
    frame_interval_s: float | None
    axes: str
    notes: tuple


class Convolume:
    """The command, with a kernel that does not change an image."""

    def __init__(self, program, folder):
        self.program = str(program)
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.kernel = self.folder / "delta.npy"
        delta = np.zeros((3, 3, 3), np.float32)
        delta[1, 1, 1] = 1
        np.save(self.kernel, delta)

    def run(self, *arguments):
        """Returns what the command prints on stdout and on stderr."""
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, errors="replace",
                              timeout=600, check=False)
        if done.returncode != 0:
            raise Refused(done.returncode, done.stderr.strip())
        return done.stdout, done.stderr.strip()

    @property
    def version(self):
        return self.run("--version")[0].split()[-1]

    def copy(self, image, output, *options):
        """Convolves the image with the delta kernel, by direct sums in double precision, so that no value changes."""
        return self.run("convolve", image, self.kernel, "-o", output, "--method", "direct", "--precision", "float64",
                        "--device", "cpu", "--threads", "1", "-q", *options)

    def read(self, file, options=()):
        """Reads a file with `info`, and its pixels from a copy in HDF5, whose axes have names.

        OME-Zarr is read with the Python package."""
        if str(file).endswith(".zarr"):
            return read_zarr(file)
        text, notes = self.run("info", file, "--json", *options)
        about = json.loads(text)
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            copy = os.path.join(folder, "copy.h5")
            self.copy(file, copy, "--output-type", "same", *options)
            pixels = named_dataset(copy)
        voxel = tuple(about.get("voxel_size_um") or (None, None, None))
        said = [*about.get("notes", ()), *(line for line in notes.splitlines() if "note:" in line)]
        return Reading(pixels, voxel, tuple(about.get("channel_names") or ()), about.get("frame_interval_s"),
                       about.get("axes", ""), tuple(dict.fromkeys(said)))


def read_zarr(path):
    import convolume

    image = convolume.open(str(path))
    pixels, axes = np.asarray(image), image.axes
    spacing = dict(zip((axis for axis in "ZYX" if axis in axes), image.spacing))
    for axis in "XYZCT":
        if axis not in axes:
            pixels, axes = pixels[None], axis + axes
    pixels = pixels.transpose([axes.index(axis) for axis in "TCZYX"])
    return Reading(pixels, tuple(spacing.get(axis) for axis in "ZYX"), tuple(image.channel_names), None, image.axes, ())


def named_dataset(path):
    """Reads the dataset `data`, whose attribute `axistags` names the axes, in the order t, c, z, y, x."""
    import h5py

    with h5py.File(path) as file:
        data = file["data"]
        axes = "".join(axis["key"] for axis in json.loads(data.attrs["axistags"])["axes"])
        pixels = data[()]
    for axis in "tczyx":
        if axis not in axes:
            pixels, axes = pixels[None], axis + axes
    return pixels.transpose([axes.index(axis) for axis in "tczyx"])
