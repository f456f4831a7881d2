# SPDX-License-Identifier: Apache-2.0
"""Normalized cross-correlation of images with templates, also with masks of both.

Correlations with the template are computed in double precision, after the image's mean has been subtracted, which
changes no result. Variances of rectangular windows are merged from those of smaller windows, and so have no rounding
errors of large values that cancel.
"""

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np

from ._arrays import finite_numbers, give_back, readable, real_numbers, refuse_nonfinite
from ._convolve import correlate
from ._errors import BadData, InvalidArgument
from ._options import defaults_of, with_keywords
from ._run import Resources, thread_count

Padding = Literal["constant", "edge", "reflect", "symmetric", "wrap"]

_PADDINGS = ("constant", "edge", "reflect", "symmetric", "wrap")
_ROUNDING = 2.0**-42  # 1000 rounding errors of double precision: more than those of the correlations in use
_BLOCK = 1 << 16  # samples of a block of windows, so that its arrays stay in the cache


class TemplateKeywords(Resources, total=False):
    """Keywords of :func:`match_template`."""

    mask: Any


@with_keywords(TemplateKeywords, defaults_of(TemplateKeywords))
def match_template(image: Any, template: Any, pad_input: bool = False, mode: Padding = "constant",
                   constant_values: float = 0.0, **options: Unpack[TemplateKeywords]) -> Any:
    """Correlates an image with a template by normalized cross-correlation, as skimage.feature.match_template.

    Parameters
    ----------
    image : array of real, finite numbers
        An image of 1 to 3 dimensions.
    template : array of real, finite numbers
        The template, with as many dimensions and no larger than the image.
    pad_input : bool
        If true, the result has the image's shape, and its maxima are at the centers of matches, sample m // 2 of each
        extent m of the template. If not, it has the extents n - m + 1, and its maxima are where matches begin.
    mode : {"constant", "edge", "reflect", "symmetric", "wrap"}
        Continuation of the image beyond its border for `pad_input`, in the words of numpy.pad.
    constant_values : float
        Value of samples outside the image, for "constant".
    mask : array of the template's shape, optional
        Only samples of the template that are not 0 there are compared.
    device, workers, max_host_mem, max_gpu_mem, fft
        See :class:`convolume.Run`. Arrays are in host memory.

    Returns
    -------
    array of numbers from -1 to 1, of the library that `image` comes from
        float32 for images of float32 and float16, else float64.

    Raises
    ------
    InvalidArgument
        Shapes or options that do not fit, complex numbers (a ValueError).
    BadData
        NaN or infinities, or a template of one value (a ValueError).

    Notes
    -----
    With sums over the samples t that are compared, and means of the same samples, the result at p is
    ``sum((image[p + t] - image_mean(p)) * (template[t] - template_mean))`` divided by
    ``sqrt(sum((image[p + t] - image_mean(p))**2) * sum((template[t] - template_mean)**2))``.

    The result is 0 where all compared samples of the image are equal, or differ by no more than rounding errors: where
    ``sum((image[p + t] - image_mean(p))**2)`` is at most 2**-84 of the same sum over the whole image with its border.
    With a mask, it is 0 where the sum is at most 2**-42 of the root of that product of the number of compared samples
    and the sum over the whole image, in units of the largest distance from the image's mean.

    Source: J. P. Lewis, "Fast normalized cross-correlation", Vision Interface 120, 1995. Sums of squares of windows are
    merged as by T. F. Chan, G. H. Golub and R. J. LeVeque, The American Statistician 37:242, 1983.

    Examples
    --------
    >>> import numpy as np, convolume
    >>> image = np.random.default_rng(1).random((60, 80))
    >>> found = convolume.match_template(image, image[20:30, 40:55], device="cpu")
    >>> convolume.find_peaks(found, threshold=0.9)["position"].round(1)
    array([[20., 40.]])
    """
    resources: Any = dict(options)
    template_mask = resources.pop("mask", None)
    pixels, taps = finite_numbers(image, "the image"), finite_numbers(template, "the template")
    _check_shapes(pixels.shape, taps.shape)
    if mode not in _PADDINGS:
        raise InvalidArgument(f"mode is {mode!r}: give one of {', '.join(map(repr, _PADDINGS))}")
    dtype = _result_type(pixels)
    compared = _mask(template_mask, taps.shape, "mask", "template")
    kernel = _unit_kernel(taps, compared)
    if pad_input:
        pixels = _padded(pixels, taps.shape, mode, constant_values)
    samples = _centered(pixels)
    norm = float(np.linalg.norm(samples))
    if compared.all():
        deviations = _window_deviations(samples, taps.shape, resources.get("workers"))
        least = (_ROUNDING * norm) ** 2
    else:
        weights = compared.astype(np.float64)
        sums, squares = correlate(np.stack([samples, samples**2]), weights, mode="valid", **resources)
        deviations = squares - sums**2 / weights.sum()
        least = _ROUNDING * math.sqrt(weights.sum()) * norm
    result = correlate(samples, kernel, mode="valid", **resources)
    return give_back(_quotient(result, deviations, least).astype(dtype, copy=False), image)


class MaskedKeywords(Resources, total=False):
    """Keywords of :func:`masked_correlation`."""

    fixed_mask: Any
    moving_mask: Any
    overlap_ratio: float


@with_keywords(MaskedKeywords, defaults_of(MaskedKeywords, overlap_ratio=0.3))
def masked_correlation(fixed: Any, moving: Any, mode: Literal["full", "same"] = "full",
                       **options: Unpack[MaskedKeywords]) -> Any:
    """Correlates two images by normalized cross-correlation of the pixels that both masks have, as
    skimage.registration.phase_cross_correlation with masks and ITK's MaskedFFTNormalizedCorrelationImageFilter do.

    Parameters
    ----------
    fixed, moving : arrays of real numbers
        Images of 1 to 3 dimensions. Pixels outside of the masks may be anything, also NaN.
    mode : {"full", "same"}
        "full" has all displacements with an overlap, as :func:`correlate`: sample i is that of the displacement
        i - (m - 1), where m are the extents of `moving`. "same" is its middle part, with the shape of `fixed`.
    fixed_mask, moving_mask : arrays of the images' shapes, optional
        Pixels that are not 0 there count. None: all do.
    overlap_ratio : float
        The result is 0 where fewer pixels overlap than this part of the largest overlap. scikit-image has 0.3, ITK 0,
        and rounds the number down.
    device, workers, max_host_mem, max_gpu_mem, fft
        See :class:`convolume.Run`. Arrays are in host memory.

    Returns
    -------
    array of numbers from -1 to 1, of the library that `fixed` comes from
        float32 if both images are float32 or float16, else float64.

    Raises
    ------
    InvalidArgument
        Shapes or options that do not fit, complex numbers (a ValueError).
    BadData
        NaN or infinities that count, or an image whose pixels that count have one value (a ValueError).

    Notes
    -----
    The result is the one of :func:`match_template`, for each displacement with sums over the overlap of both masks. It
    is 0 where the pixels of one of the images are equal there, or differ by no more than rounding errors: where the sum
    of their squared deviations is at most 2**-42 of the root of the product of the other image's number of pixels and
    the image's sum of squares, in units of its largest distance from its mean.

    Source: D. Padfield, "Masked object registration in the Fourier domain", IEEE Transactions on Image Processing
    21:2706, 2012.

    Examples
    --------
    >>> import numpy as np, convolume
    >>> scene = np.random.default_rng(1).random((60, 80))
    >>> fixed, moving = scene[:50, :60], scene[7:57, 12:72].copy()
    >>> moving[20:30, 20:30] = np.nan
    >>> found = convolume.masked_correlation(fixed, moving, moving_mask=np.isfinite(moving), device="cpu")
    >>> convolume.find_peaks(found, 0.9)["position"].round(1) - (np.array(moving.shape) - 1)   # the displacement
    array([[ 7., 12.]])
    """
    resources: Any = dict(options)
    ratio = resources.pop("overlap_ratio", 0.3)
    masks = resources.pop("fixed_mask", None), resources.pop("moving_mask", None)
    if not 0 <= ratio <= 1:
        raise InvalidArgument(f"overlap_ratio is {ratio}: give a number from 0 to 1")
    if mode not in ("full", "same"):
        raise InvalidArgument(f"mode is {mode!r}: give 'full' or 'same'")
    a, of_a = _counted(fixed, masks[0], "fixed")
    b, of_b = _counted(moving, masks[1], "moving")
    if a.ndim != b.ndim:
        raise InvalidArgument(f"fixed has {a.ndim} dimensions and moving {b.ndim}: both must have as many")
    dtype = np.result_type(_result_type(readable(fixed, "fixed")), _result_type(readable(moving, "moving")))
    counts, sums_a, squares_a = correlate(np.stack([of_a, a, a**2]), of_b, mode="full", **resources)
    sums_b, products = correlate(np.stack([of_a, a]), b, mode="full", **resources)
    squares_b = correlate(of_a, b**2, mode="full", **resources)
    counts = counts.round()
    overlap = np.maximum(counts, 1)
    least = [_ROUNDING * math.sqrt(mask.sum()) * float(np.linalg.norm(image)) for mask, image in ((of_b, a), (of_a, b))]
    deviations_b = squares_b - sums_b**2 / overlap
    deviations_b[deviations_b <= least[1]] = np.inf
    products -= sums_a * sums_b / overlap
    products /= np.sqrt(deviations_b)
    result = _quotient(products, squares_a - sums_a**2 / overlap, least[0])
    result[counts < ratio * counts.max()] = 0
    if mode == "same":
        first = [(m - 1) // 2 for m in b.shape]
        result = result[tuple(slice(begin, begin + n) for begin, n in zip(first, a.shape))]
    return give_back(result.astype(dtype, copy=False), fixed)


def _check_shapes(image: Sequence[int], template: Sequence[int]) -> None:
    if len(image) != len(template) or not 1 <= len(image) <= 3:
        raise InvalidArgument(f"the image has {len(image)} dimensions and the template {len(template)}: both must have "
                              "as many, 1 to 3")
    if any(m > n for n, m in zip(image, template)):
        raise InvalidArgument(f"the template of shape {tuple(template)} is larger than the image of shape "
                              f"{tuple(image)}: exchange them, or cut the template")


def _mask(mask: Any, shape: tuple[int, ...], name: str, of: str) -> np.ndarray:
    """Returns which samples count."""
    if mask is None:
        return np.ones(shape, bool)
    counts: np.ndarray = readable(mask, name) != 0
    if counts.shape != shape:
        raise InvalidArgument(f"{name} has the shape {counts.shape} and the {of} {shape}: both must be equal")
    return counts


def _padded(pixels: np.ndarray, template: Sequence[int], mode: Padding, constant: float) -> np.ndarray:
    """Continues an image, so that the template has its center at every pixel."""
    widths = [(m // 2, (m - 1) // 2) for m in template]
    if mode != "constant":
        return np.pad(pixels, widths, mode)
    if not math.isfinite(constant):
        raise InvalidArgument(f"constant_values is {constant}: give a finite number")
    return np.pad(pixels.astype(np.float64), widths, constant_values=constant)


def _result_type(image: np.ndarray) -> np.dtype[Any]:
    return np.dtype(np.float32 if image.dtype == np.float32 else np.float64)


def _centered(values: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
    """Returns the samples that count less their mean, scaled by a power of 2 so that none is larger than 1. Others
    become 0."""
    some = values if counts is None else values[counts]
    first = float(some.flat[0])
    rest: np.ndarray = some.astype(np.float64) - first  # exactly 0 for samples of one value
    rest -= rest.mean()
    np.ldexp(rest, -math.frexp(float(np.abs(rest).max()))[1], out=rest)
    if counts is None:
        return rest
    result = np.zeros(values.shape)
    result[counts] = rest
    return result


def _unit_kernel(template: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Returns the template less its mean, with a sum of squares of 1, and 0 where it does not count."""
    if not counts.any():
        raise InvalidArgument("mask is 0 everywhere: no sample of the template counts")
    _check_varied(template, counts, "the template")
    kernel = _centered(template, counts)
    kernel /= np.linalg.norm(kernel)
    return kernel


def _check_varied(values: np.ndarray, counts: np.ndarray, what: str) -> None:
    some = values[counts]
    if some.min() == some.max():
        raise BadData(f"{what} has the value {some.flat[0]} everywhere: its normalized correlation is not defined, "
                      "check that the right region was cut")


def _counted(image: Any, mask: Any, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns an image, centered and 0 where it does not count, and its mask as numbers."""
    values = real_numbers(image, what)
    if not 1 <= values.ndim <= 3 or values.size == 0:
        raise InvalidArgument(f"{what} has the shape {values.shape}: give 1 to 3 dimensions, with samples")
    counts = _mask(mask, values.shape, f"{what}_mask", f"{what} image")
    if not counts.any():
        raise InvalidArgument(f"{what}_mask is 0 everywhere: no pixel counts")
    if values.dtype.kind == "f":
        refuse_nonfinite(values, counts & ~np.isfinite(values), what)
    _check_varied(values, counts, what)
    return _centered(values, counts), counts.astype(np.float64)


def _quotient(sums: np.ndarray, deviations: np.ndarray, least: float) -> np.ndarray:
    """Divides by the root of the deviations, with 0 where they are at most `least`. Changes both arrays."""
    deviations[deviations <= least] = np.inf
    np.sqrt(deviations, out=deviations)
    np.divide(sums, deviations, out=sums)
    return np.clip(sums, -1, 1, out=sums)


def _window_deviations(samples: np.ndarray, window: Sequence[int], workers: int | None = None) -> np.ndarray:
    """Returns the sum of squared deviations from the mean of each window. Threads compute blocks: of rows along all
    axes but the first one, then of columns along the first axis."""
    shape = tuple(n - m + 1 for n, m in zip(samples.shape, window))
    rows, columns = samples.shape[0], math.prod(shape[1:])
    means, deviations = np.empty((rows, columns)), np.zeros((rows, columns))
    result = np.zeros((shape[0], columns))
    count = math.prod(window[1:])

    def along_rows(some: slice) -> None:
        part = _Moments(samples[some], None, 1)
        for axis in reversed(range(1, samples.ndim)):
            part = part.along(axis, window[axis])
        means[some] = part.means.reshape(-1, columns)
        if part.deviations is not None:
            deviations[some] = part.deviations.reshape(-1, columns)

    def along_columns(some: slice) -> None:
        part = _Moments(means[:, some], None if count == 1 else deviations[:, some], count).along(0, window[0])
        if part.deviations is not None:
            result[:, some] = part.deviations

    with ThreadPoolExecutor(thread_count(workers) or len(os.sched_getaffinity(0))) as pool:
        for compute, extent, other in ((along_rows, rows, samples.size // rows), (along_columns, columns, rows)):
            step = max(1, _BLOCK // other)
            list(pool.map(compute, (slice(begin, begin + step) for begin in range(0, extent, step))))
    return result.reshape(shape)


class _Moments(NamedTuple):
    """Means and sums of squared deviations of windows of `size` samples. None: the deviations are 0."""

    means: np.ndarray
    deviations: np.ndarray | None
    size: int

    def along(self, axis: int, length: int) -> "_Moments":
        """Returns the moments of windows of `length` of these windows along an axis. They are merged from windows whose
        lengths are powers of 2."""
        power, found, have = self, None, 0  # `found` are windows of `have` of these ones
        step = 1
        while True:
            if length & step:
                found = power if found is None else found._merged(power, axis, have)
                have += step
            if have == length:
                return found or self
            power = power._merged(power, axis, step)
            step *= 2

    def _merged(self, other: "_Moments", axis: int, distance: int) -> "_Moments":
        """Merges each window with that of `other` which begins `distance` samples later."""
        size = self.size + other.size
        extent = other.means.shape[axis] - distance

        def first(array: np.ndarray) -> np.ndarray:
            return array[(slice(None),) * axis + (slice(extent),)]

        def second(array: np.ndarray) -> np.ndarray:
            return array[(slice(None),) * axis + (slice(distance, None),)]

        deviations = second(other.means) - first(self.means)
        means = deviations * (other.size / size)
        means += first(self.means)
        deviations *= deviations
        deviations *= self.size * (other.size / size)
        for part in (first(self.deviations) if self.deviations is not None else None,
                     second(other.deviations) if other.deviations is not None else None):
            if part is not None:
                deviations += part
        return _Moments(means, deviations, size)
