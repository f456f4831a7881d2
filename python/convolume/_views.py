# SPDX-License-Identifier: Apache-2.0
"""Recordings (views) of one object: what is known of each, and their transforms."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from . import _core
from ._argument_types import names_wrong_types, shown
from ._arrays import readable
from ._errors import InvalidArgument, WrongType
from ._options import Origin, boundary_name, extents_of, triple_of, whole_numbers
from ._psf import prepared_kernel, warn_of_psf

_WIDEST = 2**62  # more voxels than any image has
_Level = float | Literal["auto"]


@dataclass(frozen=True, eq=False)
class View:
    """One of several recordings of an object: what blurs it, and where its voxels are.

    Examples
    --------
    >>> import numpy as np, convolume
    >>> psf = np.ones((3, 3, 3))
    >>> convolume.View(psf, transform=[[1, 0, 0, 0], [0, 1, 0, 2.5], [0, 0, 1, 0]]).light
    1.0
    """

    psf: Any
    """The PSF in voxels of the recording, with as many dimensions; its sum is made 1. With `positions`, a sequence of
    PSFs."""
    transform: Any = None
    """Affine map from voxels of the recording to those of the result: a matrix of 3 rows (z, y, x) and 4 columns (z, y,
    x, 1), or of 4 rows with a last one of 0, 0, 0, 1. Positions are those of voxels' centers, counted from 0. Two
    dimensions have one row and one column less. None moves nothing. :func:`voxel_transform` makes it of a map in
    µm."""
    positions: Sequence[Sequence[float]] | None = None
    """Place (z, y, x) in the recording of each of several PSFs. The places form a grid. Between them light is blurred
    by the nearest PSFs in proportion, and beyond the outermost by these alone."""
    mask: Any = None
    """Weight of each pixel of the recording, at least 0. :class:`ForwardModel` multiplies the image by it;
    :class:`ViewDeconvolver` takes it as the weight in the likelihood: pixels of 0 say nothing of the object."""
    background: _Level = "auto"
    """Light that is added to every pixel, with the camera's offset; "auto" estimates it from the image."""
    offset: _Level = "auto"
    """Value of a pixel without light, which has no photon noise; "auto" estimates it from the noise."""
    gain: float | None = None
    """Photons for each unit of the image. None estimates it from the noise."""
    light: float = 1.0
    """Light that the view records of the object, relative to the others: its exposure, or its illumination."""
    border: int = 0
    """Number of voxels at the borders of the recording over which the weights of its pixels rise from 0 to 1. Errors
    of the transform then make no edge where a view ends."""
    origin: Origin = "middle"
    """The PSF's sample that stands for no shift, see :class:`convolume.Convolver`."""


@dataclass(frozen=True, eq=False)
class PartOfView(View):
    """A part of a recording, for a block of the result."""

    full_weight: float = 0.0
    """Weight of a pixel that counts as one without a mask, the same in all blocks. 0: the largest one."""


def listed(values: Any, what: str) -> list[Any]:
    """Returns the members of a list, a tuple or an array."""
    if not isinstance(values, list | tuple | np.ndarray) or isinstance(values, np.ndarray) and values.ndim == 0:
        raise WrongType(f"{what} are {shown(values)}: give a list")
    return list(values)


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise WrongType(f"{name} of a view is {shown(value)}: give a number") from None


def matrix_of(transform: Any, dimensions: int) -> tuple[list[list[float]], list[float]]:
    """Returns the matrix and the offset along z, y and x of a transform of some dimensions."""
    if transform is None:
        return np.eye(3).tolist(), [0.0, 0.0, 0.0]
    try:
        given = np.asarray(transform, np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(f"the transform of a view is {type(transform).__name__!r}: give a matrix of numbers") \
            from None
    rows = dimensions + 1
    if given.shape == (rows, rows) and not np.array_equal(given[-1], np.eye(rows)[-1]):
        raise InvalidArgument(f"the last row of a view's transform is {given[-1].tolist()}: it must be 0, …, 0, 1, as "
                              "the map is affine")
    if given.shape not in ((rows - 1, rows), (rows, rows)):
        raise InvalidArgument(f"the transform of a view has the shape {given.shape}: give {dimensions} rows and "
                              f"{rows} columns")
    whole = np.eye(4)
    first = 3 - dimensions
    whole[first:3, first:] = given[:dimensions]
    return whole[:3, :3].tolist(), whole[:3, 3].tolist()


def weights_of_view(view: View, shape: tuple[int, ...]) -> np.ndarray | None:
    """Returns the mask of a view, whose image has this shape."""
    if view.mask is None:
        return None
    mask = readable(view.mask, "the mask of a view")
    _core.check_real(mask.dtype, "the mask of a view")
    if mask.shape != shape:
        raise InvalidArgument(f"the mask of a view has the shape {mask.shape} and its image {shape}: both must be "
                              "equal")
    return mask


def border_of(view: View) -> int:
    """Returns the border of a view within the library's range of numbers; it refuses those below 0."""
    return max(-_WIDEST, min(whole_numbers([view.border], "border")[0], _WIDEST))


def core_view(view: View, shape: tuple[int, ...], edges: str, spacing: Sequence[float | None] | None,
              copies: bool = False) -> _core.View:
    """Returns a view of the library, with copies of the caller's arrays if it is kept."""
    contiguous: Any = functools.partial(np.array, order="C") if copies else np.ascontiguousarray
    if not isinstance(view, View):
        raise InvalidArgument(f"a view is {type(view).__name__!r}: give convolume.View(psf, …)")
    dimensions = len(shape)
    places = None if view.positions is None else listed(view.positions, "the positions of a view's PSFs")
    given = [view.psf] if places is None else listed(view.psf, "the PSFs of a view")
    if places is not None and len(given) != len(places):
        raise InvalidArgument(f"a view has {len(given)} PSFs and {len(places)} positions: give a position for "
                              "each PSF")
    known = [] if spacing is None else list(spacing)[:3]
    voxels = {axis: float(one) for axis, one in zip("ZYX"[3 - dimensions:], known) if one is not None}
    psfs, centers = [], []
    for one in given:
        kernel = prepared_kernel(one, "the PSF of a view", dimensions, view.origin,
                                 voxels if view.transform is None else None)
        if kernel.taps.ndim != dimensions:
            raise InvalidArgument(f"the PSF of a view has {kernel.taps.ndim} dimensions and its image {dimensions}: "
                                  "both must have as many")
        warn_of_psf(kernel, shape)
        taps, center = kernel.in_order()
        psfs.append(contiguous(taps))
        centers.append(center)
    positions = []
    for place in places or []:
        try:
            numbers = np.asarray(place, np.float64)
        except (TypeError, ValueError):
            numbers = np.empty(0)
        if numbers.shape != (dimensions,):
            raise InvalidArgument(f"the position of a view's PSF is {shown(place)}: give {dimensions} numbers")
        positions.append([0.0] * (3 - dimensions) + numbers.tolist())
    mask = weights_of_view(view, shape)
    made = _core.View(triple_of(shape), psfs, centers, positions, *matrix_of(view.transform, dimensions),
                      None if mask is None else contiguous(mask, dtype=np.float32).reshape(triple_of(shape)))
    made.edges = boundary_name(edges)
    background, offset = (None if isinstance(one, str) and one == "auto" else _number(one, name)
                          for one, name in ((view.background, "background"), (view.offset, "offset")))
    gain = None if view.gain is None else _number(view.gain, "gain")
    made.set_levels(background, offset, gain, _number(view.light, "light"),
                    border_of(view),
                    view.full_weight if isinstance(view, PartOfView) else 0.0)
    return made


def shapes_of(shapes: Any, views: Sequence[View], shape: Sequence[int] | None) -> tuple[list[tuple[int, ...]],
                                                                                         tuple[int, ...]]:
    """Returns the extents of each view, and those of the result."""
    extents = [extents_of(one) for one in listed(shapes, "the shapes of the views")]
    if len(extents) != len(views) or not extents:
        raise InvalidArgument(f"there are {len(extents)} shapes and {len(views)} views: give a shape for each view, "
                              "and at least one")
    result = extents[0] if shape is None else extents_of(shape)
    if any(len(one) != len(result) for one in extents) or not 1 <= len(result) <= 3:
        raise InvalidArgument(f"views of the shapes {', '.join(str(one) for one in extents)} and a result of {result}: "
                              "all must have as many dimensions, at most 3")
    return extents, result


@names_wrong_types
def voxel_transform(transform: Any, *, spacing: Sequence[float], to_spacing: Sequence[float]) -> np.ndarray:
    """Returns a view's transform in voxels, from one in µm.

    Parameters
    ----------
    transform : array of 3 rows (z, y, x) and 4 columns (z, y, x, 1)
        Map from positions in µm in the recording to those in the result. Both count from the center of the first voxel.
    spacing, to_spacing : sequence of 3 floats
        Edge lengths (z, y, x) of the voxels of the recording and of the result.

    Returns
    -------
    array of shape (3, 4)

    Raises
    ------
    InvalidArgument
        A matrix of another shape, or lengths that are not positive (a ValueError).

    Examples
    --------
    >>> import numpy as np, convolume
    >>> moved_by_1_um = np.eye(4)[:3] + [[0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    >>> convolume.voxel_transform(moved_by_1_um, spacing=(0.5, 0.1, 0.1), to_spacing=(0.2, 0.2, 0.2)).tolist()
    [[2.5, 0.0, 0.0, 5.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.0]]
    """
    matrix, offset = matrix_of(transform, 3)
    for name, edges in (("spacing", spacing), ("to_spacing", to_spacing)):
        if len(edges) != 3 or not all(0 < float(one) < float("inf") for one in edges):
            raise InvalidArgument(f"{name} is {tuple(edges)}: give three lengths above 0")
    made = _core.between_voxels(matrix, offset, [float(one) for one in spacing], [float(one) for one in to_spacing])
    return np.column_stack([np.asarray(made[0]), np.asarray(made[1])])
