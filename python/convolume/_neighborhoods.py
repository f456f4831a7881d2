# SPDX-License-Identifier: Apache-2.0
"""Common parts of the drop-ins for scipy.ndimage: boundaries, types of results, filters along single axes."""

import cmath
import functools
import itertools
import math
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ._argument_types import shown
from ._arrays import ArrayForm
from ._device import is_on_gpu
from ._errors import InvalidArgument, WrongType
from ._gpu_numbers import GpuNumbers, on_host
from ._options import Boundary, Precision, axes_of, continued_indices
from ._sums import Array, Resources, convolved, empty_beside, precision_of

Samples = Callable[[Sequence[int]], Array]
Order = Literal["line", "box"]  # order of a sum's terms in SciPy: in its filters of one axis, and of several

_NEAR = 1e-13  # largest difference of two orders of summation, as a share of the largest possible sum
_LARGEST_WHOLE = 2.0**45  # sums of whole numbers up to this one surely round to the right integer
_SAMPLES = 1 << 15  # samples that are processed together, so that they stay in the cache
_MANY = 1 << 10  # number of sums near an integer above which equal neighborhoods are searched


class FilterArgument(InvalidArgument, RuntimeError):
    """An argument that scipy.ndimage refuses by a RuntimeError."""


class Filter(NamedTuple):
    """A filter of any number of axes. Sample i of its result is the sum over j of:

        weights[j] * image[i - j + center] / divisor
    """

    weights: Array
    center: Sequence[int]
    mode: Boundary
    cval: complex  # truncated sums use only its real part
    divisor: int = 1


def truncated_sums(image: Array, filter_: Filter, dtype: np.dtype[Any], order: Order, resources: Resources,
                   buffer: Array | None = None) -> Array:
    """Returns the filter's sums, truncated toward 0 and wrapped to the range of the type `dtype`.

    The sums of :class:`GpuNumbers` that are near an integer count as that integer.
    """
    if isinstance(image, GpuNumbers):
        sums = convolved(image, filter_.weights, center=filter_.center, boundary=filter_.mode, cval=filter_.cval.real,
                         precision="float64", resources=resources)
        whole = image.dtype.kind in "biu" and _is_whole(filter_.weights) and filter_.cval.real.is_integer()
        near = sums.rounded() if whole else sums
        return (near / filter_.divisor).truncated().wrapped(dtype)
    whole = _is_whole(image) and _is_whole(filter_.weights) and filter_.cval.real.is_integer()
    largest = _largest(image, filter_)
    sums = convolved(image, filter_.weights, center=filter_.center, boundary=filter_.mode, cval=filter_.cval.real,
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


def _any_near(sums: Array, near: float) -> bool:
    distance = np.rint(sums)
    np.subtract(sums, distance, out=distance)
    np.abs(distance, out=distance)
    return not distance.min() > near  # true also if a sum is NaN


def _is_whole(array: Array) -> bool:
    return array.dtype.kind in "biu" or bool(np.equal(np.rint(array), array).all())


def _largest(image: Array, filter_: Filter) -> float:
    """Returns an upper bound of the magnitude of all sums."""
    if image.dtype.kind in "iu" and image.dtype.itemsize <= 2:
        sample = max(float(np.iinfo(image.dtype).max) + 1, abs(filter_.cval.real))
    else:
        sample = max(abs(float(image.max())), abs(float(image.min())), abs(filter_.cval.real))
    return sample * float(np.abs(filter_.weights.astype(np.float64)).sum())


def _wrapped(sums: Array, dtype: np.dtype[Any]) -> Array:
    with np.errstate(invalid="ignore"):
        if dtype.kind == "u" and dtype.itemsize == 8:
            return np.where(sums < 0, sums.astype(np.int64).view(np.uint64), sums.astype(np.uint64))
        whole: Array = sums.astype(np.int64 if dtype.itemsize == 8 or dtype == np.uint32 else np.int32)
    return whole != 0 if dtype.kind == "b" else whole.astype(dtype)


class _SumsInOrder:
    """Computes sums of a filter at single samples, with the terms added in SciPy's order."""

    def __init__(self, image: Array, filter_: Filter, order: Order) -> None:
        self._image = image
        self._filter = filter_
        self._terms = _line_terms if order == "line" else _box_terms
        self._constant: Array = None

    @functools.cached_property
    def _sources(self) -> list[Array]:
        """Indices of reached samples along each axis; -1 is outside."""
        one = self._filter
        return [continued_indices(n, k - 1 - c, c, one.mode)
                for n, k, c in zip(self._image.shape, one.weights.shape, one.center)]

    def replace(self, part: Array, first: int, near: float) -> None:
        """Replaces sums that are near an integer other than 0; `part` begins at sample `first` in C order."""
        with np.errstate(invalid="ignore"):
            where = np.flatnonzero((np.abs(part - np.rint(part)) <= near) & (np.abs(part) > 0.5))
        if len(where) > _MANY:  # images with areas of one value have many equal sums, which are computed once
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
        """Returns the samples at `offset` from the first sample that the filter reaches."""
        places = tuple(source[i + o] for source, i, o in zip(self._sources, index, offset))
        values = self._image[places].astype(np.float64)
        outside = np.logical_or.reduce([place < 0 for place in places])
        return np.where(outside, self._filter.cval.real, values) if outside.any() else values


def _constant_around(image: Array, filter_: Filter, sources: Sequence[Array]) -> Array:
    """Tells for each sample whether all samples that the filter reaches are inside the image and equal."""
    constant = np.ones(image.shape, bool)
    for axis, (k, source) in enumerate(zip(filter_.weights.shape, sources)):
        if k == 1:
            continue
        lines, known = (np.moveaxis(np.take(array, source, axis), axis, 0) for array in (image, constant))
        breaks = np.zeros(lines.shape, np.int32)  # number of samples up to here that differ from the previous one
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


def _box_terms(samples: Samples, filter_: Filter) -> Iterator[Array]:
    flipped = np.flip(filter_.weights).astype(np.float64)
    for offset in zip(*np.nonzero(np.abs(flipped) > np.finfo(np.float64).eps)):
        yield flipped[offset] * samples([int(o) for o in offset])


def _line_terms(samples: Samples, filter_: Filter) -> Iterator[Array]:
    """Yields the terms of a sum along one axis in SciPy's order.

    Symmetric and antisymmetric filters begin with the middle, then take pairs from outside in. Others begin with the
    last weight.
    """
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


_BOUNDARIES: dict[str, Boundary] = {
    "reflect": "reflect", "grid-mirror": "reflect", "constant": "constant", "grid-constant": "constant",
    "nearest": "nearest", "mirror": "mirror", "wrap": "wrap", "grid-wrap": "wrap"}


def boundary(mode: Any) -> Boundary:
    """Returns the library's word for a mode of scipy.ndimage."""
    if not isinstance(mode, str) or mode not in _BOUNDARIES:
        raise FilterArgument(f"there is no mode {mode!r}: write one of " + ", ".join(_BOUNDARIES))
    return _BOUNDARIES[mode]


def each(value: Any, count: int, what: str) -> list[Any]:
    """Returns a parameter as a list with one value for each of `count` axes."""
    if isinstance(value, str) or not np.iterable(value):
        return [value] * count
    values: list[Any] = list(itertools.islice(value, count + 1))
    given: Any = value
    entries = len(given) if hasattr(value, "__len__") else len(values)
    if entries != count:
        raise FilterArgument(f"{what} has {entries} entries where {count} axes are filtered: a sequence "
                             "argument must have length equal to input rank, or to the number of axes")
    return values


def filtered_axes(axes: Any, dimensions: int) -> list[int]:
    """Checks the axes that are filtered, all for None, and returns them as numbers from 0 to `dimensions` - 1."""
    if axes is None:
        return list(range(dimensions))
    given = axes_of(axes)
    for axis in given:
        if not -dimensions <= axis < dimensions:
            raise InvalidArgument(f"specified axis: {axis} is out of range of the {dimensions} dimensions of the input")
    found = [axis % dimensions for axis in given]
    if len(set(found)) != len(found):
        raise InvalidArgument(f"axes must be unique: {tuple(given)} name one twice")
    return found


class FilterOutput(NamedTuple):
    """Destination of a filter's result: its type, and the caller's array if there is one."""

    dtype: np.dtype[Any]
    array: Array | None

    def buffer(self, *inputs: Array) -> Array | None:
        """Returns the caller's array if sums can be written into it directly, else None."""
        found = self.array
        if (not isinstance(found, np.ndarray) or found.dtype.char not in "fdFD" or not found.dtype.isnative
                or not found.flags.c_contiguous or not found.flags.writeable):
            return None
        return None if any(np.may_share_memory(found, one) for one in inputs) else found

    def deliver(self, result: Array) -> Array:
        """Returns `result` in this type, copied into the caller's array if there is one."""
        if self.array is None:
            return result.astype(self.dtype, copy=False)
        if result is not self.array:
            self.array[...] = result
        return self.array


def filter_output(output: Any, image: Array, complex_result: bool) -> FilterOutput:
    """Returns the destination that the argument `output` names: None, a type, or an array of the image's shape."""
    if output is None:
        return FilterOutput(np.promote_types(image.dtype, np.complex64) if complex_result else image.dtype, None)
    if isinstance(output, (type, np.dtype, str)):
        try:
            dtype = np.dtype(output)
        except (TypeError, ValueError):
            raise WrongType(f"output is {shown(output)}: give a type of NumPy, such as \"float32\", or an "
                                  "array") from None
        if complex_result and dtype.kind != "c":
            if isinstance(output, str):
                raise FilterArgument(f"results are complex, and the output type {dtype} is not")
            warnings.warn("promoting specified output dtype to complex, as results are complex", stacklevel=4)
            dtype = np.promote_types(dtype, np.complex64)
        if dtype.kind not in "buifc":
            raise FilterArgument(f"results cannot be of type {dtype}: name a type of numbers")
        return FilterOutput(dtype, None)
    array = _writable_output(output, image)
    if array.shape != image.shape:
        raise FilterArgument(f"output has the shape {array.shape} and the input {image.shape}: both must be equal")
    if complex_result and array.dtype.kind != "c":
        raise FilterArgument(f"results are complex, and output is of type {array.dtype}")
    return FilterOutput(array.dtype, array)


def _writable_output(output: Any, image: Array) -> Array:
    """Returns the caller's array for results, where the image is."""
    if isinstance(image, GpuNumbers):
        if not is_on_gpu(output) or not hasattr(output, "__setitem__"):
            raise InvalidArgument("output is in host memory, or cannot be written, and the input is in a GPU's memory")
        return GpuNumbers.of(output, "output")
    if is_on_gpu(output):
        raise InvalidArgument("output is in a GPU's memory and the input in the host's: move one of them")
    if not isinstance(output, np.ndarray):
        raise WrongType(f"output is {shown(output)}: give a type of NumPy, such as \"float32\", or an array")
    if not output.flags.writeable:
        raise InvalidArgument("output is an array that cannot be written: give another one")
    return output


def filtered(image: Array, one: Filter, result: FilterOutput, order: Order, resources: Resources,
             buffer: Array | None = None) -> Array:
    """Returns the sums of a filter, in the type of `result`.

    `buffer` is memory for :func:`truncated_sums`.
    """
    dtype = result.dtype
    if image.size == 0:
        return empty_beside(image, image.shape, dtype)
    cval = one.cval if one.mode == "constant" else 0.0
    is_complex = type(cval) is not float and np.iscomplexobj(cval)
    if is_complex and image.dtype.kind != "c":
        raise InvalidArgument("cval is complex where the input is real")
    if dtype.kind in "biu":
        return truncated_sums(image, one._replace(cval=float(cval.real)), dtype, order, resources, buffer)
    taps = one.weights / one.divisor if one.divisor != 1 else one.weights
    precision = precision_of(dtype)
    if not cmath.isfinite(cval):
        return _beside_infinite(image, one._replace(weights=taps), precision, resources).astype(dtype, copy=False)
    if is_complex and complex(cval).imag != 0:
        above = image - np.asarray(cval, image.dtype)[()]
        sums = convolved(above, taps, precision, resources, center=one.center, local_nan=True)
        return (sums + cval * taps.sum()).astype(dtype, copy=False)
    return convolved(image, taps, precision, resources, center=one.center, boundary=one.mode, cval=float(cval.real),
                     local_nan=True, out=result.buffer(image)).astype(dtype, copy=False)


def _beside_infinite(image: Array, one: Filter, precision: Precision, resources: Resources) -> Array:
    """Returns the sums of a filter whose `cval`, outside the image, is NaN or an infinity."""
    weights = np.real(on_host(one.weights))
    cval = complex(one.cval).real
    sums = convolved(image, one.weights, precision, resources, center=one.center, local_nan=True)
    nothing = np.zeros(image.shape, np.float32)
    on_cpu = resources._replace(device="cpu")
    positive, negative = (convolved(nothing, which.astype(np.float32), "float32", on_cpu, center=one.center,
                                    boundary="constant", cval=1.0) > 0.5
                          for which in (weights > 0, weights < 0))
    outside = np.zeros(image.shape, sums.dtype)
    with np.errstate(invalid="ignore"):  # the sum of both infinities is NaN
        outside[positive] += cval
        outside[negative] -= cval
    return sums + (image.beside(outside) if isinstance(image, GpuNumbers) else outside)


class AxisFilter(NamedTuple):
    """A filter along one axis. Sample i of its result is the sum over j of:

        weights[j] * image[i - j + center] / divisor
    """

    axis: int
    weights: Array
    center: int
    mode: Boundary
    divisor: int = 1


def separable(image: Array, filters: Sequence[AxisFilter], cval: complex, result: FilterOutput,
              resources: Resources) -> Array:
    """Applies filters along single axes one after another. Each result is stored in the type of the last, as in
    scipy.ndimage."""
    if not filters:
        return result.deliver(image.copy())
    has_buffer = isinstance(image, np.ndarray) and result.dtype.kind in "biu" and len(filters) > 1
    buffer = np.empty(image.shape) if has_buffer else None  # which all calls of truncated_sums() share
    groups = _groups(filters, image.size, cval, result.dtype)
    for number, group in enumerate(groups):
        goal = result if number == len(groups) - 1 else FilterOutput(result.dtype, None)
        image = filtered(image, _product(group, image.ndim, cval), goal, "line", resources, buffer)
    return result.deliver(image)


def single_filter(filters: Sequence[AxisFilter], image: ArrayForm, cval: complex) -> Filter | None:
    """Returns the filter that is computed for filters along single axes of an image; None if there is not just one."""
    groups = _groups(filters, math.prod(image.shape), cval, image.dtype) if filters else []
    return _product(groups[0], len(image.shape), cval) if len(groups) == 1 else None


def _groups(filters: Sequence[AxisFilter], samples: int, cval: complex, dtype: np.dtype[Any]) -> list[list[AxisFilter]]:
    """Divides filters into groups, each of which is computed as one convolution with the product of the weights."""
    alike = len({one.mode for one in filters}) == 1 and (filters[0].mode != "constant" or cval == 0)
    taps = math.prod(len(one.weights) for one in filters)
    if dtype.kind in "biu" or not alike or taps > max(4096, samples // 8):
        return [[one] for one in filters]
    return [list(filters[:3]), *([one] for one in filters[3:])]


def _product(filters: Sequence[AxisFilter], dimensions: int, cval: complex) -> Filter:
    factors = [one.weights.reshape([-1 if axis == one.axis else 1 for axis in range(dimensions)]) for one in filters]
    center = [0] * dimensions
    for one in filters:
        center[one.axis] = one.center
    return Filter(functools.reduce(operator.mul, factors), center, filters[0].mode, cval,
                  math.prod(one.divisor for one in filters))
