# SPDX-License-Identifier: Apache-2.0
"""Exact convolution of integers, from sums in floating point."""

import math
from typing import Any, Literal

import numpy as np

from ._errors import InvalidArgument
from ._gpu_numbers import GpuNumbers
from ._options import Mode
from ._problem import result_shape
from ._sums import Array, Resources, convolved

Summed = Literal["auto", "direct"]

_DIGIT = 16  # bits of a digit
# Bound of the rounding error of a result, as a share of the product of the Euclidean norms of image and kernel.
_ERRORS = {"float32": 64 * 2.0**-24, "float64": 64 * 2.0**-53}
_LARGEST_ERROR = 0.25


def exact_sums(image: Array, kernel: Array, dtype: np.dtype[Any], mode: Mode, method: Summed,
               resources: Resources) -> Array:
    """Returns the exact convolution of integers or booleans, modulo the range of the type `dtype`. A result of booleans
    is True if any product is."""
    sums = _whole_sums(image, kernel, mode, method, resources)
    if isinstance(image, GpuNumbers):
        if sums is None:
            raise InvalidArgument("integers of this size cannot be summed exactly on a GPU: convert them to float64 "
                                  "or copy them to the host")
        return sums.wrapped(dtype)
    if sums is None:
        sums = _digit_sums(image, kernel, mode, method, resources)
    return sums != 0 if dtype.kind == "b" else sums.astype(dtype)


def _whole_sums(image: Array, kernel: Array, mode: Mode, method: Summed, resources: Resources) -> Array | None:
    """Returns the sums as int64, or None if no floating-point type has sums that are near enough to integers."""
    size = _norm(image) * _norm(kernel)
    precision: Literal["float32", "float64"]
    for precision in ("float32", "float64"):
        if size * _ERRORS[precision] < _LARGEST_ERROR:
            sums = convolved(image, kernel, mode=mode, precision=precision, method=method, resources=resources)
            return sums.rounded() if isinstance(sums, GpuNumbers) else np.rint(sums, out=sums).astype(np.int64)
    return None


def _digit_sums(image: Array, kernel: Array, mode: Mode, method: Summed, resources: Resources) -> Array:
    """Returns the sums as uint64, modulo 2**64, from sums of the numbers' digits of 16 bits."""
    images, kernels = ([_digit(array, place) for place in range(64 // _DIGIT)] for array in (image, kernel))
    total: Array | None = None
    for place in range(64 // _DIGIT):
        for first in range(place + 1):
            if images[first].any() and kernels[place - first].any():
                sums = _split_sums(images[first], kernels[place - first], mode, method, resources)
                sums <<= np.uint64(_DIGIT * place)
                total = sums if total is None else np.add(total, sums, out=total)
    if total is None:  # all products are multiples of 2**64
        return np.zeros(result_shape(image.shape, kernel.shape, mode), np.uint64)
    return total


def _split_sums(image: Array, kernel: Array, mode: Mode, method: Summed, resources: Resources) -> Array:
    """Returns the sums of digits as uint64. The image's digits are divided into bytes if float64 is not exact."""
    sums = _whole_sums(image, kernel, mode, method, resources)
    if sums is not None:
        return sums.astype(np.uint64)
    high = _whole_sums(image >> 8, kernel, mode, method, resources)
    low = _whole_sums(image & 255, kernel, mode, method, resources)
    if high is None or low is None:
        raise InvalidArgument("integers of so many samples cannot be summed exactly: convert them to float64")
    return (high.astype(np.uint64) << np.uint64(8)) + low.astype(np.uint64)


def _digit(array: Array, place: int) -> Array:
    """Returns a digit of each number modulo 2**64."""
    return (array.astype(np.uint64) >> np.uint64(_DIGIT * place)).astype(np.uint16)


def _norm(array: Array) -> float:
    """Returns an upper bound of an array's Euclidean norm."""
    largest = max(abs(int(array.max())), abs(int(array.min())))
    return largest * math.sqrt(array.size)
