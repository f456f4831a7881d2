# SPDX-License-Identifier: Apache-2.0
"""Images in files (TIFF, HDF5, NPY, MRC, OME-Zarr). Their samples are read when they are indexed."""

import functools
import os
from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, TypedDict, Unpack

from . import _core
from ._argument_types import given_flag, names_wrong_types
from ._arrays import TYPES, readable
from ._block_samples import read_box
from ._blocks import Blocks
from ._errors import InvalidArgument, errors_name, warn
from ._image import Image, set_channel_names, set_spacing
from ._labels import letters_of
from ._ome_metadata import AXES
from ._options import defaults_of, with_keywords
from ._output_names import refuse_input_as_output
from ._zarr_nodes import is_zarr
from ._zarr_reader import open_zarr
from ._zarr_save import save_zarr
from ._zarr_store import Location
from ._zarr_target import Layout

Path = str | PathLike[str]


def axes_of(metadata: Any) -> str:
    """Returns the axes of an image: always y and x, z if the file names it, and all that are longer than 1."""
    extents = dict(zip(AXES, (metadata.frames, metadata.channels, *metadata.shape)))
    return "".join(axis for axis in AXES if axis in "YX" or extents[axis] > 1 or axis in metadata.axes and axis == "Z")


@names_wrong_types
def open(path: Path, *, axes: str = "", image: int | str | None = None,  # noqa: A001 (the usual name)
         level: int | None = None, missing: Literal["fill", "error"] = "fill", stack: str = "") -> Image:
    """Opens an image in a file: TIFF (plain, ImageJ, OME), HDF5 (``"file.h5:/dataset"``), NPY, MRC, or OME-Zarr.

    Parameters
    ----------
    path : str or path
        Name of the file. OME-Zarr may also be a URL (https://, s3://, gs://), and ``"image.zarr/1"`` is its level 1. A
        template such as ``"img_t{t}_c{c}_z{z}.tif"`` reads several files as one image.
    axes : str, optional
        Meaning of the file's dimensions, such as "TYX", in place of the file's own description.
    image : int or str, optional
        Number from 0 or name of the image, in a file that holds several. The first one by default.
    level : int, optional
        For OME-Zarr: level of the pyramid. 0 is the finest.
    missing : {"fill", "error"}
        For OME-Zarr: chunks that are not stored are read as the fill value, as the format defines, or are an error.
    stack : {"", "z", "t", "c"}
        Read all images of a folder, or of a pattern such as ``"series/z*.tif"``, as the planes, times or channels of
        one image, in the order of the numbers in their names.

    Returns
    -------
    Image
        Axes are a selection of T, C, Z, Y, X in this order, ``spacing`` is in µm. ``notes`` has the assumptions of the
        reader, each of which is also a :class:`ConvolumeWarning`. So is ``scaling``, as samples are read as stored.

    Raises
    ------
    InvalidArgument
        There is no such image or level, or the axes do not fit (a ValueError).
    InputNotFound
        There is no such file (a FileNotFoundError).
    BadData
        The file is damaged, or holds data that convolume does not read (a ValueError).
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
    opened = open_quietly(path, axes=axes, image=image, level=level, missing=missing, stack=stack)
    warn_of_notes(opened, os.fspath(path))
    return opened


def warn_of_notes(image: Image, name: str) -> None:
    """Issues a warning for each note of an image, and one if its file scales the samples."""
    for sentence in _core.input_warnings(name, image._metadata):
        warn(sentence)


def open_quietly(path: Path, *, axes: str = "", image: int | str | None = None, level: int | None = None,
                 missing: Literal["fill", "error"] = "fill", stack: str = "") -> Image:
    """Opens an image as :func:`open` does, but without warnings."""
    name = os.fspath(path)
    place = name if "://" in name else os.path.abspath(name)
    reopen = functools.partial(open_quietly, place, axes=axes, image=image, level=level, missing=missing)
    with errors_name(name):
        if is_zarr(name):
            if stack:
                raise InvalidArgument(f"{name} is an OME-Zarr image, and stack is for several files; leave it out")
            zarr = open_zarr(name, axes, image, level, missing)
            return Image(zarr, zarr.metadata, None, zarr.axes, name, reopen)
        if level is not None:
            raise InvalidArgument(f"{name} is no OME-Zarr image: it has no levels")
        reader = _core.Reader(name, axes, "" if image is None else str(image), stack)
    metadata = reader.metadata
    return Image(reader, metadata, None, axes_of(metadata), name, reopen)


class SaveKeywords(TypedDict, total=False):
    """Keywords of :func:`save`."""

    like: Image | Path | None
    axes: str | None
    spacing: Sequence[float | None] | None
    compression: str | None
    overwrite: bool
    zarr_format: Literal[2, 3]
    chunks: Sequence[int] | None
    shards: Sequence[int] | None
    levels: int | None
    channel_names: Sequence[str] | None


@with_keywords(SaveKeywords, defaults_of(SaveKeywords, overwrite=False, zarr_format=3))
def save(path: Path, image: Any, **options: Unpack[SaveKeywords]) -> None:
    """Writes an image to a file. The extension selects the format: .tif, .ome.tif, .h5 (``"file.h5:/dataset"``), .npy,
    .mrc, .zarr.

    The file has a temporary name until it is complete. In object stores (s3://) the metadata are written last.

    Parameters
    ----------
    path : str or path
        Name of the file. OME-Zarr may also be a URL (s3://, gs://).
    image : Image or array
        Array of 1 to 5 dimensions, the last ones of T, C, Z, Y, X unless `axes` names others. Integers of 64 bits are
        saved as int32 or uint32.
    like : Image, str or path, optional
        Source of metadata, an image or the name of its file: axes of an array with as many that names none, channel
        names and colors, frame interval, OME-XML, and spacing if none is given.
    axes, spacing
        For an array, see :meth:`Image.of_array`.
    channel_names : sequence of str, optional
        A name for each channel, in place of those of `image` or `like`.
    compression : {"none", "deflate", "lzw", "zstd", "packbits"}, optional
        "none" by default. OME-Zarr takes one of "zstd" (its default), "none", "gzip", "blosc".
    overwrite : bool
        Replace a file that exists. A dataset is added to an HDF5 file without it (``"file.h5:/name"``), and replaced
        with it; the rest of the file stays. In OME-Zarr only the image is replaced: labels and other arrays beside it
        stay.
    zarr_format : {3, 2}
        3 is OME-Zarr 0.5, with shards; 2 is OME-Zarr 0.4, without.
    chunks, shards : (z, y, x), optional
        For OME-Zarr: extents of the chunks that are compressed together (by default 16 to 64 planes of 256 × 256), and
        of the shard in one file (whole chunks, up to 1 GiB).
    levels : int, optional
        For OME-Zarr: number of levels, each with half the samples along some axes, by mean. By default levels are added
        until the largest extent is 256.

    Raises
    ------
    InvalidArgument
        Axes, spacing or names that do not fit, an unknown extension, or an image with ``scaling`` for a format that
        cannot hold it (a ValueError).
    OutputExists
        The file exists and `overwrite` is not set (a FileExistsError).
    CannotCreate, FileFailure
        The file cannot be created, or cannot be written to its end (OSErrors).

    Examples
    --------
    >>> import numpy as np, convolume, tempfile, os
    >>> name = os.path.join(tempfile.mkdtemp(), "a.ome.tif")
    >>> convolume.save(name, np.zeros((2, 4, 5), np.uint8), axes="CYX", channel_names=["DAPI", "GFP"])
    >>> convolume.open(name).channel_names
    ['DAPI', 'GFP']
    """
    name = os.fspath(path)
    like = options.get("like")
    if isinstance(like, str | PathLike):
        like = open_quietly(like)
    source = image if isinstance(image, Image) else Image.of_array(image, axes=_axes_to_save(image, like, options))
    if source.dtype not in TYPES:
        raise InvalidArgument(f"images of type {source.dtype} are not written")
    metadata = _metadata_for(source, like, options)
    compression, overwrite = options.get("compression"), given_flag(options.get("overwrite", False), "overwrite")
    if is_zarr(name):
        _core.refuse_scaling(source._metadata, "OME-Zarr")
        if source._array is None and Location.of(name).local_path is None:  # an old image is removed before the writing
            refuse_input_as_output(name, [source._name])
        layout = Layout(options.get("zarr_format", 3), options.get("chunks"), options.get("shards"),
                        compression or "zstd", options.get("levels"), _core.host_limit_bytes(None) // 16)
        described = Image(source._reader, metadata, source._array, source.axes)
        with errors_name(name):
            save_zarr(name, described, like, layout, overwrite)
        return
    if any(options.get(one) is not None for one in ("chunks", "shards", "levels")):
        raise InvalidArgument(f"{name} is no OME-Zarr image: it has no chunks, shards or levels to choose")
    if options.get("zarr_format", 3) != 3:
        raise InvalidArgument(f"{name} is no OME-Zarr image: leave zarr_format out")
    with errors_name(name):
        writer = _core.Writer(name, metadata, overwrite, compression or "none")
        _write(writer, source)
        writer.commit()


def _axes_to_save(array: Any, like: Image | None, options: SaveKeywords) -> str | None:
    """Returns the axes of an array: those that are given, its own, or those of `like` if it has as many; else None."""
    axes = options.get("axes")
    if axes or like is None or letters_of(array) is not None:
        return axes
    if (array if hasattr(array, "ndim") else readable(array, "the image")).ndim != like.ndim:
        return axes
    return like.axes


def _metadata_for(source: Image, like: Image | None, options: SaveKeywords) -> _core.ImageMetadata:
    metadata: _core.ImageMetadata = (source if like is None else like)._metadata.copy()
    for field in ("frames", "channels", "shape", "type", "axes"):
        setattr(metadata, field, getattr(source._metadata, field))
    if len(metadata.channel_names) != metadata.channels:
        if metadata.channel_names and options.get("channel_names") is None:
            warn(f"the image has {metadata.channels} channels, of which `like` names {len(metadata.channel_names)}: no "
                 "names are saved; give channel_names")
        metadata.channel_names = []
    if len(metadata.channel_colors) != metadata.channels:
        metadata.channel_colors = []
    spacing, channel_names = options.get("spacing"), options.get("channel_names")
    if spacing is not None:
        set_spacing(metadata, source.axes, spacing)
    if channel_names is not None:
        set_channel_names(metadata, channel_names)
        metadata.drop_imagej_labels()  # the writer would prefer them to channel_names
    return metadata


_PLANES_BYTES = 256 << 20  # bytes of planes that are read from a source at once


def _write(writer: Any, source: Image) -> None:
    metadata = source._metadata
    _, height, width = metadata.shape
    planes = max(1, _PLANES_BYTES // max(1, height * width * source.dtype.itemsize))
    for block in Blocks(metadata.frames, metadata.channels, metadata.shape, (planes, height, width)):
        box = [end for pair in zip(block.begin, block.end) for end in pair]
        writer.write_box(block.t, block.c, box, read_box(source, block.t, block.c, block.slices))
