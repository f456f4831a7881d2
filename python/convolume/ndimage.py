# SPDX-License-Identifier: Apache-2.0
"""Drop-ins for filters of scipy.ndimage: the same parameters, defaults, centers, boundaries and types of results.

Weights may be longer than 1 along 1 to 3 axes; other axes are a batch. All functions also have keywords for devices
and threads (`device`, `workers`) and for memory limits (`max_host_mem`, `max_gpu_mem`): see :class:`convolume.Run`.

Arrays of CuPy, PyTorch and JAX in a GPU's memory stay there, and so do the results.

Differences from scipy.ndimage:

- Results of float32 and complex64 are summed in that precision, not in float64. Pass ``output=np.float64`` if more is
  needed.
- float16 can be filtered, in float32. Long double is computed in float64.
- Results of booleans are True or False.
- Weights with NaN or infinities are an error, and so are boxes and Gaussians longer than 4 times their axis and than
  2**22 samples.
- Errors are :class:`convolume.InvalidArgument` (a ValueError). Where SciPy raises a RuntimeError, they are one, too.
"""

import contextlib
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._argument_types import names_wrong_types
from ._arrays import ArrayForm
from ._errors import InvalidArgument
from ._gpu_numbers import on_host
from ._neighborhoods import (
    AxisFilter,
    Filter,
    FilterArgument,
    boundary,
    each,
    filter_output,
    filtered,
    filtered_axes,
    separable,
)
from ._plain_filters import WeightsForm, center_of_weights, is_plain, plain_product, plain_result
from ._run import Device
from ._sums import Array, ByteSize, Resources, given_back, numbers

__all__ = ["convolve", "convolve1d", "correlate", "correlate1d", "gaussian_filter", "gaussian_filter1d",
           "uniform_filter", "uniform_filter1d"]

_MOST_TAPS = 2**22  # samples of a filter along a short axis; more take minutes
_MOST_ORDER = 100  # derivatives of higher orders are beyond the range of float64

Modes = str | Sequence[str]


@names_wrong_types
def convolve(input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: complex = 0.0,
             origin: int | Sequence[int] = 0, *, axes: Sequence[int] | int | None = None, device: Device = "auto",
             workers: int | None = None, max_host_mem: ByteSize = None, max_gpu_mem: ByteSize = None) -> Any:
    """Computes the convolution of an image with weights, as scipy.ndimage.convolve.

    In 1D, sample i is the sum over j of the following, with c = len(weights) // 2 + origin:

        weights[j] * input[i - j + c]

    Parameters
    ----------
    input : array
        Image with any number of axes.
    weights : array
        Its number of axes is that of `input`, or of `axes`.
    output : type or NumPy array, optional
        Type of the result, or an array of the input's shape that receives it. By default the input's type. Integers are
        truncated toward 0 and wrapped to the type's range.
    mode : {"reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap"}
        Continuation of the image beyond its border.
    cval : number
        Value of samples outside the image, for "constant".
    origin : int or sequence of ints
        Shift of the weights' center: one for all filtered axes, or one for each, in the order of `axes`.
    axes : sequence of ints, optional
        Axes that are filtered, all by default. Weights lie along them in ascending order.
    device, workers, max_host_mem, max_gpu_mem
        See :class:`convolume.Run`.

    Returns
    -------
    array, of the input's shape

    Raises
    ------
    InvalidArgument
        Shapes, modes, axes or origins that do not fit (a ValueError).

    Examples
    --------
    >>> from convolume.ndimage import convolve
    >>> convolve([2, 8, 0, 4, 1, 9, 9, 0], [1, 3], device="cpu")
    array([14, 24,  4, 13, 12, 36, 27,  0])
    """
    return _convolve_in_box(input, weights, output, mode, cval, origin, axes, True,
                            Resources(device, workers, max_host_mem, max_gpu_mem))


@names_wrong_types
def correlate(input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: complex = 0.0,
              origin: int | Sequence[int] = 0, *, axes: Sequence[int] | int | None = None, device: Device = "auto",
              workers: int | None = None, max_host_mem: ByteSize = None, max_gpu_mem: ByteSize = None) -> Any:
    """Computes the correlation of an image with weights, as scipy.ndimage.correlate.

    In 1D, sample i is the sum over j of the following, with c = len(weights) // 2 + origin:

        conj(weights[j]) * input[i + j - c]

    Parameters, results and errors are those of :func:`convolve`.

    Examples
    --------
    >>> from convolume.ndimage import correlate
    >>> correlate([2, 8, 0, 4, 1, 9, 9, 0], [1, 3], device="cpu")
    array([ 8, 26,  8, 12,  7, 28, 36,  9])
    """
    return _convolve_in_box(input, weights, output, mode, cval, origin, axes, False,
                            Resources(device, workers, max_host_mem, max_gpu_mem))


@names_wrong_types
def convolve1d(input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect",
               cval: complex = 0.0, origin: int = 0, *, device: Device = "auto", workers: int | None = None,
               max_host_mem: ByteSize = None, max_gpu_mem: ByteSize = None) -> Any:
    """Computes the convolution along one axis, as scipy.ndimage.convolve1d.

    Parameters
    ----------
    input : array
        Image with any number of axes.
    weights : 1D array
    axis : int
        Axis that is filtered.
    output, mode, cval, origin, device, workers, max_host_mem, max_gpu_mem
        See :func:`convolve`.

    Returns
    -------
    array, of the input's shape

    Raises
    ------
    InvalidArgument
        See :func:`convolve`.

    Examples
    --------
    >>> from convolume.ndimage import convolve1d
    >>> convolve1d([[2., 8., 0.], [4., 1., 9.]], [1, 3], axis=0, device="cpu")
    array([[10., 25.,  9.],
           [16.,  4., 36.]])
    """
    return _line(input, weights, axis, output, mode, cval, origin, True,
                 Resources(device, workers, max_host_mem, max_gpu_mem))


@names_wrong_types
def correlate1d(input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect",
                cval: complex = 0.0, origin: int = 0, *, device: Device = "auto", workers: int | None = None,
                max_host_mem: ByteSize = None, max_gpu_mem: ByteSize = None) -> Any:
    """Computes the correlation along one axis, as scipy.ndimage.correlate1d.

    Parameters, results and errors are those of :func:`convolve1d`.

    Examples
    --------
    >>> from convolume.ndimage import correlate1d
    >>> correlate1d([2, 8, 0, 4, 1, 9, 9, 0], [1, 3], device="cpu")
    array([ 8, 26,  8, 12,  7, 28, 36,  9])
    """
    return _line(input, weights, axis, output, mode, cval, origin, False,
                 Resources(device, workers, max_host_mem, max_gpu_mem))


@names_wrong_types
def gaussian_filter1d(input: Any, sigma: float, axis: int = -1, order: int = 0, output: Any = None,
                      mode: str = "reflect", cval: complex = 0.0, truncate: float = 4.0, *, radius: int | None = None,
                      device: Device = "auto", workers: int | None = None, max_host_mem: ByteSize = None,
                      max_gpu_mem: ByteSize = None) -> Any:
    """Filters along one axis with a Gaussian or one of its derivatives, as scipy.ndimage.gaussian_filter1d.

    Parameters
    ----------
    input : array
        Image with any number of axes.
    sigma : float
        Standard deviation, in samples.
    axis : int
        Axis that is filtered.
    order : int
        Order of the derivative: 0 for the Gaussian itself.
    output, mode, cval
        See :func:`convolve`.
    truncate : float
        Radius of the filter in standard deviations.
    radius : int, optional
        Radius of the filter in samples, in place of `truncate`.
    device, workers, max_host_mem, max_gpu_mem
        See :class:`convolume.Run`.

    Returns
    -------
    array, of the input's shape

    Raises
    ------
    InvalidArgument
        A negative order or radius, or an error of :func:`convolve` (a ValueError).

    Examples
    --------
    >>> from convolume.ndimage import gaussian_filter1d
    >>> gaussian_filter1d([1., 2., 3., 4., 5.], 1, device="cpu").round(6)
    array([1.427041, 2.067822, 3.      , 3.932178, 4.572959])
    """
    image = numbers(input, "input")
    found = _checked_axis(axis, image.ndim)
    result = filter_output(output, image, image.dtype.kind == "c")
    one = _gaussian_axis_filter(found, image.shape[found], sigma, order, mode, truncate, radius)
    resources = Resources(device, workers, max_host_mem, max_gpu_mem)
    return given_back(separable(image, [one], cval, result, resources), input)


@names_wrong_types
def gaussian_filter(input: Any, sigma: float | Sequence[float], order: int | Sequence[int] = 0, output: Any = None,
                    mode: Modes = "reflect", cval: complex = 0.0, truncate: float = 4.0, *,
                    radius: int | Sequence[int] | None = None, axes: Sequence[int] | int | None = None,
                    device: Device = "auto", workers: int | None = None, max_host_mem: ByteSize = None,
                    max_gpu_mem: ByteSize = None) -> Any:
    """Filters along several axes with a Gaussian or one of its derivatives, as scipy.ndimage.gaussian_filter.

    Integer results are truncated after each axis, as SciPy does. Any number of axes can be filtered.

    Parameters
    ----------
    input : array
        Image with any number of axes.
    sigma : float or sequence of floats
        Standard deviation in samples: one for all filtered axes, or one for each. An axis with 0 is not filtered.
    order : int or sequence of ints
        Order of the derivative: 0 for the Gaussian itself.
    output, cval, axes
        See :func:`convolve`.
    mode : str or sequence of str
        See :func:`convolve`. One for all filtered axes, or one for each.
    truncate : float
        Radius of the filter in standard deviations.
    radius : int or sequence of ints, optional
        Radius of the filter in samples, in place of `truncate`.
    device, workers, max_host_mem, max_gpu_mem
        See :class:`convolume.Run`.

    Returns
    -------
    array, of the input's shape

    Raises
    ------
    InvalidArgument
        Parameters that do not fit the axes, a negative order or radius (a ValueError).

    Examples
    --------
    >>> import numpy as np
    >>> from convolume.ndimage import gaussian_filter
    >>> gaussian_filter(np.arange(0, 50, 2).reshape(5, 5), 1, device="cpu")
    array([[ 4,  6,  8,  9, 11],
           [10, 12, 14, 15, 17],
           [20, 22, 24, 25, 27],
           [29, 31, 33, 34, 36],
           [35, 37, 39, 40, 42]])
    """
    resources = Resources(device, workers, max_host_mem, max_gpu_mem)
    return _along_axes(input, output, _gaussian_filters, (axes, sigma, order, mode, truncate, radius), cval, resources)


@names_wrong_types
def uniform_filter1d(input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect",
                     cval: complex = 0.0, origin: int = 0, *, device: Device = "auto", workers: int | None = None,
                     max_host_mem: ByteSize = None, max_gpu_mem: ByteSize = None) -> Any:
    """Computes the mean of `size` samples along one axis, as scipy.ndimage.uniform_filter1d.

    Parameters
    ----------
    input : array
        Image with any number of axes.
    size : int
        Number of samples.
    axis : int
        Axis that is filtered.
    output, mode, cval, origin, device, workers, max_host_mem, max_gpu_mem
        See :func:`convolve`.

    Returns
    -------
    array, of the input's shape

    Raises
    ------
    InvalidArgument
        A size below 1, or an error of :func:`convolve` (a ValueError).

    Examples
    --------
    >>> from convolume.ndimage import uniform_filter1d
    >>> uniform_filter1d([2, 8, 0, 4, 1, 9, 9, 0], 3, device="cpu")
    array([4, 3, 4, 1, 4, 6, 6, 3])
    """
    image = numbers(input, "input")
    result = filter_output(output, image, image.dtype.kind == "c")
    found = _checked_axis(axis, image.ndim)
    one = _uniform_axis_filter(found, image.shape[found], size, origin, mode)
    resources = Resources(device, workers, max_host_mem, max_gpu_mem)
    return given_back(separable(image, [one], cval, result, resources), input)


@names_wrong_types
def uniform_filter(input: Any, size: int | Sequence[int] = 3, output: Any = None, mode: Modes = "reflect",
                   cval: complex = 0.0, origin: int | Sequence[int] = 0, *, axes: Sequence[int] | int | None = None,
                   device: Device = "auto", workers: int | None = None, max_host_mem: ByteSize = None,
                   max_gpu_mem: ByteSize = None) -> Any:
    """Computes the mean of a box of samples, as scipy.ndimage.uniform_filter.

    Integer results are truncated after each axis, as SciPy does. Any number of axes can be filtered.

    Parameters
    ----------
    input : array
        Image with any number of axes.
    size : int or sequence of ints
        Extents of the box: one for all filtered axes, or one for each.
    output, cval, origin, axes
        See :func:`convolve`.
    mode : str or sequence of str
        See :func:`convolve`. One for all filtered axes, or one for each.
    device, workers, max_host_mem, max_gpu_mem
        See :class:`convolume.Run`.

    Returns
    -------
    array, of the input's shape

    Raises
    ------
    InvalidArgument
        Parameters that do not fit the axes (a ValueError).

    Examples
    --------
    >>> import numpy as np
    >>> from convolume.ndimage import uniform_filter
    >>> uniform_filter(np.arange(12.).reshape(3, 4), 3, mode="nearest", device="cpu").round(3)
    array([[1.667, 2.333, 3.333, 4.   ],
           [4.333, 5.   , 6.   , 6.667],
           [7.   , 7.667, 8.667, 9.333]])
    """
    resources = Resources(device, workers, max_host_mem, max_gpu_mem)
    return _along_axes(input, output, _uniform_filters, (axes, size, origin, mode), cval, resources)


def _checked_axis(axis: int, dimensions: int) -> int:
    if not -dimensions <= axis < dimensions:
        raise InvalidArgument(f"axis {axis} exceeds the {dimensions} dimensions of the input")
    return int(axis) % dimensions


def _gaussian_filters(shape: tuple[int, ...], axes: Any, sigma: Any, order: Any, mode: Any, truncate: float,
                      radius: Any) -> list[AxisFilter]:
    found = filtered_axes(axes, len(shape))
    parameters = zip(found, *(each(value, len(found), what) for value, what in (
        (sigma, "sigma"), (order, "order"), (mode, "mode"), (radius, "radius"))))
    return [_gaussian_axis_filter(axis, shape[axis], sd, derivative, edge, truncate, reach)
            for axis, sd, derivative, edge, reach in parameters if sd > 1e-15]


def _uniform_filters(shape: tuple[int, ...], axes: Any, size: Any, origin: Any, mode: Any) -> list[AxisFilter]:
    found = filtered_axes(axes, len(shape))
    parameters = zip(found, *(each(value, len(found), what) for value, what in (
        (size, "size"), (origin, "origin"), (mode, "mode"))))
    return [_uniform_axis_filter(axis, shape[axis], int(width), shift, edge) for axis, width, shift, edge in parameters
            if width > 1]


def _along_axes(input: Any, output: Any, filters_of: Callable[..., list[AxisFilter]], parameters: tuple[Any, ...],
                cval: complex, resources: Resources) -> Any:
    """Applies filters_of(shape, *parameters) to an image."""
    if output is None and is_plain(input, cval):
        with contextlib.suppress(TypeError):  # an argument without a hash
            found = plain_product(ArrayForm(input.shape, input.dtype), filters_of, parameters, float(cval.real),
                                   resources)
            sums = None if found is None else found.sums.result(input, found.weights, resources.device)
            if sums is not None:
                return sums
    image = numbers(input, "input")
    result = filter_output(output, image, image.dtype.kind == "c")
    filters = filters_of(image.shape, *parameters)
    return given_back(separable(image, filters, cval, result, resources), input)


def _convolve_in_box(input: Any, weights: Any, output: Any, mode: str, cval: complex, origin: int | Sequence[int],
                     axes: Sequence[int] | int | None, convolution: bool, resources: Resources) -> Any:
    if output is None and axes is None and type(weights) is np.ndarray and isinstance(origin, int):
        form = WeightsForm(weights.shape, mode, cval, (origin,) * weights.ndim, convolution)
        sums = plain_result(input, weights, form, resources)
        if sums is not None:
            return sums
    image, taps = numbers(input, "input"), _weights(weights)
    result = filter_output(output, image, image.dtype.kind == "c" or taps.dtype.kind == "c")
    found = filtered_axes(axes, image.ndim)
    if taps.ndim != len(found) or taps.size == 0:
        raise FilterArgument(f"weights.ndim ({taps.ndim}) must match len(axes) ({len(found)}): the weights have the "
                             f"shape {taps.shape}, and need extents of 1 at least")
    edge = boundary(mode)
    shifts = each(origin, len(found), "origin")
    if len(found) < image.ndim:  # SciPy takes origins in the order of `axes`, and axes of weights in that of the image
        shifts = [shift for _, shift in sorted(zip(found, shifts))]
    center = [center_of_weights(length, shift) for length, shift in zip(taps.shape, shifts)]
    if not convolution:
        center = [length - 1 - c for length, c in zip(taps.shape, center)]
        taps = np.conj(np.flip(taps))
    if image.ndim == 0:
        return result.deliver(np.asarray(image * taps))[()]
    shape, centers = [1] * image.ndim, [0] * image.ndim
    for axis, length, c in zip(sorted(found), taps.shape, center):
        shape[axis], centers[axis] = length, c
    sums = filtered(image, Filter(taps.reshape(shape), centers, edge, cval), result, "box", resources)
    return given_back(result.deliver(sums), input)


def _line(input: Any, weights: Any, axis: int, output: Any, mode: str, cval: complex, origin: int, convolution: bool,
          resources: Resources) -> Any:
    if (output is None and type(input) is type(weights) is np.ndarray and weights.ndim == 1 and isinstance(origin, int)
            and axis in (-1, input.ndim - 1)):
        others = input.ndim - 1
        form = WeightsForm((1,) * others + weights.shape, mode, cval, (0,) * others + (origin,), convolution)
        sums = plain_result(input, weights, form, resources)
        if sums is not None:
            return sums
    image, taps = numbers(input, "input"), _weights(weights)
    result = filter_output(output, image, image.dtype.kind == "c" or taps.dtype.kind == "c")
    if taps.ndim != 1 or taps.size == 0:
        raise FilterArgument(f"weights of shape {taps.shape}: a filter along one axis takes a sequence of 1 number at "
                              "least")
    found, center = _checked_axis(axis, image.ndim), center_of_weights(len(taps), origin)
    if not convolution:
        center, taps = len(taps) - 1 - center, np.conj(taps[::-1])
    one = AxisFilter(found, taps, center, boundary(mode))
    return given_back(separable(image, [one], cval, result, resources), input)


def _weights(weights: Any) -> Array:
    """Returns weights in double precision, in which SciPy takes them."""
    taps = on_host(numbers(weights, "weights"))
    return taps.astype(np.complex128 if taps.dtype.kind == "c" else np.float64, copy=False)


def _check_taps(taps: float, extent: int, what: str) -> None:
    """Refuses a filter that is far longer than its axis."""
    most = max(_MOST_TAPS, 4 * extent)
    if not abs(taps) <= most:
        raise InvalidArgument(f"{what} has too many samples for an axis of {extent}: give a filter of at most {most}")


def _gaussian_axis_filter(axis: int, extent: int, sigma: float, order: int, mode: str, truncate: float,
                          radius: int | None) -> AxisFilter:
    if sigma == 0:
        raise InvalidArgument("a Gaussian of sigma 0: it must be above 0")
    reach = radius
    if radius is None:
        half = float(truncate) * float(sigma)
        _check_taps(2 * half, extent, f"a Gaussian of sigma {sigma} to truncate at {truncate}")
        reach = int(half + 0.5)
    if not isinstance(reach, (int, np.integer)) or reach < 0:
        raise InvalidArgument(f"the radius {reach} of a Gaussian: it must be a whole number, 0 at least")
    _check_taps(2 * int(reach), extent, f"a Gaussian of radius {reach}")
    if not 0 <= order <= _MOST_ORDER:
        raise InvalidArgument(f"the order {order} of a Gaussian: it must be from 0 to {_MOST_ORDER}")
    return AxisFilter(axis, _gaussian(float(sigma), int(order), int(reach)), int(reach), boundary(mode))


@functools.lru_cache(maxsize=64)
def _gaussian(sigma: float, order: int, radius: int) -> Array:
    """Returns samples of the `order`-th derivative of a Gaussian whose own samples have the sum 1. They are shared by
    callers, which only read them."""
    x = np.arange(-radius, radius + 1)
    # A width whose square is 0 has one sample, whatever the distance.
    variance = max(sigma * sigma, float(np.finfo(float).tiny))
    gaussian: Array = np.exp(-0.5 / variance * x ** 2)
    gaussian = gaussian / gaussian.sum()
    if order == 0:
        return gaussian
    factor: Any = np.polynomial.Polynomial([1.0])  # the derivative is this polynomial times the Gaussian
    slope = np.polynomial.Polynomial([0.0, -1.0 / variance])
    with np.errstate(all="ignore"):
        for _ in range(order):
            factor = factor.deriv() + slope * factor
        derivative = np.asarray(factor(x) * gaussian)
    if not np.isfinite(derivative).all():
        raise InvalidArgument(f"the derivative {order} of a Gaussian of sigma {sigma} is too large for a number: give "
                              f"a larger sigma")
    return derivative


def _uniform_axis_filter(axis: int, extent: int, size: int, origin: int, mode: str) -> AxisFilter:
    size = operator.index(size)
    if size < 1:
        raise FilterArgument(f"a size of {size}: it must be 1 at least")
    center = size // 2 + int(origin)
    if not 0 <= center < size:
        raise InvalidArgument(f"the origin {origin} leaves the box of {size} samples")
    _check_taps(size, extent, f"a box of {size}")
    return AxisFilter(axis, np.ones(size), size - 1 - center, boundary(mode), size)
