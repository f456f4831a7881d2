# SPDX-License-Identifier: Apache-2.0
"""OME-Zarr images: opened as a reader of boxes, and written level by level."""

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _core
from ._arrays import readable
from ._blocks import Block, Blocks, Triple, default_chunks, default_shards, product, triple
from ._errors import BadData, InputNotFound, InvalidArgument, OutputExists
from ._ome_metadata import AXES, Level, Multiscale, attributes_for, multiscale_of, no_image_sentence, ome_of
from ._zarr_store import SCHEMES, Documents, Location, ZarrArray

MANIFEST = ".convolume/manifest.json"
COMPRESSIONS = ("none", "zstd", "gzip", "blosc")
_SHOWN = 256
_FOLDERS_ABOVE = 3  # an array's image is looked for in so many


def is_zarr(name: str) -> bool:
    """Whether a path or URL is one of a Zarr store."""
    if name.partition("://")[0] in SCHEMES and "://" in name:
        return True
    if re.search(r"\.zarr(/|$)", name):
        return True
    return os.path.isdir(name) and any(os.path.exists(os.path.join(name, one))
                                       for one in ("zarr.json", ".zgroup", ".zattrs", ".zarray"))


@dataclass
class Node:
    """A group or an array of a store."""

    location: Location
    zarr_format: int
    is_array: bool
    attributes: dict[str, Any]
    document: dict[str, Any] = field(default_factory=dict)


def node_at(location: Location) -> Node | None:
    documents = Documents(location)
    found = documents.read_json("zarr.json")
    if found is not None:
        kind = found.get("node_type")
        if kind not in ("group", "array"):
            raise BadData(f"{location}/zarr.json is no Zarr metadata: its node_type is {kind!r}")
        return Node(location, 3, kind == "array", dict(found.get("attributes") or {}), found)
    array = documents.read_json(".zarray")
    if array is not None:
        return Node(location, 2, True, documents.read_json(".zattrs") or {}, array)
    attributes = documents.read_json(".zattrs")
    if attributes is None and documents.read_json(".zgroup") is None:
        return None
    return Node(location, 2, False, attributes or {})


def _image_of_array(location: Location) -> tuple[Multiscale, Level] | None:
    """The image that an array is a level of: looked for in the folders above."""
    above, path = location, ""
    for _ in range(_FOLDERS_ABOVE):
        name, parent = above.name, above.parent
        if parent is None:
            return None
        above, path = parent, f"{name}/{path}" if path else name
        node = node_at(above)
        image = multiscale_of(node.attributes, str(above)) if node is not None and not node.is_array else None
        if image is not None:
            for level in image.levels:
                if level.path == path:
                    return image, level
    return None


class ZarrReader:
    """Reads boxes of one array, as the readers of other files do."""

    def __init__(self, array: ZarrArray, image: Multiscale, level: Level, document: dict[str, Any]) -> None:
        self.array = array
        self.image = image
        self.document = document
        """The array's metadata."""
        self.axes = "".join(axis for axis in AXES if axis in image.axes)
        self._stored_axes = image.axes
        extents = dict(zip(image.axes, array.shape))
        try:
            dtype = readable(np.empty(0, array.dtype_name), str(array.location)).dtype
        except TypeError:
            raise BadData(f"{array.location} holds samples of type {array.dtype_name}, which are not read") from None
        metadata = _core.ImageMetadata()
        metadata.frames, metadata.channels = extents.get("T", 1), extents.get("C", 1)
        metadata.shape = extents.get("Z", 1), extents.get("Y", 1), extents.get("X", 1)
        metadata.type, metadata.axes = dtype.name, self.axes
        spacing = image.spacing(level)
        metadata.spacing = tuple(spacing.get(axis) for axis in "ZYX")
        metadata.unit = "um" if spacing else ""
        metadata.frame_interval = image.frame_interval(level)
        names = image.channel_names()
        metadata.channel_names = names if len(names) == metadata.channels else []
        self.metadata = metadata
        self.translation = image.translation(level)
        self.channels = image.channels

    def read_box(self, t: int, c: int, box: Sequence[int], target: np.ndarray) -> None:
        z0, z1, y0, y1, x0, x1 = box
        parts = {"T": slice(t, t + 1), "C": slice(c, c + 1), "Z": slice(z0, z1), "Y": slice(y0, y1),
                 "X": slice(x0, x1)}
        values = self.array.read([parts[axis] for axis in self._stored_axes])
        order = [self._stored_axes.index(axis) for axis in self.axes]
        target[...] = readable(values.transpose(order).reshape(target.shape), str(self.array.location))

    def check_there(self) -> None:
        self.array.check_there()


def open_zarr(path: str, axes: str = "", level: int | None = None, missing: str = "fill") -> ZarrReader:
    location = Location.of(path)
    node = node_at(location)
    if node is None:
        raise InputNotFound(f"{location}: there is no Zarr group or array")
    if node.is_array:
        if level is not None:
            raise InvalidArgument(f"{location} is one array: name its image to choose a level")
        array = ZarrArray.open(location, node.zarr_format, missing)
        found = None if axes else _image_of_array(location)
        image, chosen = found or _without_metadata(array, node, axes)
    else:
        described = multiscale_of(node.attributes, str(location))
        if described is None:
            _refuse_group(location, node)
        assert described is not None
        number = level or 0
        if not 0 <= number < len(described.levels):
            raise InvalidArgument(f"{location} has the levels 0 to {len(described.levels) - 1}, not {number}")
        image, chosen = described, described.levels[number]
        inner = node_at(location.child(chosen.path))
        if inner is None or not inner.is_array:
            raise BadData(f"{location}: level {number}, '{chosen.path}', is not there")
        node = inner
        array = ZarrArray.open(inner.location, inner.zarr_format, missing)
        if axes:
            image = Multiscale(_checked_axes(axes, len(array.shape), location), image.units, image.levels,
                               image.name, image.channels)
    if len(image.axes) != len(array.shape) or len(chosen.scale) != len(array.shape):
        raise BadData(f"{array.location} has {len(array.shape)} dimensions and its metadata name {len(image.axes)} "
                      "axes")
    if not {"Y", "X"} <= set(image.axes) and not axes:
        raise BadData(f"{array.location} has the axes {image.axes}: an image has y and x")
    return ZarrReader(array, image, chosen, node.document)


def _refuse_group(location: Location, node: Node) -> None:
    if Documents(location).read(MANIFEST) is not None:
        raise BadData(f"{location} is not finished: go on with convolume process … --resume")
    sentence = no_image_sentence(node.attributes, str(location))
    raise BadData(sentence or f"{location} is a Zarr group without OME metadata of an image: name one of its arrays")


def _checked_axes(axes: str, dimensions: int, location: Location) -> str:
    if len(axes) != dimensions or not set(axes) <= set(AXES) or len(set(axes)) != dimensions:
        raise InvalidArgument(f"axes '{axes}' do not fit {location} of {dimensions} dimensions: name each by one of "
                              "T, C, Z, Y, X")
    return axes


def _without_metadata(array: ZarrArray, node: Node, axes: str) -> tuple[Multiscale, Level]:
    """An array alone: its axes by their names, or the last ones of TCZYX."""
    dimensions = len(array.shape)
    names = [str(name).upper() for name in node.document.get("dimension_names") or []]
    if axes:
        axes = _checked_axes(axes, dimensions, array.location)
    elif len(names) == dimensions and set(names) <= set(AXES) and len(set(names)) == dimensions:
        axes = "".join(names)
    elif 2 <= dimensions <= 5:
        axes = AXES[5 - dimensions:]
    else:
        raise BadData(f"{array.location} has {dimensions} dimensions: an image has 2 to 5")
    level = Level("", [1.0] * dimensions, [0.0] * dimensions)
    return Multiscale(axes, [None] * dimensions, [level]), level


@dataclass
class Layout:
    """How an image is stored. None: by default rules."""

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
        """Chunks and shards of the finest level."""
        chunks = default_chunks(shape, sample_bytes) if self.chunks is None else triple(self.chunks, "a chunk")
        if self.shards is not None:
            shards = triple(self.shards, "a shard")
            if any(s % c for s, c in zip(shards, chunks)):
                raise InvalidArgument(f"a shard of {shards} is not made of whole chunks of {chunks}")
            return chunks, shards
        if self.zarr_format == 2:
            return chunks, chunks
        return chunks, default_shards(shape, chunks, sample_bytes, self.shard_bytes)


def pyramid_factors(shape: Triple, spacing: Sequence[float | None], levels: int | None) -> list[Triple]:
    """By how much each level is smaller than the one before. Axes that are sampled coarsely wait for the others."""
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
    """What a written image is: of the source's axes, place and channels, with a type of its own."""

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


def facts_of(image: Any, dtype: np.dtype[Any], name: str, like: Any = None) -> TargetFacts:
    """Of an :class:`convolume.Image`; channels and colors of `like` if it is given."""
    metadata, described = image._metadata, (like or image)._metadata
    reader = (like or image)._reader
    channels = [dict(one) for one in getattr(reader, "channels", [])] or _omero(described)
    if len(channels) != metadata.channels:
        channels = []
    return TargetFacts(image.axes, metadata.frames, metadata.channels, triple(metadata.shape, "an image"), dtype,
                       list(metadata.spacing), dict(getattr(reader, "translation", {})), metadata.frame_interval,
                       channels, name)


def _omero(metadata: Any) -> list[dict[str, Any]]:
    """Channels as viewers of OME-Zarr want them, from names and OME-XML."""
    names = list(metadata.channel_names)
    colors = re.findall(r"<(?:\w+:)?Channel\b[^>]*?\bColor=\"(-?\d+)\"", str(metadata.ome_xml))
    if not names and not colors:
        return []
    entries: list[dict[str, Any]] = []
    for number in range(metadata.channels):
        entry: dict[str, Any] = {"active": True}
        if number < len(names):
            entry["label"] = names[number]
        rgb = (int(colors[number]) >> 8) & 0xFFFFFF if len(colors) == metadata.channels else 0xFFFFFF
        entry["color"] = f"{rgb:06X}"
        entries.append(entry)
    return entries


class ZarrTarget:
    """An OME-Zarr image that is being written: arrays first; its metadata, which readers look for, last."""

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
            most = product(self.shards) * facts.dtype.itemsize // 8  # reads 8 times as much
            self.shapes.append(shape)
            self.level_chunks.append(inner)
            self.level_shards.append(inner if layout.zarr_format == 2 or self.shards == self.chunks
                                     else default_shards(shape, inner, facts.dtype.itemsize, most))

    def _full(self, extents: Sequence[int], t: int, c: int) -> list[int]:
        by_axis = dict(zip(AXES, (t, c, *extents)))
        return [by_axis[axis] for axis in self.facts.axes]

    def open_arrays(self) -> None:
        """Creates the arrays, or opens those that are there."""
        facts = self.facts
        self.arrays = [
            ZarrArray.create(self.location.child(str(number)), self.zarr_format,
                             self._full(shape, facts.frames, facts.channels), facts.dtype, self._full(chunks, 1, 1),
                             self._full(shards, 1, 1), self.compression, [axis.lower() for axis in facts.axes])
            for number, (shape, chunks, shards) in enumerate(zip(self.shapes, self.level_chunks, self.level_shards))]

    def blocks(self, level: int, block: Triple | None = None) -> Blocks:
        return Blocks(self.facts.frames, self.facts.channels, self.shapes[level], block or self.level_shards[level])

    def _box(self, block: Block) -> list[slice]:
        z, y, x = (slice(b, e) for b, e in zip(block.begin, block.end))
        by_axis = dict(zip(AXES, (slice(block.t, block.t + 1), slice(block.c, block.c + 1), z, y, x)))
        return [by_axis[axis] for axis in self.facts.axes]

    def write(self, level: int, block: Block, values: np.ndarray) -> None:
        """A block of whole shards."""
        box = self._box(block)
        self.arrays[level].write(box, values.reshape([one.stop - one.start for one in box]))

    def holds(self, level: int, block: Block) -> bool:
        return self.arrays[level].holds(self._box(block))

    def reduce(self, level: int, block: Block) -> None:
        """Makes a block of a level from the one before."""
        factors = dict(zip("ZYX", self.factors[level - 1]))
        values = self.arrays[level - 1].read_reduced(self._box(block),
                                                     [factors.get(axis, 1) for axis in self.facts.axes])
        self.arrays[level].write(self._box(block), values)

    def complete(self, level: int, block: Triple | None = None) -> np.ndarray:
        """Which blocks of a level have all their shards."""
        blocks = self.blocks(level, block)
        return blocks.complete(self.level_shards[level], self.arrays[level].stored_shards())

    def begin(self) -> None:
        """Makes the group; what other attributes it has stay, its old image goes."""
        self._write_group(None)

    def finish(self) -> None:
        self._write_group(attributes_for(self._multiscale(), self.zarr_format))

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
                    shifts[axis] += steps[axis] * (factor - 1) / 2  # the mean is in the middle of what it is of
                    steps[axis] *= factor
            levels.append(Level(str(number), [float(steps[axis]) for axis in facts.axes],
                                [float(shifts[axis]) for axis in facts.axes]))
        channels = [{**entry, "window": self._window(number)} for number, entry in enumerate(facts.channel_entries)]
        return Multiscale(facts.axes, units, levels, facts.name, channels)

    def _window(self, channel: int) -> dict[str, float]:
        """The range of values to show, from the middle of the smallest level."""
        begin = [max(0, (n - _SHOWN) // 2) for n in self.shapes[-1]]
        end = [min(n, b + _SHOWN) for n, b in zip(self.shapes[-1], begin)]
        block = Block(0, 0, channel, (begin[0], begin[1], begin[2]), (end[0], end[1], end[2]))
        values = np.abs(self.arrays[-1].read(self._box(block)))
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        return {"min": low, "max": high, "start": low, "end": high}

    def _write_group(self, attributes: dict[str, Any] | None) -> None:
        write_group(self.location, self.zarr_format, attributes)


def write_group(location: Location, zarr_format: int, attributes: dict[str, Any] | None) -> None:
    """The group of an image; its other attributes stay, its old image goes."""
    documents = Documents(location)
    node = node_at(location)
    kept = dict(node.attributes) if node is not None else {}
    ome = kept.pop("ome", {})
    for name in ("multiscales", "omero"):
        kept.pop(name, None)
        if isinstance(ome, dict):
            ome.pop(name, None)
    if zarr_format == 3:
        new = {**(attributes or {})}
        if ome or "ome" in new:
            new["ome"] = {**ome, **new.get("ome", {})}
        documents.write_json("zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {**kept, **new}})
    else:
        documents.write_json(".zgroup", {"zarr_format": 2})
        documents.write_json(".zattrs", {**kept, **(attributes or {})})


def remove_description(image: Node) -> None:
    """Then it is a group, and no image."""
    write_group(image.location, image.zarr_format, None)


def refuse_existing(location: Location, zarr_format: int, overwrite: bool) -> Node | None:
    """The image that will be replaced, None where there is nothing."""
    if location.read_only:
        raise InvalidArgument(f"{location}: http(s):// is read only; write to a path or to s3://")
    node = node_at(location)
    path = location.local_path
    if node is None:
        if path is not None and os.path.lexists(path) and (not os.path.isdir(path) or os.listdir(path)):
            raise OutputExists(f"{location} exists and is no Zarr group: choose another name")
        return None
    if not overwrite:
        raise OutputExists(f"{location} exists: choose another name, or replace it by overwrite=True (--overwrite)")
    if node.is_array or "plate" in ome_of(node.attributes) or "well" in ome_of(node.attributes):
        raise OutputExists(f"{location} is {'an array' if node.is_array else 'a plate'}, not an image: it is not "
                           "replaced; choose another name")
    if node.zarr_format != zarr_format:
        raise InvalidArgument(f"{location} is of Zarr version {node.zarr_format} and version {zarr_format} is to be "
                              f"written: set zarr_format={node.zarr_format}, or choose another name")
    return node


def levels_of(node: Node) -> list[str]:
    """The folders of an image's arrays."""
    image = multiscale_of(node.attributes, str(node.location))
    return [] if image is None else [level.path for level in image.levels]


def save_zarr(name: str, image: Any, like: Any, layout: Layout, overwrite: bool) -> None:
    location = Location.of(name)
    replaced = refuse_existing(location, layout.zarr_format, overwrite)
    path = location.local_path
    working = location
    if path is not None:
        if not os.path.isdir(os.path.dirname(path)):
            raise InputNotFound(f"{os.path.dirname(path)}: there is no such folder")
        working = Location(os.path.join(os.path.dirname(path), f".{location.name}.partial-{os.getpid()}"))
    title = location.name.removesuffix(".zarr").removesuffix(".ome")
    target = ZarrTarget(working, facts_of(image, image.dtype, title, like), layout)
    try:
        if path is None and replaced is not None:
            target.begin()
            for old in levels_of(replaced):
                Documents(location).delete_all(old)
        target.begin()
        target.open_arrays()
        for block in target.blocks(0):
            target.write(0, block, _box_of(image, block))
        for level in range(1, len(target.arrays)):
            for block in target.blocks(level):
                target.reduce(level, block)
        if path is not None and replaced is not None:
            _keep_others(path, working.url, replaced)
        target.finish()
        if path is not None:
            _take_name(working.url, path)
    except BaseException:
        if path is not None:
            shutil.rmtree(working.url, ignore_errors=True)
        raise


def _box_of(image: Any, block: Block) -> np.ndarray:
    z, y, x = (slice(b, e) for b, e in zip(block.begin, block.end))
    by_axis = dict(zip(AXES, (block.t, block.c, z, y, x)))
    return np.ascontiguousarray(image[tuple(by_axis[axis] for axis in image.axes)]).reshape(block.shape)


def _keep_others(old: str, new: str, node: Node) -> None:
    """Labels and whatever else is beside the old image's arrays, and the group's other attributes."""
    ours = {level.partition("/")[0] for level in levels_of(node)} | set(os.listdir(new)) | {".convolume"}
    for name in os.listdir(old):
        if name not in ours:
            source, copy = os.path.join(old, name), os.path.join(new, name)
            if os.path.isdir(source):
                shutil.copytree(source, copy, copy_function=os.link)
            else:
                os.link(source, copy)
    for name in ("zarr.json", ".zattrs"):
        if os.path.exists(os.path.join(old, name)):
            shutil.copyfile(os.path.join(old, name), os.path.join(new, name))


def _take_name(new: str, path: str) -> None:
    if not os.path.lexists(path):
        os.rename(new, path)
        return
    aside = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.replaced-{os.getpid()}")
    os.rename(path, aside)
    os.rename(new, path)
    shutil.rmtree(aside, ignore_errors=True)
