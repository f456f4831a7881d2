# SPDX-License-Identifier: Apache-2.0
"""What arrays say about themselves: the letters of their axes and their voxel sizes."""

from collections.abc import Sequence
from typing import Any

from . import _xarray
from ._arrays import readable
from ._errors import InvalidArgument
from ._image import Image
from ._options import axes_of

Voxels = dict[str, float]  # edge lengths in µm by the letter of their axis


def letters_of(array: Any) -> str | None:
    """Returns a letter of T, C, Z, Y, X, or "?", for each axis; None if the array names none of them."""
    if isinstance(array, Image):
        return array.axes
    if _xarray.is_data_array(array):
        letters = _xarray.letters_of(array)
        return letters if letters.strip("?") else None
    return None


def voxels_of(array: Any) -> Voxels | None:
    """Returns the voxel sizes that an array knows; None for arrays that never have any."""
    if _xarray.is_data_array(array):
        return _xarray.voxels_of(array)
    spacing = getattr(array, "spacing", None)
    if spacing is None or not isinstance(spacing, tuple):
        return None
    spatial = "".join(axis for axis in "ZYX" if axis in getattr(array, "axes", "ZYX"))
    return {axis: float(length) for axis, length in zip(spatial, spacing) if length is not None}


def sizes_of(voxels: Voxels | None) -> list[float | None]:
    """Returns voxel sizes along z, y and x, None where they are not known."""
    return [(voxels or {}).get(axis) for axis in "ZYX"]


def chosen_axes(axes: Sequence[int] | int | None, image: Any, dimensions: int, kernel_dimensions: int) -> list[int]:
    """Returns the image's axes that are convolved, in the order of the kernel's axes.

    They are those of `axes`; else the spatial ones, if the image names its axes; else the last ones.
    """
    letters = letters_of(image)
    if axes is None and letters is not None:
        wanted = "ZYX"[3 - kernel_dimensions:] if kernel_dimensions <= 3 else "?"
        if not all(letters.count(axis) == 1 for axis in wanted):
            raise InvalidArgument(f"the image has the axes {letters}, and a kernel of {kernel_dimensions} dimensions "
                                  f"is for {wanted}: name the image's axes by axes=…")
        return [letters.index(axis) for axis in wanted]
    if axes is None:
        if kernel_dimensions > dimensions:
            raise InvalidArgument(f"the kernel has {kernel_dimensions} dimensions and the image only {dimensions}")
        found = list(range(dimensions - kernel_dimensions, dimensions))
    else:
        given = axes_of(axes)
        found = [axis + dimensions if axis < 0 else axis for axis in given]
        if any(not 0 <= axis < dimensions for axis in found) or len(set(found)) != len(found):
            raise InvalidArgument(f"axes {tuple(given)} do not name axes of an image of {dimensions} dimensions once "
                                  "each")
    if len(found) != kernel_dimensions:
        raise InvalidArgument(f"{len(found)} axes and a kernel of {kernel_dimensions} dimensions: both must agree")
    if not 1 <= len(found) <= 3:
        raise InvalidArgument(f"{len(found)} axes: 1 to 3 can be convolved, others are a batch")
    return found


def spacing_for(image: Any, chosen: Sequence[int]) -> list[float | None] | None:
    """Returns the voxel sizes that an image knows along these axes; None for arrays that never have any."""
    known = voxels_of(image)
    if known is None:
        return None
    letters = letters_of(image) or "ZYX"
    return [known.get(letters[axis]) for axis in chosen]


def deconvolved_dimensions(psf: Any, image: Any, dimensions: int, axes: Any) -> int:
    """Returns the number of axes that a PSF deconvolves. Leading axes of one sample do not count if an Image has more
    than `image`."""
    shape = tuple(psf.shape if hasattr(psf, "shape") else readable(psf, "the PSF").shape)
    letters = letters_of(image)
    most = dimensions if letters is None else sum(axis in "ZYX" for axis in letters)
    if axes is not None:
        most = len(axes_of(axes))
    while isinstance(psf, Image) and len(shape) > most and shape[0] == 1:
        shape = shape[1:]
    return len(shape)
