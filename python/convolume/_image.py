# SPDX-License-Identifier: Apache-2.0
"""An image with its axes and voxel size, in memory or in a file."""

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _core, _xarray
from ._argument_types import names_wrong_types
from ._arrays import TYPES, storable
from ._errors import InvalidArgument, errors_name, optional_module
from ._stored_array import Picked, _StoredArray, basic_index

Spacing = tuple[float | None, ...]
_AXES = "TCZYX"


class Image(_StoredArray):
    """An image with its axes and voxel size. Samples of a file are read when they are indexed.

    ``np.asarray(image)`` reads all samples, ``image[…]`` a part, with the indices of a NumPy array. The axes are a
    selection of T, C, Z, Y, X in this order. Slices and numbers give an image with the axes that are left and their
    voxel size, and arithmetic that keeps the shape keeps them: ``psf / psf.sum()`` is an image. Methods of arrays, such
    as ``image.ravel()``, are those of the samples. Images can be pickled; one of a file opens the file again.
    """

    _called = "an Image"

    def __init__(self, reader: Any, metadata: Any, array: np.ndarray | None, axes: str, name: str = "",
                 reopen: "Callable[[], Image] | None" = None) -> None:
        self._reader = reader
        self._reopen = reopen
        self._name = name
        self._metadata = metadata
        self._array = array
        self._axes = axes

    @classmethod
    @names_wrong_types
    def of_array(cls, array: Any, *, axes: str | None = None, spacing: Sequence[float | None] | None = None,
                 channel_names: Sequence[str] = ()) -> "Image":
        """Returns an image in memory.

        Parameters
        ----------
        array : array of 1 to 5 dimensions
            Integers of 64 bits become int32 or uint32, and are refused if these do not hold them.
        axes : str, optional
            One letter of T, C, Z, Y, X for each dimension, in this order. By default those of an Image, or the
            dimensions of an xarray.DataArray, which are brought into this order, else the last letters.
        spacing : sequence, optional
            Edge lengths of a voxel in µm, along the existing ones of z, y and x. By default those of an Image, or of
            the coordinates of an xarray.DataArray.
        channel_names : sequence of str, optional
            A name for each channel. By default those of an Image.

        Raises
        ------
        InvalidArgument
            Axes, spacing or names that do not fit the array (a ValueError).

        Examples
        --------
        >>> import numpy as np, convolume
        >>> image = convolume.Image.of_array(np.zeros((2, 4, 5)), axes="CYX", spacing=(0.1, 0.1))
        >>> image.axes, image.spacing
        ('CYX', (0.1, 0.1))
        """
        values = storable(array, "the image")
        if not 1 <= values.ndim <= len(_AXES):
            raise InvalidArgument(f"an image has 1 to {len(_AXES)} dimensions, and this array {values.ndim}: give an "
                                  "array of samples")
        voxels: dict[str, float] = {}
        metadata = _core.ImageMetadata()
        if isinstance(array, Image) and axes in (None, "", array.axes):
            axes, metadata = array.axes, array._metadata.copy()
        if _xarray.is_data_array(array):
            named = _xarray.letters_of(array)
            voxels = _xarray.voxels_of(array)
            if not axes and "?" not in named:
                order = _xarray.order_of_axes(array)
                axes, values = "".join(named[axis] for axis in order), values.transpose(order)
        axes = axes or _AXES[len(_AXES) - values.ndim:]
        if len(axes) != values.ndim or not set(axes) <= set(_AXES) or sorted(axes, key=_AXES.index) != list(axes):
            raise InvalidArgument(f"axes '{axes}' do not fit an array of {values.ndim} dimensions: name each by one of "
                                  "T, C, Z, Y, X, in that order")
        extents = dict(zip(axes, values.shape))
        metadata.frames, metadata.channels = extents.get("T", 1), extents.get("C", 1)
        metadata.shape = extents.get("Z", 1), extents.get("Y", 1), extents.get("X", 1)
        metadata.type, metadata.axes = values.dtype, axes
        if len(channel_names):
            set_channel_names(metadata, channel_names)
        if spacing is None and voxels:
            spacing = [voxels.get(axis) for axis in "ZYX" if axis in axes]
        if spacing is not None:
            set_spacing(metadata, axes, spacing)
        return cls(None, metadata, values, axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes, in their order."""
        extents = dict(zip(_AXES, (self._metadata.frames, self._metadata.channels, *self._metadata.shape)))
        return tuple(extents[axis] for axis in self._axes)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the stored samples."""
        dtype: np.dtype[Any] = self._metadata.type
        return dtype

    @property
    def axes(self) -> str:
        """One letter of T, C, Z, Y, X for each dimension."""
        return self._axes

    @property
    def spacing(self) -> Spacing:
        """Edge lengths of a voxel in µm, along the existing ones of z, y, x; None if the file does not say."""
        return tuple(length for axis, length in zip("ZYX", self._metadata.spacing) if axis in self._axes)

    @property
    def translation(self) -> tuple[float, ...]:
        """Position of the first sample in µm, along the existing ones of z, y, x. Only OME-Zarr has one; it is 0
        else."""
        shifts = getattr(self._reader, "translation", {})
        return tuple(float(shifts.get(axis, 0.0)) for axis in "ZYX" if axis in self._axes)

    @property
    def channel_names(self) -> list[str]:
        """A name for each channel; empty if the file has none."""
        return list(self._metadata.channel_names)

    @property
    def channel_colors(self) -> list[int | None]:
        """A display color, 0xRRGGBB, or None for each channel; empty if the file has none."""
        return list(self._metadata.channel_colors)

    @property
    def frame_interval(self) -> float | None:
        """Seconds from one time to the next; None if the file does not say."""
        interval: float | None = self._metadata.frame_interval
        return interval

    @property
    def notes(self) -> list[str]:
        """Assumptions and omissions of the reader, one sentence each, such as axes that the file does not name.
        :func:`open` warns of each."""
        return list(self._metadata.notes)

    @property
    def images(self) -> int:
        """Number of images in the file."""
        return int(self._metadata.images)

    @property
    def image(self) -> int:
        """Number of this image among those of the file, from 0."""
        return int(self._metadata.image)

    @property
    def image_name(self) -> str:
        """The file's name for this image; may be empty."""
        return str(self._metadata.image_name)

    @property
    def scaling(self) -> tuple[float, float] | None:
        """(scale, offset) if the file says that samples stand for sample * scale + offset, else None. Indexing gives
        samples as they are stored."""
        scaling: tuple[float, float] | None = self._metadata.scaling
        return scaling

    def __getitem__(self, key: Any) -> Any:
        """Returns the part that numbers and slices select, as an Image with the axes that are left and their voxel
        size. In a file, only the box around it is read. Numbers for all axes give a sample, and other indices of NumPy
        an array."""
        picked = basic_index(key, self.shape, f"the image has {self.ndim} axes ({self._axes})")
        if picked is None:
            if self._array is None:
                raise IndexError("an image in a file is indexed by numbers and slices: use np.asarray(image) for "
                                 "others")
            try:
                return self._array[key]
            except (TypeError, ValueError, MemoryError) as error:
                raise IndexError(f"no index of an image: {error}") from None
        values = self._part(key, picked)
        kept = [isinstance(one, range) for one in picked]
        if not any(kept):
            return values
        axes = "".join(axis for axis, is_kept in zip(self._axes, kept) if is_kept)
        return Image(None, self._metadata_of(picked, axes), values, axes, self._name)

    def _metadata_of(self, picked: list[Picked], axes: str) -> Any:
        """Returns the metadata of a part of the image."""
        metadata = self._metadata.copy()
        by_axis = dict(zip(self._axes, picked))
        extents = {axis: len(one) for axis, one in by_axis.items() if isinstance(one, range)}
        metadata.axes = axes
        metadata.frames, metadata.channels = extents.get("T", 1), extents.get("C", 1)
        metadata.shape = extents.get("Z", 1), extents.get("Y", 1), extents.get("X", 1)
        if all(one == range(extent) for one, extent in zip(picked, self.shape)):
            return metadata
        metadata.forget_planes()
        steps = {axis: abs(one.step) for axis, one in by_axis.items() if isinstance(one, range)}
        metadata.spacing = tuple(length * steps[axis] if length is not None and axis in steps else None
                                 for axis, length in zip("ZYX", metadata.spacing))
        if metadata.frame_interval is not None:
            metadata.frame_interval = metadata.frame_interval * steps["T"] if "T" in steps else None
        channels = by_axis.get("C", range(1))
        numbers = channels if isinstance(channels, range) else [channels]
        for name in ("channel_names", "channel_colors"):
            of_all = getattr(metadata, name)
            setattr(metadata, name, [of_all[c] for c in numbers] if of_all else [])
        return metadata

    def _read(self, ranges: list[range]) -> np.ndarray:
        result = np.empty([len(one) for one in ranges], self.dtype)
        if result.size == 0:
            return result
        by_axis = dict(zip(self._axes, ranges))
        frames, channels = by_axis.get("T", range(1)), by_axis.get("C", range(1))
        z, y, x = (by_axis.get(axis, range(1)) for axis in "ZYX")
        box = (z.start, z.stop, y.start, y.stop, x.start, x.stop)
        target = result.reshape(len(frames), len(channels), len(z), len(y), len(x))
        with errors_name(self._name):
            for i, t in enumerate(frames):
                for j, c in enumerate(channels):
                    self._reader.read_box(t, c, box, target[i, j])
        return result

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Computes with the samples. The result is an Image if it has the shape of the images that enter, and they
        agree in axes and voxel size; otherwise it is an array."""
        result = super().__array_ufunc__(ufunc, method, *inputs, **options)
        images = [one for one in inputs if isinstance(one, Image)]
        if (method != "__call__" or "out" in options or not isinstance(result, np.ndarray) or result.dtype not in TYPES
                or any((one.shape, one.axes, one.spacing) != (result.shape, images[0].axes, images[0].spacing)
                       for one in images)):
            return result
        metadata = images[0]._metadata.copy()
        metadata.type = result.dtype
        return Image(None, metadata, result, images[0].axes)

    def __reduce__(self) -> Any:
        return super().__reduce__() if self._reopen is None else (self._reopen, ())

    def to_dask(self, chunks: Any = "auto") -> Any:
        """Returns the image as a dask array, which reads its blocks when they are computed."""
        dask = optional_module("dask.array", "to_dask() needs dask: pip install 'dask[array]'")
        return dask.from_array(self, chunks=chunks, name=False, asarray=False, fancy=False, lock=False)

    def __repr__(self) -> str:
        return f"<Image {'×'.join(map(str, self.shape))} {self._axes}, {self.dtype}, spacing {self.spacing} µm>"


def set_spacing(metadata: Any, axes: str, spacing: Sequence[float | None]) -> None:
    """Sets the voxel size of an image's metadata, in µm along the existing ones of z, y, x."""
    spatial = [axis for axis in "ZYX" if axis in axes]
    if isinstance(spacing, str) or not hasattr(spacing, "__len__"):
        raise InvalidArgument(f"spacing is {spacing!r}: give a length in µm for each of {', '.join(spatial).lower()}")
    if len(spacing) != len(spatial):
        raise InvalidArgument(f"spacing has {len(spacing)} numbers for the axes {''.join(spatial)}")
    if any(length is not None and not isinstance(length, numbers.Real) for length in spacing):
        raise InvalidArgument(f"spacing {tuple(spacing)} has lengths that are no numbers: give µm, or None where one "
                              "is not known")
    if any(length is not None and not 0 < length < math.inf for length in spacing):
        raise InvalidArgument(f"spacing {tuple(spacing)} has lengths that are not positive: give µm, or None where one "
                              "is not known")
    lengths = dict(zip(spatial, spacing))
    metadata.spacing = tuple(lengths.get(axis) for axis in "ZYX")
    metadata.unit = "um"


def set_channel_names(metadata: Any, names: Sequence[str]) -> None:
    """Sets the channel names of an image's metadata: one for each channel, or none."""
    if isinstance(names, str):
        raise InvalidArgument(f"channel_names is {names!r}: give a list of names, one for each channel")
    if len(names) not in (0, metadata.channels):
        raise InvalidArgument(f"{len(names)} channel names for {metadata.channels} channels: give one for each, and "
                              "name the axis of channels by C in axes")
    metadata.channel_names = [str(name) for name in names]
