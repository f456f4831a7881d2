# SPDX-License-Identifier: Apache-2.0
"""Samples of a block with its halo, continued outside the image, and the index in the image of each sample."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._blocks import Block, Halo
from ._errors import BadData, option
from ._ome_metadata import AXES
from ._options import continued_indices

Inside = tuple[slice, slice, slice]


@dataclass
class BlockSamples:
    """Input of an operation: samples of one channel at one time."""

    values: np.ndarray
    """Samples (z, y, x) of the block and its halo."""
    inside: Inside
    """Slices of `values` along z, y and x that are the block without its halo."""
    places: Sequence[np.ndarray]
    """Indices in the image of the samples along z, y and x; -1 outside the image."""
    block: Block = Block(0, 0, 0, (0, 0, 0), (0, 0, 0))
    """The block: its time, its channel, and its place in the result."""

    def arrays(self) -> list[np.ndarray]:
        """Returns all arrays that were read."""
        return [self.values]

    def mean(self) -> float:
        """Returns the mean of the finite samples."""
        finite = np.isfinite(self.values)
        return float(np.sum(self.values, dtype=np.float64, where=finite)) / max(1, int(np.count_nonzero(finite)))

    def start_above(self, background: float) -> float:
        """Returns the light with which voxels of all blocks start: the mean above a background, or a little if the
        background is no less."""
        mean = self.mean()
        return max(mean - background, 1e-3 * mean, 0.0)

    def may_hold_nonfinite(self) -> bool:
        return self.values.dtype.kind in "fc"

    def count_nonfinite_inside(self) -> int:
        """Counts NaN and infinities of the block without its halo, so that no other block counts them again."""
        if not self.may_hold_nonfinite():
            return 0
        return sum(plane.size - int(np.count_nonzero(np.isfinite(plane))) for plane in self.values[self.inside])

    def with_zeros(self) -> "BlockSamples":
        """Returns a copy with 0 in place of NaN and infinities."""
        values = self.values.copy()
        for plane in values:
            plane[~np.isfinite(plane)] = 0
        return BlockSamples(values, self.inside, self.places, self.block)

    def refuse_nonfinite(self, cure: str | None = None) -> None:
        """Raises the error that nonfinite_error() returns, if there is one."""
        if (error := self.nonfinite_error(cure)) is not None:
            raise error from None

    def nonfinite_error(self, cure: str | None = None) -> BadData | None:
        """Returns the error that names the first NaN or infinity by its place in the image; None if there is none."""
        cure = cure or f"repair it, or read such samples as zero by {option('nan', 'zero')}"
        if not self.may_hold_nonfinite():
            return None
        for z in np.argsort(self.places[0], kind="stable"):
            bad = ~np.isfinite(self.values[z])
            if not bad.any():
                continue
            # Samples outside the image are copies of those inside, or a constant, which is finite.
            y = _position_of_smallest(self.places[1], np.logical_or.reduce(bad, 1))
            x = _position_of_smallest(self.places[2], bad[y])
            place = ",".join(str(int(one[index])) for one, index in zip(self.places, (z, y, x)))
            where = f"{self.block.t},{self.block.c},{place}"
            return BadData(f"the image holds {self.values[z, y, x]} at t,c,z,y,x = {where}: {cure}")
        return None


def _position_of_smallest(places: np.ndarray, chosen: np.ndarray) -> int:
    """Returns the position of the smallest of the `places` that `chosen` marks."""
    indices = np.flatnonzero(chosen)
    return int(indices[np.argmin(places[indices])])


def _continued(begin: int, end: int, extent: int, boundary: str) -> np.ndarray:
    """Returns the samples of an axis that a boundary puts in place of [begin, end); -1 for samples outside the
    image."""
    before, after = max(0, -begin), max(0, end - extent)
    return continued_indices(extent, before, after, boundary)[begin + before:end + before]


def _runs(places: np.ndarray) -> list[tuple[int, int]]:
    """Divides sorted indices into runs of consecutive ones, as [begin, end)."""
    cuts = np.flatnonzero(np.diff(places) != 1) + 1
    return [(int(part[0]), int(part[-1]) + 1) for part in np.split(places, cuts)]


def read_block(image: Any, block: Block, halo: Halo, boundary: str | None, cval: float) -> BlockSamples:
    """Reads a block with its halo.

    `boundary` says how the image is continued outside. With None it is not, and blocks at the border have less halo.
    """
    shape = image._metadata.shape
    lists, inside = [], []
    for b, e, n, (low, high) in zip(block.begin, block.end, shape, halo):
        if boundary is None:
            first, last = max(0, b - low), min(n, e + high)
            lists.append(np.arange(first, last))
            inside.append(slice(b - first, e - first))
        else:
            lists.append(_continued(b - low, e + high, n, boundary))
            inside.append(slice(low, low + e - b))
    stored = [np.unique(places[places >= 0]) for places in lists]
    values = _read_runs(image, block, [_runs(one) for one in stored])
    for axis, (places, one) in enumerate(zip(lists, stored)):
        if len(places) != len(one) or not np.array_equal(places, one):
            gathered = values.take(np.searchsorted(one, np.maximum(places, one[0])), axis)
            outside = np.flatnonzero(places < 0)
            if len(outside):
                if not _can_represent(gathered.dtype, cval):
                    gathered = gathered.astype(np.result_type(gathered.dtype, np.float32))
                gathered[(slice(None),) * axis + (outside,)] = cval
            values = gathered
    return BlockSamples(values, (inside[0], inside[1], inside[2]), lists, block)


def _can_represent(dtype: np.dtype[Any], value: float) -> bool:
    """Tells whether a type can represent this value."""
    if dtype.kind not in "iu":
        return True
    limits = np.iinfo(dtype)
    return bool(limits.min <= value <= limits.max) and value == int(value)


def _read_runs(image: Any, block: Block, runs: list[list[tuple[int, int]]]) -> np.ndarray:
    """Reads the samples whose indices lie in runs along z, y and x, into one array without gaps."""
    if all(len(one) == 1 for one in runs):
        return read_box(image, block.t, block.c, [slice(*one[0]) for one in runs])
    values = np.empty([sum(e - b for b, e in one) for one in runs], image.dtype)
    z = 0
    for z_run in runs[0]:
        y, depth = 0, z_run[1] - z_run[0]
        for y_run in runs[1]:
            x, height = 0, y_run[1] - y_run[0]
            for x_run in runs[2]:
                width = x_run[1] - x_run[0]
                values[z:z + depth, y:y + height, x:x + width] = read_box(
                    image, block.t, block.c, [slice(*z_run), slice(*y_run), slice(*x_run)])
                x += width
            y += height
        z += depth
    return values


def brightest_box(image: Any, channel: int) -> BlockSamples:
    """Returns the brightest of eight boxes of an image, from which values for all blocks are estimated."""
    shape = image._metadata.shape
    size = [min(n, e) for n, e in zip(shape, (64, 256, 256))]
    best, light = None, -np.inf
    for place in np.ndindex(2, 2, 2):
        z, y, x = ((n - s) * (2 * p + 1) // 4 for n, s, p in zip(shape, size, place))
        block = Block(0, 0, channel, (z, y, x), (z + size[0], y + size[1], x + size[2]))
        sample = read_samples(image, block, block.slices)
        if (mean := sample.mean()) > light:
            best, light = sample, mean
    assert best is not None
    return best


def read_samples(image: Any, block: Block, box: Sequence[slice]) -> BlockSamples:
    """Reads the samples of a box, which may be empty, for a block."""
    extents = [one.stop - one.start for one in box]
    values = read_box(image, block.t, block.c, box) if min(extents) > 0 else np.empty(extents, image.dtype)
    inside = slice(0, extents[0]), slice(0, extents[1]), slice(0, extents[2])
    return BlockSamples(values, inside, [np.arange(one.start, one.stop) for one in box], block)


def read_box(image: Any, t: int, c: int, box: Sequence[slice]) -> np.ndarray:
    """Reads a box of one channel at one time, as (z, y, x)."""
    by_axis: dict[str, int | slice] = dict(zip(AXES, (t, c, *box)))
    values = image[tuple(by_axis[axis] for axis in image.axes)]
    return np.asarray(values).reshape([one.stop - one.start for one in box])
