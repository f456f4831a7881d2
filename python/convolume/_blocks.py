# SPDX-License-Identifier: Apache-2.0
"""Division of images: Zarr chunks, shards, and blocks with their halos. These functions read and write no files.

A *Zarr chunk* holds the samples that are compressed together, a *shard* the chunks of one file. A *block* holds the
whole shards that one task computes. Extents are along z, y, x.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ._errors import InvalidArgument, OutOfMemory
from ._options import whole_numbers

Triple = tuple[int, int, int]
Halo = tuple[tuple[int, int], tuple[int, int], tuple[int, int]]
"""Numbers of samples before and after a sample that its result depends on, along z, y, x."""

_CHUNK_BYTES = 8 << 20
LARGEST_SHARD = 1 << 30


def triple(numbers: Sequence[int], what: str) -> Triple:
    """Checks three extents of at least 1; `what` names them in errors."""
    found = whole_numbers(numbers, what)
    if len(found) != 3 or min(found) < 1:
        raise InvalidArgument(f"{what} has three extents z, y, x of 1 at least, not {tuple(found)}")
    return found[0], found[1], found[2]


def symmetric_halo(numbers: Sequence[int]) -> Halo:
    """Checks the caller's halo, a number of samples along z, y and x, and returns it."""
    found = whole_numbers(numbers, "halo")
    if len(found) != 3 or min(found) < 0:
        raise InvalidArgument(f"a halo has three numbers for z, y and x, 0 at least, not {tuple(found)}")
    return (found[0], found[0]), (found[1], found[1]), (found[2], found[2])


@dataclass(frozen=True)
class Block:
    """A box of one channel at one time."""

    number: int
    t: int
    c: int
    begin: Triple
    end: Triple

    @property
    def shape(self) -> Triple:
        z, y, x = (e - b for b, e in zip(self.begin, self.end))
        return z, y, x

    @property
    def slices(self) -> tuple[slice, slice, slice]:
        z, y, x = (slice(b, e) for b, e in zip(self.begin, self.end))
        return z, y, x

    @property
    def voxels(self) -> int:
        return math.prod(self.shape)

    def __str__(self) -> str:
        box = ", ".join(f"{axis} {b}:{e}" for axis, b, e in zip("zyx", self.begin, self.end))
        return f"t {self.t}, c {self.c}, {box}"


class Blocks(Sequence[Block]):
    """The blocks of an image, numbered along x first. Each is computed at access, so that a million take no memory."""

    def __init__(self, frames: int, channels: int, shape: Triple, block: Triple) -> None:
        self.shape = shape
        self.block = block
        self.grid = (frames, channels, *(-(-n // b) for n, b in zip(shape, block)))

    def __len__(self) -> int:
        return math.prod(self.grid)

    def __getitem__(self, number: int) -> Block:  # type: ignore[override]  # no slices
        if not 0 <= number < len(self):
            raise IndexError(f"there are {len(self)} blocks")
        rest, place = number, []
        for extent in reversed(self.grid):
            rest, index = divmod(rest, extent)
            place.append(index)
        x, y, z, c, t = place
        begin = z * self.block[0], y * self.block[1], x * self.block[2]
        ends = [min(n, b + size) for n, b, size in zip(self.shape, begin, self.block)]
        return Block(number, t, c, begin, (ends[0], ends[1], ends[2]))

    def __iter__(self) -> Iterator[Block]:
        return (self[number] for number in range(len(self)))

    def complete(self, shards: Triple, stored: np.ndarray) -> np.ndarray:
        """Tells for each block whether all its shards exist; `stored` has the linear numbers of existing shards."""
        frames, channels, *_ = self.grid
        shard_grid = [-(-n // s) for n, s in zip(self.shape, shards)]
        per_block = [b // s for b, s in zip(self.block, shards)]
        places = np.unravel_index(stored, (frames, channels, *shard_grid))
        number = np.zeros(len(stored), np.int64)
        for place, extent, size in zip(places, self.grid, (1, 1, *per_block)):
            number = number * extent + place // size
        found = np.bincount(number, minlength=len(self))
        wanted = np.ones(1, np.int64)
        for extent, total, size in zip(self.grid, (frames, channels, *shard_grid), (1, 1, *per_block)):
            along = np.minimum(np.arange(extent) * size + size, total) - np.arange(extent) * size
            wanted = np.multiply.outer(wanted, along).ravel()
        return np.asarray(found >= wanted)


def block_range(text: str, count: int) -> range:
    """Returns the numbers of the blocks in share i of n, from a text such as "2/8"; i counts from 0."""
    first, slash, second = text.partition("/")
    if not slash or not first.isdigit() or not second.isdigit() or not 0 <= int(first) < int(second):
        raise InvalidArgument(f"the block range '{text}' is not i/n with i from 0 to n - 1, such as 0/8")
    i, n = int(first), int(second)
    return range(count * i // n, count * (i + 1) // n)


def default_chunks(shape: Triple, sample_bytes: int) -> Triple:
    """Returns the default Zarr chunk: 16 to 64 planes of 256 × 256, about 8 MiB."""
    planes = min(64, max(16, _CHUNK_BYTES // (256 * 256 * sample_bytes)))
    return min(planes, shape[0]), min(256, shape[1]), min(256, shape[2])


def default_shards(shape: Triple, chunks: Triple, sample_bytes: int, most_bytes: int) -> Triple:
    """Returns the default shard: whole Zarr chunks, near a cube, of at most `most_bytes`."""
    limit = max(1, min(most_bytes, LARGEST_SHARD))
    shards = list(chunks)
    while True:
        able = [axis for axis in range(3) if shards[axis] < shape[axis]]
        able = [axis for axis in able if 2 * math.prod(shards) * sample_bytes <= limit]
        if not able:
            return shards[0], shards[1], shards[2]
        shards[min(able, key=lambda axis: shards[axis])] *= 2


Needed = Callable[[Triple], Triple]
"""Extents of the samples from which a block of some extents is computed."""


def read_share(block: Sequence[int], needed: Needed, shape: Sequence[int]) -> float:
    """Returns the number of samples read for each sample written, for a block away from the border."""
    z, y, x = (min(b, n) for b, n in zip(block, shape))
    return math.prod(needed((z, y, x))) / max(1, z * y * x)


def default_block(shape: Triple, shards: Triple, needed: Needed, voxels: Callable[[Triple], int], voxel_bytes: float,
                  most_bytes: int, at_least: int = 1, device: tuple[float, float] | None = None) -> Triple:
    """Returns the default block: whole shards that fit `most_bytes` with the samples that they need, and
    read few of them twice.

    `voxels` has the number of voxels by which the memory for a block grows, `voxel_bytes` the bytes of one. `at_least`
    is the wanted number of blocks. `device` has the bytes that a voxel takes in a GPU's memory, and the bytes of that
    memory; a block of one shard may exceed them.
    """

    def need(block: Sequence[int]) -> float:
        return voxel_bytes * voxels((block[0], block[1], block[2]))

    def fits(block: Sequence[int]) -> bool:
        return need(block) <= most_bytes and (device is None or need(block) / voxel_bytes * device[0] <= device[1])

    block = list(shards)
    if need(block) > most_bytes:
        raise OutOfMemory(f"a block of one shard, {_text(block)} samples made of {_text(needed(shards))}, needs "
                          f"{need(block) / 2**20:.0f} MiB and the limit is {most_bytes / 2**20:.0f} MiB: allow more "
                          "host memory or choose smaller shards")
    while True:
        best, least = None, read_share(block, needed, shape)
        for axis in range(3):
            larger = list(block)
            larger[axis] *= 2
            count = math.prod([-(-n // b) for n, b in zip(shape, larger)])
            if block[axis] >= shape[axis] or not fits(larger) or count < at_least:
                continue
            overhead = read_share(larger, needed, shape)
            if overhead < 0.97 * least:
                best, least = larger, overhead
        if best is None:
            return block[0], block[1], block[2]
        block = best


def check_block(block: Triple, shards: Triple) -> None:
    if any(b % s for b, s in zip(block, shards)):
        raise InvalidArgument(f"a block of {_text(block)} is not made of whole shards of {_text(shards)}: give "
                              "multiples of them, or smaller shards")


def _text(extents: Sequence[int]) -> str:
    return "×".join(map(str, extents))
