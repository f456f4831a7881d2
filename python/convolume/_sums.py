# SPDX-License-Identifier: Apache-2.0
"""Convolution of arrays with any number of axes, for the drop-ins for other libraries' functions."""

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

import numpy as np

from . import _core
from ._arrays import TYPES, ArrayForm, give_back, host_numbers, readable, with_whole_strides
from ._convolver import CachedConvolver, Convolver
from ._device import is_on_gpu
from ._errors import BadData, InvalidArgument
from ._filters import FilterBank, filter_bank
from ._gpu_numbers import GpuConvolver, GpuNumbers, on_host
from ._options import Boundary, Mode, Precision
from ._plain_arrays import AlikeCalls, alike_calls
from ._problem import Method, natural_type, result_shape
from ._run import Device

Array = Any  # an array of NumPy, or GpuNumbers, which has the same names as far as they are used
ByteSize = int | str | None
_MOST_AXES = 3
_MOST_PRODUCTS: int = _core.most_small_products  # products, and samples, of convolve_small()
_LONG_SIGNAL = 1 << 14  # number of samples from which a filter bank is faster than a convolver of one axis


class Resources(NamedTuple):
    """Devices, threads and memory limits of a function, see :class:`convolume.Run`."""

    device: Device = "auto"
    workers: int | None = None
    max_host_mem: ByteSize = None
    max_gpu_mem: ByteSize = None


def numbers(array: Any, what: str) -> Array:
    """Returns `array` as a NumPy array of booleans or numbers, with its own type in the machine's byte order.

    An array in a GPU's memory becomes :class:`GpuNumbers`, which has the same names as far as the drop-ins use them.
    """
    if type(array) is not np.ndarray and is_on_gpu(array):
        return GpuNumbers.of(array, what)
    return host_numbers(array, what)


def given_back(result: Any, like: Any) -> Any:
    """Returns `result` as an array of the library that `like` comes from."""
    if isinstance(result, GpuNumbers):
        return result.given_back(like)
    return give_back(result, like) if isinstance(result, np.ndarray) else result


def computable(array: Array) -> Array:
    """Returns the array in a type that the library reads. Larger types are rounded to float64 or complex128."""
    if isinstance(array, GpuNumbers):
        if array.dtype in TYPES:
            return array
        return array.astype(np.dtype({"b": "uint8", "e": "float32"}.get(array.dtype.char, "float64")))
    if array.dtype in TYPES or array.dtype.kind == "b" or array.dtype.char == "e":
        return readable(array, "the array")
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def empty_beside(array: Array, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """Returns a new array where `array` is: in host memory, or on its GPU."""
    return array.empty(shape, dtype) if isinstance(array, GpuNumbers) else np.empty(shape, dtype)


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


def precision_of(dtype: np.dtype[Any]) -> Precision:
    """Returns the precision of sums that are stored as `dtype`."""
    return "float32" if dtype.char in "efF" else "float64"


class SmallSums(NamedTuple):
    """A small convolution as far as it depends on shapes, types and options."""

    options: _core.Options
    shape: tuple[int, ...]
    """Shape of the result."""
    dtype: np.dtype[Any]


@functools.lru_cache(maxsize=256)
def small_sums(image: tuple[int, ...], kernel: tuple[int, ...], dtype: np.dtype[Any], mode: Mode = "same",
               boundary: Boundary = "zero", cval: float = 0.0,
               center: tuple[int, ...] | None = None) -> SmallSums | None:
    """Returns the convolution of arrays of these shapes with results of type `dtype`; None if direct sums without a
    plan are not for them."""
    if not 1 <= len(image) == len(kernel) <= _MOST_AXES:
        return None
    shape = tuple(result_shape(image, kernel, mode))
    if min(shape) < 1 or max(math.prod(shape) * math.prod(kernel), math.prod(image)) > _MOST_PRODUCTS:
        return None
    middle = [(k - 1) // 2 for k in kernel] if center is None else center
    options = _core.Options(precision=precision_of(dtype), mode=mode, nan="propagate",
                            origin=[0] * (3 - len(kernel)) + list(middle),
                            boundary=f"constant:{cval!r}" if boundary == "constant" else boundary)
    return SmallSums(options, shape, dtype)


def summed_at_once(image: Array, kernel: Array, small: SmallSums | None, device: Device,
                   out: Array | None = None) -> Array | None:
    """Returns a small convolution of NumPy arrays, computed on the CPU by direct sums without a plan; None if it is
    computed in another way."""
    if small is None or not isinstance(device, str) or device not in ("auto", "cpu"):
        return None
    result = np.empty(small.shape, small.dtype) if out is None else out
    try:
        return result if _core.convolve_small(with_whole_strides(image), with_whole_strides(kernel),
                                              small.options, result) else None
    except BadData:  # a kernel of zeros, or with NaN
        return None


class PlainSums(NamedTuple):
    """A convolution of NumPy arrays along all axes as far as it depends on shapes, types and options."""

    small: SmallSums | None
    planned: AlikeCalls | None

    def result(self, image: np.ndarray, kernel: np.ndarray, device: Device) -> Array | None:
        """Returns the sums; None if :func:`convolved` has to find them."""
        found = summed_at_once(image, kernel, self.small, device)
        if found is None and self.planned is not None:
            with contextlib.suppress(BadData):  # a kernel of zeros, or NaN
                return self.planned.result(image, kernel)
        return found


def plain_sums(image: ArrayForm, kernel: ArrayForm, dtype: np.dtype[Any], resources: Resources,
               **form: Any) -> PlainSums:
    """Returns the sums that :func:`convolved` finds for such arrays and the keywords `form`, as far as it needs neither
    batches nor a filter bank."""
    small = small_sums(image.shape, kernel.shape, dtype, **form)
    is_long = len(image.shape) == 1 and image.shape[0] >= _LONG_SIGNAL
    if min(kernel.shape) < 2 or is_long or not 1 <= len(kernel.shape) <= _MOST_AXES:
        return PlainSums(small, None)
    options: dict[str, Any] = {**form, **resources._asdict(), "nan": "error", "precision": precision_of(dtype)}
    options["origin"] = options.pop("center", None) or tuple((k - 1) // 2 for k in kernel.shape)
    return PlainSums(small, alike_calls("convolve", *image, *kernel, **options))


def _is_of_signals(axes: _Axes, image: Array, results: Array) -> bool:
    """Tells whether the convolution filters long signals, which lie along the last axis."""
    samples, taps = axes.image[-1], axes.kernel[-1]
    return (math.prod(axes.kernel[:-1]) == 1 and samples >= _LONG_SIGNAL and samples > 4 * taps
            and image.dtype.kind != "c" and results.dtype.kind == "f")


class _Signals(NamedTuple):
    """Long signals along the last axis, their filter, and memory for the results."""

    signals: Array
    taps: Array
    results: Array
    mode: Mode
    origin: int

    def are_filtered(self, precision: Precision, resources: Resources) -> bool:
        """Filters the signals by a filter bank if its results have the right type. Returns whether it did."""
        if isinstance(self.signals, GpuNumbers):
            if self.signals.dtype != self.results.dtype:
                return False
            filter_bank(self.signals.array, on_host(self.taps).reshape(-1), mode=self.mode, origin=self.origin,
                        precision=precision, out=self.results.array)
            return True
        if resources.max_host_mem is not None:
            return False
        bank = FilterBank(self.signals.shape, self.taps.reshape(-1), dtype=self.signals.dtype, mode=self.mode,
                          origin=self.origin, precision=precision, device=resources.device, workers=resources.workers,
                          max_gpu_mem=resources.max_gpu_mem)
        if bank.dtype != self.results.dtype:
            return False
        bank(self.signals, self.results)
        return True


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
    if isinstance(kernel, GpuNumbers) and not isinstance(image, GpuNumbers):
        kernel = kernel.on_host()
    pixels, taps = computable(image), computable(kernel)
    mode, out = options.get("mode", "same"), options.get("out")
    center = options.get("center") or [(k - 1) // 2 for k in taps.shape]
    dtype = natural_type(precision, pixels.dtype.kind == "c" or taps.dtype.kind == "c")
    if out is None:
        out = empty_beside(pixels, result_shape(pixels.shape, taps.shape, mode), dtype)
    form: Any = {name: value for name, value in options.items() if name in ("mode", "boundary", "cval")}
    if isinstance(pixels, np.ndarray):
        small = small_sums(pixels.shape, taps.shape, dtype, center=tuple(center), **form)
        if summed_at_once(pixels, taps, small, resources.device, out) is not None:
            return out
    if isinstance(taps, np.ndarray):
        if not np.isfinite(taps).all():
            raise BadData("the kernel holds NaN or infinities: repair it")
        if not taps.any():
            out[...] = 0
            return out
    axes = _merged(pixels.shape, taps.shape, center)
    few = pixels.reshape(axes.image)
    results = out.reshape(result_shape(axes.image, axes.kernel, mode))
    batch = sorted((n, axis) for axis, (n, k) in enumerate(zip(axes.image, axes.kernel)) if k == 1)
    looped = sorted(axis for _, axis in batch[:max(0, len(axes.image) - _MOST_AXES)])
    kept = [axis for axis in range(len(axes.image)) if axis not in looped]
    images = math.prod(axes.image[axis] for axis in looped)

    def arguments(method: Method, nan: Literal["error", "propagate"]) -> dict[str, Any]:
        return {"origin": [axes.center[axis] for axis in kept], "precision": precision, "method": method, "nan": nan,
                "executions": images, **form, **resources._asdict()}

    def planned(method: Method, nan: Literal["error", "propagate"]) -> Convolver:
        return CachedConvolver([axes.image[axis] for axis in kept], taps.reshape([axes.kernel[axis] for axis in kept]),
                               dtype=pixels.dtype, **arguments(method, nan))

    def execute(convolver: Callable[[Any, Any], Any]) -> None:
        for index in itertools.product(*(range(axes.image[axis]) for axis in looped)):
            chosen = dict(zip(looped, index))
            where: Any = tuple(chosen.get(axis, slice(None)) for axis in range(len(axes.image)))
            convolver(few[where], results[where])

    method = options.get("method", "auto")
    is_of_signals = (method == "auto" and options.get("boundary", "zero") == "zero"
                     and _is_of_signals(axes, few, results))
    signals = _Signals(few, taps, results, mode, axes.center[-1])
    if isinstance(pixels, GpuNumbers):
        if is_of_signals and signals.are_filtered(precision, resources):
            return out
        execute(GpuConvolver(pixels, [axes.image[axis] for axis in kept],
                             taps.reshape([axes.kernel[axis] for axis in kept]), arguments(method, "propagate")))
        return out
    try:
        if is_of_signals and signals.are_filtered(precision, resources):
            return out
        execute(planned(method, "error"))
    except BadData:  # the image holds NaN or infinities
        if options.get("local_nan"):
            method = "direct"
            if resources.device == "auto":  # GPUs add products with zeros beside the taps, which spread NaN
                resources = resources._replace(device="cpu")
        execute(planned(method, "propagate"))
    return out
