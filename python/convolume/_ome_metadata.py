# SPDX-License-Identifier: Apache-2.0
"""OME-NGFF metadata, versions 0.4 and 0.5: what a group says of its images. No file is touched here."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ._errors import BadData

AXES = "TCZYX"
_MICROMETERS = {"angstrom": 1e-4, "nanometer": 1e-3, "micrometer": 1.0, "millimeter": 1e3, "centimeter": 1e4,
                "meter": 1e6, "nm": 1e-3, "um": 1.0, "µm": 1.0, "mm": 1e3}
_SECONDS = {"nanosecond": 1e-9, "microsecond": 1e-6, "millisecond": 1e-3, "second": 1.0, "minute": 60.0, "hour": 3600.0,
            "day": 86400.0}
_TYPES = {"T": "time", "C": "channel", "Z": "space", "Y": "space", "X": "space"}


@dataclass
class Level:
    """One array of a pyramid."""

    path: str
    scale: list[float]
    """For each axis, in the axis's unit."""
    translation: list[float]


@dataclass
class Multiscale:
    """An image: its axes, as letters of TCZYX in the order of the arrays, and its levels, the finest first."""

    axes: str
    units: list[str | None]
    levels: list[Level]
    name: str = ""
    channels: list[dict[str, Any]] = field(default_factory=list)
    """As omero has them: label, color, window."""

    def spacing(self, level: Level) -> dict[str, float]:
        """Edge lengths in µm of those of Z, Y, X whose unit is a length."""
        return {axis: scale * _MICROMETERS[unit] for axis, scale, unit in zip(self.axes, level.scale, self.units)
                if axis in "ZYX" and unit in _MICROMETERS}

    def translation(self, level: Level) -> dict[str, float]:
        """Of the first sample, in µm."""
        return {axis: shift * _MICROMETERS[unit] for axis, shift, unit in
                zip(self.axes, level.translation, self.units) if axis in "ZYX" and unit in _MICROMETERS}

    def frame_interval(self, level: Level) -> float | None:
        """In seconds."""
        for axis, scale, unit in zip(self.axes, level.scale, self.units):
            if axis == "T" and unit in _SECONDS:
                return scale * _SECONDS[unit]
        return None

    def channel_names(self) -> list[str]:
        names = [str(channel.get("label", "")) for channel in self.channels]
        return names if any(names) else []

    def channel_colors(self) -> list[int | None]:
        """0xRRGGBB, None where a channel has none; empty if no channel has one."""
        colors = [_rgb(channel.get("color")) for channel in self.channels]
        return colors if any(color is not None for color in colors) else []


def _rgb(color: object) -> int | None:
    text = str(color).removeprefix("#")
    return int(text[:6], 16) if re.fullmatch("[0-9A-Fa-f]{6}([0-9A-Fa-f]{2})?", text) else None


def ome_of(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The OME part of a group's attributes: of 0.5 under "ome", of 0.4 the attributes themselves."""
    inner = attributes.get("ome")
    return inner if isinstance(inner, Mapping) else attributes


def multiscale_of(attributes: Mapping[str, Any], where: str) -> Multiscale | None:
    """The first image that a group describes, or None."""
    ome = ome_of(attributes)
    images = ome.get("multiscales")
    if images is None:
        return None
    try:
        first = images[0]
        axes, units = _axes(first.get("axes", list("tczyx")), where)
        common = _transforms(first.get("coordinateTransformations", []), len(axes))
        levels = []
        for dataset in first["datasets"]:
            scale, shift = _transforms(dataset.get("coordinateTransformations", []), len(axes))
            levels.append(Level(str(dataset["path"]), [a * b for a, b in zip(scale, common[0])],
                                [a * b + c for a, b, c in zip(shift, common[0], common[1])]))
        omero = ome.get("omero") or {}
        channels = [dict(channel) for channel in omero.get("channels", [])]
        found = Multiscale(axes, units, levels, str(first.get("name", "")), channels)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, BadData):
            raise
        raise BadData(f"{where}: the OME metadata do not describe an image ({type(error).__name__}: {error})") from None
    if not found.levels:
        raise BadData(f"{where}: the OME metadata name no array of the image")
    return found


def _axes(axes: Sequence[Any], where: str) -> tuple[str, list[str | None]]:
    letters, units = "", []
    for axis in axes:
        name = axis if isinstance(axis, str) else str(axis["name"])
        letter = name.upper()[:1] if name.lower() in ("t", "c", "z", "y", "x", "time", "channel") else ""
        if not letter or letter in letters:
            raise BadData(f"{where}: the axis '{name}' is none of t, c, z, y, x")
        letters += letter
        units.append(None if isinstance(axis, str) else axis.get("unit"))
    return letters, units


def _transforms(transforms: Sequence[Mapping[str, Any]], dimensions: int) -> tuple[list[float], list[float]]:
    scale, shift = [1.0] * dimensions, [0.0] * dimensions
    for transform in transforms:
        kind = transform["type"]
        if kind == "scale":
            factors = [float(f) for f in transform["scale"]]
            scale = [a * b for a, b in zip(scale, factors, strict=True)]
            shift = [a * b for a, b in zip(shift, factors, strict=True)]
        elif kind == "translation":
            shift = [a + float(b) for a, b in zip(shift, transform["translation"], strict=True)]
        elif kind != "identity":
            raise BadData(f"a transformation of type '{kind}' is not read")
    return scale, shift


def attributes_for(image: Multiscale, zarr_format: int) -> dict[str, Any]:
    """What the group of an image has: OME 0.5 in Zarr 3, OME 0.4 in Zarr 2."""
    axes = []
    for axis, unit in zip(image.axes, image.units):
        entry: dict[str, Any] = {"name": axis.lower(), "type": _TYPES[axis]}
        if unit:
            entry["unit"] = unit
        axes.append(entry)
    datasets = []
    for level in image.levels:
        transforms: list[dict[str, Any]] = [{"type": "scale", "scale": level.scale}]
        if any(level.translation):
            transforms.append({"type": "translation", "translation": level.translation})
        datasets.append({"path": level.path, "coordinateTransformations": transforms})
    multiscale: dict[str, Any] = {"name": image.name, "axes": axes, "datasets": datasets}
    if len(image.levels) > 1:
        multiscale["type"] = "mean"
    ome: dict[str, Any] = {"multiscales": [multiscale]}
    if image.channels:
        ome["omero"] = {"channels": image.channels}
    if zarr_format == 3:
        return {"ome": {"version": "0.5", **ome}}
    multiscale["version"] = "0.4"
    return ome


def no_image_sentence(attributes: Mapping[str, Any], where: str) -> str | None:
    """What a group is that is no image but leads to some, with the path of one that can be opened."""
    ome = ome_of(attributes)
    plate, well = ome.get("plate"), ome.get("well")
    if plate is not None:
        wells = plate.get("wells") or [{"path": "A/1"}]
        return f"{where} is a plate: open one of its fields, such as {where}/{wells[0].get('path', 'A/1')}/0"
    if well is not None:
        fields = well.get("images") or [{"path": "0"}]
        return f"{where} is a well of a plate: open one of its fields, such as {where}/{fields[0].get('path', '0')}"
    if isinstance(ome.get("labels"), list) and ome["labels"]:
        return f"{where} holds labels: open one of them, such as {where}/{ome['labels'][0]}"
    if "bioformats2raw.layout" in ome:
        return f"{where} holds several images: open one of them, such as {where}/0"
    return None
