# SPDX-License-Identifier: Apache-2.0
"""Drop-ins for functions of scipy.signal: the same parameters, defaults, shapes, centers and types of results.

They convolve along 1 to 3 axes; other axes are a batch. All functions also have keywords for devices and threads
(`device`, `workers`) and for memory limits (`max_host_mem`, `max_gpu_mem`): see :class:`convolume.Run`.

Arrays of CuPy, PyTorch and JAX in a GPU's memory stay there, and so do the results.

Differences from scipy.signal:

- Integers and booleans are summed exactly, modulo the type's range, by every method.
- float16 is computed in float32, long double in float64. The types of results are SciPy's.
- NaN and infinities in the larger input spread as the method does, which is warned of. Method "direct" keeps them in
  the sums that contain them. In the smaller input they are an error.
- Errors are :class:`convolume.InvalidArgument` and others of convolume. ValueErrors of SciPy are ValueErrors here.
"""

import cmath
import functools
import itertools
import math
import warnings
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeGuard

import numpy as np

from ._argument_types import names_wrong_types
from ._arrays import TYPES, ArrayForm
from ._convolve import problem_on_gpu
from ._convolver import convolve_on_gpu
from ._device import DeviceArray, is_on_gpu
from ._errors import InvalidArgument
from ._exact_sums import Summed, exact_sums
from ._gpu_numbers import GpuNumbers, both_on_one_side
from ._options import Mode
from ._problem import Problem
from ._run import Device
from ._signal_fourier import resample
from ._signal_resampling import decimate, resample_poly, upfirdn
from ._sums import (
    Array,
    ByteSize,
    PlainSums,
    Resources,
    convolved,
    empty_beside,
    given_back,
    numbers,
    plain_sums,
    precision_of,
)

__all__ = ["convolve", "correlate", "decimate", "fftconvolve", "oaconvolve", "resample", "resample_poly", "upfirdn"]

Axes = int | Sequence[int] | None
Method = Literal["auto", "direct", "fft"]


@names_wrong_types
def fftconvolve(in1: Any, in2: Any, mode: Mode = "full", axes: Axes = None, *, device: Device = "auto",
                workers: int | None = None, max_host_mem: ByteSize = None, max_gpu_mem: ByteSize = None) -> Any:
    """Computes the convolution of two arrays in floating point, as scipy.signal.fftconvolve.

    It uses the method that is predicted to be fastest, which may not be a Fourier method.

    Parameters
    ----------
    in1, in2 : arrays
        Arrays with equal numbers of axes. Along axes that are not convolved, extents are equal or one of them is 1
        (broadcast).
    mode : {"full", "same", "valid"}
        Size of the result along the convolved axes. For extents n of `in1` and k of `in2` it is n + k - 1, n (the
        center of "full", from its sample (k - 1) // 2 on), or abs(n - k) + 1.
    axes : int or sequence of ints, optional
        Axes that are convolved, all by default. 1 to 3 of them may have extents above 1 in both arrays.
    device, workers, max_host_mem, max_gpu_mem
        See :class:`convolume.Run`.

    Returns
    -------
    array
        float32 or complex64 if neither input has integers or double precision, else float64 or complex128. If no axis
        is convolved, the inputs' own type. An empty input gives an empty array.

    Raises
    ------
    InvalidArgument
        Shapes, modes or axes that do not fit (a ValueError).

    Examples
    --------
    >>> import numpy as np
    >>> from convolume.signal import fftconvolve
    >>> fftconvolve([1., 2., 3.], [1., 1.], device="cpu")
    array([1., 3., 5., 3.])
    >>> fftconvolve(np.ones((2, 3)), [[1., 1.]], "same", axes=1, device="cpu")
    array([[1., 2., 2.],
           [1., 2., 2.]])
    """
    return _frequency_style(in1, in2, mode, axes, Resources(device, workers, max_host_mem, max_gpu_mem))


@names_wrong_types
def oaconvolve(in1: Any, in2: Any, mode: Mode = "full", axes: Axes = None, *, device: Device = "auto",
               workers: int | None = None, max_host_mem: ByteSize = None, max_gpu_mem: ByteSize = None) -> Any:
    """Computes the convolution of two arrays in floating point, as scipy.signal.oaconvolve.

    It equals :func:`fftconvolve`, which divides long data itself if that is faster. Parameters, results and errors are
    those of :func:`fftconvolve`.

    Examples
    --------
    >>> from convolume.signal import oaconvolve
    >>> oaconvolve([1., 2., 3., 4.], [1., 1.], "valid", device="cpu")
    array([3., 5., 7.])
    """
    return _frequency_style(in1, in2, mode, axes, Resources(device, workers, max_host_mem, max_gpu_mem))


@names_wrong_types
def convolve(in1: Any, in2: Any, mode: Mode = "full", method: Method = "auto", *, device: Device = "auto",
             workers: int | None = None, max_host_mem: ByteSize = None, max_gpu_mem: ByteSize = None) -> Any:
    """Computes the convolution of two arrays in their own type, as scipy.signal.convolve.

    Parameters
    ----------
    in1, in2 : arrays
        Arrays with equal numbers of axes. Both may be longer than 1 along at most 3 axes.
    mode : {"full", "same", "valid"}
        See :func:`fftconvolve`.
    method : {"auto", "direct", "fft"}
        "direct" forces direct sums. "auto" and "fft" take the method that is predicted to be fastest.
    device, workers, max_host_mem, max_gpu_mem
        See :class:`convolume.Run`.

    Returns
    -------
    array
        The result in NumPy's common type of both inputs. Integers are exact, modulo the type's range. Booleans are True
        if any product is.

    Raises
    ------
    InvalidArgument
        Shapes, modes or methods that do not fit, and empty 1D inputs (a ValueError).

    Examples
    --------
    >>> from convolume.signal import convolve
    >>> convolve([1, 2, 3], [0, 1, 5], device="cpu")
    array([ 0,  1,  7, 13, 15])
    """
    first, second = _pair(in1, in2)
    result = _typed(first, second, mode, method, Resources(device, workers, max_host_mem, max_gpu_mem))
    return given_back(result, in1)


@names_wrong_types
def correlate(in1: Any, in2: Any, mode: Mode = "full", method: Method = "auto", *, device: Device = "auto",
              workers: int | None = None, max_host_mem: ByteSize = None, max_gpu_mem: ByteSize = None) -> Any:
    """Computes the correlation of two arrays in their own type, as scipy.signal.correlate.

    It is the convolution of `in1` with the flipped and conjugated `in2`. In mode "full" and in 1D, sample i is the sum
    over j of the following, where k is the extent of `in2`:

        in1[j] * conj(in2[j - i + k - 1])

    Parameters, results and errors are those of :func:`convolve`.

    Examples
    --------
    >>> from convolume.signal import correlate
    >>> correlate([1, 2, 3], [0, 1, 5], device="cpu")
    array([ 5, 11, 17,  3,  0])
    """
    first, second = _pair(in1, in2)
    flipped = _flipped(second)
    result = _typed(first, flipped, mode, method, Resources(device, workers, max_host_mem, max_gpu_mem))
    return given_back(result, in1)


def _pair(in1: Any, in2: Any) -> tuple[Array, Array]:
    """Returns both inputs as arrays of numbers on one side, host or GPU."""
    return both_on_one_side(numbers(in1, "in1"), numbers(in2, "in2"), ("in1", "in2"))


def _flipped(kernel: Array) -> Array:
    """Returns a kernel flipped along all axes and conjugated."""
    if isinstance(kernel, GpuNumbers):
        return kernel.beside(_flipped(kernel.on_host()))
    return np.flip(kernel) if kernel.dtype.kind != "c" else np.conj(np.flip(kernel))


def _check_mode(mode: str) -> TypeGuard[Mode]:
    if mode not in ("full", "same", "valid"):
        raise InvalidArgument(f"there is no mode '{mode}': acceptable mode flags are 'valid', 'same', or 'full'")
    return True


def _check_dimensions(in1: Array, in2: Array) -> None:
    if in1.ndim != in2.ndim:
        raise InvalidArgument(f"in1 and in2 should have the same dimensionality: in1 has {in1.ndim} dimensions "
                              f"and in2 {in2.ndim}")


def _is_exchanged(shape1: Sequence[int], shape2: Sequence[int], mode: Mode, axes: Sequence[int]) -> bool:
    """Tells whether arrays are exchanged: in mode "valid", if the second is the larger one along these axes."""
    if mode != "valid" or all(shape1[axis] >= shape2[axis] for axis in axes):
        return False
    if all(shape2[axis] >= shape1[axis] for axis in axes):
        return True
    raise InvalidArgument("For 'valid' mode, one must be at least as large as the other in every dimension that is "
                          f"convolved: the shapes are {tuple(shape1)} and {tuple(shape2)}")


def _second_is_image(first: ArrayForm, second: ArrayForm, mode: Mode) -> bool | None:
    """Tells which of two arrays is the image if they are convolved along all axes, in their common type; None if they
    need more than that."""
    if (first.dtype.kind not in "fc" or second.dtype.kind not in "fc" or not TYPES.issuperset((first[1], second[1]))
            or len(first.shape) != len(second.shape) or min((*first.shape, *second.shape), default=0) < 2):
        return None
    try:
        _check_mode(mode)
        is_exchanged = _is_exchanged(first.shape, second.shape, mode, range(len(first.shape)))
    except InvalidArgument:
        return None
    return math.prod(first.shape) < math.prod(second.shape) if mode == "full" else is_exchanged


class _PlainForm(NamedTuple):
    """A convolution of NumPy arrays along all axes as far as it depends on their shapes and types."""

    sums: PlainSums
    is_exchanged: bool
    """Whether the second array is the image."""


@functools.lru_cache(maxsize=256)
def _plain_form(first: ArrayForm, second: ArrayForm, mode: Mode, resources: Resources) -> _PlainForm | None:
    is_exchanged = _second_is_image(first, second, mode)
    if is_exchanged is None:
        return None
    image, kernel = (second, first) if is_exchanged else (first, second)
    dtype = np.result_type(first.dtype, second.dtype)
    return _PlainForm(plain_sums(image, kernel, dtype, resources, mode=mode), is_exchanged)


class _GpuForm(NamedTuple):
    """A convolution of arrays in a GPU's memory along all axes as far as it depends on their shapes and types."""

    problem: Problem
    is_exchanged: bool
    """Whether the second array is the image."""


@functools.lru_cache(maxsize=256)
def _gpu_form(first: ArrayForm, second: ArrayForm, mode: Mode, resources: Resources) -> _GpuForm | None:
    is_exchanged = _second_is_image(first, second, mode)
    if is_exchanged is None or not 2 <= len(first.shape) <= 3 or resources.device not in ("auto", "gpu"):
        return None
    image, kernel = (second, first) if is_exchanged else (first, second)
    problem = problem_on_gpu(image, kernel, "scipy", operation="convolve", mode=mode, nan="propagate",
                             precision=precision_of(np.result_type(first.dtype, second.dtype)), **resources._asdict())
    return _GpuForm(problem, is_exchanged)


def _gpu_result(in1: Any, in2: Any, mode: Mode, resources: Resources) -> Any:
    """Returns the convolution of two arrays in a GPU's memory along all axes, in their common type, without what others
    need; None if these do."""
    if not is_on_gpu(in1) or not is_on_gpu(in2):
        return None
    try:
        first, second = DeviceArray.of(in1, "in1"), DeviceArray.of(in2, "in2")
        form = _gpu_form(ArrayForm(first.shape, first.dtype), ArrayForm(second.shape, second.dtype), mode, resources)
    except (TypeError, InvalidArgument):  # an argument without a hash, or types that are converted
        return None
    if form is None or (first.device, first.given) != (second.device, second.given):
        return None
    image, kernel = (second, first) if form.is_exchanged else (first, second)
    convolver = form.problem.for_kernels_on(image.device, image.dtype)
    return convolve_on_gpu(convolver, image, kernel=kernel)


def _plain_result(in1: Any, in2: Any, mode: Mode, resources: Resources) -> np.ndarray | None:
    """Returns the convolution of two NumPy arrays along all axes, in their common type, without what others need; None
    if these do."""
    if type(in1) is not np.ndarray or type(in2) is not np.ndarray:
        return None
    try:
        form = _plain_form(ArrayForm(in1.shape, in1.dtype), ArrayForm(in2.shape, in2.dtype), mode, resources)
    except TypeError:  # an argument without a hash
        return None
    if form is None:
        return None
    return form.sums.result(*((in2, in1) if form.is_exchanged else (in1, in2)), resources.device)


def _frequency_style(first: Any, second: Any, mode: Mode, axes: Axes, resources: Resources) -> Any:
    if axes is None:
        for result_of in (_plain_result, _gpu_result):
            if (sums := result_of(first, second, mode, resources)) is not None:
                return sums
    in1, in2 = _pair(first, second)
    if in1.ndim == in2.ndim == 0:
        return given_back(in1 * in2, first)
    _check_dimensions(in1, in2)
    if in1.size == 0 or in2.size == 0:
        return given_back(empty_beside(in1, (0,), np.dtype(np.float64)), first)
    chosen = _longer_axes(in1, in2, _listed(axes, in1.ndim))
    _check_mode(mode)
    if _is_exchanged(in1.shape, in2.shape, mode, chosen):
        in1, in2 = in2, in1
    if mode == "same":  # SciPy takes the central part also along axes where in1 is broadcast
        in2 = in2[tuple(slice((k - 1) // 2, (k - 1) // 2 + 1) if n == 1 and axis not in chosen else slice(None)
                        for axis, (n, k) in enumerate(zip(in1.shape, in2.shape)))]
    if not chosen:
        return given_back(in1 * in2, first)
    dtype = np.result_type(_transformed(in1.dtype), _transformed(in2.dtype))
    result = _broadcast(in1, in2, mode, chosen, dtype, resources)
    return given_back(result.astype(dtype, copy=False), first)


def _listed(axes: Axes, dimensions: int) -> list[int]:
    if axes is None:
        return list(range(dimensions))
    given = list(np.atleast_1d(np.asarray(axes, "O")))
    if any(not isinstance(axis, (int, np.integer)) for axis in given):
        raise InvalidArgument(f"axes must be a scalar or iterable of integers: {axes!r}")
    if not given:
        raise InvalidArgument("when provided, axes cannot be empty: name one at least")
    if any(not -dimensions <= axis < dimensions for axis in given):
        raise InvalidArgument(f"axes exceeds dimensionality of input: {tuple(given)} of {dimensions} dimensions")
    found = [int(axis) % dimensions for axis in given]
    if len(set(found)) != len(found):
        raise InvalidArgument(f"all axes must be unique: {tuple(given)} name one twice")
    return found


def _longer_axes(in1: Array, in2: Array, axes: list[int]) -> list[int]:
    """Returns the `axes` along which both arrays are longer than 1. Along all other axes they must broadcast."""
    chosen = [axis for axis in axes if in1.shape[axis] != 1 and in2.shape[axis] != 1]
    for axis, (n, k) in enumerate(zip(in1.shape, in2.shape)):
        if axis not in chosen and n != k and 1 not in (n, k):
            raise InvalidArgument(f"incompatible shapes for in1 and in2: {in1.shape} and {in2.shape} differ along axis "
                                  f"{axis}, a batch's axis")
    return chosen


def _transformed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the type in which SciPy transforms an array: float64 for integers, float32 for float16."""
    if dtype.kind in "biu":
        return np.dtype(np.float64)
    return np.dtype(np.float32) if dtype.char == "e" else dtype


def _broadcast(in1: Array, in2: Array, mode: Mode, chosen: list[int], dtype: np.dtype[Any],
               resources: Resources) -> Array:
    """Computes the convolution along the chosen axes, with one kernel for a whole batch or one for each image of it."""
    others = [axis for axis in range(in1.ndim) if axis not in chosen]
    if mode == "full":  # either may be the kernel: the one without a batch, else the smaller one
        single1, single2 = (all(array.shape[axis] == 1 for axis in others) for array in (in1, in2))
        if (single1, -in1.size) > (single2, -in2.size):
            in1, in2 = in2, in1
    looped = [axis for axis in others if in2.shape[axis] > 1]
    if not looped:
        return convolved(in1, in2, mode=mode, precision=precision_of(dtype), resources=resources)
    result: Array = None
    for index in itertools.product(*(range(in2.shape[axis]) for axis in looped)):
        part: list[slice] = [slice(None)] * in1.ndim
        for axis, number in zip(looped, index):
            part[axis] = slice(number, number + 1)
        image = in1[tuple(slice(None) if n == 1 else one for n, one in zip(in1.shape, part))]
        sums = convolved(image, in2[tuple(part)], mode=mode, precision=precision_of(dtype), resources=resources)
        if result is None:
            shape = [in2.shape[axis] if axis in looped else n for axis, n in enumerate(sums.shape)]
            result = empty_beside(sums, shape, sums.dtype)
        result[tuple(part)] = sums
    assert result is not None  # the inputs are not empty
    return result


def _typed(in1: Array, in2: Array, mode: Mode, method: Method, resources: Resources) -> Any:
    """Computes the convolution of two arrays in their common type."""
    if method == "auto":
        sums = _plain_result(in1, in2, mode, resources)
        if sums is not None and cmath.isfinite(sums.item(0)):  # else SciPy warns
            return sums
    if in1.ndim == in2.ndim == 0:
        return in1 * in2
    _check_dimensions(in1, in2)
    _check_mode(mode)
    if method not in ("auto", "direct", "fft"):
        raise InvalidArgument(f"there is no method '{method}': write 'auto', 'direct' or 'fft'")
    if _is_exchanged(in1.shape, in2.shape, mode, range(in1.ndim)):
        in1, in2 = in2, in1
    dtype = np.result_type(in1.dtype, in2.dtype)
    if in1.size == 0 or in2.size == 0:
        if in1.ndim == 1:
            raise InvalidArgument("an empty input: a 1D convolution needs one sample at least of both")
        extra = {"full": 1, "same": 0, "valid": -1}[mode]
        result = empty_beside(in1, [max(0, n + extra * (k - 1)) for n, k in zip(in1.shape, in2.shape)], dtype)
        result[...] = 0
        return result
    if mode == "full" and in1.size < in2.size:
        in1, in2 = in2, in1
    summed: Summed = "direct" if method == "direct" else "auto"
    if dtype.kind in "biu":
        return exact_sums(in1, in2, dtype, mode, summed, resources)
    result = convolved(in1, in2, mode=mode, precision=precision_of(dtype), method=summed, local_nan=method == "direct",
                       resources=resources)
    if isinstance(result, GpuNumbers):
        return result.astype(dtype)
    if method == "fft" and not np.isfinite(result).all() or method == "auto" and not np.isfinite(result.flat[0]):
        warnings.warn("Use of fft convolution on input with NaN or infinities spreads them over the result: "
                      "method='direct' keeps them in the sums that contain them", RuntimeWarning, stacklevel=3)
    return result.astype(dtype, copy=False)
