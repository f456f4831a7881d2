# SPDX-License-Identifier: Apache-2.0
"""Convolutions of integers without an error, by floating-point sums that are known to be near enough."""

import math
from typing import Any, Literal

import numpy as np

from ._convolve import Mode
from ._errors import InvalidArgument
from ._sums import Array, Resources, convolved

Summed = Literal["auto", "direct"]

_DIGIT = 16  # bits
# Errors of a result are within this many units of rounding of |image| |kernel|, Euclidean norms.
_ERRORS = {"float32": 64 * 2.0**-24, "float64": 64 * 2.0**-53}
_LARGEST_ERROR = 0.25


def exact_sums(image: Array, kernel: Array, dtype: np.dtype[Any], mode: Mode, method: Summed,
               resources: Resources) -> Array:
    """The convolution of integers or booleans, modulo the range of the type `dtype`; of booleans, whether any is."""
    sums = _whole_sums(image, kernel, mode, method, resources)
    if sums is None:
        sums = _digit_sums(image, kernel, mode, method, resources)
    return sums != 0 if dtype.kind == "b" else sums.astype(dtype)


def _whole_sums(image: Array, kernel: Array, mode: Mode, method: Summed, resources: Resources) -> Array | None:
    """As int64, if sums in a floating-point type are near enough to integers."""
    size = _norm(image) * _norm(kernel)
    precision: Literal["float32", "float64"]
    for precision in ("float32", "float64"):
        if size * _ERRORS[precision] < _LARGEST_ERROR:
            sums = convolved(image, kernel, mode=mode, precision=precision, method=method, resources=resources)
            return np.rint(sums, out=sums).astype(np.int64)
    return None


def _digit_sums(image: Array, kernel: Array, mode: Mode, method: Summed, resources: Resources) -> Array:
    """As uint64, modulo 2**64: sums of the numbers' digits of 16 bits, times the digits' weights."""
    images, kernels = ([_digit(array, place) for place in range(64 // _DIGIT)] for array in (image, kernel))
    total: Array | None = None
    for place in range(64 // _DIGIT):
        for first in range(place + 1):
            if images[first].any() and kernels[place - first].any():
                sums = _split_sums(images[first], kernels[place - first], mode, method, resources)
                sums <<= np.uint64(_DIGIT * place)
                total = sums if total is None else np.add(total, sums, out=total)
    assert total is not None  # numbers of 0 alone are exact in float32
    return total


def _split_sums(image: Array, kernel: Array, mode: Mode, method: Summed, resources: Resources) -> Array:
    """As uint64; of bytes, where digits of 16 bits are too many for float64."""
    sums = _whole_sums(image, kernel, mode, method, resources)
    if sums is not None:
        return sums.astype(np.uint64)
    high = _whole_sums(image >> 8, kernel, mode, method, resources)
    low = _whole_sums(image & 255, kernel, mode, method, resources)
    if high is None or low is None:
        raise InvalidArgument("integers of so many samples cannot be summed exactly: convert them to float64")
    return (high.astype(np.uint64) << np.uint64(8)) + low.astype(np.uint64)


def _digit(array: Array, place: int) -> Array:
    """Of the numbers modulo 2**64."""
    return (array.astype(np.uint64) >> np.uint64(_DIGIT * place)).astype(np.uint16)


def _norm(array: Array) -> float:
    """An upper bound of the Euclidean norm."""
    largest = max(abs(int(array.max())), abs(int(array.min())))
    return largest * math.sqrt(array.size)
