# SPDX-License-Identifier: Apache-2.0
"""What filters of scipy.ndimage have in common: boundaries, types of results, passes along single axes."""

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from . import _core
from ._convolve import Boundary
from ._errors import InvalidArgument
from ._sums import Array, Resources, convolved
from ._truncated import Order, Pass, buffer_for, truncated_sums

_BOUNDARIES: dict[str, Boundary] = {
    "reflect": "reflect", "grid-mirror": "reflect", "constant": "constant", "grid-constant": "constant",
    "nearest": "nearest", "mirror": "mirror", "wrap": "wrap", "grid-wrap": "wrap"}
# Filters along 3 axes are one convolution with their product, but for these lengths and types: there the first axis
# by itself and then both others are faster.
_FIRST_AXIS_APART = {"float32": range(10, 32), "float64": range(32)}
_MOVED_BYTES = 64 << 20  # of the planes that the second of two passes computes at once


def boundary(mode: Any) -> Boundary:
    """The library's word for a mode of scipy.ndimage."""
    if not isinstance(mode, str) or mode not in _BOUNDARIES:
        raise InvalidArgument(f"there is no mode {mode!r}: write one of " + ", ".join(_BOUNDARIES))
    return _BOUNDARIES[mode]


def each(value: Any, count: int, what: str) -> list[Any]:
    """One of a parameter for each axis."""
    if isinstance(value, str) or not np.iterable(value):
        return [value] * count
    values = list(value)
    if len(values) != count:
        raise InvalidArgument(f"{what} has {len(values)} entries where {count} axes are filtered")
    return values


def filtered_axes(axes: Any, dimensions: int) -> list[int]:
    """Of 0 to `dimensions` - 1."""
    if axes is None:
        return list(range(dimensions))
    given = list(axes) if isinstance(axes, Iterable) else [axes]
    if any(not -dimensions <= axis < dimensions for axis in given):
        raise InvalidArgument(f"axes {tuple(given)} exceed the {dimensions} dimensions of the input")
    found = [int(axis) % dimensions for axis in given]
    if len(set(found)) != len(found):
        raise InvalidArgument(f"axes {tuple(given)} name one axis twice")
    return found


class Target(NamedTuple):
    """Where a filter's result goes."""

    dtype: np.dtype[Any]
    array: Array | None

    def buffer(self, *inputs: Array) -> Array | None:
        """The caller's array, where results can be written straight into it."""
        found = self.array
        if found is None or found.dtype.kind not in "fc" or not found.flags.c_contiguous or not found.flags.writeable \
                or found.dtype.char not in "fdFD" or not found.dtype.isnative:
            return None
        return None if any(np.may_share_memory(found, one) for one in inputs) else found

    def deliver(self, result: Array) -> Array:
        """`result` in the target's type and place."""
        if self.array is None:
            return result.astype(self.dtype, copy=False)
        if result is not self.array:
            self.array[...] = result
        return self.array


def target(output: Any, image: Array, complex_result: bool) -> Target:
    """What `output` asks for: None, a type, or an array of the image's shape."""
    if output is None:
        return Target(np.promote_types(image.dtype, np.complex64) if complex_result else image.dtype, None)
    if isinstance(output, (type, np.dtype, str)):
        dtype = np.dtype(output)
        if complex_result and dtype.kind != "c":
            if isinstance(output, str):
                raise InvalidArgument(f"results are complex, and the output type {dtype} is not")
            warnings.warn("results are complex: the output type is promoted", stacklevel=4)
            dtype = np.promote_types(dtype, np.complex64)
        if dtype.kind not in "buifc":
            raise InvalidArgument(f"results cannot be of type {dtype}: name a type of numbers")
        return Target(dtype, None)
    array = np.asarray(output)
    if array.shape != image.shape:
        raise InvalidArgument(f"output has the shape {array.shape} and the input {image.shape}: both must be equal")
    if complex_result and array.dtype.kind != "c":
        raise InvalidArgument(f"results are complex, and output is of type {array.dtype}")
    return Target(array.dtype, array)


def _precision(dtype: np.dtype[Any]) -> Literal["float32", "float64"]:
    """That of sums which are stored as `dtype`."""
    return "float32" if dtype.char in "efF" else "float64"


def filtered(image: Array, weights: Array, center: Sequence[int], mode: Boundary, cval: complex, result: Target,
             order: Order, resources: Resources, divisor: int = 1, buffer: Array | None = None) -> Array:
    """Sample i is the sum of weights[j] image[i - j + center], over `divisor`, in the type of `result`.

    `buffer` is memory for :func:`truncated_sums`.
    """
    dtype = result.dtype
    if image.size == 0:
        return np.zeros(image.shape, dtype)
    if mode != "constant":
        cval = 0.0
    if np.iscomplexobj(cval) and image.dtype.kind != "c":
        raise InvalidArgument("cval is complex where the input is real")
    if dtype.kind in "biu":
        one = Pass(weights, center, mode, float(cval.real), divisor)
        return truncated_sums(image, one, dtype, order, resources, buffer)
    taps = weights / divisor if divisor != 1 else weights
    precision = _precision(dtype)
    if not np.isfinite(cval):
        return _beside_infinite(image, taps, center, complex(cval), precision, resources).astype(dtype, copy=False)
    if np.iscomplexobj(cval) and complex(cval).imag != 0:
        above = image - np.asarray(cval, image.dtype)
        sums = convolved(above, taps, center=center, precision=precision, local_nan=True, resources=resources)
        return np.asarray(sums + cval * taps.sum(), dtype)
    return convolved(image, taps, center=center, boundary=mode, cval=float(np.real(cval)), precision=precision,
                     local_nan=True, out=result.buffer(image), resources=resources).astype(dtype, copy=False)


def _beside_infinite(image: Array, weights: Array, center: Sequence[int], cval: complex,
                     precision: Literal["float32", "float64"], resources: Resources) -> Array:
    """With NaN or an infinity outside the image."""
    sums = convolved(image, weights, center=center, precision=precision, local_nan=True, resources=resources)
    nothing = np.zeros(image.shape, np.float32)
    positive, negative = (convolved(nothing, which.astype(np.float32), center=center, boundary="constant", cval=1.0,
                                    precision="float32", resources=resources) > 0.5
                          for which in (weights.real > 0, weights.real < 0))
    sums[positive] += cval.real
    sums[negative] -= cval.real
    return sums


class AxisPass(NamedTuple):
    """A filter along one axis: sample i is the sum of weights[j] image[i - j + center], over `divisor`."""

    axis: int
    weights: Array
    center: int
    mode: Boundary
    divisor: int = 1


def separable(image: Array, passes: Sequence[AxisPass], cval: complex, result: Target, resources: Resources) -> Array:
    """One pass after the other, each stored in the result's type: as scipy.ndimage."""
    if not passes:
        return result.deliver(image.copy())
    current = image
    buffer = buffer_for(image) if result.dtype.kind in "biu" and len(passes) > 1 else None
    groups = _groups(passes, image.size, cval, result.dtype)
    if result.array is None and _is_for_one_array(groups, image, result.dtype, resources):
        planes = max(1, _MOVED_BYTES // image[0].nbytes)
        return _in_one_array(image, groups, planes, result.dtype, resources)
    for number, group in enumerate(groups):
        weights, center = _product(group, image.ndim)
        goal = result if number == len(groups) - 1 else Target(result.dtype, None)
        current = filtered(current, weights, center, group[0].mode, cval, goal, "line", resources,
                           math.prod(one.divisor for one in group), buffer)
    return result.deliver(current)


def _is_for_one_array(groups: Sequence[Sequence[AxisPass]], image: Array, dtype: np.dtype[Any],
                      resources: Resources) -> bool:
    on_cpu = resources.device == "cpu" or bool(_core.gpu_unavailable())
    return (len(groups) == 2 and image.ndim == 3 and groups[0][0].axis == 0 and dtype.char in "fdFD" and on_cpu
            and image.nbytes >= 2 * _MOVED_BYTES)


def _in_one_array(image: Array, groups: Sequence[Sequence[AxisPass]], planes: int, dtype: np.dtype[Any],
                  resources: Resources) -> Array:
    """Both groups, the second of which leaves planes alone, in one array: fresh memory costs as much time as a pass.

    What the first group gives lies `planes` behind its place. The second one moves it there, so many planes at a time.
    """
    (weights, center), (flat, flat_center) = (_product(group, image.ndim) for group in groups)
    weights = weights / math.prod(one.divisor for group in groups for one in group)
    options: dict[str, Any] = {"boundary": groups[0][0].mode, "precision": _precision(dtype), "local_nan": True,
                               "resources": resources}
    memory: Array = np.empty((len(image) + planes, *image.shape[1:]), dtype)
    convolved(image, weights, center=center, out=memory[planes:], **options)
    for begin in range(0, len(image), planes):
        end = min(begin + planes, len(image))
        convolved(memory[begin + planes:end + planes], flat, center=flat_center, out=memory[begin:end], **options)
    return memory[:len(image)]


def _groups(passes: Sequence[AxisPass], samples: int, cval: complex, dtype: np.dtype[Any]) -> list[list[AxisPass]]:
    """Passes that are computed as one convolution with their product."""
    alike = len({one.mode for one in passes}) == 1 and (passes[0].mode != "constant" or cval == 0)
    taps = math.prod(len(one.weights) for one in passes)
    if dtype.kind in "biu" or not alike or taps > max(4096, samples // 8):
        return [[one] for one in passes]
    longest = max(len(one.weights) for one in passes)
    if len(passes) < 3 or len(passes) == 3 and longest not in _FIRST_AXIS_APART[_precision(dtype)]:
        return [list(passes)]
    return [[passes[0]], list(passes[1:3]), *([one] for one in passes[3:])]


def _product(passes: Sequence[AxisPass], dimensions: int) -> tuple[Array, list[int]]:
    weights: Array = np.ones([1] * dimensions)
    center = [0] * dimensions
    for one in passes:
        weights = weights * one.weights.reshape([-1 if axis == one.axis else 1 for axis in range(dimensions)])
        center[one.axis] = one.center
    return weights, center
