# SPDX-License-Identifier: Apache-2.0
"""Convolution of arrays with any number of axes, for the drop-ins for other libraries' functions."""

import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

import numpy as np

from ._arrays import TYPES, from_others, readable
from ._convolve import Convolver
from ._errors import BadData, InvalidArgument
from ._filters import FilterBank
from ._options import Boundary, Mode, Precision
from ._problem import Method
from ._run import Device

Array = np.ndarray[Any, Any]
ByteSize = int | str | None
_MOST_AXES = 3
_LONG_SIGNAL = 1 << 14  # number of samples from which a filter bank is faster than a convolver of one axis


class Resources(NamedTuple):
    """Devices, threads and memory limits of a function, see :class:`convolume.Run`."""

    device: Device = "auto"
    workers: int | None = None
    max_host_mem: ByteSize = None
    max_gpu_mem: ByteSize = None


def numbers(array: Any, what: str) -> Array:
    """Returns `array` as a NumPy array of booleans or numbers, with its own type in the machine's byte order."""
    if isinstance(array, np.ma.MaskedArray):
        readable(array, what)  # refuses masked samples
        found: Array = array.data
    else:
        found = array if isinstance(array, np.ndarray) else from_others(array, what)
    if found.dtype.kind not in "buifc":
        raise InvalidArgument(f"{what} is of type {found.dtype}: it must hold numbers")
    return found if found.dtype.isnative else found.astype(found.dtype.newbyteorder("="))


def _computable(array: Array) -> Array:
    """Returns the array in a type that the library reads. Larger types are rounded to float64 or complex128."""
    if array.dtype in TYPES or array.dtype.kind == "b" or array.dtype.char == "e":
        return readable(array, "the array")
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


class _Axes(NamedTuple):
    """Extents of a convolution in which neighboring axes of a batch are merged into one."""

    image: tuple[int, ...]
    kernel: tuple[int, ...]
    center: tuple[int, ...]


def _merged(image: Sequence[int], kernel: Sequence[int], center: Sequence[int]) -> _Axes:
    axes: list[tuple[int, int, int]] = []
    for n, k, c in zip(image, kernel, center):
        if k == 1 and axes and axes[-1][1] == 1:
            axes[-1] = (axes[-1][0] * n, 1, 0)
        else:
            axes.append((n, k, c))
    several = [axis for axis in axes if axis[:2] != (1, 1)] or [(1, 1, 0)]
    return _Axes(*zip(*several))


def _results(image: Sequence[int], kernel: Sequence[int], mode: Mode) -> list[int]:
    """Returns the shape of a convolution's result."""
    return [n + {"same": 0, "full": k - 1, "valid": 1 - k}[mode] for n, k in zip(image, kernel)]


def _is_of_signals(axes: _Axes, image: Array, results: Array) -> bool:
    """Tells whether the convolution filters long signals, which lie along the last axis."""
    samples, taps = axes.image[-1], axes.kernel[-1]
    return (math.prod(axes.kernel[:-1]) == 1 and samples >= _LONG_SIGNAL and samples > 4 * taps
            and image.dtype.kind != "c" and results.dtype.kind == "f")


class SumKeywords(TypedDict, total=False):
    """Keywords of :func:`convolved`, with the defaults of :class:`convolume.Convolver`."""

    mode: Mode
    boundary: Boundary
    cval: float
    method: Method
    center: Sequence[int] | None
    local_nan: bool
    out: Array | None


def convolved(image: Array, kernel: Array, precision: Precision, resources: Resources,
              **options: Unpack[SumKeywords]) -> Array:
    """Computes the convolution along all axes where the kernel is longer than 1. The other axes are a batch.

    Parameters
    ----------
    image, kernel : arrays of numbers
        They have equal numbers of axes, and no extent of 0.
    center : sequence of ints, optional
        The kernel's index that stands for no shift, for mode "same". By default (k - 1) // 2.
    local_nan : bool
        Compute an image with NaN or infinities by direct sums, so that they do not spread beyond the kernel.
    out : array, optional
        Receives the result. C-contiguous, with the result's shape and a type that the library writes.

    Returns
    -------
    array, float32, float64, complex64 or complex128
    """
    reached = sum(k > 1 for k in kernel.shape)
    if reached > _MOST_AXES:
        raise InvalidArgument(f"the kernel reaches along {reached} axes: 1 to 3 can be convolved")
    pixels, taps = _computable(image), _computable(kernel)
    form: Any = {name: value for name, value in options.items() if name in ("mode", "boundary", "cval")}
    mode, out = options.get("mode", "same"), options.get("out")
    center = options.get("center") or [(k - 1) // 2 for k in taps.shape]
    if out is None:
        kind = "complex" if pixels.dtype.kind == "c" or taps.dtype.kind == "c" else "float"
        bits = (64 if precision == "float64" else 32) * (2 if kind == "complex" else 1)
        out = np.empty(_results(pixels.shape, taps.shape, mode), np.dtype(f"{kind}{bits}"))
    if not np.isfinite(taps).all():
        raise BadData("the kernel holds NaN or infinities: repair it")
    if not taps.any():
        out[...] = 0
        return out
    axes = _merged(pixels.shape, taps.shape, center)
    few = pixels.reshape(axes.image)
    results = out.reshape(_results(axes.image, axes.kernel, mode))
    batch = sorted((n, axis) for axis, (n, k) in enumerate(zip(axes.image, axes.kernel)) if k == 1)
    looped = sorted(axis for _, axis in batch[:max(0, len(axes.image) - _MOST_AXES)])
    kept = [axis for axis in range(len(axes.image)) if axis not in looped]
    images = math.prod(axes.image[axis] for axis in looped)

    def planned(method: Method, nan: Literal["error", "propagate"]) -> Convolver:
        return Convolver([axes.image[axis] for axis in kept], taps.reshape([axes.kernel[axis] for axis in kept]),
                         dtype=pixels.dtype, origin=[axes.center[axis] for axis in kept], precision=precision,
                         method=method, nan=nan, executions=images, **form, **resources._asdict())

    def execute(convolver: Convolver) -> None:
        for index in itertools.product(*(range(axes.image[axis]) for axis in looped)):
            where: list[Any] = [slice(None)] * len(axes.image)
            for axis, number in zip(looped, index):
                where[axis] = number
            convolver(few[tuple(where)], results[tuple(where)])

    method = options.get("method", "auto")
    try:
        if method == "auto" and options.get("boundary", "zero") == "zero" and resources.max_host_mem is None \
                and _is_of_signals(axes, few, results):
            bank = FilterBank(axes.image, taps.reshape(-1), dtype=pixels.dtype, mode=mode, origin=axes.center[-1],
                              precision=precision, device=resources.device, workers=resources.workers,
                              max_gpu_mem=resources.max_gpu_mem)
            if bank.dtype == results.dtype:
                bank(few, results)
                return out
        execute(planned(method, "error"))
    except BadData:  # the image holds NaN or infinities
        execute(planned("direct" if options.get("local_nan") else method, "propagate"))
    return out
