# SPDX-License-Identifier: Apache-2.0
"""Drop-ins for filters of scipy.ndimage: the same parameters, defaults, centers, boundaries and types of results.

Weights may be longer than 1 along 1 to 3 axes; other axes are a batch. All functions also take, by keyword, where they
compute (`device`, `workers`) and with what memory (`max_host_mem`, `max_gpu_mem`): see :class:`convolume.Run`.

What differs from scipy.ndimage:

- Results of float32 and complex64 are summed in that precision, not in float64. Ask for ``output=np.float64`` where
  more is needed.
- float16 can be filtered, in float32. Long double is computed in float64.
- Results of booleans are True or False.
- Weights with NaN or infinities are an error.
- Errors are :class:`convolume.InvalidArgument` (a ValueError) where SciPy has RuntimeErrors as well.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._arrays import give_back
from ._errors import InvalidArgument
from ._neighborhoods import AxisFilter, Filter, boundary, each, filtered, filtered_axes, separable, target
from ._run import Device
from ._sums import Array, ByteSize, Resources, numbers

__all__ = ["convolve", "convolve1d", "correlate", "correlate1d", "gaussian_filter", "gaussian_filter1d",
           "uniform_filter", "uniform_filter1d"]

Modes = str | Sequence[str]


def convolve(input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: complex = 0.0,
             origin: int | Sequence[int] = 0, *, axes: Sequence[int] | int | None = None, device: Device = "auto",
             workers: int | None = None, max_host_mem: ByteSize = None, max_gpu_mem: ByteSize = None) -> Any:
    """The convolution of an image with weights, as scipy.ndimage.convolve.

    In 1D, sample i is the sum of weights[j] input[i - j + c], with c = len(weights) // 2 + origin.

    Parameters
    ----------
    input : array
    weights : array
        As many axes as `input`, or as `axes` names.
    output : type or NumPy array, optional
        The result's type, or an array of the input's shape that takes it. By default the input's type. Integers are
        truncated toward 0 and wrapped to the type's range.
    mode : {"reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap"}
        What lies outside the image.
    cval : number
        The value outside, for "constant".
    origin : int or sequence of ints
        Shift of the weights' center, for all or for each filtered axis.
    axes : sequence of ints, optional
        Those filtered, all by default.
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
    return _box(input, weights, output, mode, cval, origin, axes, True,
                Resources(device, workers, max_host_mem, max_gpu_mem))


def correlate(input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: complex = 0.0,
              origin: int | Sequence[int] = 0, *, axes: Sequence[int] | int | None = None, device: Device = "auto",
              workers: int | None = None, max_host_mem: ByteSize = None, max_gpu_mem: ByteSize = None) -> Any:
    """The correlation of an image with weights, as scipy.ndimage.correlate.

    In 1D, sample i is the sum of conj(weights[j]) input[i + j - c], with c = len(weights) // 2 + origin.

    Parameters
    ----------
    input, weights, output, mode, cval, origin, axes, device, workers, max_host_mem, max_gpu_mem
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
    >>> from convolume.ndimage import correlate
    >>> correlate([2, 8, 0, 4, 1, 9, 9, 0], [1, 3], device="cpu")
    array([ 8, 26,  8, 12,  7, 28, 36,  9])
    """
    return _box(input, weights, output, mode, cval, origin, axes, False,
                Resources(device, workers, max_host_mem, max_gpu_mem))


def convolve1d(input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect",
               cval: complex = 0.0, origin: int = 0, *, device: Device = "auto", workers: int | None = None,
               max_host_mem: ByteSize = None, max_gpu_mem: ByteSize = None) -> Any:
    """The convolution along one axis, as scipy.ndimage.convolve1d.

    Parameters
    ----------
    input : array
    weights : 1D array
    axis : int
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


def correlate1d(input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect",
                cval: complex = 0.0, origin: int = 0, *, device: Device = "auto", workers: int | None = None,
                max_host_mem: ByteSize = None, max_gpu_mem: ByteSize = None) -> Any:
    """The correlation along one axis, as scipy.ndimage.correlate1d.

    Parameters
    ----------
    input, weights, axis, output, mode, cval, origin, device, workers, max_host_mem, max_gpu_mem
        See :func:`convolve1d`.

    Returns
    -------
    array, of the input's shape

    Raises
    ------
    InvalidArgument
        See :func:`convolve`.

    Examples
    --------
    >>> from convolume.ndimage import correlate1d
    >>> correlate1d([2, 8, 0, 4, 1, 9, 9, 0], [1, 3], device="cpu")
    array([ 8, 26,  8, 12,  7, 28, 36,  9])
    """
    return _line(input, weights, axis, output, mode, cval, origin, False,
                 Resources(device, workers, max_host_mem, max_gpu_mem))


def gaussian_filter1d(input: Any, sigma: float, axis: int = -1, order: int = 0, output: Any = None,
                      mode: str = "reflect", cval: complex = 0.0, truncate: float = 4.0, *, radius: int | None = None,
                      device: Device = "auto", workers: int | None = None, max_host_mem: ByteSize = None,
                      max_gpu_mem: ByteSize = None) -> Any:
    """A Gaussian, or one of its derivatives, along one axis, as scipy.ndimage.gaussian_filter1d.

    Parameters
    ----------
    input : array
    sigma : float
        Standard deviation, in samples.
    axis : int
    order : int
        The derivative: 0 for the Gaussian itself.
    output, mode, cval
        See :func:`convolve`.
    truncate : float
        Where the Gaussian ends, in standard deviations.
    radius : int, optional
        Where it ends, in samples, instead of `truncate`.
    device, workers, max_host_mem, max_gpu_mem
        See :class:`convolume.Run`.

    Returns
    -------
    array, of the input's shape

    Raises
    ------
    InvalidArgument
        A negative order or radius, and see :func:`convolve` (a ValueError).

    Examples
    --------
    >>> from convolume.ndimage import gaussian_filter1d
    >>> gaussian_filter1d([1., 2., 3., 4., 5.], 1, device="cpu").round(6)
    array([1.427041, 2.067822, 3.      , 3.932178, 4.572959])
    """
    image = numbers(input, "input")
    found = _checked_axis(axis, image.ndim)
    result = target(output, image, image.dtype.kind == "c")
    one = _gaussian_axis_filter(found, sigma, order, mode, truncate, radius)
    resources = Resources(device, workers, max_host_mem, max_gpu_mem)
    return give_back(separable(image, [one], cval, result, resources), input)


def gaussian_filter(input: Any, sigma: float | Sequence[float], order: int | Sequence[int] = 0, output: Any = None,
                    mode: Modes = "reflect", cval: complex = 0.0, truncate: float = 4.0, *,
                    radius: int | Sequence[int] | None = None, axes: Sequence[int] | int | None = None,
                    device: Device = "auto", workers: int | None = None, max_host_mem: ByteSize = None,
                    max_gpu_mem: ByteSize = None) -> Any:
    """A Gaussian, or one of its derivatives, along several axes, as scipy.ndimage.gaussian_filter.

    Integer results are truncated after each axis, as SciPy does. Any number of axes can be filtered.

    Parameters
    ----------
    input : array
    sigma : float or sequence of floats
        Standard deviation, in samples, for all or for each filtered axis; an axis of 0 is left out.
    order : int or sequence of ints
        The derivative: 0 for the Gaussian itself.
    output, cval, axes
        See :func:`convolve`.
    mode : str or sequence of str
        See :func:`convolve`, for all or for each filtered axis.
    truncate : float
        Where the Gaussian ends, in standard deviations.
    radius : int or sequence of ints, optional
        Where it ends, in samples, instead of `truncate`.
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
    image = numbers(input, "input")
    result = target(output, image, image.dtype.kind == "c")
    found = filtered_axes(axes, image.ndim)
    parameters = zip(found, *(each(value, len(found), what) for value, what in (
        (sigma, "sigma"), (order, "order"), (mode, "mode"), (radius, "radius"))))
    passes = [_gaussian_axis_filter(axis, sd, derivative, edge, truncate, reach)
              for axis, sd, derivative, edge, reach in parameters if sd > 1e-15]
    resources = Resources(device, workers, max_host_mem, max_gpu_mem)
    return give_back(separable(image, passes, cval, result, resources), input)


def uniform_filter1d(input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect",
                     cval: complex = 0.0, origin: int = 0, *, device: Device = "auto", workers: int | None = None,
                     max_host_mem: ByteSize = None, max_gpu_mem: ByteSize = None) -> Any:
    """The mean of `size` samples along one axis, as scipy.ndimage.uniform_filter1d.

    Parameters
    ----------
    input : array
    size : int
    axis : int
    output, mode, cval, origin, device, workers, max_host_mem, max_gpu_mem
        See :func:`convolve`.

    Returns
    -------
    array, of the input's shape

    Raises
    ------
    InvalidArgument
        A size below 1, and see :func:`convolve` (a ValueError).

    Examples
    --------
    >>> from convolume.ndimage import uniform_filter1d
    >>> uniform_filter1d([2, 8, 0, 4, 1, 9, 9, 0], 3, device="cpu")
    array([4, 3, 4, 1, 4, 6, 6, 3])
    """
    image = numbers(input, "input")
    result = target(output, image, image.dtype.kind == "c")
    one = _uniform_axis_filter(_checked_axis(axis, image.ndim), size, origin, mode)
    resources = Resources(device, workers, max_host_mem, max_gpu_mem)
    return give_back(separable(image, [one], cval, result, resources), input)


def uniform_filter(input: Any, size: int | Sequence[int] = 3, output: Any = None, mode: Modes = "reflect",
                   cval: complex = 0.0, origin: int | Sequence[int] = 0, *, axes: Sequence[int] | int | None = None,
                   device: Device = "auto", workers: int | None = None, max_host_mem: ByteSize = None,
                   max_gpu_mem: ByteSize = None) -> Any:
    """The mean of a box of samples, as scipy.ndimage.uniform_filter.

    Integer results are truncated after each axis, as SciPy does. Any number of axes can be filtered.

    Parameters
    ----------
    input : array
    size : int or sequence of ints
        Extents of the box, for all or for each filtered axis.
    output, cval, origin, axes
        See :func:`convolve`.
    mode : str or sequence of str
        See :func:`convolve`, for all or for each filtered axis.
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
    image = numbers(input, "input")
    result = target(output, image, image.dtype.kind == "c")
    found = filtered_axes(axes, image.ndim)
    parameters = zip(found, *(each(value, len(found), what) for value, what in (
        (size, "size"), (origin, "origin"), (mode, "mode"))))
    passes = [_uniform_axis_filter(axis, int(extent), shift, edge) for axis, extent, shift, edge in parameters if extent > 1]
    resources = Resources(device, workers, max_host_mem, max_gpu_mem)
    return give_back(separable(image, passes, cval, result, resources), input)


def _checked_axis(axis: int, dimensions: int) -> int:
    if not -dimensions <= axis < dimensions:
        raise InvalidArgument(f"axis {axis} exceeds the {dimensions} dimensions of the input")
    return int(axis) % dimensions


def _center(length: int, origin: int) -> int:
    """Of weights that are convolved; of those that are correlated, too, before they are flipped."""
    center = length // 2 + int(origin)
    if not 0 <= center < length:
        raise InvalidArgument(f"the origin {origin} leaves {length} weights: it must be {-(length // 2)} to "
                              f"{(length - 1) // 2}")
    return center


def _box(input: Any, weights: Any, output: Any, mode: str, cval: complex, origin: int | Sequence[int],
         axes: Sequence[int] | int | None, convolution: bool, resources: Resources) -> Any:
    image, taps = numbers(input, "input"), _weights(weights)
    result = target(output, image, image.dtype.kind == "c" or taps.dtype.kind == "c")
    found = filtered_axes(axes, image.ndim)
    if taps.ndim != len(found) or taps.size == 0:
        raise InvalidArgument(f"weights of shape {taps.shape} where {len(found)} axes are filtered: they need as many, "
                              "of extent 1 at least")
    edge = boundary(mode)
    center = [_center(length, shift) for length, shift in zip(taps.shape, each(origin, len(found), "origin"))]
    if not convolution:
        center = [length - 1 - c for length, c in zip(taps.shape, center)]
        taps = np.conj(np.flip(taps))
    if image.ndim == 0:
        return result.deliver(np.asarray(image * taps))[()]
    # The i-th axis of the weights belongs to the i-th of the image's filtered axes in ascending order.
    shape, centers = [1] * image.ndim, [0] * image.ndim
    for axis, length, c in zip(sorted(found), taps.shape, center):
        shape[axis], centers[axis] = length, c
    sums = filtered(image, Filter(taps.reshape(shape), centers, edge, cval), result, "box", resources)
    return give_back(result.deliver(sums), input)


def _line(input: Any, weights: Any, axis: int, output: Any, mode: str, cval: complex, origin: int, convolution: bool,
          resources: Resources) -> Any:
    image, taps = numbers(input, "input"), _weights(weights)
    result = target(output, image, image.dtype.kind == "c" or taps.dtype.kind == "c")
    if taps.ndim != 1 or taps.size == 0:
        raise InvalidArgument(f"weights of shape {taps.shape}: a filter along one axis takes a sequence of 1 number at "
                              "least")
    found, center = _checked_axis(axis, image.ndim), _center(len(taps), origin)
    if not convolution:
        center, taps = len(taps) - 1 - center, np.conj(taps[::-1])
    one = AxisFilter(found, taps, center, boundary(mode))
    return give_back(separable(image, [one], cval, result, resources), input)


def _weights(weights: Any) -> Array:
    """In the precision in which SciPy takes them."""
    taps = numbers(weights, "weights")
    return taps.astype(np.complex128 if taps.dtype.kind == "c" else np.float64, copy=False)


def _gaussian_axis_filter(axis: int, sigma: float, order: int, mode: str, truncate: float, radius: int | None) -> AxisFilter:
    reach = int(truncate * float(sigma) + 0.5) if radius is None else radius
    if not isinstance(reach, (int, np.integer)) or reach < 0:
        raise InvalidArgument(f"the radius {reach} of a Gaussian: it must be a whole number, 0 at least")
    if order < 0:
        raise InvalidArgument(f"the order {order} of a Gaussian: it must be 0 at least")
    return AxisFilter(axis, _gaussian(float(sigma), int(order), int(reach)), int(reach), boundary(mode))


def _gaussian(sigma: float, order: int, radius: int) -> Array:
    """Samples of the `order`-th derivative of a Gaussian whose own samples have the sum 1."""
    x = np.arange(-radius, radius + 1)
    gaussian: Array = np.exp(-0.5 / (sigma * sigma) * x ** 2)
    gaussian = gaussian / gaussian.sum()
    if order == 0:
        return gaussian
    factor: Any = np.polynomial.Polynomial([1.0])  # of the Gaussian in its derivative
    slope = np.polynomial.Polynomial([0.0, -1.0 / (sigma * sigma)])
    for _ in range(order):
        factor = factor.deriv() + slope * factor
    return np.asarray(factor(x) * gaussian)


def _uniform_axis_filter(axis: int, size: int, origin: int, mode: str) -> AxisFilter:
    if size < 1:
        raise InvalidArgument(f"a size of {size}: it must be 1 at least")
    center = size // 2 + int(origin)
    if not 0 <= center < size:
        raise InvalidArgument(f"the origin {origin} leaves the box of {size} samples")
    return AxisFilter(axis, np.ones(size), size - 1 - center, boundary(mode), size)
