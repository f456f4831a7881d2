# SPDX-License-Identifier: Apache-2.0
"""Reader and writer of TIFF and HDF5 that keep axes, voxel sizes with their unit, and names of channels."""

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import convolume

from ._layers import are_letters, has_scale, image_of, letters_of, supported, voxels_of

LayerData = tuple[Any, dict[str, Any], str]

_IN_MEMORY = 1 << 30  # bytes of a layer that are read at once; planes of larger ones are read when they are shown


def get_reader(path: str | list[str]) -> Callable[[Any], list[LayerData]] | None:
    """Returns the reader for a file, or None if convolume does not read it. Of HDF5, which napari itself does not read,
    the reader then says why."""
    if not isinstance(path, str):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", convolume.ConvolumeWarning)
            convolume.open(path)
    except convolume.Error:
        return read if Path(path).is_file() and Path(path).suffix in (".h5", ".hdf5") else None
    return read


def read(path: str) -> list[LayerData]:
    """Returns a layer for each channel of each image in a file."""
    first = convolume.open(path)
    others = (convolume.open(path, image=number) for number in range(first.images) if number != first.image)
    return [layer for image in (first, *others) for layer in _layers_of(image, path)]


def _layers_of(image: convolume.Image, path: str) -> list[LayerData]:
    letters = image.axes.replace("C", "")
    spacing = dict(zip((axis for axis in "ZYX" if axis in letters), image.spacing))
    scale = {axis: length for axis, length in spacing.items() if length is not None}
    units = dict.fromkeys(scale, "micrometer")
    if image.frame_interval and "T" in letters:
        scale["T"], units["T"] = image.frame_interval, "second"
    name = Path(path).name.partition(".")[0] + (f", {image.image_name}" if image.images > 1 else "")
    shown = {"scale": [scale.get(axis, 1.0) for axis in letters], "axis_labels": list(letters.lower()),
                       "units": [units.get(axis, "pixel") for axis in letters]}
    samples = image[...] if np.prod(image.shape) * image.dtype.itemsize <= _IN_MEMORY else image.to_dask(
        [extent if axis in "YX" else 1 for axis, extent in zip(image.axes, image.shape)])
    if "C" not in image.axes:
        channel = image.channel_names[0] if image.channel_names else ""
        own = {"name": channel or name, "metadata": {"convolume": {"file": os.path.abspath(path), "channel": channel}}}
        return [(samples, supported({**shown, **own}), "image")]
    layers = []
    channels = samples.shape[image.axes.index("C")]
    for number in range(channels):
        channel = image.channel_names[number] if image.channel_names else ""
        color = image.channel_colors[number] if image.channel_colors else None
        own = {"name": channel or f"{name}, channel {number}",
               "blending": "additive" if number else "translucent_no_depth",
               "metadata": {"convolume": {"file": os.path.abspath(path), "channel": channel}}}
        if color is not None:
            own["colormap"] = f"#{color:06x}"
        layers.append((np.take(samples, number, image.axes.index("C")), supported({**shown, **own}), "image"))
    return layers


def write(path: str, layers: list[LayerData]) -> list[str]:
    """Writes layers to a file as the channels of one image. The extension of `path` selects the format."""
    images = [_image_of(data, meta) for data, meta, _ in layers]
    origins = [meta.get("metadata", {}).get("convolume", {}) for _, meta, _ in layers]
    first, like = images[0], origins[0].get("file")
    given: dict[str, Any] = {"like": like if like and os.path.exists(like) else None, "overwrite": True,
                             "channel_names": _channel_names(layers, origins)}
    if len(images) == 1:
        convolume.save(path, first, spacing=first.spacing, **given)
        return [path]
    for image, (_, meta, _) in zip(images, layers):
        if (image.shape, image.axes, image.spacing) != (first.shape, first.axes, first.spacing) or "C" in image.axes:
            raise convolume.InvalidArgument(
                f"layers '{layers[0][1]['name']}' ({first.axes}, {first.shape}, {first.spacing} µm) and "
                f"'{meta['name']}' ({image.axes}, {image.shape}, {image.spacing} µm) cannot be channels of one file: "
                "these have equal axes, shapes and voxel sizes, and no axis of channels; save them one by one")
    place = 1 if first.axes[0] == "T" else 0
    joined = convolume.Image.of_array(np.stack([np.asarray(image) for image in images], place), spacing=first.spacing,
                                      axes=first.axes[:place] + "C" + first.axes[place:])
    convolume.save(path, joined, spacing=first.spacing, **given)
    return [path]


def _channel_names(layers: list[LayerData], origins: list[dict[str, str]]) -> list[str] | None:
    """Returns the names that the channels had in their file; else the names of layers, if these are several."""
    names = [origin.get("channel", "") for origin in origins]
    if len(names) > 1 and len(set(names)) < len(names) and not all("channel" in origin for origin in origins):
        return [meta["name"] for _, meta, _ in layers]
    return names if all(names) else None


def _image_of(data: Any, meta: dict[str, Any]) -> convolume.Image:
    """Returns the image of a layer, and warns of what is assumed or left out."""
    layer = SimpleNamespace(data=data, multiscale=meta.get("multiscale", False), metadata=meta.get("metadata", {}), **{
        name: meta[name] for name in ("scale", "units", "axis_labels") if name in meta})
    letters = letters_of(layer)
    ndim = (data[0] if layer.multiscale else data).ndim
    if meta.get("rgb") or ndim > 5:
        raise convolume.InvalidArgument(f"layer '{meta['name']}' has colors (RGB) or more than 5 axes: neither can be "
                                        "written; split it into layers")
    if letters is None or not are_letters(letters, layer):
        letters = "TCZYX"[-ndim:]
        warnings.warn(f"layer '{meta['name']}' does not name its axes by T, C, Z, Y, X: they are written as {letters}",
                      convolume.ConvolumeWarning, stacklevel=2)
    voxels = voxels_of(layer, letters)
    if not voxels and has_scale(layer, letters):
        warnings.warn(f"layer '{meta['name']}' has a scale without a unit of length: no voxel size is written; set its "
                      "units, such as 'um'", convolume.ConvolumeWarning, stacklevel=2)
    return image_of(layer, letters, voxels)
