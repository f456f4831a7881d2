# SPDX-License-Identifier: Apache-2.0
"""Filters of NumPy arrays for the drop-ins for scipy.ndimage. What depends only on shapes, types and options is found
once."""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ._arrays import ArrayForm
from ._errors import InvalidArgument
from ._neighborhoods import AxisFilter, boundary, single_filter
from ._sums import Array, PlainSums, Resources, plain_sums

_REAL = frozenset(np.dtype(name) for name in ("float32", "float64"))


class WeightsForm(NamedTuple):
    """Weights of a filter as far as they do not depend on values."""

    lengths: tuple[int, ...]
    """Extents along all axes of the image."""
    mode: str
    cval: complex
    origins: tuple[int, ...]
    convolution: bool


@functools.lru_cache(maxsize=256)
def _plain_filter(image: ArrayForm, weights: WeightsForm, resources: Resources) -> PlainSums | None:
    lengths = weights.lengths
    if len(lengths) != len(image.shape) or len(weights.origins) != len(image.shape) or 0 in lengths:
        return None
    center = [center_of_weights(length, origin) for length, origin in zip(lengths, weights.origins)]
    if not weights.convolution:
        center = [length - 1 - c for length, c in zip(lengths, center)]
    return plain_sums(image, ArrayForm(lengths, np.dtype(np.float64)), image.dtype, resources, mode="same",
                      boundary=boundary(weights.mode), cval=float(weights.cval.real), center=tuple(center))


def is_plain(image: Any, cval: complex) -> bool:
    """Tells whether an image is a NumPy array of real floats, with a finite number around it."""
    return (type(image) is np.ndarray and image.dtype in _REAL and isinstance(cval, (float, int))
            and math.isfinite(cval))


def plain_result(image: Any, weights: np.ndarray, form: WeightsForm, resources: Resources) -> np.ndarray | None:
    """Filters a NumPy array of real floats without what other arrays need; None if these do."""
    if weights.dtype != np.float64 or not is_plain(image, form.cval):
        return None
    try:
        sums = _plain_filter(ArrayForm(image.shape, image.dtype), form, resources)
    except TypeError:  # an argument without a hash
        return None
    taps = weights if form.convolution else weights[(slice(None, None, -1),) * weights.ndim]
    return None if sums is None else sums.result(image, taps.reshape(form.lengths), resources.device)


def center_of_weights(length: int, origin: int) -> int:
    """Returns the center of weights that are convolved. The same center is right for correlated weights before they are
    flipped."""
    center = length // 2 + int(origin)
    if not 0 <= center < length:
        raise InvalidArgument(f"the origin {origin} leaves {length} weights: it must be {-(length // 2)} to "
                              f"{(length - 1) // 2}")
    return center


class _PlainProduct(NamedTuple):
    """Filters along single axes that are computed as one."""

    weights: Array
    sums: PlainSums


@functools.lru_cache(maxsize=256)
def plain_product(image: ArrayForm, filters_of: Callable[..., list[AxisFilter]], parameters: tuple[Any, ...],
                   cval: float, resources: Resources) -> _PlainProduct | None:
    """Returns filters_of(…, *parameters) for an image of real floats; None if they are not computed as one."""
    filters = filters_of(image.shape, *parameters)
    one = single_filter(filters, image, cval)
    if one is None:
        return None
    weights = one.weights / one.divisor if one.divisor != 1 else one.weights
    return _PlainProduct(weights, plain_sums(image, ArrayForm(weights.shape, weights.dtype), image.dtype, resources,
                                             mode="same", boundary=one.mode, cval=cval, center=tuple(one.center)))
