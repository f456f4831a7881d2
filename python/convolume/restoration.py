# SPDX-License-Identifier: Apache-2.0
"""Drop-ins for functions of skimage.restoration: the same parameters, defaults and estimates.

They also have keywords for devices and threads (`device`, `workers`) and for memory limits (`max_host_mem`,
`max_gpu_mem`): see :class:`convolume.Run`. Arrays of CuPy, PyTorch and JAX in a GPU's memory stay there, and so do the
results. Some defaults of the originals are unusual: the docstrings describe them.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._argument_types import names_wrong_types
from ._convolver import CachedConvolver
from ._errors import BadData, InvalidArgument, Unavailable, optional_module
from ._gpu_numbers import GpuConvolver, GpuNumbers, on_host
from ._run import Device, thread_count
from ._sums import Array, ByteSize, Resources, empty_beside, given_back, numbers, precision_of

__all__ = ["richardson_lucy", "wiener"]

_SAMPLES = 1 << 16  # samples that steps between convolutions process together, so that they stay in the cache


@names_wrong_types
def richardson_lucy(image: Any, psf: Any, num_iter: int = 50, clip: bool = True, filter_epsilon: float | None = None, *,
                    device: Device = "auto", workers: int | None = None, max_host_mem: ByteSize = None,
                    max_gpu_mem: ByteSize = None) -> Any:
    """Deconvolves an image by the iteration of Richardson and Lucy, as skimage.restoration.richardson_lucy.

    As in scikit-image, the first estimate is 0.5 everywhere, the image is 0 outside, and the PSF is not normalized. The
    PSF's center is sample (k - 1) // 2 of each extent k, in both convolutions of an iteration. The result is clipped
    to -1 ... 1: pass ``clip=False`` for images with larger values.

    Parameters
    ----------
    image : array of real numbers
        An image with 1 to 3 axes longer than 1.
    psf : array of real numbers
        The point spread function, with as many axes as the image and any extents.
    num_iter : int
        Number of iterations.
    clip : bool
        Clip the result to -1 ... 1.
    filter_epsilon : float, optional
        Where the blurred estimate is below this value, its ratio to the image counts as 0.
    device, workers, max_host_mem, max_gpu_mem
        See :class:`convolume.Run`.

    Returns
    -------
    array, of the image's shape
        float32 for images of float32 and float16, else float64.

    Raises
    ------
    InvalidArgument
        Shapes that do not fit, complex numbers (a ValueError).
    BadData
        A PSF of zeros, or with NaN (a ValueError).

    Examples
    --------
    >>> import numpy as np
    >>> from convolume.restoration import richardson_lucy
    >>> blurred = np.array([0, 0.1, 0.2, 0.1, 0])
    >>> richardson_lucy(blurred, np.array([0.25, 0.5, 0.25]), 20, device="cpu").round(2)
    array([0. , 0. , 0.4, 0. , 0. ])
    """
    pixels, taps = numbers(image, "image"), on_host(numbers(psf, "psf"))
    if pixels.dtype.kind == "c" or taps.dtype.kind == "c":
        raise InvalidArgument("the image or the PSF is complex: this iteration is for real numbers")
    if pixels.ndim != taps.ndim:
        raise InvalidArgument(f"the image has {pixels.ndim} dimensions and the PSF {taps.ndim}: both must have as many")
    dtype = _float_type(pixels)
    if pixels.size == 0:
        return given_back(empty_beside(pixels, pixels.shape, dtype), image)
    kept = [axis for axis in range(pixels.ndim) if (pixels.shape[axis], taps.shape[axis]) != (1, 1)] or [0]
    if len(kept) > 3 or pixels.ndim == 0:
        raise InvalidArgument(f"{pixels.ndim} dimensions: images of 1 to 3 can be restored")
    if not taps.any() or not np.isfinite(taps).all():
        raise BadData("the PSF is zero everywhere, or holds NaN or infinities")
    shape = [pixels.shape[axis] for axis in kept]
    kernel = taps.astype(dtype).reshape([taps.shape[axis] for axis in kept])
    resources = Resources(device, workers, max_host_mem, max_gpu_mem)
    if isinstance(pixels, GpuNumbers):
        found = _richardson_lucy_on_gpu(pixels.astype(dtype).reshape(shape), kernel, num_iter, filter_epsilon,
                                        resources)
        return given_back((found.clipped(-1, 1) if clip else found).reshape(pixels.shape), image)
    observed = np.ascontiguousarray(pixels, dtype).reshape(shape)
    estimate = _richardson_lucy(observed, kernel, num_iter, filter_epsilon, resources)
    if clip:
        np.clip(estimate, -1, 1, out=estimate)
    return given_back(estimate.reshape(pixels.shape), image)


def _richardson_lucy(observed: Array, psf: Array, iterations: int, least: float | None, resources: Resources) -> Array:
    estimate = np.full_like(observed, 0.5)
    if iterations < 1:
        return estimate
    blur, back = (CachedConvolver(observed.shape, kernel, dtype=observed.dtype, origin="scipy", nan="propagate",
                                  precision=precision_of(observed.dtype), executions=iterations, **resources._asdict())
                  for kernel in (psf, np.flip(psf)))
    blurred, correction = np.empty_like(observed), np.empty_like(observed)
    for _ in range(iterations):
        blur(estimate, blurred)
        _ratio(observed, blurred, least)
        back(blurred, correction)
        np.multiply(estimate, correction, out=estimate)
    return estimate


def _richardson_lucy_on_gpu(observed: GpuNumbers, psf: Array, iterations: int, least: float | None,
                            resources: Resources) -> GpuNumbers:
    estimate = observed.filled(observed.shape, observed.dtype, 0.5)
    options: dict[str, Any] = {"origin": "scipy", "precision": observed.dtype.name, "nan": "propagate",
                               "executions": max(1, iterations), **resources._asdict()}
    blur, back = (GpuConvolver(observed, observed.shape, kernel, dict(options)) for kernel in (psf, np.flip(psf)))
    blurred, correction = (observed.empty(observed.shape, observed.dtype) for _ in range(2))
    for _ in range(iterations):
        blur(estimate, blurred)
        blurred.array += 1e-12  # avoids divisions by 0
        ratio = observed / blurred
        if least:
            ratio.array[blurred.array < least] = 0
        back(ratio, correction)
        estimate.array *= correction.array
    return estimate


def _ratio(observed: Array, blurred: Array, least: float | None) -> None:
    """Replaces the blurred estimate by the ratio of the image to it."""
    flat, image = blurred.reshape(-1), observed.reshape(-1)
    for first in range(0, len(flat), _SAMPLES):
        part = flat[first:first + _SAMPLES]
        part += 1e-12  # avoids divisions by 0
        low = part < least if least else None
        np.divide(image[first:first + _SAMPLES], part, out=part)
        if low is not None:
            part[low] = 0


@names_wrong_types
def wiener(image: Any, psf: Any, balance: float, reg: Any = None, is_real: bool = True, clip: bool = True, *,
           device: Device = "auto", workers: int | None = None, max_host_mem: ByteSize = None,
           max_gpu_mem: ByteSize = None) -> Any:
    """Deconvolves an image by a regularized inverse filter, as skimage.restoration.wiener.

    The filter divides discrete Fourier transforms, so the image counts as periodic and borders wrap around. It is
    computed on the CPU by scipy.fft, and for an image in a GPU's memory there, by the image's library. As in the
    original, the result is clipped to -1 ... 1: pass ``clip=False`` for images with larger values. A PSF with the shape
    of the transform of `reg` counts as a transfer function. Only the real parts of complex `psf` and `reg` are used.

    Parameters
    ----------
    image : array of real numbers
        An image with any number of axes.
    psf : array
        The point spread function, with as many axes as the image and no larger. Its center is sample k // 2 of each
        extent k. It may also be a transfer function.
    balance : float
        Weight of the regularization, 0 for none.
    reg : array, optional
        Filter whose response to the result is kept small: a kernel of real numbers, or a complex transfer function. By
        default the Laplacian, with 2 per axis in the center and -1 at its neighbors.
    is_real : bool
        Transfer functions hold half of the frequencies, as the results of numpy.fft.rfftn do.
    clip : bool
        Clip the result to -1 ... 1.
    device, workers, max_host_mem, max_gpu_mem
        See :class:`convolume.Run`; only `workers` changes how this function works, and "gpu" is refused.

    Returns
    -------
    array, of the image's shape
        float32 for images of float32 and float16, else float64; complex if `is_real` is false.

    Raises
    ------
    InvalidArgument
        Shapes that do not fit (a ValueError).
    Unavailable
        SciPy is not installed, or a GPU is requested (a RuntimeError).

    Examples
    --------
    >>> import numpy as np
    >>> from convolume.restoration import wiener
    >>> blurred = np.array([[0, 0, 0, 0], [0, 0.2, 0.1, 0], [0, 0.1, 0, 0], [0, 0, 0, 0]])
    >>> wiener(blurred, np.array([[0, 1, 0], [1, 2, 1], [0, 1, 0]]) / 6, 0.01).shape
    (4, 4)
    """
    if not isinstance(device, str) or device not in ("auto", "cpu"):
        raise Unavailable("this filter is computed where its image is: pass device='auto' or 'cpu'")
    pixels, taps = numbers(image, "image"), on_host(numbers(psf, "psf"))
    if pixels.dtype.kind == "c":
        raise InvalidArgument("the image is complex: this filter is for real numbers")
    if pixels.ndim == 0:
        raise InvalidArgument("the image is a single number: give an array")
    if pixels.size == 0:
        raise InvalidArgument(f"the image of shape {pixels.shape} has no pixels: give at least one along each axis")
    dtype = _float_type(pixels)
    penalty = _laplacian(pixels.ndim) if reg is None else on_host(numbers(reg, "reg"))
    if isinstance(pixels, GpuNumbers):
        return given_back(_wiener_on_gpu(pixels.astype(dtype), taps, penalty, balance, (is_real, clip)), image)
    fft = optional_module("scipy.fft", "wiener computes by scipy.fft, and SciPy is not installed: pip install scipy")
    options: dict[str, Any] = {"axes": range(pixels.ndim), "workers": thread_count(workers) or -1}
    forward = functools.partial(fft.rfftn if is_real else fft.fftn, **options)
    regular = penalty if penalty.dtype.kind == "c" else forward(_in_fft_order(penalty, pixels.shape))
    regular = regular.real.astype(dtype, copy=False)
    response = taps.real.astype(dtype, copy=False)
    if response.shape != regular.shape:
        response = forward(_in_fft_order(response, pixels.shape))
    spectrum = forward(pixels.astype(dtype, copy=False))
    _check_responses(response.shape, regular.shape, spectrum.shape)
    power = np.abs(response) ** 2
    power += balance * np.abs(regular) ** 2
    spectrum *= np.conj(response)
    spectrum /= power
    result = fft.irfftn(spectrum, pixels.shape, **options) if is_real else fft.ifftn(spectrum, **options)
    if clip and is_real:
        np.clip(result, -1, 1, out=result)
    elif clip:  # complex numbers are ordered by their real parts
        result[result > 1] = 1
        result[result < -1] = -1
    return given_back(result, image)


def _wiener_on_gpu(pixels: GpuNumbers, psf: Array, penalty: Array, balance: float,
                   real_and_clipped: tuple[bool, bool]) -> GpuNumbers:
    is_real, clip = real_and_clipped
    fft: Any = pixels.module.fft
    forward = fft.rfftn if is_real else fft.fftn

    def moved(kernel: Array) -> Any:
        return pixels.beside(np.ascontiguousarray(kernel, pixels.dtype)).array

    regular = moved(penalty.real) if penalty.dtype.kind == "c" else forward(
        moved(_in_fft_order(penalty, pixels.shape))).real
    response = moved(psf.real)
    if response.shape != regular.shape:
        response = forward(moved(_in_fft_order(psf.real, pixels.shape)))
    spectrum = forward(pixels.array)
    _check_responses(response.shape, regular.shape, spectrum.shape)
    spectrum = spectrum * response.conj() / (abs(response) ** 2 + balance * abs(regular) ** 2)
    if is_real:
        result = GpuNumbers(fft.irfftn(spectrum, pixels.shape, tuple(range(pixels.ndim))))
        return result.clipped(-1, 1) if clip else result
    result = GpuNumbers(fft.ifftn(spectrum))
    if clip:  # complex numbers are ordered by their real parts
        result.array[result.array.real > 1] = 1
        result.array[result.array.real < -1] = -1
    return result


def _check_responses(response: Sequence[int], regular: Sequence[int], spectrum: Sequence[int]) -> None:
    if not tuple(response) == tuple(regular) == tuple(spectrum):
        raise InvalidArgument(f"transfer functions of shapes {tuple(response)} and {tuple(regular)} where the image's "
                              f"is {tuple(spectrum)}: all must be equal")


def _in_fft_order(kernel: Array, shape: tuple[int, ...]) -> Array:
    """Returns a kernel in an array of that shape, with its center at index 0."""
    if kernel.ndim != len(shape) or any(k > n for k, n in zip(kernel.shape, shape)):
        raise InvalidArgument(f"a kernel of shape {kernel.shape} does not fit into the image's {shape}")
    padded = np.zeros(shape, _float_type(kernel))
    padded[tuple(slice(0, k) for k in kernel.shape)] = kernel
    return np.roll(padded, [-(k // 2) for k in kernel.shape], list(range(len(shape))))


def _float_type(array: Array) -> np.dtype[Any]:
    """Returns the type in which scikit-image computes with real numbers."""
    return np.dtype("f" if array.dtype.char in "ef" else "d")


def _laplacian(dimensions: int) -> Array:
    kernel = np.zeros([3] * dimensions)
    kernel[(1,) * dimensions] = 2 * dimensions
    for axis in range(dimensions):
        for neighbor in (0, 2):
            kernel[tuple(neighbor if other == axis else 1 for other in range(dimensions))] = -1
    return kernel
