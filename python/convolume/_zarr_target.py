# SPDX-License-Identifier: Apache-2.0
"""Writes OME-Zarr images block by block: their layout, their pyramid and their levels."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._blocks import Block, Blocks, Triple, default_chunks, default_shards, triple
from ._errors import InvalidArgument
from ._ome_metadata import AXES, Level, Multiscale, attributes_for
from ._zarr_nodes import write_group
from ._zarr_store import ArrayFacts, Location, ZarrArray

COMPRESSIONS = ("none", "zstd", "gzip", "blosc")
_SHOWN = 256  # extent of the box whose values set the displayed range


@dataclass
class Layout:
    """Storage of an image: Zarr version, chunks, shards, compression and levels. None selects defaults."""

    zarr_format: int = 3
    chunks: Sequence[int] | None = None
    shards: Sequence[int] | None = None
    compression: str = "zstd"
    levels: int | None = None
    shard_bytes: int = 1 << 30

    def check(self) -> None:
        if self.zarr_format not in (2, 3):
            raise InvalidArgument(f"Zarr has the versions 2 and 3, not {self.zarr_format}")
        if self.compression not in COMPRESSIONS:
            raise InvalidArgument(f"Zarr images are compressed by one of {', '.join(COMPRESSIONS)}, not "
                                  f"'{self.compression}'")
        if self.levels is not None and self.levels < 1:
            raise InvalidArgument("levels is 1 at least: the image itself")

    def resolved(self, shape: Triple, sample_bytes: int) -> tuple[Triple, Triple]:
        """Returns the Zarr chunks and the shards of the finest level. None reaches further beyond the image than
        whole chunks must: a chunk is in memory as a whole."""
        chunks = default_chunks(shape, sample_bytes) if self.chunks is None else triple(self.chunks, "a chunk")
        shards = None if self.shards is None else triple(self.shards, "a shard")
        if shards is not None and any(s % c for s, c in zip(shards, chunks)):
            raise InvalidArgument(f"a shard of {shards} is not made of whole chunks of {chunks}")
        chunks = triple([min(c, n) for c, n in zip(chunks, shape)], "a chunk")
        if shards is not None:
            return chunks, triple([min(s, -(-n // c) * c) for s, c, n in zip(shards, chunks, shape)], "a shard")
        if self.zarr_format == 2:
            return chunks, chunks
        return chunks, default_shards(shape, chunks, sample_bytes, self.shard_bytes)


def pyramid_factors(shape: Triple, spacing: Sequence[float | None], levels: int | None) -> list[Triple]:
    """Returns for each level its reduction along z, y, x against the previous one. Axes that are sampled coarsely are
    reduced later than others."""
    known = [s or 1.0 for s in spacing]
    extents = list(shape)
    factors: list[Triple] = []
    while (levels is None and max(extents) > 256 and len(factors) < 8) or (
            levels is not None and len(factors) < levels - 1):
        able = [axis for axis in range(3) if extents[axis] > 1]
        if not able:
            break
        finest = min(known[axis] for axis in able)
        step = [2 if axis in able and known[axis] < 2 * finest else 1 for axis in range(3)]
        factors.append((step[0], step[1], step[2]))
        extents = [-(-n // f) for n, f in zip(extents, step)]
        known = [s * f for s, f in zip(known, step)]
    return factors


@dataclass
class TargetFacts:
    """Axes, extents, type, place and channels of an image that is written."""

    axes: str
    frames: int
    channels: int
    shape: Triple
    dtype: np.dtype[Any]
    spacing: Sequence[float | None]
    translation: dict[str, float]
    frame_interval: float | None
    channel_entries: list[dict[str, Any]]
    name: str = ""


    @classmethod
    def of(cls, metadata: Any, axes: str, dtype: np.dtype[Any], name: str, channel_entries: list[dict[str, Any]],
           translation: Mapping[str, float]) -> "TargetFacts":
        return cls(axes, metadata.frames, metadata.channels, triple(metadata.shape, "an image"), dtype,
                   list(metadata.spacing), dict(translation), metadata.frame_interval, channel_entries, name)


def facts_of(image: Any, dtype: np.dtype[Any], name: str, like: Any = None) -> TargetFacts:
    """Returns the facts of an :class:`convolume.Image`. Colors of channels and its place are those of `like`, if
    given."""
    reader = (image if like is None else like)._reader
    channels = omero_entries(image._metadata, getattr(reader, "channels", []))
    return TargetFacts.of(image._metadata, image.axes, dtype, name, channels, getattr(reader, "translation", {}))


def omero_entries(metadata: Any, known: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the metadata "omero" for viewers, an entry for each channel: the known ones if there are as many, else
    new ones of names and colors."""
    names, colors = list(metadata.channel_names), list(metadata.channel_colors)
    entries = [dict(one) for one in known]
    if len(entries) != metadata.channels:
        entries = [{"active": True, "color": "FFFFFF"} for _ in range(metadata.channels)] if names or colors else []
        for entry, color in zip(entries, colors):
            entry["color"] = f"{0xFFFFFF if color is None else color:06X}"
    for entry, name in zip(entries, names):
        entry["label"] = name
    return entries


class ZarrTarget:
    """An OME-Zarr image that is being written. Its arrays come first, and its metadata, which make it an image,
    last."""

    def __init__(self, location: Location, facts: TargetFacts, layout: Layout) -> None:
        layout.check()
        self.location = location
        self.facts = facts
        self.zarr_format = layout.zarr_format
        self.compression = layout.compression
        self.factors = pyramid_factors(facts.shape, facts.spacing, layout.levels)
        self.chunks, self.shards = layout.resolved(facts.shape, facts.dtype.itemsize)
        self.arrays: list[ZarrArray] = []
        self.shapes, self.level_shards = [facts.shape], [self.shards]
        self.level_chunks = [self.chunks]
        for factor in self.factors:
            above = self.shapes[-1]
            shape = triple([-(-n // f) for n, f in zip(above, factor)], "a level")
            inner = triple([min(c, n) for c, n in zip(self.chunks, shape)], "a chunk")
            most = math.prod(self.shards) * facts.dtype.itemsize // 8  # a level reads 8 times as much as it writes
            self.shapes.append(shape)
            self.level_chunks.append(inner)
            self.level_shards.append(inner if layout.zarr_format == 2 or self.shards == self.chunks
                                     else default_shards(shape, inner, facts.dtype.itemsize, most))

    def _in_axis_order(self, extents: Sequence[int], t: int, c: int) -> list[int]:
        by_axis = dict(zip(AXES, (t, c, *extents)))
        return [by_axis[axis] for axis in self.facts.axes]

    def open_arrays(self) -> None:
        """Creates the arrays, or opens existing ones."""
        facts = self.facts
        self.arrays = [
            ZarrArray.create(self.location.child(str(number)), self.zarr_format, ArrayFacts(
                self._in_axis_order(shape, facts.frames, facts.channels), facts.dtype,
                self._in_axis_order(chunks, 1, 1), self._in_axis_order(shards, 1, 1), self.compression,
                [axis.lower() for axis in facts.axes]))
            for number, (shape, chunks, shards) in enumerate(zip(self.shapes, self.level_chunks, self.level_shards))]

    def blocks(self, level: int, block: Triple | None = None) -> Blocks:
        return Blocks(self.facts.frames, self.facts.channels, self.shapes[level], block or self.level_shards[level])

    def _box(self, block: Block) -> list[slice]:
        by_axis = dict(zip(AXES, (slice(block.t, block.t + 1), slice(block.c, block.c + 1), *block.slices)))
        return [by_axis[axis] for axis in self.facts.axes]

    def write(self, level: int, block: Block, values: np.ndarray) -> None:
        """Writes a block of whole shards."""
        box = self._box(block)
        self.arrays[level].write(box, values.reshape([one.stop - one.start for one in box]))

    def has_all_shards(self, level: int, block: Block) -> bool:
        return self.arrays[level].has_all_shards(self._box(block))

    def reduce(self, level: int, block: Block) -> None:
        """Makes a block of a level from the previous level."""
        factors = dict(zip("ZYX", self.factors[level - 1]))
        values = self.arrays[level - 1].read_reduced(self._box(block),
                                                     [factors.get(axis, 1) for axis in self.facts.axes])
        self.arrays[level].write(self._box(block), values)

    def complete(self, level: int, block: Triple | None = None) -> np.ndarray:
        """Tells for each block of a level whether all its shards exist."""
        blocks = self.blocks(level, block)
        return blocks.complete(self.level_shards[level], self.arrays[level].stored_shards())

    def begin(self) -> None:
        """Creates the group. In an existing one, the old image is removed and other attributes stay."""
        write_group(self.location, self.zarr_format, None)

    def finish(self) -> None:
        write_group(self.location, self.zarr_format, attributes_for(self._multiscale(), self.zarr_format))

    def _multiscale(self) -> Multiscale:
        facts = self.facts
        spacing = dict(zip("ZYX", facts.spacing))
        units: list[str | None] = []
        for axis in facts.axes:
            length = "micrometer" if spacing.get(axis) else None
            units.append("second" if axis == "T" and facts.frame_interval else length)
        steps = {axis: spacing.get(axis) or 1.0 for axis in "ZYX"} | {"T": facts.frame_interval or 1.0, "C": 1.0}
        shifts = {axis: facts.translation.get(axis, 0.0) for axis in AXES}
        levels = []
        for number in range(len(self.shapes)):
            if number:
                for axis, factor in zip("ZYX", self.factors[number - 1]):
                    shifts[axis] += steps[axis] * (factor - 1) / 2  # a mean lies in the middle of its samples
                    steps[axis] *= factor
            levels.append(Level(str(number), [float(steps[axis]) for axis in facts.axes],
                                [float(shifts[axis]) for axis in facts.axes]))
        channels = [{**entry, "window": self._display_range(number)}
                    for number, entry in enumerate(facts.channel_entries)]
        return Multiscale(facts.axes, units, levels, facts.name, channels)

    def _display_range(self, channel: int) -> dict[str, float]:
        """Returns the range of a channel that viewers display, from the middle of the smallest level."""
        begin = [max(0, (n - _SHOWN) // 2) for n in self.shapes[-1]]
        end = [min(n, b + _SHOWN) for n, b in zip(self.shapes[-1], begin)]
        block = Block(0, 0, channel, (begin[0], begin[1], begin[2]), (end[0], end[1], end[2]))
        values = np.abs(self.arrays[-1].read(self._box(block)))
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        return {"min": low, "max": high, "start": low, "end": high}
