# SPDX-License-Identifier: Apache-2.0
"""Bleaching: light that falls from exposure to exposure."""

from typing import Any

import numpy as np

from . import _core
from ._argument_types import names_wrong_types
from ._arrays import give_back, readable
from ._errors import InvalidArgument


@names_wrong_types
def correct_bleaching(image: Any, axis: int, offset: float) -> Any:
    """Scales light that falls exponentially along an axis back to that of the brightest exposure.

    The rate is fitted to the logarithm of the mean light of each exposure. It counts as found if it is more than
    twice its standard error, which includes that neighboring exposures of a specimen differ alike; otherwise nothing
    is scaled. Along time this holds for specimens whose light is the same at all times. Along z it holds for
    widefield recordings, whose planes have equal light whatever the object is.

    Parameters
    ----------
    image : array, real
        Of any dimensions. NaN is left out, and stays.
    axis : int
        The axis of the exposures: that of time, or of planes.
    offset : float
        Value of a pixel without light, which the camera adds.

    Returns
    -------
    array of the image's shape, float32, of the library that `image` comes from

    Raises
    ------
    InvalidArgument
        An axis that the image does not have (a ValueError).

    Examples
    --------
    >>> import numpy as np, convolume
    >>> times = 100 + 50 * np.exp(-0.1 * np.arange(5))[:, None, None] * np.ones((5, 8, 8))
    >>> convolume.correct_bleaching(times, 0, 100)[:, 0, 0].round(2).tolist()
    [150.0, 150.0, 150.0, 150.0, 150.0]
    """
    pixels = readable(image, "the image")
    if not np.isfinite(offset):
        raise InvalidArgument(f"the offset is {offset}: give a finite number")
    _core.check_real(pixels.dtype, "the image")
    if not -pixels.ndim <= axis < pixels.ndim:
        raise InvalidArgument(f"the axis {axis} is none of an image of {pixels.ndim} dimensions")
    axis = int(axis) % pixels.ndim
    moved = np.moveaxis(pixels, axis, 0)
    scaled = np.empty(moved.shape, np.float32)
    if scaled.size:
        planes = np.ascontiguousarray(moved, np.float32).reshape(len(moved), 1, -1)
        _core.correct_bleaching(planes, offset, scaled.reshape(planes.shape))
    return give_back(np.ascontiguousarray(np.moveaxis(scaled, 0, axis)), image)
