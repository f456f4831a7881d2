# SPDX-License-Identifier: Apache-2.0
"""OME-Zarr images and arrays, opened as readers of boxes."""

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from . import _core
from ._arrays import readable
from ._blocks import Triple
from ._errors import BadData, InputNotFound, InvalidArgument, option
from ._ome_metadata import AXES, Level, Multiscale, multiscale_of, no_image_sentence
from ._zarr_nodes import MANIFEST, Node, node_at
from ._zarr_store import Documents, Location, ZarrArray

_FOLDERS_ABOVE = 3  # number of parent folders in which an array's image is searched


def _image_of_array(location: Location) -> tuple[Multiscale, Level] | None:
    """Returns the image, from a folder above, that has an array as a level, and the level; None if there is none."""
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
    """Reads boxes of one array, with the interface of `_core.Reader`."""

    def __init__(self, array: ZarrArray, image: Multiscale, level: Level, document: dict[str, Any]) -> None:
        self.array = array
        self.image = image
        self.document = document
        """The JSON document with the array's metadata."""
        self.axes = "".join(axis for axis in AXES if axis in image.axes)
        self._stored_axes = image.axes
        extents = dict(zip(image.axes, array.shape))
        try:
            dtype = readable(np.empty(0, array.dtype_name), str(array.location)).dtype
        except TypeError:
            raise BadData(f"{array.location} holds samples of type {array.dtype_name}, which are not read") from None
        metadata = _core.ImageMetadata()
        metadata.format = "OME-Zarr"
        metadata.frames, metadata.channels = extents.get("T", 1), extents.get("C", 1)
        metadata.shape = extents.get("Z", 1), extents.get("Y", 1), extents.get("X", 1)
        metadata.type, metadata.axes = dtype, self.axes
        spacing = image.spacing(level)
        metadata.spacing = tuple(spacing.get(axis) for axis in "ZYX")
        metadata.unit = "um" if spacing else ""
        metadata.frame_interval = image.frame_interval(level)
        names = image.channel_names()
        metadata.channel_names = names if len(names) == metadata.channels else []
        colors = image.channel_colors()
        metadata.channel_colors = colors if len(colors) == metadata.channels else []
        metadata.images, metadata.image, metadata.image_name = image.images, image.number, image.name
        metadata.notes = image.notes
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

    @property
    def piece(self) -> Triple:
        """Extents of a chunk."""
        extents = dict(zip(self._stored_axes, self.array.chunks))
        return extents.get("Z", 1), extents.get("Y", 1), extents.get("X", 1)

    def check_unchanged(self) -> None:
        self.array.check_there()


def open_zarr(path: str, axes: str = "", image: int | str | None = None, level: int | None = None,
              missing: str = "fill") -> ZarrReader:
    """Opens an image or an array of a store. `image` is the name or number of one of a group's images."""
    if missing not in ("fill", "error"):
        raise InvalidArgument(f"missing is '{missing}': choose fill or error")
    location = Location.of(path)
    node = node_at(location)
    if node is None:
        raise InputNotFound(f"{location}: there is no Zarr group or array")
    if node.is_array:
        if level is not None:
            raise InvalidArgument(f"{location} is one array: name its image to choose a level")
        if image is not None:
            raise InvalidArgument(f"{location} is one array: name the group of its image to choose an image")
        array = ZarrArray.open(location, node.zarr_format, missing)
        found = None if axes else _image_of_array(location)
        described, chosen = found or _without_metadata(array, node, axes)
    else:
        found_image = multiscale_of(node.attributes, str(location), image, axes)
        if found_image is None:
            _refuse_group(location, node)
        described = found_image
        number = level or 0
        if not 0 <= number < len(described.levels):
            raise InvalidArgument(f"{location} has the levels 0 to {len(described.levels) - 1}, not {number}")
        chosen = described.levels[number]
        inner = node_at(location.child(chosen.path))
        if inner is None or not inner.is_array:
            raise BadData(f"{location}: level {number}, '{chosen.path}', is not there")
        node = inner
        array = ZarrArray.open(inner.location, inner.zarr_format, missing)
        if axes:
            _checked_axes(axes, len(array.shape), location)
    if len(described.axes) != len(array.shape) or len(chosen.scale) != len(array.shape):
        raise BadData(f"{array.location} has {len(array.shape)} dimensions and its metadata name "
                      f"{len(described.axes)} axes")
    if not {"Y", "X"} <= set(described.axes) and not axes:
        raise BadData(f"{array.location} has the axes {described.axes}: an image has y and x; say what the axes mean "
                      f"by {option('axes', '…')}")
    return ZarrReader(array, described, chosen, node.document)


def _refuse_group(location: Location, node: Node) -> NoReturn:
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
    """Describes an array that belongs to no image. Its axes are those of its names, or the last ones of TCZYX."""
    dimensions = len(array.shape)
    notes: list[str] = []
    names = [str(name).upper() for name in node.document.get("dimension_names") or []]
    if axes:
        axes = _checked_axes(axes, dimensions, array.location)
    elif len(names) == dimensions and set(names) <= set(AXES) and len(set(names)) == dimensions:
        axes = "".join(names)
    elif 2 <= dimensions <= 5:
        axes = AXES[5 - dimensions:]
        if dimensions > 2:
            notes.append(f"the array does not name its axes: {', '.join(axes.lower())} are assumed; "
                         f"{option('axes', '…')} decides")
    else:
        raise BadData(f"{array.location} has {dimensions} dimensions: an image has 2 to 5")
    level = Level("", [1.0] * dimensions, [0.0] * dimensions, has_scale=False)
    return Multiscale(axes, [None] * dimensions, [level], notes=notes), level
