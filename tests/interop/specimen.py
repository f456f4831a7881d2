# SPDX-License-Identifier: Apache-2.0
"""Images with known pixels and metadata, and files that hold them."""
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

SEED = 20261125
VOXEL_UM = (0.3, 0.104, 0.1)
NAMES = ("DAPI", "GFP", "Cy5", "TRITC")
ROWS, COLUMNS = 24, 20


@dataclass(frozen=True)
class Specimen:
    """Pixels in the order t, c, z, y, x, and metadata; `None` stands for metadata that a file lacks."""

    pixels: np.ndarray
    voxel_um: tuple = (None, None, None)
    channel_names: tuple = ()
    frame_interval_s: float | None = None

    @property
    def axes(self):
        """Returns the axes with more than one sample, and YX."""
        counts = dict(zip("TCZ", self.pixels.shape))
        return "".join(axis for axis in "TCZ" if counts[axis] > 1) + "YX"

    def arranged(self, axes):
        """Returns the pixels with the given axes; axes left out have one sample."""
        order = [*"TCZYX".translate(str.maketrans("", "", axes)), *axes]
        moved = self.pixels.transpose(["TCZYX".index(axis) for axis in order])
        return np.ascontiguousarray(moved.reshape(moved.shape[5 - len(axes):]))


@dataclass(frozen=True)
class ForeignFile:
    """A file that another program wrote."""

    program: str
    contents: str
    path: str
    specimen: Specimen
    options: tuple = field(default=())
    # Words of the message with which the command must refuse the file.
    refused_with: str | None = None


def make_specimen(axes="ZYX", dtype="uint16", voxel=VOXEL_UM, names=False, planes=5, channels=2, frames=3,
                  interval=None):
    """Returns random pixels with axes such as TCZYX. A 2D image has no voxel size along z."""
    counts = {"T": frames, "C": channels, "Z": planes}
    shape = [counts[axis] if axis in axes else 1 for axis in "TCZ"] + [ROWS, COLUMNS]
    pixels = random_pixels(shape, dtype)
    if voxel != (None, None, None) and "Z" not in axes:
        voxel = (None, *voxel[1:])
    return Specimen(pixels, voxel, NAMES[:shape[1]] if names else (), interval)


def random_pixels(shape, dtype):
    """Returns random samples over the whole range of an integer type, or about 1."""
    rng = np.random.default_rng([SEED, *shape])
    kind = np.dtype(dtype)
    if kind.kind in "ui":
        info = np.iinfo(kind)
        return rng.integers(info.min, info.max, shape, endpoint=True, dtype=kind)
    if kind.kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(kind)
    return rng.normal(size=shape).astype(kind)


def file_name(folder, *words, extension):
    """Returns a file name in the folder that is made of the words."""
    name = "_".join(str(word) for word in words)
    return Path(folder) / ("".join(c if c.isalnum() or c in "._-" else "_" for c in name) + extension)
