# SPDX-License-Identifier: Apache-2.0
"""Sums that are truncated to integers, as scipy.ndimage does.

Truncation makes the last bit of a sum visible: 2.9999999 becomes 2. Sums of integers are therefore rounded first, and
others that are near an integer are summed again, in the order in which SciPy sums.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ._convolve import Boundary
from ._sums import Array, Resources, convolved

Samples = Callable[[Sequence[int]], Array]
Order = Literal["line", "box"]  # of a sum's terms: as SciPy's filters of one axis, and of several

_NEAR = 1e-13  # of the largest sum that is possible: what two orders of summation can differ by
_LARGEST_WHOLE = 2.0**45  # whose sums are surely near enough to an integer
_SAMPLES = 1 << 15  # that are looked at together, in the cache
_MANY = 1 << 10  # of them: sums that are near an integer
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
    result, flat = np.empty(image.size, dtype), sums.reshape(-1)
    in_order = _SumsInOrder(image, filter_, order)
    for first in range(0, image.size, _SAMPLES):
        part = flat[first:first + _SAMPLES]
        if whole and largest < _LARGEST_WHOLE:
            np.rint(part, out=part)
        elif filter_.divisor == 1 and _any_near(part, _NEAR * largest):
            in_order.replace(part, first, _NEAR * largest)
        if filter_.divisor != 1:
            part /= filter_.divisor
        result[first:first + _SAMPLES] = _wrapped(part, dtype)
    return result.reshape(image.shape)


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


class _SumsInOrder:
    """A filter's sums, their terms added in SciPy's order."""

    def __init__(self, image: Array, filter_: Pass, order: Order) -> None:
        self._image = image
        self._filter = filter_
        self._terms = _line_terms if order == "line" else _box_terms
        self._constant: Array | None = None
        self._sources: list[Array] = []  # along each axis, of what the filter reaches: indices, -1 outside
        options: dict[str, Any] = {"constant_values": -1} if filter_.mode == "constant" else {}
        for n, k, c in zip(image.shape, filter_.weights.shape, filter_.center):
            self._sources.append(np.pad(np.arange(n), (k - 1 - c, c), mode=_PADDINGS[filter_.mode], **options))

    def replace(self, part: Array, first: int, near: float) -> None:
        """Replaces sums that are near an integer other than 0; `part` begins at sample `first` in C order."""
        with np.errstate(invalid="ignore"):
            where = np.flatnonzero((np.abs(part - np.rint(part)) <= near) & (np.abs(part) > 0.5))
        if len(where) > _MANY:  # as in images with areas of one value, whose sums are all the same
            if self._constant is None:
                self._constant = _constant_around(self._image, self._filter, self._sources).reshape(-1)
            constant = self._constant[first + where]
            alike = where[constant]
            values, kinds = np.unique(self._image.reshape(-1)[first + alike], return_inverse=True)
            values = values.astype(np.float64)
            part[alike] = self._total(lambda offset: values)[kinds]
            where = where[~constant]
        if len(where):
            index = np.unravel_index(first + where, self._image.shape)
            part[where] = self._total(lambda offset: self._samples(index, offset))

    def _total(self, samples: Samples) -> Array:
        total: Any = 0.0
        for term in self._terms(samples, self._filter):
            total = total + term
        return np.asarray(total)

    def _samples(self, index: tuple[Array, ...], offset: Sequence[int]) -> Array:
        """The samples at `offset` from the first one that the filter reaches."""
        places = tuple(source[i + o] for source, i, o in zip(self._sources, index, offset))
        values = self._image[places].astype(np.float64)
        outside = np.logical_or.reduce([place < 0 for place in places])
        return np.where(outside, self._filter.cval, values) if outside.any() else values


def _constant_around(image: Array, filter_: Pass, sources: Sequence[Array]) -> Array:
    """Where all samples that the filter reaches are in the image and equal."""
    constant = np.ones(image.shape, bool)
    for axis, (k, source) in enumerate(zip(filter_.weights.shape, sources)):
        if k == 1:
            continue
        lines, known = (np.moveaxis(np.take(array, source, axis), axis, 0) for array in (image, constant))
        breaks = np.zeros(lines.shape, np.int32)  # up to each sample: those unlike the one before
        np.not_equal(lines[1:], lines[:-1], out=breaks[1:], casting="unsafe")
        breaks[1:] |= ~known[1:]
        breaks[source < 0] = 1
        np.cumsum(breaks, axis=0, out=breaks)
        n = image.shape[axis]
        unlike = breaks[k - 1:k - 1 + n] != breaks[:n]
        outside = (source < 0)[:n]
        unlike |= ~known[:n]
        unlike[outside] = True
        constant = np.moveaxis(~unlike, 0, axis)
    return constant


def _box_terms(samples: Samples, filter_: Pass) -> Iterator[Array]:
    flipped = np.flip(filter_.weights).astype(np.float64)
    for offset in zip(*np.nonzero(np.abs(flipped) > np.finfo(np.float64).eps)):
        yield flipped[offset] * samples([int(o) for o in offset])


def _line_terms(samples: Samples, filter_: Pass) -> Iterator[Array]:
    """Of symmetric and antisymmetric filters the middle, then pairs from outside in; of others the last one first."""
    axis = int(np.argmax(filter_.weights.shape))
    flipped = np.flip(filter_.weights).astype(np.float64).ravel()
    length, half = len(flipped), len(flipped) // 2

    def at(place: int) -> Array:
        return samples([place if a == axis else 0 for a in range(filter_.weights.ndim)])

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
