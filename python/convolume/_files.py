# SPDX-License-Identifier: Apache-2.0
"""Images in files (TIFF, HDF5, NPY, OME-Zarr), read when their samples are asked for."""

import builtins
import importlib
import os
from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal

import numpy as np

from . import _core
from ._arrays import TYPES, readable
from ._errors import InvalidArgument, Unavailable
from ._machine import free_host_bytes
from ._zarr_nodes import is_zarr
from ._zarr_reader import open_zarr
from ._zarr_save import save_zarr
from ._zarr_target import Layout

Path = str | PathLike[str]
Spacing = tuple[float | None, ...]
_AXES = "TCZYX"


class Image:
    """An image with its axes and voxel size. Samples are read from the file when they are asked for.

    ``np.asarray(image)`` is all of it, ``image[…]`` a part, as of a NumPy array. Its axes are those of T, C, Z, Y, X
    that the file has, in that order.
    """

    def __init__(self, reader: Any, metadata: Any, array: np.ndarray | None, axes: str) -> None:
        self._reader = reader
        self._metadata = metadata
        self._array = array
        self._axes = axes

    @classmethod
    def of_array(cls, array: Any, *, axes: str | None = None, spacing: Sequence[float | None] | None = None,
                 channel_names: Sequence[str] = ()) -> "Image":
        """An image in memory.

        Parameters
        ----------
        array : array of 1 to 5 dimensions
        axes : str, optional
            One letter of T, C, Z, Y, X for each dimension, in that order; the last ones where not given.
        spacing : sequence, optional
            Edge lengths of a voxel in µm, for z, y and x of those that there are.
        """
        values = readable(array, "the image")
        axes = axes or _AXES[len(_AXES) - values.ndim:]
        if len(axes) != values.ndim or not set(axes) <= set(_AXES) or sorted(axes, key=_AXES.index) != list(axes):
            raise InvalidArgument(f"axes '{axes}' do not fit an array of {values.ndim} dimensions: name each by one of "
                                  "T, C, Z, Y, X, in that order")
        metadata = _core.ImageMetadata()
        extents = dict(zip(axes, values.shape))
        metadata.frames, metadata.channels = extents.get("T", 1), extents.get("C", 1)
        metadata.shape = extents.get("Z", 1), extents.get("Y", 1), extents.get("X", 1)
        metadata.type, metadata.axes = values.dtype.name, axes
        metadata.channel_names = list(channel_names)
        if spacing is not None:
            _set_spacing(metadata, axes, spacing)
        return cls(None, metadata, values, axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes."""
        extents = dict(zip(_AXES, (self._metadata.frames, self._metadata.channels, *self._metadata.shape)))
        return tuple(extents[axis] for axis in self._axes)

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self._axes)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the samples as they are stored."""
        return np.dtype(str(self._metadata.type))

    @property
    def axes(self) -> str:
        """One letter of T, C, Z, Y, X for each dimension."""
        return self._axes

    @property
    def spacing(self) -> Spacing:
        """Edge lengths of a voxel in µm, for those of z, y, x that there are; None where the file does not say."""
        return tuple(length for axis, length in zip("ZYX", self._metadata.spacing) if axis in self._axes)

    @property
    def translation(self) -> tuple[float, ...]:
        """Of the first sample in µm, for those of z, y, x that there are: of OME-Zarr, 0 of other files."""
        shifts = getattr(self._reader, "translation", {})
        return tuple(float(shifts.get(axis, 0.0)) for axis in "ZYX" if axis in self._axes)

    @property
    def channel_names(self) -> list[str]:
        """One for each channel; empty where the file has none."""
        return list(self._metadata.channel_names)

    @property
    def scaling(self) -> tuple[float, float] | None:
        """(scale, offset) where samples stand for sample * scale + offset. Samples are given as they are stored."""
        scaling: tuple[float, float] | None = self._metadata.scaling
        return scaling

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> np.ndarray:
        """The samples that numbers and slices choose. Of a file, only the box around them is read."""
        if self._array is not None:
            return np.asarray(self._array[key])
        ranges, then = self._ranges(key)
        return np.asarray(self._read(ranges)[then])

    def _ranges(self, key: Any) -> tuple[list[range], tuple[Any, ...]]:
        """What to read of each axis, and how to index that: NumPy's basic indexing, which a reader can do in part."""
        keys = list(key) if isinstance(key, tuple) else [key]
        if sum(one is Ellipsis for one in keys) > 1:
            raise IndexError("an index can only have a single ellipsis ('...')")
        if Ellipsis in [one for one in keys if one is Ellipsis]:
            place = next(i for i, one in enumerate(keys) if one is Ellipsis)
            keys[place:place + 1] = [slice(None)] * (self.ndim - len(keys) + 1)
        keys += [slice(None)] * (self.ndim - len(keys))
        if len(keys) > self.ndim:
            raise IndexError(f"too many indices: the image has {self.ndim} axes ({self._axes})")
        ranges: list[range] = []
        then: list[Any] = []
        for one, extent in zip(keys, self.shape):
            if isinstance(one, slice):
                picked = range(*one.indices(extent))
                low, high = (min(picked[0], picked[-1]), max(picked[0], picked[-1]) + 1) if len(picked) else (0, 0)
                ranges.append(range(low, high))
                begin = picked.start - low
                end = begin + len(picked) * picked.step
                then.append(slice(begin, end if end >= 0 else None, picked.step) if len(picked) else slice(0, 0))
            elif isinstance(one, (int, np.integer)):
                index = int(one) + extent * (one < 0)
                if not 0 <= index < extent:
                    raise IndexError(f"index {one} is out of bounds for an axis of {extent}")
                ranges.append(range(index, index + 1))
                then.append(0)
            else:
                raise IndexError("an image in a file is indexed by numbers and slices: use np.asarray(image) for "
                                 "others")
        return ranges, tuple(then)

    def _read(self, ranges: list[range]) -> np.ndarray:
        result = np.empty([len(one) for one in ranges], self.dtype)
        if result.size == 0:
            return result
        by_axis = dict(zip(self._axes, ranges))
        frames, channels = by_axis.get("T", range(1)), by_axis.get("C", range(1))
        z, y, x = (by_axis.get(axis, range(1)) for axis in "ZYX")
        box = (z.start, z.stop, y.start, y.stop, x.start, x.stop)
        target = result.reshape(len(frames), len(channels), len(z), len(y), len(x))
        for i, t in enumerate(frames):
            for j, c in enumerate(channels):
                self._reader.read_box(t, c, box, target[i, j])
        return result

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self._array is None and copy is False:
            raise ValueError("samples of a file are read into a new array: copy=False cannot be met")
        values = self[...] if self._array is None else self._array
        if dtype is not None and np.dtype(dtype) != values.dtype:
            return values.astype(dtype)
        return values.copy() if copy and self._array is not None else values

    def to_dask(self, chunks: Any = "auto") -> Any:
        """As a dask array, which reads its blocks when they are computed."""
        try:
            dask: Any = importlib.import_module("dask.array")
        except ImportError:
            raise Unavailable("to_dask() needs dask: pip install 'dask[array]'") from None
        return dask.from_array(self, chunks=chunks, asarray=False, fancy=False, lock=False)

    def __repr__(self) -> str:
        return f"<Image {'×'.join(map(str, self.shape))} {self._axes}, {self.dtype}, spacing {self.spacing} µm>"


def _set_spacing(metadata: Any, axes: str, spacing: Sequence[float | None]) -> None:
    spatial = [axis for axis in "ZYX" if axis in axes]
    if len(spacing) != len(spatial):
        raise InvalidArgument(f"spacing has {len(spacing)} numbers for the axes {''.join(spatial)}")
    lengths = dict(zip(spatial, spacing))
    metadata.spacing = tuple(lengths.get(axis) for axis in "ZYX")
    metadata.unit = "um"


def _axes_of(metadata: Any) -> str:
    """Those that the image has: x and y always, others where the file names them or they are longer than 1."""
    extents = dict(zip(_AXES, (metadata.frames, metadata.channels, *metadata.shape)))
    return "".join(axis for axis in _AXES if axis in "YX" or extents[axis] > 1 or axis in metadata.axes and axis == "Z")


def open(path: Path, *, axes: str = "", level: int | None = None,  # noqa: A001 (the name that people look for)
         missing: Literal["fill", "error"] = "fill") -> Image:
    """An image in a file: TIFF (plain, ImageJ, OME), HDF5 (``"file.h5:/dataset"``), NPY, or OME-Zarr.

    Parameters
    ----------
    path : str or path
        Of OME-Zarr also a URL (https://, s3://, gs://). ``"image.zarr/1"`` is its level 1.
    axes : str, optional
        What the dimensions of the file mean, such as "TYX", instead of what it says.
    level : int, optional
        Of OME-Zarr: 0 is the finest.
    missing : {"fill", "error"}
        Of OME-Zarr: chunks that are not stored are read as the fill value, as the format defines, or are an error.

    Raises
    ------
    InputNotFound
        There is no such file (a FileNotFoundError).
    BadData
        The file is damaged, or holds what is not read (a ValueError).
    Unavailable
        This build does not read the format (a RuntimeError).

    Examples
    --------
    >>> import numpy as np, convolume, tempfile, os
    >>> name = os.path.join(tempfile.mkdtemp(), "a.tif")
    >>> convolume.save(name, np.zeros((3, 4, 5), np.uint16), spacing=(0.5, 0.1, 0.1))
    >>> image = convolume.open(name)
    >>> image.shape, image.axes, image.spacing
    ((3, 4, 5), 'ZYX', (0.5, 0.1, 0.1))
    >>> image[1, :, ::2].shape
    (4, 3)
    """
    name = os.fspath(path)
    if is_zarr(name):
        zarr = open_zarr(name, axes, level, missing)
        return Image(zarr, zarr.metadata, None, zarr.axes)
    if level is not None:
        raise InvalidArgument(f"{name} is no OME-Zarr image: it has no levels")
    try:
        reader = _core.Reader(name, axes)
    except OSError as error:
        error.filename = name
        raise
    metadata = reader.metadata
    return Image(reader, metadata, None, _axes_of(metadata))


def save(path: Path, image: Any, *, like: Image | None = None, axes: str | None = None,
         spacing: Sequence[float | None] | None = None, compression: str | None = None, overwrite: bool = False,
         zarr_format: Literal[2, 3] = 3, chunks: Sequence[int] | None = None, shards: Sequence[int] | None = None,
         levels: int | None = None) -> None:
    """Writes an image. The extension decides: .tif, .ome.tif, .h5 (``"file.h5:/dataset"``), .npy, .zarr.

    The file is written beside and gets its name when it is complete. In object stores (s3://) the metadata come last.

    Parameters
    ----------
    path : str or path
    image : Image or array
    like : Image, optional
        Whose metadata go on: channel names and colors, frame interval, OME-XML, and spacing where none is given.
    axes, spacing
        Of an array, as of :meth:`Image.of_array`.
    compression : {"none", "deflate", "lzw", "zstd", "packbits"}, optional
        None by default; of OME-Zarr one of "zstd" (the default), "none", "gzip", "blosc".
    overwrite : bool
        Of OME-Zarr only the image is replaced: labels and other arrays beside it stay.
    zarr_format : {3, 2}
        OME-Zarr 0.5, with shards, or 0.4, without.
    chunks, shards : (z, y, x), optional
        Of OME-Zarr: what is compressed at once (16 to 64 planes of 256 × 256 by default), and what one file holds
        (whole chunks, up to 1 GiB).
    levels : int, optional
        Of OME-Zarr: how many, each with half the samples along an axis, by mean. By default until the largest extent
        is 256.

    Raises
    ------
    OutputExists
        The file exists and `overwrite` is not set (a FileExistsError).
    CannotCreate, FileFailure
        It cannot be created, or written to its end (OSErrors).
    """
    name = os.fspath(path)
    source = image if isinstance(image, Image) else Image.of_array(image, axes=axes)
    if source.dtype not in TYPES:
        raise InvalidArgument(f"images of type {source.dtype} are not written")
    metadata = (like or source)._metadata.copy()
    for field in ("frames", "channels", "shape", "type", "axes"):
        setattr(metadata, field, getattr(source._metadata, field))
    if len(metadata.channel_names) != metadata.channels:
        metadata.channel_names = []
    if len(metadata.channel_colors) != metadata.channels:
        metadata.channel_colors = []
    if spacing is not None:
        _set_spacing(metadata, source.axes, spacing)
    if is_zarr(name):
        layout = Layout(zarr_format, chunks, shards, compression or "zstd", levels, free_host_bytes() // 16)
        described = Image(source._reader, metadata, source._array, source.axes)
        save_zarr(name, described, like, layout, overwrite)
        return
    if chunks is not None or shards is not None or levels is not None:
        raise InvalidArgument(f"{name} is no OME-Zarr image: it has no chunks, shards or levels to choose")
    try:
        writer = _core.Writer(name, metadata, overwrite, compression or "none")
        _write(writer, source)
        writer.commit()
    except OSError as error:
        error.filename = name
        raise


_PLANES_BYTES = 256 << 20  # that are read from a source at a time


def _write(writer: Any, source: Image) -> None:
    extents = (source._metadata.frames, source._metadata.channels, *source._metadata.shape)
    frames, channels, depth, height, width = extents
    planes = max(1, _PLANES_BYTES // max(1, height * width * source.dtype.itemsize))
    for t in range(frames):
        for c in range(channels):
            for z in range(0, depth, planes):
                end = min(depth, z + planes)
                parts: dict[str, builtins.slice | int] = {"T": t, "C": c, "Z": slice(z, end)}
                values = source[tuple(parts.get(axis, slice(None)) for axis in source.axes)]
                writer.write_box(t, c, (z, end, 0, height, 0, width), values.reshape(end - z, height, width))
