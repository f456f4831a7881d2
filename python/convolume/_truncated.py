# SPDX-License-Identifier: Apache-2.0
"""Sums that are truncated to integers, as scipy.ndimage does.

Truncation makes the last bit of a sum visible: 2.9999999 becomes 2. Sums of integers are therefore rounded first, and
others that are near an integer are summed again, in the order in which SciPy sums.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ._convolve import Boundary
from ._sums import Array, Resources, convolved

Order = Literal["line", "box"]  # of a sum's terms: as SciPy's filters of one axis, and of several

_NEAR = 1e-13  # of the largest sum that is possible: what two orders of summation can differ by
_LARGEST_WHOLE = 2.0**45  # whose sums are surely near enough to an integer
_SAMPLES = 1 << 14  # that are looked at together, in the cache
_PADDINGS: dict[Boundary, Any] = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap",
                                  "constant": "constant"}


class Pass(NamedTuple):
    """A filter: sample i is the sum of weights[j] image[i - j + center], over `divisor`."""

    weights: Array
    center: Sequence[int]
    mode: Boundary
    cval: float
    divisor: int


def truncated_sums(image: Array, filter_: Pass, dtype: np.dtype[Any], order: Order, resources: Resources,
                   buffer: Array | None = None) -> Array:
    """The filter's sums, truncated toward 0 and wrapped to the range of the type `dtype`."""
    whole = _is_whole(image) and _is_whole(filter_.weights) and float(filter_.cval).is_integer()
    largest = _largest(image, filter_)
    sums = convolved(image, filter_.weights, center=filter_.center, boundary=filter_.mode, cval=filter_.cval,
                     precision="float64", local_nan=True, out=buffer, resources=resources)
    result = np.empty(image.shape, dtype)
    step = max(1, _SAMPLES // max(1, math.prod(image.shape[1:])))
    for first in range(0, len(result), step):
        part = sums[first:first + step]
        if whole and largest < _LARGEST_WHOLE:
            np.rint(part, out=part)
        elif filter_.divisor == 1 and _any_near(part, _NEAR * largest):
            _sum_again(part, first, image, filter_, order, _NEAR * largest)
        if filter_.divisor != 1:
            part /= filter_.divisor
        result[first:first + step] = _wrapped(part, dtype)
    return result


def buffer_for(image: Array) -> Array:
    """Memory that several calls of :func:`truncated_sums` can share."""
    return np.empty(image.shape)


def _any_near(sums: Array, near: float) -> bool:
    distance = np.rint(sums)
    np.subtract(sums, distance, out=distance)
    np.abs(distance, out=distance)
    return not distance.min() > near  # NaN counts


def _is_whole(array: Array) -> bool:
    return array.dtype.kind in "biu" or bool(np.equal(np.rint(array), array).all())


def _largest(image: Array, filter_: Pass) -> float:
    """What no sum exceeds."""
    sample = max(abs(float(image.max())), abs(float(image.min())), abs(filter_.cval))
    return sample * float(np.abs(filter_.weights.astype(np.float64)).sum())


def _wrapped(sums: Array, dtype: np.dtype[Any]) -> Array:
    with np.errstate(invalid="ignore"):
        if dtype.kind == "u" and dtype.itemsize == 8:
            return np.where(sums < 0, sums.astype(np.int64).view(np.uint64), sums.astype(np.uint64))
        whole: Array = sums.astype(np.int64 if dtype.itemsize == 8 or dtype == np.uint32 else np.int32)
    return whole != 0 if dtype.kind == "b" else whole.astype(dtype)


def _sum_again(part: Array, first: int, image: Array, filter_: Pass, order: Order, near: float) -> None:
    """Replaces the sums that are near an integer other than 0; `part` begins at index `first` of the image's axis 0."""
    with np.errstate(invalid="ignore"):
        where = np.nonzero((np.abs(part - np.rint(part)) <= near) & (np.abs(part) > 0.5))
    if not len(where[0]):
        return
    index = (where[0] + first, *where[1:])
    samples = _Samples(image, filter_, index)
    total: Array | float = 0.0
    for term in (_line_terms if order == "line" else _box_terms)(samples, filter_):
        total = total + term
    part[where] = total


class _Samples:
    """The image's samples around some of its places, with what lies outside the image."""

    def __init__(self, image: Array, filter_: Pass, index: tuple[Array, ...]) -> None:
        self._image = image
        self._index = index
        self._cval = filter_.cval
        self._before = [k - 1 - c for k, c in zip(filter_.weights.shape, filter_.center)]
        self._sources: list[Array] = []
        for n, before, c in zip(image.shape, self._before, filter_.center):
            options: dict[str, Any] = {"constant_values": -1} if filter_.mode == "constant" else {}
            self._sources.append(np.pad(np.arange(n), (before, c), mode=_PADDINGS[filter_.mode], **options))

    def at(self, offset: Sequence[int]) -> Array:
        """The samples at `offset` from the first one that the filter reaches."""
        places = tuple(source[index + o] for source, index, o in zip(self._sources, self._index, offset))
        values = self._image[places].astype(np.float64)
        outside = np.logical_or.reduce([place < 0 for place in places])
        return np.where(outside, self._cval, values) if outside.any() else values


def _box_terms(samples: _Samples, filter_: Pass) -> Iterator[Array]:
    flipped = np.flip(filter_.weights).astype(np.float64)
    for offset in zip(*np.nonzero(np.abs(flipped) > np.finfo(np.float64).eps)):
        yield flipped[offset] * samples.at([int(o) for o in offset])


def _line_terms(samples: _Samples, filter_: Pass) -> Iterator[Array]:
    """Of symmetric and antisymmetric filters the middle, then pairs from outside in; of others the last one first."""
    axis = int(np.argmax(filter_.weights.shape))
    flipped = np.flip(filter_.weights).astype(np.float64).ravel()
    length, half = len(flipped), len(flipped) // 2

    def at(place: int) -> Array:
        return samples.at([place if a == axis else 0 for a in range(filter_.weights.ndim)])

    tolerance = np.finfo(np.float64).eps
    for sign in (1, -1):
        if length % 2 and (np.abs(flipped[half + 1:] - sign * flipped[:half][::-1]) <= tolerance).all():
            yield at(half) * flipped[half]
            for place in range(half):
                yield (at(place) + sign * at(length - 1 - place)) * flipped[place]
            return
    yield at(length - 1) * flipped[-1]
    for place in range(length - 1):
        yield at(place) * flipped[place]
