# SPDX-License-Identifier: Apache-2.0
"""OME-NGFF metadata, versions 0.4 and 0.5: the description of images in the attributes of a group. No function here
reads or writes files."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _core
from ._errors import BadData, InvalidArgument, option

AXES = "TCZYX"
_SECONDS = {"nanosecond": 1e-9, "ns": 1e-9, "microsecond": 1e-6, "us": 1e-6, "\u00b5s": 1e-6, "\u03bcs": 1e-6,
            "millisecond": 1e-3, "ms": 1e-3, "second": 1.0, "s": 1.0, "sec": 1.0, "minute": 60.0, "min": 60.0,
            "hour": 3600.0, "h": 3600.0, "day": 86400.0, "d": 86400.0}
_TYPES = {"T": "time", "C": "channel", "Z": "space", "Y": "space", "X": "space"}


@dataclass
class Level:
    """One array of a pyramid."""

    path: str
    scale: list[float]
    """Distance of samples along each axis, in the axis's unit."""
    translation: list[float]
    """Position of the first sample along each axis, in the axis's unit."""
    has_scale: bool = True
    """Whether the file has a scale. Without one, `scale` is 1."""


@dataclass
class Multiscale:
    """An image: its axes, as letters of TCZYX in the order of the arrays, and its levels, the finest first."""

    axes: str
    units: list[str | None]
    levels: list[Level]
    name: str = ""
    channels: list[dict[str, Any]] = field(default_factory=list)
    """Entries of the metadata "omero", one for each channel: label, color, window."""

    notes: list[str] = field(default_factory=list)
    """Assumptions of the reader, one sentence each."""
    images: int = 1
    """Number of images in the group."""
    number: int = 0
    """Number of this image among them, from 0."""

    def spacing(self, level: Level) -> dict[str, float]:
        """Returns the edge lengths of a voxel in µm along those of Z, Y, X whose unit is a length."""
        if not level.has_scale:
            return {}
        return {axis: scale * length for axis, scale, length in zip(self.axes, level.scale, self._lengths())
                if length is not None and scale > 0}

    def translation(self, level: Level) -> dict[str, float]:
        """Returns the position of the first sample in µm along axes whose unit is a length."""
        return {axis: shift * length for axis, shift, length in zip(self.axes, level.translation, self._lengths())
                if length is not None}

    def frame_interval(self, level: Level) -> float | None:
        """Returns the time between frames in seconds, or None if the file does not say it."""
        for axis, scale, unit in zip(self.axes, level.scale, self.units):
            if axis == "T" and level.has_scale and scale > 0:
                seconds = _seconds_per(unit)
                return None if seconds is None else scale * seconds
        return None

    def _lengths(self) -> list[float | None]:
        """Returns the µm in the unit of each axis; None for axes of time or channels, and for unknown units."""
        return [_core.micrometers_per(unit) if axis in "ZYX" and unit else None
                for axis, unit in zip(self.axes, self.units)]

    def notes_on_units(self) -> list[str]:
        """Returns a sentence for each voxel size that is unknown although the file has a number for it."""
        notes: list[str] = []
        finest = self.levels[0]
        for axis, scale, unit, length in zip(self.axes, finest.scale, self.units, self._lengths()):
            name = axis.lower()
            what = f"the voxel size along {name}" if axis in "ZYX" else "the time between frames"
            known = length if axis in "ZYX" else _seconds_per(unit)
            if axis == "C" or known is not None and finest.has_scale and scale > 0:
                continue
            if not finest.has_scale:
                if unit:
                    notes.append(f"the axis {name} has the unit '{unit}' and no scale: {what} is unknown")
            elif known is not None:
                notes.append(f"the scale of the axis {name} is {scale:g}: {what} is unknown")
            elif unit:
                notes.append(f"the unit '{unit}' of the axis {name} is not known: {what} is unknown")
            elif scale != 1:
                notes.append(f"the axis {name} has the scale {scale:g} and no unit: {what} is unknown")
        return notes

    def channel_names(self) -> list[str]:
        names = [str(channel.get("label", "")) for channel in self.channels]
        return names if any(names) else []

    def channel_colors(self) -> list[int | None]:
        """Returns colors as 0xRRGGBB, None for a channel without color; an empty list if no channel has a color."""
        colors = [_rgb(channel.get("color")) for channel in self.channels]
        return colors if any(color is not None for color in colors) else []


def _seconds_per(unit: str | None) -> float | None:
    word = (unit or "").strip().lower()
    return _SECONDS.get(word, _SECONDS.get(word.removesuffix("s")))


def _rgb(color: object) -> int | None:
    text = str(color).removeprefix("#")
    return int(text[:6], 16) if re.fullmatch("[0-9A-Fa-f]{6}([0-9A-Fa-f]{2})?", text) else None


def ome_of(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the OME part of a group's attributes: in 0.5 the one under "ome", in 0.4 the attributes themselves."""
    inner = attributes.get("ome")
    return inner if isinstance(inner, Mapping) else attributes


def multiscale_of(attributes: Mapping[str, Any], where: str, image: int | str | None = None,
                  axes: str = "") -> Multiscale | None:
    """Returns an image that a group describes, or None if it describes none.

    `image` is the image's number or name, by default the first. `axes` replaces the names of its axes.
    """
    ome = ome_of(attributes)
    images = ome.get("multiscales")
    if images is None:
        return None
    try:
        number = _number_of(images, image, where)
        chosen = images[number]
        notes: list[str] = []
        if len(images) > 1 and image is None:
            notes.append(f"the group holds {len(images)} images, of which the first is read; image=… chooses another")
        letters, units = _axes(chosen, ome, axes, where, notes)
        common = _transforms(chosen.get("coordinateTransformations", []), len(units))
        levels = []
        for dataset in chosen["datasets"]:
            scale, shift, has_scale = _transforms(dataset.get("coordinateTransformations", []), len(units))
            levels.append(Level(str(dataset["path"]), [a * b for a, b in zip(scale, common[0])],
                                [a * b + c for a, b, c in zip(shift, common[0], common[1])], has_scale or common[2]))
        omero = ome.get("omero") or {}
        channels = [dict(channel) for channel in omero.get("channels", [])]
        found = Multiscale(letters, units, levels, str(chosen.get("name", "")), channels, notes, len(images), number)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, (BadData, InvalidArgument)):
            raise
        raise BadData(f"{where}: the OME metadata do not describe an image ({type(error).__name__}: {error})") from None
    if not found.levels:
        raise BadData(f"{where}: the OME metadata name no array of the image")
    found.notes += found.notes_on_units()
    return found


def _number_of(images: Sequence[Mapping[str, Any]], image: int | str | None, where: str) -> int:
    if image is None:
        return 0
    names = [str(one.get("name", "")) for one in images]
    if isinstance(image, str) and names.count(image) == 1:
        return names.index(image)
    if isinstance(image, str) and image in names:
        raise InvalidArgument(f"{where} holds {names.count(image)} images of the name '{image}': choose one by its "
                              "number")
    if str(image).isdigit() and int(image) < len(images):
        return int(image)
    listed = ", ".join(f"{number} ('{name}')" for number, name in enumerate(names))
    raise InvalidArgument(f"{where} holds no image '{image}': choose one of {listed}")


_NAMES = {"t": "T", "time": "T", "c": "C", "channel": "C", "z": "Z", "y": "Y", "x": "X"}
_LETTER_OF_TYPE = {"time": "T", "channel": "C"}
_AXES_OF_VERSION = {"0.1": "TCZYX", "0.2": "TCZYX"}


def _axes(image: Mapping[str, Any], ome: Mapping[str, Any], given: str, where: str,
          notes: list[str]) -> tuple[str, list[str | None]]:
    """Returns the letters and units of an image's axes. Assumptions are added to `notes`."""
    entries = image.get("axes")
    if entries is None:
        version = str(image.get("version") or ome.get("version") or "")
        if given:
            return given, [None] * len(given)
        if version not in _AXES_OF_VERSION:
            notes.append(f"the image names no axes: t, c, z, y, x are assumed; {option('axes', '…')} decides")
        return "TCZYX", [None] * 5
    units = [None if isinstance(entry, str) or not entry.get("unit") else str(entry["unit"]) for entry in entries]
    if given:
        return given, units
    letters, untyped = "", []
    for entry in entries:
        name = entry if isinstance(entry, str) else str(entry["name"])
        kind = None if isinstance(entry, str) else entry.get("type")
        letter = _NAMES.get(name.lower()) or _LETTER_OF_TYPE.get(str(kind), "")
        if not letter or letter in letters:
            raise BadData(f"{where}: the axis '{name}' is none of t, c, z, y, x, or a second one of its kind; say what "
                          f"the axes mean by {option('axes', '…')}, such as TCZYX")
        if name.lower() not in _NAMES:
            notes.append(f"the axis '{name}' of type {kind} is read as {letter.lower()}; "
                         f"{option('axes', '…')} decides")
        elif kind is not None and kind != _TYPES[letter]:
            notes.append(f"the axis '{name}' is of type {kind} and is read as {letter.lower()}; "
                         f"{option('axes', '…')} decides")
        elif kind is None and not isinstance(entry, str):
            untyped.append(name)
        letters += letter
    if untyped:
        notes.append(f"the axes {', '.join(untyped)} have no type and are taken by their names; "
                     f"{option('axes', '…')} decides")
    return letters, units


def _transforms(transforms: Sequence[Mapping[str, Any]], dimensions: int) -> tuple[list[float], list[float], bool]:
    """Returns the scale and translation along each axis, and whether the file has a scale."""
    scale, shift, has_scale = [1.0] * dimensions, [0.0] * dimensions, False
    for transform in transforms:
        kind = transform["type"]
        if kind == "scale":
            factors = [float(f) for f in transform["scale"]]
            has_scale = True
            scale = [a * b for a, b in zip(scale, factors, strict=True)]
            shift = [a * b for a, b in zip(shift, factors, strict=True)]
        elif kind == "translation":
            shift = [a + float(b) for a, b in zip(shift, transform["translation"], strict=True)]
        elif kind != "identity":
            raise BadData(f"a transformation of type '{kind}' is not read")
    return scale, shift, has_scale


def attributes_for(image: Multiscale, zarr_format: int) -> dict[str, Any]:
    """Returns the attributes of an image's group: OME 0.5 in Zarr 3, OME 0.4 in Zarr 2."""
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
    """Returns a sentence on a group that is no image but contains images, with the path of one of them; else None."""
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
