# SPDX-License-Identifier: Apache-2.0
"""What image layers say about their axes and voxel sizes, and what layers of results say. Needs no window."""

import itertools
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from napari.layers import Image

import convolume

Voxels = dict[str, float]  # edge lengths in µm by the letter of their axis

_WORDS = {"TIME": "T", "CHANNEL": "C", "CH": "C"}
_ORDER = "TCZYX"
_PREVIEW_PIXELS, _PREVIEW_PLANES = 256, 32  # largest extents of a preview along y and x, and along z


def data_of(layer: Any) -> Any:
    """Returns the array of a layer: of several levels, the finest."""
    return layer.data[0] if layer.multiscale else layer.data


def letters_of(layer: Any) -> str | None:
    """Returns a letter of T, C, Z, Y, X for each axis: the labels of the layer, or what its file says; else None."""
    labels = _stated(layer, "axis_labels")
    if labels and not all(re.fullmatch(r"-\d+", label) for label in labels):
        letters = "".join(_WORDS.get(label.upper(), label.upper()) for label in labels)
        return letters if are_letters(letters, layer) else None
    file = _file_of(layer)
    shape = data_of(layer).shape
    if file is None:
        return "YX" if len(shape) == 2 else None
    fitting = ["".join(order) for order in itertools.permutations(file.axes)
               if [axis for axis in order if axis in "ZYX"] == [axis for axis in file.axes if axis in "ZYX"]
               and tuple(file.shape[file.axes.index(axis)] for axis in order) == shape]
    return fitting[0] if len(fitting) == 1 else None


def are_letters(letters: str, layer: Any) -> bool:
    """Tells whether these are a letter of T, C, Z, Y, X for each axis of the layer, with Y and X among them."""
    return (len(letters) == data_of(layer).ndim == len(set(letters)) and set(letters) <= set(_ORDER)
            and {"Y", "X"} <= set(letters))


def voxels_of(layer: Any, letters: str) -> Voxels:
    """Returns the voxel sizes that a layer knows by its scale and units; else those of its file, unless the layer has a
    scale."""
    scale = dict(zip(letters, (float(length) for length in layer.scale)))
    lengths_of_units = dict(zip(letters, map(_micrometers, _stated(layer, "units"))))
    known = {axis: scale[axis] * length for axis, length in lengths_of_units.items() if axis in "ZYX" and length}
    file = None if known or has_scale(layer, letters) else _file_of(layer)
    if file is None or sorted(file.axes) != sorted(letters):
        return known
    lengths = zip((axis for axis in "ZYX" if axis in file.axes), file.spacing)
    return {axis: length for axis, length in lengths if length is not None}


def _stated(layer: Any, name: str) -> Sequence[Any]:
    """Returns axis_labels or units of a layer. Before napari 0.6 layers have none, and `supported` has put them into
    the metadata."""
    return layer.metadata.get("convolume", {}).get(name) or getattr(layer, name, ())


def _micrometers(unit: Any) -> float | None:
    """Returns the µm in a unit of napari; None if it is no unit of length."""
    if isinstance(unit, str):
        return 1.0 if unit == "micrometer" else None
    return float((1 * unit).to("micrometer").magnitude) if unit.is_compatible_with("micrometer") else None


def has_scale(layer: Any, letters: str) -> bool:
    return any(length != 1 for axis, length in zip(letters, layer.scale) if axis in "ZYX")


def _file_of(layer: Any) -> convolume.Image | None:
    """Returns the image in the file that a layer was read from, if convolume reads it."""
    path = getattr(layer, "source", None) and layer.source.path
    if not path or not Path(path).is_file():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", convolume.ConvolumeWarning)
        try:
            return convolume.open(path)
        except convolume.Error:
            return None


def spacing_of(voxels: Voxels, letters: str) -> list[float | None]:
    """Returns the voxel sizes along the existing ones of z, y, x."""
    return [voxels.get(axis) for axis in "ZYX" if axis in letters]


def image_of(layer: Any, letters: str, voxels: Voxels) -> convolume.Image:
    """Returns the samples of a layer, with the axes in the order T, C, Z, Y, X, as an image."""
    axes = "".join(sorted(letters, key=_ORDER.index))
    samples = np.transpose(np.asarray(data_of(layer)), [letters.index(axis) for axis in axes])
    return convolume.Image.of_array(samples, axes=axes, spacing=spacing_of(voxels, axes))


def supported(shown: dict[str, Any]) -> dict[str, Any]:
    """Returns the keywords for a layer. Those that this version of napari lacks are moved into the metadata."""
    lacking = {name: shown[name] for name in ("axis_labels", "units") if name in shown and not hasattr(Image, name)}
    kept = {name: value for name, value in shown.items() if name not in lacking}
    if lacking:
        metadata = shown.get("metadata", {})
        kept["metadata"] = {**metadata, "convolume": {**metadata.get("convolume", {}), **lacking}}
    return kept


def shown_like(layer: Any, letters: str, voxels: Voxels, start: Any = None) -> dict[str, Any]:
    """Returns the keywords of a layer for a result of `layer`, which shows it in the same place. `start` is the index
    in `layer` of the result's first sample."""
    shown = {name: getattr(layer, name) for name in ("scale", "translate", "rotate", "shear", "affine", "metadata")}
    if start is not None:
        shown["translate"] = layer.affine.inverse(layer.data_to_world(start))
    units = list(_stated(layer, "units")) or ["pixel"] * len(letters)
    if voxels and not has_scale(layer, letters) and start is None:  # its file knew them
        shown["scale"] = [voxels.get(axis, 1.0) for axis in letters]
        units = ["micrometer" if axis in voxels else unit for axis, unit in zip(letters, units)]
    return supported({**shown, "axis_labels": list(letters.lower()), "units": units, "colormap": layer.colormap.name})


def region_in_view(layer: Any, letters: str, position: tuple[float, ...]) -> tuple[slice, ...]:
    """Returns the part of a layer for a preview: the middle of what is in view, planes around the shown one, and one
    time and channel. `position` is the index that the viewer's sliders show."""
    parts = []
    for axis, letter in enumerate(letters):
        extent, most = data_of(layer).shape[axis], {"Z": _PREVIEW_PLANES, "Y": _PREVIEW_PIXELS, "X": _PREVIEW_PIXELS}
        low, high = (int(corner) for corner in layer.corner_pixels[:, axis])
        if letter in "YX" and high > low:
            low, high = max(0, low), min(extent, high + 1)
            middle, length = (low + high) // 2, min(high - low, most[letter])
        else:
            middle = extent // 2 if letter in "YX" else min(max(0, round(float(position[axis]))), extent - 1)
            length = min(extent, most.get(letter, 1))
        first = min(max(0, middle - length // 2), extent - length)
        parts.append(slice(first, first + length))
    return tuple(parts)
